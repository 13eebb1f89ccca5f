"""Matrix products through the chosen BLAS: exact on integers, for every layout, tile and number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_cpu.kernels.contraction.gemm import BLAS_TYPES, bind_matrices
from tensor_cpu.system.blas import open_blas
from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT

pytestmark = [pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT), pytest.mark.usefixtures("threads")]

Array = np.ndarray[Any, np.dtype[Any]]
TYPES = pytest.mark.parametrize("dtype", BLAS_TYPES)


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Small integers, so that every sum is exact."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, shape) + 1j * rng.integers(-2, 3, shape)
    return (x if dtype.startswith("complex") else x.real).astype(dtype)


def laid_out(x: Array, transposed: bool, gap: int) -> Array:
    """The same matrices [..., rows, columns] in other memory: columns contiguous, or a gap after each line."""
    shape = (*x.shape[:-2], x.shape[-1], x.shape[-2]) if transposed else x.shape
    room = np.full((*shape[:-1], shape[-1] + gap), 77, x.dtype)
    view = room[..., : shape[-1]]
    view = view.swapaxes(-1, -2) if transposed else view
    view[...] = x
    return view


def steps(x: Array) -> tuple[int, ...]:
    return tuple(stride // x.itemsize for stride in x.strides)


def product(a: Array, b: Array) -> Array:
    """By the kernel that makes its result; a [..., m, k], b [..., k, n]."""
    (m, k), n, batch = a.shape[-2:], b.shape[-1], np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = np.broadcast_to(a, (*batch, m, k)), np.broadcast_to(b, (*batch, k, n))
    shape = (*batch, m, n)
    made = np.empty(shape, a.dtype)
    stack = tuple(zip(batch, steps(a)[:-2], steps(b)[:-2], steps(made)[:-2], strict=True))
    kernel = bind_matrices(a.dtype.name, shape, (m, n, k), stack, steps(a)[-2:], steps(b)[-2:], (n, 1))  # type: ignore[arg-type]
    assert kernel is not None
    found: Array = kernel(a, b)
    return found


@st.composite
def factors(draw: st.DrawFn) -> tuple[Array, Array]:
    dtype = draw(st.sampled_from(BLAS_TYPES))
    extent = st.one_of(st.integers(1, 4), st.integers(5, 70))
    m, n, k = draw(extent), draw(extent), draw(extent)
    batch = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    a, b = numbers((*batch, m, k), dtype, draw(st.integers(0, 99))), numbers((*batch, k, n), dtype, 5)
    if batch and draw(st.booleans()):
        b = b[(0,) * len(batch)]  # one right factor for the whole stack
    flags, gaps = st.booleans(), st.integers(0, 3)
    return laid_out(a, draw(flags), draw(gaps)), laid_out(b, draw(flags), draw(gaps))


@given(factors())
def test_every_layout_gives_the_exact_product(pair: tuple[Array, Array]) -> None:
    a, b = pair
    assert (product(a, b) == np.einsum("...ij,...jk->...ik", a, b)).all()


def conjugating(a: Array, b: Array, factor: int) -> Any:
    """The kernel that reads one factor conjugated, or None."""
    (m, k), n, batch = a.shape[-2:], b.shape[-1], a.shape[:-2]
    shape = (*batch, m, n)
    made = np.empty(shape, a.dtype)
    stack: Any = tuple(zip(batch, steps(a)[:-2], steps(b)[:-2], steps(made)[:-2], strict=True))
    return bind_matrices(a.dtype.name, shape, (m, n, k), stack, steps(a)[-2:], steps(b)[-2:], (n, 1), factor)  # type: ignore[arg-type]


@given(factors(), st.sampled_from([0, 1]))
def test_one_factor_may_be_read_conjugated_in_every_layout(pair: tuple[Array, Array], factor: int) -> None:
    a, b = pair
    b = np.broadcast_to(b, (*a.shape[:-2], *b.shape[-2:]))
    m, n = a.shape[-2], b.shape[-1]
    kernel = conjugating(a, b, factor)
    beside_a_matrix = (m == 1 and n > 1) if factor == 0 else n == 1
    beside_a_matrix_turned = (n == 1 and m > 1) if factor == 1 else m == 1  # the result lies row by row
    if kernel is None:
        assert a.dtype.kind == "f" or beside_a_matrix or beside_a_matrix_turned or open_blas().name == "mkl"
    else:
        expected = np.einsum("...ij,...jk->...ik", a.conj() if factor == 0 else a, b.conj() if factor == 1 else b)
        assert (kernel(a, b) == expected).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(300, 200, 310), (1000, 64, 17), (700, 900, 1), (1, 900, 700), (130, 7, 130)])
@pytest.mark.parametrize("transposed", [False, True])
def test_conjugated_products_that_threads_share_are_exact(
    dtype: str, shape: tuple[int, int, int], transposed: bool
) -> None:
    m, k, n = shape
    a, b = laid_out(numbers((m, k), dtype, 1), transposed, 0), laid_out(numbers((k, n), dtype, 2), transposed, 3)
    matrix = 1 if m == 1 else 0
    kernel = conjugating(a, b, matrix)
    assert kernel is not None or open_blas().name == "mkl"
    if kernel is not None:
        expected = (a.conj() @ b) if matrix == 0 else (a @ b.conj())
        assert (kernel(a, b) == expected).all()


def test_a_matrix_times_its_own_conjugate_transpose_is_no_symmetric_product() -> None:
    a = numbers((200, 60), "complex128", 3)
    kernel = conjugating(a, a.T, 1)
    assert kernel is None or (kernel(a, a.T) == a @ a.conj().T).all()
    assert kernel is not None or open_blas().name == "mkl"


def test_a_library_without_a_word_for_it_conjugates_what_it_transposes(monkeypatch: pytest.MonkeyPatch) -> None:
    other = open_blas()._replace(name="mkl")
    monkeypatch.setattr("tensor_cpu.kernels.contraction.gemm.open_blas", lambda: other)
    a, b = numbers((40, 30), "complex128", 1), numbers((30, 50), "complex128", 2)
    plain, turned = (conjugating(x, b, 0) for x in (a, laid_out(a, True, 0)))  # row by row, and column by column

    found = [kernel for kernel in (plain, turned) if kernel is not None]
    assert len(found) == 1
    assert (found[0](a if plain else laid_out(a, True, 0), b) == a.conj() @ b).all()


@TYPES
@pytest.mark.parametrize(
    "shape", [(300, 200, 310), (1000, 64, 17), (9, 400, 900), (700, 900, 1), (1, 900, 700), (1, 5000, 1), (130, 7, 130)]
)
def test_products_that_threads_share_are_exact(dtype: str, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b = numbers((m, k), dtype, 1), numbers((k, n), dtype, 2)
    expected = a.astype(complex) @ b.astype(complex)

    assert (product(a, b) == expected).all()
    assert (product(laid_out(a, True, 5), laid_out(b, True, 1)) == expected).all()


@TYPES
@pytest.mark.parametrize("size", [(2, 40), (300, 70), (513, 300)])
def test_a_matrix_times_its_own_transpose_is_exact_and_symmetric(dtype: str, size: tuple[int, int]) -> None:
    a = numbers(size, dtype, 3)
    wide = np.random.default_rng(4).standard_normal(size).astype(dtype)

    for x in (a, laid_out(a, True, 2)):
        assert (product(x, x.T) == x.astype(complex) @ x.T.astype(complex)).all()
        assert (product(x.T, x) == x.T.astype(complex) @ x.astype(complex)).all()
    gram = product(wide, wide.T)
    assert (gram == gram.T).all()


@TYPES
@pytest.mark.parametrize("shape", [(40, 30, 50), (40, 30, 1), (1, 30, 40), (1, 30, 1)])
def test_what_lay_in_a_given_result_does_not_matter(dtype: str, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b, out = numbers((m, k), dtype, 1), numbers((k, n), dtype, 2), np.full((m, n), np.nan, dtype)
    kernel = bind_matrices(dtype, None, (m, n, k), (), (k, 1), (n, 1), (n, 1))

    assert kernel is not None and kernel(a, b, out) is out
    assert (out == a @ b).all()


def test_infinities_and_nan_stay_in_their_rows() -> None:
    a, b = np.ones((60, 50)), np.ones((50, 70))
    a[3, 4], a[5, 6] = np.inf, np.nan
    found = product(a, b)

    assert (found[3] == np.inf).all() and np.isnan(found[5]).all()
    assert (np.delete(found, (3, 5), axis=0) == 50.0).all()


def test_what_the_library_cannot_count_is_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = open_blas()._replace(integer_bits=32)
    monkeypatch.setattr("tensor_cpu.kernels.contraction.gemm.blas_limit", lambda: narrow.limit)
    long = 2**31

    assert bind_matrices("float64", None, (long, 1, 1), (), (1, 1), (1, 1), (1, 1)) is None
    assert bind_matrices("float64", None, (2, 2, 2), (), (long, 1), (2, 1), (2, 1)) is None
    assert bind_matrices("float64", None, (long - 1, 1, 1), (), (1, 1), (1, 1), (1, 1)) is not None


def test_a_plan_that_makes_no_sense_is_refused() -> None:
    good: tuple[Any, ...] = ("F64", (4, 5), (4, 5, 3), (), (3, 1), (5, 1), (5, 1))
    open_blas()
    LIBRARY.bind_products(*good)
    for position, bad in (
        *((0, name) for name in ("I64", "F16", "Bool")),
        *((1, shape) for shape in ((4, 4), (4, 5, 2), ())),
        *((2, extents) for extents in ((4, 5), (4, 5, 0), (-4, 5, 3), (4, 5, 3, 1))),
        (3, ((2, 0, 0, 0),)),
        *((place, strides) for place in (4, 5, 6) for strides in ((2, 1), (1, 1), (3, 2), (-9, 1), (9,))),
    ):
        with pytest.raises(ValueError):
            LIBRARY.bind_products(*good[:position], bad, *good[position + 1 :])
    for factor in (2, -2):
        with pytest.raises(ValueError, match="expected an operand"):
            LIBRARY.bind_products(*good, factor, True)
    assert LIBRARY.bind_products(*good, 0, True) is None  # of real numbers
    with pytest.raises(TypeError, match="takes 2 positional"):
        LIBRARY.bind_products(*good)(np.ones((4, 3)))
    with pytest.raises(TypeError, match="takes arrays"):
        LIBRARY.bind_products(*good)(np.ones((4, 3)), [1.0])
