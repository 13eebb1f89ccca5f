"""Native loops over factorizations beside the loops in Python behind them: layouts, threads, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensor_core import C32, C64, F32, F64, I64, DType
from tensor_core.errors import SizeLimitError
from tensor_cpu.kernel_table import bind_numpy
from tensor_cpu.kernels.linalg import batched_simd, checks, factorization, structured
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system import blas, lapack, threads
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.errors import NonFiniteError, SingularMatrixError
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

Array = np.ndarray[Any, np.dtype[Any]]
pytestmark = pytest.mark.skipif(not AVAILABLE, reason="there is no extension module")

SQUARE = ("ldl", "schur", "hessenberg", "eig", "eigvals", "slogdet")
RECTANGULAR = ("lu_factor", "lu_complete", "qr_pivoted", "qr_complete")
DTYPES = {dtype.name: dtype for dtype in (F32, F64, C32, C64)}


def draw(dtype: DType, *shape: int) -> Array:
    rng = np.random.default_rng(shape)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return np.asarray((x if dtype in (C32, C64) else x.real).astype(NUMPY_DTYPES[dtype]))


def result_of(name: str, a: Form) -> Any:
    rows, columns, *batch = a.shape
    short, paired = min(rows, columns), C32 if a.dtype in (F32, C32) else C64
    shapes: dict[str, Any] = {
        "lu_factor": (((rows, columns), a.dtype), ((rows,), I64)),
        "lu_complete": (((rows, columns), a.dtype), ((rows,), I64), ((columns,), I64)),
        "qr_pivoted": (((rows, short), a.dtype), ((short, columns), a.dtype), ((columns,), I64)),
        "qr_complete": (((rows, rows), a.dtype), ((rows, columns), a.dtype)),
        "ldl": (((rows, rows), a.dtype), ((rows, rows), a.dtype), ((rows,), I64)),
        "eig": (((rows,), paired), ((rows, rows), paired)),
        "eigvals": (((rows,), paired),),
        "slogdet": (((), a.dtype), ((), a.dtype.component)),
    }
    given = shapes.get(name, (((rows, rows), a.dtype), ((rows, rows), a.dtype)))
    forms = tuple(form_of(dtype, (*shape, *batch), CPU) for shape, dtype in given)
    return forms[0] if name == "eigvals" else forms


def form_like(x: Array, dtype: DType) -> Form:
    """The form of a transposed array, any strides."""
    strides = tuple(stride // x.itemsize for stride in reversed(x.strides))
    return form_of(dtype, x.shape[::-1], CPU, strides)


def run(name: str, x: Array, dtype: DType, *, native: bool = True, check: bool = True) -> tuple[Array, ...]:
    form = form_like(x, dtype)
    result = result_of(name, form)
    kernel = factorization.bind(name, (form,), result, check) if native else bind_numpy(name, (form,), result, (check,))
    assert kernel is not None
    found = kernel(x)
    return found if isinstance(found, tuple) else (found,)


def rebuilt(name: str, parts: tuple[Array, ...]) -> Array:
    """What the factors multiply to: the matrices, as transposed arrays, or what else is unique."""
    one, *others = (part.swapaxes(-1, -2) if part.ndim > 1 else part for part in parts)
    if name in ("schur", "hessenberg"):
        return np.asarray((others[0] @ one @ others[0].conj().swapaxes(-1, -2)).swapaxes(-1, -2))
    if name == "eig":
        values = parts[0][..., None, :]
        return np.asarray((others[0] * values @ np.linalg.inv(others[0])).swapaxes(-1, -2))
    if name == "eigvals":
        return np.sort_complex(np.round(parts[0], 3))
    return parts[0]


@pytest.mark.parametrize("name", [*SQUARE, *RECTANGULAR])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 5, 21])
def test_views_of_any_layout_give_what_the_loop_in_python_gives(name: str, dtype: str, size: int) -> None:
    kind = DTYPES[dtype]
    x = draw(kind, 2, 3, size, size if name in SQUARE else size + 2)
    x[..., range(size), range(size)] += 3 * size
    bound = 1e-4 if kind in (F32, C32) else 1e-11
    views = [x, x[::-1, ::-2], x[:, 1], np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)[..., ::-1, :]]
    for view in views if size < 21 else views[:1]:
        found, expected = run(name, view, kind), run(name, view, kind, native=False)
        assert [part.dtype for part in found] == [part.dtype for part in expected]
        assert [part.shape for part in found] == [part.shape for part in expected]
        assert all(part.flags.c_contiguous for part in found)
        difference = np.abs(rebuilt(name, found) - rebuilt(name, expected)).max()
        assert difference <= bound * max(np.abs(view).max(), 1)
        if name in ("lu_factor", "lu_complete", "qr_pivoted", "ldl"):
            assert all((one == other).all() for one, other in zip(found, expected, strict=True) if one.dtype == int)


@pytest.mark.parametrize("name", [*SQUARE, *RECTANGULAR])
@pytest.mark.parametrize("size", [6, 20])
def test_a_matrix_has_the_same_bits_anywhere_in_a_batch_and_for_any_number_of_threads(name: str, size: int) -> None:
    x = draw(F64, 40, size, size)
    alone = [run(name, x[index], F64) for index in (0, 17, 39)]
    for count in (1, 3):
        with threads.set_threads(count):
            found = run(name, x, F64)
        for index, parts in zip((0, 17, 39), alone, strict=True):
            assert all((whole[index] == one).all() for whole, one in zip(found, parts, strict=True))


@pytest.mark.parametrize("name", [*SQUARE, *RECTANGULAR])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_element_that_is_not_finite_is_named_before_anything_is_computed(name: str, value: float) -> None:
    for size in (3, 20):
        x = draw(F64, 4, size, size)
        x[2, 1, 0] = value
        with pytest.raises(NonFiniteError) as caught:
            run(name, x, F64)
        assert (caught.value.batch_index, caught.value.element_index) == ((2,), (0, 1))


@pytest.mark.parametrize("name", ["lu_factor", "lu_complete", "qr_complete", "hessenberg", "slogdet"])
def test_without_the_check_not_a_number_stays_one(name: str) -> None:
    for size in (3, 20):
        x = draw(F64, 2, size, size)
        x[1] = np.nan
        found = run(name, x, F64, check=False)
        assert np.isnan(found[0][1]).any()
        assert all(np.isfinite(part[0]).all() for part in found)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 2), (2, 5), (3, 3), (1, 4), (24, 17)])
def test_full_factors_of_batches_begin_with_thin_ones_and_are_unitary(dtype: str, shape: tuple[int, int]) -> None:
    kind, (rows, columns) = DTYPES[dtype], shape
    x = draw(kind, 8, columns, rows)
    x[3] = 0  # of no rank
    shapes = ((rows, rows, 8), (min(shape), 8), (columns, columns, 8))
    real = kind.component
    result = tuple(form_of(one, of, CPU) for one, of in zip((kind, real, kind), shapes, strict=True))
    kernel = factorization.bind_svd_full((form_like(x, kind),), result, True)
    assert kernel is not None
    u, s, vh = (part.swapaxes(-1, -2) if part.ndim == 3 else part for part in kernel(x))

    bound = 1e-5 if kind in (F32, C32) else 1e-13
    for factor in (u, vh):
        assert np.abs(factor.conj().swapaxes(1, 2) @ factor - np.eye(factor.shape[1])).max() < bound
    short = min(shape)
    whole = (u[..., :short] * s[:, None, :]) @ vh[:, :short]
    assert np.abs(whole - x.swapaxes(1, 2)).max() < 30 * bound


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 7, 16, 17, 50])
def test_ldl_blocks_are_those_of_lapack_and_multiply_to_the_matrix(dtype: str, size: int) -> None:
    kind = DTYPES[dtype]
    x = draw(kind, size, size)
    x[range(size), range(size)] = 0  # so that blocks of two are needed
    full = np.triu(x, 1) + np.triu(x, 1).conj().T  # of the lower triangle of the tensor
    lower, d, order = (part.T for part in run("ldl", x, kind))

    bound = size * (1e-5 if kind in (F32, C32) else 1e-13)
    assert np.abs(lower @ d @ lower.conj().T - full.T[order][:, order]).max() < bound
    assert np.abs(d - d.conj().T).max() == 0
    blocks = np.diagonal(d, -1) != 0
    assert not (blocks[1:] & blocks[:-1]).any()
    assert blocks.any() == (size > 1)


def test_ldl_takes_blocks_of_different_sizes_in_one_matrix() -> None:
    for size in (6, 40):
        half = size // 2
        block = np.round(draw(F64, half, half) * 4)
        whole = np.zeros((size, size))
        whole[:half, :half] = block + block.T
        whole[half:, half:] = np.ldexp(whole[:half, :half], -1030)
        lower, diagonal, order = (part.T for part in run("ldl", whole, F64))
        expected = np.ldexp(whole[order][:, order], 30)
        left = np.abs(lower @ np.ldexp(diagonal, 30) @ lower.T - expected)

        assert np.abs(lower).max() < 100
        assert left.max() < 1e-13 * size * expected.max()
        minute = np.abs(expected).max(axis=1) < 1e-200
        assert left[minute].max() < 1e-8 * np.abs(expected[minute]).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize("wanted", [(0, 0), (30, 69), (69, 69)])
def test_some_eigenvalues_are_those_of_all_and_their_vectors_are_orthonormal(
    dtype: str, batch: tuple[int, ...], wanted: tuple[int, int]
) -> None:
    kind, size = DTYPES[dtype], 70
    x = draw(kind, *batch, size, size)
    x = np.asarray(x + x.conj().swapaxes(-1, -2)) + np.triu(np.ones((size, size)), 1).astype(x.dtype).T  # junk above
    first, last = wanted
    count = last - first + 1
    form = form_like(x, kind)
    back = batch[::-1]
    result = (form_of(kind.component, (count, *back), CPU), form_of(kind, (size, count, *back), CPU))
    kernel = factorization.bind_eigh_range((form,), result, first, last, True)
    values, vectors = kernel(x) if kernel else bind_numpy("eigh_range", (form,), result, (first, last, True))(x)

    triangle = np.triu(x)  # the tensor's lower one
    full = triangle + np.triu(triangle, 1).conj().swapaxes(-1, -2)
    expected = np.linalg.eigvalsh(full)[..., first : last + 1]
    eps = size * np.finfo(values.dtype).eps * 40
    assert (kernel is None) == (2 * count > size)
    assert np.abs(values - expected).max() < eps
    inner = vectors @ vectors.conj().swapaxes(-1, -2)
    assert np.abs(inner - np.eye(count)).max() < eps
    residual = vectors @ full - values[..., None] * vectors  # transposed arrays: vᵀ Aᵀ
    assert np.abs(residual).max() < eps


@pytest.mark.parametrize("size", [32, 33, 64, 65])
def test_some_pairs_are_found_first_of_all_just_where_lanes_do_not_find_all(size: int) -> None:
    for count in range(1, 7):
        form, values, vectors = (form_of(F64, (*shape, count), CPU) for shape in ((size, size), (2,), (size, 2)))
        whole = (form_of(F64, (size, count), CPU), form)
        lanes = batched_simd.bind("eigh", (form,), whole, True)
        kernel = factorization.bind_eigh_range((form,), (values, vectors), 0, 1, True)

        assert (kernel is None) is (lanes is not None), count


def test_repeated_eigenvalues_have_orthonormal_vectors() -> None:
    size = 80
    q, _ = np.linalg.qr(draw(F64, size, size))
    x = (q * np.repeat([1.0, 2.0, 2.0 + 1e-14, 3.0], size // 4)) @ q.T
    form, values, vectors = (form_of(F64, shape, CPU) for shape in ((size, size), (30,), (size, 30)))
    kernel = factorization.bind_eigh_range((form,), (values, vectors), 10, 39, True)
    assert kernel is not None  # which sees that the vectors are not, and finds all pairs
    found, columns = kernel(np.ascontiguousarray(x))

    assert np.abs(found - np.repeat([1.0, 2.0], [10, 20])).max() < 1e-13
    assert np.abs(columns @ columns.T - np.eye(30)).max() < 1e-13


@pytest.mark.parametrize("span", [(0, 0), (1, 1), (2, 0), (3, 5), (14, 15)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_banded_systems_are_solved_for_views_and_broadcast_batches(dtype: str, span: tuple[int, int]) -> None:
    kind, size = DTYPES[dtype], 8
    lower, upper = span
    bands = draw(kind, 3, 1, size, lower + upper + 1)[:, :, ::-1]
    bands[..., upper] += 6 * (lower + upper + 1)
    sides = draw(kind, 1, 4, 2, size)[..., ::-1]
    result = form_of(kind, (size, 2, 4, 3), CPU)
    forms = (form_like(bands, kind), form_like(sides, kind))
    kernel = factorization.bind_banded(forms, result, lower, upper, True)
    assert kernel is not None
    found = kernel(bands, sides)

    for i in range(3):
        full = np.zeros((size, size), bands.dtype)
        for k in range(-lower, upper + 1):
            if abs(k) < size:
                full += np.diag(bands[i, 0, max(k, 0) : size + min(k, 0), upper - k], k)
        for j in range(4):
            left = full @ found[i, j].T - sides[0, j].T
            assert np.abs(left).max() < (1e-4 if kind in (F32, C32) else 1e-12) * (lower + upper + 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize(("size", "width"), [(1, 0), (6, 1), (7, 3), (4, 6), (40, 2)])
def test_numpys_kernel_of_hermitian_bands_has_the_bits_of_the_native_one(
    dtype: str, lower: bool, size: int, width: int
) -> None:
    kind = DTYPES[dtype]
    bands, sides = draw(kind, 3, 1, size, width + 1)[:, :, ::-1], draw(kind, 1, 4, 2, size)[..., ::-1]
    bands[..., 0 if lower else width] += 4 * (width + 1)
    forms, result = (form_like(bands, kind), form_like(sides, kind)), form_of(kind, (size, 2, 4, 3), CPU)
    kernel = factorization.bind_hermitian_band(forms, result, lower, True)
    assert kernel is not None
    behind = bind_numpy("solveh_banded", forms, result, (lower, True))
    np.testing.assert_array_equal(np.asarray(kernel(bands, sides)), np.asarray(behind(bands, sides)), strict=True)
    huge, minute = (
        np.ldexp(np.ascontiguousarray(bands).view(f), power).view(bands.dtype)
        for f, power in [(bands.real.dtype, 100), (bands.real.dtype, -110)]
    )
    for scaled in (huge, minute):
        forms = form_like(scaled, kind), form_like(sides, kind)
        kernel = factorization.bind_hermitian_band(forms, result, lower, True)
        behind = bind_numpy("solveh_banded", forms, result, (lower, True))
        assert kernel is not None
        np.testing.assert_array_equal(np.asarray(kernel(scaled, sides)), np.asarray(behind(scaled, sides)))


@pytest.mark.parametrize("native", [True, False])
def test_the_singular_system_is_named_in_the_batch_of_its_matrices(native: bool) -> None:
    bands, column = draw(F64, 3, 4, 3), np.ones((3, 7))
    bands[..., 1] += 5
    bands[1, 2:] = 0
    column[:, 3] = [5.0, 5.0, 1.0]
    for name, matrices, index, params in (
        ("solve_banded", bands, (1,), (1, 1, True)),
        ("solve_toeplitz", column, (2,), (True,)),
    ):
        sides = draw(F64, 3, 5, 2, 4)
        forms, result = (form_like(matrices, F64), form_like(sides, F64)), form_of(F64, (4, 2, 5, 3), CPU)
        kernel: Any = (factorization.BINDERS[name] if native else lambda *given: bind_numpy(name, *given))(  # noqa: B023
            forms, result, params
        )
        with pytest.raises(SingularMatrixError) as caught:
            kernel(matrices, sides)
        assert caught.value.batch_index == index


def test_what_the_library_cannot_count_is_an_error_before_lapack_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    form, sides = form_of(F64, (40, 40), CPU), form_of(F64, (40, 2), CPU)
    monkeypatch.setattr(factorization, "open_blas", lambda: blas.Provider("own", "", 8, True))
    monkeypatch.setattr(lapack, "limit", lambda: 127)
    monkeypatch.setattr(checks, "lapack_limit", lambda: 127)
    for name in ("ldl", "schur", "hessenberg", "qr_pivoted", "eig", "slogdet"):
        with pytest.raises(SizeLimitError):
            factorization.bind(name, (form,), result_of(name, form), True)
    bands = form_of(F64, (3, 40), CPU)
    with pytest.raises(SizeLimitError):
        factorization.bind_banded((bands, sides), sides, 1, 1, True)


def never(*operands: Any) -> Any:
    raise AssertionError(operands)


def test_a_plan_that_makes_no_sense_is_refused() -> None:
    blas.open_blas()
    square, vector = ((2, 2), "F64"), ((2,), "I64")
    good: dict[str, Any] = {
        "routine": "lu_factor", "dtype": "F64", "computed": "F64", "sides": (2, 2), "right": (0, 0), "span": (0, 0),
        "batch": (), "a_strides": (2, 1), "b_strides": (), "results": (square, vector), "check": True,
        "fallback": never,
    }  # fmt: skip
    kernel = LIBRARY.bind_factorization(**good)
    assert kernel(np.eye(2))[1].tolist() == [0, 1]
    with pytest.raises(TypeError):
        kernel([[1.0]])
    bad: tuple[dict[str, Any], ...] = (
        {"routine": "qr"},
        {"routine": "nothing"},
        {"dtype": "I64"},
        {"computed": "F32"},
        {"computed": "C64"},
        {"sides": (2, 3)},
        {"sides": (0, 2)},
        {"right": (2, 1)},
        {"span": (-1, 0)},
        {"batch": (3,)},
        {"batch": (0,), "a_strides": (4, 2, 1)},
        {"a_strides": (1,)},
        {"results": (square,)},
        {"results": (square, square)},
        {"results": (vector, square)},
        {"routine": "ldl", "sides": (2, 3)},
        {"routine": "eigh_range", "span": (1, 3)},
        {"routine": "eigh_range", "span": (0, 1)},
        {"routine": "solve_banded", "right": (2, 1), "span": (1, 1), "b_strides": (2, 1), "results": (square,)},
        {"routine": "solve_toeplitz", "right": (2, 1), "b_strides": (2, 1), "results": (square,)},
        {
            "routine": "solveh_banded",
            "sides": (3, 2),
            "right": (2, 1),
            "span": (1, 1),
            "a_strides": (3, 1),
            "b_strides": (2, 1),
            "results": (((1, 2), "F64"),),
        },
    )
    for change in bad:
        with pytest.raises(ValueError, match=r"."):
            LIBRARY.bind_factorization(**{**good, **change})
    with pytest.raises(TypeError):
        LIBRARY.bind_factorization(**{**good, "results": (5, 5)})


@pytest.mark.parametrize("dtype", [F64, C64], ids=str)
@pytest.mark.parametrize("size", [1, 2, 8, 9, 17, 40])
@pytest.mark.parametrize("batch", [(), (3,), (64,)])
def test_numpys_kernel_of_toeplitz_systems_rounds_as_the_native_one(
    dtype: DType, size: int, batch: tuple[int, ...]
) -> None:
    forms = form_of(dtype, (2 * size - 1, *batch), CPU), form_of(dtype, (size, 2, *batch), CPU)
    rng = np.random.default_rng(size)
    given: list[Any] = []
    for shape in ((*batch, 2 * size - 1), (*batch, 2, size)):
        x = rng.standard_normal(shape)
        given.append(x + 1j * rng.standard_normal(shape) if dtype is C64 else x)
    native = factorization.bind_toeplitz(forms, forms[1], True)
    assert native is not None
    np.testing.assert_array_equal(structured.bind_solve_toeplitz(forms, forms[1], True)(*given), native(*given))
