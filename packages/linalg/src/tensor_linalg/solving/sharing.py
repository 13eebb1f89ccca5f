"""Right-hand sides of which many share a matrix: they are columns of one system.

The matrix is then read once for all of them, and never copied for each. How the axes go is found once for forms.
"""

from __future__ import annotations

from math import prod
from typing import Any, Final, NamedTuple

from tensor_core.errors import ShapeError
from tensor_core.shapes import Shape, broadcast_shapes
from tensor_linalg.operands import with_batch
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.form import Form
from tensor_runtime.ops.views import RESHAPE_VIEW, copy, permute_axes, reshape
from tensor_runtime.tensors.tensor import Tensor, owned


class Sharing(NamedTuple):
    """How the axes of a batch along which the matrix is the same go among the columns, and back."""

    batch: Shape
    axes: tuple[int, ...]  # of the batch, in order
    merged: Shape  # of the right-hand sides [N, columns, other batch axes...]
    apart: Shape  # of these with the axes of the batch, as they lie in memory
    there: tuple[int, ...] | None  # the order of axes [N, K, B...] in which they lie; None as they are
    back: tuple[int, ...] | None

    def once(self, x: Tensor, core_rank: int, /) -> Tensor:
        """A view of what is broadcast to the batch, without the axes along which it does not change."""
        if x.rank == core_rank:
            return x
        missing = len(self.batch) + core_rank - x.rank
        places = [0 if axis in self.axes else slice(None) for axis in range(missing, len(self.batch))]
        return x[(*[slice(None)] * core_rank, *places)]

    def as_columns(self, b: Tensor, /) -> Tensor:
        """Right-hand sides as columns, in the memory of ``b`` where its layout allows it."""
        b = with_batch(b, 2, self.batch)
        return reshape(b if self.there is None else permute_axes(b, self.there), self.merged)

    def from_columns(self, x: Tensor, /) -> Tensor:
        """What a kernel made of :meth:`as_columns`, as [N, K, B...]; owned and compact as it is."""
        x = execute_with_params(RESHAPE_VIEW, x, self.apart)
        return owned(x) if self.back is None else copy(permute_axes(x, self.back))


_found: Final[CacheTable[tuple[Sharing | None]]] = CacheTable(binding_cache)


def sharing_of(a: Form, b: Form, /, *beside: Form, in_place: bool = False) -> Sharing | None:
    """How right-hand sides become columns; None where no matrix has several, and where shapes do not fit.

    Args:
        a: of matrices [N, N, B...].
        b: of right-hand sides [N, K, B...].
        beside: of what else belongs to the matrices, [N, B...].
        in_place: whether no axis may be moved, which takes memory.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> sharing_of(form_of(F64, (3, 3, 1, 7), CPU), form_of(F64, (3, 2, 5, 7), CPU)).merged
    (3, 10, 7)
    """
    if b.rank < 2 or (a.shape[2:] == b.shape[2:] and a.is_compact):
        return None
    key = a, b, beside, in_place
    try:
        found: tuple[Sharing | None] = _found.found[key]
    except KeyError:
        found = _found.insert(key, (_sharing(*key),))
    return found[0]


def _sharing(a: Form, b: Form, beside: tuple[Form, ...], in_place: bool) -> Sharing | None:
    try:
        batch = broadcast_shapes(a.shape[2:], b.shape[2:])
    except ShapeError:
        return None
    rows, columns = b.shape[:2]
    if a.shape[:2] != (rows, rows):
        return None
    changing = _changing(a, 2, batch).union(*(_changing(one, 1, batch) for one in beside))
    axes = tuple(axis for axis in range(len(batch)) if axis not in changing)
    order = (*axes, *sorted(changing))
    moves = order != tuple(range(len(batch)))
    if prod(batch[axis] for axis in axes) < 2 or (moves and (in_place or columns > rows)):
        return None
    there = (0, 1, *(2 + axis for axis in order))
    back = tuple(there.index(axis) for axis in range(len(there)))
    extents = tuple(batch[axis] for axis in order)
    merged = (rows, columns * prod(extents[: len(axes)]), *extents[len(axes) :])
    return Sharing(batch, axes, merged, (rows, columns, *extents), there if moves else None, back if moves else None)


def _changing(form: Form, core_rank: int, batch: Shape) -> set[int]:
    """Axes of a batch shape along which an operand that is broadcast to it changes."""
    missing = len(batch) + core_rank - form.rank
    own: Any = enumerate(zip(form.shape[core_rank:], form.strides[core_rank:], strict=True), missing)
    return {axis for axis, (extent, stride) in own if extent != 1 and stride != 0}
