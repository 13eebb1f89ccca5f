"""Splits of tensors beside NumPy's loops: axes, methods, what is absorbed, batches, and chains of tensors."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, AxisError
from tensor_runtime.errors import ForeignOperandError

DTYPES = (tr.F32, tr.F64, tr.C32, tr.C64)
TOLERANCE: dict[tr.DType, float] = {tr.F32: 2e-5, tr.F64: 4e-14, tr.C32: 2e-5, tr.C64: 4e-14}
METHODS = (
    ("svd", None),
    ("svd", "left"),
    ("svd", "right"),
    ("svd", "both"),
    ("eigh", None),
    ("eigh", "left"),
    ("eigh", "right"),
    ("eigh", "both"),
    ("qr", None),
    ("qr", "right"),
    ("lq", None),
    ("lq", "left"),
    ("rq", None),
    ("rq", "left"),
    ("polar", None),
    ("polar", "left"),
    ("polar", "right"),
)


def contracted(found: tl.SplitResult, absorb: str | None) -> Any:
    """The two factors multiplied, as a NumPy array."""
    left, s, right = found.left.to_numpy(), found.s, found.right.to_numpy()
    return np.tensordot(left if s is None or absorb else left * s.to_numpy(), right, axes=1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("method", "absorb"), METHODS)
@pytest.mark.parametrize("axes", [((0, 1), (2, 3)), ((3, 1), (0, 2)), ((2,), None), (None, (0,))])
def test_the_factors_give_the_tensor_back(dtype: Any, method: str, absorb: str | None, axes: Any) -> None:
    x = tr.normal((2, 3, 4, 5), seed=5, dtype=dtype)
    found = tl.split(x, *axes, method=method, absorb=absorb)
    left, right = axes
    left = left if left is not None else tuple(axis for axis in range(4) if axis not in right)
    right = right if right is not None else tuple(axis for axis in range(4) if axis not in left)
    wanted = x.to_numpy().transpose((*left, *right))
    assert found.left.shape[:-1] == tuple(x.shape[axis] for axis in left)
    assert found.right.shape[1:] == tuple(x.shape[axis] for axis in right)
    assert found.left.dtype is dtype and found.left.is_compact and found.right.is_compact
    assert found.discarded.shape == () and float(found.discarded) == 0
    if found.s is not None:
        values = np.linalg.svd(wanted.reshape(prod(found.left.shape[:-1]), -1, order="F"), compute_uv=False)
        np.testing.assert_allclose(found.s.to_numpy(), values, rtol=10 * TOLERANCE[dtype])
    assert np.linalg.norm(contracted(found, absorb) - wanted) <= TOLERANCE[dtype] * np.linalg.norm(wanted)


@pytest.mark.parametrize(
    ("method", "absorb", "sides"),
    [
        ("svd", None, "left right"),
        ("svd", "right", "left"),
        ("svd", "left", "right"),
        ("eigh", None, "left right"),
        ("eigh", "right", "left"),
        ("eigh", "left", "right"),
        ("qr", None, "left"),
        ("lq", None, "right"),
        ("rq", None, "right"),
    ],
)
@pytest.mark.parametrize("axes", [(0, 1), (0, 1, 2)])  # wide and tall
def test_the_factor_that_absorbs_nothing_is_an_isometry(
    method: str, absorb: str | None, sides: str, axes: tuple[int, ...]
) -> None:
    x = tr.normal((2, 3, 4, 5), seed=6, dtype="C64")
    left, _, right, _ = tl.split(x, axes, method=method, absorb=absorb)
    k = right.shape[0]
    rows, columns = left.reshape((-1, k)).to_numpy(), right.reshape((k, -1)).to_numpy()
    if "left" in sides:
        np.testing.assert_allclose(rows.conj().T @ rows, np.eye(k), atol=1e-12)
    if "right" in sides:
        np.testing.assert_allclose(columns @ columns.conj().T, np.eye(k), atol=1e-12)


def test_triangular_and_positive_factors_are_what_their_names_say() -> None:
    x = tr.normal((3, 4, 5), seed=7, dtype="C64")
    r = tl.split(x, 0, method="qr").right.reshape((3, 20)).to_numpy()
    lower = tl.split(x, (0, 1), method="lq").left.reshape((12, 5)).to_numpy()
    upper = tl.split(x, 0, method="rq").left.to_numpy()
    assert not np.tril(r, -1).any() and not np.triu(lower, 1).any() and not np.tril(upper, -1).any()
    for method, side in (("qr", "right"), ("lq", "left"), ("rq", "left")):
        triangle = getattr(tl.split(x, 0, method=method, positive=True), side).reshape((3, -1)).to_numpy()
        diagonal = np.diag(triangle[:, :3])
        assert (diagonal.real > 0).all() and abs(diagonal.imag).max() < 1e-15
    tall = tl.split(x, (0, 1), method="rq").left.reshape((12, 5)).to_numpy()
    assert not np.tril(tall, -8).any()
    p = tl.split(x, (0, 1), method="polar").right.to_numpy()
    np.testing.assert_allclose(p, p.conj().T, atol=1e-14)
    assert np.linalg.eigvalsh(p).min() > 0
    half = tl.split(x, 0, method="svd", absorb="both")
    rows, columns = half.left.to_numpy(), half.right.reshape((3, 20)).to_numpy()
    np.testing.assert_allclose(rows.conj().T @ rows, columns @ columns.conj().T, atol=1e-13)


@pytest.mark.parametrize("method", ["svd", "eigh"])
@pytest.mark.parametrize("absorb", [None, "left", "right", "both"])
@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("axes", [(0, 1), (0, 1, 2)])
def test_a_truncated_split_is_the_best_approximation_of_its_rank(
    method: str, absorb: str | None, renormalize: bool, axes: tuple[int, ...]
) -> None:
    x = tr.normal((2, 3, 4, 5), seed=8)
    found = tl.split(x, axes, method=method, absorb=absorb, max_rank=3, renormalize=renormalize)
    matrix = x.to_numpy().reshape((prod(x.shape[: len(axes)]), -1), order="F")
    u, s, vh = np.linalg.svd(matrix, full_matrices=False)
    scale = np.linalg.norm(s) / np.linalg.norm(s[:3]) if renormalize else 1.0
    wanted = ((u[:, :3] * s[:3]) @ vh[:3] * scale).reshape(x.shape, order="F")
    np.testing.assert_allclose(contracted(found, absorb), wanted, atol=1e-12)
    assert float(found.discarded) == pytest.approx((s[3:] ** 2).sum() / (s**2).sum(), rel=1e-10)


def test_batch_axes_split_each_tensor_alone() -> None:
    x = tr.normal((3, 2, 4, 2), seed=9, dtype="C64")
    for method, absorb in (
        ("svd", "right"),
        ("eigh", "left"),
        ("qr", None),
        ("lq", None),
        ("rq", None),
        ("polar", None),
    ):
        found = tl.split(x, 2, 1, method=method, absorb=absorb, batch_axes=(3, 0))
        assert found.left.shape == (4, found.left.shape[1], 2, 3)
        whole = np.einsum("ikxy,kjxy->yjix", found.left.to_numpy(), found.right.to_numpy())
        np.testing.assert_allclose(whole, x.to_numpy(), atol=1e-13)
    truncated = tl.split(x, 2, 1, max_rank=1, batch_axes=(3, 0))
    assert truncated.s.shape == (1, 2, 3) and truncated.discarded.shape == (2, 3)


def test_an_empty_group_of_axes_gives_a_factor_with_the_new_axis_alone() -> None:
    found = tl.split(tr.tensor([3.0, 4.0]), (), absorb="left")
    assert found.left.shape == (1,) and abs(float(found.left)) == pytest.approx(5)


def test_a_matrix_state_by_splits_gives_the_vector_back_and_has_its_entanglement() -> None:
    sites = 6
    psi = tr.normal((2,) * sites, seed=10, dtype="C64")
    psi = psi / tr.norm(psi)
    tensors, rest = [], psi.reshape((1, *psi.shape))
    for _ in range(sites - 1):
        left, _, rest, _ = tl.split(rest, (0, 1), absorb="right", cutoff=1e-28)
        tensors.append(left)
    tensors.append(rest.reshape((*rest.shape, 1)))
    whole = tensors[0].to_numpy()
    for one in tensors[1:]:
        whole = np.tensordot(whole, one.to_numpy(), axes=1)
    np.testing.assert_allclose(whole.reshape(psi.shape), psi.to_numpy(), atol=1e-13)
    assert [one.shape[2] for one in tensors] == [2, 4, 8, 4, 2, 1]
    centre = tl.split(psi, (0, 1, 2)).s
    schmidt = np.linalg.svd(psi.to_numpy().reshape(8, 8, order="F"), compute_uv=False)
    np.testing.assert_allclose(centre.to_numpy(), schmidt, atol=1e-14)


def test_the_state_made_of_right_isometries_is_canonical_whatever_the_method() -> None:
    tensors = [tr.normal(shape, seed=k) for k, shape in enumerate([(1, 2, 3), (3, 2, 4), (4, 2, 1)])]
    for method in ("svd", "lq", "rq", "eigh"):
        carry, canonical = tr.eye(1), []
        for tensor in reversed(tensors):
            carried = tr.tensordot(tensor, carry, axes=1)
            options: dict[str, Any] = {} if method[-1] == "q" else {"cutoff": 1e-25}
            carry, _, right, _ = tl.split(carried, 0, method=method, absorb="left", **options)
            canonical.append(right)
        for right in canonical:
            flat = right.reshape((right.shape[0], -1)).to_numpy()
            np.testing.assert_allclose(flat @ flat.T, np.eye(right.shape[0]), atol=1e-12)


@pytest.mark.parametrize(
    ("axes", "options", "message"),
    [
        ((0, 1), {"method": "cholesky"}, "method is 'cholesky'"),
        ((0, 1), {"method": "qr", "absorb": "left"}, "absorb is 'left'; accepted for method 'qr': None, 'right'"),
        ((0, 1), {"positive": True}, "positive beside method 'svd'"),
        ((0, 1), {"method": "qr", "max_rank": 2}, "discards nothing"),
        ((0, None), {"batch_axes": 0}, "every axis in exactly one"),
        ((0, 1), {}, "every axis in exactly one"),
        ((None, None), {}, "neither left_axes nor right_axes"),
    ],
)
def test_axes_and_options_that_do_not_fit_are_refused(axes: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        tl.split(tr.ones((2, 3, 4)), *axes, **options)


def test_an_axis_out_of_range_and_no_tensor_are_refused() -> None:
    with pytest.raises(AxisError):
        tl.split(tr.ones((2, 3)), 2)
    with pytest.raises(ForeignOperandError, match="split: tensor is a list; accepted: a tensor"):
        tl.split([1.0], 0)  # type: ignore[arg-type]
