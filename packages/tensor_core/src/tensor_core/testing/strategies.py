"""Strategies that draw the awkward cases: rank 0, extents 0 and 1, negative and zero strides, every element type.

Each one shrinks towards small shapes and plain numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tensor_core import views
from tensor_core.dtypes import C32, C64, DTYPES, F32, Bool, DType, Element
from tensor_core.host.storage import Storage
from tensor_core.host.tensor import HostTensor, HostTensorView
from tensor_core.layout import TensorLayout, reachable_range
from tensor_core.scalar_conversion import BOUNDS, to_element
from tensor_core.slices import SliceSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn, SearchStrategy


def shapes(max_rank: int = 4, max_extent: int = 4, min_extent: int = 0) -> SearchStrategy[tuple[int, ...]]:
    """Shapes of any rank from 0, extents 0 and 1 included."""
    return st.lists(st.integers(min_extent, max_extent), max_size=max_rank).map(tuple)


def dtypes() -> SearchStrategy[DType]:
    """One of the seven element types."""
    return st.sampled_from(DTYPES)


def elements(dtype: DType, *, integral: bool = False, special: bool = True) -> SearchStrategy[Element]:
    """Elements of a type.

    Args:
        integral: small whole numbers only, so that sums are exact.
        special: NaN, infinities, signed zeros and subnormal numbers too.

    >>> elements(Bool)
    booleans()
    """
    if dtype is Bool:
        return st.booleans()
    if integral:
        return st.integers(-8, 8).map(lambda number: to_element(number, dtype))
    if dtype in BOUNDS:
        return st.integers(*BOUNDS[dtype])
    part = st.floats(
        width=32 if dtype in (F32, C32) else 64, allow_nan=special, allow_infinity=special, allow_subnormal=special
    )
    return st.builds(complex, part, part) if dtype in (C32, C64) else part


@st.composite
def layouts(
    draw: DrawFn, shape: SearchStrategy[tuple[int, ...]] | None = None, max_stride: int = 6
) -> tuple[TensorLayout, int]:
    """A layout with strides of any sign, zero included, and the length of an allocation that it fits in."""
    extents = draw(shapes() if shape is None else shape)
    strides = tuple(draw(st.integers(-max_stride, max_stride)) for _ in extents)
    lowest, highest = reachable_range(TensorLayout(extents, strides)) or (0, -1)
    front, back = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    return TensorLayout(extents, strides, front - lowest), front + highest - lowest + 1 + back


@st.composite
def slice_specs(draw: DrawFn, extent: int) -> SliceSpec:
    """A slice inside an axis, of either direction."""
    step = draw(st.integers(1, 3)) * draw(st.sampled_from((1, -1)))
    if step > 0:
        start = draw(st.integers(0, extent))
        return SliceSpec(start, draw(st.none() | st.integers(0, extent)), step)
    start = draw(st.integers(0, max(extent - 1, 0)))
    return SliceSpec(start, draw(st.none() | st.integers(0, max(extent - 1, 0))), step)


@st.composite
def host_tensors(
    draw: DrawFn,
    dtype: SearchStrategy[DType] | None = None,
    shape: SearchStrategy[tuple[int, ...]] | None = None,
    *,
    integral: bool = False,
    special: bool = True,
) -> HostTensor[Any]:
    """Owned host tensors."""
    element_type = draw(dtypes() if dtype is None else dtype)
    extents = draw(shapes(max_rank=3) if shape is None else shape)
    count = TensorLayout(extents).size
    numbers = draw(st.lists(elements(element_type, integral=integral, special=special), min_size=count, max_size=count))
    return HostTensor.from_flat(numbers, extents, element_type)


@st.composite
def host_views(draw: DrawFn, dtype: SearchStrategy[DType] | None = None) -> HostTensorView[Any]:
    """Views with any strides over memory larger than they reach; elements are small whole numbers."""
    element_type = draw(dtypes() if dtype is None else dtype)
    layout, length = draw(layouts(shapes(max_rank=3)))
    numbers = draw(st.lists(elements(element_type, integral=True), min_size=length, max_size=length))
    return HostTensorView(Storage.of(element_type, numbers), layout)


ViewStep = tuple[str, tuple[Any, ...]]


@st.composite
def view_steps(draw: DrawFn, layout: TensorLayout, names: tuple[str, ...] = ()) -> ViewStep:
    """Name and arguments of one view function that ``layout`` allows; reshapes may still need a copy.

    Args:
        names: the functions to choose from; all of them when empty.
    """
    choices: dict[str, Callable[[], tuple[Any, ...]]] = {
        "transpose_view": lambda: (tuple(draw(st.permutations(range(layout.rank)))),),
        "slice_view": lambda: (tuple(draw(slice_specs(extent)) for extent in layout.shape),),
        "expand_view": lambda: (draw(st.integers(0, layout.rank)),),
        "squeeze_view": lambda: (None,),
        "reshape_view": lambda: (draw(_regrouped(layout)),),
        "index_view": lambda: (draw(python_indices(layout.shape)),),
        "broadcast_view": lambda: (draw(_stretched(layout.shape)),),
    }
    if layout.rank:
        choices["reverse_view"] = lambda: (draw(st.integers(0, layout.rank - 1)),)
    if any(layout.shape):
        axis = draw(st.sampled_from([axis for axis, extent in enumerate(layout.shape) if extent]))
        choices["window_view"] = lambda: (draw(st.integers(1, layout.shape[axis])), axis)
    equal = [(i, j) for i, m in enumerate(layout.shape) for j, n in enumerate(layout.shape) if i != j and m == n]
    if equal:
        choices["diagonal_view"] = lambda: draw(st.sampled_from(equal))
    name = draw(st.sampled_from([name for name in choices if not names or name in names]))
    return name, choices[name]()


def apply_step(layout: TensorLayout, step: ViewStep) -> TensorLayout:
    """The layout after a step that ``view_steps`` drew.

    >>> apply_step(TensorLayout((2, 3)), ("transpose_view", ((1, 0),)))
    TensorLayout(shape=(3, 2), strides=(2, 1), offset=0)
    """
    name, arguments = step
    result: TensorLayout = getattr(views, name)(layout, *arguments)
    return result


@st.composite
def python_indices(draw: DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index of ints, slices, None and at most one ellipsis that ``shape`` allows."""
    items: list[Any] = []
    for extent in shape[: draw(st.integers(0, len(shape)))]:
        if extent and draw(st.booleans()):
            items.append(draw(st.integers(-extent, extent - 1)))
        else:
            bound = st.none() | st.integers(-extent - 2, extent + 2)
            items.append(slice(draw(bound), draw(bound), draw(st.none() | st.sampled_from((-3, -2, -1, 1, 2, 3)))))
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), None)
    if draw(st.booleans()):
        items.append(Ellipsis)
    return tuple(items)


@st.composite
def _regrouped(draw: DrawFn, layout: TensorLayout) -> tuple[int, ...]:
    """A shape with as many elements: prime factors dealt out again, with extents 1 between."""
    count = layout.size
    if count == 0:
        others = draw(shapes(max_rank=2))
        return (*others, 0)
    factors: list[int] = []
    for prime in (2, 3, 5, 7, 11, 13):
        while count % prime == 0:
            factors.append(prime)
            count //= prime
    factors.append(count)
    shape = [1]
    for factor in factors:
        if draw(st.booleans()):
            shape.append(factor)
        else:
            shape[-1] *= factor
    return tuple(shape[0 if draw(st.booleans()) or shape[0] != 1 else 1 :])


@st.composite
def _stretched(draw: DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    front = draw(st.lists(st.integers(0, 3), max_size=1))
    return (*front, *(draw(st.integers(0, 3)) if extent == 1 else extent for extent in shape))
