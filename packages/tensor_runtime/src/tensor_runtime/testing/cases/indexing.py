"""Cases of ``tensor_runtime.ops.indexing``: parts of a tensor by Python's indices, and writing through views."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from tensor_core import views as layouts
from tensor_core.dtypes import F64, I64
from tensor_core.errors import IndexingError, LossyConversionError, OverlappingViewError, ShapeError
from tensor_core.layout import TensorLayout
from tensor_runtime.ops import indexing, views
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.views import view_case
from tensor_runtime.testing.oracle import Host, whole_numbers

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
    x = whole_numbers((2, 3, 4), F64)
    for index in _INDICES:
        yield view_case("indexing", f"{index}", x, partial(_indexed, index), partial(_layout, index))
    yield from _refusals(x)
    yield from _writing(x)


def _indexed(index: Any, x: Tensor) -> Tensor:
    return indexing.getitem(x, index)


def _layout(index: Any, layout: TensorLayout) -> TensorLayout:
    return layouts.index_view(layout, index)


def _refusals(x: Host) -> Iterator[Case]:
    for name, label, call, error in (
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
