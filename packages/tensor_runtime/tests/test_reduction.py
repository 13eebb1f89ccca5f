"""Reductions equal NumPy's, over any axes of any layout, and never warn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from numpy_agreement import REAL_OR_BOOL, folds_agree, integer_arrays, operands_and_axes
from tensor_core import I32, I64, Bool, as_dtype
from tensor_core.dtypes import COMPLEX, FLOATING
from tensor_core.errors import ArgumentError, AxisError, DTypeError
from tensor_runtime import primitives

NAN, INF = float("nan"), float("inf")
NUMPY: dict[str, Any] = {"sum": np.sum, "prod": np.prod, "any": np.any, "all": np.all, "max": np.max, "min": np.min}


@given(operands_and_axes(), st.sampled_from(["sum", "prod", "any", "all"]))
def test_sums_products_and_quantifiers_are_numpys(drawn: Any, name: str) -> None:
    x, a, axis, keepdims = drawn
    widened = x.dtype if x.dtype in FLOATING else I64
    result = getattr(tr, name)(x, axis=axis, keepdims=keepdims)
    if name in ("any", "all"):
        folds_agree(result, NUMPY[name](a, axis=axis, keepdims=keepdims), Bool)
    else:
        expected = NUMPY[name](a, axis=axis, keepdims=keepdims, dtype=widened.numpy_name)
        folds_agree(result, expected, widened, 0 if name == "sum" or widened is I64 else 100)


@given(operands_and_axes(REAL_OR_BOOL), st.sampled_from(["max", "min"]))
def test_extremes_are_numpys(drawn: Any, name: str) -> None:
    x, a, axis, keepdims = drawn
    along = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if any(a.shape[one] == 0 for one in along):
        with pytest.raises(ArgumentError, match=f"{name} of nothing is undefined"):
            getattr(tr, name)(x, axis=axis)
        return
    folds_agree(
        getattr(tr, name)(x, axis=axis, keepdims=keepdims), NUMPY[name](a, axis=axis, keepdims=keepdims), x.dtype
    )


def test_nan_wins_among_extremes_and_counts_as_true() -> None:
    x = tr.tensor([[1.0, NAN], [3.0, 2.0]])
    np.testing.assert_array_equal(tr.min(x, axis=0).to_numpy(), [1.0, NAN])
    assert tr.any(tr.tensor([0.0, NAN])).item() is True
    assert tr.all(tr.tensor([1.0, NAN])).item() is True
    assert tr.any(tr.tensor([0j, 1j])).item() is True


def test_integers_wrap_in_products() -> None:
    assert tr.prod(tr.tensor([2**32, 2**32])).item() == 0
    assert tr.prod(tr.tensor([2**16, 2**16], dtype=I32)).item() == 2**32
    assert primitives.reduce_prod(tr.tensor([2**16, 2**16], dtype=I32)).item() == 0


@given(operands_and_axes((I32, I64, Bool)), st.sampled_from(["and", "or"]))
def test_strict_bitwise_reductions_read_empty_axes_as_all(drawn: Any, name: str) -> None:
    x, a, axis, _ = drawn
    axes = () if axis is None else axis if isinstance(axis, tuple) else (axis,)
    fold = {"and": np.bitwise_and, "or": np.bitwise_or}[name]
    folds_agree(getattr(primitives, f"reduce_{name}")(x, axes), fold.reduce(a, axis=axes or None), x.dtype)


def test_strict_reductions_keep_the_dtype() -> None:
    x = tr.tensor([[3, 1], [2, 5]], dtype=I32)
    assert primitives.reduce_min(x, (1,)).to_numpy().tolist() == [1, 2]
    assert primitives.reduce_prod(x).dtype is I32
    assert primitives.reduce_min(x, keepdims=True).shape == (1, 1)
    with pytest.raises(DTypeError, match="reduce_and: operand is F64"):
        primitives.reduce_and(tr.zeros(2))


def test_axes_are_ints_within_the_rank() -> None:
    x = tr.zeros((2, 3))
    for function in (tr.sum, tr.prod, tr.min, tr.any, tr.all, tr.mean, tr.var, tr.std, tr.norm):
        for axis in (2, -3, (0, -2)):
            with pytest.raises(AxisError, match=function.__name__):
                function(x, axis=axis)
        with pytest.raises(ArgumentError, match="axis is 'a'; accepted: an int, a tuple of ints, or None"):
            function(x, axis="a")  # type: ignore[arg-type]


def test_nothing_warns_whatever_numpy_is_told() -> None:
    x, nothing = tr.tensor([NAN, INF, -INF, 1e308, 1e308]), tr.zeros((0,))
    with np.errstate(all="raise"):
        for function in (tr.sum, tr.prod, tr.mean, tr.var, tr.std, tr.norm, tr.cumsum, tr.cumprod):
            function(x)
            function(nothing)
        for order in (0, 1, 3, -2, INF, -INF):
            tr.norm(x, order)
        tr.argmax(x)
        tr.max(x)


@given(st.data())
def test_reductions_equal_numpys_over_any_axes(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 3), max_size=4)))
    a = data.draw(integer_arrays(shape))
    axes = data.draw(st.one_of(st.none(), st.sets(st.integers(0, len(shape) - 1)) if shape else st.just(set())))
    axis = None if axes is None else tuple(position - len(shape) * (position % 2) for position in axes)
    keepdims = data.draw(st.booleans())
    x = tr.asarray(a)
    dtype = as_dtype(a.dtype)

    expected = np.sum(a, axis=axis, keepdims=keepdims, dtype=None if dtype in FLOATING else np.int64)
    result = tr.sum(x, axis=axis, keepdims=keepdims)
    assert result.dtype is (dtype if dtype in FLOATING else I64)
    assert result.is_compact
    np.testing.assert_array_equal(result.to_numpy(), expected)
    if dtype in COMPLEX:
        with pytest.raises(DTypeError):
            tr.max(x, axis=axis)
        return
    try:
        expected = np.max(a, axis=axis, keepdims=keepdims)
    except ValueError:
        with pytest.raises(ArgumentError, match="undefined"):
            tr.max(x, axis=axis, keepdims=keepdims)
        return
    result = tr.max(x, axis=axis, keepdims=keepdims)
    assert result.dtype is dtype
    np.testing.assert_array_equal(result.to_numpy(), expected)


def test_max_passes_nan_on() -> None:
    assert np.isnan(tr.max(tr.tensor([1.0, float("nan"), 3.0])).item())


@pytest.mark.parametrize("axis", [2, -3, (0, 0), (0, -2), 1.0, "a", (0, "a")])
def test_a_bad_axis_is_an_error_of_ours(axis: Any) -> None:
    with pytest.raises((AxisError, ArgumentError), match="sum"):
        tr.sum(tr.zeros((2, 3)), axis=axis)
