"""Estimated times, in nanoseconds, of products without sums: by the elementwise machine, or by the loop over pairs.

Either reads operands as they lie, or copies of them in the order of the result. What differs is how they go through
*rows*, the elements along the result's innermost axis: the machine takes long ones with any steps, and short ones block
by block, for which it copies runs of each operand; the loop over pairs takes rows of which each operand has neighbours
or one number, and others through a table. A call of the machine is no step of a sequence of native kernels.

Fitted to 590 products drawn at random, each by every kernel that takes it, on one core of a processor of AMD with AVX2
(family 25), GCC 12: strided, reversed, repeated and permuted operands, 1e3 to 1e7 elements, and steps of networks with
up to 14 axes. First by least squares, then constants went up and down in turns while that lowered what the choice
loses. On 470 others the chosen kernel takes 1.15 times as long as the fastest (geometric mean; 1.76 by the estimates of
sums of products), and at most 6 times (25).

Runs, elements that are apart, lines fetched again and copies were fitted once more, by turns, to 750 products drawn
with two to seven axes of 2 to 50 elements, each by every kernel in turns, so that it finds in the cache what the others
have left; what is very far to 60 products of 3e6 to 1.6e7 elements with up to 20 axes, and to steps of a graphical
model of up to 4.3e7. On 300 others the chosen kernel takes 1.09 times as long as the fastest (1.16 before).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tensor_cpu.kernels.memory_costs import CACHED_BYTES, ITEMSIZE, PARTS_OF_CACHES
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import FIRST, SECOND, Axis, extent_of

_LONG_ROW: Final = 256  # elements of a row that has blocks of the machine by itself
_SHORT_ROW: Final = 16  # below which it has no loop over elements that are apart
_VECTOR: Final = 32  # bytes
_COMPLEX: Final = frozenset({"complex64", "complex128"})

_CALL: Final = 229.0
_BYTE: Final = 0.0234  # of the result
_FAR_BYTE: Final = 0.0121  # moved, where arrays leave the second-level cache,
_VERY_FAR_BYTE: Final = 0.0347  # and more where they leave all of them
_GROUP: Final = 17.5  # of short rows: those along one more axis
_RUN: Final = 0.346  # of an operand, in short rows
_FAR_RUN: Final = 0.212  # where arrays leave the second-level cache,
_VERY_FAR_RUN: Final = 1.0  # and more where they leave all of them
_APART: Final = 0.216  # an element that is no neighbour of the last one
_APART_IN_SHORT_ROW: Final = 0.587
_COMPLEX_PRODUCT: Final = 0.132
_LONG_INTEGER: Final = 0.144  # I64, of which AVX2 has no products
_AGAIN: Final = 0.42  # an element whose line of the cache is fetched once more

_PAIR_CALL: Final = 175.0
_RECTANGLE: Final = 12.1
_PAIR_ROW: Final = 6.81
_PAIR_VECTOR: Final = 0.98
_PAIR_FAR_BYTE: Final = 0.0171
_PAIR_VERY_FAR_BYTE: Final = 0.0137
_PAIR_AGAIN: Final = 3.23
_TABLE_CALL: Final = 93.0
_TABLE_ROW: Final = 55.7
_TABLE_VECTOR: Final = 0.838
_GATHERED: Final = 0.611  # a factor
_TABLE_FAR_BYTE: Final = 0.018
_TABLE_VERY_FAR_BYTE: Final = 0.0252
_TABLE_AGAIN: Final = 0.085

_COPY: Final = 64.0
_COPY_FOR_THE_MACHINE: Final = 188.0  # with the array that is made for it
_COPIED_BYTE: Final = 0.00787
_COPIED_FAR_BYTE: Final = 0.0448  # where the copy and what is copied leave the second-level cache,
_COPIED_VERY_FAR_BYTE: Final = 0.2  # and more where a copy takes a good part of all of them
_COPIED_ROW: Final = 0.222
_COPIED_RUN: Final = 0.207  # of neighbours
LEAST_COPY: Final = 500.0
"""A product that takes no more than this is not worth a copy."""


def far(moved: int, near: float, very: float) -> float:
    """What bytes cost that are moved beyond the second-level cache, each ``near``, and beyond all caches ``very`` more.

    >>> far(1000, 0.1, 0.2), far(1 << 40, 0.0, 1.0) == 1 << 40 or not AVAILABLE
    (0.0, True)
    """
    if moved <= CACHED_BYTES:
        return 0.0
    return moved * (near + very if _is_very_far(moved) else near)


def _is_very_far(moved: int) -> bool:
    return AVAILABLE and moved > LIBRARY.far_bytes()


def machine(axes: Sequence[Axis], size: int, dtype: str, *, moved: int, again: float, copies: int = 0) -> float:
    """A product of ``size`` elements by the elementwise machine; ``axes`` as from ``join``, innermost last.

    Args:
        axes: of the operands as they are multiplied.
        size: of the result.
        dtype: NumPy's name of it.
        moved: bytes of the three arrays.
        again: elements whose line of the cache is fetched again by this walk.
        copies: operands that are copied first, whose copies are counted apart but for the call.

    >>> rows = [Axis((0,), 4096, (step, 1, 1)) for step in (1, -1)]
    >>> near, apart = (machine([row], 4096, "float64", moved=98304, again=0.0) for row in rows)
    >>> near < apart
    True
    """
    row, steps = axes[-1].extent, [axes[-1].strides[role] or 0 for role in (FIRST, SECOND)]
    element = ITEMSIZE[dtype] * _BYTE
    element += (_APART + (_APART_IN_SHORT_ROW if row < _SHORT_ROW else 0.0)) * sum(
        [step not in (0, 1) for step in steps]
    )
    element += _COMPLEX_PRODUCT if dtype in _COMPLEX else _LONG_INTEGER if dtype == "int64" else 0.0
    time = _CALL + size * element + again * _AGAIN + far(moved, _FAR_BYTE, _VERY_FAR_BYTE)
    runs = size / run_of(axes, FIRST) + size / run_of(axes, SECOND)
    if moved > CACHED_BYTES:
        time += runs * (_FAR_RUN + (_VERY_FAR_RUN if _is_very_far(moved) else 0.0))
    if row < _LONG_ROW:
        time += size / extent_of(axes[-2:]) * _GROUP + runs * _RUN
    return time + (_COPY_FOR_THE_MACHINE if copies else 0.0)


def run_of(axes: Sequence[Axis], role: int) -> int:
    """How many elements of the result follow one another whose factors are neighbours, or all the same.

    >>> axes = [Axis((0,), 4, (1, 3, 6)), Axis((1,), 3, (None, 1, 2)), Axis((2,), 2, (None, 0, 1))]
    >>> run_of(axes, FIRST), run_of(axes, SECOND)
    (6, 2)
    """
    run, repeats = 1, not axes[-1].strides[role]
    for axis in reversed(axes):
        if (axis.strides[role] or 0) != (0 if repeats else run):
            break
        run *= axis.extent
    return run


def rows_of_pairs(row: int, rows: int, size: int, dtype: str, *, moved: int, again: float) -> float:
    """The same by the loop over pairs, in vectors along rows of ``row``, of which a rectangle has ``rows``.

    >>> shape = dict(rows=9, size=9000, dtype="float64", moved=0, again=0.0)
    >>> rows_of_pairs(1000, **shape) < rows_of_pairs(10, **shape)
    True
    """
    vectors = -(-row * ITEMSIZE[dtype] // _VECTOR) * (2 if dtype in _COMPLEX else 1)
    each = vectors * _PAIR_VECTOR + _PAIR_ROW + _RECTANGLE / rows + (row * _LONG_INTEGER if dtype == "int64" else 0.0)
    return _PAIR_CALL + size / row * each + again * _PAIR_AGAIN + far(moved, _PAIR_FAR_BYTE, _PAIR_VERY_FAR_BYTE)


def tables_of_pairs(lanes: int, gathered: int, size: int, dtype: str, *, moved: int, again: float) -> float:
    """The same through tables of ``lanes`` elements, by which so many factors of an element are gathered.

    >>> shape = dict(size=9000, dtype="float64", moved=0, again=0.0)
    >>> tables_of_pairs(100, 1, **shape) < tables_of_pairs(100, 2, **shape) < tables_of_pairs(10, 2, **shape)
    True
    """
    vector = size * ITEMSIZE[dtype] / _VECTOR * (2 if dtype in _COMPLEX else 1) * _TABLE_VECTOR
    rows = max(1.0, size / lanes) * _TABLE_ROW
    time = _TABLE_CALL + rows + vector + size * gathered * _GATHERED + again * _TABLE_AGAIN
    return time + far(moved, _TABLE_FAR_BYTE, _TABLE_VERY_FAR_BYTE)


def copy(size: int, row: int, step: int, dtype: str) -> float:
    """A copy of so many elements in rows of ``row``, each ``step`` after the last one where it is read.

    >>> copy(9000, 1000, 1, "float64") < copy(9000, 10, 1, "float64") < copy(9000, 10, -1, "float64")
    True
    """
    copied = size * ITEMSIZE[dtype]
    time = _COPY + copied * _COPIED_BYTE + size / row * _COPIED_ROW + (size / row if step == 1 else size) * _COPIED_RUN
    time += copied * _COPIED_FAR_BYTE if 2 * copied > CACHED_BYTES else 0.0
    return time + (copied * _COPIED_VERY_FAR_BYTE if _is_very_far(PARTS_OF_CACHES * copied) else 0.0)
