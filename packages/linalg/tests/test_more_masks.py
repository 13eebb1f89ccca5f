"""``check="mask"`` of the operations whose results are one named tuple, and kernels that tell which matrices fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError
from tensor_linalg.masking import masked, masked_result
from tensor_linalg.rules.lower import status as by_trying
from tensor_linalg.specs import CHOLESKY_STATUS, INV_STATUS, SOLVE_STATUS
from tensor_runtime.dispatch.call import execute_binary, execute_unary
from tensor_runtime.errors import ForeignOperandError, LinalgError, SingularMatrixError

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
    "solve_banded": lambda a, **o: tl.solve_banded((0, 0), tr.expand_dims(tl.diagonal(a), 0), a, **o),
    "solve_toeplitz": lambda a, **o: tl.solve_toeplitz(tr.roll(a[:, 1], -1, 0), a[:, 2:], **o),
    "solveh_banded": lambda a, **o: tl.solveh_banded(tr.expand_dims(tr.abs(tl.diagonal(a)), 0), a, **o),
    "expm": tl.expm,
    "sinm": tl.sinm,
    "cosm": tl.cosm,
    "sqrtm": lambda a, **options: tl.sqrtm(tl.matmul(a, a), **options),
    "logm": lambda a, **options: tl.logm(tl.matmul(a, a), **options),
    "logm of Hermitian ones": lambda a, **o: tl.logm(tl.matmul(a, tl.mH(a)), hermitian=True, **o),
    "funm": lambda a, **options: tl.funm(a, tr.exp, **options),
    "matrix_power": lambda a, **options: tl.matrix_power(a, -2, **options),
    "cond": lambda a, **options: tl.cond(a, 1, **options),
    "matrix_rank": tl.matrix_rank,
}
ZERO_FAILS = {
    *("lstsq by qr", "triangular_solve", "cho_solve", "solve_banded", "solve_toeplitz", "solveh_banded"),
    *("sqrtm", "logm", "logm of Hermitian ones", "matrix_power"),
}
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
    found = masked_result("inv", run, a, status_of=lambda x: execute_unary(INV_STATUS, x))
    assert found.status.to_numpy().tolist() == [2] * 5000
    assert len(calls) <= 6


def test_a_status_that_misses_a_matrix_is_mended_by_trying() -> None:
    a = tr.asarray(np.stack([np.eye(2), np.zeros((2, 2)), np.zeros((2, 2))], -1))
    none = tr.zeros(3, dtype="I32")
    found = masked_result("inv", lambda x: tl.inv(x, check=False), a, status_of=lambda x: none)
    assert found.status.to_numpy().tolist() == [0, 2, 2]


def test_without_a_mask_a_singular_triangle_is_refused() -> None:
    with pytest.raises(SingularMatrixError):
        tl.triangular_solve(tr.zeros((2, 2)), tr.ones(2))


def test_roots_that_have_no_limit_leave_those_that_have_as_they_are() -> None:
    rng = np.random.default_rng(5)
    good = rng.standard_normal((4, 4, 6)) + 1j * rng.standard_normal((4, 4, 6)) + 6 * np.eye(4)[..., None]
    mixed = np.asfortranarray(good.copy())
    mixed[..., 2], mixed[..., 4] = np.diag([-1.0, 2.0, 3.0, 0.0]), np.diag([0.0, 1.0, 1.0, 1.0])
    alone, beside = (tl.sqrtm(tr.asarray(np.asfortranarray(x))).to_numpy() for x in (good, mixed))
    assert alone[..., [0, 1, 3, 5]].tobytes() == beside[..., [0, 1, 3, 5]].tobytes()
    np.testing.assert_allclose(np.einsum("ikb,kjb->ijb", beside, beside), mixed, atol=1e-13)


def test_the_first_matrix_without_a_root_is_named_whichever_stops_first() -> None:
    slow = np.array([[-1e-3, 1.0, 0.0], [0.0, -2.0, 1.0], [0.0, 0.0, 5.0]])
    a = tr.asarray(np.asfortranarray(np.stack([np.eye(3), slow, np.zeros((3, 3))], -1)))
    with pytest.raises(tr.TensorError, match=r"batch index \(1,\)"):
        tl.sqrtm(a)
    assert tl.sqrtm(a, check="mask").status.to_numpy().tolist() == [0, 2, 2]


def test_structured_systems_broadcast_under_a_mask_and_tell_their_batch() -> None:
    bands = np.zeros((3, 4, 2, 1))
    bands[1, :, 0], bands[0, 1:], bands[2, :3] = 3.0, 1.0, 1.0
    bands[0, :, 1], bands[2, :, 1] = 0.0, 0.0
    sides = np.ones((4, 2, 3))
    sides[2, 1, 2] = np.inf
    x, status = tl.solve_banded((1, 1), tr.asarray(bands), tr.asarray(sides), check="mask")
    assert status.to_numpy().tolist() == [[0, 0, 1], [2, 2, 1]]
    expected = tl.solve_banded((1, 1), tr.asarray(bands[:, :, :1]), tr.ones((4, 2, 1, 2)))
    np.testing.assert_array_equal(x.to_numpy()[:, :, 0, :2], expected.to_numpy()[:, :, 0])
    column, rows = np.array([[4.0, 0.0], [1.0, 0.0], [0.5, 0.0]]), np.ones((3, 1, 2))
    x, status = tl.solve_toeplitz(tr.asarray(column), tr.asarray(rows), check="mask")
    assert status.to_numpy().tolist() == [0, 2]
    assert np.isnan(x.to_numpy()[..., 1]).all()
    np.testing.assert_allclose(
        x.to_numpy()[:, 0, 0], tl.solve_toeplitz(tr.asarray(column[:, 0]), tr.ones(3)).to_numpy()
    )
    assert tl.solve_toeplitz(tr.tensor([float("nan")]), tr.ones(1), check="mask").status.item() == 1
    assert tl.solve_toeplitz(tr.zeros((0, 2)), tr.zeros((0, 1, 2)), check="mask").status.to_numpy().tolist() == [0, 0]


def test_powers_name_themselves_when_a_matrix_has_no_inverse() -> None:
    with pytest.raises(SingularMatrixError, match=r"matrix_power: the matrix at batch index \(1,\)"):
        tl.matrix_power(tr.tensor([[[1.0, 0.0]]]), -1)


@pytest.mark.parametrize("solved", [tl.triangular_solve, tl.cho_solve])
def test_substitutions_under_a_mask_refuse_what_they_cannot_do(solved: Any) -> None:
    a, b = tr.eye(2), tr.ones(2)
    with pytest.raises(ArgumentError, match="condition=True and check='mask'"):
        solved(a, b, check="mask", condition=True)
    with pytest.raises(ArgumentError, match="overwrite"):
        solved(a, b, check="mask", overwrite="x")


def test_whom_an_error_names_later_is_found_too() -> None:
    rng = np.random.default_rng(0)
    for size in (2, 3):
        a = rng.integers(-2, 3, (size, size, 400)).astype(float)
        a[..., ::7] = 1.0  # fails in the first step, others in later ones
        for function in (tl.logm, tl.sqrtm):
            result, status = function(tr.asarray(np.asfortranarray(a)), check="mask")
            alone = [function(tr.asarray(np.asfortranarray(one)), check="mask") for one in np.moveaxis(a, -1, 0)]
            assert status.to_numpy().tolist() == [one.status.item() for one in alone]
            assert set(status.to_numpy().tolist()) == {0, 2}
            expected = np.stack([one.result.to_numpy() for one in alone], -1)
            assert np.array_equal(np.isnan(result.to_numpy()), np.isnan(expected))


def test_powers_that_take_any_element_flag_no_matrix() -> None:
    a = matrices("float64", 3)
    a[0, 1, 1] = np.inf
    for n in (0, 1, 3):
        found = tl.matrix_power(tr.asarray(a), n, check="mask")
        assert found.status.to_numpy().tolist() == [0, 0, 0]
        assert found.result.to_numpy().tobytes() == tl.matrix_power(tr.asarray(a), n).to_numpy().tobytes()
    assert tl.matrix_power(tr.asarray(a), -1, check="mask").status.to_numpy().tolist() == [0, 1, 0]


def test_appended_columns_are_looked_at_and_masked() -> None:
    a = matrices("complex128", 4)
    q, r = tl.qr(tr.asarray(a))
    columns = np.asfortranarray(a[:, :2] + 1)
    good = tl.qr_append(q, r, tr.asarray(columns))
    columns[2, 1, 2] = np.nan
    with pytest.raises(tl.NonFiniteError, match=r"qr_append: operand columns holds .* at element \(2, 1\)") as caught:
        tl.qr_append(q, r, tr.asarray(columns))
    assert caught.value.batch_index == (2,)
    found = tl.qr_append(q, r, tr.asarray(columns), check="mask")
    assert found.status.to_numpy().tolist() == [0, 0, 1, 0]
    for one, expected in zip(found.result, good, strict=True):
        assert np.isnan(one.to_numpy()[..., 2]).all()
        assert (one.to_numpy()[..., [0, 1, 3]] == expected.to_numpy()[..., [0, 1, 3]]).all()
    assert tl.qr_append(q, r, tr.asarray(columns), check=False).r.shape == (3, 5, 4)


@pytest.mark.parametrize("transpose", [False, True])
def test_factors_solve_under_a_mask(transpose: bool) -> None:
    a = matrices("float64", 5)
    a[..., 3] = 1.0
    factors, b = tl.lu_factor(tr.asarray(a)), np.asfortranarray(a[:, :2] + 1)
    b[1, 1, 1] = np.inf
    found = tl.lu_solve(factors, tr.asarray(b), transpose=transpose, check="mask")
    assert found.status.to_numpy().tolist() == [0, 1, 0, 2, 0]
    assert np.isnan(found.result.to_numpy()[..., [1, 3]]).all()
    b[1, 1, 1] = 0.0
    expected = tl.lu_solve(factors, tr.asarray(b), transpose=transpose, check=False)
    assert (found.result.to_numpy()[..., ::2] == expected.to_numpy()[..., ::2]).all()
    with pytest.raises(ArgumentError, match="condition=True and check='mask'"):
        tl.lu_solve(factors, tr.asarray(b), check="mask", condition=True)  # type: ignore[call-overload]
    alone = tl.lu_solve(tl.lu_factor(tr.ones((2, 2))), tr.ones(2), check="mask")
    assert (alone.status.item(), np.isnan(alone.result.to_numpy()).all()) == (2, True)


def test_generalized_eigenproblems_and_subsets_take_a_mask() -> None:
    a, b = matrices("float64", 5), matrices("float64", 5)
    b = np.einsum("ijb,kjb->ikb", b, b)
    good = tl.eigh(tr.asarray(a), tr.asarray(b), subset_by_index=(1, 2))
    b[..., 2] *= -1
    a[2, 1, 4] = np.nan
    found = tl.eigh(tr.asarray(a), tr.asarray(b), subset_by_index=(1, 2), check="mask")
    assert found.status.to_numpy().tolist() == [0, 0, 2, 0, 1]
    assert np.isnan(found.result.eigenvectors.to_numpy()[..., [2, 4]]).all()
    assert np.allclose(found.result.eigenvalues.to_numpy()[:, :2], good.eigenvalues.to_numpy()[:, :2], rtol=1e-13)
    shared = tl.eigh(tr.eye(3), tr.asarray(b), check="mask")
    assert shared.status.to_numpy().tolist() == [0, 0, 2, 0, 0]
    subset = tl.eigh(tr.asarray(a), subset_by_index=(0, 0), check="mask")
    assert subset.status.to_numpy().tolist() == [0, 0, 0, 0, 1]
    assert subset.result.eigenvectors.shape == (3, 1, 5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("order", ["fro", 1, np.inf])
def test_norms_of_good_matrices_are_as_without_a_bad_one(bad: float, order: Any) -> None:
    for seed in range(40):
        a = np.random.default_rng(seed).standard_normal((3, 4, 5))
        broken = a.copy()
        broken[0, 0, 1] = bad
        expected = tl.matrix_norm(tr.asarray(a), order).to_numpy()
        for found, status in (
            tl.matrix_norm(tr.asarray(broken), order, check="mask"),
            tl.norm(tr.asarray(broken), order, check="mask"),
        ):
            assert np.array_equal(np.delete(found.to_numpy(), 1), np.delete(expected, 1))
            assert np.array_equal(found.to_numpy()[1], bad, equal_nan=True) and not status.to_numpy().any()


@pytest.mark.parametrize("shape", [(4, 3, 5), (3, 4, 5)])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_splits_by_eigh_of_good_tensors_are_as_without_a_bad_one(shape: tuple[int, ...], bad: float) -> None:
    for seed in range(40):
        a = np.random.default_rng(seed).standard_normal(shape)
        broken = a.copy()
        broken[0, 0, 1] = bad
        expected = tl.split(tr.asarray(a), 0, 1, batch_axes=2, method="eigh")
        found, status = tl.split(tr.asarray(broken), 0, 1, batch_axes=2, method="eigh", check="mask")
        assert status.to_numpy().tolist() == [0, 1, 0, 0, 0]
        for one, other in zip(found, expected, strict=True):
            assert np.array_equal(np.delete(one.to_numpy(), 1, -1), np.delete(other.to_numpy(), 1, -1))
            assert np.isnan(one.to_numpy()[..., 1]).all()


@pytest.mark.parametrize("order", ["nuc", "fro", 1])
def test_unchecked_condition_numbers_beside_nan_and_a_far_matrix(order: Any) -> None:
    good = np.random.default_rng(3).standard_normal((3, 3))
    broken, far = np.array(good), good * 1e-310
    broken[1, 2] = np.nan
    found = tl.cond(tr.asarray(np.stack([good, broken, far], 2)), order, check=False).to_numpy()
    assert found[0] == pytest.approx(tl.cond(tr.asarray(good), order).item(), rel=1e-14)
    assert np.isnan(found[1])
    assert found[2] == pytest.approx(np.linalg.cond(good, order), rel=1e-3)


def test_leading_blocks_of_toeplitz_matrices_are_singular_whatever_is_beside_them() -> None:
    tenths = [[1, 1, -1], [1, 2, -1], [1, 2, 2], [1, 1, -1], [1, 2, 1]]
    c = np.asfortranarray(np.array(tenths) / 10 + 0j)
    sides = tr.ones((5, 1, 3), dtype="C64")
    beside = tl.solve_toeplitz(tr.asarray(c), sides, check="mask")
    for place in range(3):
        alone = tl.solve_toeplitz(tr.asarray(c[:, place]), sides[..., place], check="mask")
        assert beside.status[place].item() == alone.status.item()
        np.testing.assert_array_equal(beside.result[..., place].to_numpy(), alone.result.to_numpy())
    assert 2 in beside.status.tolist() and 0 in beside.status.tolist()


def test_what_fails_only_beside_what_takes_the_place_of_others_is_blamed_too() -> None:
    a = tr.stack([tr.eye(2) * k for k in range(1, 5)], axis=-1)

    def run(x: tr.Tensor) -> tuple[tr.Tensor]:
        """Refuses the second, and the third only where the second is an identity."""
        first = x[0, 0].tolist()
        for bad in (2.0, 3.0):
            if bad in first and (bad == 2.0 or first[:2] == [1.0, 1.0]):
                raise LinalgError("run: no", operation="run", batch_index=(first.index(bad),), element_index=None)
        return (tr.copy(x),)

    (found,), status = masked(run, "run", a)
    assert status.tolist() == [0, 2, 2, 0]
    assert found[0, 0].tolist() == pytest.approx([1.0, float("nan"), float("nan"), 4.0], nan_ok=True)


@pytest.mark.parametrize("order", [1, -1, np.inf, "fro", 2])
def test_norms_and_conditions_of_reversed_matrices_are_what_they_are_without_the_bad_one(order: Any) -> None:
    a = np.random.default_rng(12).standard_normal((20, 9, 5))
    bad = np.array(a)
    bad[0, 0, 4] = np.nan

    def reversed_view(x: Array) -> tr.Tensor:
        return tr.asarray(np.asfortranarray(x[::-1, ::-1]))[::-1, ::-1]

    for function, rows in ((tl.matrix_norm, 20), (tl.cond, 9)):
        plain, found = (function(reversed_view(x[:rows]), order, check="mask").result.to_numpy() for x in (a, bad))
        np.testing.assert_array_equal(found[:4], plain[:4])
        assert np.isnan(found[4]) and np.isfinite(plain).all()


def test_a_driver_that_is_no_name_is_refused_with_a_mask_too() -> None:
    a = tr.ones((3, 2, 2))
    for driver in (np.array([1.0, 2.0]), "gesdd"):
        with pytest.raises(ArgumentError, match=r"lstsq: driver is .*accepted"):
            tl.lstsq(a, tr.ones((3, 1, 2)), driver=driver, check="mask")  # type: ignore[arg-type]


def test_a_list_has_no_condition_number() -> None:
    with pytest.raises(ForeignOperandError, match="cond: found list"):
        tl.cond([[1.0]], check="mask")  # type: ignore[call-overload]
