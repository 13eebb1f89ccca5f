"""Choices between elements equal NumPy's, in any dtypes, shapes and layouts."""

from __future__ import annotations

import math
from re import escape
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from numpy_agreement import layouts, numbers, same
from tensor_core import F32, F64, I32, I64, Bool
from tensor_core.dtypes import COMPLEX, DTYPES
from tensor_core.errors import CastRangeError, DTypeError, ShapeError

THREE_SHAPES = [
    ((2, 3), (2, 3), (2, 3)),
    ((), (), ()),
    ((2, 3), (), (3,)),
    ((3,), (2, 1), ()),
    ((2, 1, 1), (4, 1), (3,)),
    ((0, 1), (3,), ()),
    ((1,), (0,), (1, 1)),
]
TWO_SHAPES = [((2, 3), (2, 3)), ((), ()), ((2, 3), ()), ((3,), (2, 1)), ((2, 1, 3), (4, 1)), ((0, 2), (1, 1))]


# ---------------------------------------------------------------- where


@pytest.mark.parametrize("shapes", THREE_SHAPES, ids=str)
@pytest.mark.parametrize("a_type", DTYPES, ids=str)
@pytest.mark.parametrize("b_type", DTYPES, ids=str)
def test_where_equals_numpys_in_any_dtypes_shapes_and_layouts(shapes: Any, a_type: Any, b_type: Any) -> None:
    condition = numbers(shapes[0], Bool, 1)
    a, b = numbers(shapes[1], a_type, 2), numbers(shapes[2], b_type, 3)
    expected = np.where(condition, a, b)
    for c in layouts(condition):
        for x in layouts(a):
            for y in layouts(b):
                result = tr.where(c, x, y)
                same(result, expected)
                assert not np.shares_memory(result.to_numpy(), x.to_numpy())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("number", [True, 2, -2.5, 1 + 2j], ids=str)
def test_where_takes_python_numbers_anywhere(dtype: Any, number: Any) -> None:
    for shape in ((2, 3), (), (0,)):
        condition, a = numbers(shape, Bool, 1), numbers(shape, dtype, 2)
        for c, x in zip(layouts(condition), layouts(a), strict=True):
            same(tr.where(c, x, number), np.where(condition, a, number))
            same(tr.where(c, number, x), np.where(condition, number, a))
            same(tr.where(True, x, number), np.where(True, a, number))
            same(tr.where(False, x, number), np.where(False, a, number))
            same(tr.where(c, number, 3), np.where(condition, number, 3))


def test_where_refuses_a_condition_that_is_not_bool() -> None:
    with pytest.raises(DTypeError, match="where: the condition is I64; accepted: Bool"):
        tr.where(tr.tensor([1, 0]), 1, 2)
    with pytest.raises(DTypeError, match="where: the condition is F64"):
        tr.where(1.0, tr.ones(2), 2)  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="where: no operand is a tensor"):
        tr.where(True, 1, 2)
    with pytest.raises(DTypeError, match="where: found an operand of type ndarray"):
        tr.where(tr.tensor([True]), np.ones(1), 2)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="where: shapes \\(2,\\), \\(3,\\) and \\(\\) do not broadcast"):
        tr.where(tr.tensor([True, False]), tr.ones(3), tr.tensor(1.0))
    with pytest.raises(CastRangeError, match="where: the number 2147483648 does not fit I32"):
        tr.where(tr.tensor([True]), tr.ones(1, dtype=I32), 2**31)


def test_where_without_choices_says_what_to_write() -> None:
    mask = tr.tensor([True, False])
    with pytest.raises(DTypeError, match=escape("a condition alone; write nonzero(condition)")) as caught:
        tr.where(mask)  # type: ignore[call-overload]
    assert isinstance(caught.value, TypeError) and caught.value.operation == "where"
    with pytest.raises(DTypeError, match=escape("found one choice; accepted: where(condition, a, b)")):
        tr.where(mask, 1)  # type: ignore[call-overload]
    with pytest.raises(DTypeError, match=escape("found a condition alone")):
        tr.where(mask, out=tr.zeros(2))  # type: ignore[call-overload]


def test_where_passes_bits_on() -> None:
    a = np.array([math.nan, -0.0, math.inf])
    result = tr.where(tr.tensor([True, True, False]), tr.asarray(a), -0.0).to_numpy()
    np.testing.assert_array_equal(result, [math.nan, 0.0, 0.0])
    assert np.signbit(result[1:]).all()


# ---------------------------------------------------------------- maximum, minimum, clip


@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("shapes", TWO_SHAPES, ids=str)
@pytest.mark.parametrize("a_type", DTYPES, ids=str)
@pytest.mark.parametrize("b_type", DTYPES, ids=str)
def test_extremes_equal_numpys(name: str, shapes: Any, a_type: Any, b_type: Any) -> None:
    a, b = numbers(shapes[0], a_type, 1), numbers(shapes[1], b_type, 2)
    for x in layouts(a):
        for y in layouts(b):
            if a_type in COMPLEX or b_type in COMPLEX:
                with pytest.raises(
                    DTypeError,
                    match=f"{name}: operands are {escape(str(a_type))}, {escape(str(b_type))}; accepted: Bool, F32",
                ):
                    getattr(tr, name)(x, y)
            else:
                same(getattr(tr, name)(x, y), getattr(np, name)(a, b))


@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("dtype", sorted(set(DTYPES) - COMPLEX, key=str), ids=str)
@pytest.mark.parametrize("number", [True, 2, -2.5, math.nan, math.inf], ids=str)
def test_extremes_take_python_numbers(name: str, dtype: Any, number: Any) -> None:
    for shape in ((2, 3), (), (0,)):
        a = numbers(shape, dtype, 1)
        for x in layouts(a):
            same(getattr(tr, name)(x, number), getattr(np, name)(a, number))
            same(getattr(tr, name)(number, x), getattr(np, name)(number, a))


def test_extremes_pass_nan_on() -> None:
    x = tr.tensor([math.nan, 1.0, math.nan])
    y = tr.tensor([1.0, math.nan, math.nan])
    assert np.isnan(tr.maximum(x, y).to_numpy()).all()
    assert np.isnan(tr.minimum(x, y).to_numpy()).all()


@pytest.mark.parametrize("shapes", THREE_SHAPES, ids=str)
@pytest.mark.parametrize("dtypes", [(F64,) * 3, (I32, I64, I32), (I64, F32, I32), (Bool, Bool, Bool), (F32, I64, Bool)])
def test_clip_equals_numpys(shapes: Any, dtypes: Any) -> None:
    a, low, high = (numbers(shape, dtype, seed) for seed, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)))
    expected = np.clip(a, low, high)
    for x in layouts(a):
        for y in layouts(low):
            for z in layouts(high):
                same(tr.clip(x, y, z), expected)
    same(tr.clip(tr.asarray(a), min=tr.asarray(low)), np.maximum(a, low))
    same(tr.clip(tr.asarray(a), max=tr.asarray(high)), np.minimum(a, high))


@pytest.mark.parametrize("dtype", sorted(set(DTYPES) - COMPLEX, key=str), ids=str)
@pytest.mark.parametrize("bounds", [(-2, 3), (3, -2), (None, 3), (-2, None), (-1.5, 2.5), (True, True), (math.nan, 1)])
def test_clip_takes_python_numbers(dtype: Any, bounds: Any) -> None:
    a = numbers((2, 3), dtype, 1)
    for x in layouts(a):
        same(tr.clip(x, *bounds), np.clip(a, *bounds))


def test_clip_takes_a_number_between_tensors() -> None:
    same(tr.clip(5, tr.tensor([1, 6]), tr.tensor([3, 9])), [3, 6])
    same(tr.clip(5, tr.tensor(1), 3), 3)


def test_clip_without_bounds_copies() -> None:
    x = tr.tensor([[1, 2], [3, 4]])
    result = tr.clip(x.T)
    same(result, [[1, 3], [2, 4]])
    assert not np.shares_memory(result.to_numpy(), x.to_numpy())
    for call in (
        lambda x: tr.clip(x),
        lambda x: tr.clip(x, 0, 1),
        lambda x: tr.clip(x, 0),
        lambda x: tr.clip(x, None, 1),
    ):
        with pytest.raises(DTypeError, match="clip: operand"):
            call(tr.tensor([1j]))
    with pytest.raises(DTypeError, match="clip: found ndarray"):
        tr.clip(np.ones(2))  # type: ignore[arg-type]


def test_clip_passes_nan_on_and_lets_the_upper_bound_win() -> None:
    nan = math.nan
    x, low, high = tr.tensor([nan, 1.0, 1.0, 1.0]), tr.tensor([0.0, nan, 0.0, 5.0]), tr.tensor([2.0, 2.0, nan, 2.0])
    same(tr.clip(x, low, high), [nan, nan, nan, 2.0])
    with pytest.raises(CastRangeError, match="clip: the number"):
        tr.clip(tr.ones(2, dtype=I32), 0, 2**31)
    with pytest.raises(ShapeError, match="clip: shapes"):
        tr.clip(tr.ones(2), tr.ones(3), 1)


def test_clip_without_bounds_writes_where_the_caller_says() -> None:
    x, target = tr.tensor([1.0, 2.0]), tr.zeros(2)
    assert tr.clip(x, None, None, out=target) is target
    assert target.to_numpy().tolist() == [1.0, 2.0]
    with pytest.raises(ShapeError):
        tr.clip(x, None, None, out=tr.zeros(3))


@pytest.mark.parametrize("count", [1, 4097])
def test_quotients_by_not_a_number_are_not_numbers(count: int) -> None:
    divisor = np.full(count, complex(np.nan, 0))
    assert np.isnan((tr.asarray(np.full(count, 1 + 2j)) / tr.asarray(divisor)).to_numpy()).all()
