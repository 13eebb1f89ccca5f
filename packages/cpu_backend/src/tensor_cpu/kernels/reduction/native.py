"""Native reductions along any axes (csrc/reduction).

Sums and products are cascaded: their error grows with the logarithm of the number of elements, and they are the same
for every number of threads. What has no long neighbours, on a kept axis or on a reduced one, is first copied to an
order where it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_cpu.kernel_table import NativeBinder, bind
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.workspaces import one_after_another, with_workspace, workspace_of
from tensor_runtime.backends.xp_tables.elementwise import REDUCTIONS
from tensor_runtime.dispatch.dtype_rules import Reduction, accumulator, reduced_axes
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand

if TYPE_CHECKING:
    from tensor_runtime.contracts.reduction import ReduceParams

TAKES: Final = (
    "sums, products and truths of all dtypes, and other folds of real ones, that leave fewer elements than there were"
)
MOST_COPIED: Final = 1 << 28
"""Bytes of an operand that may be copied to another order first, and of sums that may be kept on the way."""
_SHORT_AXIS: Final = 32  # elements of a reduced axis
_SHORT_ROW: Final = 8  # elements of a kept axis
_FARTHEST_NEXT: Final = LIBRARY.FARTHEST_NEXT if AVAILABLE else 0  # elements from one to the next of a line
_FEW: Final = 64  # elements that lie side by side
_LONG: Final = 2048  # elements that lie side by side
_MOST_COLUMNS: Final = 1 << 15  # elements of a row whose folds stay in the cache
_PARTS: Final[Mapping[DType, DType]] = {C32: F32, C64: F64}
_FOLDS: Final = {"any": "max", "all": "min"}  # of Bool


class Axis(NamedTuple):
    """An axis, or several that one stride describes; ``place`` is its stride in the result, 0 for a reduced axis."""

    extent: int
    stride: int
    place: int


class Loops(NamedTuple):
    """What the native kernel is made from; csrc/reduction/reduce.c reads it by these names.

    Attributes:
        start: the first element that is read, from the first logical one.
        columns: extent of the kept axis that is the innermost; its stride is 1.
        column_place: its stride in the result.
        rows: extent of the innermost reduced axis.
        row_stride: its stride.
        kept: the other kept axes, outermost first.
        bands: the other reduced axes.
    """

    start: int
    columns: int
    column_place: int
    rows: int
    row_stride: int
    kept: tuple[Axis, ...]
    bands: tuple[Axis, ...]


def axes_of(shape: tuple[int, ...], strides: tuple[int, ...], reduced: tuple[int, ...], /) -> tuple[int, list[Axis]]:
    """The first element in memory, and the axes from the largest stride to the smallest, neighbours of a kind fused.

    Reduced axes are turned until their strides are positive.

    >>> axes_of((2, 3, 4, 1), (1, 2, 6, 24), (0, 1))
    (0, [Axis(extent=4, stride=6, place=1), Axis(extent=6, stride=1, place=0)])
    >>> axes_of((5, 3), (-1, 5), (0,))
    (-4, [Axis(extent=3, stride=5, place=1), Axis(extent=5, stride=1, place=0)])
    """
    start, place = 0, 1
    found: list[Axis] = []
    for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        if extent == 1:
            continue
        if axis not in reduced:
            found.append(Axis(extent, stride, place))
            place *= extent
        elif stride < 0:
            start += (extent - 1) * stride
            found.append(Axis(extent, -stride, 0))
        else:
            found.append(Axis(extent, stride, 0))
    found.sort(key=lambda axis: (axis.stride == 0, abs(axis.stride)), reverse=True)
    fused: list[Axis] = []
    for inner in found:
        if fused and _continues(fused[-1], inner):
            fused[-1] = Axis(fused[-1].extent * inner.extent, inner.stride, inner.place)
        else:
            fused.append(inner)
    return start, fused


def _continues(outer: Axis, inner: Axis) -> bool:
    same_kind = (outer.place == 0) is (inner.place == 0)
    return same_kind and outer.stride == inner.extent * inner.stride and outer.place == inner.extent * inner.place


def loops_of(start: int, axes: list[Axis], /) -> Loops:
    """Loops over the axes as they lie in memory; the stride of the last one is 1.

    >>> loops_of(0, [Axis(40, 60, 1), Axis(60, 1, 0)]).kept
    (Axis(extent=40, stride=60, place=1),)
    >>> loops_of(0, [Axis(4, 300, 0), Axis(5, 60, 10), Axis(6, 10, 0), Axis(10, 1, 1)])[:5]
    (0, 10, 1, 6, 10)
    """
    kept = [axis for axis in axes if axis.place]
    *bands, rows = (axis for axis in axes if not axis.place)
    columns = kept.pop() if axes[-1].place else Axis(1, 1, 1)
    return Loops(start, columns.extent, columns.place, rows.extent, rows.stride, tuple(kept), tuple(bands))


def has_long_neighbours(axes: list[Axis], /) -> bool:
    """Whether loops over the axes as they lie in memory pay.

    >>> has_long_neighbours([Axis(40, 60, 1), Axis(60, 1, 0)]), has_long_neighbours([Axis(4000, 3, 1), Axis(3, 1, 0)])
    (True, False)
    >>> has_long_neighbours([Axis(60, 2, 0)]), has_long_neighbours([Axis(60, 100, 0)])
    (True, False)
    """
    last = axes[-1]
    if last.stride != 1 or not last.place:
        return last.extent >= _SHORT_AXIS and not last.place and 1 <= last.stride <= _FARTHEST_NEXT
    rows = [axis for axis in axes if not axis.place][-1]
    together = rows.extent * last.extent if rows.stride == last.extent else last.extent
    return last.extent >= _SHORT_ROW or together >= _FEW


def bind_reduction(name: str, form: Form, result: Form, params: Reduction, /) -> Kernel | None:
    """The kernel of a reduction; None where NumPy's is the better one.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> import numpy as np
    >>> kernel = bind_reduction("sum", form_of(F64, (300, 100), CPU), form_of(F64, (100,), CPU), (0, False))
    >>> kernel is None or kernel(np.ones((100, 300)))[7].item() == 300
    True
    """
    if not AVAILABLE or form.size == 0:
        return None
    if form.size == 1 and name in _FOLDS:
        return _line_of_truths(name, form, result, 1)
    if result.size == form.size:
        return None
    fold, dtype, shape, strides = _FOLDS.get(name, name), form.dtype, form.shape, form.strides
    reduced = reduced_axes(name, form.rank, params[0])
    if fold != name:
        decided = _truths(name, form, result, reduced)
        if decided is None and dtype is not Bool and result.size > 1 and reduced:
            return _of_truths(name, form, result, params)
        if decided is not None or dtype is not Bool or result.size == 1:
            return decided
    if result.dtype is not (accumulator(dtype) if fold in ("sum", "prod") else dtype):
        return None
    if dtype in _PARTS and name != "prod":
        if name != "sum":
            return None
        short = short_lines(fold, dtype, result, *axes_of(shape, strides, reduced))
        if short is not None:
            return short
        dtype, shape, strides = _PARTS[dtype], (2, *shape), (1, *(2 * stride for stride in strides))
        reduced = tuple(axis + 1 for axis in reduced)
    start, axes = axes_of(shape, strides, reduced)
    short = short_lines(fold, dtype, result, start, axes)
    if short is not None:
        return short
    several = [k for k, extent in enumerate(shape) if extent > 1]
    order = sorted(several, key=lambda axis: (axis not in reduced, -axis))
    copied = _compact([(shape[axis], axis in reduced) for axis in order])
    if has_long_neighbours(axes) or axes == copied:
        return _fold(fold, dtype, result, start, axes)
    if form.size * form.dtype.itemsize > MOST_COPIED:
        return None
    as_they_lie = sorted(several, key=lambda axis: abs(strides[axis]), reverse=True)
    closed = axes_of(shape, _closed(shape, as_they_lie), reduced)[1]
    if has_long_neighbours(closed):  # but for the gaps
        order, copied = as_they_lie, closed
    copy = LIBRARY.bind_copy(tuple(shape[k] for k in order), tuple(strides[k] for k in order), dtype.name)
    reduce = _fold(fold, dtype, result, 0, copied)
    return one_after_another(copy, reduce, form.size * form.dtype.itemsize, result.nbytes)


def _truths(name: str, form: Form, result: Form, reduced: tuple[int, ...], /) -> Kernel | None:
    """Whether any elements of lines that follow one another are true, or all; no more is read than what decides."""
    start, axes = axes_of(form.shape, form.strides, reduced)
    *outer, line = axes
    if start != 0 or line[1:] != (1, 0) or outer not in ([], [Axis(result.size, line.extent, 1)]):
        return None
    if outer and form.dtype is Bool and line.extent < _SHORT_AXIS:
        return None  # several are taken at once
    return _line_of_truths(name, form, result, line.extent)


def _line_of_truths(name: str, form: Form, result: Form, extent: int) -> Kernel | None:
    lines = (result.size, extent, 1)
    return LIBRARY.bind_short_lines(name, form.dtype.name, lines, result.shape[::-1], result.dtype.name, 1.0, False)


def _of_truths(name: str, form: Form, result: Form, params: Reduction, /) -> Kernel:
    """The kernel of what is true of each element first, a copy in Bool."""
    truths = form_of(Bool, form.shape, form.placement)
    compare, kernel = bind("not_equal", (form, int), truths, None), bind(name, (truths,), result, params)
    first = with_workspace(lambda x: compare(x, 0), workspace_of(compare))
    return one_after_another(first, kernel, truths.nbytes, result.nbytes)


def short_lines(
    fold: str, dtype: DType, result: Form, start: int, axes: list[Axis], divisor: float = 1.0, root: bool = False, /
) -> Kernel | None:
    """The kernel of folds of lines that are short and follow one another (csrc/lines); None of other ones.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> short_lines("sum", F64, form_of(F64, (4,), CPU), 0, [Axis(40, 9000, 1), Axis(9000, 1, 0)]) is None
    True
    """
    widens = fold == "sum" and dtype is I32 and result.dtype is I64
    if len(axes) != 2 or start != 0 or not (result.dtype is dtype or widens):
        return None
    lines, line = axes
    longest = _LONG // 2 if fold == "sum" and dtype in _PARTS else _LONG  # of pairs
    if line[1:] != (1, 0) or lines[1:] != (line.extent, 1) or line.extent > longest:
        return None
    return LIBRARY.bind_short_lines(
        fold, dtype.name, (lines.extent, line.extent, 1), result.shape[::-1], result.dtype.name, divisor, root
    )


def _fold(fold: str, dtype: DType, result: Form, start: int, axes: list[Axis]) -> Kernel:
    """One kernel; or, where that would jump through memory, one for the innermost reduced axis and one for the rest."""
    inner = [position for position, axis in enumerate(axes) if not axis.place][-1]
    between = dtype if dtype is _PARTS.get(result.dtype) else result.dtype
    if _has_rows_of_short_lines(axes, inner):
        within = axes[0].stride
        rows = LIBRARY.bind_reduce(
            fold, dtype.name, (within,), between.name, loops_of(start, [axes[0], Axis(within, 1, 1)])
        )
        lines = _fold(fold, between, result, 0, axes[1:])
        return one_after_another(rows, lines, within * between.itemsize, result.nbytes)
    size = prod(axis.extent for axis in axes) // axes[inner].extent * between.itemsize
    if not _jumps(axes, inner) or size > MOST_COPIED:
        shape, name = result.shape[::-1], result.dtype.name
        return LIBRARY.bind_reduce(fold, dtype.name, shape, name, loops_of(start, axes))
    left, place = [], 1
    for axis in reversed(axes[:inner] + axes[inner + 1 :]):
        left.append((axis, place))
        place *= axis.extent
    left.reverse()
    first_axes = [Axis(axis.extent, axis.stride, step) for axis, step in left]
    first_axes.insert(inner, axes[inner])
    first = LIBRARY.bind_reduce(fold, dtype.name, (place,), between.name, loops_of(start, first_axes))
    second = _fold(fold, between, result, 0, [Axis(axis.extent, step, axis.place) for axis, step in left])
    return one_after_another(first, second, place * between.itemsize, result.nbytes)


def _has_rows_of_short_lines(axes: list[Axis], inner: int) -> bool:
    """Whether the outermost axis is reduced, and so are short lines within it: then it goes first, as rows of columns.

    >>> _has_rows_of_short_lines([Axis(60, 2000, 0), Axis(50, 40, 1), Axis(40, 1, 0)], 2)
    True
    """
    outermost, *others = axes
    within = prod(axis.extent for axis in others)
    together = prod(axis.extent for axis in axes[inner:])
    gaps = outermost.stride != within or any(
        axis.stride != prod(other.extent for other in others[place + 1 :]) for place, axis in enumerate(others)
    )
    return not (outermost.place or inner == 0 or gaps or together >= _LONG or within > _MOST_COLUMNS)


def _jumps(axes: list[Axis], inner: int) -> bool:
    """Whether a reduced axis lies outside a kept one, and what lies side by side within it is short."""
    outer = [position for position, axis in enumerate(axes) if not axis.place and position != inner]
    kept = [position for position, axis in enumerate(axes) if axis.place and position != len(axes) - 1]
    together = prod(axis.extent for axis in axes[inner:])
    return bool(outer and kept) and outer[0] < kept[-1] and together < _LONG


def _closed(shape: tuple[int, ...], outermost_first: list[int]) -> tuple[int, ...]:
    """Strides of an array of this shape without gaps, whose axes lie in memory in this order."""
    strides, step = [1] * len(shape), 1
    for axis in reversed(outermost_first):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def _compact(outermost_first: list[tuple[int, bool]]) -> list[Axis]:
    """Reduced axes, then kept ones, of a compact array."""
    rows = prod(extent for extent, reduced in outermost_first if reduced)
    columns = prod(extent for extent, reduced in outermost_first if not reduced)
    return [Axis(rows, columns, 0), Axis(columns, 1, 1)] if columns > 1 else [Axis(rows, 1, 0)]


def _binder(name: str) -> NativeBinder:
    def bind(operands: tuple[Operand, ...], result: Any, params: ReduceParams, /) -> Kernel | None:
        assert isinstance(operands[0], Form)
        return bind_reduction(name, operands[0], result, params)

    return bind


BINDERS: Final[Mapping[str, NativeBinder]] = {
    name: _binder(name) for name in REDUCTIONS if not name.startswith("reduce_")
}
