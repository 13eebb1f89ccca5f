"""Small matrices in vector lanes: right for every dtype, side, batch count and instruction set, NumPy's errors."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.dtypes import C32, C64, F32, F64
from tensor_cpu.kernels.linalg import batched_simd
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.errors import NonFiniteError, NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.usefixtures("instruction_set")

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = {"float32": F32, "float64": F64, "complex64": C32, "complex128": C64}
EACH_DTYPE = pytest.mark.parametrize("dtype", DTYPES)
EACH_SIDE = pytest.mark.parametrize("side", [*range(1, 17), 17, 24, 33])
SQUARE = sorted(set(batched_simd.BINDERS) & {"cholesky", "solve", "inv", "det", "eigh"})
RIGHT = 3


def forms(name: str, *tensors: Array) -> tuple[tuple[Form, ...], Any]:
    """Forms of the operands and of the results."""
    operands = tuple(
        form_of(DTYPES[x.dtype.name], x.shape, CPU, tuple(s // x.itemsize for s in x.strides)) for x in tensors
    )
    dtype, shape = operands[0].dtype, operands[-1].shape
    if name == "eigh":
        return operands, (form_of(dtype.component, shape[1:], CPU), form_of(dtype, shape, CPU))
    return operands, form_of(dtype, shape[2:] if name == "det" else shape, CPU)


def run(name: str, *tensors: Array, check: bool = True) -> tuple[Array, ...]:
    """The native kernel's results as tensors, matrix axes first, in binary64."""
    operands, result = forms(name, *tensors)
    kernel = batched_simd.bind(name, operands, result, check)
    assert kernel is not None
    found = kernel(*[x.T for x in tensors])
    results, expected = (found, result) if isinstance(result, tuple) else ((found,), (result,))
    for array, form in zip(results, expected, strict=True):
        assert (array.shape, DTYPES[array.dtype.name]) == (form.shape[::-1], form.dtype)
        assert array.flags.c_contiguous
        assert array.flags.writeable
    return tuple(wide(array.T) for array in results)


def wide(x: Array) -> Array:
    return np.asarray(x.astype(np.result_type(x.dtype, np.float64)))


def draw(dtype: str, *shape: int, seed: int = 0) -> Array:
    """A random column-major tensor."""
    rng = np.random.default_rng([seed, *shape])
    x = rng.standard_normal(shape)
    if "complex" in dtype:
        x = x + 1j * rng.standard_normal(shape)
    return np.asfortranarray(x.astype(dtype))


def matrices(name: str, dtype: str, side: int, *batch: int) -> Array:
    """Random square matrices; Hermitian positive definite ones where the operation wants them."""
    x = wide(draw(dtype, side, side, *batch))
    if name in ("cholesky", "eigh"):
        x = np.einsum("ik...,jk...->ij...", x, x.conj())
    return np.asfortranarray((x + unit(side, len(batch))).astype(dtype))


def unit(side: int, batch_rank: int) -> Array:
    return np.eye(side).reshape(side, side, *[1] * batch_rank)


def product(x: Array, y: Array) -> Array:
    return np.asarray(np.einsum("ij...,jk...->ik...", x, y))


def bound(dtype: str, side: int) -> float:
    return float(np.finfo(dtype).eps) * 8 * side**2


def residuals(name: str, a: Array, results: tuple[Array, ...], b: Array) -> float:
    """The largest error of what a routine promises, relative to the sizes of what it multiplied, for each matrix."""
    a, b, x = wide(a), wide(b), results[0]
    if name == "cholesky":
        error, size = product(x, x.conj().swapaxes(0, 1)) - a, largest(a)
    elif name == "solve":
        error, size = product(a, x) - b, largest(a) * largest(x) + largest(b)
    elif name == "inv":
        error, size = product(a, x) - unit(a.shape[0], a.ndim - 2), largest(a) * largest(x)
    else:
        stack = np.moveaxis(a, (0, 1), (-2, -1))
        exact = np.linalg.det(stack)
        condition = np.linalg.cond(stack) if a.size else np.ones(exact.shape)
        error, size = np.asarray(x - exact)[None, None], np.abs(exact) * condition
    return float((np.abs(error) / size).max(initial=0.0))


def largest(x: Array) -> Array:
    return np.asarray(np.abs(x).max(axis=(0, 1), initial=1e-300))


@EACH_DTYPE
@EACH_SIDE
@pytest.mark.parametrize("name", ["cholesky", "det", "inv", "solve"])
def test_residuals_are_a_few_rounding_units(name: str, side: int, dtype: str) -> None:
    a, b = matrices(name, dtype, side, 19), draw(dtype, side, RIGHT, 19)
    operands = (a, b) if name == "solve" else (a,)
    before = [x.copy() for x in operands]

    assert residuals(name, a, run(name, *operands), b) <= bound(dtype, side)
    assert all((x == y).all() for x, y in zip(operands, before, strict=True))


def eliminated(a: Array, b: Array) -> tuple[Array, float]:
    """The solution and the determinant that Gaussian elimination of one matrix finds, each product rounded."""
    a, b, product = a.copy(), b.copy(), 1.0
    for j in range(len(a)):
        row = j + int(np.abs(a[j:, j]).argmax())
        a[[j, row]], b[[j, row]] = a[[row, j]], b[[row, j]]
        product *= a[j, j] * (1 if row == j else -1)
        below = a[j + 1 :, j] / a[j, j]
        a[j + 1 :] -= below[:, None] * a[j]
        b[j + 1 :] -= below[:, None] * b[j]
    for j in reversed(range(len(a))):
        b[j] /= a[j, j]
        b[:j] -= a[:j, j, None] * b[j]
    return b, product


@pytest.mark.parametrize("side", [2, 3, 5, 6, 8, 9, 12, 16, 22, 64])
def test_systems_of_every_side_have_the_bits_of_elimination_step_by_step(side: int) -> None:
    a, b = draw("float64", side, side, 9), draw("float64", side, 5, 9)
    unit = np.asfortranarray(np.repeat(np.eye(side)[..., None], 9, axis=2))
    solutions, inverses, (determinants,) = run("solve", a, b)[0], run("inv", a)[0], run("det", a)

    for k in range(9):
        x, product = eliminated(a[..., k], b[..., k])
        assert solutions[..., k].tolist() == x.tolist()
        assert inverses[..., k].tolist() == eliminated(a[..., k], unit[..., k])[0].tolist()
        assert determinants[k] == pytest.approx(product, rel=1e-13)


@EACH_DTYPE
@pytest.mark.parametrize("name", ["cholesky", "det", "inv", "solve"])
def test_the_largest_matrices_have_residuals_of_a_few_rounding_units(name: str, dtype: str) -> None:
    wanted = "cholesky" if name == "det" else name  # whose determinants F32 holds after scaling
    a, b = matrices(wanted, dtype, 64, 9), draw(dtype, 64, 18, 9)
    a = np.asfortranarray((a / np.dtype(dtype).type(64 if name == "det" else 1)).astype(dtype))

    found = run(name, a, b) if name == "solve" else run(name, a)

    assert residuals(name, a, found, b) <= bound(dtype, 64)


@pytest.mark.parametrize("side", [8, 9, 40, 64])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_equal_rows_are_singular_at_every_side(side: int, dtype: str) -> None:
    a = draw(dtype, side, side, 20)
    a[side - 2, :, 13] = a[1, :, 13]

    assert (run("det", a)[0] == 0).tolist() == [k == 13 for k in range(20)]
    for name, operands in (("solve", (a, a[:, :1])), ("inv", (a,))):
        with pytest.raises(SingularMatrixError) as singular:
            run(name, *operands)
        assert singular.value.batch_index == (13,)


@pytest.mark.parametrize("name", SQUARE)
def test_a_matrix_has_the_same_results_in_batches_of_any_length(name: str) -> None:
    a, b = matrices(name, "float64", 3, 35), draw("float64", 3, RIGHT, 35)
    whole = run(name, a, b) if name == "solve" else run(name, a)

    for count in range(1, 35):
        some = (a[..., :count], b[..., :count]) if name == "solve" else (a[..., :count],)
        for part, result in zip(run(name, *some), whole, strict=True):
            assert part.tolist() == result[..., :count].tolist()


@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_share_long_batches(name: str, threads: int) -> None:
    a, b = matrices(name, "float64", 4, 9001), draw("float64", 4, 1, 9001)
    operands = (a, b) if name == "solve" else (a,)
    former = LIBRARY.threads()
    expected = run(name, *operands)
    try:
        LIBRARY.set_threads(threads)
        found = run(name, *operands)
    finally:
        LIBRARY.set_threads(former)
    assert all((x == y).all() for x, y in zip(found, expected, strict=True))


@EACH_DTYPE
@pytest.mark.parametrize("name", SQUARE)
def test_views_give_what_their_copies_give(name: str, dtype: str) -> None:
    a = matrices(name, dtype, 4, 3, 5)
    b = draw(dtype, 4, RIGHT, 3, 5)
    for view in (
        lambda x: x[..., ::-1, :],
        lambda x: x[..., ::2],
        lambda x: x.transpose(0, 1, 3, 2),
        lambda x: np.ascontiguousarray(x),
        lambda x: np.broadcast_to(x[..., :1], x.shape),
        lambda x: x[..., 1, 2],
    ):
        views = [view(a), view(b)][: 2 if name == "solve" else 1]
        copies = [np.array(x, order="F") for x in views]
        for found, expected in zip(run(name, *views), run(name, *copies), strict=True):
            assert found.tolist() == expected.tolist()


@EACH_DTYPE
@EACH_SIDE
def test_cholesky_of_integers_is_exact(side: int, dtype: str) -> None:
    rng = np.random.default_rng(side)
    factor = np.tril(rng.integers(-3, 4, (side, side, 11)).transpose(2, 0, 1)).transpose(1, 2, 0).astype(complex)
    if "complex" in dtype:
        factor += 1j * np.tril(rng.integers(-3, 4, (11, side, side)), -1).transpose(1, 2, 0)
    factor[range(side), range(side)] = rng.integers(1, 5, (side, 11))
    factor = factor if "complex" in dtype else factor.real
    a = product(factor, factor.conj().swapaxes(0, 1))
    a[np.triu_indices(side, 1)] = 77.0
    if "complex" in dtype:
        a[range(side), range(side)] += 5.0j

    assert (run("cholesky", np.asfortranarray(a.astype(dtype)))[0] == factor).all()


@EACH_DTYPE
@EACH_SIDE
def test_permuted_triangles_of_integers_are_solved_inverted_and_measured_exactly(side: int, dtype: str) -> None:
    rng = np.random.default_rng(side)
    upper = np.triu(rng.integers(-2, 3, (13, side, side)), 1) + np.eye(side) * 2.0 ** rng.integers(-1, 2, (13, side, 1))
    orders = [rng.permutation(side) for _ in range(13)]
    a = np.stack([matrix[order] for matrix, order in zip(upper, orders, strict=True)])
    signs = [np.linalg.det(np.eye(side)[order]).round() for order in orders]
    x = rng.integers(-5, 6, (13, side, RIGHT)).astype(float)
    b = a @ x

    def tensor(stack: Array) -> Array:
        return np.asfortranarray(np.moveaxis(stack, 0, -1).astype(dtype))

    assert (run("solve", tensor(a), tensor(b))[0] == np.moveaxis(x, 0, -1)).all()
    assert (run("det", tensor(a))[0] == np.diagonal(upper, 0, 1, 2).prod(axis=1) * signs).all()
    inverse = run("inv", tensor(np.stack([np.eye(side)[order] for order in orders])))[0]
    assert (inverse == np.stack([np.eye(side)[order].T for order in orders], axis=-1)).all()


@EACH_DTYPE
def test_determinants_leave_the_range_only_at_the_end(dtype: str) -> None:
    large, small = (1e30, 1e-30) if dtype in ("float32", "complex64") else (1e300, 1e-300)
    diagonals = np.array([[large] * 4 + [small] * 4, [small] * 8, [large] * 8, [0.0] + [large] * 7, [1.0] * 8])
    a = np.asfortranarray((diagonals[:, :, None] * np.eye(8)).transpose(1, 2, 0).astype(dtype))
    found = run("det", a)[0]

    assert np.abs(found[0] - 1.0) < 1e-5
    assert found[1:].real.tolist() == [0.0, np.inf, 0.0, 1.0]


@pytest.mark.parametrize("side", [4, 5, 8, 13, 16, 20])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_determinants_far_from_one_are_those_of_scaled_matrices(dtype: str, side: int) -> None:
    """Pivots whose product may leave the range are multiplied otherwise: with the same bits, and beside others."""
    a = draw(dtype, side, side, 27)
    expected, powers = run("det", a)[0], np.zeros(27)
    powers[[0, 9, 20]], powers[[3, 26]] = 950 // side, -(950 // side)
    found = run("det", np.asfortranarray(a * 2.0**powers))[0]

    assert found.tolist() == (expected * 2.0 ** (powers * side)).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_determinant_of_equal_rows_is_zero(dtype: str) -> None:
    a = draw(dtype, 3, 3, 10)
    a[1] = a[0]

    assert (run("det", a)[0] == 0).all()


def exact_determinant(a: Array) -> complex:
    """By permutations, in rational numbers, rounded once."""
    parts = [[(Fraction(x.real), Fraction(x.imag)) for x in row] for row in a.tolist()]
    sums = [Fraction(0), Fraction(0)]
    for order in permutations(range(len(parts))):
        real, imaginary = Fraction(np.linalg.det(np.eye(len(parts))[list(order)]).round()), Fraction(0)
        for row, column in enumerate(order):
            x, y = parts[row][column]
            real, imaginary = real * x - imaginary * y, real * y + imaginary * x
        sums = [sums[0] + real, sums[1] + imaginary]
    return complex(float(sums[0]), float(sums[1]))


@EACH_DTYPE
@pytest.mark.parametrize("side", [2, 3])
def test_determinants_of_formulas_keep_the_digits_that_cancel(dtype: str, side: int) -> None:
    """Matrices of rank one but for their last digits, some far from 1, between others: each as it is alone."""
    rows, columns = wide(draw(dtype, side, 1, 27)), wide(draw(dtype, 1, side, 27, seed=1))
    a = product(rows, columns) + 2.0**-20 * wide(draw(dtype, side, side, 27, seed=2))
    scales = np.ones(27)
    if dtype in ("float64", "complex128"):
        scales[[3, 17, 26]] = 2.0**320, 2.0**-330, 2.0**-301
    a = np.asfortranarray((a * scales).astype(dtype))
    found = run("det", a)[0]

    for k in range(27):
        alone = np.asfortranarray(a[..., k])
        assert run("det", np.asfortranarray(a[..., k : k + 1]))[0][0] == found[k]
        exact = exact_determinant(wide(alone) / scales[k]) * scales[k] ** side
        minors = 2.0**-20 if side == 3 else 0.0  # an error of each element changes the determinant by its minor
        unit = float(np.finfo(dtype).eps)
        small = 2.0**-53 * np.abs(alone).max() ** side * max(minors, 2.0**-50)
        far = 2.0**-53 * np.abs(alone).max() ** side * (scales[k] != 1)
        assert abs(found[k] - exact) <= 2 * unit * abs(exact) + 16 * (small + far)


def test_determinants_of_whole_numbers_are_whole() -> None:
    a = np.asfortranarray(np.random.default_rng(0).integers(-1000, 1000, (3, 3, 50)).astype(float))
    expected = [round(exact_determinant(a[..., k]).real) for k in range(50)]

    assert run("det", a)[0].tolist() == expected
    assert run("det", np.asfortranarray(a[:2, :2]))[0].tolist() == (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]).tolist()


@pytest.mark.parametrize("columns", [1, 2, 15, 16, 17, 33, 50])
@pytest.mark.parametrize("side", [1, 2, 5, 16])
def test_solve_takes_any_number_of_columns(side: int, columns: int) -> None:
    a, b = matrices("solve", "complex128", side, 19), draw("complex128", side, columns, 19)

    assert residuals("solve", a, run("solve", a, b), b) <= bound("complex128", side)


def test_solve_takes_a_vector_for_a_single_matrix() -> None:
    a = matrices("solve", "float64", 3)
    assert np.abs(a @ run("solve", a, draw("float64", 3))[0] - draw("float64", 3)).max() < 1e-13


@EACH_DTYPE
@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.parametrize("bad", [0, 3, 15, 16, 18])
def test_the_first_element_that_is_not_finite_is_named(name: str, bad: int, dtype: str) -> None:
    a, b = matrices(name, dtype, 3, 19), draw(dtype, 3, RIGHT, 19)
    a[1, 2, bad] = np.inf
    a[0, 0, bad + 1 :] = np.nan

    with pytest.raises(NonFiniteError, match=rf"{name}: operand a holds .*inf.* at element \(1, 2\)") as info:
        run(name, a, b) if name == "solve" else run(name, a)
    assert (info.value.batch_index, info.value.element_index) == ((bad,), (1, 2))


def test_an_operand_b_that_is_not_finite_is_named() -> None:
    a, b = matrices("solve", "float64", 3, 19), draw("float64", 3, 18, 19)
    b[2, 17, 18] = np.nan

    with pytest.raises(NonFiniteError, match=r"solve: operand b holds nan at element \(2, 17\)"):
        run("solve", a, b)


@pytest.mark.parametrize("bad", [0, 7, 8, 499, 999])
def test_one_bad_matrix_of_a_thousand_is_named(bad: int) -> None:
    a = np.asfortranarray(np.repeat(np.eye(3)[..., None], 1000, axis=2))
    a[1, 1, bad] = -1.0
    with pytest.raises(NotPositiveDefiniteError, match="leading 2x2 block") as indefinite:
        run("cholesky", a)
    a[:, :, bad] = 1.0
    for name, operands in (("solve", (a, a)), ("inv", (a,))):
        with pytest.raises(SingularMatrixError) as singular:
            run(name, *operands)
        assert singular.value.batch_index == indefinite.value.batch_index == (bad,)


@pytest.mark.parametrize("name", ["cholesky", "det", "inv", "solve"])
def test_without_the_check_a_matrix_that_is_not_finite_goes_to_numpy_alone(name: str) -> None:
    a = matrices(name, "float64", 3, 19)
    good = run(name, *((a, a) if name == "solve" else (a,)))[0]
    a[0, 1, 5] = np.nan
    operands = (a, a) if name == "solve" else (a,)
    numpys = linalg.bind(name, *forms(name, *operands), False)(*[x.T for x in operands]).T

    found = run(name, *operands, check=False)[0]

    np.testing.assert_array_equal(found[..., 5], numpys[..., 5])
    others = [number for number in range(19) if number != 5]
    np.testing.assert_array_equal(found[..., others], good[..., others])


@EACH_DTYPE
def test_cholesky_and_solve_bear_any_scale(dtype: str) -> None:
    for scale in (
        (2.0**-1000, 2.0**-600, 2.0**600, 2.0**1000) if dtype in ("float64", "complex128") else (2.0**-90, 2.0**90)
    ):
        a, b = matrices("cholesky", dtype, 4, 9), draw(dtype, 4, RIGHT, 9)
        scale = np.dtype(dtype).type(scale)
        root = np.sqrt(wide(np.array(scale)).real)

        assert (run("cholesky", np.asfortranarray(a * scale))[0] == run("cholesky", a)[0] * root).all()
        scaled = run("solve", np.asfortranarray(a * scale), np.asfortranarray(b * scale))[0]
        assert (scaled == run("solve", a, b)[0]).all()


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("cholesky", [(65, 65, 4)]),
        ("cholesky", [(0, 0, 4)]),
        ("cholesky", [(3, 3, 0)]),
        ("svd", [(17, 17, 1)]),
        ("qr", [(65, 2, 9)]),
        ("inv", [(65, 65, 9)]),
        ("solve", [(65, 65), (65, 2)]),
        ("solve", [(3, 3, 5), (3, 0, 5)]),
    ],
)
def test_what_is_not_for_lanes_is_left_to_others(name: str, shapes: list[tuple[int, ...]]) -> None:
    assert batched_simd.bind(name, *forms(name, *(np.zeros(shape, order="F") for shape in shapes)), True) is None


@pytest.mark.parametrize("side", [1, 3, 5, 8, 16, 20, 64])
def test_systems_of_any_batches_and_dtypes_have_the_bits_of_each(side: int) -> None:
    tr.binding_cache.clear()  # bindings that other instruction sets made
    a = matrices("inv", "float64", side, 6)
    b = draw("float64", side, 3, 6)
    each = [run("solve", a[..., [k]], b[..., [k]])[0][..., 0] for k in range(6)]
    of_first = [run("solve", a[..., [0]], b[..., [k]])[0][..., 0] for k in range(6)]
    of_side = [run("solve", a[..., [k]], b[..., [0]])[0][..., 0] for k in range(6)]
    narrow = [run("solve", a[..., [k]], b[..., [k]].astype(np.float32).astype(float))[0][..., 0] for k in range(6)]

    def solved(x: Array, y: Array) -> list[Array]:
        stack = tl.solve(tr.asarray(np.asfortranarray(x)), tr.asarray(np.asfortranarray(y))).to_numpy()
        return list(np.moveaxis(stack.reshape(side, 3, 6), -1, 0))

    for found, expected in (
        (solved(a, b), each),
        (solved(a[..., 0], b), of_first),
        (solved(a[..., :1], b), of_first),
        (solved(a.reshape(side, side, 2, 3), np.broadcast_to(b[..., :1, None], (side, 3, 2, 3))), of_side),
        (solved(a, b.astype(np.float32)), narrow),
    ):
        assert all((one == other).all() for one, other in zip(found, expected, strict=True))
    tr.binding_cache.clear()


def test_a_kernel_refuses_what_it_was_not_made_for() -> None:
    a = matrices("cholesky", "float64", 3, 4)
    kernel: Any = batched_simd.bind("cholesky", *forms("cholesky", a), True)

    with pytest.raises(TypeError, match="takes 1 positional"):
        kernel(a.T, a.T)
    with pytest.raises(TypeError, match="takes arrays"):
        kernel([[1.0]])
    with pytest.raises(ValueError, match="no name of a routine"):
        LIBRARY.bind_batched_simd("ldl", "F64", (2, 2), 0, 1, (((2, 2), "F64"),), True, kernel)
    with pytest.raises(ValueError, match="no lanes for 65 x 65"):
        LIBRARY.bind_batched_simd("det", "F64", (65, 65), 0, 1, (((), "F64"),), True, kernel)
    for rows, right in ((65, 3), (65, 0), ((1 << 24) + 1, 1)):  # of substitutions few right-hand sides allow more rows
        with pytest.raises(ValueError, match=f"no lanes for {rows} x {rows}"):
            LIBRARY.bind_batched_simd("forward", "F64", (rows, rows), right, 1, (), True, kernel)
    with pytest.raises(ValueError, match="does not fit"):
        LIBRARY.bind_batched_simd("det", "F64", (2, 2), 0, 2, (((1,), "F64"),), True, kernel)
    with pytest.raises(ValueError, match="a tuple of 1 forms"):
        LIBRARY.bind_batched_simd("det", "F64", (2, 2), 0, 2, (), False, kernel)
    with pytest.raises(ValueError, match="not a single one"):
        LIBRARY.bind_batched_simd("qr", "F64", (2, 2), 0, 1, (((2, 2), "F64"), ((2, 2), "F64")), True, kernel)
    with pytest.raises((ValueError, OverflowError)):
        LIBRARY.bind_batched_simd("solve", "F64", (2, 2), 1 << 60, 1, (((2, 2), "F64"),), True, kernel)
    with pytest.raises(OverflowError):
        LIBRARY.bind_batched_simd("det", "F64", (2, 2), 0, 1 << 60, (((1 << 60,), "F64"),), True, kernel)
