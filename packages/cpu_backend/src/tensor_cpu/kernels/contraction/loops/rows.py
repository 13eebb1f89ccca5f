"""Sums of products of rows that lie side by side in both operands, as of a batch whose axis is the innermost one."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_cpu.kernels import memory_costs as memory
from tensor_cpu.kernels.contraction.cuts.lanes import in_vectors
from tensor_cpu.kernels.contraction.native import PairProduct, large_roles, plan_pair
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import FIRST, RESULT, SECOND, Axis, Operand


def plan_rows(axes: Sequence[Axis], x: Operand, y: Operand, result: Operand) -> PairProduct | None:
    """The loop over pairs, where each row of the result is a sum of products of rows that lie side by side in both.

    Such operands, which have the same labels, are read once, in the order of memory; dot products one by one read their
    lines again and again. None where vectors are not those of both.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, result = row_major((0, 1), (3000, 100), "float64"), row_major((1,), (100,), "float64")
    >>> (plan_rows(join(x, x, result), x, x, result) is not None) == AVAILABLE
    True
    """
    if not (AVAILABLE and x.dtype == y.dtype == result.dtype):
        return None
    lane = next((axis for axis in reversed(axes) if axis.strides[RESULT] is not None), None)
    if lane is None or lane.strides[FIRST] != 1 or lane.strides[SECOND] != 1 or not in_vectors(lane):
        return None
    found = plan_pair(axes, result.dtype, large_roles((x.size, y.size, result.size), result.dtype))
    size = memory.taken(x) + memory.taken(y) + result.size
    time = memory.with_traffic(found.cost, size * memory.ITEMSIZE[result.dtype])
    return found._replace(cost=time) if found.longest_table <= LIBRARY.LONGEST_TABLE else None
