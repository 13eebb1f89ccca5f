"""Which matrices of a batch ``cholesky``, ``inv`` and ``solve`` refuse, without an error for each.

The kernels that compute are asked: those in lanes for some matrices together, and where one of them is refused, the
operation itself for each alone, with all that stands behind its kernel. So that what is told here is what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from math import prod
from typing import Final

import numpy as np

from tensor_core.promotion import promote
from tensor_core.shapes import Shape
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernel_table import bind as bind_kernel
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_cpu.kernels.linalg.limits.powers import are_spread, powers_for_lanes, scaled
from tensor_cpu.kernels.linalg.refusals import refused, refusing, singular
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.errors import LinalgError
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

_UNCHECKED: Final = (False,)
"""Parameters of the operations asked: what is not finite was looked for before."""
Refuses = Callable[[Array], bool]
"""Whether one of the matrices of a compact stack has no result."""


def bind(name: str, operands: tuple[Form, ...], result: Form, params: object) -> Kernel:
    """The kernel ``name_status`` for these forms.

    >>> from tensor_core import F64, I32
    >>> from tensor_runtime.placement import CPU
    >>> form, status = form_of(F64, (1, 1, 3), CPU), form_of(I32, (3,), CPU)
    >>> bind("cholesky", (form,), status, None)(np.array([[[4.0]], [[-4.0]], [[np.inf]]])).tolist()
    [0, 2, 1]
    """
    a = operands[0]
    side, batch = a.shape[0], a.shape[2:]
    count = prod(batch)
    common = promote(*(one.dtype for one in operands))
    dtype, computed = NUMPY_DTYPES[common], form_of(common, a.shape, a.placement)
    in_lanes = AVAILABLE and a.size > 0 and _in_lanes(name, operands, computed, result)
    refuses = cache(partial(_refusing, name, computed, in_lanes))

    def kernel(*arrays: Array) -> Array:
        finite: list[Array] = [np.asarray(np.isfinite(x).all(axis=(-1, -2)[: x.ndim])) for x in arrays]
        stack = np.array(arrays[0], dtype, order="C").reshape(count, side, side)
        stack[~finite[0].reshape(count)] = np.eye(side)
        status = np.zeros(count, np.int32)
        if side and name != "cholesky" and in_lanes:
            powers = powers_for_lanes(stack)
            status[singular(stack if powers is None else scaled(stack, -powers))] = 2
            for index in np.flatnonzero(are_spread(stack, powers)):
                status[index] = 2 * _numpy_refuses(name, stack[index])
        elif side:
            status[refused(stack, refuses)] = 2
        found = _spread(status.reshape(batch[::-1]), result.shape)
        good = _spread(finite[0], result.shape)
        for other in finite[1:]:
            good = good & _spread(other, result.shape)
        return np.array(np.where(good, found, 1), np.int32, order="C")

    return ignoring_fp_errors(kernel)


def _spread(of_batch: Array, shape: Shape) -> Array:
    """Batch axes of an operand, reversed, broadcast to those of the result."""
    missing = len(shape) - of_batch.ndim
    return np.broadcast_to(of_batch.reshape((*of_batch.shape, *(1,) * missing)), shape[::-1])


def _in_lanes(name: str, operands: tuple[Form, ...], a: Form, result: Form) -> bool:
    """Whether the operation, of matrices in the dtype of ``a``, is one that kernels in lanes take."""
    from tensor_cpu.kernels.linalg import batched_simd
    from tensor_cpu.kernels.linalg.variants import systems

    solution = (*operands[-1].shape[: min(2, operands[-1].rank)], *result.shape)
    computed = form_of(a.dtype, solution, a.placement)
    return batched_simd.bind(name, operands, computed, False) is not None or (
        name == "solve" and systems.bind(operands, computed, False) is not None
    )


def _refusing(name: str, a: Form, in_lanes: bool, count: int) -> Refuses:
    if count > 1:
        routine = "cholesky" if name == "cholesky" else "inv"
        return refusing(routine, a, count) if in_lanes else lambda stack: bool(a.size)  # each is asked about
    matrix = form_of(a.dtype, a.shape[:2], a.placement)
    if name == "solve":
        column = form_of(a.dtype, (a.shape[0], 1), a.placement)
        solve = bind_kernel(name, (matrix, column), column, _UNCHECKED)
        right = np.ones((1, a.shape[0]), NUMPY_DTYPES[a.dtype])
        return partial(_raises, lambda matrix: solve(matrix, right))
    return partial(_raises, bind_kernel(name, (matrix,), matrix, _UNCHECKED))


def _raises(kernel: Kernel, matrix: Array) -> bool:
    try:
        kernel(matrix)
    except LinalgError:
        return True
    return False


def _numpy_refuses(name: str, stack: Array) -> bool:
    try:
        linalg.ROUTINES["cholesky" if name == "cholesky" else "inv"].compute(stack)
    except np.linalg.LinAlgError:
        return True
    return False


BINDERS: Final[Mapping[str, Binder]] = {f"{name}_status": partial(bind, name) for name in ("cholesky", "inv", "solve")}
