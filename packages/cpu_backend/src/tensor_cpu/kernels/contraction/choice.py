"""Contraction of two operands: the kernel "contract".

``result[labels_out] = sum of a[labels_a] * b[labels_b]`` over the labels that ``labels_out`` lacks. Everything is
decided when the kernel is bound, from the forms alone:

1. labels of one operand only that the result lacks are summed away first;
2. neighbouring axes that stay neighbours everywhere become one (``tensor_runtime.backends.shared.axes``);
3. the rest is a (stacked) matrix product (``gemm`` decides what it is and calls BLAS; ``numpy_products`` is for what it
   cannot take), a stack of small ones in C (``stack``), a sum of products in C (``native``) or by NumPy
   (``broadcast_sum``), and without a sum one of broadcast operands or of their copies (``broadcast``), or one that
   turns operands block by block (``turned``), whichever is estimated to be cheapest (``cost``):
   ``tensor_runtime.backends.shared`` chooses.

The kernels in C copy no operand, but for ``broadcast``; that and NumPy's copy each at most once. All write the result
once; in its order, or block by block in an operand's (``reordered``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Final

import numpy as np

from tensor_core.errors import UnsupportedOperationError
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels import blas_costs
from tensor_cpu.kernels import costs as cost
from tensor_cpu.kernels import memory_costs as memory
from tensor_cpu.kernels.contraction import gemm, native_unary_einsum, numpy_products
from tensor_cpu.kernels.contraction.broadcast_sum import (
    MOST_TERMS,
    Accumulation,
    bind_broadcast_sum,
    plan_broadcast_sum,
)
from tensor_cpu.kernels.contraction.cuts.nearness import again
from tensor_cpu.kernels.contraction.cuts.real_parts import bind_real_parts, in_real_parts
from tensor_cpu.kernels.contraction.gemm import plan_product
from tensor_cpu.kernels.contraction.loops.broadcast import BroadcastProduct, bind_broadcast, plan_broadcast
from tensor_cpu.kernels.contraction.loops.reordered import (
    ReorderedProduct,
    bind_reordered,
    plan_reordered,
    plan_without_copies,
    sums_nothing,
)
from tensor_cpu.kernels.contraction.loops.rows import plan_rows
from tensor_cpu.kernels.contraction.loops.stack import StackProduct, bind_stack, plan_stack
from tensor_cpu.kernels.contraction.loops.turned import TurnedProduct, bind_turned, plan_turned
from tensor_cpu.kernels.contraction.native import (
    PairProduct,
    ScatterProduct,
    bind_pair,
    bind_scatter,
    large_roles,
    plan_native,
    plan_pair,
)
from tensor_cpu.kernels.contraction.unary_einsum import bind_rearrangement, bind_unary_einsum
from tensor_cpu.storage import MOST_AXES
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.backends.shared.axes import (
    FIRST,
    RESULT,
    Axis,
    FormLike,
    Labels,
    Operand,
    extent_of,
    join,
    native,
    row_major,
)
from tensor_runtime.backends.shared.choice import Way, after_sums, cheapest, may_be_square
from tensor_runtime.backends.shared.products import MatrixProduct
from tensor_runtime.backends.workspaces import with_workspace, workspace_of
from tensor_runtime.form import Form, form_of

__all__ = ["bind_contract", "bind_unary_einsum", "plan_contraction"]

Kernel = Callable[[Any, Any], Any]
Sum = Callable[[Any], Any]
Direct = MatrixProduct | Accumulation | PairProduct | ScatterProduct | StackProduct | TurnedProduct | BroadcastProduct
Plan = Direct | ReorderedProduct

_TOO_LITTLE: Final = 150.0  # nanoseconds that no second estimate is worth, which takes hundreds of times as long
_FEW_TERMS: Final = 4096
"""Multiply-adds up to which a kernel in C is looked at first, as it is likely to be taken."""
_LEAST_SQUARE: Final = 1 << 15
"""Multiply-adds of a product of a matrix and its transpose from which half of them are worth a choice."""


def bind_contract(
    operands: tuple[FormLike, FormLike], result: FormLike, params: tuple[Labels, Labels, Labels], /
) -> Kernel:
    """Kernel of the sum of products of two operands.

    Args:
        operands: forms with any strides and any dtypes.
        result: a compact form; its dtype is the promoted one. Integers wrap; of Bool, products are ands, sums are ors.
        params: (labels_a, labels_b, labels_out), one label per axis of the tensor; distinct within each of the three,
            those of the result taken from the operands.

    Returns:
        A function of two native arrays that returns a new native array. It never warns, and says its workspace.

    Raises:
        UnsupportedOperationError: the result has more axes than a NumPy array can have.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b, c = form_of(F64, (2, 3), CPU), form_of(F64, (3, 4), CPU), form_of(F64, (2, 4), CPU)
    >>> bind_contract((a, b), c, ((0, 1), (1, 2), (0, 2)))(np.ones((3, 2)), np.ones((4, 3))).shape
    (4, 2)
    """
    if len(result.shape) > MOST_AXES:
        raise UnsupportedOperationError(
            f"contract: the result has {len(result.shape)} axes; the cpu backend stores at most {MOST_AXES}; "
            "reshape operands so that axes that stay together become one",
            operation="contract",
        )
    kernel = _bind_after_sums(operands, result, params, _bind)
    assert kernel is not None
    return kernel


def bind_conjugated(
    operands: tuple[FormLike, FormLike], result: FormLike, params: tuple[Labels, Labels, Labels], /
) -> Kernel | None:
    """The same of the first operand's conjugates, where BLAS or the sum of products in C computes it without a copy.

    >>> from tensor_core import C64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> matrix = form_of(C64, (100, 100), CPU)
    >>> kernel = bind_conjugated((matrix, matrix), matrix, ((1, 0), (1, 2), (0, 2)))
    >>> kernel is None or kernel(np.eye(100) * 1j, np.eye(100) * 1j)[0, 0].item() == 1.0
    True
    """
    return _bind_after_sums(operands, result, params, _bind_conjugated)


def bind_lean(
    operands: tuple[FormLike, FormLike], result: FormLike, params: tuple[Labels, Labels, Labels], /
) -> Kernel:
    """The same by the fastest kernel that copies no operand, and of the result a block of 32 KiB in each thread.

    Raises:
        UnsupportedOperationError: none takes these operands: their dtypes differ, sums are very long, or there is no
            extension; or ``contract`` already takes one that copies none, NumPy's.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> matrix = form_of(F64, (2, 2), CPU)
    >>> kernel = bind_lean((matrix, matrix), matrix, ((0, 1), (1, 2), (0, 2))) if AVAILABLE else np.matmul
    >>> kernel(np.eye(2), np.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    kernel = _bind_after_sums(operands, result, params, _bind_lean) if AVAILABLE else None
    if kernel is None:
        raise UnsupportedOperationError(
            "lean_contract: no kernel multiplies these operands without a copy; accepted: equal dtypes, and sums of at "
            "most a million products",
            operation="lean_contract",
        )
    return kernel


def _bind_after_sums(
    operands: tuple[FormLike, FormLike],
    result: FormLike,
    params: tuple[Labels, Labels, Labels],
    bind: Callable[[Operand, Operand, Operand], Kernel | None],
) -> Kernel | None:
    """What ``bind`` gives for operands whose labels are all shared or kept, after the sums over the others."""
    labels_a, labels_b, labels_out = params
    out = row_major(labels_out[::-1], result.shape[::-1], result.dtype.numpy_name)
    x, sum_x = _summed(operands[0], labels_a, {*labels_b, *labels_out}, out.dtype)
    y, sum_y = _summed(operands[1], labels_b, {*labels_a, *labels_out}, out.dtype)
    kernel = bind(x, y, out)
    if kernel is None or not (sum_x or sum_y):
        return kernel
    itemsize = np.dtype(out.dtype).itemsize
    sums = (x.size if sum_x else 0) + (y.size if sum_y else 0)
    summing = max(workspace_of(one) for one in (sum_x, sum_y) if one) - out.size * itemsize  # before there is a result
    workspace = sums * itemsize + max(workspace_of(kernel), summing)
    return with_workspace(_after_sums(kernel, sum_x, sum_y), workspace)


def _after_sums(kernel: Kernel, first: Sum | None, second: Sum | None) -> Kernel:
    if first and second:
        return lambda x, y: kernel(first(x), second(y))
    if first:
        return lambda x, y: kernel(first(x), y)
    if second:
        return lambda x, y: kernel(x, second(y))
    return kernel


def _summed(form: FormLike, labels: Labels, needed: set[int], dtype: str) -> tuple[Operand, Sum | None]:
    """The operand without the labels that nothing else has, and the kernel that sums over them."""
    operand = native(form, labels)
    rest = after_sums(operand, needed, dtype)
    if rest is None:
        return operand, None
    if AVAILABLE and isinstance(form, Form) and operand.dtype == dtype:
        summed = form_of(form.dtype, rest.shape[::-1], form.placement)
        total = native_unary_einsum.bind_unary_einsum((form,), summed, (labels, rest.labels[::-1]))
        if total is not None:
            return rest, total
    return rest, bind_rearrangement(operand, rest)


def _bind(x: Operand, y: Operand, result: Operand) -> Kernel:
    if 0 in (*x.shape, *y.shape):  # an empty result, or empty sums
        shape, dtype = result.shape, np.dtype(result.dtype)
        return lambda x, y: np.zeros(shape, dtype)
    plan, parts = plan_contraction(x, y, result), in_real_parts(x, y, result)
    if parts is not None and (parts.part_by_part or plan_contraction(*parts.operands).cost < plan.cost):
        return bind_real_parts(_bind(*parts.operands), parts, y if parts.second else x, result)
    return _bind_way(plan, x, y, result)


def _bind_lean(x: Operand, y: Operand, result: Operand) -> Kernel | None:
    if not x.dtype == y.dtype == result.dtype:
        return None
    if 0 in (*x.shape, *y.shape):
        return _bind(x, y, result)
    if isinstance(plan_contraction(x, y, result), Accumulation):  # which takes a block and buffers, of bounded sizes
        return None
    axes = join(x, y, result)
    plan = plan_without_copies(axes, x, y, result)
    return plan and _bind_way(_or_reordered(plan, axes, x, y, result), x, y, result)


def _bind_way(plan: Plan, x: Operand, y: Operand, result: Operand) -> Kernel:
    match plan:
        case ReorderedProduct():
            return _bind_reordered(plan, x, y, result)
        case PairProduct():
            return bind_pair(plan, result)
        case ScatterProduct():
            return bind_scatter(plan, result)
        case StackProduct():
            return bind_stack(plan, result)
        case TurnedProduct():
            return bind_turned(plan, result)
        case BroadcastProduct():
            return bind_broadcast(plan, result)
        case MatrixProduct():
            product = gemm.bind_product(plan, x, y, result) or numpy_products.bind_product(plan, x, y, result)
            return _telling_workspace(product, plan, x, y, result)
    return bind_broadcast_sum(plan, x, y, result)


def _bind_reordered(plan: ReorderedProduct, x: Operand, y: Operand, result: Operand) -> Kernel:
    """Where only NumPy takes blocks as they lie, the result in its own order."""
    blocks, how = (plan.x, plan.y, plan.block), plan.plan
    if isinstance(how, MatrixProduct) and gemm.bind_product(how, *blocks) is None:
        return _bind_way(_plan_direct(join(x, y, result), x, y, result), x, y, result)
    return bind_reordered(plan, _bind_way(how, *blocks), result)


def _telling_workspace(kernel: Kernel, plan: MatrixProduct, x: Operand, y: Operand, result: Operand) -> Kernel:
    """The kernel, which now says what it takes; a native one does by itself."""
    if not plan.copies or workspace_of(kernel):
        return kernel
    return with_workspace(kernel, plan.workspace_bytes(x, y, result))


def _bind_conjugated(x: Operand, y: Operand, result: Operand) -> Kernel | None:
    plan = None if 0 in (*x.shape, *y.shape) else _plan_direct(join(x, y, result), x, y, result)
    if isinstance(plan, BroadcastProduct):
        plan = plan_pair(join(x, y, result), result.dtype, large_roles((x.size, y.size, result.size), result.dtype))
    if isinstance(plan, PairProduct):
        return bind_pair(plan, result, conjugated=True)
    if not isinstance(plan, MatrixProduct):
        return None
    kernel = gemm.bind_product(plan, x, y, result, FIRST)
    return kernel and _telling_workspace(kernel, plan, x, y, result)


def plan_contraction(x: Operand, y: Operand, result: Operand) -> Plan:
    """What the kernel will do with operands in which every label is shared or kept, and no extent is 0.

    >>> x, y = row_major((0, 1), (3000, 400), "float64"), row_major((1, 2), (400, 500), "float64")
    >>> plan = plan_contraction(x, y, row_major((0, 2), (3000, 500), "float64"))
    >>> isinstance(plan, MatrixProduct | ScatterProduct)  # by BLAS or packed in C, whichever is faster here
    True
    """
    axes = join(x, y, result)
    return _or_reordered(_plan_direct(axes, x, y, result), axes, x, y, result)


def _or_reordered(plan: Direct, axes: tuple[Axis, ...], x: Operand, y: Operand, result: Operand) -> Plan:
    """Blocks in another order, where these surely cost less."""
    return (plan_reordered(axes, x, y, result, plan.cost) if AVAILABLE else None) or plan


def _plan_direct(axes: tuple[Axis, ...], x: Operand, y: Operand, result: Operand) -> Direct:
    """By a kernel that writes the result in its order."""
    if not AVAILABLE:
        return plan_numpy(axes, x, y, result)
    if sums_nothing(axes) and x.dtype == y.dtype == result.dtype:
        return cheapest(_WAYS_WITHOUT_SUMS, axes, x, y, result)
    if extent_of(axes) <= _FEW_TERMS:
        return cheapest(_WAYS_OF_FEW, axes, x, y, result)
    rows = plan_rows(axes, x, y, result) if {*x.labels} == {*y.labels} else None
    return rows or cheapest(_WAYS_OF_MANY, axes, x, y, result)


def _plan_stack(axes: tuple[Axis, ...], x: Operand, y: Operand, result: Operand, below: float) -> Direct | None:
    return plan_stack(axes, x, y, result)


def _nothing(terms: int, dtype: str) -> float:
    return 0.0


def _least_worth(terms: int, dtype: str) -> float:
    return blas_costs.least_numpy(terms, dtype) + _TOO_LITTLE


def _half_of_squares(axes: Sequence[Axis], x: Operand, y: Operand) -> float:
    """BLAS computes half of the product of a large matrix and its transpose."""
    return 0.5 if may_be_square(axes, x, y, _LEAST_SQUARE) else 1.0


def plan_numpy(
    axes: tuple[Axis, ...], x: Operand, y: Operand, result: Operand, below: float = inf
) -> MatrixProduct | Accumulation:
    """The cheapest kernel made of NumPy's, if one costs less than ``below``; ``axes`` as from ``join``.

    >>> x, y = row_major((0, 1), (3, 4), "float64"), row_major((1, 2), (4, 5), "float64")
    >>> result = row_major((0, 2), (3, 5), "float64")
    >>> plan_numpy(join(x, y, result), x, y, result).copies_first
    False
    """
    contracted = [axis for axis in axes if axis.strides[RESULT] is None]
    terms = extent_of(contracted)
    if terms == 1:
        return _with_memory(plan_broadcast_sum(axes, result.dtype), x, y, result)
    matrices = plan_product(axes, x, y, result, below)
    single = len(contracted) == len(axes)  # a result of one element is no array to add to
    if terms > MOST_TERMS or single or not (matrices.stack or matrices.copies):
        return matrices
    if blas_costs.least_accumulation(terms) >= min(matrices.cost, below):
        return matrices
    sums = plan_broadcast_sum(axes, result.dtype)
    return sums if sums.cost < matrices.cost else matrices


def _with_memory(plan: Accumulation, x: Operand, y: Operand, result: Operand) -> Accumulation:
    """The same product, which takes at least as long as memory: NumPy reads what it writes, line by line.

    >>> x, result = row_major((0,), (9,), "float64"), row_major((1, 0), (1 << 22, 9), "float64")
    >>> plan = plan_broadcast_sum(join(x, row_major((1,), (1 << 22,), "float64"), result))
    >>> _with_memory(plan, x, x, result).cost > plan.cost
    True
    """
    large = large_roles((x.size, y.size, result.size), result.dtype)
    if not large:
        return plan
    walk = (*reversed(plan.array), *reversed(plan.looped))
    time = memory.with_traffic(plan.cost, (x.size + y.size + 2 * result.size) * memory.ITEMSIZE[result.dtype])
    return plan._replace(cost=time + memory.fetched_again(again(walk, large, x, y, result), "pair"))


_STACKS: Final[Way[Direct]] = Way(_plan_stack, _nothing)
_WAYS_OF_FEW: Final[tuple[Way[Direct], ...]] = (
    _STACKS,
    Way(plan_native, _nothing),
    Way(plan_numpy, _least_worth, _half_of_squares),
)
_WAYS_OF_MANY: Final[tuple[Way[Direct], ...]] = (
    _STACKS,
    Way(plan_numpy, _nothing, _half_of_squares),
    Way(plan_native, cost.least_native),
)
_WAYS_WITHOUT_SUMS: Final[tuple[Way[Direct], ...]] = (
    Way(plan_broadcast, _nothing),
    Way(plan_turned, memory.least_turned),
)

BINDERS: Final[Mapping[str, Binder]] = {
    "contract": bind_contract,
    "lean_contract": bind_lean,
    "unary_einsum": bind_unary_einsum,
}
