"""Substitution by our own kernels (csrc/linalg).

Batches of small matrices have each in one lane of a vector register; larger ones with one or two right-hand sides, and
those that no group of small ones is full of, are read column by column. `blas` takes the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import FLOATING
from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.kernels.linalg.substitution import numpy
from tensor_cpu.storage import Array
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.contracts.linalg import TriangularSolveParams
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand

TAKES: Final = """batches of small systems that fill the lanes of a register, and systems with one or two right-hand \
sides; of more than 16 rows no unit diagonal, and no matrix that is there once for several systems"""
FEW_SIDES: Final = 2
"""Right-hand sides with which substitution goes along columns, unless it is transposed."""
_FEWEST_ROWS: Final = 8
_MOST_ROWS: Final = 1 << 24
"""Rows between which it does so, whatever the batch is (``may_go_along_columns`` in csrc/linalg/batched_simd.h)."""
_LARGEST: Final = 64
"""Rows of the largest matrices for which lanes are faster than BLAS."""
_SMALL: Final = 16
"""Rows up to which a group of matrices stays in the first-level cache."""
_FEWEST: Final = 6
"""Larger matrices in a batch with which a group of them is done before BLAS is."""
_FILLING: Final = 1024
"""Numbers in a small matrix, or in its right-hand sides, per matrix in the batch. With more, BLAS is done before a
group of mostly copies is."""


def bind(operands: tuple[Operand, ...], result: Any, params: TriangularSolveParams, /) -> Kernel | None:
    """The kernel for these forms, or None where BLAS is done before.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b = form_of(F64, (2, 2, 1), CPU), form_of(F64, (2, 1, 1), CPU)
    >>> upper = TriangularSolveParams(lower=False, transpose=False, conjugate=False, unit_diagonal=False)
    >>> bind((a, b), b, upper)(np.array([[[2.0, 9.0], [1.0, 4.0]]]), np.array([[[4.0, 8.0]]])).tolist()
    [[[1.0, 2.0]]]
    """
    a, b = operands
    if not isinstance(a, Form) or not isinstance(b, Form) or not fits(a, b, params):
        return None
    return _bound(a, b, result, params, False, numpy.when_called(numpy.bind_triangular_solve, (a, b), result, params))


def bind_checked(operands: tuple[Operand, ...], result: Any, params: TriangularSolveParams, /) -> Kernel | None:
    """The kernel that refuses what is not finite while it computes, or None as for :func:`bind`.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1, 1), CPU)
    >>> upper = TriangularSolveParams(lower=False, transpose=False, conjugate=False, unit_diagonal=False)
    >>> bind_checked((form, form), form, upper)(np.array([[2.0]]), np.array([[4.0]])).tolist()
    [[2.0]]
    """
    a, b = operands
    if not isinstance(a, Form) or not isinstance(b, Form) or a.dtype is not b.dtype or a.shape[2:] != b.shape[2:]:
        return None
    if not fits(a, b, params):
        return None
    return _bound(a, b, result, params, True, numpy.when_called(numpy.bind_checked, (a, b), result, params))


def fits(a: Form, b: Form, params: TriangularSolveParams) -> bool:
    """Whether right-hand sides are few, or the matrices small, and not too few.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> upper = TriangularSolveParams(lower=False, transpose=False, conjugate=False, unit_diagonal=False)
    >>> [fits(form_of(F64, (99, 99), CPU), form_of(F64, (99, sides), CPU), upper) for sides in (2, 3)]
    [True, False]
    """
    rows, columns, count = b.shape[0], prod(b.shape[1:2]), prod(b.shape[2:])
    if a.dtype not in FLOATING or 0 in b.shape or (params.unit_diagonal and rows > _SMALL):
        return False
    if rows > _SMALL and any(map(_repeats, a.shape[2:], a.strides[2:])):
        return False  # one matrix for many right-hand sides, which BLAS reads where it lies
    if columns <= FEW_SIDES and not params.transpose and _FEWEST_ROWS <= rows <= _MOST_ROWS:
        return True
    if not 0 < rows <= _LARGEST:
        return False
    if rows > _SMALL:
        return count >= _FEWEST and columns <= rows
    parts = 2 if a.dtype.kind == "complex" else 1
    return parts * rows * max(rows, columns) <= count * _FILLING


def _repeats(extent: int, stride: int) -> bool:
    return stride == 0 and extent > 1


def _bound(a: Form, b: Form, result: Form, params: TriangularSolveParams, check: bool, behind: Kernel) -> Kernel:
    """The kernel of these forms; what it refuses is given to the one behind it."""
    conjugates = params.conjugate and a.dtype.kind == "complex"
    forward = params.lower != params.transpose
    kernel: Kernel = LIBRARY.bind_batched_simd(
        ("forward" if forward else "backward") + ("_transposed" if params.transpose else ""),
        a.dtype.name,
        sides=(a.shape[0], a.shape[0]),
        right=prod(b.shape[1:2]),
        count=prod(b.shape[2:]),
        results=((result.shape[::-1], result.dtype.name),),
        single=True,
        fallback=_of_conjugates(behind) if conjugates else behind,
        check=check,
    )
    kernel = _with_ones(kernel, a.shape[0]) if params.unit_diagonal else kernel
    if conjugates:
        return _conjugated(kernel)
    return kernel if a.is_compact and b.is_compact else lambda *arrays: kernel(*map(np.ascontiguousarray, arrays))


def _with_ones(kernel: Kernel, rows: int) -> Kernel:
    """Of matrices whose diagonal is not read, but taken to be ones; a copy of small ones has them."""

    def with_ones(a: Array, b: Array) -> Array:
        unit = a.copy()
        unit.reshape(-1, rows * rows)[:, :: rows + 1] = 1.0
        found: Array = kernel(unit, b)
        return found

    return with_ones


def _conjugated(kernel: Kernel) -> Kernel:
    """conj(A) X = B is A conj(X) = conj(B)."""

    def conjugated(a: Array, b: Array) -> Array:
        found: Array = kernel(np.ascontiguousarray(a), np.conjugate(b, order="C"))
        return np.conjugate(found, out=found)

    return conjugated


def _of_conjugates(behind: Kernel) -> Kernel:
    """What a kernel of the right-hand sides themselves gives, or refuses, of conjugate ones."""
    return lambda a, conjugates: np.conjugate(behind(a, np.conjugate(conjugates)))


BINDERS: Final[Mapping[str, NativeBinder]] = {"triangular_solve": bind, "triangular_solve_checked": bind_checked}
