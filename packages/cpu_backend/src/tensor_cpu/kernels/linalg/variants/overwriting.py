"""Decompositions and solutions in the memory of operands that are given up, kernels ``NAME_overwriting``.

LAPACK works in place. Operands are copied as ever where that would not pay or would be wrong: small matrices, which
kernels in lanes are faster for, F32 and C32, which may have to be computed in double precision (but for substitution),
layouts other than compact, and systems of very large or very small numbers, whose elimination may have to begin anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import C64, F64
from tensor_cpu import kernel_table
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.linalg import factors
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_cpu.kernels.linalg.checks import not_positive_definite, nothing_behind, require_finite
from tensor_cpu.kernels.linalg.substitution import blas, numpy
from tensor_cpu.kernels.linalg.substitution.lanes import FEW_SIDES
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import Array
from tensor_cpu.system import lapack
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.contracts.contract import bound_params
from tensor_runtime.contracts.linalg import TriangularSolveParams
from tensor_runtime.errors import LinalgError
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Result

_LEAST: Final = 65
"""Rows or columns of the smallest matrices that no kernel in lanes takes."""
_STRIP_ROWS: Final = 64
_MODERATE: Final = (2.0**-200, 2.0**200)
"""Sizes of elements from which no elimination reaches the limits of the range."""
_NOT_LARGE: Final = (0.0, 2.0**1000)
_LIMITS: Final = {"inv": (_MODERATE,), "solve": (_MODERATE, _NOT_LARGE), "qr": (_NOT_LARGE,)}
"""Sizes of elements with which operands are overwritten, where not all will do."""
_PLACES: Final[Mapping[str, int | None]] = {"eigh": 1, "svd": None}
"""Which result lies where the operand was, if it is not the first one."""


def bind(name: str, operands: tuple[Form, ...], result: Result, check: bool) -> Kernel:
    """The kernel ``name_overwriting`` for these forms.

    >>> import tensor_linalg  # declares what parameters these kernels have
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1, 1), CPU)
    >>> bind("cholesky", (form,), form, True)(np.array([[4.0]])).tolist()
    [[2.0]]
    """
    key = (check, "auto") if name in ("eigh", "svd") else check
    usual = kernel_table.bind(name, operands, result, bound_params(name, key))
    if not (AVAILABLE and _fits(name, operands, result)):
        return usual
    results = result if isinstance(result, tuple) else (result,)
    batch = operands[0].shape[2:]
    count, cores = prod(batch), [one.shape[: one.rank - len(batch)][::-1] for one in results]
    in_place = _bound(name, operands, results, cores)
    limits = _LIMITS.get(name, (None, None))

    def kernel(*arrays: Array) -> Any:
        for which, array, sizes in zip("ab", arrays, limits, strict=False):
            if not _is_moderate(array, sizes):
                if check:
                    require_finite(name, which, array, min(2, array.ndim))
                return usual(*arrays)
        if not all(array.flags.writeable and array.flags.c_contiguous for array in arrays):
            return usual(*arrays)
        stacks = [array.reshape(count, *array.shape[array.ndim - min(2, array.ndim) :]) for array in arrays]
        found = []
        for number in range(count):
            parts = in_place(*[stack[number] for stack in stacks])
            if parts is None:
                index = np.unravel_index(number, batch[::-1]) if batch else ()
                raise _refused(name, tuple(int(i) for i in reversed(index)), stacks[0][number])
            found.append(parts if isinstance(parts, tuple) else (parts,))
        whole = []
        for position, form in enumerate(results):
            if position == _PLACES.get(name, 0):
                whole.append(arrays[-1])
            else:
                each = [parts[position] for parts in found]
                whole.append((each[0] if count == 1 else np.stack(each)).reshape(form.shape[::-1]))
        return tuple(whole) if isinstance(result, tuple) else whole[0]

    return ignoring_fp_errors(kernel)


def _fits(name: str, operands: tuple[Form, ...], result: Result) -> bool:
    a, last = operands[0], operands[-1]
    rows, columns = a.shape[:2]
    if a.dtype not in (F64, C64) or any(form.dtype is not a.dtype or not form.is_compact for form in operands):
        return False
    if min(rows, columns) < _LEAST or not last.size or (name == "qr" and rows < columns):
        return False
    if rows * max(rows, columns) * 8 >= 2**31:  # with every workspace, what integers of 32 bits count
        return False
    return name != "solve" or (
        last.shape[2:] == a.shape[2:] and isinstance(result, Form) and last.shape == result.shape
    )


def _bound(
    name: str, operands: tuple[Form, ...], results: tuple[Form, ...], cores: list[tuple[int, ...]]
) -> Callable[..., Any]:
    from tensor_cpu.system.blas import open_blas
    from tensor_cpu.system.extension import LIBRARY

    open_blas()
    a, last = operands[0], operands[-1]
    rows, columns = a.shape[:2]
    right = 0 if name != "solve" else prod(last.shape[1:2])
    return LIBRARY.bind_lapack(
        name,
        a.dtype.name,
        rows=rows,
        columns=columns,
        right=right,
        batch=(),
        a_strides=(rows, 1),
        b_strides=(rows, 1) if right else (0, 0),
        results=tuple((core, form.dtype.name) for core, form in zip(cores, results, strict=True)),
        check=False,
        fallback=nothing_behind,
        overwrite=True,
    )


def _is_moderate(array: Array, limits: tuple[float, float] | None) -> bool:
    """Whether all elements are finite, and zero or between limits if there are any; a few rows at a time."""
    rows = array.reshape(-1, array.shape[-1])
    for start in range(0, len(rows), _STRIP_ROWS):
        part = rows[start : start + _STRIP_ROWS]
        if not np.isfinite(part).all():
            return False
        if limits is not None:
            least, most = limits
            sizes = np.abs(part)
            if sizes.max() > most or (least and sizes.min(where=sizes > 0, initial=1.0) < least):
                return False
    return True


def _refused(name: str, batch: tuple[int, ...], left: Array) -> LinalgError:
    """Of the matrix at a batch index, from what LAPACK left of it."""
    if name in ("eigh", "svd"):
        return linalg.not_converged(name, batch)
    if name in ("inv", "solve"):
        return linalg.exactly_singular(name, batch)
    pivots = np.diagonal(left).real  # roots up to the one that has none, which is left as it was met
    return not_positive_definite(int(np.argmin(pivots > 0)) + 1, batch)


def bind_lu_factor(operands: tuple[Form], result: tuple[Form, Form], check: bool) -> Kernel:
    """The kernel that leaves both factors where the matrix was.

    >>> import tensor_linalg  # declares what parameters these kernels have
    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> forms = form_of(F64, (1, 1), CPU), form_of(I64, (1,), CPU)
    >>> [part.tolist() for part in bind_lu_factor(forms[:1], forms, True)(np.array([[2.0]]))]
    [[[2.0]], [0]]
    """
    usual = kernel_table.bind("lu_factor", operands, result, bound_params("lu_factor", check))
    a = operands[0]
    rows, columns, batch = a.shape[0], a.shape[1], a.shape[2:]
    if not AVAILABLE or not _fits("lu_factor", operands, result) or rows * columns > lapack.limit():
        return usual
    routine = "dgetrf" if a.dtype is F64 else "zgetrf"

    def kernel(array: Array) -> Any:
        owned = array.flags.writeable and array.flags.c_contiguous
        if not owned or not _is_moderate(array, _MODERATE):
            return usual(array)
        permutation = np.empty((prod(batch), rows), np.int64)
        for matrix, order in zip(array.reshape(-1, columns, rows), permutation, strict=True):
            pivots = lapack.integers(min(rows, columns))
            lapack.call(routine, rows, columns, matrix, rows, pivots)  # a pivot of zero is no failure
            order[...] = factors.order_of(pivots, rows)
        return array, permutation.reshape(result[1].shape[::-1])

    return ignoring_fp_errors(kernel)


def bind_triangular_solve(operands: tuple[Form, Form], result: Form, *params: bool) -> Kernel:
    """The kernel that leaves large solutions where the right-hand sides were.

    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1, 1), CPU)
    >>> kernel = bind_triangular_solve((form, form), form, False, False, False, False)
    >>> kernel(np.array([[2.0]]), np.array([[4.0]])).tolist()
    [[2.0]]
    """
    options = TriangularSolveParams(*params)
    usual = kernel_table.bind("triangular_solve", operands, result, options)
    if result.shape[0] < _LEAST or result.shape[1] <= FEW_SIDES or not result.size or not operands[1].is_compact:
        return usual
    native = blas.bind_in_place(operands, options) if AVAILABLE else None
    in_place = native or numpy.bind_in_place(result, options)

    def kernel(a: Array, b: Array) -> Array:
        solved: Array = (in_place if b.flags.writeable and b.flags.c_contiguous else usual)(a, b)
        return solved

    return kernel


_OTHERS: Final[Mapping[str, Callable[..., Kernel]]] = {
    "lu_factor_overwriting": bind_lu_factor,
    "triangular_solve_overwriting": bind_triangular_solve,
}
BINDERS: Final[Mapping[str, Binder]] = {
    name: taking_fields(_OTHERS.get(name) or partial(bind, name.removesuffix("_overwriting")))
    for name in kernel_table.kernels_of("linalg.variants.overwriting")
}
