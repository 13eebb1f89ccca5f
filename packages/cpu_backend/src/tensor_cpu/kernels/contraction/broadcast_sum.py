"""Contractions as sums of broadcast products, for what BLAS does badly: no inner axis, or a stack of tiny products.

Every element of the result is x0*y0 + x1*y1 + ..., one term per value of the contracted axes, and each term is one
ufunc call for as many elements as possible. A ufunc is fast when its innermost axis is long; so short innermost axes of
the result are *looped* over in Python, like the contracted ones, and the others stay in the *array*. Work goes block by
block, so that the one temporary, the product to be added, stays in the cache: at most ``_BLOCK`` elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from math import ceil, prod
from typing import Any, Final, NamedTuple

import numpy as np

from tensor_cpu.kernels import blas_costs as cost
from tensor_cpu.kernels.contraction.ufunc_buffers import buffered_elements
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.backends.shared.axes import FIRST, RESULT, SECOND, Axis, Operand, access, extent_of, look, row_major
from tensor_runtime.backends.workspaces import with_workspace

Group = tuple[Axis, ...]
Index = tuple[Any, ...]
Kernel = Callable[[Any, Any], Any]

_BLOCK: Final = 16384  # elements; with operands and result about half of a megabyte, the second-level cache
_MOST_PAIRS: Final = 512  # products per block when axes of the result are looped over; each is kept as two indices
MOST_TERMS: Final = 64  # beyond, a matrix product is always better


class Accumulation(NamedTuple):
    """One decision: which of the result's axes are looped over, and the block."""

    array: Group
    looped: Group
    contracted: Group
    block: tuple[int, ...]  # extents of the array axes that are computed at once
    cost: float  # estimated nanoseconds


def plan_broadcast_sum(axes: Sequence[Axis], dtype: str = "float64") -> Accumulation:
    """The cheapest accumulation in this type; ``axes`` as from ``join``.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y = row_major((0, 1), (5000, 2), "float64"), row_major((1, 2), (2, 2), "float64")
    >>> plan = plan_broadcast_sum(join(x, y, row_major((0, 2), (5000, 2), "float64")))  # long and thin times 2 by 2
    >>> [[axis.labels for axis in group] for group in (plan.array, plan.looped, plan.contracted)]
    [[(0,)], [(2,)], [(1,)]]
    """
    kept = tuple(axis for axis in axes if axis.strides[RESULT] is not None)
    contracted = tuple(axis for axis in axes if axis.strides[RESULT] is None)
    plans = [_judge(kept[:split], kept[split:], contracted, dtype) for split in _splits(kept, extent_of(contracted))]
    return min(plans, key=lambda plan: plan.cost)


def _splits(kept: Group, terms: int) -> Iterator[int]:
    """How many outer axes stay in the array: all, or all but some short inner ones."""
    yield len(kept)
    for split in range(len(kept) - 1, 0, -1):
        if extent_of(kept[split:]) * terms > _MOST_PAIRS:
            return
        yield split


def _judge(array: Group, looped: Group, contracted: Group, dtype: str) -> Accumulation:
    terms, block = extent_of(contracted), _block(array)
    pieces = prod(ceil(axis.extent / extent) for axis, extent in zip(array, block, strict=True))
    if terms == 1 and not looped:
        block, pieces = tuple(axis.extent for axis in array), 1  # one call, nothing to add: no block
    last = array[-1:]
    contiguous = not looped and all(stride in (None, 1) for axis in last for stride in axis.strides)
    calls = pieces * extent_of(looped) * (2 * terms - 1)
    size, run = extent_of(array) * extent_of(looped), extent_of(last)
    time = cost.accumulation(size, terms, run, calls, dtype, contiguous=contiguous)
    return Accumulation(array, looped, contracted, block, time)


def _block(array: Group) -> tuple[int, ...]:
    """The inner axes whole, as many as fit; a part of the next; one value of the others."""
    room, block = _BLOCK, []
    for axis in reversed(array):
        block.append(min(axis.extent, max(1, room)))
        room //= axis.extent
    return tuple(reversed(block))


def bind_broadcast_sum(plan: Accumulation, x: Operand, y: Operand, result: Operand) -> Kernel:
    """The kernel of a decision: two native arrays in, one native array out, which it allocates; it says its workspace.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y = row_major((0, 1), (3, 2), "float64"), row_major((1,), (2,), "float64")
    >>> result = row_major((0,), (3,), "float64")
    >>> kernel = bind_broadcast_sum(plan_broadcast_sum(join(x, y, result)), x, y, result)
    >>> kernel(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([10.0, 1.0])).tolist()
    [12.0, 34.0, 56.0]
    """
    return with_workspace(_bind(plan, x, y, result), _workspace(plan, x, y, result))


def _workspace(plan: Accumulation, x: Operand, y: Operand, result: Operand) -> int:
    """Bytes of the product to be added, and of the buffers of the call that takes most."""
    block = row_major((), plan.block, result.dtype)
    of_x, of_y, target = (_steps(plan.array, role) for role in (FIRST, SECOND, RESULT))
    converted = x.dtype != result.dtype, y.dtype != result.dtype, False
    taken = buffered_elements(plan.block[::-1], (of_x, of_y, target), converted)
    if plan.looped or extent_of(plan.contracted) > 1:
        adding = buffered_elements(plan.block[::-1], (target, block.strides[::-1], target), (False,) * 3)
        taken = block.size + max(taken, adding)
    return taken * np.dtype(result.dtype).itemsize


def _steps(array: Group, role: int) -> list[int]:
    """Strides, innermost first; 0 along axes that this role lacks."""
    return [axis.strides[role] or 0 for axis in reversed(array)]


def _bind(plan: Accumulation, x: Operand, y: Operand, result: Operand) -> Kernel:
    """The kernel, which says nothing yet."""
    shape, dtype = result.shape, np.dtype(result.dtype)
    singles = [(axis,) for axis in (*plan.contracted, *plan.looped, *plan.array)]
    see_x, see_y = access(x, singles, FIRST), access(y, singles, SECOND)
    look_x, look_y = look(x, see_x), look(y, see_y)
    shape_out = tuple(axis.extent for axis in (*plan.array, *plan.looped))
    add, empty = np.add, np.empty
    # A ufunc takes the dtype of its inputs, whatever the target has; the result may be wider than both of them.
    multiply = np.multiply if np.result_type(x.dtype, y.dtype) == dtype else partial(np.multiply, dtype=dtype)
    if not plan.looped and extent_of(plan.contracted) == 1:
        if shape and see_x.order == see_y.order == tuple(range(len(shape))) and x.shape == y.shape == shape:
            return ignoring_fp_errors(lambda x, y: multiply(x, y, order="C"))
        if shape and shape == shape_out:
            return ignoring_fp_errors(lambda x, y: multiply(look_x(x), look_y(y), order="C"))

        def multiplied(x: Any, y: Any) -> Any:
            out = empty(shape, dtype)
            multiply(look_x(x), look_y(y), out.reshape(shape_out))
            return out

        return ignoring_fp_errors(multiplied)

    schedule = list(_schedule(plan))
    first_moves, second_moves = _moves(plan.array, FIRST), _moves(plan.array, SECOND)
    outermost = tuple(range(len(plan.array), len(shape_out))) + tuple(range(len(plan.array)))

    def accumulated(x: Any, y: Any) -> Any:
        out = empty(shape, dtype)
        x, y = look_x(x), look_y(y)
        looped_first = out.reshape(shape_out).transpose(outermost)
        spare = empty(plan.block, dtype)
        for part in _parts(plan.array, plan.block):
            in_x = tuple(place if moves else slice(None) for place, moves in zip(part, first_moves, strict=True))
            in_y = tuple(place if moves else slice(None) for place, moves in zip(part, second_moves, strict=True))
            for target, terms in schedule:
                total = looped_first[target + part]
                partial = spare[tuple(slice(extent) for extent in total.shape)]
                for number, (of_x, of_y) in enumerate(terms):
                    if number == 0:
                        multiply(x[of_x + in_x], y[of_y + in_y], total)
                    else:
                        multiply(x[of_x + in_x], y[of_y + in_y], partial)
                        add(total, partial, total)
        return out

    return ignoring_fp_errors(accumulated)


def _moves(array: Group, role: int) -> list[bool]:
    return [axis.strides[role] is not None for axis in array]


def _parts(array: Group, block: tuple[int, ...]) -> Iterator[Index]:
    """The blocks, as one slice per array axis, made one at a time."""
    if not array:
        yield ()
        return
    for outer in _parts(array[:-1], block[:-1]):
        for start in range(0, array[-1].extent, block[-1]):
            yield (*outer, slice(start, start + block[-1]))


def _schedule(plan: Accumulation) -> Iterator[tuple[Index, list[tuple[Index, Index]]]]:
    """For each value of the looped axes, the indices of the two factors of every term."""
    values = [range(axis.extent) for axis in plan.contracted]
    for target in product(*(range(axis.extent) for axis in plan.looped)):
        terms = []
        for inner in product(*values):
            index = [*zip(plan.contracted, inner, strict=True), *zip(plan.looped, target, strict=True)]
            of_x, of_y = (
                tuple(i if axis.strides[role] is not None else 0 for axis, i in index) for role in (FIRST, SECOND)
            )
            terms.append((of_x, of_y))
        yield target, terms
