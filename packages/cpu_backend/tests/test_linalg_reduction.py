"""Decompositions by reductions in C: matrices between the small ones of batches and those that are LAPACK's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tensor_core import C64, F64, DType
from tensor_cpu.kernels.linalg import lapack
from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT)

Array = np.ndarray[Any, np.dtype[Any]]
SHAPES = [
    (17, 17),
    (18, 18),
    (23, 17),
    (17, 23),
    (24, 24),
    (40, 33),
    (33, 40),
    (63, 64),
    (65, 65),
    (96, 128),
    (131, 100),
]
EPS = 2.0**-52


def general(m: int, n: int, draw: Callable[..., Array]) -> Array:
    return draw(m, n)


def graded(m: int, n: int, draw: Callable[..., Array]) -> Array:
    a = draw(m, n)
    a *= 10.0 ** -(np.arange(n) % 250.0)
    return a


def of_rank_one(m: int, n: int, draw: Callable[..., Array]) -> Array:
    return draw(m, 1) @ draw(1, n)


def with_zeros(m: int, n: int, draw: Callable[..., Array]) -> Array:
    a = draw(m, n)
    a[1::3] = 0
    a[:, ::2] = 0
    return a


def diagonal(m: int, n: int, draw: Callable[..., Array]) -> Array:
    return draw(1, 1) * np.diag(np.arange(1.0, max(m, n) + 1))[:m, :n]


def minute_columns(m: int, n: int, draw: Callable[..., Array]) -> Array:
    """Squares of whole columns, and of rows, are subnormal or zero."""
    a = draw(m, n)
    a[:, 1::2] *= 2.0**-530
    a[2::5] *= 2.0**-515
    return a


def nearly_too_large(m: int, n: int, draw: Callable[..., Array]) -> Array:
    return draw(m, n) * 2.0**299


def nearly_too_small(m: int, n: int, draw: Callable[..., Array]) -> Array:
    return draw(m, n) * 2.0**-299


def beyond_the_limits(m: int, n: int, draw: Callable[..., Array]) -> Array:
    """For LAPACK, which scales it."""
    return draw(m, n) * 2.0**700


KINDS = [
    general,
    graded,
    of_rank_one,
    with_zeros,
    diagonal,
    minute_columns,
    nearly_too_large,
    nearly_too_small,
    beyond_the_limits,
]


@pytest.fixture(params=["plain", "avx2", "avx512"])
def instruction_set(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels that are made meanwhile are of this one."""
    best = LIBRARY.instruction_set()
    try:
        LIBRARY.set_instruction_set(request.param)
    except ValueError:
        pytest.skip(request.param)
    yield
    LIBRARY.set_instruction_set(best)


def decompose(name: str, a: Array, dtype: DType, *, check: bool = True) -> Any:
    """By the kernel that calls routines for each matrix, given the transposed array that a column-major tensor is."""
    (m, n), k = a.shape, min(a.shape)
    u, s, vh = (form_of(of, shape, CPU) for of, shape in ((dtype, (m, k)), (dtype.component, (k,)), (dtype, (k, n))))
    results: Any = {"svd": (u, s, vh), "eigh": (s, u)}.get(name, s)
    kernel = lapack.bind(name, (form_of(dtype, (m, n), CPU),), results, check)
    assert kernel is not None
    found: Any = kernel(np.ascontiguousarray(a.T))
    return tuple(part.T for part in found) if isinstance(found, tuple) else found


@pytest.mark.parametrize("dtype", [F64, C64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("instruction_set")
def test_factors_are_orthonormal_and_give_the_matrix(shape: tuple[int, int], kind: Any, dtype: DType) -> None:
    random = np.random.default_rng(shape)

    def draw(m: int, n: int) -> Array:
        real = random.normal(size=(m, n))
        return real + 1j * random.normal(size=(m, n)) if dtype is C64 else real

    a = kind(*shape, draw)
    u, s, vh = decompose("svd", a, dtype)
    scale = np.abs(a).max()
    identity, allowed = np.eye(min(shape)), EPS * max(shape)
    assert np.abs(u.conj().T @ u - identity).max() < 2 * allowed
    assert np.abs(vh @ vh.conj().T - identity).max() < 2 * allowed
    assert np.abs((u * (s / scale)) @ vh - a / scale).max() < 4 * allowed * s[0] / scale
    assert (s >= 0).all() and (np.diff(s) <= 0).all()
    expected = np.linalg.svd(a / scale, compute_uv=False)
    assert np.abs(s / scale - expected).max() < 2 * allowed * expected[0]
    values = decompose("svdvals", a, dtype)
    assert np.abs(values - s).max() < 2 * allowed * s[0]


def test_zeros_alone_have_orthonormal_factors() -> None:
    u, s, vh = decompose("svd", np.zeros((20, 30)), F64)
    assert not s.any()
    assert np.array_equal(u.T @ u, np.eye(20))
    assert np.array_equal(vh @ vh.T, np.eye(20))


@pytest.mark.parametrize("dtype", [F64, C64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [17, 18, 23, 24, 33, 64, 65, 101])
@pytest.mark.usefixtures("instruction_set")
def test_eigenvectors_are_orthonormal_and_give_the_matrix(n: int, kind: Any, dtype: DType) -> None:
    random = np.random.default_rng(n)

    def draw(m: int, n: int) -> Array:
        real = random.normal(size=(m, n))
        return real + 1j * random.normal(size=(m, n)) if dtype is C64 else real

    a = kind(n, n, draw)
    a = a + a.conj().T
    garbled = np.tril(a) + np.triu(np.ones_like(a), 1) * a[0, 0].real  # the lower triangle is read
    values = decompose("eigvalsh", garbled, dtype)
    found, vectors = decompose("eigh", garbled, dtype)
    scale = np.abs(a).max()
    expected = np.linalg.eigvalsh(a / scale)
    allowed = EPS * n
    norm = np.abs(expected).max()
    assert np.abs(vectors.conj().T @ vectors - np.eye(n)).max() < 2 * allowed
    assert np.abs((vectors * (found / scale)) @ vectors.conj().T - a / scale).max() < 4 * allowed * norm
    assert (np.diff(found) >= 0).all()
    assert np.abs(found / scale - expected).max() < 2 * allowed * norm
    assert np.abs(values / scale - expected).max() < 2 * allowed * norm


@pytest.mark.parametrize("dtype", [F64, C64])
def test_what_is_not_read_of_a_hermitian_matrix_does_not_count(dtype: DType) -> None:
    random = np.random.default_rng(3)
    a = random.normal(size=(20, 20)).astype(dtype.numpy_name)
    a = a + a.conj().T
    expected = np.linalg.eigvalsh(a)
    given = np.tril(a) * 1e-140 + np.triu(np.ones_like(a), 1)
    if dtype is C64:
        given += 1j * np.eye(20)
    assert np.abs(decompose("eigvalsh", given, dtype) * 1e140 - expected).max() < 1e-13
    assert np.abs(decompose("eigh", given, dtype)[0] * 1e140 - expected).max() < 1e-13


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_what_is_not_finite_goes_to_lapack_where_nothing_is_checked(lost: float) -> None:
    a = np.eye(20)
    a[3, 4] = lost
    try:
        s = decompose("svdvals", a, F64, check=False)
    except Exception as error:  # as NumPy's kernel says it
        assert type(error).__name__ == "NotConvergedError"
    else:
        assert not np.isfinite(s).all()


def test_the_same_matrix_has_the_same_bits_at_every_place_of_a_stack() -> None:
    """More rows than lanes take; so that each is decomposed by itself."""
    random = np.random.default_rng(7)
    a = np.moveaxis(random.normal(size=(5, 70, 70)), 0, -1)
    stack = form_of(F64, (70, 70, 5), CPU)
    kernel = lapack.bind("svd", (stack,), (stack, form_of(F64, (70, 5), CPU), stack), True)
    assert kernel is not None
    for part, alone in zip(kernel(np.ascontiguousarray(a.T)), decompose("svd", a[:, :, 3], F64), strict=True):
        assert np.array_equal(part[3], alone.T)
