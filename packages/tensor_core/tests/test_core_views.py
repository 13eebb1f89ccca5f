"""Views: algebra, elements visited, and every refusal."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import (
    AxisError,
    IndexingError,
    ShapeError,
    SizeLimitError,
    SliceError,
    SliceSpec,
    TensorLayout,
    ViewRequiresCopyError,
    broadcast_view,
    diagonal_view,
    element_offset,
    expand_view,
    index_view,
    reachable_range,
    reshape_view,
    reverse_view,
    slice_view,
    squeeze_view,
    transpose_view,
    window_view,
)
from tensor_core.testing.strategies import apply_step, layouts, shapes, slice_specs, view_steps


def column_major_offsets(layout: TensorLayout) -> list[int]:
    return [element_offset(layout, index[::-1]) for index in product(*map(range, layout.shape[::-1]))]


any_layout = layouts().map(lambda drawn: drawn[0])


@given(any_layout, st.data())
def test_transposing_and_back_is_the_identity(layout: TensorLayout, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(layout.rank)))
    back = sorted(range(layout.rank), key=order.__getitem__)
    assert transpose_view(transpose_view(layout, order), back) == layout
    assert transpose_view(transpose_view(layout)) == layout


@given(any_layout, st.data())
def test_reversing_twice_is_the_identity(layout: TensorLayout, data: st.DataObject) -> None:
    axes = data.draw(st.lists(st.integers(0, layout.rank - 1), unique=True)) if layout.rank else []
    assert reverse_view(reverse_view(layout, axes), axes) == layout


@given(any_layout, st.data())
def test_slicing_visits_the_elements_named(layout: TensorLayout, data: st.DataObject) -> None:
    specs = [data.draw(slice_specs(extent)) for extent in layout.shape]
    view = slice_view(layout, specs)
    edges = [(extent if spec.step > 0 else -1) for spec, extent in zip(specs, layout.shape, strict=True)]
    axes = [
        range(spec.start, edge if spec.end is None else spec.end, spec.step) if extent else range(0)
        for spec, edge, extent in zip(specs, edges, layout.shape, strict=True)
    ]
    assert view.shape == tuple(map(len, axes))
    for positions, index in zip(product(*map(range, view.shape)), product(*axes), strict=True):
        assert element_offset(view, positions) == element_offset(layout, index)


@given(
    layouts(st.builds(lambda n, rest: (n, n, *rest), st.integers(0, 4), shapes(max_rank=2))).map(lambda drawn: drawn[0])
)
def test_the_diagonal_visits_equal_indices_and_comes_last(layout: TensorLayout) -> None:
    view = diagonal_view(layout, 0, 1)
    for *rest, i in product(*map(range, view.shape)):
        assert element_offset(view, (*rest, i)) == element_offset(layout, (i, i, *rest))


@given(any_layout, st.data())
def test_reshaping_keeps_the_column_major_order(layout: TensorLayout, data: st.DataObject) -> None:
    step = data.draw(view_steps(layout, ("reshape_view",)))
    try:
        view = apply_step(layout, step)
    except ViewRequiresCopyError as error:
        assert repr(layout) in str(error)
        assert str(error.shape) in str(error)
        assert not layout.is_compact
        return
    assert column_major_offsets(view) == column_major_offsets(layout)
    assert reshape_view(view, view.shape).shape == view.shape


@given(shapes(min_extent=1))
def test_a_compact_layout_reshapes_to_anything_of_equal_size(shape: tuple[int, ...]) -> None:
    layout = TensorLayout(shape)
    assert reshape_view(layout, layout.size) == TensorLayout(layout.size)
    assert reshape_view(TensorLayout(layout.size), shape).is_compact


@given(layouts(), st.data())
def test_a_chain_of_views_stays_inside_the_allocation(drawn: tuple[TensorLayout, int], data: st.DataObject) -> None:
    layout, length = drawn
    for _ in range(data.draw(st.integers(0, 5))):
        if layout.rank > 6 or layout.size > 200:
            break
        try:
            layout = apply_step(layout, data.draw(view_steps(layout)))
        except ViewRequiresCopyError:
            continue
        reach = reachable_range(layout)
        assert reach is None or (reach[0] >= 0 and reach[1] < length)
        assert 0 <= layout.offset <= length


@given(any_layout, st.data())
def test_broadcasting_repeats_elements(layout: TensorLayout, data: st.DataObject) -> None:
    front = data.draw(st.integers(0, 3))
    target = (front, *(data.draw(st.integers(0, 3)) if extent == 1 else extent for extent in layout.shape))
    view = broadcast_view(layout, target)
    assert view.shape == target
    for index in product(*map(range, target)):
        original = [0 if extent == 1 else k for k, extent in zip(index[1:], layout.shape, strict=True)]
        assert element_offset(view, index) == element_offset(layout, original)


@given(layouts(st.builds(lambda n, rest: (n, *rest), st.integers(1, 5), shapes(max_rank=2))), st.data())
def test_a_window_starts_at_its_position(drawn: tuple[TensorLayout, int], data: st.DataObject) -> None:
    layout = drawn[0]
    view = window_view(layout, data.draw(st.integers(1, layout.shape[0])), 0)
    for position, *rest, k in product(*map(range, view.shape)):
        assert element_offset(view, (position, *rest, k)) == element_offset(layout, (position + k, *rest))


@given(any_layout, st.data())
def test_squeezing_takes_a_new_axis_away_again(layout: TensorLayout, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-layout.rank - 1, layout.rank))
    assert squeeze_view(expand_view(layout, axis), axis) == layout
    assert 1 not in squeeze_view(layout).shape


def test_steps_beyond_int64_are_harmless_where_they_mean_nothing_and_refused_where_they_wrap() -> None:
    layout = TensorLayout((4, 4), (2**62, 1))
    assert index_view(layout, slice(None, None, 2**70)).shape == (1, 4)
    with pytest.raises(SizeLimitError, match="accepted: magnitudes up to"):
        index_view(layout, slice(None, None, 2))


SQUARE = TensorLayout((2, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: transpose_view(SQUARE, (0,)), AxisError, "transpose: 1 axes for rank 2"),
        (lambda: transpose_view(SQUARE, (0, 2)), AxisError, "axis 2 is out of range for rank 2"),
        (
            lambda: slice_view(SQUARE, [SliceSpec(0)]),
            ShapeError,
            "slice_view: 1 slices for shape (2, 3); give one per axis",
        ),
        (
            lambda: slice_view(SQUARE, [SliceSpec(0), SliceSpec(4)]),
            SliceError,
            "slice_view: axis 1: slice: SliceSpec(start=4",
        ),
        (lambda: index_view(SQUARE, (0, 0, 0)), IndexingError, "(0, 0, 0) for shape (2, 3)"),
        (lambda: index_view(SQUARE, (..., ...)), IndexingError, "one '...'"),
        (lambda: index_view(SQUARE, (0, 3)), IndexingError, "index 3 is out of range for axis 1 of extent 3"),
        (lambda: index_view(SQUARE, 10**5000), IndexingError, "an int of 16610 bits is out of range for axis 0"),
        (lambda: index_view(SQUARE, True), IndexingError, "axis 0 has the index True"),
        (lambda: index_view(SQUARE, 0.5), IndexingError, "axis 0 has the index 0.5"),
        (lambda: index_view(SQUARE, ([0],)), IndexingError, "axis 0 has the index [0]"),
        (lambda: reshape_view(SQUARE, 5), ShapeError, "shape (2, 3) has 6 elements and (5,) has 5"),
        (
            lambda: reshape_view(transpose_view(SQUARE), 6),
            ViewRequiresCopyError,
            "cannot become shape (6,) without a copy",
        ),
        (lambda: broadcast_view(SQUARE, (3,)), ShapeError, "shape (2, 3) does not broadcast to (3,)"),
        (lambda: broadcast_view(SQUARE, (4, 3)), ShapeError, "shape (2, 3) does not broadcast to (4, 3)"),
        (lambda: reverse_view(SQUARE, (0, 0)), AxisError, "name one axis twice"),
        (
            lambda: diagonal_view(SQUARE, 0, 1),
            ShapeError,
            "axis 0 has extent 2 but axis 1 has 3; slice the longer one first",
        ),
        (lambda: diagonal_view(SQUARE, 0, -2), AxisError, "both axes are axis 0"),
        (lambda: window_view(SQUARE, 4, 1), ShapeError, "windows (4,) along axes (1,) of shape (2, 3)"),
        (lambda: window_view(SQUARE, 0, 1), ShapeError, "accepted: 1 to the extent"),
        (lambda: window_view(SQUARE, (1, 1), 1), ShapeError, "windows (1, 1) along axes (1,)"),
        (lambda: squeeze_view(SQUARE, 0), ShapeError, "axis 0 has extent 2; accepted: axes of extent 1"),
        (lambda: expand_view(SQUARE, 3), AxisError, "axis 3 is out of range for rank 3"),
    ],
    ids=lambda value: "",
)
def test_what_no_view_can_give_is_refused_by_name(call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call()  # type: ignore[operator]
