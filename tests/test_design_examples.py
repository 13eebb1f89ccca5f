"""The examples that the design promises: trace, diagonal, embedding and a scaled product, for every floating dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_einsum import einsum

Array = np.ndarray[Any, Any]
FLOATING = (tr.F32, tr.F64, tr.C32, tr.C64)


def integers(dtype: tr.DType, *shape: int) -> Array:
    """Small whole numbers, whose sums of products are exact in every floating dtype."""
    generator = np.random.default_rng(sum(shape))
    values = generator.integers(-5, 6, shape).astype(dtype.numpy_name)
    if dtype in (tr.C32, tr.C64):
        values += 1j * generator.integers(-5, 6, shape).astype(values.dtype)
    return values


def owned(values: Array) -> tr.Tensor:
    return tr.asarray(values, copy=True)


def backwards(values: Array) -> tr.Tensor:
    """A view with every stride below zero that shows ``values``."""
    axes = tuple(range(values.ndim))
    return tr.reverse_view(tr.asarray(np.flip(values), copy=True), axes)


MAKERS = pytest.mark.parametrize("make", [owned, backwards])
DTYPES = pytest.mark.parametrize("dtype", FLOATING, ids=lambda dtype: dtype.name)


def assert_equal(found: tr.Tensor, expected: Array, dtype: tr.DType) -> None:
    assert found.dtype is dtype
    assert found.shape == expected.shape
    assert found.is_compact
    assert found.to_numpy().tolist() == expected.tolist()


def test_the_strides_of_the_reversed_views_are_negative() -> None:
    view = backwards(integers(tr.F64, 4, 4))

    assert view.strides == (-1, -4)
    assert not view.is_compact


@MAKERS
@DTYPES
def test_the_trace_equals_numpy(dtype: tr.DType, make: Callable[[Array], tr.Tensor]) -> None:
    a = integers(dtype, 4, 4)

    assert_equal(einsum("ii->", make(a)), np.asarray(np.einsum("ii->", a)), dtype)


@MAKERS
@DTYPES
def test_the_diagonal_equals_numpy_and_shares_nothing(dtype: tr.DType, make: Callable[[Array], tr.Tensor]) -> None:
    a = integers(dtype, 4, 4)
    operand = make(a)

    found = einsum("ii->i", operand)

    assert_equal(found, np.einsum("ii->i", a), dtype)
    assert not np.shares_memory(found.to_numpy(), operand.to_numpy())


@MAKERS
@DTYPES
def test_the_embedded_diagonal_equals_numpy(dtype: tr.DType, make: Callable[[Array], tr.Tensor]) -> None:
    v = integers(dtype, 5)

    assert_equal(einsum("i->ii", make(v)), np.diag(v), dtype)


@MAKERS
@DTYPES
def test_a_product_scaled_along_the_inner_axis_equals_numpy(
    dtype: tr.DType, make: Callable[[Array], tr.Tensor]
) -> None:
    a, k, b = integers(dtype, 3, 4), integers(dtype, 4), integers(dtype, 4, 5)

    assert_equal(einsum("ik,k,kj->ij", make(a), make(k), make(b)), np.einsum("ik,k,kj->ij", a, k, b), dtype)
