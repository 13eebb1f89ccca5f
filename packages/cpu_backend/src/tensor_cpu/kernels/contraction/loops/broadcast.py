"""Products without sums: broadcast and multiplied by the elementwise machine, or by the loop over pairs, in C.

An operand that lies in another order than the result, or with steps along its rows, may be copied first: into the order
of the result and without gaps, which takes as much memory as it has elements that differ. The machine takes any strides
and every type, and is at its best with long rows; the loop over pairs with short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final, NamedTuple

from tensor_cpu.kernels import broadcast_costs as cost
from tensor_cpu.kernels import memory_costs as memory
from tensor_cpu.kernels.contraction.cuts.lanes import in_vectors, tabled
from tensor_cpu.kernels.contraction.cuts.nearness import again
from tensor_cpu.kernels.contraction.native import TYPE_NAMES, PairProduct, bind_pair, large_roles, plan_pair
from tensor_cpu.kernels.processor_rates import rates
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import RESULT, Axis, Operand, join, row_major

Kernel = Callable[[Any, Any], Any]
Pair = tuple[Operand, Operand]

_COPIES: Final = ((True, False), (False, True), (True, True))


class BroadcastProduct(NamedTuple):
    """One decision: which operands are copied first, and what multiplies them."""

    given: Pair
    multiplied: Pair  # the operands or their copies
    pairs: PairProduct | None  # how the loop over pairs goes; None for the elementwise machine
    cost: float  # estimated nanoseconds

    @property
    def copies(self) -> bool:
        """Whether an operand is copied first."""
        return self.given != self.multiplied


def plan_broadcast(
    axes: Sequence[Axis],
    x: Operand,
    y: Operand,
    result: Operand,
    below: float = inf,
    *,
    copies: bool = True,
    by_pairs: bool = True,
) -> BroadcastProduct | None:
    """The cheapest of these products; ``axes`` as from ``join``. None where something is summed, or types differ.

    Args:
        axes, x, y, result: the contraction.
        below: not read, as one of these is nearly always the cheapest kernel.
        copies: whether operands may be copied first.
        by_pairs: whether the loop over pairs may multiply.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y = Operand((1, 0), (500, 400), (400, -1), "float64"), row_major((2, 1), (30, 500), "float64")
    >>> result = row_major((2, 1, 0), (30, 500, 400), "float64")
    >>> plan = plan_broadcast(join(x, y, result), x, y, result)
    >>> plan is None or [operand.strides for operand in plan.multiplied] == [(400, 1), (500, 1)]
    True
    """
    if not AVAILABLE or not x.dtype == y.dtype == result.dtype or not axes or axes[-1].strides[RESULT] is None:
        return None
    best = _multiplied(axes, (x, y), (x, y), result, 0.0, by_pairs)
    if not copies or best.cost < cost.LEAST_COPY:
        return best
    for first, second in _COPIES:
        left = _copy(x, y, result) if first else x
        right = _copy(y, left, result) if second else y
        if (first and left == x) or (second and right == y):
            continue
        pairs = [(one, made) for one, made, copied in ((x, left, first), (y, right, second)) if copied]
        copying = sum([_copying(one, made) for one, made in pairs])
        if copying < best.cost:
            found = _multiplied(join(left, right, result), (x, y), (left, right), result, copying, by_pairs)
            best = found if found.cost < best.cost else best
    return best


def _multiplied(
    axes: Sequence[Axis], given: Pair, multiplied: Pair, result: Operand, copying: float, by_pairs: bool
) -> BroadcastProduct:
    """The cheaper of the two loops for these operands, with what it has cost to copy them."""
    arrays = (*multiplied, result)
    taken = [memory.taken(operand) for operand in multiplied]
    moved = (sum(taken) + result.size) * memory.ITEMSIZE[result.dtype]
    large = large_roles((taken[0], taken[1], result.size), result.dtype)
    fetched = again(axes[::-1], large, *arrays, crowded=rates().crowded) if large else 0.0
    copies = sum([one != other for one, other in zip(given, multiplied, strict=True)])
    time = cost.machine(axes, result.size, result.dtype, moved=moved, again=fetched, copies=copies)
    pairs = plan_pair(axes, result.dtype, large) if by_pairs else None
    if pairs is not None:
        fetched = again(pairs.kept[::-1], large, *arrays, crowded=rates().crowded) if large else 0.0
        pairs_time = _of_pairs(pairs, result, moved, fetched)
        pairs, time = (pairs, pairs_time) if pairs_time <= time else (None, time)
    return BroadcastProduct(given, multiplied, pairs, copying + time)


def _of_pairs(plan: PairProduct, result: Operand, moved: int, fetched: float) -> float:
    """Nanoseconds of the loop over pairs."""
    kept, size = plan.kept, result.size
    if in_vectors(kept[-1]):
        rows = max([axis.extent for axis in kept[:-1]], default=1)
        return cost.rows_of_pairs(kept[-1].extent, rows, size, result.dtype, moved=moved, again=fetched)
    lanes, _, gathered = tabled(kept)
    return cost.tables_of_pairs(lanes, gathered, size, result.dtype, moved=moved, again=fetched)


def _copy(operand: Operand, other: Operand, result: Operand) -> Operand:
    """The operand in the order of the result, without gaps, and without axes along which it is repeated.

    >>> x, y = Operand((1, 0), (3, 4), (0, -2), "float64"), row_major((0, 1), (4, 3), "float64")
    >>> _copy(x, y, row_major((0, 1), (4, 3), "float64"))
    Operand(labels=(0,), shape=(4,), strides=(1,), dtype='float64')
    """
    of = {
        label: (extent, step)
        for label, extent, step in zip(operand.labels, operand.shape, operand.strides, strict=True)
    }
    labels = tuple(
        [label for label in result.labels if label in of and (of[label][1] != 0 or label not in other.labels)]
    )
    made = row_major(labels, tuple([of[label][0] for label in labels]), operand.dtype)
    return operand if _steps(operand, result) == _steps(made, result) else made


def _steps(operand: Operand, result: Operand) -> tuple[int, ...]:
    """Strides along the axes of the result; 0 along those that the operand lacks or has one element of."""
    known = {
        label: step
        for label, extent, step in zip(operand.labels, operand.shape, operand.strides, strict=True)
        if extent > 1
    }
    return tuple([known.get(label, 0) for label in result.labels])


def _read(operand: Operand, made: Operand) -> tuple[int, ...]:
    """Strides of the operand along the axes of its copy."""
    known = dict(zip(operand.labels, operand.strides, strict=True))
    return tuple([known[label] for label in made.labels])


def _copying(operand: Operand, made: Operand) -> float:
    """Nanoseconds of the copy."""
    run, first = 1, 0
    for extent, stride in zip(reversed(made.shape), reversed(_read(operand, made)), strict=True):
        first = first or stride
        if extent > 1 and stride != first * run:
            break
        run *= extent
    return cost.copy(made.size, run, first, made.dtype)


def bind_broadcast(plan: BroadcastProduct, result: Operand, operation: str = "multiply") -> Kernel:
    """The kernel of a decision: two native arrays of the result's dtype in, one native array out.

    ``operation`` is one of the elementwise machine; the loop over pairs only multiplies, whatever it says.

    >>> import numpy as np
    >>> x, y, result = (row_major(labels, (2, 2), "float64") for labels in ((1, 0), (0, 1), (0, 1)))
    >>> plan = plan_broadcast(join(x, y, result), x, y, result)
    >>> x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> plan is None or bind_broadcast(plan, result)(x, y).tolist() == [[0.0, 3.0], [2.0, 8.0]]
    True
    """
    name = TYPE_NAMES[result.dtype]
    if plan.pairs is not None:
        kernel: Kernel = bind_pair(plan.pairs, result)
    else:
        forms = tuple([(_steps(operand, result), name) for operand in plan.multiplied])
        kernel = LIBRARY.bind_elementwise(result.shape, name, forms, ((operation, name, 2, 0, 1, 1),), ())
    first, second = [
        None if operand == made else LIBRARY.bind_copy(made.shape, _read(operand, made), name)
        for operand, made in zip(plan.given, plan.multiplied, strict=True)
    ]
    if first is None and second is None:
        return kernel
    return LIBRARY.bind_copied(name, result.shape, kernel, first, second, None)
