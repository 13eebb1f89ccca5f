"""Shapes and axes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import (
    AxisError,
    ShapeError,
    SizeLimitError,
    broadcast_shapes,
    canonical_strides,
    compact_strides,
    row_major_strides,
)
from tensor_core.shapes import as_permutation, as_shape, normalize_axes, normalize_axis
from tensor_core.testing.strategies import shapes


@pytest.mark.parametrize("wrong", [-1, (2, -1), 1.0, (1.5,), "3", None, True, (2, False), [[1]]], ids=repr)
def test_a_shape_is_made_of_ints_of_zero_or_more(wrong: object) -> None:
    with pytest.raises(ShapeError, match=r"shape: found .*; accepted: "):
        as_shape(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [2**63, (2**62, 2), (2**63, 0), (10**5000,), (0, 2**32, 2**32)], ids=lambda _: "")
def test_a_shape_of_more_elements_than_int64_counts_is_refused(wrong: object) -> None:
    with pytest.raises(SizeLimitError, match="more than 2"):
        as_shape(wrong)  # type: ignore[arg-type]


@given(st.integers(0, 6), st.data())
def test_negative_axes_count_from_the_end(rank: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-rank - 2, rank + 1))
    if -rank <= axis < rank:
        assert normalize_axis(axis, rank, "op") == range(rank)[axis]
    else:
        with pytest.raises(AxisError, match=f"op: axis {axis} is out of range for rank {rank}"):
            normalize_axis(axis, rank, "op")


def test_an_axis_named_twice_is_refused() -> None:
    with pytest.raises(AxisError, match=re.escape("sum: axes (0, -2) name one axis twice")):
        normalize_axes((0, -2), 2, "sum")
    with pytest.raises(AxisError, match="transpose: 1 axes for rank 2; name every axis once"):
        as_permutation((1,), 2)
    with pytest.raises(AxisError, match=r"sum: axis is 1\.0; accepted: an int"):
        normalize_axes((1.0,), 2, "sum")  # type: ignore[arg-type]


@given(shapes(), shapes())
def test_broadcasting_agrees_with_its_definition(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    rank = max(len(a), len(b))
    pairs = list(zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True))
    if all(m == n or 1 in (m, n) for m, n in pairs):
        assert broadcast_shapes(a, b) == tuple(n if m == 1 else m for m, n in pairs)
    else:
        with pytest.raises(ShapeError, match=re.escape(f"broadcast: shapes {a} and {b} do not fit")):
            broadcast_shapes(a, b)


@given(shapes(min_extent=1))
def test_compact_strides_count_the_elements_before(shape: tuple[int, ...]) -> None:
    step = 1
    for extent, stride in zip(shape, compact_strides(shape), strict=True):
        assert stride == step
        step *= extent
    assert row_major_strides(shape) == compact_strides(shape[::-1])[::-1]


@given(shapes(), st.data())
def test_canonical_strides_keep_what_has_a_meaning(shape: tuple[int, ...], data: st.DataObject) -> None:
    strides = tuple(data.draw(st.integers(-9, 9)) for _ in shape)
    canonical = canonical_strides(shape, strides)
    if 0 in shape:
        assert canonical == compact_strides(shape)
    else:
        assert all(a == b for a, b, n in zip(canonical, strides, shape, strict=True) if n > 1)
        assert all(a == b for a, b, n in zip(canonical, compact_strides(shape), shape, strict=True) if n == 1)
    assert canonical_strides(shape, canonical) == canonical
