"""What the tests against NumPy share: operands in every layout, drawn and written down, and comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import Bool, as_dtype
from tensor_core.dtypes import COMPLEX, DTYPES
from tensor_runtime.testing.strategies import tensors

Array = np.ndarray[Any, Any]
UNIT = {"float32": 2.0**-23, "float64": 2.0**-52, "complex64": 2.0**-23, "complex128": 2.0**-52}
"""The rounding unit of each dtype, or of its parts."""
REAL_OR_BOOL = tuple(dtype for dtype in DTYPES if dtype not in COMPLEX)


def layouts(a: Array) -> Iterator[tr.Tensor]:
    """The same tensor compact, transposed, reversed."""
    yield tr.asarray(a, copy=True)
    yield tr.asarray(np.array(a.T, order="F")).T
    if a.ndim:
        yield tr.asarray(np.array(a[::-1], order="F"))[::-1]


def numbers(shape: tuple[int, ...], dtype: Any, seed: int) -> Array:
    """Small numbers of any dtype, complex ones with two parts."""
    rng = np.random.default_rng(seed)
    a = rng.integers(-9, 10, shape)
    if dtype in COMPLEX:
        return np.asarray(a + 1j * rng.integers(-9, 10, shape)).astype(dtype.numpy_name)
    return np.asarray(a % 2 if dtype is Bool else a).astype(dtype.numpy_name)


def whole_numbers(shape: tuple[int, ...], dtype: Any, seed: int, zeros: bool = True) -> Array:
    """Small whole numbers, also of complex dtypes, and none of them 0 if ``zeros`` is false."""
    rng = np.random.default_rng(seed)
    a = rng.integers(-9, 10, shape)
    if not zeros:
        a = np.where(a == 0, 7, a)
    return np.asarray(a + 0j if dtype in COMPLEX else a).astype(dtype.numpy_name)


@st.composite
def integer_arrays(draw: st.DrawFn, shape: tuple[int, ...]) -> Array:
    """Small integers in any dtype, in any layout: Fortran, C, transposed or reversed."""
    dtype = draw(st.sampled_from(DTYPES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    array = rng.integers(-3, 4, shape)
    if dtype in COMPLEX:
        array = array + 1j * rng.integers(-3, 4, shape)
    array = array.astype(dtype.numpy_name)
    kind = draw(st.sampled_from("FCR"))
    if kind == "R" and shape:
        return array[::-1].copy(order="F")[::-1]
    return np.array(array, order="F" if kind == "F" else "C")


@st.composite
def operands_and_axes(
    draw: st.DrawFn, dtypes: tuple[Any, ...] = DTYPES
) -> tuple[tr.Tensor, np.ndarray[Any, Any], Any, bool]:
    """A tensor, the array that it lends, axes, and keepdims."""
    x = draw(tensors(dtype=st.sampled_from(dtypes)))
    if x.rank == 0:
        axis: Any = draw(st.sampled_from([None, ()]))
    else:
        some = st.lists(st.integers(0, x.rank - 1), unique=True).map(tuple)
        axis = draw(st.one_of(st.none(), st.integers(-x.rank, x.rank - 1), some))
    return x, x.to_numpy(), axis, draw(st.booleans())


def same(result: tr.Tensor, expected: Any) -> None:
    """Equal in dtype, shape, elements and signs of zeros, and compact."""
    expected = np.asarray(expected)
    assert result.dtype is as_dtype(expected.dtype)
    assert result.is_compact
    found = result.to_numpy()
    np.testing.assert_array_equal(found, expected, strict=True)
    if found.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def close(result: tr.Tensor, expected: Any, units: float = 4) -> None:
    """Within some rounding units of the largest finite element, NaN and infinities in the same places."""
    expected = np.asarray(expected)
    assert result.dtype is as_dtype(expected.dtype)
    assert result.is_compact
    found = result.to_numpy()
    assert found.shape == expected.shape
    for ours, theirs in ((found.real, expected.real), (found.imag, expected.imag)):
        finite = np.isfinite(theirs)
        np.testing.assert_array_equal(ours[~finite], theirs[~finite])
        if finite.any():
            largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
            assert np.abs(ours[finite] - theirs[finite]).max() <= units * UNIT[str(expected.dtype)] * max(
                float(largest), 1e-300
            )


def folds_agree(result: tr.Tensor, expected: Any, dtype: Any, rounding: float = 0) -> None:
    """Equal in dtype and shape, and within some rounding units of each element; exactly if none are given."""
    found, wanted = result.to_numpy(), np.asarray(expected)
    assert (result.dtype, result.shape, result.is_compact) == (dtype, wanted.shape, True)
    if rounding:
        np.testing.assert_allclose(found, wanted, rtol=rounding * np.finfo(found.dtype).eps, equal_nan=True)
    else:
        np.testing.assert_array_equal(found, wanted)
