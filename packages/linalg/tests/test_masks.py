"""``check="mask"``: the status of each matrix, and the results of the others as they are without the bad ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError, DTypeError, ShapeError
from tensor_linalg.masking import masked

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64", "complex64", "complex128")
OPERATIONS: dict[str, Callable[..., Any]] = {
    "svd": tl.svd,
    "qr": tl.qr,
    "eigh": tl.eigh,
    "cholesky": tl.cholesky,
    "inv": tl.inv,
    "solve": lambda a, **options: tl.solve(a, a, **options),
}
FAILING = {"cholesky": -1.0, "inv": 0.0, "solve": 0.0}
"""What a matrix is multiplied with so that it fails."""
EACH = pytest.mark.parametrize("name", OPERATIONS)


def matrices(dtype: str, *batch: int) -> Array:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 3, *batch)) + (1j * rng.standard_normal((3, 3, *batch)) if "c" in dtype else 0)
    a = np.einsum("ij...,kj...->ik...", x, x.conj()) + np.eye(3).reshape(3, 3, *[1] * len(batch))
    return np.asfortranarray(a.astype(dtype))


def several(result: Any) -> list[Array]:
    return [one.to_numpy() for one in (result if isinstance(result, tuple) else (result,))]


def both(told: tl.MaskedResult[Any]) -> tuple[list[Array], Array]:
    return several(told.result), told.status.to_numpy()


@EACH
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [(7,), (2, 3), (1500,)])
def test_the_other_matrices_have_the_same_bits(name: str, dtype: str, batch: tuple[int, ...]) -> None:
    a = matrices(dtype, *batch)
    result = OPERATIONS[name](tr.asarray(a))
    expected = several(result)
    bad: dict[tuple[int, ...], int] = {batch_index(batch, 1): 1, batch_index(batch, -1): 1}
    spoilt = a.copy(order="F")
    for index in bad:
        spoilt[(1, 2, *index)] = np.nan if index == batch_index(batch, 1) else np.inf
    if name in FAILING:
        for position in (0, 3, 4):
            index = batch_index(batch, position)
            where: tuple[Any, ...] = (slice(None), slice(None), *index)
            spoilt[where] *= FAILING[name]
            bad[index] = 2
    told = OPERATIONS[name](tr.asarray(spoilt), check="mask")
    found, status = both(told)

    assert type(told) is tl.MaskedResult
    assert type(told.result) is type(result)
    assert status.dtype == np.int32
    assert status.shape == batch
    assert {index: status[index] for index in np.ndindex(*batch) if status[index]} == bad
    fine = status == 0
    for one, wanted in zip(found, expected, strict=True):
        assert one.dtype == wanted.dtype
        assert one[..., fine].tobytes() == wanted[..., fine].tobytes()
        assert np.isnan(one[..., ~fine]).all()


def batch_index(batch: tuple[int, ...], position: int) -> tuple[int, ...]:
    where = np.unravel_index(position % int(np.prod(batch)), batch, order="F")
    return tuple(int(one) for one in where)


@EACH
def test_one_matrix_alone_has_a_status_too(name: str) -> None:
    a = matrices("float64")
    expected = several(OPERATIONS[name](tr.asarray(a)))
    found, status = both(OPERATIONS[name](tr.asarray(a), check="mask"))
    assert status.tolist() == 0
    assert [one.tolist() for one in found] == [one.tolist() for one in expected]
    if name in FAILING:
        found, status = both(OPERATIONS[name](tr.asarray(a * FAILING[name]), check="mask"))
        assert status.tolist() == 2
        assert all(np.isnan(one).all() for one in found)
    a[0, 1] = np.inf
    found, status = both(OPERATIONS[name](tr.asarray(a), check="mask"))
    assert status.tolist() == 1
    assert all(np.isnan(one).all() for one in found)


def test_a_system_is_bad_where_either_operand_is() -> None:
    a, b = matrices("float64", 2, 1), np.ones((3, 1, 1, 3))
    a[..., 1, 0] = 0.0
    b[2, 0, 0, 2] = np.nan
    x, status = tl.solve(tr.asarray(a), tr.asarray(b), check="mask")

    assert status.to_numpy().tolist() == [[0, 0, 1], [2, 2, 1]]
    assert np.allclose(np.einsum("ijk,jmk->imk", a[..., 0:1, 0], x.to_numpy()[:, :, 0:1, 0]), 1.0)
    shared = tl.solve(tr.zeros((3, 3)), tr.ones((3, 1, 5)), check="mask")
    assert shared.status.to_numpy().tolist() == [2] * 5
    one_side = tl.solve(tr.asarray(a[..., 0]), tr.ones((3, 2)), check="mask")
    assert one_side.status.to_numpy().tolist() == [0, 2]
    assert np.allclose(a[..., 0, 0] @ one_side.result.to_numpy()[..., 0], 1.0)
    vector = tl.solve(tr.eye(3), tr.tensor([1.0, float("nan"), 0.0]), check="mask")
    assert vector.status.item() == 1


@EACH
def test_masks_have_forms_without_data_and_refuse_bad_operands(name: str) -> None:
    forms = tr.infer(lambda a: OPERATIONS[name](a, check="mask"), (tr.C32, (3, 3, 4, 5)))
    assert (forms[-1].dtype, forms[-1].shape) == (tr.I32, (4, 5))
    empty = OPERATIONS[name](tr.zeros((3, 3, 0)), check="mask")
    assert empty[-1].shape == (0,)
    with pytest.raises(DTypeError):
        OPERATIONS[name](tr.ones((3, 3, 2), dtype="I64"), check="mask")
    with pytest.raises(ShapeError):
        OPERATIONS[name](tr.ones(3), check="mask")
    with pytest.raises(ArgumentError, match="check is 'masked'"):
        OPERATIONS[name](tr.eye(3), check="masked")


def test_results_of_many_matrices_are_owned_and_may_not_be_written() -> None:
    a = tr.asarray(matrices("float64", 1200))
    found = tl.cholesky(a, check="mask").result
    assert found._form is tl.cholesky(a)._form
    with pytest.raises(tr.TensorError, match="mutable_view"):
        found[0, 0, 0] = 1.0  # type: ignore[index]


def test_a_condition_is_not_asked_for_beside_a_mask() -> None:
    with pytest.raises(ArgumentError, match="condition=True and check='mask'"):
        tl.solve(tr.eye(2), tr.ones(2), check="mask", condition=True)  # type: ignore[call-overload]


def test_one_bad_matrix_costs_a_few_calls_and_not_one_for_each() -> None:
    a = matrices("float64", 3000)
    a[..., 2000] *= -1.0
    calls: list[int] = []

    def run(x: tr.Tensor) -> tuple[tr.Tensor, ...]:
        calls.append(x.shape[2])
        return (tl.cholesky(x, check=False),)

    _, status = masked(run, "cholesky", tr.asarray(a))
    assert np.flatnonzero(status.to_numpy()).tolist() == [2000]
    assert sum(calls) <= 3000 + 2 * 1024
    assert len(calls) <= 7


def test_factors_beside_a_status_are_told_to_be_taken_out_of_their_result() -> None:
    found: Any = tl.lu_factor(tr.eye(3), check="mask")
    with pytest.raises(ArgumentError, match=r"^lu_solve: factors are a MaskedResult; accepted: .* its \.result$"):
        tl.lu_solve(found, tr.ones(3))
    assert tl.lu_solve(found.result, tr.ones(3)).tolist() == [1.0, 1.0, 1.0]
