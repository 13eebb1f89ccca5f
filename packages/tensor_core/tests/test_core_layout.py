"""Layouts: the validator, reach, injectivity and overlap against brute force."""

from __future__ import annotations

import copy
import pickle
import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import (
    ArgumentError,
    IndexingError,
    LayoutError,
    OutOfBoundsLayoutError,
    SizeLimitError,
    TensorError,
    TensorLayout,
    element_offset,
    is_injective,
    layouts_overlap,
    reachable_range,
    validate_layout,
)
from tensor_core.testing.strategies import layouts, shapes

HUGE = (0, 1, -1, 2, 3, 2**31, -(2**31), 2**62, -(2**62), 2**63 - 1, 2**63, -(2**63), 2**64, 10**5000)


def offsets(layout: TensorLayout) -> list[int]:
    return [element_offset(layout, index) for index in product(*map(range, layout.shape))]


@given(layouts())
def test_the_reachable_range_is_the_range_of_all_offsets(drawn: tuple[TensorLayout, int]) -> None:
    found = offsets(drawn[0])
    assert reachable_range(drawn[0]) == ((min(found), max(found)) if found else None)


@given(
    st.lists(st.sampled_from((0, 1, 2, 3, 2**31, 2**40, 2**63 - 1)), max_size=4),
    st.data(),
    st.integers(0, 100) | st.sampled_from((2**31, 2**63 - 1)),
    st.sampled_from((1, 8, 16)),
)
def test_the_validator_accepts_exactly_what_lies_inside(
    shape: list[int], data: st.DataObject, length: int, itemsize: int
) -> None:
    strides = [data.draw(st.sampled_from(HUGE) | st.integers(-5, 5)) for _ in shape]
    offset = data.draw(st.integers(-3, 100) | st.sampled_from(HUGE))
    spans = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    lowest = offset + sum(span for span in spans if span < 0)
    highest = offset + sum(span for span in spans if span > 0)
    inside = 0 <= offset <= length if 0 in shape else lowest >= 0 and highest < length
    count = 1
    for extent in shape:
        count *= extent or 1
    countable = all(abs(n) * itemsize < 2**63 for n in (count, offset, length, *strides))
    try:
        validate_layout(TensorLayout(shape, strides, offset), length, itemsize)
    except TensorError as error:
        assert isinstance(error, (OutOfBoundsLayoutError, SizeLimitError))
        assert not (inside and countable)
    else:
        assert inside
        assert countable


def test_a_layout_outside_its_allocation_names_the_reach() -> None:
    layout = TensorLayout((2, 3), (1, -2), 3)
    with pytest.raises(OutOfBoundsLayoutError, match="reaches elements -1 to 4 of an allocation of 6") as caught:
        validate_layout(layout, 6)
    assert caught.value.layout == layout
    assert caught.value.buffer_length == 6


@pytest.mark.parametrize(("length", "itemsize", "what"), [((6,), 8, "buffer_length"), (6, None, "itemsize")])
def test_what_is_no_number_of_elements_or_bytes_is_named(length: Any, itemsize: Any, what: str) -> None:
    with pytest.raises(ArgumentError, match=f"validate_layout: {what} is .*; accepted: an int"):
        validate_layout(TensorLayout((2, 3)), length, itemsize)


def test_huge_sizes_behind_zero_strides_are_refused() -> None:
    with pytest.raises(SizeLimitError, match=r"beyond 2\*\*63 - 1"):
        validate_layout(TensorLayout((2**31, 2**31), (0, 0)), 1, 8)
    with pytest.raises(SizeLimitError, match="more than 2"):
        TensorLayout((2**32, 2**32), (0, 0))


@given(layouts(max_stride=9))
def test_injectivity_equals_brute_force(drawn: tuple[TensorLayout, int]) -> None:
    found = offsets(drawn[0])
    assert is_injective(drawn[0]) == (len(set(found)) == len(found))


@given(layouts(), layouts())
def test_overlap_equals_the_intersection_of_offsets(a: tuple[TensorLayout, int], b: tuple[TensorLayout, int]) -> None:
    expected = not set(offsets(a[0])).isdisjoint(offsets(b[0]))
    assert layouts_overlap(a[0], b[0]) == layouts_overlap(b[0], a[0]) == expected


def test_large_layouts_are_judged_conservatively() -> None:
    even, odd = TensorLayout((10**6,), (2,), 0), TensorLayout((10**6,), (2,), 1)
    assert not layouts_overlap(even, odd)
    assert layouts_overlap(even, TensorLayout((10**6,), (3,), 0))
    assert not layouts_overlap(even, TensorLayout((10**6,), (1,), 2 * 10**6))
    assert is_injective(TensorLayout((10**6, 3), (3, 1)))
    assert not is_injective(TensorLayout((10**6, 3), (2, 1)))


@given(layouts())
def test_equal_layouts_are_equal_after_copying_and_pickling(drawn: tuple[TensorLayout, int]) -> None:
    layout = drawn[0]
    for other in (copy.copy(layout), copy.deepcopy(layout), pickle.loads(pickle.dumps(layout)), eval(repr(layout))):
        assert other == layout
        assert hash(other) == hash(layout)
    assert layout != TensorLayout(layout.shape, layout.strides, layout.offset + 1)
    assert layout != (layout.shape, layout.strides, layout.offset)


def test_a_layout_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        TensorLayout((2,)).offset = 3


@given(shapes())
def test_compact_and_row_major_layouts_say_so(shape: tuple[int, ...]) -> None:
    compact, rows = TensorLayout.compact(shape), TensorLayout.row_major(shape)
    assert compact.is_compact
    assert rows.is_row_major
    if all(extent > 1 for extent in shape) and len(shape) > 1:
        assert not compact.is_row_major
        assert not rows.is_compact
    assert sorted(offsets(compact)) == sorted(offsets(rows)) == list(range(compact.size))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((2, 3), (1,)), "shape (2, 3) has rank 2 but there are 1 strides; give one per axis"),
        (((2,), (1.0,)), "strides (1.0,) and offset 0; accepted: ints"),
        (((2,), 1), "strides 1 and offset 0; accepted: ints"),
        (((2,), (1,), None), "strides (1,) and offset None; accepted: ints"),
    ],
    ids=repr,
)
def test_a_layout_needs_one_int_per_axis(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(LayoutError, match=re.escape(f"TensorLayout: {message}")):
        TensorLayout(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("index", [(2, 0), (0, -1), (0,), (0, 0, 0)], ids=repr)
def test_an_offset_needs_an_index_inside_the_shape(index: tuple[int, ...]) -> None:
    with pytest.raises(IndexingError, match=re.escape(f"index {index} for shape (2, 3)")):
        element_offset(TensorLayout((2, 3)), index)
