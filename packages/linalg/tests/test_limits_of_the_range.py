"""Matrices of numbers near the ends of the range of binary64: exact integers times a power of two have their answers.

LAPACK's eliminations multiply by the reciprocals of pivots, which are infinite below 2^-1024, and leave columns as they
are there; and products of numbers near 2^-1000 vanish.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_runtime.errors import SingularMatrixError
from tensor_runtime.tensors.tensor import Tensor

Array = np.ndarray[Any, np.dtype[Any]]
POWERS = (-1060, -1030, -1000, 1000)
SIZES = ((3, ()), (4, (9,)), (12, (3,)), (20, ()), (24, (9,)))
"""Rows and batches: in lanes, one by one, by LAPACK."""


def integers(dtype: str, size: int, batch: tuple[int, ...], columns: int = 0) -> Array:
    """Small integers, which stay exact when they are scaled; square matrices have a large diagonal."""
    rng = np.random.default_rng([size, *batch, columns])
    shape = (size, columns or size, *batch)
    x = rng.integers(-3, 4, shape) + (1j * rng.integers(-3, 4, shape) if dtype == "complex128" else 0)
    if not columns:
        x[np.arange(size), np.arange(size)] += 8 * size
    return np.asarray(x.astype(dtype)[::-1] if not columns else x.astype(dtype))  # so that rows are exchanged


def times_power(x: Array, power: int) -> Array:
    if x.dtype.kind == "c":
        return np.asarray(np.ldexp(x.real, power) + 1j * np.ldexp(x.imag, power))
    return np.asarray(np.ldexp(x, power))


def product(x: Array, y: Array) -> Array:
    return np.asarray(np.einsum("ij...,jk...->ik...", x, y))


def tensor(x: Array) -> Tensor:
    return tr.asarray(x)


@pytest.mark.parametrize(("size", "batch"), SIZES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("power", POWERS)
def test_solve_inv_and_slogdet_of_scaled_integers_are_those_of_the_integers(
    dtype: str, size: int, batch: tuple[int, ...], power: int
) -> None:
    a, x = integers(dtype, size, batch), integers(dtype, size, batch, 2)
    scaled, sides = tensor(times_power(a, power)), tensor(times_power(product(a, x), power))

    assert np.abs(tl.solve(scaled, sides).to_numpy() - x).max() < 1e-12
    sign, logarithm = tl.slogdet(scaled)
    expected = tl.slogdet(tensor(a))
    assert np.abs(sign.to_numpy() - expected[0].to_numpy()).max() < 1e-12
    shift = size * power * np.log(2)
    assert np.abs(logarithm.to_numpy() - shift - expected[1].to_numpy()).max() < 1e-12 * abs(shift)
    if power in (-1000, 1000):  # else the inverse leaves the range
        inverse = times_power(tl.inv(scaled).to_numpy(), power)
        assert np.abs(inverse - tl.inv(tensor(a)).to_numpy()).max() < 1e-14


@pytest.mark.parametrize("size", [3, 12, 20])
def test_a_minute_matrix_changes_no_bit_of_its_neighbours(size: int) -> None:
    a, x = integers("float64", size, (9,)), integers("float64", size, (9,), 2)

    def results() -> list[Array]:
        found = tl.solve(tensor(a), tensor(x)), tl.inv(tensor(a)), tl.det(tensor(a)), *tl.slogdet(tensor(a))
        return [one.to_numpy() for one in found]

    alone = results()
    a[..., 4], x[..., 4] = a[..., 4] * 2.0**-1060, x[..., 4] * 2.0**-1060
    beside = results()

    others = np.arange(9) != 4
    for one, other in zip(alone, beside, strict=True):
        assert (one[..., others] == other[..., others]).all()
    assert (alone[0][..., 4] == beside[0][..., 4]).all()
    assert beside[2][4] == 0.0


@pytest.mark.parametrize(("size", "batch"), SIZES)
@pytest.mark.parametrize("power", [-1000, 1000])
def test_determinants_of_two_halves_that_cancel_are_in_range(size: int, batch: tuple[int, ...], power: int) -> None:
    a = integers("float64", size, batch)
    exponents = np.where(np.arange(size) % 2 == 0, power // 2, -power // 2)[: 2 * (size // 2)]
    exponents = np.concatenate([exponents, np.zeros(size - len(exponents), int)])
    found = tl.det(tensor(np.ldexp(a, exponents.reshape(-1, *(1,) * (a.ndim - 1))))).to_numpy()

    assert np.allclose(found, tl.det(tensor(a)).to_numpy(), rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("power", [-1035, -500])
@pytest.mark.parametrize("size", [4, 12, 40])
def test_a_block_of_minute_numbers_in_a_matrix_is_eliminated_rightly(size: int, power: int) -> None:
    a, x = integers("float64", size, ()), integers("float64", size, (), 2)
    half = size // 2
    whole = np.zeros((2 * half, 2 * half))
    whole[:half, :half] = a[-half:, :half]
    whole[half:, half:] = np.ldexp(a[-half:, :half], power)
    whole, sides = whole[::-1], (whole @ x[: 2 * half])[::-1]

    bound = 1e-12 if power == -500 else 1e-8  # numbers there are multiples of 2^-1074
    assert np.abs(tl.solve(tensor(whole), tensor(sides)).to_numpy() - x[: 2 * half]).max() < bound
    packed, permutation = (part.to_numpy() for part in tl.lu_factor(tensor(whole)))
    lower = np.tril(packed, -1) + np.eye(2 * half)
    assert np.abs(lower).max() == 1.0
    ordered = whole[permutation]
    left = (lower @ np.triu(packed) - ordered)[np.abs(ordered).max(axis=1) < 2.0**-300]
    assert np.abs(np.ldexp(left, -power)).max() < bound


@pytest.mark.parametrize("pivoting", ["partial", "complete"])
@pytest.mark.parametrize(("size", "batch"), SIZES)
def test_lower_factors_of_scaled_integers_are_those_of_the_integers(
    size: int, batch: tuple[int, ...], pivoting: str
) -> None:
    a = integers("complex128", size, batch)
    kind: Any = pivoting
    expected = tl.lu(tensor(a), pivoting=kind)
    for power in (-1060, 600):
        found = tl.lu(tensor(times_power(a, power)), pivoting=kind)
        bound = 1e-12 if power == 600 else 2.0**-13  # half of 2^-1074
        assert np.abs(found.l.to_numpy() - expected.l.to_numpy()).max() < 1e-13
        assert np.abs(times_power(found.u.to_numpy(), -power) - expected.u.to_numpy()).max() < bound


@pytest.mark.parametrize("size", [2, 5, 12, 40])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("power", [-1022, -1060, 1000])
def test_ldl_of_scaled_integers_and_of_rank_one_is_finite_and_right(dtype: str, size: int, power: int) -> None:
    x = integers(dtype, size, (), 1)
    full = integers(dtype, size, ())
    for a in (product(x, x.conj().T), full + full.conj().T):
        lower, diagonal, order = (part.to_numpy() for part in tl.ldl(tensor(times_power(a, power))))
        whole = product(product(lower, times_power(diagonal, -power)), lower.conj().T)

        assert np.isfinite(lower).all()
        assert np.abs(whole - a[order][:, order]).max() < (1e-11 if power != -1060 else 1e-1) * size


@pytest.mark.parametrize("power", [-1060, 1000])
def test_banded_and_toeplitz_systems_of_scaled_integers_have_the_integers_solution(power: int) -> None:
    n = 30
    x = integers("float64", n, (), 2)
    for lower, upper in ((1, 1), (2, 0), (14, 15)):
        bands = integers("float64", n, (), lower + upper + 1).T.copy()
        bands[upper] += 99
        matrix = sum(np.diag(bands[upper - k, max(k, 0) : n + min(k, 0)], k) for k in range(-lower, upper + 1))
        sides = tensor(times_power(matrix @ x, power))
        found = tl.solve_banded((lower, upper), tensor(times_power(bands, power)), sides).to_numpy()
        assert np.abs(found - x).max() < 1e-12
    column = integers("float64", n, (), 1)[:, 0]
    column[0] = 200.0
    matrix = column[np.abs(np.subtract.outer(np.arange(n), np.arange(n)))]
    found = tl.solve_toeplitz(tensor(times_power(column, power)), tensor(times_power(matrix @ x, power))).to_numpy()
    assert np.abs(found - x).max() < 1e-12


@pytest.mark.parametrize("size", [3, 12, 30])
def test_the_singular_matrix_beside_a_minute_one_is_named(size: int) -> None:
    a = integers("float64", size, (9,))
    a[..., 2] = np.ldexp(a[..., 2], -1060)
    a[..., 5] = 1.0
    for call in (tl.inv, lambda one: tl.solve(one, tr.ones((size, 1, 9)))):
        with pytest.raises(SingularMatrixError) as caught:
            call(tensor(a))
        assert caught.value.batch_index == (5,)


@pytest.mark.parametrize("power", [-902, -901, -900, -899])
def test_matrices_on_the_border_of_what_counts_as_minute_are_no_singular_ones(power: int) -> None:
    for count in (1, 8):
        ones, sides = np.stack([np.eye(3)] * count, -1), np.ones((3, 1, count))
        a = tr.asarray(np.asfortranarray(ones * 2.0**power))
        assert (tl.inv(a).to_numpy() * 2.0**power == ones).all()
        assert (tl.solve(a, tr.asarray(np.asfortranarray(sides))).to_numpy() == sides * 2.0**-power).all()


@pytest.mark.parametrize("side", ["left", "right"])
def test_polar_factors_of_the_largest_matrices_are_finite(side: str) -> None:
    u, p = tl.polar(tr.asarray(np.diag([9.5e307, -1.7e308])), side=side)
    assert np.abs(u.to_numpy() - np.diag([1.0, -1.0])).max() < 1e-14
    assert np.abs(p.to_numpy() / 1e308 - np.diag([0.95, 1.7])).max() < 1e-14


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [("float32", 1e-35), ("float32", 1e30), ("complex64", 1e-35), ("float64", 1e-300), ("complex128", 1e-305)],
)
@pytest.mark.parametrize("name", ["cg", "cg with a preconditioner", "minres", "gmres", "lsmr"])
def test_iterations_solve_systems_of_any_scale(name: str, dtype: str, scale: float) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((8, 8)) + (1j * rng.standard_normal((8, 8)) if dtype[0] == "c" else 0)
    a = (x @ x.conj().T / 8 + np.eye(8)).astype(dtype)
    b = a @ np.arange(1, 9)
    small = tensor((a * scale).astype(dtype))
    methods: dict[str, Any] = {
        "cg": tl.cg,
        "cg with a preconditioner": lambda a, b: tl.cg(a, b, preconditioner=lambda r: r * (1 / scale)),
        "minres": tl.minres,
        "gmres": tl.gmres,
        "lsmr": tl.lsmr,
    }
    for factor in (1.0, scale):  # on the right
        found = methods[name](small, tensor((b * factor).astype(dtype)))
        assert found.converged
        solution = found.x.to_numpy().astype("complex128") * (scale / factor)
        assert np.abs(solution - np.arange(1, 9)).max() < (0.05 if dtype in ("float32", "complex64") else 1e-6)


@pytest.mark.parametrize("which", ["LM", "SM"])
@pytest.mark.parametrize(
    ("dtype", "scale"), [("float64", 1e-200), ("float64", 1e200), ("float32", 1e-25), ("complex64", 1e25)]
)
def test_singular_values_by_iteration_are_found_at_any_scale(dtype: str, scale: float, which: str) -> None:
    a = np.random.default_rng(6).standard_normal((9, 7)).astype(dtype)
    expected = np.linalg.svd(a.astype("float64" if dtype[0] == "f" else "complex128"), compute_uv=False)
    found = tl.svds(tensor((a * scale).astype(dtype)), k=2, which=which)
    assert found.converged
    values = found.s.to_numpy().astype("float64") / scale
    assert np.abs(values - (expected[:2] if which == "LM" else expected[-2:])).max() < 1e-3


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [3, 9, 17, 20])
@pytest.mark.parametrize("columns", [1, 3, 20])
def test_systems_with_subnormal_diagonals_are_divided_and_not_multiplied(dtype: str, size: int, columns: int) -> None:
    rng = np.random.default_rng(size)
    x: Any = np.triu(rng.integers(-4, 5, (size, size)), 1) / 16 + np.diag(rng.choice([1.0, -2.0, 4.0], size))
    if "complex" in dtype:
        x = x + 1j * np.triu(rng.integers(-4, 5, (size, size)), 1) / 16
    solution = rng.integers(-8, 9, (size, columns)).astype(dtype)
    scale = 2.0**-1035 if dtype in ("float64", "complex128") else 2.0**-131
    a, b, adjoint = (
        tr.asarray(np.asfortranarray((one * scale).astype(dtype)))  # exact: small numbers times a power of two
        for one in (x, x @ solution, x.conj().T @ solution)
    )
    factors = tl.lu_factor(a)
    for found in (
        tl.triangular_solve(a, b),
        tl.triangular_solve(a, b, check=False),
        tl.lu_solve(factors, b),
        tl.lu_solve(factors, adjoint, transpose=True, conjugate=True),
    ):
        np.testing.assert_array_equal(found.to_numpy(), solution)
    tolerance = 1e-9 if dtype in ("float64", "complex128") else 1e-3  # of numbers with few digits
    np.testing.assert_allclose(tl.lstsq(a, b).solution.to_numpy(), solution, atol=tolerance)
    if "complex" not in dtype:
        each = tl.lstsq(a, b, rtol=tr.full((), 0.0)).solution.to_numpy()
        np.testing.assert_allclose(each, solution, atol=tolerance)


@pytest.mark.parametrize("scale", [2.0**-1035, 2.0**-700, 1.0, 2.0**1000])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_minimal_residuals_have_the_solution_of_a_matrix_of_any_scale(scale: float, shift: float) -> None:
    rng = np.random.default_rng(4)
    g = rng.integers(-4, 5, (8, 8))
    a = (g + g.T + 20 * np.diag(rng.choice([1.0, -1.0], 8))) / 8
    x = rng.integers(-4, 5, (8, 2)).astype(float)
    b = (a - shift * np.eye(8)) @ x
    found = tl.minres(tr.asarray(a * scale), tr.asarray(np.asfortranarray(b * scale)), shift=shift * scale, tol=1e-10)
    assert found.converged
    np.testing.assert_allclose(found.x.to_numpy(), x, atol=1e-6)
    start = tr.asarray(np.asfortranarray(x + 1))
    again = tl.minres(
        tr.asarray(a * scale), tr.asarray(np.asfortranarray(b * scale)), start, shift=shift * scale, tol=1e-10
    )
    assert again.converged
    np.testing.assert_allclose(again.x.to_numpy(), x, atol=1e-6)
    assert (again.residuals.to_numpy() <= 1e-10 * np.linalg.norm(b, axis=0) * scale).all()


@pytest.mark.parametrize("scale", [1e-38, 1e-30, 1.0, 1e37])
@pytest.mark.parametrize("order", [1, float("inf"), "fro", "nuc"])
def test_condition_numbers_are_those_of_a_matrix_of_any_scale(scale: float, order: Any) -> None:
    rng = np.random.default_rng(2)
    a = rng.standard_normal((40, 40, 2))
    a[..., 1] = 1.0
    found = tl.cond(tr.asarray(np.asfortranarray((a * scale).astype("float32"))), order).to_numpy()
    assert found[0] == pytest.approx(np.linalg.cond(a[..., 0], order), rel=0.05)
    assert found[1] == np.inf


def product_of_norms(a: Array, order: Any) -> Any:
    """In numbers of a wider range, by the inverse of a matrix whose columns are scaled to 1."""
    wide = a.astype(np.longdouble)
    largest = np.abs(wide).max(0)
    inverse = np.linalg.inv((wide / largest).astype(float)) / largest[:, None]
    return np.linalg.norm(wide, order) * np.linalg.norm(inverse, order)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [3, 9, 20, 70])
@pytest.mark.parametrize("order", [1, float("inf"), "fro", "nuc"])
def test_condition_numbers_beyond_the_range_are_infinite(dtype: str, size: int, order: Any) -> None:
    one = np.eye(size) + np.random.default_rng(0).integers(-2, 3, (size, size)) / 32
    largest = float(np.finfo(dtype).max)
    a = np.stack([one, one, one], -1)
    a[0, 0, 0] = largest
    a[:, 0, 1] *= largest * 0.75
    expected = [product_of_norms(a[..., k], "fro" if order == "nuc" else order) for k in range(3)]
    known = [float(x) if x <= largest else np.inf for x in expected]
    if order == "nuc":  # no smaller than that of Frobenius
        known = [np.inf, np.inf, np.linalg.cond(one, order)]
    for batch in (slice(0, 1), slice(0, 2), slice(0, 3)):
        x = tr.asarray(a[..., batch].astype(dtype, order="F"))
        np.testing.assert_allclose(tl.cond(x, order).to_numpy(), known[batch], rtol=1e-5)
        masked = tl.cond(x, order, check="mask")
        np.testing.assert_allclose(masked.result.to_numpy(), known[batch], rtol=1e-5)
        assert not masked.status.to_numpy().any()


@pytest.mark.parametrize("size", [3, 65])
def test_eigenvalues_of_a_pair_that_are_beyond_the_range_are_an_error(size: int) -> None:
    a, b = tr.embed_diagonal(tr.arange(1.0, size + 1)), tr.eye(size) * 1e-300
    assert tl.eigh(a * 1e-200, b).eigenvalues[0].item() == pytest.approx(1e100)
    with pytest.raises(tl.NotConvergedError, match="eigh: the eigenvalues are beyond the range of F64; scale a or b"):
        tl.eigh(a * 1e100, b)
    stack = tr.stack([a, a * 1e100, a], axis=-1)
    with pytest.raises(tl.NotConvergedError, match=r"at batch index \(1,\)") as caught:
        tl.eigh(stack, b)
    assert vars(caught.value)["batch_index"] == (1,)
    found = tl.eigh(stack, b, check="mask")
    assert found.status.tolist() == [0, 2, 0]
    assert found.result.eigenvalues[0].tolist() == pytest.approx([1e300, float("nan"), 1e300], nan_ok=True)


def test_random_products_beyond_the_range_are_told_as_such() -> None:
    a = tr.normal((70, 70), seed=1) * 1e307
    with pytest.raises(tl.NotConvergedError, match="randomized_svd: products with random vectors are beyond the range"):
        tl.randomized_svd(a, 3, seed=1)
    with pytest.raises(tl.NotConvergedError, match="randomized_eigh: products with random vectors are beyond"):
        tl.randomized_eigh(a, 3, seed=1)
    halved = tl.randomized_svd(a * 2.0**-20, 3, seed=1).s * 2.0**20
    assert halved.tolist() == pytest.approx(np.linalg.svd(a.to_numpy())[1][:3].tolist(), rel=0.05)


@pytest.mark.parametrize(("dtype", "scale"), [("float64", 2.0**-1000), ("float64", 2.0**-850), ("float32", 2.0**-125)])
@pytest.mark.parametrize("size", [24, 40, 65])
def test_eigenvectors_of_tiny_matrices_have_norm_1(dtype: str, scale: float, size: int) -> None:
    a = np.full((size, size), scale, dtype)
    values, vectors = (part.to_numpy().astype("complex128") for part in tl.eig(tensor(a)))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1.0, rtol=1e-5)
    np.testing.assert_allclose(abs(values).max(), size * scale, rtol=1e-5)
    residual = (a / scale) @ vectors - vectors * (values / scale)
    assert abs(residual).max() < 1e-4
