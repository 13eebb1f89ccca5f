"""scikit-learn by the array API standard, on tensors and beside NumPy's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer

import tensor_runtime as tr

X = np.random.default_rng(0).normal(size=(40, 6)) @ np.diag([5.0, 4.0, 3.0, 2.0, 1.0, 0.5])


def fitted(model: Any, *arrays: Any) -> Any:
    with config_context(array_api_dispatch=True):
        return model.fit(*arrays)


@pytest.mark.parametrize("solver", ["full", "covariance_eigh", "randomized"])
def test_principal_components(solver: str) -> None:
    model = PCA(3, svd_solver=solver, random_state=0, power_iteration_normalizer="QR")
    mine = fitted(model, tr.asarray(X))
    components, variance = mine.components_, mine.explained_variance_
    assert isinstance(components, tr.Tensor)
    with config_context(array_api_dispatch=True):
        moved = mine.transform(tr.asarray(X))
    assert isinstance(moved, tr.Tensor)
    theirs = PCA(3, svd_solver="full").fit(X)
    np.testing.assert_allclose(np.asarray(variance), theirs.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(np.abs(components.to_numpy()), np.abs(theirs.components_), atol=1e-6)


@pytest.mark.parametrize("scaler", [MaxAbsScaler(), MinMaxScaler(), Normalizer()])
def test_scalers(scaler: Any) -> None:
    with config_context(array_api_dispatch=True):
        found = scaler.fit(tr.asarray(X)).transform(tr.asarray(X))
    assert isinstance(found, tr.Tensor)
    np.testing.assert_allclose(found.to_numpy(), scaler.fit(X).transform(X), rtol=1e-12)


def test_ridge() -> None:
    y = X @ np.arange(6.0)
    mine = fitted(Ridge(solver="svd"), tr.asarray(X), tr.asarray(y))
    assert isinstance(mine.coef_, tr.Tensor)
    np.testing.assert_allclose(mine.coef_.to_numpy(), Ridge(solver="svd").fit(X, y).coef_, rtol=1e-9)
