"""Cases of ``tensor_runtime.ops.views``: views, and copies.

Every operand is also given in other layouts, so a ``reshape_view`` here only moves axes of extent 1, or works on a
copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from tensor_core import views as layouts
from tensor_core.dtypes import DTYPES, F64
from tensor_core.errors import (
    ArgumentError,
    AxisError,
    ShapeError,
    TensorError,
)
from tensor_core.host.tensor import HostTensorView
from tensor_core.layout import TensorLayout
from tensor_runtime.ops import views
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, tabulated, whole_numbers

_SHAPES: Final = ((), (3,), (2, 3), (2, 0, 3), (2, 3, 4), (1, 3, 1))
_MOVES: Final[tuple[tuple[Index, Index, Index], ...]] = (  # source, destination, the order that this gives
    ((0,), (-1,), (1, 2, 0)),
    ((0, 1), (1, 2), (2, 0, 1)),
    ((), (), (0, 1, 2)),
)
_PLACES: Final[tuple[tuple[Index, Index, Index], ...]] = (  # shape, result, places of the axes in it
    ((2,), (2, 3), (0,)),
    ((2,), (3, 2), (1,)),
    ((), (2, 2), ()),
    ((1, 3), (4, 3, 2), (2, 1)),
    ((2, 3), (3, 2), (1, 0)),
    ((1,), (0,), (0,)),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        x = whole_numbers((2, 3), dtype)
        yield view_case("transpose", f"{dtype}", x, views.transpose, layouts.transpose_view)
        yield view_case("copy", f"{dtype}", x, views.copy, lambda layout: layout)._replace(shares=False)
    for shape in _SHAPES:
        x, label = whole_numbers(shape, F64), f"shape {shape}"
        yield view_case("transpose_view", label, x, views.transpose_view, layouts.transpose_view)
        yield view_case("copy", label, x, views.copy, lambda layout: layout)._replace(shares=False)
        yield view_case("to_contiguous", label, x, views.to_contiguous, lambda layout: layout)
        yield view_case("squeeze", label, x, views.squeeze, layouts.squeeze_view)
        yield view_case("expand_dims", label, x, lambda t: views.expand_dims(t, 0), lambda f: layouts.expand_view(f, 0))
        axes = tuple(range(len(shape)))
        wider = (2, *(4 if extent == 1 else extent for extent in shape))
        for name, call, rule, argument in (
            ("reverse_view", views.reverse_view, layouts.reverse_view, axes),
            ("broadcast_to", views.broadcast_to, layouts.broadcast_view, wider),
            ("reshape_view", views.reshape_view, layouts.reshape_view, (1, *shape, 1)),
        ):
            yield view_case(name, label, x, *_both(call, rule, argument))
    x = whole_numbers((2, 3, 4), F64)
    yield view_case("permute_axes", "three axes", x, *_both(views.permute_axes, layouts.transpose_view, (2, 0, 1)))
    yield view_case("transpose", "negative axes", x, *_both(views.transpose, layouts.transpose_view, (-1, 0, 1)))
    yield view_case("reverse_view", "one axis", x, *_both(views.reverse_view, layouts.reverse_view, -2))
    yield view_case(
        "reshape_view",
        "of a copy",
        x,
        lambda t: views.reshape_view(views.copy(t), (4, -1)),
        lambda f: layouts.reshape_view(f, (4, 6)),
    )
    square = whole_numbers((3, 2, 3), F64)
    yield view_case("diagonal_view", "first and last", square, *_both(views.diagonal_view, layouts.diagonal_view, 0, 2))
    for source, destination, order in _MOVES:
        yield Case(
            "move_axes",
            f"{source} to {destination}",
            (x,),
            partial(_moved, source, destination),
            partial(_permuted, x, order),
            shares=True,
        )
    for before, after, places in _PLACES:
        yield _put_in(whole_numbers(before, F64), after, places)
    yield from _refusals(x)


def _both(call: Any, rule: Any, *arguments: Any) -> tuple[Any, Any]:
    return lambda t: call(t, *arguments), lambda f: rule(f, *arguments)


def view_case(
    name: str, label: str, x: Host, call: Callable[..., Tensor], rule: Callable[[TensorLayout], TensorLayout]
) -> Case:
    """A view of an operand, by the core's rule for its layout; what copies instead is given the same."""
    return Case(name, label, (x,), call, lambda: HostTensorView(x._storage, rule(x.layout)).copy(), shares=True)


def _refusals(x: Host) -> Iterator[Case]:
    for name, label, call, error in (
        ("transpose_view", "no permutation", lambda t: views.transpose_view(t, (0, 0, 1)), AxisError),
        ("permute_axes", "too few axes", lambda t: views.permute_axes(t, (0, 1)), AxisError),
        ("reshape_view", "another size", lambda t: views.reshape_view(t, (5, 5)), ShapeError),
        ("broadcast_to", "another extent", lambda t: views.broadcast_to(t, (2, 3, 5)), ShapeError),
        ("reverse_view", "axis twice", lambda t: views.reverse_view(t, (0, -3)), AxisError),
        ("diagonal_view", "unequal extents", views.diagonal_view, ShapeError),
        ("squeeze", "extent 2", lambda t: views.squeeze(t, 0), ShapeError),
        ("expand_dims", "out of range", lambda t: views.expand_dims(t, 5), AxisError),
    ):
        yield refused(name, label, (x,), call, error)
    vector = whole_numbers((3,), F64)
    placed: tuple[tuple[str, str, Host, Callable[..., Tensor], type[TensorError]], ...] = (
        ("move_axes", "unequal numbers", x, lambda t: views.move_axes(t, (0, 1), 0), ArgumentError),
        ("move_axes", "axis twice", x, lambda t: views.move_axes(t, (0, 0), (0, 1)), AxisError),
        ("broadcast_in_dim", "another extent", vector, lambda t: views.broadcast_in_dim(t, (2,), 0), ShapeError),
        ("broadcast_in_dim", "too few axes", x, lambda t: views.broadcast_in_dim(t, (2, 3, 4), 0), ArgumentError),
        ("broadcast_in_dim", "axis out of range", vector, lambda t: views.broadcast_in_dim(t, (3,), 1), AxisError),
    )
    for name, label, operand, misplacing, refusal in placed:
        yield refused(name, label, (operand,), misplacing, refusal)


def _moved(source: Index, destination: Index, x: Tensor) -> Tensor:
    return views.move_axes(x, source, destination)


def _permuted(x: Host, order: tuple[int, ...]) -> Host:
    def rule(index: Index) -> Any:
        place = dict(zip(order, index, strict=True))
        return x[tuple(place[axis] for axis in range(x.rank))]

    return tabulated([x.shape[axis] for axis in order], x.dtype, rule)


def _put_in(x: Host, shape: Index, places: Index) -> Case:
    def rule(index: Index) -> Any:
        return x[tuple(0 if n == 1 else index[place] for n, place in zip(x.shape, places, strict=True))]

    label = f"{x.shape} at {places} of {shape}"
    call = _both(views.broadcast_in_dim, None, shape, places)[0]
    return Case("broadcast_in_dim", label, (x,), call, partial(tabulated, shape, x.dtype, rule), shares=True)
