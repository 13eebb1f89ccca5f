"""NumPy as the oracle for views: any chain gives its strides, its elements, and its refusals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import (
    F32,
    HostTensorView,
    SliceSpec,
    TensorLayout,
    ViewRequiresCopyError,
    canonical_strides,
    reshape_view,
)
from tensor_core.host.storage import Storage
from tensor_core.testing.strategies import ViewStep, apply_step, layouts, view_steps

np = pytest.importorskip("numpy", "2.1")

ITEMSIZE = 8
Drawn = tuple[TensorLayout, int]


def as_numpy(layout: TensorLayout, length: int) -> Any:
    """An array over 0, 1, 2, ... with exactly this layout."""
    memory = np.arange(max(length, 1), dtype=np.int64)
    strides = [stride * ITEMSIZE for stride in layout.strides]
    return np.ndarray(layout.shape, np.int64, memory.data, layout.offset * ITEMSIZE if layout.size else 0, strides)


def python_slice(spec: SliceSpec) -> slice:
    return slice(spec.start, spec.end, spec.step)


def numpy_step(x: Any, step: ViewStep) -> Any:
    name, arguments = step
    match name:
        case "transpose_view":
            return x.transpose(*arguments)
        case "slice_view":
            return x[tuple(map(python_slice, arguments[0]))]
        case "expand_view":
            return np.expand_dims(x, *arguments)
        case "squeeze_view":
            return np.squeeze(x)
        case "reshape_view":
            return np.reshape(x, *arguments, order="F", copy=False)
        case "index_view":
            # The ellipsis keeps NumPy from turning rank 0 into a scalar.
            return x[arguments[0] if Ellipsis in arguments[0] else (*arguments[0], ...)]
        case "broadcast_view":
            return np.broadcast_to(x, *arguments)
        case "reverse_view":
            return np.flip(x, *arguments)
        case "window_view":
            return np.lib.stride_tricks.sliding_window_view(x, *arguments)
        case "diagonal_view":
            return np.diagonal(x, 0, *arguments)
    raise AssertionError(name)


def assert_same(layout: TensorLayout, x: Any, memory_length: int) -> None:
    assert layout.shape == x.shape
    strides = tuple(stride // ITEMSIZE for stride in x.strides)
    assert canonical_strides(layout.shape, layout.strides) == canonical_strides(x.shape, strides)
    assert as_numpy(layout, memory_length).tolist() == x.tolist()


@given(layouts(), st.data())
def test_any_chain_of_views_equals_numpys(drawn: Drawn, data: st.DataObject) -> None:
    layout, length = drawn
    x = as_numpy(layout, length)
    for _ in range(data.draw(st.integers(0, 8))):
        if layout.rank > 6 or layout.size > 300:
            break
        step = data.draw(view_steps(layout))
        try:
            layout = apply_step(layout, step)
        except ViewRequiresCopyError:
            with pytest.raises(ValueError, match="copy"):
                numpy_step(x, step)
            continue
        x = numpy_step(x, step)
        assert_same(layout, x, length)


@given(layouts(max_stride=12), st.data())
def test_reshaping_needs_a_copy_exactly_when_numpy_says_so(drawn: Drawn, data: st.DataObject) -> None:
    layout, length = drawn
    step = data.draw(view_steps(layout, ("reshape_view",)))
    x = as_numpy(layout, length)
    try:
        expected = numpy_step(x, step)
    except ValueError:
        with pytest.raises(ViewRequiresCopyError) as caught:
            apply_step(layout, step)
        assert repr(layout) in str(caught.value)
        assert str(step[1][0]) in str(caught.value)
    else:
        assert_same(apply_step(layout, step), expected, length)


@st.composite
def nearly_compact(draw: st.DrawFn) -> Drawn:
    """Layouts whose neighbouring axes often merge: compact ones with a few slices and swaps."""
    shape = draw(st.lists(st.sampled_from((1, 2, 3, 4)), min_size=1, max_size=5))
    layout = TensorLayout(shape)
    length = layout.size
    for _ in range(draw(st.integers(0, 2))):
        layout = apply_step(
            layout,
            draw(view_steps(layout, ("slice_view", "transpose_view", "reverse_view"))),
        )
    return layout, length


@given(nearly_compact(), st.data())
def test_axes_that_continue_each_other_merge_and_split_as_in_numpy(drawn: Drawn, data: st.DataObject) -> None:
    layout, length = drawn
    step = data.draw(view_steps(layout, ("reshape_view",)))
    x = as_numpy(layout, length)
    try:
        expected = numpy_step(x, step)
    except ValueError:
        with pytest.raises(ViewRequiresCopyError):
            reshape_view(layout, *step[1])
    else:
        assert_same(reshape_view(layout, *step[1]), expected, length)


def test_a_repeated_signalling_nan_keeps_its_bits() -> None:
    raw = bytes.fromhex("0100807f")  # of F32; as a number of Python it would become a quiet one
    for repeated in (TensorLayout((3,), (0,)), TensorLayout((3, 2), (0, 0))):
        assert HostTensorView(Storage(F32, memoryview(raw)), repeated).tobytes() == raw * repeated.size
