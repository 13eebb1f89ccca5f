"""Triangular, least-squares, banded, Toeplitz and tensor systems beside SciPy's and NumPy's."""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError, DTypeError, ShapeError

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64", "complex64", "complex128")


def numbers(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else 0)
    return x.astype(dtype)


def close(found: tr.Tensor, expected: Array, units: float = 200.0) -> bool:
    array = found.to_numpy()
    assert array.dtype == expected.dtype
    assert array.shape == expected.shape
    unit = float(np.finfo(expected.dtype).eps)
    return bool(np.abs(array - expected).max(initial=0.0) <= units * unit * max(1.0, np.abs(expected).max(initial=0.0)))


def triangles(dtype: str, lower: bool, *batch: int, size: int = 4) -> Array:
    x = numbers((size, size, *batch), dtype) + (3 * np.eye(size)).reshape(size, size, *[1] * len(batch))
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("lower", "trans", "unit"), [*product((True, False), "NTC", (True, False))])
def test_a_triangular_solution_is_scipys(dtype: str, lower: bool, trans: str, unit: bool) -> None:
    a, b = triangles(dtype, lower), numbers((4, 3), dtype, seed=1)
    options: dict[str, Any] = {"transpose": trans == "T", "adjoint": trans == "C"}
    expected = scipy.linalg.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit)

    assert close(
        tl.triangular_solve(tr.asarray(a), tr.asarray(b), lower=lower, unit_diagonal=unit, **options), expected
    )
    right = tl.triangular_solve(
        tr.asarray(a), tr.asarray(b).T, lower=lower, unit_diagonal=unit, side="right", **options
    ).to_numpy()
    op = {"N": a, "T": a.T, "C": a.conj().T}[trans]
    op = np.tril(op) if lower == (trans == "N") else np.triu(op)
    if unit:
        np.fill_diagonal(op, 1)
    assert np.abs(right @ op - b.T).max() < 300 * np.finfo(dtype).eps * np.abs(right).max()


@pytest.mark.parametrize(("size", "columns", "batch"), [(6, 2, 3000), (3, 1, 40), (1, 1, 7), (20, 30, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_triangular_systems_in_a_batch_are_those_one_by_one(size: int, columns: int, batch: int, dtype: str) -> None:
    a, b = triangles(dtype, True, batch, size=size), numbers((size, columns, batch), dtype, seed=1)
    several: tuple[dict[str, Any], ...] = ({"lower": True}, {"lower": True, "adjoint": True}, {"transpose": True})
    for options in several:
        found = tl.triangular_solve(tr.asarray(a), tr.asarray(b), **options).to_numpy()
        for k in (0, batch // 2, batch - 1):
            one = tl.triangular_solve(tr.asarray(a[..., k]), tr.asarray(b[..., k]), **options).to_numpy()
            assert np.abs(found[..., k] - one).max() <= 1e3 * np.finfo(dtype).eps * np.abs(one).max()


def test_a_zero_on_a_diagonal_is_named_unless_nothing_is_checked_or_read() -> None:
    a = np.array(np.broadcast_to(np.eye(3)[..., None, None], (3, 3, 4, 5)))
    a[1, 1, 2, 3] = 0.0
    b = tr.ones((3, 1))

    with pytest.raises(tl.SingularMatrixError, match=r"index \(2, 3\) has a zero on its diagonal") as info:
        tl.triangular_solve(tr.asarray(a), b)
    assert info.value.batch_index == (2, 3)
    assert np.isinf(tl.triangular_solve(tr.asarray(a), b, check=False).to_numpy()[1, 0, 2, 3])
    assert np.isfinite(tl.triangular_solve(tr.asarray(a), b, unit_diagonal=True).to_numpy()).all()
    a[0, 2, 1, 1] = np.nan
    with pytest.raises(tl.NonFiniteError, match=r"triangular_solve: operand a holds nan at element \(0, 2\)") as bad:
        tl.triangular_solve(tr.asarray(a), b)
    assert bad.value.batch_index == (1, 1)


@pytest.mark.parametrize(
    ("size", "columns", "batch"), [(3, 1, ()), (5, 2, (9,)), (20, 1, (9,)), (30, 3, (9,)), (80, 1, ())]
)
@pytest.mark.parametrize(("lower", "unit"), list(product((True, False), repeat=2)))
def test_what_is_not_read_of_a_triangular_matrix_may_be_anything(
    size: int, columns: int, batch: tuple[int, ...], lower: bool, unit: bool
) -> None:
    a, b = triangles("float64", lower, *batch, size=size), numbers((size, columns, *batch), seed=1)
    read = np.tri(size, k=-1 if unit else 0, dtype=bool)
    read = (read if lower else read.T).reshape(size, size, *[1] * len(batch))
    a = np.where(read, a, np.nan)
    options: dict[str, Any] = {"lower": lower, "unit_diagonal": unit}
    filled = np.where(read, a, 0.0)

    for mode in ({}, {"transpose": True}, {"check": "mask"}, {"overwrite": True}, {"side": "right"}):
        turned = np.swapaxes(b, 0, 1) if "side" in mode else b
        given = [tr.asarray(np.asfortranarray(x)) for x in (a, filled)]
        found, expected = (tl.triangular_solve(x, tr.asarray(turned, copy=True), **options, **mode) for x in given)
        if "check" in mode:
            assert not found.status.to_numpy().any()
            found, expected = found.result, expected.result
        assert found.to_numpy().tobytes() == expected.to_numpy().tobytes()
    place = (size - 1, 0) if lower else (0, size - 1)
    a[place] = np.inf
    with pytest.raises(tl.NonFiniteError, match=rf"operand a holds inf at element \({place[0]}, {place[1]}\)"):
        tl.triangular_solve(tr.asarray(a), tr.asarray(b), **options)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_cholesky_factor_of_either_triangle_solves(dtype: str) -> None:
    x, b = numbers((4, 4, 3), dtype), numbers((4, 2, 1), dtype, seed=1)
    a = np.einsum("ijb,kjb->ikb", x, x.conj()) + np.eye(4)[..., None].astype(dtype)
    factor = tl.cholesky(tr.asarray(a.astype(dtype)))
    expected = np.stack([np.linalg.solve(a[..., k], b[..., 0]) for k in range(3)], -1).astype(dtype)

    assert close(tl.cho_solve(factor, tr.asarray(b)), expected, 2e3)
    assert close(tl.cho_solve(tl.mH(factor), tr.asarray(b), lower=False), expected, 2e3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (1, 1), (5, 3, 2, 2), (0, 3), (3, 0), (2, 3, 0)])
def test_a_pseudo_inverse_is_numpys(dtype: str, shape: tuple[int, ...]) -> None:
    a = numbers(shape, dtype)
    expected = np.moveaxis(np.linalg.pinv(np.moveaxis(a, (0, 1), (-2, -1))), (-2, -1), (0, 1))

    assert close(tl.pinv(tr.asarray(a)), np.ascontiguousarray(expected), 400)


def test_a_pseudo_inverse_leaves_out_what_the_tolerance_says_for_each_matrix() -> None:
    a = np.stack([np.diag([4.0, 1.0, 1e-3])] * 2, -1)

    both = tl.pinv(tr.asarray(a), rtol=tr.tensor([1e-2, 1e-4])).to_numpy()
    assert np.allclose(both[..., 0], np.diag([0.25, 1.0, 0.0]))
    assert np.allclose(both[..., 1], np.diag([0.25, 1.0, 1e3]))
    negative = tl.pinv(tr.asarray(-a), rtol=1e-2, hermitian=True).to_numpy()
    assert np.allclose(negative[..., 1], np.diag([-0.25, -1.0, 0.0]))
    for wrong in (-1.0, float("nan"), True, "small"):
        with pytest.raises(ArgumentError, match="pinv: rtol is"):
            tl.pinv(tr.asarray(a), rtol=wrong)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="one for each matrix"):
        tl.pinv(tr.asarray(a), rtol=tr.ones(3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4)])
@pytest.mark.parametrize("driver", ["svd", "qr"])
def test_a_least_squares_solution_is_scipys(dtype: str, shape: tuple[int, int], driver: str) -> None:
    a, b = numbers(shape, dtype), numbers((shape[0], 2), dtype, seed=1)
    expected, _, rank, values = scipy.linalg.lstsq(a, b)
    found = tl.lstsq(tr.asarray(a), tr.asarray(b), driver=driver)

    assert close(found.solution, expected, 2e3)
    assert found.rank.item() == rank
    left = np.sum(np.abs(b - a @ expected) ** 2, 0)
    assert np.abs(found.residuals.to_numpy() - left).max() < 100 * np.finfo(dtype).eps * np.sum(np.abs(b) ** 2)
    assert found.residuals.dtype is found.solution.dtype.component
    if driver == "svd":
        assert found.singular_values is not None
        assert close(found.singular_values, values)
    else:
        assert found.singular_values is None


def test_what_equals_the_tolerance_counts_as_zero() -> None:
    a = tr.asarray(np.diag([2.0, 1.0]))
    for rtol, rank in ((0.5, 1), (math.nextafter(0.5, 0.0), 2)):
        assert tl.lstsq(a, tr.ones(2), rtol=rtol).rank.item() == rank
        assert tl.qr_pivoted(a, rtol=rtol).rank.item() == rank
        assert tl.matrix_rank(a, rtol=rtol).item() == rank
        for hermitian in (False, True):
            assert np.diagonal(tl.pinv(a, rtol=rtol, hermitian=hermitian).to_numpy()).tolist() == [0.5, rank - 1]


def test_least_squares_of_deficient_rank_has_the_smallest_norm_and_says_its_rank() -> None:
    a = np.stack([np.outer([1.0, 2.0, 3.0], [1.0, 1.0]), np.eye(3)[:, :2]], -1)
    b = np.array([1.0, 2.0, 3.0]).reshape(3, 1, 1)
    found = tl.lstsq(tr.asarray(a), tr.asarray(b))

    assert found.rank.to_numpy().tolist() == [1, 2]
    assert np.allclose(found.solution.to_numpy()[:, 0, 0], [0.5, 0.5])
    assert np.allclose(found.residuals.to_numpy(), [[0.0, 9.0]])
    with pytest.raises(tl.SingularMatrixError, match="does not have full rank; driver='svd'"):
        tl.lstsq(tr.zeros((3, 2)), tr.ones(3), driver="qr")
    with pytest.raises(ArgumentError, match="driver"):
        tl.lstsq(tr.zeros((3, 2)), tr.ones(3), driver="gelsd")
    empty = tl.lstsq(tr.zeros((0, 3)), tr.zeros((0, 2)))
    assert empty.solution.to_numpy().tolist() == [[0.0, 0.0]] * 3
    assert empty.rank.item() == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bandwidths", [(1, 1), (0, 2), (2, 0), (2, 1), (0, 0), (4, 6)])
def test_a_banded_solution_is_that_of_the_whole_matrix(dtype: str, bandwidths: tuple[int, int]) -> None:
    lower, upper = bandwidths
    bands = numbers((lower + upper + 1, 5, 2, 3), dtype)
    bands[upper] += 8
    dense = np.zeros((5, 5, 2, 3), dtype)
    for i, j in product(range(5), repeat=2):
        if -lower <= j - i <= upper:
            dense[i, j] = bands[upper + i - j, j]
    b = numbers((5, 2, 3), dtype, seed=1)[:, :, None, :]
    found = tl.solve_banded(bandwidths, tr.asarray(bands), tr.asarray(b))

    assert close(found, tl.solve(tr.asarray(dense), tr.asarray(b)).to_numpy())
    one = tl.solve_banded(bandwidths, tr.asarray(bands[..., 1, 2]), tr.asarray(b[:, 0, 0, 2]))
    assert close(one, scipy.linalg.solve_banded(bandwidths, bands[..., 1, 2], b[:, 0, 0, 2]))


def test_a_rule_solves_banded_systems_as_the_kernel_does() -> None:
    from tensor_linalg.contracts.solving import BandedParams
    from tensor_linalg.rules.lower.solving import solve_banded

    bands, b = tr.asarray(numbers((4, 5, 2)) + 3.0), tr.asarray(numbers((5, 2, 2), seed=1))
    expected = tl.solve_banded((2, 1), bands, b).to_numpy()

    assert np.allclose(solve_banded(bands, b, BandedParams(2, 1, True)).to_numpy(), expected, rtol=1e-10)


def test_a_singular_banded_matrix_is_named_and_bandwidths_must_fit() -> None:
    bands = np.ones((1, 3, 2, 2))
    bands[0, 2, 1, 0] = 0.0
    with pytest.raises(tl.SingularMatrixError, match=r"solve_banded: the matrix at batch index \(1, 0\)") as info:
        tl.solve_banded((0, 0), tr.asarray(bands), tr.ones((3, 1)))
    assert info.value.batch_index == (1, 0)
    with pytest.raises(ShapeError, match="has 1 diagonals; accepted: 3 for bandwidths"):
        tl.solve_banded((1, 1), tr.ones((1, 3)), tr.ones(3))
    for wrong in ((1,), (1, -1), 1, (1, 1.5)):
        with pytest.raises(ArgumentError, match="solve_banded"):
            tl.solve_banded(wrong, tr.ones((1, 3)), tr.ones(3))  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_toeplitz_solution_is_scipys(dtype: str, size: int) -> None:
    c, r = numbers((size, 3), dtype), numbers((size, 3), dtype, seed=1)
    c[0] = 9
    b = numbers((size, 2, 3), dtype, seed=2)
    found = tl.solve_toeplitz(tr.asarray(c), tr.asarray(b), tr.asarray(r)).to_numpy()
    hermitian = tl.solve_toeplitz(tr.asarray(c[:, 0]), tr.asarray(b[:, 0, 0]))

    for k in range(3):
        whole = scipy.linalg.toeplitz(c[:, k], r[:, k])
        assert np.abs(whole @ found[..., k] - b[..., k]).max() < 200 * np.finfo(dtype).eps * np.abs(b).max()
    assert close(hermitian, scipy.linalg.solve_toeplitz(c[:, 0], b[:, 0, 0]).astype(dtype))


def test_a_toeplitz_matrix_with_a_singular_leading_block_is_named() -> None:
    c = tr.tensor([[2.0, 1.0], [1.0, 1.0]])
    with pytest.raises(tl.SingularMatrixError, match=r"index \(1,\) has a leading block that is exactly singular"):
        tl.solve_toeplitz(c, tr.ones((2, 1, 1)))
    assert tl.solve_toeplitz(tr.zeros((0, 2)), tr.zeros((0, 3, 2))).shape == (0, 3, 2)


def test_tensor_systems_are_numpys() -> None:
    a, b = numbers((2, 3, 4, 6, 4)), numbers((2, 3, 4), seed=1)

    assert close(tl.tensorsolve(tr.asarray(a), tr.asarray(b)), np.linalg.tensorsolve(a, b), 1e4)
    moved = np.moveaxis(a, 3, 0)
    assert close(
        tl.tensorsolve(tr.asarray(moved), tr.asarray(b), axes=(0, 4)), np.linalg.tensorsolve(moved, b, axes=(0, 4)), 1e4
    )
    assert close(tl.tensorinv(tr.asarray(a), 3), np.linalg.tensorinv(a, 3), 1e4)
    with pytest.raises(ArgumentError, match="ind is 0"):
        tl.tensorinv(tr.asarray(a), 0)


def hilbert(size: int) -> Array:
    return 1.0 / (np.arange(size)[:, None] + np.arange(size) + 1.0)


def test_an_ill_conditioned_matrix_is_warned_of_on_request_alone() -> None:
    bad = np.stack([np.eye(14), hilbert(14)], -1)
    b = tr.ones((14, 1))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet = tl.solve(tr.asarray(bad), b)
        tl.inv(tr.asarray(bad))
        tl.solve(tr.asarray(bad[..., 0]), b, condition=True)
    with pytest.warns(
        tl.IllConditionedWarning, match=r"solve: the matrix at batch index \(1,\) has a condition"
    ) as log:
        warned = tl.solve(tr.asarray(bad), b, condition=True)
    assert log[0].filename == __file__
    assert warned.to_numpy().tolist() == quiet.to_numpy().tolist()
    with pytest.warns(tl.IllConditionedWarning, match="inv: the matrix has a condition number of about 1e18|of about"):
        tl.inv(tr.asarray(hilbert(14)), condition=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: tl.triangular_solve(a, a),
        lambda a: tl.cho_solve(a, a),
        lambda a: tl.pinv(a),
        lambda a: tl.lstsq(a, a),
        lambda a: tl.solve_banded((0, 2), a, a),
        lambda a: tl.solveh_banded(tr.abs(a[:1]), a),
        lambda a: tl.solve_toeplitz(a[:, 0], a),
        lambda a: tl.tensorsolve(a, a[0]),
        lambda a: tl.tensorinv(a, 1),
    ],
)
def test_integers_are_refused_and_forms_inferred_without_data(call: Any) -> None:
    with pytest.raises(DTypeError, match="accepted: C32, C64, F32, F64"):
        call(tr.ones((3, 3), dtype="I64"))
    expected = call(tr.asarray(numbers((3, 3)) + 5 * np.eye(3)))
    first = expected[0] if isinstance(expected, tuple) else expected
    found = tr.infer(call, (tr.F64, (3, 3)))
    found = found[0] if isinstance(found, tuple) else found
    assert (found.dtype, found.shape) == (first.dtype, first.shape)


def test_systems_without_right_hand_sides_have_empty_solutions() -> None:
    for count in (0, 3):
        for batch in ((), (2,), (0,)):
            sides = tr.zeros((count, 0, *batch))
            matrices = tr.zeros((count, count, *batch)) + tr.eye(count).reshape(count, count, *(1,) * len(batch))
            first = tr.zeros((count, *batch)) + tr.eye(count, 1).reshape(count, *(1,) * len(batch))
            assert tl.solve(matrices, sides).shape == sides.shape
            assert tl.triangular_solve(matrices, sides).shape == sides.shape
            assert tl.solve_banded((0, 0), tr.ones((1, count, *batch)), sides).shape == sides.shape
            assert tl.solve_toeplitz(first, sides).shape == sides.shape
            assert tl.solve_toeplitz(first, sides, check="mask").result.shape == sides.shape
    with pytest.raises(tl.NonFiniteError, match="solve_toeplitz: operand c"):
        tl.solve_toeplitz(tr.tensor([float("nan")]), tr.zeros((1, 0)))
    told = tl.solve_toeplitz(tr.tensor([[1.0, float("nan")]]), tr.zeros((1, 0, 2)), check="mask").status
    assert told.to_numpy().tolist() == [0, 1]


def test_tensor_equations_name_themselves_and_elements_of_the_tensor_given() -> None:
    a = np.zeros((2, 3, 6))
    a[1, 2, 4] = np.inf
    with pytest.raises(tl.NonFiniteError, match=r"tensorinv: operand a holds inf at element \(1, 2, 4\)"):
        tl.tensorinv(tr.asarray(a))
    with pytest.raises(tl.NonFiniteError, match=r"tensorsolve: operand a holds inf at element \(4, 1, 2\)"):
        tl.tensorsolve(tr.asarray(a.transpose(2, 0, 1).copy()), tr.ones((2, 3)), axes=(0,))
    with pytest.raises(tl.NonFiniteError, match=r"tensorsolve: operand b holds inf at element \(0, 1\)"):
        tl.tensorsolve(tr.zeros((2, 3, 6)), tr.tensor([[1.0, float("inf"), 1.0]] * 2))
    with pytest.raises(tl.SingularMatrixError, match="tensorsolve: the matrix is exactly singular; lstsq"):
        tl.tensorsolve(tr.zeros((2, 3, 6)), tr.ones((2, 3)))
    with pytest.raises(tl.SingularMatrixError, match="tensorinv: the matrix is exactly singular; pinv"):
        tl.tensorinv(tr.zeros((2, 3, 6)))


def test_systems_of_several_axes_have_a_status_too() -> None:
    a, b = tr.reshape_view(tr.eye(6) * 2.0, (2, 3, 6)), tr.ones((2, 3))
    fine, inverse = tl.tensorsolve(a, b, check="mask"), tl.tensorinv(a, check="mask")
    assert (fine.status.item(), fine.result.tolist()) == (0, tl.tensorsolve(a, b).tolist())
    assert (inverse.status.item(), inverse.result.tolist()) == (0, tl.tensorinv(a).tolist())

    for matrix, side, status in ((a * float("nan"), b, 1), (a, b * float("inf"), 1), (a * 0.0, b, 2)):
        found = tl.tensorsolve(matrix, side, check="mask")
        assert (found.status.item(), found.result.shape) == (status, (6,))
        assert np.isnan(found.result.to_numpy()).all()
    found = tl.tensorinv(a * 0.0, check="mask")
    assert (found.status.item(), found.result.shape) == (2, (6, 2, 3))
    with pytest.raises(ArgumentError, match="tensorinv: condition=True and check='mask'"):
        tl.tensorinv(a, check="mask", condition=True)  # type: ignore[call-overload]


@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64"])
@pytest.mark.parametrize("size", [1, 8, 17, 70])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_an_empty_batch_of_systems_has_an_empty_batch_of_solutions(dtype: str, size: int, columns: int) -> None:
    a, b = tr.zeros((size, size, 2, 0), dtype=dtype), tr.zeros((size, columns, 2, 0), dtype=dtype)
    solutions = (
        tl.triangular_solve(a, b),
        tl.triangular_solve(a, b, check=False),
        tl.cho_solve(a, b),
        tl.lu_solve(tl.lu_factor(a), b),
        tl.lstsq(a, b, driver="qr").solution,
    )
    assert {x.shape for x in solutions} == {b.shape}
