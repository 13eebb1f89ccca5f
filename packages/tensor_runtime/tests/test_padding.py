"""Padding equals NumPy's, and StableHLO's for the strict primitive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES, I32, I64, Bool
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError, ShapeError
from tensor_runtime import primitives
from tensor_runtime.testing.strategies import tensors

some = st.sampled_from(DTYPES)
any_tensor = tensors(dtype=some)


def same(result: tr.Tensor, expected: Any, dtype: Any) -> None:
    wanted = np.asarray(expected)
    assert (result.dtype, result.shape, result.is_compact) == (dtype, wanted.shape, True)
    np.testing.assert_array_equal(result.to_numpy(), wanted)


@given(any_tensor, st.data(), st.sampled_from(["constant", "edge"]))
def test_pad_is_numpys(x: tr.Tensor, data: st.DataObject, mode: Any) -> None:
    width = st.integers(0, 3)
    pair = st.tuples(width, width)
    widths = data.draw(st.one_of(width, pair, st.lists(pair, min_size=x.rank, max_size=x.rank).filter(bool)))
    a = x.to_numpy()
    full = [widths] * x.rank if isinstance(widths, tuple) else widths
    try:
        expected = np.pad(a, full if x.rank else 0, mode)
    except ValueError:
        with pytest.raises(ArgumentError, match="has no element to repeat"):
            tr.pad(x, widths, mode)
        return
    same(tr.pad(x, widths, mode), expected, x.dtype)


def test_pad_takes_a_value_of_the_dtype() -> None:
    x = tr.tensor([1, 2], dtype=I32)
    assert tr.pad(x, (0, 1), constant_values=7).to_numpy().tolist() == [1, 2, 7]
    same(tr.pad(tr.tensor([True]), 1, constant_values=True), [True, True, True], Bool)
    with pytest.raises(CastRangeError):
        tr.pad(x, 1, constant_values=2**40)
    with pytest.raises(DTypeError):
        tr.pad(x, 1, constant_values=0.5)
    with pytest.raises(ArgumentError, match="pad: mode is 'wrap'; accepted: 'constant', 'edge'"):
        tr.pad(x, 1, "wrap")


@pytest.mark.parametrize("wrong", [-1, (1, -1), (1, 2, 3), ((1, 2), (3, 4)), [(1, 2, 3)], (), ((1, 2), 3), "1"])
def test_pad_widths_have_one_of_three_forms(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="pad_width"):
        tr.pad(tr.zeros((2,)), wrong)


def stablehlo_pad(a: Any, value: Any, low: Any, high: Any, interior: Any) -> Any:
    """Dilate, then pad, then crop: one axis after the other."""
    for axis, (before, after, between) in enumerate(zip(low, high, interior, strict=True)):
        a = np.moveaxis(a, axis, 0)
        n = a.shape[0]
        spread = np.full((n + max(n - 1, 0) * between, *a.shape[1:]), value, a.dtype)
        spread[:: between + 1] = a
        ends = [np.full((max(k, 0), *a.shape[1:]), value, a.dtype) for k in (before, after)]
        a = np.concatenate([ends[0], spread, ends[1]])
        a = a[max(-before, 0) : a.shape[0] - max(-after, 0)]
        a = np.moveaxis(a, 0, axis)
    return a


@given(any_tensor, st.data())
def test_strict_pad_is_stablehlos(x: tr.Tensor, data: st.DataObject) -> None:
    rank = x.rank
    low, high = (data.draw(st.lists(st.integers(-4, 3), min_size=rank, max_size=rank)) for _ in range(2))
    interior = data.draw(st.lists(st.integers(0, 2), min_size=rank, max_size=rank))
    value = tr.full((), 1, dtype=x.dtype) if x.dtype is not Bool else tr.full((), True)
    extents = [n + max(n - 1, 0) * k + i + j for n, i, j, k in zip(x.shape, low, high, interior, strict=True)]
    if any(extent < 0 for extent in extents):
        with pytest.raises(ShapeError, match="would get extent -"):
            primitives.pad(x, value, low, high, interior)
        return
    expected = stablehlo_pad(x.to_numpy(), value.item(), low, high, interior)
    same(primitives.pad(x, value, low, high, interior), expected, x.dtype)


def test_strict_pad_is_strict() -> None:
    x = tr.tensor([1, 2, 3])
    with pytest.raises(DTypeError, match=r"primitives.pad: operands are I64, F64"):
        primitives.pad(x, tr.tensor(0.0), (0,), (0,), (0,))
    with pytest.raises(ShapeError, match=r"the padding value has shape \(1,\); accepted: rank 0"):
        primitives.pad(x, tr.tensor([0]), (0,), (0,), (0,))
    with pytest.raises(ArgumentError, match=r"interior is \(-1,\); accepted: ints of 0 or more"):
        primitives.pad(x, tr.tensor(0), (0,), (0,), (-1,))
    with pytest.raises(ArgumentError, match="2 low, 1 high and 1 interior numbers"):
        primitives.pad(x, tr.tensor(0), (0, 0), (0,), (0,))
    same(primitives.pad(tr.tensor(5), tr.tensor(0), (), (), ()), 5, I64)
