"""Slices: nothing clips and nothing wraps, except where Python's own slices are resolved."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import SliceError, SliceSpec
from tensor_core.slices import from_python, resolve
from tensor_core.testing.strategies import slice_specs

BOUND = st.none() | st.integers(-9, 9)


def positions(spec: SliceSpec, extent: int) -> list[int]:
    first, count, step = resolve(spec, extent)
    return [first + k * step for k in range(count)]


@given(BOUND, BOUND, st.none() | st.integers(-4, 4).filter(bool), st.integers(0, 7))
def test_a_python_slice_resolves_to_the_same_elements(
    start: int | None, end: int | None, step: int | None, extent: int
) -> None:
    item = slice(start, end, step)
    spec = from_python(item, extent)
    assert positions(spec, extent) == list(range(extent))[item]


@given(st.integers(0, 9), BOUND, st.integers(-4, 4).filter(bool), st.integers(0, 7))
def test_a_strict_slice_equals_its_definition_or_is_refused(
    start: int, end: int | None, step: int, extent: int
) -> None:
    if end is not None and end < 0:
        with pytest.raises(SliceError, match="accepted: 0 or more"):
            SliceSpec(start, end, step)
        return
    spec = SliceSpec(start, end, step)
    edge = extent if step > 0 else -1
    expected = list(range(start, edge if end is None else end, step))
    try:
        found = positions(spec, extent)
    except SliceError as error:
        assert "nothing is clipped" in str(error)
        last = extent if step > 0 else max(extent - 1, 0)
        assert start > last or (end is not None and end > last)
    else:
        assert found == (expected if extent else [])
        assert all(0 <= position < extent for position in found)


@given(st.integers(0, 7).flatmap(lambda extent: st.tuples(st.just(extent), slice_specs(extent))))
def test_drawn_slices_lie_inside_their_axis(drawn: tuple[int, SliceSpec]) -> None:
    extent, spec = drawn
    assert all(0 <= position < extent for position in positions(spec, extent))
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert hash(eval(repr(spec))) == hash(spec)


@pytest.mark.parametrize(
    ("spec", "extent"), [((5,), 4), ((0, 5), 4), ((4, None, -1), 4), ((3, 4, -1), 4), ((1,), 0)], ids=repr
)
def test_a_bound_outside_the_axis_is_an_error(spec: tuple[int, ...], extent: int) -> None:
    with pytest.raises(SliceError, match=f"reaches outside an axis of extent {extent}"):
        resolve(SliceSpec(*spec), extent)


def test_a_step_of_zero_is_an_error() -> None:
    with pytest.raises(SliceError, match="the step is 0"):
        SliceSpec(0, 1, 0)
    with pytest.raises(SliceError, match="a step that is not 0"):
        from_python(slice(0, 1, 0), 3)


@pytest.mark.parametrize("wrong", [(0.0,), ("1",), (0, 1, None), (None,)], ids=repr)
def test_a_slice_is_made_of_ints(wrong: tuple[object, ...]) -> None:
    with pytest.raises(SliceError, match="accepted: ints"):
        SliceSpec(*wrong)  # type: ignore[arg-type]
    with pytest.raises(SliceError, match="accepted: ints"):
        from_python(slice("a", None), 3)


def test_a_slice_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        SliceSpec(0).start = 1
