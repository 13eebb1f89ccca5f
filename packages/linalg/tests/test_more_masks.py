"""``check="mask"`` of the operations whose results are one named tuple, and kernels that tell which matrices fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError
from tensor_linalg.masking import masked_result
from tensor_linalg.rules.lower import status as by_trying
from tensor_linalg.specs import CHOLESKY_STATUS, INV_STATUS, SOLVE_STATUS
from tensor_runtime.dispatch.call import execute_binary, execute_unary
from tensor_runtime.errors import SingularMatrixError

Array = np.ndarray[Any, np.dtype[Any]]
OPERATIONS: dict[str, Callable[..., Any]] = {
    "det": tl.det,
    "slogdet": tl.slogdet,
    "svdvals": tl.svdvals,
    "eigvalsh": tl.eigvalsh,
    "eig": tl.eig,
    "eigvals": tl.eigvals,
    "schur": tl.schur,
    "hessenberg": tl.hessenberg,
    "ldl": tl.ldl,
    "lu": tl.lu,
    "complete lu": lambda a, **options: tl.lu(a, pivoting="complete", **options),
    "lu_factor": tl.lu_factor,
    "qr_pivoted": tl.qr_pivoted,
    "rq": tl.rq,
    "lq": tl.lq,
    "ql": tl.ql,
    "polar": tl.polar,
    "pinv": tl.pinv,
    "lstsq": lambda a, **options: tl.lstsq(a, a[:, :1], **options),
    "lstsq by qr": lambda a, **options: tl.lstsq(a, a[:, :1], driver="qr", **options),
    "triangular_solve": lambda a, **options: tl.triangular_solve(a, a, **options),
    "cho_solve": lambda a, **options: tl.cho_solve(a, a, **options),
}
ZERO_FAILS = {"lstsq by qr", "triangular_solve", "cho_solve"}
"""What has no result for a matrix of zeros."""


def tensors(result: Any) -> Iterator[Array]:
    for one in result if isinstance(result, tuple) else (result,):
        if isinstance(one, tuple):
            yield from tensors(one)
        elif one is not None:
            yield one.to_numpy()


def matrices(dtype: str, *batch: int) -> Array:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((3, 3, *batch)) + (1j * rng.standard_normal((3, 3, *batch)) if dtype[0] == "c" else 0)
    return np.asfortranarray((x + 3 * np.eye(3).reshape(3, 3, *[1] * len(batch))).astype(dtype))


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(("dtype", "batch"), [("float32", (7,)), ("complex128", (2, 3)), ("float64", (1300,))])
def test_only_bad_matrices_lose_their_results(name: str, dtype: str, batch: tuple[int, ...]) -> None:
    a = matrices(dtype, *batch)
    function = OPERATIONS[name]
    expected = list(tensors(function(tr.asarray(a))))
    spoilt = a.copy(order="F")
    flat = spoilt.reshape(3, 3, -1, order="F")
    flat[1, 1, 1], flat[2, 2, 4] = np.nan, np.inf
    flat[..., 3] = 0.0
    result, status = function(tr.asarray(spoilt), check="mask")

    codes = status.to_numpy().ravel(order="F")
    wanted = np.zeros(flat.shape[2], np.int32)
    wanted[[1, 4]] = 1
    wanted[3] = 2 if name in ZERO_FAILS else 0
    assert codes.tolist() == wanted.tolist()
    good = (codes == 0) & (np.arange(codes.size) != 3)
    for found, whole in zip(tensors(result), expected, strict=True):
        assert (found.dtype, found.shape) == (whole.dtype, whole.shape)
        ours, theirs = (x.reshape(*x.shape[: x.ndim - len(batch)], -1, order="F") for x in (found, whole))
        if codes.size < 1000:
            assert ours[..., good].tobytes() == theirs[..., good].tobytes()
        np.testing.assert_allclose(ours[..., good], theirs[..., good], atol=1e-12 if codes.size > 1000 else 0)
        if found.dtype.kind != "i":
            assert np.isnan(ours[..., codes != 0]).all()


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_matrix_alone_and_no_matrix_have_a_status(name: str) -> None:
    function = OPERATIONS[name]
    assert function(tr.eye(3), check="mask").status.item() == 0
    assert function(tr.eye(3) * float("nan"), check="mask").status.item() == 1
    assert function(tr.zeros((3, 3, 0)), check="mask").status.shape == (0,)
    with pytest.raises(tr.TensorError, match="check is 'masks'"):
        function(tr.eye(3), check="masks")


@pytest.mark.parametrize("side", [1, 3, 7, 20, 70])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_kernels_tell_what_computing_refuses(side: int, dtype: str) -> None:
    count = 70 if side < 50 else 5
    rng = np.random.default_rng(side)
    x = rng.standard_normal((side, side, count))
    a = (np.einsum("ikb,jkb->ijb", x, x) + np.eye(side)[..., None]).astype(dtype)
    a[..., 1] *= -1
    a[..., 2] = 0.0
    a[0, 0, 3] = np.nan
    a[..., -1] = 1.0 if side > 1 else 0.0
    tensor, sides = tr.asarray(np.asfortranarray(a)), tr.ones((side, 2, count))
    bad = np.zeros(count, int)
    bad[[2, -1]], bad[3] = 2, 1
    singular, indefinite = bad.tolist(), np.where(np.arange(count) == 1, 2, bad).tolist()
    for found, by_errors, wanted in (
        (execute_unary(INV_STATUS, tensor), by_trying.inv_status(tensor, None), singular),
        (execute_binary(SOLVE_STATUS, tensor, sides), by_trying.solve_status(tensor, sides, None), singular),
        (execute_unary(CHOLESKY_STATUS, tensor), by_trying.cholesky_status(tensor, None), indefinite),
    ):
        assert found.to_numpy().tolist() == wanted
        assert by_errors.to_numpy().tolist() == wanted


def test_the_status_of_systems_has_the_batch_of_both_operands() -> None:
    a = np.stack([np.eye(2), np.zeros((2, 2))], -1)
    b = np.ones((2, 1, 3, 1))
    b[1, 0, 2] = np.inf
    found = execute_binary(SOLVE_STATUS, tr.asarray(a), tr.asarray(b))
    assert found.to_numpy().tolist() == [[0, 2], [0, 2], [1, 1]]
    assert execute_binary(SOLVE_STATUS, tr.zeros((2, 2)), tr.ones(2)).item() == 2


def test_a_batch_that_fails_wholly_takes_a_few_calls_and_no_error_for_each() -> None:
    calls: list[int] = []

    def run(x: tr.Tensor) -> tr.Tensor:
        calls.append(x.shape[2])
        return tl.inv(x, check=False)

    a = tr.zeros((2, 2, 5000))
    found = masked_result("inv", run, a, status=lambda x: execute_unary(INV_STATUS, x))
    assert found.status.to_numpy().tolist() == [2] * 5000
    assert len(calls) <= 6


def test_a_status_that_misses_a_matrix_is_mended_by_trying() -> None:
    a = tr.asarray(np.stack([np.eye(2), np.zeros((2, 2)), np.zeros((2, 2))], -1))
    none = tr.zeros(3, dtype="I32")
    found = masked_result("inv", lambda x: tl.inv(x, check=False), a, status=lambda x: none)
    assert found.status.to_numpy().tolist() == [0, 2, 2]


def test_triangles_from_the_right_and_tolerances_for_each_matrix_have_no_mask() -> None:
    with pytest.raises(ArgumentError, match="side='right'"):
        tl.triangular_solve(tr.eye(2), tr.eye(2), side="right", check="mask")  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="tensor for rtol"):
        tl.lstsq(tr.eye(2), tr.ones(2), rtol=tr.tensor(0.1), check="mask")  # type: ignore[call-overload]
    with pytest.raises(SingularMatrixError):
        tl.triangular_solve(tr.zeros((2, 2)), tr.ones(2))
