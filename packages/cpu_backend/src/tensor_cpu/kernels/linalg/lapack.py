"""Native linear algebra: loops over LAPACK, in place on the column-major blocks of the results (csrc/linalg).

NumPy's kernel of the same operation stands behind each: a matrix that LAPACK refuses is given to it, and it raises, or
finds what rounding hid from LAPACK. F32 and C32 are computed in floats, and in doubles where floats do not do, or where
batches of such matrices are computed in lanes of doubles: a matrix has one precision, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import C64, F64, FLOATING
from tensor_core.shapes import Shape
from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.kernel_table import bind as bind_kernel
from tensor_cpu.kernels.linalg import drivers
from tensor_cpu.kernels.linalg import numpy as linalg
from tensor_cpu.kernels.linalg.checks import not_positive_definite
from tensor_cpu.kernels.linalg.limits.powers import reaches_the_limit
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import empty
from tensor_cpu.system.blas import open_blas
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.errors import NotPositiveDefiniteError, SingularMatrixError
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand, Result

_Strides = tuple[int, ...]


TAKES: Final = "matrices with elements, of one floating dtype"
_REFUSING: Final = frozenset(["cholesky", "inv", "solve"])
LARGEST_IN_LANES: Final = 64
"""Rows or columns of the largest matrices of which batches are computed in lanes."""


def bind(name: str, operands: tuple[Operand, ...], result: Result, check: bool, driver: str = "auto") -> Kernel | None:
    """The native kernel, or None for matrices without elements and for what the library's integers cannot count.

    Args:
        name: a key of :data:`BINDERS`.
        operands: forms of one dtype.
        result: a form, or a tuple of them.
        check: whether to check that the elements are finite.
        driver: the method, which here is "gesdd", or "evd" of Hermitian matrices.

    Raises:
        ArgumentError: the environment names a BLAS that does not exist.
        BackendUnavailableError: it names one that is not installed.
        SizeLimitError: neither this LAPACK nor NumPy's counts so far.

    >>> import numpy as np
    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2, 2), CPU)
    >>> bind("cholesky", (form,), form, True)(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    """
    forms = [operand for operand in operands if isinstance(operand, Form)]
    results = result if isinstance(result, tuple) else (result,)
    a, dtype = forms[0], forms[0].dtype
    if driver not in ("auto", "gesdd", "evd"):
        return None
    if any(form.size == 0 for form in (*forms, *results)) or len({form.dtype for form in forms}) > 1:
        return None
    if len(forms) != len(operands) or dtype not in FLOATING:
        return None
    if linalg.ROUTINES[name].elements(*(form.shape for form in forms)) > open_blas().limit:
        return None
    batch: Shape = results[0].shape[1:] if name in ("eigh", "eigvalsh", "svdvals") else results[0].shape[2:]
    right = 0
    b_strides: _Strides = (0, 0)
    if name == "det":
        batch = results[0].shape
    if name == "solve":
        b = forms[1]
        right = 1 if b.rank == 1 else b.shape[1]
        batch = b.shape[2:] if a.rank == 2 else batch
        b_strides = (0, b.strides[0]) if b.rank == 1 else stack_strides(b, batch)
    shared = a.rank == 2 and bool(batch)
    behind = drivers.bind(name, operands, result, check, driver)
    if batch and not shared and name in _REFUSING:
        behind = _each_alone(name, forms, results[0], check, behind)
    is_large = max(a.shape[:2]) > LARGEST_IN_LANES
    kernel = LIBRARY.bind_lapack(
        name,
        dtype.name,
        rows=a.shape[0],
        columns=a.shape[1],
        right=right,
        batch=batch[::-1],
        a_strides=a.strides[::-1] if shared else stack_strides(a, batch),
        b_strides=b_strides,
        results=tuple((form.shape[::-1], form.dtype.name) for form in results),
        check=check or name.startswith("svd"),  # whose iteration may never end beside an infinity
        fallback=behind,
        in_floats=is_large,
    )
    return _scaling(kernel, behind) if name == "qr" and is_large and dtype in (F64, C64) else kernel


def _each_alone(name: str, forms: list[Form], result: Form, check: bool, behind: Kernel) -> Kernel:
    """What stands behind LAPACK that refuses a matrix of a batch: each alone, so that none depends on the others."""
    *read, made = [form_of(form.dtype, form.shape[:2], form.placement) for form in (*forms, result)]

    def kernel(*arrays: Any) -> Any:
        if check and not all(np.isfinite(array).all() for array in arrays):
            return behind(*arrays)  # which raises
        one = bind_kernel(name, tuple(read), made, (False,))
        found = empty(result)
        batch = found.shape[:-2]
        stacks = [_spread(array, batch) for array in arrays]
        for place in np.ndindex(batch):
            try:
                found[place] = one(*(np.ascontiguousarray(stack[place]) for stack in stacks))
            except NotPositiveDefiniteError as error:
                told: Any = error
                raise not_positive_definite(told.element_index[0] + 1, place[::-1]) from None
            except SingularMatrixError:
                own = zip(place, arrays[0].shape[:-2], strict=False)  # batches are aligned at the last axis of tensors
                index = tuple(0 if extent == 1 else number for number, extent in own)
                raise linalg.exactly_singular(name, index[::-1]) from None
        return found

    return ignoring_fp_errors(kernel)


def _spread(array: Any, batch: Shape) -> Any:
    """A stack broadcast to a batch, of which it has the first axes."""
    own, matrix = array.shape[:-2], array.shape[-2:]
    return np.broadcast_to(array.reshape(*own, *(1,) * (len(batch) - len(own)), *matrix), (*batch, *matrix))


def _scaling(kernel: Kernel, behind: Kernel) -> Kernel:
    """Factors by LAPACK; by another kernel, which scales, where R is so large that reflectors may be infinite."""

    def scaling(a: Any) -> Any:
        q, r = kernel(a)
        return behind(a) if reaches_the_limit(r) else (q, r)

    return scaling


def stack_strides(form: Form, batch: Shape, core: int = 2) -> _Strides:
    """Strides in reversed order of axes of a stack ``[M, N, B...]`` that is broadcast to a batch shape.

    ``core`` is the number of axes before those of the batch.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> stack_strides(form_of(F64, (2, 3, 1, 5), CPU), (7, 4, 5))
    (6, 0, 0, 2, 1)
    """
    own = [stride if extent > 1 else 0 for extent, stride in zip(form.shape[core:], form.strides[core:], strict=True)]
    missing = len(batch) - len(own)
    return (*reversed(own), *[0] * missing, *reversed(form.strides[:core]))


BINDERS: Final[Mapping[str, NativeBinder]] = {
    name: taking_fields(partial(bind, name))
    for name in ("svd", "svdvals", "qr", "eigh", "eigvalsh", "cholesky", "solve", "inv", "det")
}
