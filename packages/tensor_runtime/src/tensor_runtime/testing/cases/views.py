"""Cases of ``tensor_runtime.ops.views`` and ``indexing``: views, copies, and writing through views.

Every operand is also given in other layouts, so a ``reshape_view`` here only moves axes of extent 1, or works on a
copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from tensor_core import views as layouts
from tensor_core.dtypes import DTYPES, F64, I64
from tensor_core.errors import AxisError, IndexingError, LossyConversionError, OverlappingViewError, ShapeError
from tensor_core.host.tensor import HostTensorView
from tensor_core.layout import TensorLayout
from tensor_runtime.ops import indexing, views
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, whole_numbers

_SHAPES: Final = ((), (3,), (2, 3), (2, 0, 3), (2, 3, 4), (1, 3, 1))
_INDICES: Final = (
    (0,),
    (-1, ..., 1),
    (slice(None), slice(None, None, -1)),
    (slice(2, 0, -1), None, 1),
    (None, ..., None),
    (slice(5, 9),),
    (1, 2, 3),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        x = whole_numbers((2, 3), dtype)
        yield _view("transpose", f"{dtype}", x, views.transpose, layouts.transpose_view)
        yield _view("copy", f"{dtype}", x, views.copy, lambda layout: layout)._replace(shares=False)
    for shape in _SHAPES:
        x, label = whole_numbers(shape, F64), f"shape {shape}"
        yield _view("transpose_view", label, x, views.transpose_view, layouts.transpose_view)
        yield _view("copy", label, x, views.copy, lambda layout: layout)._replace(shares=False)
        yield _view("to_contiguous", label, x, views.to_contiguous, lambda layout: layout)
        yield _view("squeeze", label, x, views.squeeze, layouts.squeeze_view)
        yield _view("expand_dims", label, x, lambda t: views.expand_dims(t, 0), lambda f: layouts.expand_view(f, 0))
        axes = tuple(range(len(shape)))
        wider = (2, *(4 if extent == 1 else extent for extent in shape))
        for name, call, rule, argument in (
            ("reverse_view", views.reverse_view, layouts.reverse_view, axes),
            ("broadcast_to", views.broadcast_to, layouts.broadcast_view, wider),
            ("reshape_view", views.reshape_view, layouts.reshape_view, (1, *shape, 1)),
        ):
            yield _view(name, label, x, *_both(call, rule, argument))
    x = whole_numbers((2, 3, 4), F64)
    yield _view("permute_axes", "three axes", x, *_both(views.permute_axes, layouts.transpose_view, (2, 0, 1)))
    yield _view("transpose", "negative axes", x, *_both(views.transpose, layouts.transpose_view, (-1, 0, 1)))
    yield _view("reverse_view", "one axis", x, *_both(views.reverse_view, layouts.reverse_view, -2))
    yield _view(
        "reshape_view",
        "of a copy",
        x,
        lambda t: views.reshape_view(views.copy(t), (4, -1)),
        lambda f: layouts.reshape_view(f, (4, 6)),
    )
    square = whole_numbers((3, 2, 3), F64)
    yield _view("diagonal_view", "first and last", square, *_both(views.diagonal_view, layouts.diagonal_view, 0, 2))
    for index in _INDICES:
        yield _view("indexing", f"{index}", x, *_both(indexing.getitem, layouts.index_view, index))
    yield from _refusals(x)
    yield from _writing(x)


def _both(call: Any, rule: Any, *arguments: Any) -> tuple[Any, Any]:
    return lambda t: call(t, *arguments), lambda f: rule(f, *arguments)


def _view(
    name: str, label: str, x: Host, call: Callable[..., Tensor], rule: Callable[[TensorLayout], TensorLayout]
) -> Case:
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
        ("indexing", "out of range", lambda t: t[2], IndexingError),
        ("indexing", "too many", lambda t: t[0, 0, 0, 0], IndexingError),
        (
            "mutable_view",
            "repeated elements",
            lambda t: indexing.mutable_view(views.broadcast_to(t, (2, *t.shape))),
            OverlappingViewError,
        ),
    ):
        yield refused(name, label, (x,), call, error)


def _writing(x: Host) -> Iterator[Case]:
    """Writing into a copy of the first operand; the result is the copy."""

    def written(target: Tensor, source: Any, index: Any = ...) -> Tensor:
        result = views.copy(target)
        view: Any = indexing.mutable_view(result)[index]
        indexing.copy_into(view, source)
        return result

    y = whole_numbers((2, 3, 4), I64, 5)
    yield Case("copy_into", "I64 into F64", (x, y), written, lambda: _converted(y))
    yield Case("copy_into", "a number", (x,), lambda t: written(t, 7), lambda: _changed(x, ..., 7.0))
    row = whole_numbers((3,), F64, 9)
    index = (1, slice(None, None, -1), 2)
    yield Case("copy_into", "a slice", (x, row), lambda t, s: written(t, s, index), lambda: _changed(x, index, row))
    yield Case("mutable_view", "itself", (x,), indexing.mutable_view, x.copy, shares=True)
    yield refused("copy_into", "F64 into I64", (y, x), written, LossyConversionError)
    yield refused("copy_into", "another shape", (x, row), written, ShapeError)


def _converted(y: Host) -> Host:
    from tensor_core.host.tensor import HostTensor

    return HostTensor.from_flat([float(element) for element in y.to_flat()], y.shape, F64)


def _changed(x: Host, index: Any, value: Any) -> Host:
    result = x.copy()
    result[index] = value
    return result
