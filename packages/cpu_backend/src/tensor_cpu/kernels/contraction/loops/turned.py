"""Products without sums of operands that lie in another order than the result, in C (csrc/contraction/turned.c).

Such a product fetches each line of an operand for one element, or gathers the operand one by one. Block by block, the
operand is copied into the order of the result first, within the second-level cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any, Final, NamedTuple

from tensor_cpu.kernels import memory_costs as memory
from tensor_cpu.kernels.contraction.native import TYPE_NAMES, Group, groups_of
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import FIRST, RESULT, SECOND, Axis, Operand

Kernel = Callable[[Any, Any], Any]

_RUNS_OF_RESULT: Final = ((256, True), (128, True), (128, False))
"""Elements of a block that follow one another in the result, at least, and whether blocks had better not overlap."""
_RUN: Final = 64  # elements that follow one another in an operand that is turned
_COMFORTABLE_BLOCK: Final = 1 << 17  # bytes, up to which the first of these runs are taken
_LARGEST_BLOCK: Final = 1 << 18
_ROOM_TO_REPEAT: Final = 1 << 17  # bytes of a block that takes axes so that an operand is turned once for all of them
_IN_ORDER: Final = 16  # neighbours in the order of the result that are worth loading as they lie
_FEWEST_LANES: Final = 8
_MOST_OVERLAP: Final = 1.3  # 13 drawn products above it took 1.27 of the pair kernel's time, 178 below 0.69
_REPEATING_ROW: Final = LIBRARY.REPEATING_ROW if AVAILABLE else 0
"""Elements of a row within which what is turned is repeated along axes that it lacks, but for long lanes."""
_LONG_LANES: Final = LIBRARY.LONG_LANES if AVAILABLE else 0
_FEWEST_BYTES: Final = 1 << 22  # of a result; smaller ones and their operands stay near


class TurnedProduct(NamedTuple):
    """One decision: the axes in the order of the result, what a block has of each, and which operands are turned."""

    axes: Group
    parts: tuple[int, ...]
    turns: tuple[bool, bool]
    cost: float  # estimated nanoseconds


def plan_turned(
    axes: Sequence[Axis], x: Operand, y: Operand, result: Operand, below: float = inf
) -> TurnedProduct | None:
    """The product block by block; ``axes`` as from ``join``. None where there is a sum, or nothing to be gained.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y = row_major((0, 1), (1000, 900), "float64"), row_major((1, 0), (900, 1000), "float64")
    >>> plan = plan_turned(join(x, y, x), x, y, x)
    >>> plan and (plan.parts, plan.turns)
    ((100, 150), (False, True))
    """
    itemsize = memory.ITEMSIZE[result.dtype]
    if not AVAILABLE or result.size * itemsize < _FEWEST_BYTES or not x.dtype == y.dtype == result.dtype:
        return None
    if axes[-1].strides[RESULT] is None or any(0 in axis.strides for axis in axes):  # what is summed comes last
        return None  # nor where one element is repeated, whose copy would be no vector
    time = memory.turned(result.size, (x.size + y.size + result.size) * itemsize)
    turns = _lies_across(axes, FIRST, x), _lies_across(axes, SECOND, y)
    if time >= below or not any(turns):
        return None
    if any(turned and not _has_neighbours(axes, role) for role, turned in enumerate(turns)):
        return None
    for turned in dict.fromkeys((turns, (True, True))):  # both, where one lacks the innermost axis, and that is short
        roles = [role for role in (FIRST, SECOND) if turned[role]]
        parts = _repeating(axes, _parts(axes, roles, itemsize), roles, _ROOM_TO_REPEAT // itemsize)
        if prod(parts) * itemsize > _LARGEST_BLOCK or _overlap(axes, parts) > _MOST_OVERLAP:
            return None
        if _lanes(axes, parts, turned) >= _FEWEST_LANES:
            return TurnedProduct(tuple(axes), parts, turned, time)
    return None


def _lies_across(axes: Sequence[Axis], role: int, operand: Operand) -> bool:
    """Whether an operand has only short runs of neighbours that are neighbours in the result, too.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y = row_major((0, 1), (50, 40), "float64"), row_major((1, 0), (40, 50), "float64")
    >>> [_lies_across(join(x, y, x), role, operand) for role, operand in ((FIRST, x), (SECOND, y))]
    [False, True]
    """
    run = 1
    for axis in reversed(axes):
        if axis.strides[role] is None:
            continue
        if axis.strides[role] != run:
            break
        run *= axis.extent
    return run < min(_IN_ORDER, operand.size)


def _has_neighbours(axes: Sequence[Axis], role: int) -> bool:
    """Whether elements of an operand follow one another along any axis: others are gathered one by one in any order."""
    return any(axis.strides[role] == 1 for axis in axes)


def _parts(axes: Sequence[Axis], turned: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """What a block has of each axis: long runs of the result and of what is turned."""
    parts: tuple[int, ...] = ()
    for run_of_result, evenly in _RUNS_OF_RESULT:
        parts = _with_runs(axes, ((RESULT, run_of_result), *((role, _RUN) for role in turned)), evenly)
        if prod(parts) * itemsize <= _COMFORTABLE_BLOCK:
            break
    return parts


def _with_runs(axes: Sequence[Axis], runs: Sequence[tuple[int, int]], evenly: bool) -> tuple[int, ...]:
    """Parts with runs of so many elements in the arrays with these roles, as far as they have such runs."""
    parts = [1] * len(axes)
    for role, wanted in runs:
        run = 1
        places = [place for place, axis in enumerate(axes) if axis.strides[role]]
        for place in sorted(places, key=lambda place: abs(axes[place].strides[role] or 0)):
            extent = axes[place].extent
            part = _part(extent, -(-wanted // run), evenly)
            parts[place] = max(parts[place], part)
            run *= part
            if run >= wanted or part < extent:
                break
    return tuple(parts)


def _part(extent: int, least: int, evenly: bool) -> int:
    """What of an axis blocks have, at least so much, perhaps with a last block that overlaps as little as possible.

    >>> _part(10, 3, True), _part(100, 13, True), _part(5, 2, True), _part(5, 2, False), _part(2, 30, True)
    (5, 20, 5, 2, 2)
    """
    if extent < 2 * least:
        return extent
    if not evenly:
        return least
    parts = list(range(least, 2 * least))
    if extent <= 4 * least:
        parts.append(extent)
    return min(parts, key=lambda part: -(-extent // part) * part)


def _repeating(axes: Sequence[Axis], parts: Sequence[int], turned: Sequence[int], room: int) -> tuple[int, ...]:
    """The parts with axes whole that an operand lacks which is turned, as many as there is room for.

    A block copies such an operand once, whatever it has of them: 50 drawn products took 0.83 of the time without.

    >>> axes = [Axis((0,), 9, (9, None, 36)), Axis((1,), 9, (1, 4, 4)), Axis((2,), 4, (None, 1, 1))]
    >>> _repeating(axes, (1, 9, 4), [SECOND], 400), _repeating(axes, (1, 9, 4), [SECOND], 300)
    ((9, 9, 4), (1, 9, 4))
    """
    grown = list(parts)
    for place in reversed(range(len(axes))):
        extent = axes[place].extent
        lacking = any(axes[place].strides[role] is None for role in turned)
        if lacking and prod(grown) // grown[place] * extent <= room:
            grown[place] = extent
    return tuple(grown)


def _overlap(axes: Sequence[Axis], parts: Sequence[int]) -> float:
    """How often blocks compute an element, in the mean: the last one along an axis is as large as the others.

    >>> _overlap([Axis((0,), 7, (1, 1, 1)), Axis((1,), 8, (7, 7, 7))], (7, 3))
    1.125
    """
    return prod([-(-axis.extent // part) * part / axis.extent for axis, part in zip(axes, parts, strict=True)])


def _lanes(axes: Sequence[Axis], parts: Sequence[int], turns: tuple[bool, bool]) -> int:
    """Neighbours in a block of the result that are neighbours in every operand, or in its buffer, or one element.

    >>> _lanes([Axis((0,), 9, (1, 9, 4)), Axis((1,), 4, (None, 1, 1))], (9, 4), (False, False))
    4
    >>> axes = [Axis((0,), 9, (9, 1, 4)), Axis((1,), 4, (None, 9, 1))]
    >>> _lanes(axes, (9, 4), (True, True)) if AVAILABLE else 36  # the first one repeated
    36
    """
    lanes, first = 1, None
    for axis, part in zip(reversed(axes), reversed(parts), strict=True):
        steps = [axis.strides[role] or 0 for role in (FIRST, SECOND)]
        is_long = lanes >= _REPEATING_ROW or (lanes == 1 and part >= _LONG_LANES)
        has = [step != 0 or (turns[role] and not is_long) for role, step in enumerate(steps)]
        first = first or has
        alike = has == first and any(has)
        if not (alike and all(turns[role] or step in (0, lanes) for role, step in enumerate(steps))):
            break
        lanes *= part
        if part < axis.extent:
            break
    return lanes


def bind_turned(plan: TurnedProduct, result: Operand) -> Kernel:
    """The kernel of a decision: two native arrays of the result's dtype in, one native array out.

    >>> import numpy as np
    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y = row_major((0, 1), (400, 500), "float64"), row_major((1, 0), (500, 400), "float64")
    >>> plan = plan_turned(join(x, y, x), x, y, x)
    >>> a, b = np.arange(200_000.0).reshape(400, 500), np.ones((500, 400))
    >>> plan is None or bool((bind_turned(plan, x)(a, b) == a).all())
    True
    """
    axes = groups_of(plan.axes)
    return LIBRARY.bind_turned(TYPE_NAMES[result.dtype], result.shape, axes, plan.parts, *plan.turns)
