"""Logical operations and operations on bits equal NumPy's, in any dtypes, shapes and layouts."""

from __future__ import annotations

import math
from re import escape
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from numpy_agreement import layouts, numbers, same
from tensor_core import I32, I64, Bool, as_dtype
from tensor_core.dtypes import DTYPES, INTEGER
from tensor_core.errors import DTypeError

TWO_SHAPES = [((2, 3), (2, 3)), ((), ()), ((2, 3), ()), ((3,), (2, 1)), ((2, 1, 3), (4, 1)), ((0, 2), (1, 1))]


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
@pytest.mark.parametrize("shapes", TWO_SHAPES, ids=str)
@pytest.mark.parametrize("a_type", DTYPES, ids=str)
@pytest.mark.parametrize("b_type", DTYPES, ids=str)
def test_logical_operations_equal_numpys(name: str, shapes: Any, a_type: Any, b_type: Any) -> None:
    a, b = numbers(shapes[0], a_type, 1), numbers(shapes[1], b_type, 2)
    a, b = np.asarray(a * (numbers(a.shape, Bool, 3))), np.asarray(b * (numbers(b.shape, Bool, 4)))
    for x in layouts(a):
        for y in layouts(b):
            same(getattr(tr, name)(x, y), getattr(np, name)(a, b))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("number", [True, 0, 2.5, 0j], ids=str)
def test_logical_operations_take_python_numbers(dtype: Any, number: Any) -> None:
    for shape in ((2, 3), (), (0,)):
        a = numbers(shape, dtype, 1)
        for x in layouts(a):
            same(tr.logical_not(x), np.logical_not(a))
            for name in ("logical_and", "logical_or", "logical_xor"):
                same(getattr(tr, name)(x, number), getattr(np, name)(a, number))
                same(getattr(tr, name)(number, x), getattr(np, name)(number, a))


def test_nan_and_parts_of_complex_numbers_are_true() -> None:
    same(tr.logical_not(tr.tensor([math.nan, 0.0, -0.0])), [False, True, True])
    same(tr.logical_not(tr.tensor([0j, 1j, complex(0, math.nan)])), [True, False, False])
    same(tr.logical_and(tr.tensor([1j]), True), [True])


@pytest.mark.parametrize(
    "name", ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]
)
@pytest.mark.parametrize("shapes", TWO_SHAPES, ids=str)
@pytest.mark.parametrize("a_type", DTYPES, ids=str)
@pytest.mark.parametrize("b_type", DTYPES, ids=str)
def test_bitwise_operations_equal_numpys(name: str, shapes: Any, a_type: Any, b_type: Any) -> None:
    a, b = numbers(shapes[0], a_type, 1), numbers(shapes[1], b_type, 2)
    common = as_dtype(np.result_type(a, b))
    accepted = INTEGER if "shift" in name else INTEGER | {Bool}
    for x in layouts(a):
        for y in layouts(b):
            if common not in accepted:
                with pytest.raises(
                    DTypeError,
                    match=f"{name}: operands are {escape(str(a_type))}, {escape(str(b_type))}; accepted: .*I32, I64",
                ):
                    getattr(tr, name)(x, y)
            else:
                same(getattr(tr, name)(x, y), getattr(np, name)(a, b))


@pytest.mark.parametrize(
    "name", ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]
)
@pytest.mark.parametrize("dtype", [Bool, I32, I64], ids=str)
@pytest.mark.parametrize("number", [0, 3, -1, True], ids=str)
def test_bitwise_operations_take_python_numbers(name: str, dtype: Any, number: Any) -> None:
    for shape in ((2, 3), (), (0,)):
        a = numbers(shape, dtype, 1)
        for x in layouts(a):
            if dtype is Bool and number is True and "shift" in name:
                with pytest.raises(DTypeError):
                    getattr(tr, name)(x, number)
                continue
            same(getattr(tr, name)(x, number), getattr(np, name)(a, number))
            same(getattr(tr, name)(number, x), getattr(np, name)(number, a))
    with pytest.raises(DTypeError, match=f"{name}: operands are {escape(str(dtype))}, float"):
        getattr(tr, name)(tr.ones(2, dtype=dtype), 1.0)


def test_inverted_bits() -> None:
    for dtype in (Bool, I32, I64):
        a = numbers((2, 3), dtype, 1)
        for x in layouts(a):
            same(tr.bitwise_invert(x), np.invert(a))
            same(~x, ~a)
    with pytest.raises(DTypeError, match="bitwise_invert: operand is F64; accepted: Bool, I32, I64"):
        ~tr.ones(2)


@pytest.mark.parametrize("dtype", [I32, I64], ids=str)
@pytest.mark.parametrize("extent", [1, 5, 100])
def test_a_count_beyond_the_width_shifts_everything_out(dtype: Any, extent: int) -> None:
    bits = 32 if dtype is I32 else 64
    for count in (bits, bits + 1, 1000, -1, -(2 ** (bits - 1))):
        counts = tr.full((extent,), count, dtype=dtype)
        for number, rest in ((5, 0), (-5, -1)):
            x = tr.full((extent,), number, dtype=dtype)
            for by in (counts, count):
                assert set((x << by).to_numpy().tolist()) == {0}
                assert set((x >> by).to_numpy().tolist()) == {rest}
    assert (tr.tensor([1], dtype=dtype) << (bits - 1)).item() == -(2 ** (bits - 1))
    assert (tr.tensor([-1], dtype=dtype) >> (bits - 1)).item() == -1
