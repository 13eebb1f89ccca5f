"""Truths of lines, running sums that widen, indices that sort short lines, and complex means, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr

DTYPES = ("F32", "F64", "C32", "C64", "I32", "I64", "Bool")
NUMPY = dict(zip(DTYPES, ("f4", "f8", "c8", "c16", "i4", "i8", "?"), strict=True))
SHAPES = ((0, 3), (1, 4), (5, 7), (31, 3), (32, 5), (33, 6), (65, 1), (130, 4))


def _zeros_but(dtype: str, shape: tuple[int, int], rng: np.random.Generator, *, sparse: bool) -> Any:
    values = rng.integers(-3, 4, shape).astype(NUMPY[dtype])
    values[rng.random(shape) < (0.98 if sparse else 0.02)] = 0
    return np.asfortranarray(values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_truths_of_lines_are_those_of_numpy(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        for sparse in (True, False):
            a = _zeros_but(dtype, shape, rng, sparse=sparse)
            if dtype not in ("I32", "I64", "Bool") and a.size > 3:
                a.T.flat[2], a.T.flat[3] = -0.0, np.nan
            x = tr.asarray(a, copy=True)
            for axis in (None, 0, 1):
                assert np.array_equal(tr.any(x, axis=axis).to_numpy(), a.any(axis=axis))
                assert np.array_equal(tr.all(x, axis=axis).to_numpy(), a.all(axis=axis))


@pytest.mark.parametrize("dtype", ["I32", "Bool"])
def test_running_sums_widen_as_they_go(dtype: str) -> None:
    rng = np.random.default_rng(2)
    for shape in SHAPES:
        a = np.asfortranarray(rng.integers(0, 2 if dtype == "Bool" else 2**31 - 1, shape).astype(NUMPY[dtype]))
        x = tr.asarray(a, copy=True)
        for axis in (0, 1):
            assert np.array_equal(tr.cumsum(x, axis=axis).to_numpy(), a.cumsum(axis, dtype=np.int64))
            assert np.array_equal(tr.cumprod(x, axis=axis).to_numpy(), a.cumprod(axis, dtype=np.int64))


@pytest.mark.parametrize("dtype", ["F32", "F64", "I32", "I64"])
def test_short_lines_are_ordered_as_numpy_orders_them(dtype: str) -> None:
    rng = np.random.default_rng(3)
    for length in (0, 1, 2, 3, 7, 8, 9, 39, 40, 41, 127, 128, 129):
        a = np.asfortranarray(rng.integers(-9, 9, (length, 3)).astype(NUMPY[dtype]))
        if dtype in ("F32", "F64") and length > 8:
            a[1], a[4], a[5], a[8] = -0.0, 0.0, np.nan, -np.inf
        elif length > 8:
            a[3], a[5] = np.iinfo(a.dtype).min, np.iinfo(a.dtype).max
        for array, axis in ((a, 0), (np.asfortranarray(a.T), 1)):
            x = tr.asarray(array, copy=True)
            assert np.array_equal(tr.argsort(x, axis=axis).to_numpy(), array.argsort(axis, kind="stable"))
            turned = ~array if array.dtype.kind == "i" else -array
            found = tr.argsort(x, axis=axis, descending=True).to_numpy()
            assert np.array_equal(found, turned.argsort(axis, kind="stable"))
            ordered = tr.sort(x, axis=axis).to_numpy()
            assert ordered.tobytes() == np.sort(array, axis, kind="stable").tobytes()


@pytest.mark.parametrize("dtype", ["F32", "F64", "I32", "I64"])
def test_the_place_of_an_extreme_is_the_first_in_row_major_order(dtype: str) -> None:
    rng = np.random.default_rng(4)
    for shape in ((7, 3), (3, 2000), (5000, 3), (17, 9, 31)):
        a = np.asfortranarray(rng.integers(0, 9, shape).astype(NUMPY[dtype]))
        for nan in (False, True):
            if nan and dtype in ("F32", "F64"):
                a[-1, 1:] = np.nan
            x = tr.asarray(a, copy=True)
            assert (tr.argmax(x).item(), tr.argmin(x).item()) == (a.argmax(), a.argmin())


@pytest.mark.parametrize("dtype", ["C32", "C64"])
def test_means_of_complex_elements_divide_the_parts(dtype: str) -> None:
    rng = np.random.default_rng(5)
    for shape in ((5, 7), (64, 40), (128, 300)):
        a = np.asfortranarray((rng.integers(-99, 99, shape) + 1j * rng.integers(-99, 99, shape)).astype(NUMPY[dtype]))
        x = tr.asarray(a, copy=True)
        for axis in (None, 0, 1):
            total = a.sum(axis=axis, dtype=np.complex128)
            count, part = a.size // np.size(total), a.real.dtype
            expected = (total.real.astype(part) / part.type(count), total.imag.astype(part) / part.type(count))
            found = tr.mean(x, axis=axis).to_numpy()
            assert np.array_equal(found.real, expected[0])
            assert np.array_equal(found.imag, expected[1])
    infinite = tr.mean(tr.asarray(np.full(200, complex(np.inf, 1.0), NUMPY[dtype]))).item()
    assert (infinite.real, infinite.imag) == (np.inf, 1.0)
