"""Native loops over factorizations: LU, LDL, pivoted and complete QR, Schur, Hessenberg, eig (csrc/linalg).

Each matrix of a stack is factored in the memory of the results, by LAPACK, and where that costs more or divides
wrongly, by eliminations of our own. Small matrices of F32 and C32 are computed in double precision and rounded once;
larger ones in the precision of their elements, and solutions that leave its range once more in double precision.

NumPy's kernel of the same operation stands behind each: whatever is refused is given to it, and it raises.
"""

from __future__ import annotations

from cmath import isfinite
from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import C32, C64, F32, F64, FLOATING, DType
from tensor_cpu.kernel_table import NativeBinder, bind_numpy, kernels_of
from tensor_cpu.kernel_table import bind as bind_best
from tensor_cpu.kernels.linalg import batched_simd, factors, structured
from tensor_cpu.kernels.linalg.lapack import stack_strides
from tensor_cpu.kernels.linalg.limits.scaling import of_moderate_sides
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import Array
from tensor_cpu.system.blas import open_blas
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand, Result

TAKES: Final = "matrices with elements, of one floating dtype"
_WIDE: Final[Mapping[DType, DType]] = {F32: F64, C32: C64}
_LARGEST_WIDE: Final = 32
"""Rows or columns of the largest matrices that are computed in double precision whatever their dtype."""
_FOUND_ALONE: Final = 32
"""Rows of the smallest matrices of which some pairs are found sooner than all."""


def bind(name: str, operands: tuple[Operand, ...], result: Result, check: bool) -> Kernel | None:
    """The native kernel, or None for matrices without elements and for what the library's integers cannot count.

    Raises:
        ArgumentError: the environment names a BLAS that does not exist.
        BackendUnavailableError: it names one that is not installed.
        SizeLimitError: neither this LAPACK nor the one behind it counts so far.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1, 1), CPU)
    >>> [part.tolist() for part in bind("schur", (form,), (form, form), True)(np.array([[2.0]]))]
    [[[2.0]], [[1.0]]]
    """
    a = operands[0]
    if not isinstance(a, Form):
        return None
    return factoring(name, a, result, (0, 0), check, bind_numpy(name, operands, result, (check,)))


def factoring(
    name: str, a: Form, result: Result, span: tuple[int, int], check: bool, fallback: Kernel
) -> Kernel | None:
    """The native kernel of one operand, or None, as :func:`bind` says.

    Args:
        name: of a routine in csrc/linalg/routines.h.
        a: the operand's form.
        result: a form, or a tuple of them.
        span: the first and the last eigenvalue wanted, from 1, or zeros.
        check: whether to check that the elements are finite.
        fallback: a kernel for the same forms.

    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> factoring("ldl", form_of(F64, (0, 0), CPU), (), (0, 0), True, print) is None
    True
    """
    results = result if isinstance(result, tuple) else (result,)
    if a.dtype not in FLOATING or any(form.size == 0 for form in (a, *results)):
        return None
    rows, columns, *batch = a.shape
    if 64 * max(rows, columns) ** 2 > open_blas().limit:  # more than any workspace
        return None
    return LIBRARY.bind_factorization(
        name,
        a.dtype.name,
        _computed(a.dtype, max(rows, columns)).name,
        sides=(rows, columns),
        right=(0, 0),
        span=span,
        batch=tuple(reversed(batch)),
        a_strides=stack_strides(a, tuple(batch)),
        b_strides=(),
        results=tuple((form.shape[::-1], form.dtype.name) for form in results),
        check=check,
        fallback=fallback,
    )


def bind_system(
    name: str, operands: tuple[Form, Form], result: Form, span: tuple[int, int], check: bool, fallback: Kernel
) -> Kernel | None:
    """The native kernel of a system whose matrices are given by their diagonals, or None, as :func:`bind` says.

    Args:
        name: "solve_banded", "solveh_banded" or "solve_toeplitz".
        operands: of the promoted dtype or not, the diagonals [D, N, B...] or [D, B...] and the right-hand sides.
        result: [N, M, B...], or [N].
        span: how many diagonals are below and above the main one, or zeros.
        check: whether to check that the elements are finite.
        fallback: a kernel for the same forms.

    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> empty = form_of(F64, (0,), CPU)
    >>> bind_system("solve_banded", (empty, empty), empty, (0, 0), True, print) is None
    True
    """
    diagonals, sides = operands
    core = 1 if name == "solve_toeplitz" else 2
    if any(form.size == 0 for form in (*operands, result)) or any(form.dtype is not result.dtype for form in operands):
        return None
    order, columns, batch = result.shape[0], prod(result.shape[1:2]), result.shape[2:]
    rows = diagonals.shape[0]
    if 4 * rows * max(order, columns * prod(batch)) > open_blas().limit:
        return None
    one = diagonals.rank == core and bool(batch)  # whose factors serve all right-hand sides
    if one:
        columns, batch = columns * prod(batch), ()
    strides = stack_strides(diagonals, batch, core)
    bind_computed = partial(
        LIBRARY.bind_factorization,
        name,
        result.dtype.name,
        sides=(rows, order if core == 2 else 1),
        right=(order, columns),
        span=span,
        batch=batch[::-1],
        a_strides=strides if core == 2 else (*strides[:-1], 0, strides[-1]),
        results=((result.shape[::-1], result.dtype.name),),
        check=check,
        fallback=fallback,
    )

    def bound(given: Form) -> Kernel:
        """The kernel of right-hand sides that lie so."""
        if one or given.rank == 1:
            right: tuple[int, ...] = (order if one else 0, 1 if one else given.strides[0])
        else:
            right = stack_strides(given, batch)
        kernel: Kernel = bind_computed(computed.name, b_strides=right)
        if computed is not wide:
            kernel = _widening(kernel, bind_computed(wide.name, b_strides=right), tuple(range(-min(2, result.rank), 0)))
        return batched_simd.compacting(kernel, 1) if one and not given.is_compact else kernel

    wide = _WIDE.get(result.dtype, result.dtype)
    computed = wide if name == "solveh_banded" else _computed(result.dtype, order)
    kernel = bound(sides)
    if wide is not result.dtype:  # floats are far from the limits of what they are computed in
        return kernel
    return _moderating(kernel, lambda: bound(form_of(sides.dtype, sides.shape, sides.placement)), result)


def _moderating(kernel: Kernel, bind_compact: Callable[[], Kernel], result: Form) -> Kernel:
    """Solutions by a kernel; where one is not finite, once more of right-hand sides that are no longer large.

    Args:
        kernel: solves.
        bind_compact: gives the same for right-hand sides that are compact.
        result: the form of solutions.
    """
    total: Any = bind_best(
        "sum", (result,), form_of(result.dtype, (), result.placement), (tuple(range(result.rank)), False)
    )

    @ignoring_fp_errors
    def again(found: Array, diagonals: Array, sides: Array) -> Array:
        compact = bind_compact()
        return of_moderate_sides(lambda a, b: compact(a, np.ascontiguousarray(b)), found, diagonals, sides)

    def moderating(diagonals: Array, sides: Array) -> Any:
        found = kernel(diagonals, sides)
        return found if isfinite(total(found).item()) else again(found, diagonals, sides)

    return moderating


def _widening(kernel: Kernel, wide: Kernel, core: tuple[int, ...]) -> Kernel:
    """Solutions by a kernel, and by one in double precision those that leave the range of floats on the way.

    ``core`` are the axes of one solution.
    """

    def widened(diagonals: Array, sides: Array) -> Any:
        found: Any = kernel(diagonals, sides)
        spoilt = ~np.isfinite(found).all(axis=core)
        if spoilt.any():
            found[spoilt] = wide(diagonals, sides)[spoilt]
        return found

    return widened


def _computed(dtype: DType, side: int) -> DType:
    return _WIDE.get(dtype, dtype) if side <= _LARGEST_WIDE else dtype


def bind_banded(operands: tuple[Form, Form], result: Form, lower: int, upper: int, check: bool, /) -> Kernel | None:
    """The native kernel of banded systems, or None, as :func:`bind` says.

    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bands, sides = form_of(F64, (2, 2), CPU), form_of(F64, (2, 1), CPU)
    >>> kernel = bind_banded((bands, sides), sides, 0, 1, True)
    >>> kernel(np.array([[0.0, 2.0], [1.0, 4.0]]), np.array([[4.0, 8.0]])).tolist()
    [[1.0, 2.0]]
    """
    looking = structured.without_sides(bind_banded, 2, operands, result, lower, upper, check)
    if looking is not None:
        return looking
    numpys = structured.bind_solve_banded(operands, result, lower, upper, check)
    return bind_system("solve_banded", operands, result, (lower, upper), check, numpys)


def bind_hermitian_band(operands: tuple[Form, Form], result: Form, lower: bool, check: bool, /) -> Kernel | None:
    """The native kernel of banded Hermitian systems, or None, as :func:`bind` says.

    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bands, sides = form_of(F64, (2, 2), CPU), form_of(F64, (2, 1), CPU)
    >>> kernel = bind_hermitian_band((bands, sides), sides, False, True)
    >>> kernel(np.array([[0.0, 4.0], [2.0, 5.0]]), np.array([[8.0, 12.0]])).tolist()
    [[1.0, 2.0]]
    """
    looking = structured.without_sides(bind_hermitian_band, 2, operands, result, lower, check)
    if looking is not None:
        return looking
    width = operands[0].shape[0] - 1
    behind = structured.bind_solveh_banded(operands, result, lower, check)
    return bind_system("solveh_banded", operands, result, (width, 0) if lower else (0, width), check, behind)


def bind_svd_full(operands: tuple[Form], result: tuple[Form, Form, Form], check: bool, /) -> Kernel | None:
    """The kernel that completes thin factors from lanes, or None where those are not found in lanes.

    >>> from tensor_runtime.placement import CPU
    >>> forms = [form_of(F64, shape, CPU) for shape in ((2, 1, 9), (2, 2, 9), (1, 9), (1, 1, 9))]
    >>> u, s, vh = bind_svd_full((forms[0],), tuple(forms[1:]), True)(np.ones((9, 1, 2)))
    >>> u.shape, abs(u[0]).round(12).tolist()
    ((9, 2, 2), [[0.707106781187, 0.707106781187], [0.707106781187, 0.707106781187]])
    """
    a, s = operands[0], result[1]
    rows, columns, *batch = a.shape
    short, long = sorted((rows, columns))
    shapes = ((rows, short, *batch), s.shape, (short, columns, *batch))
    thin_forms = tuple(form_of(form.dtype, shape, a.placement) for form, shape in zip(result, shapes, strict=True))
    thin = batched_simd.bind("svd", operands, thin_forms, check)
    narrow = form_of(a.dtype, (long, short, *batch), a.placement)
    square = form_of(a.dtype, (long, long, *batch), a.placement)
    complete = None if thin is None else bind("qr_complete", (narrow,), (square, narrow), False)
    if thin is None or complete is None:
        return None

    def completed(given: Array) -> Array:
        """Transposed square matrices that begin with these orthonormal columns."""
        basis: Array = complete(given)[0]
        basis[..., :short, :] = given
        return basis

    def full(x: Array) -> tuple[Array, Array, Array]:
        left, values, right = thin(x)
        if rows > columns:
            return completed(left), values, right
        adjoint = np.ascontiguousarray(right.conj().swapaxes(-1, -2))
        return left, values, np.ascontiguousarray(completed(adjoint).conj().swapaxes(-1, -2))

    return full if rows != columns else thin


def bind_toeplitz(operands: tuple[Form, Form], result: Form, check: bool, /) -> Kernel | None:
    """The native kernel of Toeplitz systems, or None, as :func:`bind` says.

    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> diagonals, sides = form_of(F64, (3,), CPU), form_of(F64, (2, 1), CPU)
    >>> kernel = bind_toeplitz((diagonals, sides), sides, True)
    >>> kernel(np.array([1.0, 2.0, 1.0]), np.array([[3.0, 3.0]])).tolist()
    [[1.0, 1.0]]
    """
    looking = structured.without_sides(bind_toeplitz, 1, operands, result, check)
    if looking is not None:
        return looking
    behind = structured.bind_solve_toeplitz(operands, result, check)
    return bind_system("solve_toeplitz", operands, result, (0, 0), check, behind)


def bind_eigh_range(
    operands: tuple[Form], result: tuple[Form, Form], first: int, last: int, check: bool, /
) -> Kernel | None:
    """The native kernel of some eigenvalues, or None, as :func:`bind` says, and where all are found as soon.

    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, values, vectors = (form_of(F64, shape, CPU) for shape in ((64, 64), (1,), (64, 1)))
    >>> bind_eigh_range((form,), (values, vectors), 63, 63, True)(np.diag(np.arange(64.0)))[0].round(12).tolist()
    [63.0]
    """
    size, count, wanted = operands[0].shape[0], prod(operands[0].shape[2:]), last - first + 1
    if size < _FOUND_ALONE or 2 * wanted > size or batched_simd.fills_lanes("eigh", size, count):
        return None
    behind = factors.bind_eigh_range(operands, result, first, last, check)
    return factoring("eigh_range", operands[0], result, (first + 1, last + 1), check, behind)


_OTHERS: Final[Mapping[str, NativeBinder]] = {
    "eigh_range": taking_fields(bind_eigh_range),
    "solve_banded": taking_fields(bind_banded),
    "solve_toeplitz": taking_fields(bind_toeplitz),
    "solveh_banded": taking_fields(bind_hermitian_band),
    "svd_full": taking_fields(bind_svd_full),
}
BINDERS: Final[Mapping[str, NativeBinder]] = {
    **{name: taking_fields(partial(bind, name)) for name in kernels_of("linalg.factorization")},
    **_OTHERS,
}
