"""Decompositions that NumPy lacks, by LAPACK called through ``ctypes``, one matrix of a stack after the other.

Everything is computed in binary64; F32 and C32 are rounded once, at the end. A matrix [M, N] of a transposed array is a
C-contiguous array (N, M), which LAPACK reads as column-major [M, N].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from tensor_core.dtypes import FLOATING
from tensor_core.errors import SizeLimitError
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernel_table import bind as bind_best
from tensor_cpu.kernels.linalg.checks import require_finite
from tensor_cpu.kernels.linalg.limits.powers import (
    has_extreme_pivots,
    minute_powers,
    scale_away_from_limits,
    scaled,
)
from tensor_cpu.kernels.linalg.numpy import not_converged
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_cpu.system import lapack
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

_EVERY_POWER: Final = 1100
"""Beyond the exponents of all numbers."""


class Routine(NamedTuple):
    """One decomposition of one matrix."""

    compute: Callable[..., int]
    """Takes the matrix, which it may destroy, and the arrays of its results, which it fills; 0 when all went well."""
    elements: Callable[[int, int], int]
    """Of its largest array, from M and N."""


def lu_factor(a: Array, packed: Array, permutation: Array) -> int:
    """Both triangles in one matrix, and where each row came from.

    >>> packed, permutation = np.empty((2, 2)), np.empty(2, int)
    >>> lu_factor(np.array([[1.0, 2.0], [3.0, 4.0]]), packed, permutation), packed.T.tolist(), permutation.tolist()
    (0, [[2.0, 4.0], [0.5, 1.0]], [1, 0])
    """
    columns, rows = a.shape
    pivots = lapack.integers(min(rows, columns))
    power = scale_away_from_limits(a)
    packed[...] = a
    lapack.call(_name("getrf", a), rows, columns, a, rows, pivots)  # a pivot of zero is no failure
    if has_extreme_pivots(a):
        pivots[...] = _eliminate(packed)
    else:
        packed[...] = a
    if power:
        upper = np.triu(np.ones((rows, columns), bool)).T
        packed[upper] = scaled(packed[upper], power)
    permutation[...] = order_of(pivots, rows)
    return 0


def order_of(pivots: Array, rows: int) -> Array:
    """Where each row came from, given with which row, from 1, each was exchanged.

    >>> order_of(np.array([2, 2]), 3).tolist()
    [1, 0, 2]
    """
    order = np.arange(rows)
    for step, pivot in enumerate(pivots.tolist()):
        if pivot - 1 != step:
            order[[step, pivot - 1]] = order[[pivot - 1, step]]
    return order


def _eliminate(a: Array) -> Array:
    """Replace a matrix (N, M) by its factors, dividing by pivots; which row, from 1, each row was exchanged with."""
    steps = min(a.shape)
    pivots = np.empty(steps, int)
    for step in range(steps):
        column = a[step, step:]
        row = step + int((np.abs(column.real) + np.abs(column.imag)).argmax())
        pivots[step] = row + 1
        a[:, [step, row]] = a[:, [row, step]]
        if a[step, step] != 0:
            power = -min(int(np.frexp(np.abs(a[step, step]))[1]), 0)  # complex quotients take a reciprocal
            a[step, step + 1 :] = scaled(a[step, step + 1 :], power) / scaled(a[step, step], power)
            a[step + 1 :, step + 1 :] -= a[step + 1 :, step, None] * a[step, step + 1 :]
    return pivots


def qr_pivoted(a: Array, q: Array, r: Array, permutation: Array) -> int:
    """Thin factors of the matrix with its columns in another order.

    >>> q, r, permutation = np.empty((1, 1)), np.empty((2, 1)), np.empty(2, int)
    >>> qr_pivoted(np.array([[1.0], [-2.0]]), q, r, permutation), (q @ r.T).tolist(), permutation.tolist()
    (0, [[-2.0, 1.0]], [1, 0])
    """
    columns, rows = a.shape
    short = min(rows, columns)
    order, tau = lapack.integers(columns), np.empty(short, a.dtype)
    reals = (np.empty(2 * columns),) if a.dtype.kind == "c" else ()
    info = _call_with_work(_name("geqp3", a), rows, columns, a, rows, order, tau, after=reals)
    r.T[...] = np.triu(a.T[:short])
    permutation[...] = order - 1
    q[...] = a[:short]
    return info or _call_with_work(_name("orgqr", a, "ungqr"), rows, short, short, q, rows, tau)


def ldl(a: Array, lower: Array, diagonal: Array, permutation: Array) -> int:
    """Factors of a Hermitian matrix whose lower triangle is read: unit lower triangle and blocks of 1 and 2.

    >>> lower, diagonal, permutation = np.empty((2, 2)), np.empty((2, 2)), np.empty(2, int)
    >>> ldl(np.array([[4.0, 2.0], [2.0, 3.0]]), lower, diagonal, permutation), lower.T.tolist(), diagonal.tolist()
    (0, [[1.0, 0.0], [0.5, 1.0]], [[4.0, 0.0], [0.0, 2.0]])
    """
    size = len(a)
    pivots, beside = lapack.integers(size), np.zeros(size, a.dtype)
    power = scale_away_from_limits(a)
    given = a.copy()
    if _call_with_work(_name("sytrf", a, "hetrf"), "L", size, a, size, pivots):
        # A block is exactly 0, which is no failure; but xLASYF leaves in its column what it should have updated.
        a[...] = given
        lapack.call(_name("sytf2", a, "hetf2"), "L", size, a, size, pivots)
    lapack.call(_name("syconv", a), "L", "C", size, a, size, pivots, beside)
    matrix = a.T
    lower.T[...] = np.tril(matrix, -1) + np.eye(size)
    diagonal[...] = np.diag(matrix.diagonal())
    steps = np.arange(size - 1)
    diagonal.T[steps + 1, steps] = beside[:-1]
    diagonal.T[steps, steps + 1] = beside[:-1].conj()
    diagonal[...] = scaled(diagonal, power)
    order, step = np.arange(size), 0
    while step < size:
        pivot, width = (pivots[step] - 1, 1) if pivots[step] > 0 else (-pivots[step] - 1, 2)
        last = step + width - 1
        order[[last, pivot]] = order[[pivot, last]]
        step += width
    permutation[...] = order
    return 0


def schur(a: Array, triangle: Array, vectors: Array) -> int:
    """The triangle, of a real matrix with blocks of 2, and the Schur vectors.

    >>> triangle, vectors = np.empty((2, 2)), np.empty((2, 2))
    >>> schur(np.array([[1.0, 0.0], [2.0, 3.0]]), triangle, vectors), triangle.T.tolist()
    (0, [[1.0, 2.0], [0.0, 3.0]])
    """
    if not np.isfinite(a).all():
        return 1  # LAPACK's iteration may not end
    given = a.copy()
    info = _schur_once(a, triangle, vectors)
    if info:  # elements of many sizes: it may end near 1, or from the other end
        power = 0 if (powers := minute_powers(given, _EVERY_POWER)) is None else int(powers.item())
        near = scaled(given, -power)
        a[...] = near
        info = _schur_once(a, triangle, vectors)
        if info:
            a[...] = near[::-1, ::-1]
            info = _schur_once(a, triangle, vectors)
            vectors[...] = vectors[:, ::-1].copy()
        triangle[...] = scaled(triangle, power)
    return info


def _schur_once(a: Array, triangle: Array, vectors: Array) -> int:
    size = len(a)
    order = np.empty(size, a.dtype)
    values = (order,) if a.dtype.kind == "c" else (order, np.empty(size))
    reals = (np.empty(size),) if a.dtype.kind == "c" else ()
    found = lapack.integers(1)
    info = _call_with_work(
        _name("gees", a), "V", "N", None, size, a, size, found, *values, vectors, size,
        after=(*reals, lapack.integers(size)),
    )  # fmt: skip
    triangle[...] = a
    return info


def hessenberg(a: Array, triangle: Array, vectors: Array) -> int:
    """The matrix with one diagonal below its upper triangle, and the unitary matrix that makes it.

    >>> triangle, vectors = np.empty((1, 1)), np.empty((1, 1))
    >>> hessenberg(np.array([[2.0]]), triangle, vectors), triangle.tolist(), vectors.tolist()
    (0, [[2.0]], [[1.0]])
    """
    size = len(a)
    tau = np.zeros(max(size - 1, 1), a.dtype)
    info = _call_with_work(_name("gehrd", a), size, 1, size, a, size, tau)
    triangle.T[...] = np.triu(a.T, -1)
    vectors[...] = a
    return info or _call_with_work(_name("orghr", a, "unghr"), size, 1, size, vectors, size, tau)


def _name(real: str, a: Array, other: str = "") -> str:
    return f"z{other or real}" if a.dtype.kind == "c" else f"d{real}"


def _call_with_work(name: str, *before: Any, after: tuple[Any, ...] = ()) -> int:
    """Call a routine whose arguments end in a workspace of the size that it asks for, and what comes after that."""
    arguments = tuple(None if isinstance(one, np.ndarray) else one for one in before)
    size = _work_size(name, arguments, len(after))
    return lapack.call(name, *before, np.empty(size, _wide_of(name)), size, *after)


@lru_cache(maxsize=256)
def _work_size(name: str, before: tuple[Any, ...], after: int) -> int:
    """What a routine asks for; it looks at no array then."""
    asked = np.zeros(1, _wide_of(name))
    lapack.call(name, *before, asked, -1, *[None] * after)
    return max(int(asked[0].real), 1)


def _wide_of(name: str) -> Any:
    return np.complex128 if name[0] == "z" else np.float64


def _matrix(rows: int, columns: int) -> int:
    return max(rows, columns) * columns


ROUTINES: Final[Mapping[str, Routine]] = {
    "lu_factor": Routine(lu_factor, _matrix),
    "qr_pivoted": Routine(qr_pivoted, _matrix),
    "ldl": Routine(ldl, lambda rows, columns: 64 * rows * columns),
    "schur": Routine(schur, _matrix),
    "hessenberg": Routine(hessenberg, _matrix),
}
"""The decompositions by kernel name."""


def bind(name: str, operands: tuple[Form], result: tuple[Form, ...], check: bool) -> Kernel:
    """The kernel of one decomposition for these forms.

    Raises:
        SizeLimitError: LAPACK's integers are too short for the shapes.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1, 1), CPU)
    >>> [part.tolist() for part in bind("schur", (form,), (form, form), True)(np.array([[2.0]]))]
    [[[2.0]], [[1.0]]]
    """
    routine = ROUTINES[name]
    require_countable(name, operands[0], routine.elements)
    return stacked(name, operands[0], result, check, routine.compute)


def require_countable(operation: str, form: Form, elements: Callable[[int, int], int]) -> None:
    """Refuse what the library's integers cannot count.

    Raises:
        SizeLimitError: ``elements`` gives more for the extents of the matrices.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> require_countable("ldl", form_of(F64, (2, 2), CPU), lambda rows, columns: rows * columns)
    """
    most = lapack.limit()
    if elements(form.shape[0], form.shape[1]) > most:
        raise SizeLimitError(
            f"{operation}: matrices of shape {form.shape[:2]} need more elements in one array than the LAPACK in use "
            f"can count (at most {most})",
            operation=operation,
            shape=form.shape,
        )


def stacked(
    name: str, form: Form, result: tuple[Form, ...], check: bool, compute: Callable[..., int], operation: str = ""
) -> Kernel:
    """A kernel that calls a function for every matrix of a stack.

    Args:
        name: of the kernel.
        form: of the operand.
        result: forms of the results, of which each has the operand's batch axes.
        check: whether to check that the elements are finite.
        compute: see :class:`Routine`.
        operation: what errors call it; the kernel's name if empty.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1, 1), CPU)
    >>> [part.tolist() for part in stacked("hessenberg", form, (form, form), True, hessenberg)(np.array([[2.0]]))]
    [[[2.0]], [[1.0]]]
    """
    operation = operation or name
    rows, columns, *batch = form.shape
    count = prod(batch)
    cores = [one.shape[: one.rank - len(batch)][::-1] for one in result]
    wide, of_operand = [_wide(one) for one in result], _wide(form)

    def kernel(x: Array) -> tuple[Array, ...]:
        if check:
            require_finite(operation, "a", x)
        parts = [np.empty((count, *core), dtype) for core, dtype in zip(cores, wide, strict=True)]
        if form.size == 0:
            for part in parts:  # an order of nothing is the order that there was
                part[...] = np.arange(part.shape[-1]) if part.dtype.kind == "i" else 0
        else:
            stack = np.array(x, of_operand, order="C").reshape(count, columns, rows)
            for number in range(count):
                if compute(stack[number], *[part[number] for part in parts]):
                    index = np.unravel_index(number, batch[::-1]) if batch else ()
                    given = np.asarray(x).reshape(count, columns, rows)[number]
                    raise not_converged(operation, tuple(int(i) for i in reversed(index)), given)
        return tuple(
            part.reshape(one.shape[::-1]).astype(NUMPY_DTYPES[one.dtype], copy=False)
            for part, one in zip(parts, result, strict=True)
        )

    return ignoring_fp_errors(kernel)


def _wide(form: Form) -> Any:
    """NumPy's dtype in which a form's elements are computed."""
    if form.dtype not in FLOATING:
        return NUMPY_DTYPES[form.dtype]
    return np.result_type(NUMPY_DTYPES[form.dtype], np.float64)


def bind_eigh_range(operands: tuple[Form], result: tuple[Form, Form], first: int, last: int, check: bool, /) -> Kernel:
    """The kernel that finds all pairs, and keeps those that are wanted.

    >>> from tensor_core import F64
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2, 2), CPU)
    >>> kernel = bind_eigh_range((form,), (form_of(F64, (1,), CPU), form_of(F64, (2, 1), CPU)), 1, 1, True)
    >>> kernel(np.array([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()
    [2.0]
    """
    a = operands[0]
    size, *batch = a.shape[1:]
    whole = (form_of(a.dtype.component, (size, *batch), a.placement), form_of(a.dtype, a.shape, a.placement))
    kernel: Any = bind_best("eigh", operands, whole, (check, "auto"))

    def some(x: Array) -> tuple[Array, Array]:
        values, vectors = kernel(x)
        return (
            np.ascontiguousarray(values[..., first : last + 1]),
            np.ascontiguousarray(vectors[..., first : last + 1, :]),
        )

    return some


BINDERS: Final[Mapping[str, Binder]] = {
    **{name: taking_fields(partial(bind, name)) for name in ROUTINES},
    "eigh_range": taking_fields(bind_eigh_range),
}
