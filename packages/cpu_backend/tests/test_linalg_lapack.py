"""Loops over LAPACK in C against NumPy's kernels, which stand behind them: same answers, any layout."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapack_cases import FLOATING, NAMES, UNIQUE, Array, close, kernels, matrices, numbers, reconstructed, run
from tensor_core import C32, C64, F32, F64, DType
from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT

pytestmark = [pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT), pytest.mark.usefixtures("threads")]


def laid_out(x: Array, order: list[int], steps: list[int]) -> Array:
    """The same elements in other memory: axes in another order, gaps, negative strides."""
    buffer = np.zeros([x.shape[axis] * abs(steps[axis]) for axis in order], x.dtype)
    view = buffer.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    view[...] = x
    return view


@st.composite
def layouts(draw: st.DrawFn) -> tuple[str, Array]:
    name = draw(st.sampled_from([name for name in NAMES if name != "solve"]))
    dtype = draw(st.sampled_from([F32, F64, C32, C64]))
    batch = tuple(draw(st.lists(st.integers(1, 3), max_size=4)))
    x = matrices(name, dtype, draw(st.integers(1, 9)), draw(st.integers(1, 9)), batch, draw(st.integers(0, 99)))
    order = draw(st.permutations(range(x.ndim)))
    x = laid_out(x, order, draw(st.lists(st.sampled_from([1, 2, -1, -3]), min_size=x.ndim, max_size=x.ndim)))
    if draw(st.booleans()):
        x = np.broadcast_to(x[..., None], (*x.shape, draw(st.integers(1, 3))))  # a stride of 0
    return name, x


@given(layouts())
def test_every_layout_gives_what_numpy_gives(case: tuple[str, Array]) -> None:
    name, x = case
    before = x.copy()
    numpy, native = kernels(name, x)
    expected, found = numpy(x.T), native(x.T)
    if name in UNIQUE:
        expected, found = (expected,), (found,)
    assert repr(native) == f"<native kernel {name}>"
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert one.flags.c_contiguous and one.flags.writeable and not np.shares_memory(one, x)
        if name in UNIQUE or one.dtype != x.dtype:  # eigenvalues and singular values are unique too
            assert close(one, other)
    if name not in UNIQUE:
        assert close(reconstructed(name, found), before)
    assert x.tobytes() == before.tobytes()


@FLOATING
@pytest.mark.parametrize(
    "batches", [((), ()), ((4,), (4,)), ((), (3, 2)), ((2, 1), (1, 3)), ((3,), (2, 3)), ((2, 3), (3,))]
)
def test_solve_broadcasts_as_numpy_does(dtype: DType, batches: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    for n, columns in product((1, 2, 7, 33), (1, 3)):
        a = matrices("solve", dtype, n, n, batches[0], n)
        b = np.asfortranarray(numbers(dtype, (2 * n, columns, *batches[1]), n + columns))[::-2]
        numpy, native = kernels("solve", a, b)

        assert repr(native) == "<native kernel solve>"
        assert close(native(a.T, b.T), numpy(a.T, b.T))
        assert native(a.T, b.T).shape == numpy(a.T, b.T).shape


@FLOATING
def test_solve_takes_vectors_of_any_stride(dtype: DType) -> None:
    a, b = matrices("solve", dtype, 5, 5, (), 1), numbers(dtype, (15,), 2)[::-3]
    numpy, native = kernels("solve", a, b)

    assert close(native(a.T, b.T), numpy(a.T, b.T))
    assert native(a.T, b.T).shape == (5,)


@FLOATING
@pytest.mark.parametrize("name", NAMES)
def test_large_stacks_give_the_same_bits_for_any_number_of_threads(name: str, dtype: DType, threads: int) -> None:
    x = matrices(name, dtype, 24, 17, (5, 9), 3)
    operands = (x, numbers(dtype, (24, 2, 5, 9), 4)) if name == "solve" else (x,)
    found = run(name, *operands)
    LIBRARY.set_threads(1)
    alone = run(name, *operands)

    for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, alone)), strict=True):
        assert one.tobytes() == other.tobytes()
    if name not in UNIQUE:
        assert close(reconstructed(name, found), x)


def test_integers_come_out_exactly() -> None:
    lower = np.asfortranarray(np.tril(np.arange(1.0, 37.0).reshape(6, 6) % 4, -1) + np.eye(6))
    upper = np.asfortranarray(lower.T)

    assert run("det", 3 * upper).item() == 3**6
    assert run("det", np.asfortranarray((3 * upper)[[1, 0, 2, 3, 4, 5]])).item() == -(3**6)
    assert run("det", np.asfortranarray(1j * upper)).item() == -1.0
    assert (run("inv", upper).T @ upper).tolist() == np.eye(6).tolist()
    assert run("solve", upper, upper @ np.arange(6.0)).tolist() == np.arange(6.0).tolist()
    assert (run("cholesky", np.asfortranarray(4 * lower @ lower.T)).T / 2).tolist() == lower.tolist()


@pytest.mark.parametrize("phase", [1.0, 1j])
def test_products_of_pivots_neither_overflow_nor_vanish_on_the_way(phase: complex) -> None:
    sizes = np.array([2.0**1000, 2.0**900, 2.0**-1000, 2.0**-890])
    a = np.asfortranarray(np.diag(sizes * phase if phase != 1 else sizes))

    assert run("det", a).item() == 1024.0
    assert run("det", np.asfortranarray(a[:2, :2])).item() == np.inf * (phase**2).real
    assert run("det", np.asfortranarray(a[2:, 2:])).item() == 0.0


def test_a_determinant_is_zero_where_a_pivot_is_and_nan_where_an_element_is() -> None:
    a = np.asfortranarray(np.stack([np.ones((3, 3)), np.eye(3)], axis=-1))

    assert run("det", a).tolist() == [0.0, 1.0]
    a[1, 1, 1] = np.nan
    assert np.isnan(run("det", a, check=False)[1])


def test_cholesky_and_eigh_read_the_lower_triangle_alone() -> None:
    x = matrices("eigh", C64, 6, 6, (3,), 7)
    garbage = np.asfortranarray(np.where(np.triu(np.ones((6, 6)), 1)[..., None] == 1, 77.0 - 5.0j, x))

    assert run("eigh", garbage)[0].tolist() == run("eigh", x)[0].tolist()
    assert run("cholesky", garbage).tolist() == run("cholesky", x).tolist()
