"""Powers equal NumPy's; integers wrap and refuse negative exponents."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from numpy_agreement import layouts, whole_numbers
from tensor_core import F64, I32, I64, Bool, as_dtype
from tensor_core.dtypes import COMPLEX, DTYPES, NUMERIC
from tensor_core.errors import (
    ArgumentError,
    DTypeError,
)

SHAPES = [
    ((2, 3), (2, 3)),
    ((), ()),
    ((2, 3), ()),
    ((3,), (2, 3)),
    ((2, 1, 3), (4, 1)),
    ((0, 2), (2,)),
    ((1, 1), (3, 1)),
]


EDGES = [0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 3.0, 1e300, -1e-300, 5e-324, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("a_type", sorted(NUMERIC, key=str), ids=str)
@pytest.mark.parametrize("b_type", sorted(NUMERIC, key=str), ids=str)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_pow_equals_numpys(a_type: Any, b_type: Any, shapes: Any) -> None:
    a, b = whole_numbers(shapes[0], a_type, 4, zeros=False), np.abs(whole_numbers(shapes[1], I64, 5)) % 4
    b = b.astype(b_type.numpy_name)
    for x in layouts(a):
        for y in layouts(b):
            result, expected = tr.pow(x, y), np.asarray(np.power(a, b))
            assert result.dtype is as_dtype(expected.dtype)
            assert result.is_compact
            if result.dtype in COMPLEX:  # NumPy's scalar and vector loops differ in the last bits
                np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-5 if expected.itemsize == 8 else 1e-14)
            else:
                np.testing.assert_array_equal(result.to_numpy(), expected, strict=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("number", [0, 2, 3, 2.0, 0.5, True, 2 + 0j], ids=str)
def test_pow_takes_a_python_number_on_either_side(dtype: Any, number: Any) -> None:
    a = whole_numbers((2, 3), I64, 6, zeros=False) % 5 + 1
    a = a.astype(dtype.numpy_name)
    for x in layouts(a):
        for ours, theirs in (((x, number), (a, number)), ((number, x), (number, a))):
            common = as_dtype(np.result_type(*theirs))
            if common is Bool:
                with pytest.raises(DTypeError, match="pow: operands are"):
                    tr.pow(*ours)
                continue
            result, expected = tr.pow(*ours), np.asarray(np.power(*theirs))
            assert result.dtype is common
            np.testing.assert_allclose(
                result.to_numpy(), expected, rtol=1e-6 if common.component.itemsize == 4 else 1e-15
            )


@pytest.mark.parametrize("dtype", [I32, I64], ids=str)
def test_integer_powers_wrap_and_refuse_negative_exponents(dtype: Any) -> None:
    bits = 32 if dtype is I32 else 64
    assert tr.pow(tr.tensor([2, 3, -2], dtype=dtype), bits - 1).to_numpy().tolist() == [
        -(2 ** (bits - 1)),
        (3 ** (bits - 1) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1),
        -(2 ** (bits - 1)),
    ]
    assert (tr.tensor([0, 5], dtype=dtype) ** 0).to_numpy().tolist() == [1, 1]
    exponents = np.array([[1, 2, -1], [3, -2, 5]], dtype.numpy_name)
    for y in layouts(exponents):
        with pytest.raises(ArgumentError, match="pow: the exponent at index \\(1, 1\\) is -2") as caught:
            tr.pow(tr.ones((2, 3), dtype=dtype), y)
        assert caught.value.index == (1, 1)
        assert caught.value.value == -2
    with pytest.raises(ArgumentError, match="pow: the exponent is -1, and integers have no negative powers"):
        tr.tensor([1], dtype=dtype) ** -1
    with pytest.raises(ArgumentError, match="index \\(0,\\) is -3"):
        2 ** tr.tensor([-3, 1], dtype=dtype)
    with pytest.raises(ArgumentError):
        tr.tensor(2, dtype=dtype) ** tr.tensor(-1, dtype=dtype)
    assert (tr.zeros((0,), dtype=dtype) ** -1).shape == (0,)
    assert (tr.tensor([4], dtype=dtype) ** -1.0).item() == 0.25
    assert (tr.tensor([4], dtype=dtype) ** 0.5).dtype is F64


def test_the_exponents_two_and_three_are_products() -> None:
    a = np.array([1.1, -3.7, math.inf, -0.0, math.nan, 1e200])
    x = tr.asarray(a)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal((x**2).to_numpy(), a * a)
    np.testing.assert_array_equal((x**2.0).to_numpy(), (x * x).to_numpy())
    assert (tr.tensor([True]) ** 2).dtype is I64
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal((x**3).to_numpy(), a * a * a)
    assert (tr.tensor(3) ** 2).item() == 9
    assert (tr.tensor(3) ** 3).item() == 27
    assert (tr.tensor([[1, 2], [3, 4]]).T ** 3).to_numpy().tolist() == [[1, 27], [8, 64]]
    assert (tr.tensor([2**40]) ** 3).item() == 0
    assert (tr.tensor([[1, 2], [3, 4]]).T ** 2).to_numpy().tolist() == [[1, 9], [4, 16]]


def test_edges_of_powers() -> None:
    with np.errstate(all="ignore"):
        a = np.array(EDGES)[:, None]
        result = tr.pow(tr.asarray(a), tr.asarray(np.array(EDGES))).to_numpy()
        np.testing.assert_array_equal(result, np.power(a, np.array(EDGES)))


@pytest.mark.parametrize("size", [3, 5000])
def test_powers_of_f64_have_the_bits_of_numpy_at_every_size_and_fused(size: int) -> None:
    rng = np.random.default_rng(8)
    x, y = rng.uniform(0.1, 10, size), rng.uniform(-3, 3, size)
    x[:2], y[:2] = (3.0, 10.0), (-1.0, -3.0)
    powers = np.power(x, y)
    a, b = tr.asarray(x), tr.asarray(y)
    np.testing.assert_array_equal(tr.pow(a, b).to_numpy(), powers)
    np.testing.assert_array_equal(tr.fuse(lambda a, b: a**b - b)(a, b).to_numpy(), powers - y)
