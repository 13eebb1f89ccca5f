"""Cases of ``tensor_runtime.ops.indexing``: parts of a tensor by Python's indices, and writing through views."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from tensor_core import views as layouts
from tensor_core.dtypes import F64, I32, I64, Bool
from tensor_core.errors import IndexingError, LossyConversionError, OverlappingViewError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_core.layout import TensorLayout
from tensor_runtime.ops import indexing, views
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.views import view_case
from tensor_runtime.testing.oracle import Host, tabulated, whole_numbers

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
    yield from _picking(x)


def _indexed(index: Any, x: Tensor) -> Tensor:
    return indexing.getitem(x, index)


def _layout(index: Any, layout: TensorLayout) -> TensorLayout:
    return layouts.index_view(layout, index)


def _picking(x: Host) -> Iterator[Case]:
    """Elements picked by tensors of integers and by masks; the oracle takes each by its own index."""
    i, j = HostTensor.from_nested([1, 0, -1]), HostTensor.from_nested([[2], [-3]], I32)
    rows, columns = (1, 0, 1), (2, 0)
    single = tabulated((2, 3, 4), F64, lambda at: x[at[0], 2 - at[1], at[2]])
    pairs = tabulated((2, 3, 4), F64, lambda at: x[rows[at[1]], columns[at[0]], at[2]])
    parted = tabulated((3, 3), F64, lambda at: x[1, at[1], 2 - at[0]])
    yield Case("indexing", "a tensor", (x, i), lambda t, k: t[:, k + 1], lambda: single)
    yield Case("indexing", "two tensors", (x, i, j), lambda t, k, m: t[k, m], lambda: pairs)
    yield Case("indexing", "apart", (x, i), lambda t, k: t[1, :, k + 1], lambda: parted)
    mask = tabulated((2, 3), Bool, lambda at: at != (0, 1))
    chosen = [(m, n) for m in range(2) for n in range(3) if (m, n) != (0, 1)]
    masked = tabulated((5, 4), F64, lambda at: x[(*chosen[at[0]], at[1])])
    yield Case("indexing", "a mask", (x, mask), lambda t, m: t[m], lambda: masked)
    yield refused("indexing", "picked out of range", (x, i), lambda t, k: t[k + 2], IndexingError)

    def written(target: Tensor, source: Any, *index: Tensor) -> Tensor:
        result = views.copy(target)
        view: Any = indexing.mutable_view(result)
        view[index] = source
        return result

    def expected(of: Host, places: dict[tuple[int, int], Any]) -> Host:
        result = of.copy()
        for place, value in places.items():
            result[place] = value
        return result

    last = {(row, column): 1.0 + position for position, (row, column) in enumerate(zip(rows, (2, 0, 2), strict=True))}
    flat = whole_numbers((2, 3), F64)
    numbers, k = HostTensor.from_nested([1.0, 2.0, 3.0]), HostTensor.from_nested([2, 0, -1])
    yield Case("indexing", "written", (flat, numbers, i, k), written, lambda: expected(flat, last))
    zeros = dict.fromkeys(chosen, 0.0)
    yield Case("indexing", "masked", (flat, mask), lambda t, m: written(t, 0, m), lambda: expected(flat, zeros))


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
    return HostTensor.from_flat([float(element) for element in y.to_flat()], y.shape, F64)


def _changed(x: Host, index: Any, value: Any) -> Host:
    result = x.copy()
    result[index] = value
    return result
