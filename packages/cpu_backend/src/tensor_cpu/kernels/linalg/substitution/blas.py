"""Substitution by the library's BLAS, for one matrix of a stack after the other (csrc/linalg/substitution.c).

For systems that ``lanes`` does not take. What is refused goes to the kernel of ``numpy``, which says where.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

from tensor_core.dtypes import FLOATING
from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.kernels.linalg.lapack import stack_strides
from tensor_cpu.kernels.linalg.substitution import lanes, numpy
from tensor_cpu.system.blas import open_blas
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.contracts.linalg import TriangularSolveParams
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand

TAKES: Final = "systems with elements, of one floating dtype"


def bind(operands: tuple[Operand, ...], result: Any, params: TriangularSolveParams, /) -> Kernel | None:
    """The kernel for these forms, or None where they are not what :data:`TAKES` says, or BLAS cannot count so far.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b = form_of(F64, (2, 2), CPU), form_of(F64, (2, 1), CPU)
    >>> upper = TriangularSolveParams(lower=False, transpose=False, conjugate=False, unit_diagonal=False)
    >>> bind((a, b), b, upper)(np.array([[2.0, 9.0], [1.0, 4.0]]), np.array([[4.0, 8.0]])).tolist()
    [[1.0, 2.0]]
    """
    a, b = operands
    if not isinstance(a, Form) or not isinstance(b, Form) or not _fits(a, b, result):
        return None
    return _bound(a, b, result, params, False, numpy.when_called(numpy.bind_triangular_solve, (a, b), result, params))


def bind_checked(operands: tuple[Operand, ...], result: Any, params: TriangularSolveParams, /) -> Kernel | None:
    """The kernel that refuses what is not finite, and zeros on a diagonal; of batches that broadcast, and vectors.

    None also for those that ``lanes`` takes when they have been looked at.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b = form_of(F64, (17, 17), CPU), form_of(F64, (17, 3), CPU)
    >>> upper = TriangularSolveParams(lower=False, transpose=False, conjugate=False, unit_diagonal=False)
    >>> bind_checked((a, b), b, upper)(2.0 * np.eye(17), np.ones((3, 17)))[1, :3].tolist()
    [0.5, 0.5, 0.5]
    """
    a, b = operands
    if not isinstance(a, Form) or not isinstance(b, Form) or not _fits(a, b, result):
        return None
    batch = result.shape[2:]
    systems = form_of(a.dtype, (*a.shape[:2], *batch), a.placement)
    sides = form_of(a.dtype, (*_sides_of(result), *batch), a.placement)
    if lanes.fits(systems, sides, params):  # once they are checked, and copied where they broadcast
        return None
    return _bound(a, b, result, params, True, numpy.when_called(numpy.bind_checked, (a, b), result, params))


def bind_in_place(operands: tuple[Form, Form], params: TriangularSolveParams, /) -> Kernel | None:
    """The kernel that puts solutions in the place of right-hand sides, compact ones of the same batch shape.

    None as for :func:`bind`. Nothing is checked.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1, 1), CPU)
    >>> upper = TriangularSolveParams(lower=False, transpose=False, conjugate=False, unit_diagonal=False)
    >>> sides = np.array([[4.0]])
    >>> bind_in_place((form, form), upper)(np.array([[2.0]]), sides) is sides, sides.tolist()
    (True, [[2.0]])
    """
    a, b = operands
    if not _fits(a, b, b):
        return None
    return _bound(a, b, b, params, False, numpy.when_called(numpy.bind_in_place, b, params), overwrite=True)


def _fits(a: Form, b: Form, result: Form) -> bool:
    if a.dtype not in FLOATING or not (a.dtype is b.dtype is result.dtype) or not (a.size and result.size):
        return False
    rows, columns = _sides_of(result)
    return max(rows * rows, rows * columns, *map(abs, a.strides[:2])) <= open_blas().limit


def _sides_of(result: Form) -> tuple[int, int]:
    """Rows and columns of a solution."""
    return result.shape[0], prod(result.shape[1:2])


def _bound(
    a: Form,
    b: Form,
    result: Form,
    params: TriangularSolveParams,
    check: bool,
    fallback: Kernel,
    *,
    overwrite: bool = False,
) -> Kernel:
    batch = result.shape[2:]
    return LIBRARY.bind_substitution(
        a.dtype.name,
        sides=_sides_of(result),
        batch=batch[::-1],
        a_strides=stack_strides(a, batch),
        b_strides=(0, b.strides[0]) if b.rank == 1 else stack_strides(b, batch),
        shape=result.shape[::-1],
        lower=params.lower,
        transpose=params.transpose,
        conjugate=params.conjugate,
        unit_diagonal=params.unit_diagonal,
        check=check,
        fallback=fallback,
        overwrite=overwrite,
    )


BINDERS: Final[Mapping[str, NativeBinder]] = {"triangular_solve": bind, "triangular_solve_checked": bind_checked}
