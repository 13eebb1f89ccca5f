"""Native contractions: sums of broadcast products (csrc/contraction).

The *pair kernel* (csrc/contraction/pair.c) multiplies two operands, broadcast along the axes that they lack, and sums
over the contracted axes. It takes any strides and copies nothing. It is the only kernel for integers and Bool that uses
vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, Final, NamedTuple

from tensor_cpu.kernels import costs as cost
from tensor_cpu.kernels import memory_costs as memory
from tensor_cpu.kernels.blas_costs import BLAS_DTYPES
from tensor_cpu.kernels.contraction.cuts.lanes import in_vectors, run_along, runs_of_sums, tabled
from tensor_cpu.kernels.contraction.cuts.nearness import LINE, again, by_nearness, nearness
from tensor_cpu.kernels.contraction.cuts.row_groups import in_short_tables
from tensor_cpu.kernels.processor_rates import rates
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import (
    FIRST,
    RESULT,
    SECOND,
    Axis,
    Operand,
    by_occurrence,
    by_stride,
    extent_of,
    line,
)

Group = tuple[Axis, ...]
Kernel = Callable[[Any, Any], Any]

TYPE_NAMES: Final = {
    "float32": "F32",
    "float64": "F64",
    "complex64": "C32",
    "complex128": "C64",
    "int32": "I32",
    "int64": "I64",
    "bool": "Bool",
}
"""Names of element types in the extension, by NumPy's."""

_LONGEST_SUM: Final = 1024  # of products that make one number: the kernels here have no lanes for it, NumPy has
_SHORTEST_RUN: Final = LIBRARY.SHORTEST_RUN if AVAILABLE else 0  # of products in a sum that is made in vectors
_LONGEST_TABLE: Final = LIBRARY.LONGEST_TABLE if AVAILABLE else 0  # entries
_PANEL: Final = 8  # neighbours that are packed as a run
_READ_AGAIN: Final = 0.6  # of what its arrays take in memory, the part that the pair kernel waits for


class PairProduct(NamedTuple):
    """One decision: the axes of the result in its order, and the contracted ones."""

    kept: Group
    contracted: Group
    cost: float  # estimated nanoseconds

    @property
    def longest_table(self) -> int:
        """Entries of the longest table of offsets that grows with the extents."""
        return extent_of(self.contracted)


def plan_native(
    axes: Sequence[Axis], x: Operand, y: Operand, result: Operand, below: float = inf
) -> PairProduct | ScatterProduct | None:
    """The cheaper of the two native kernels, if it costs less than ``below``; None where an operand must be converted.

    None also where sums are so long that tables of offsets would take more memory than a kernel should keep.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y = row_major((0, 1), (64, 3), "float64"), row_major((0, 2), (64, 4), "float64")
    >>> result = row_major((0, 1, 2), (64, 3, 4), "float64")
    >>> type(plan_native(join(x, y, result), x, y, result)).__name__
    'PairProduct'
    """
    if not x.dtype == y.dtype == result.dtype:
        return None
    if result.size == 1 and x.size > _LONGEST_SUM:
        return None
    large = large_roles((x.size, y.size, result.size), result.dtype)
    if large:
        large = large_roles((memory.taken(x), memory.taken(y), result.size), result.dtype)
    pairs = None
    if below == inf or cost.least_pair(extent_of(axes), result.dtype) < below:
        pairs = plan_pair(axes, result.dtype, large)
        if large:
            walk = _walk(pairs)
            more = memory.fetched_again(again(walk, large, x, y, result, crowded=rates().crowded), "pair")
            if pairs.kept:
                more += memory.ends_of_rows(result.size, pairs.kept[-1].extent, result.dtype)
            pairs = pairs._replace(cost=pairs.cost + more)
        if pairs.longest_table > _LONGEST_TABLE:  # then so is a table of the contracted axes in the other plan
            return None
        if pairs.cost <= cost.least_scatter() or _are_dots(axes, pairs.contracted):  # read once by any kernel
            return pairs
        below = min(below, pairs.cost)
    products = _cheap_scatter(axes, x, y, large, below)
    plan = products if products and products.longest_table <= _LONGEST_TABLE else pairs
    if plan is None or all(axis.strides[RESULT] is not None for axis in axes):
        return plan
    size = memory.taken(x) + memory.taken(y) + result.size
    is_pair = isinstance(plan, PairProduct)
    time = memory.with_traffic(plan.cost, int((_READ_AGAIN if is_pair else 1.0) * size * memory.ITEMSIZE[result.dtype]))
    if (large or (rates().apart_near and not is_pair)) and _lie_apart(axes):
        time += memory.apart(size, "pair" if is_pair else "scatter") if large else size * rates().apart_near
    return plan._replace(cost=time)


def _walk(plan: PairProduct) -> Group:
    """The axes as the pair kernel goes along them, innermost first: for a line of neighbours all terms of their sums.

    >>> lanes, sums = Axis((0,), 20, (1, None, 1)), [Axis((1,), 3, (60, 1, None)), Axis((2,), 3, (20, 3, None))]
    >>> [axis.labels for axis in _walk(PairProduct((lanes,), tuple(sums), 0.0))]
    [(0,), (2,), (1,), (0,)]
    """
    *others, lanes = plan.kept or [Axis((), 1, (None, None, None))]
    near = min(lanes.extent, LINE)
    first, second, result = (step and step * near for step in lanes.strides)
    lines = Axis(lanes.labels, -(-lanes.extent // near), (first, second, result))
    return (lanes._replace(extent=near), *plan.contracted[::-1], lines, *others[::-1])


def _lie_apart(axes: Sequence[Axis]) -> bool:
    """Whether a stack of matrices has its neighbours in other matrices, and those of one matrix in lines of their own.

    >>> stack, rows, inner = Axis((0,), 9, (1, 1, 1)), Axis((1,), 4, (9, None, 9)), Axis((2,), 4, (36, 9, None))
    >>> _lie_apart((stack, rows, inner)), _lie_apart((stack._replace(strides=(16, 16, 16)), rows, inner))
    (True, False)
    """
    batch, contracted, of_x, of_y = by_occurrence(axes)
    matrices = (*contracted, *of_x, *of_y)
    steps = [abs(step) for axis in matrices for step in axis.strides if step]
    return len(matrices) > 1 and any(1 in axis.strides for axis in batch) and min(steps, default=0) >= LINE


def plan_pair(axes: Sequence[Axis], dtype: str, large: Sequence[int] = ()) -> PairProduct:
    """The sum of broadcast products; ``axes`` as from ``join``.

    ``large`` has the roles of arrays that leave the cache, the largest first, which decide in which order the result is
    computed: whole lines of the cache as they lie in the largest one, shorter runs so that lines are used at once. The
    estimate follows the choices of csrc/contraction/pair.c: the innermost axis is the lanes, another one the rows.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y, result = (row_major(labels, (8, 8), "float64") for labels in ((0, 1), (1, 2), (0, 2)))
    >>> plan = plan_pair(join(x, y, result), "float64")
    >>> [[axis.labels for axis in group] for group in (plan.kept, plan.contracted)]
    [[(0,), (2,)], [(1,)]]
    """
    kept = tuple([axis for axis in axes if axis.strides[RESULT] is not None])
    contracted = tuple([axis for axis in axes if axis.strides[RESULT] is None])
    size, depth = extent_of(kept), extent_of(contracted)
    estimate = partial(cost.pair, depth=depth, dtype=dtype)
    if not kept:
        return PairProduct(kept, contracted, estimate(1, 1, 1, loop="scaled"))
    lane, others = kept[-1], kept[:-1]
    if in_vectors(lane):
        steps = sorted((lane.strides[FIRST] or 0, lane.strides[SECOND] or 0))
        role = FIRST if lane.strides[FIRST] == 1 else SECOND  # whose vectors are loaded
        sharing = [axis for axis in others if not axis.strides[role]] if steps == [0, 1] and depth > 1 else []
        rows = max([axis.extent for axis in sharing or others], default=1)
        loop = "both" if steps == [1, 1] else "shared" if sharing else "scaled"
        if large and lane.extent >= LINE:  # as they lie in the largest array, those that it lacks innermost
            kept = (*sorted(others, key=lambda axis: -abs(axis.strides[large[0]] or 0)), lane)
        else:
            kept = (*by_nearness(others, large), lane)
        return PairProduct(kept, contracted, estimate(lane.extent, rows, size // lane.extent // rows, loop=loop))
    lanes, taken, gathered = tabled(kept)
    rows = max([axis.extent for axis in kept[:-taken]], default=1)
    contracted = by_stride(contracted, FIRST if lane.strides[FIRST] else SECOND)
    runs = runs_of_sums(kept, contracted, dtype)
    as_matrix = runs.length == depth and runs.shared and dtype in BLAS_DTYPES  # BLAS is best for it
    loop = "tables" if runs.length == 1 or as_matrix else "runs"
    rectangles = max(1, size // (lanes * rows))
    time = estimate(lanes, rows, rectangles, loop=loop, gathered=gathered, run=runs.length, packed=runs.packed)
    return PairProduct((*by_nearness(kept[:-taken], large), *kept[-taken:]), contracted, time)


def large_roles(sizes: tuple[int, int, int], dtype: str) -> tuple[int, ...]:
    """Which arrays, of so many elements each, leave the second-level cache, the largest first.

    >>> large_roles((18, 199_998, 18), "float64")
    (1,)
    """
    most = memory.CACHED_BYTES // memory.ITEMSIZE[dtype]
    if max(sizes) <= most:
        return ()
    return tuple(sorted([role for role, size in enumerate(sizes) if size > most], key=lambda role: -sizes[role]))


def _are_dots(axes: Sequence[Axis], contracted: Group) -> bool:
    """Whether each element is a dot product of its own, along the memory of both operands."""
    runs = line(contracted, FIRST), line(contracted, SECOND)
    lie_so = extent_of(contracted) >= _SHORTEST_RUN and all(run is not None and run.stride == 1 for run in runs)
    return lie_so and all(None not in axis.strides[:RESULT] for axis in axes)


def bind_pair(plan: PairProduct, result: Operand, conjugated: bool = False) -> Kernel:
    """The kernel of a decision: two native arrays of the result's dtype in, one native array out.

    With ``conjugated`` the first one's conjugates are multiplied.

    >>> import numpy as np
    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y = row_major((0, 1), (3, 2), "int64"), row_major((1,), (2,), "int64")
    >>> result = row_major((0,), (3,), "int64")
    >>> kernel = bind_pair(plan_pair(join(x, y, result), "int64"), result)
    >>> kernel(np.array([[1, 2], [3, 4], [5, 6]]), np.array([10, 1])).tolist()
    [12, 34, 56]
    """
    return LIBRARY.bind_pair(
        TYPE_NAMES[result.dtype], result.shape, groups_of(plan.kept), groups_of(plan.contracted), conjugated
    )


class ScatterProduct(NamedTuple):
    """One decision: the part of every axis in a stack of matrix products."""

    stack: Group
    rows: Group
    columns: Group
    inner: Group
    near: Group  # stacked axes, too, that are walked within a block of rows and columns
    rows_are_second: bool  # whether the second operand has the rows
    cost: float  # estimated nanoseconds

    @property
    def longest_table(self) -> int:
        """Entries of the longest table of offsets."""
        return max(extent_of(group) for group in (self.rows, self.columns, self.inner))


def plan_scatter(axes: Sequence[Axis], x: Operand, y: Operand, large: Sequence[int] = ()) -> ScatterProduct:
    """The matrix product without copies; ``axes`` as from ``join``.

    Rows become vectors, so they are the axes of the operand that has the result's fastest one, or so few that columns
    need not be packed; where there are very many, outer ones are stacked. ``large`` has the roles of arrays that leave
    the cache.

    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y, result = (row_major(labels, (8, 8), "float64") for labels in ((0, 1), (1, 2), (0, 2)))
    >>> plan = plan_scatter(join(x, y, result), x, y)
    >>> [axis.labels for axis in plan.rows], plan.rows_are_second
    ([(2,)], True)
    """
    plan = _cheap_scatter(axes, x, y, large, inf)
    assert plan is not None  # nothing costs as much as that
    return plan


def _cheap_scatter(
    axes: Sequence[Axis], x: Operand, y: Operand, large: Sequence[int], below: float
) -> ScatterProduct | None:
    """The same if it costs less than ``below``; else nothing but its cost is worked out."""
    stack, contracted, of_x, of_y = by_occurrence(axes)
    inner = by_stride(contracted, FIRST if x.size >= y.size else SECOND)
    k, stacked = extent_of(inner), extent_of(stack)
    own = extent_of(of_x), extent_of(of_y)
    packings = _packing(of_x, own[FIRST], inner, k, FIRST), _packing(of_y, own[SECOND], inner, k, SECOND)

    def estimate(second: bool) -> float:
        rows = of_y if second else of_x
        m, n = (own[SECOND], own[FIRST]) if second else own
        written = run_along(rows, RESULT)
        return cost.scatter(
            m,
            n,
            k,
            stacked,
            dtype=x.dtype,
            packing=packings[::-1] if second else packings,
            in_vectors=written >= min(_PANEL, m),
            in_runs=written == m and run_along(rows, SECOND if second else FIRST) == m,
        )

    second = bool(of_y) and (not of_x or _fastest(of_y) < _fastest(of_x))
    time = estimate(second)
    if of_x and of_y and cost.may_read_columns(own[FIRST if second else SECOND], x.dtype):
        other = estimate(not second)
        second, time = (not second, other) if other < time else (second, time)
    rows, columns = (of_y, of_x) if second else (of_x, of_y)
    m = own[SECOND if second else FIRST]
    if RESULT in large and cost.may_read_columns(m, x.dtype) and run_along(rows, RESULT) < min(_PANEL, m):
        time += cost.written_apart(m * own[FIRST if second else SECOND] * stacked)
    if time >= below:
        return None
    if k > cost.LONG_SUM and large:
        roles = [role for role in large if role != RESULT]
        block, further = _block_of(inner)
        walk = (*block, *reversed(rows), *reversed(columns), *further, *reversed(stack))
        steps = [role for role in roles if (walk[0].strides[role] or 0) in range(1, LINE)]
        runs = [role for role in roles if packings[role] == "rows"]
        ordered = [role for role in roles if role in steps or role in runs]
        apart = [role for role in roles if role not in ordered]
        crowded = rates().crowded
        time += memory.fetched_again(again(walk, ordered, x, y, crowded=crowded), "scatter")
        elements = again(walk, apart, x, y, crowded=crowded) + sum([(x, y)[role].size for role in apart])
        time += memory.fetched_apart(elements)
    (rows, outer_rows), (columns, outer_columns) = in_short_tables(rows), in_short_tables(columns, stack)
    stack = (*outer_rows, *outer_columns, *stack)
    near = tuple([axis for axis in stack if nearness(axis, large) < LINE])
    if near:
        stack = tuple([axis for axis in stack if axis not in near])
    columns = by_nearness(columns, large)
    return ScatterProduct(by_nearness(stack, large), rows, columns, inner, by_nearness(near, large), second, time)


def _block_of(inner: Group) -> tuple[Group, Group]:
    """The summed axes that the packed product reads before others, innermost first, and the rest of them.

    >>> axes = [Axis((label,), 16, (16 ** (2 - label), 1, None)) for label in range(3)]
    >>> [[axis.labels for axis in group] for group in _block_of(tuple(axes))]
    [[(2,), (1,)], [(0,)]]
    """
    ordered, taken = inner[::-1], 1
    while extent_of(ordered[: taken + 1]) <= cost.GEMM_DEPTH and taken < len(ordered):
        taken += 1
    return ordered[:taken], ordered[taken:]


def _packing(across: Group, width: int, inner: Group, depth: int, role: int) -> str:
    """How csrc/contraction/simd/pack.c packs an operand, mostly; width and depth are the extents of the groups."""
    if run_along(across, role) >= min(_PANEL, width):
        return "rows"
    return "steps" if run_along(inner, role) == depth else "scattered"


def _fastest(axes: Group) -> int:
    """The smallest stride in the result."""
    return min([axis.strides[RESULT] or 0 for axis in axes])


def bind_scatter(plan: ScatterProduct, result: Operand) -> Kernel:
    """The kernel of a decision: two native arrays of the result's dtype in, one native array out.

    >>> import numpy as np
    >>> from tensor_runtime.backends.shared.axes import join, row_major
    >>> x, y, result = (row_major(labels, (2, 2), "float64") for labels in ((1, 0), (1, 2), (2, 0)))
    >>> kernel = bind_scatter(plan_scatter(join(x, y, result), x, y), result)
    >>> kernel(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])).tolist()
    [[3.0, 4.0], [4.0, 6.0]]
    """
    return LIBRARY.bind_gemm(
        TYPE_NAMES[result.dtype],
        result.shape,
        groups_of(plan.stack),
        groups_of(plan.rows),
        groups_of(plan.columns),
        groups_of(plan.inner),
        groups_of(plan.near),
        plan.rows_are_second,
    )


def groups_of(axes: Group) -> tuple[tuple[int, int, int, int], ...]:
    """What csrc/contraction/groups.c reads."""
    return tuple(
        [(axis.extent, axis.strides[FIRST] or 0, axis.strides[SECOND] or 0, axis.strides[RESULT] or 0) for axis in axes]
    )
