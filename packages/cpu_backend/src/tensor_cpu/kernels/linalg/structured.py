"""Systems whose matrices are given by their diagonals.

Banded ones by SciPy's binding of the LAPACK routine ``gbsv``, one matrix of a stack after the other; Hermitian ones by
A = L D Lᴴ and Toeplitz ones by Levinson's recursion, each step for all matrices of a batch at once. F32 and
C32 are computed in double precision and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.linalg.checks import not_positive_definite, require_finite, require_indexable
from tensor_cpu.kernels.linalg.limits.powers import powers_of, scaled, side_powers
from tensor_cpu.kernels.linalg.limits.scaling import of_moderate_sides
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.errors import SingularMatrixError, matrix_at
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

_AT_ONCE: Final = 8
"""Parts of a sum of products."""


def bind_solve_banded(operands: tuple[Form, Form], result: Form, lower: int, upper: int, check: bool, /) -> Kernel:
    """The kernel that solves A X = B for stacks of matrices of which the diagonals are given.

    Raises:
        SizeLimitError: LAPACK's integers are too short for the shapes.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bands, sides = form_of(F64, (2, 2), CPU), form_of(F64, (2, 1), CPU)
    >>> kernel = bind_solve_banded((bands, sides), sides, 0, 1, True)
    >>> kernel(np.array([[0.0, 2.0], [1.0, 4.0]]), np.array([[4.0, 8.0]])).tolist()
    [[1.0, 2.0]]
    """
    looking = without_sides(bind_solve_banded, 2, operands, result, lower, upper, check)
    if looking is not None:
        return looking
    from scipy.linalg import get_lapack_funcs

    bands, sides = operands
    size, columns, batch = result.shape[0], prod(result.shape[1:2]), result.shape[2:]
    one_matrix = bands.rank == 2
    largest = max(size * (2 * lower + upper + 1), size * (prod(sides.shape[1:]) if one_matrix else columns))
    require_indexable("solve_banded", result.shape, largest)
    dtype = NUMPY_DTYPES[result.dtype]
    wide = np.result_type(dtype, np.float64)
    gbsv: Any = get_lapack_funcs("gbsv", dtype=wide)
    ranks = (min(2, bands.rank), min(2, sides.rank))

    def solved(band: Array, right: Array, place: tuple[int, ...]) -> Array:
        """Transposed solutions; ``band`` is [N, l + u + 1], ``right`` [M, N]."""
        work = np.zeros((size, 2 * lower + upper + 1), wide)  # what the exchange of rows fills comes first
        work[:, lower:] = band
        power = powers_of(work)
        of_right = side_powers(right, power)
        side = np.array(right, wide, order="C")
        side = scaled(side, -of_right) if power.any() else side
        work = scaled(work, -power) if power.any() else work
        *_, x, info = gbsv(lower, upper, work.T, side.T, overwrite_ab=1, overwrite_b=1)
        if info > 0:
            raise SingularMatrixError(
                f"solve_banded: {matrix_at(place)} is exactly singular; "
                "lstsq() of the whole matrix gives the least-squares solution",
                operation="solve_banded",
                batch_index=place,
                element_index=None,
            )
        return scaled(x.T, of_right - power) if power.any() else np.asarray(x.T)

    def kernel(ab: Array, b: Array) -> Array:
        if check:
            require_finite("solve_banded", "ab", ab, ranks[0])
            require_finite("solve_banded", "b", b, ranks[1])
        if not result.size:
            return np.zeros(result.shape[::-1], dtype)
        if one_matrix:  # whose factors serve all right-hand sides
            found = np.array(solved(ab, b.reshape(-1, size), ()), dtype, order="C")
            return found.reshape(result.shape[::-1])
        out = np.empty(result.shape[::-1], dtype)
        matrices = np.broadcast_to(_padded(ab, len(batch)), (*batch[::-1], *ab.shape[-2:]))
        rights = np.broadcast_to(_padded(b, len(batch)), out.shape)
        given = bands.shape[2:]
        for index in np.ndindex(*batch[::-1]):
            place = index[::-1][len(batch) - len(given) :]
            own = tuple(0 if extent == 1 else i for i, extent in zip(place, given, strict=True))
            out[index] = solved(matrices[index], rights[index], own)
        return out

    return ignoring_fp_errors(_moderating(kernel))


def bind_solveh_banded(operands: tuple[Form, Form], result: Form, lower: bool, check: bool, /) -> Kernel:
    """The kernel that solves A X = B for stacks of Hermitian matrices of which half of the diagonals are given.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bands, sides = form_of(F64, (2, 2), CPU), form_of(F64, (2, 1), CPU)
    >>> kernel = bind_solveh_banded((bands, sides), sides, True, True)
    >>> kernel(np.array([[4.0, 2.0], [5.0, 0.0]]), np.array([[8.0, 12.0]])).tolist()
    [[1.0, 2.0]]
    """
    looking = without_sides(bind_solveh_banded, 2, operands, result, lower, check)
    if looking is not None:
        return looking
    bands, sides = operands
    width, size = bands.shape[0] - 1, bands.shape[1]
    columns, batch, given = prod(result.shape[1:2]), result.shape[:1:-1], bands.shape[2:]
    dtype = NUMPY_DTYPES[result.dtype]
    wide = np.result_type(dtype, np.float64)
    ranks = (2, min(2, sides.rank))

    def lower_half(ab: Array) -> Array:
        """[..., N, u + 1] from the main diagonal down, with zeros for what is no element."""
        half = np.zeros(ab.shape, wide)
        for k in range(min(width + 1, size)):
            line = ab[..., : size - k, k] if lower else ab[..., k:, width - k].conj()
            half[..., : size - k, k] = line if k else line.real
        return half

    def kernel(ab: Array, b: Array) -> Array:
        if check:
            require_finite("solveh_banded", "ab", ab, ranks[0])
            require_finite("solveh_banded", "b", b, ranks[1])
        if not result.size:
            return np.zeros(result.shape[::-1], dtype)
        half = _padded(lower_half(ab), len(batch))
        right = _padded(np.asarray(b, wide).reshape(*b.shape[:-2], columns, size), len(batch))
        power = powers_of(half)
        of_right = side_powers(right, power)
        if power.any():
            half, right = scaled(half, -power), scaled(right, -of_right)
        x = np.array(np.broadcast_to(right, (*batch, columns, size)))
        bad = _solve_positive(half, x)
        if bad.any():
            index = np.unravel_index(int((bad > 0).argmax()), bad.shape)
            place = tuple(int(i) for i in reversed(index))[len(batch) - len(given) :]
            raise not_positive_definite(int(bad[index]), place, "solveh_banded", read="half of the band")
        x = scaled(x, of_right - power) if power.any() else x
        return np.array(x.reshape(result.shape[::-1]), dtype, order="C")

    return ignoring_fp_errors(_moderating(kernel))


def _solve_positive(half: Array, x: Array) -> Array:
    """Solve in place, x [..., M, N]; the order of each matrix's smallest leading block that is not positive, or 0."""
    size, rows = half.shape[-2:]
    bad = np.zeros(half.shape[:-2], int)
    for j in range(size):
        below = min(rows - 1, size - 1 - j)
        positive = half[..., j, 0].real > 0
        bad = np.where((bad == 0) & ~positive, j + 1, bad)
        half[..., j, 0] = np.where(positive, half[..., j, 0].real, 1)
        pivot = half[..., j, :1].real
        column = half[..., j, 1 : below + 1].copy()
        half[..., j, 1 : below + 1] = quotients = _over_real(column, pivot)
        for c in range(below):
            rest = half[..., j + 1 + c, : below - c]
            half[..., j + 1 + c, : below - c] = _less_product(rest, column[..., c:], quotients[..., c : c + 1].conj())
        later = x[..., j + 1 : j + 1 + below]
        x[..., j + 1 : j + 1 + below] = _less_product(later, quotients[..., None, :], x[..., j : j + 1])
    for j in range(size - 1, -1, -1):
        left = _over_real(x[..., j], half[..., j, :1].real)
        for i in range(min(rows - 1, size - 1 - j), 0, -1):
            left = _less_product(left, half[..., j, i : i + 1].conj(), x[..., j + i])
        x[..., j] = left
    return bad


def _over_real(x: Array, y: Array) -> Array:
    """Quotients of a real y; NumPy would divide by a complex one."""
    if x.dtype.kind != "c":
        return np.asarray(x / y)
    found = np.empty(np.broadcast_shapes(x.shape, y.shape), x.dtype)
    found.real, found.imag = x.real / y, x.imag / y
    return found


def _moderating(kernel: Callable[[Array, Array], Array]) -> Kernel:
    """Solutions by a kernel; where one is not finite, once more of right-hand sides that are no longer large."""

    def moderating(diagonals: Array, sides: Array) -> Array:
        found = kernel(diagonals, sides)
        return found if np.isfinite(found).all() else of_moderate_sides(kernel, found, diagonals, sides)

    return moderating


def without_sides(
    bind: Callable[..., Kernel | None], core_rank: int, operands: tuple[Form, Form], result: Form, *params: Any
) -> Kernel | None:
    """The kernel for right-hand sides without elements, which refuses every matrix that it refuses beside a column.

    Args:
        bind: binds the kernel of such systems.
        core_rank: how many axes of the diagonals are not batch axes.
        operands: the diagonals and the right-hand sides.
        result: [N, M, B...], or [N].
        params: what ``bind`` takes behind them.

    Returns:
        None where there are such elements, or no matrices, or ``bind`` gives None.

    >>> from tensor_core import F64
    >>> from tensor_runtime.placement import CPU
    >>> bands, sides = form_of(F64, (1, 2), CPU), form_of(F64, (2, 0), CPU)
    >>> kernel = without_sides(bind_solve_banded, 2, (bands, sides), sides, 0, 0, True)
    >>> kernel(np.array([[1.0], [0.0]]), np.zeros((0, 2)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_runtime.errors.SingularMatrixError: solve_banded: the matrix is exactly singular; lstsq() of the whole ...
    """
    diagonals = operands[0]
    if result.size or not diagonals.size:
        return None
    column = form_of(result.dtype, (result.shape[0], 1, *diagonals.shape[core_rank:]), result.placement)
    kernel = bind((diagonals, column), column, *params)
    if kernel is None:
        return None
    dtype = NUMPY_DTYPES[result.dtype]
    zeros = np.zeros(column.shape[::-1], dtype)

    def looking(given: Array, _: Array) -> Array:
        kernel(given, zeros)
        return np.zeros(result.shape[::-1], dtype)

    return looking


def bind_solve_toeplitz(operands: tuple[Form, Form], result: Form, check: bool, /) -> Kernel:
    """The kernel that solves T X = B for stacks of matrices of which the diagonals are given.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> diagonals, sides = form_of(F64, (3,), CPU), form_of(F64, (2, 1), CPU)
    >>> kernel = bind_solve_toeplitz((diagonals, sides), sides, True)
    >>> kernel(np.array([1.0, 2.0, 1.0]), np.array([[3.0, 3.0]])).tolist()
    [[1.0, 1.0]]
    """
    looking = without_sides(bind_solve_toeplitz, 1, operands, result, check)
    if looking is not None:
        return looking
    size, columns, batch = result.shape[0], prod(result.shape[1:2]), result.shape[:1:-1]
    wide = np.result_type(NUMPY_DTYPES[result.dtype], np.float64)
    ranks = (1, min(2, operands[1].rank))
    given = operands[0].shape[1:]

    def levinson(c: Array, r: Array, b: Array) -> tuple[Array, Array]:
        """Solutions [..., M, N] and where a leading block is singular; c and r are [..., 1, N], b is [..., M, N]."""
        forward = backward = _divided(np.ones_like(c[..., :1]), c[..., :1])
        singular = c[..., 0] == 0
        x = _divided(b[..., :1], c[..., :1])
        nothing = np.zeros_like(forward)
        for count in range(1, size):
            below = c[..., count:0:-1]
            of_forward, of_backward = _dot(below, forward), _dot(r[..., 1 : count + 1], backward)
            left = _less_product(np.ones_like(of_forward), of_forward, of_backward)
            singular = singular | (left[..., 0] == 0)
            longer, later = np.concatenate([forward, nothing], -1), np.concatenate([nothing, backward], -1)
            forward = _divided(_less_product(longer, of_forward, later), left)
            backward = _divided(_less_product(later, of_backward, longer), left)
            step = _dot(below, x) - b[..., count : count + 1]
            x = _less_product(np.concatenate([x, np.zeros_like(step)], -1), backward, step)
        return x, singular[..., 0]

    def kernel(diagonals: Array, b: Array) -> Array:
        if check:
            require_finite("solve_toeplitz", "diagonals", diagonals, ranks[0])
            require_finite("solve_toeplitz", "b", b, ranks[1])
        stack = _padded(np.asarray(diagonals, wide)[..., None, :], len(batch))
        sides = _padded(np.asarray(b, wide).reshape(*b.shape[:-2], columns, size), len(batch))
        power = powers_of(stack)
        of_sides = side_powers(sides, power)
        if power.any():
            stack, sides = scaled(stack, -power), scaled(sides, -of_sides)
        x, singular = levinson(stack[..., size - 1 :], stack[..., size - 1 :: -1], sides)
        x = scaled(x, of_sides - power) if power.any() else x
        if check and singular.any():
            raise _singular(singular, given)
        out: Any = np.broadcast_to(x, (*batch, columns, size)).reshape(result.shape[::-1])
        return np.array(out, NUMPY_DTYPES[result.dtype], order="C")

    return ignoring_fp_errors(_moderating(kernel))


# Rounded as csrc/linalg/number_body.h and systems_body.h round it: how NumPy rounds complex products, and sums, depends
# on how many there are, so that a leading block would be singular, or not, depending on the matrices beside it.


def _dot(x: Array, y: Array) -> Array:
    """Sums of products along the last axis, [..., 1], in eight parts."""
    x, y = np.broadcast_arrays(x, y)
    if x.dtype.kind != "c":
        return _summed((x * y)[..., None])
    found = np.empty((*x.shape[:-1], 1), x.dtype)
    found.real = _summed(np.stack([x.real * y.real, -(x.imag * y.imag)], -1))
    found.imag = _summed(np.stack([x.real * y.imag, x.imag * y.real], -1))
    return found


def _summed(terms: Array) -> Array:
    """Sums [..., 1] of terms [..., count, width]: every eighth, then the rest of them, one after the other."""
    *batch, count, width = terms.shape
    full = count - count % _AT_ONCE
    parts = terms[..., full:, :].reshape(*batch, -1).cumsum(-1)[..., -1:]
    if not full:
        return np.asarray(parts)
    lanes = terms[..., :full, :].reshape(*batch, -1, _AT_ONCE, width).swapaxes(-3, -2).reshape(*batch, _AT_ONCE, -1)
    return np.asarray(np.concatenate([parts, lanes.cumsum(-1)[..., -1]], -1).cumsum(-1)[..., -1:])


def _less_product(base: Array, x: Array, y: Array) -> Array:
    if base.dtype.kind != "c":
        return np.asarray(base - x * y)
    found = np.empty(np.broadcast_shapes(base.shape, x.shape, y.shape), base.dtype)
    found.real = base.real - x.real * y.real + x.imag * y.imag
    found.imag = base.imag - x.real * y.imag - x.imag * y.real
    return found


def _divided(x: Array, y: Array) -> Array:
    if x.dtype.kind != "c":
        return np.asarray(x / y)
    sizes = np.maximum(np.abs(y.real), np.abs(y.imag))
    power = np.where(sizes == 0, 0, np.clip(1 - np.frexp(sizes)[1], -1000, 1000))
    over, unit = scaled(x, power), scaled(y, power)
    square = unit.real * unit.real + unit.imag * unit.imag
    found = np.empty(np.broadcast_shapes(x.shape, y.shape), x.dtype)
    found.real = (over.real * unit.real + over.imag * unit.imag) / square
    found.imag = (over.imag * unit.real - over.real * unit.imag) / square
    return found


def _singular(found: Array, batch: tuple[int, ...]) -> SingularMatrixError:
    first = np.unravel_index(int(found.argmax()), found.shape)
    index = tuple(int(i) for i in reversed(first))[found.ndim - len(batch) :]
    return SingularMatrixError(
        f"solve_toeplitz: {matrix_at(index)} has a leading block that is exactly "
        "singular; solve() takes the matrix itself",
        operation="solve_toeplitz",
        batch_index=index,
        element_index=None,
    )


def _padded(stack: Array, batch_rank: int) -> Array:
    """The stack with as many batch axes as the result; those that it lacks stand before the tensor's own."""
    missing = batch_rank + 2 - stack.ndim
    return stack.reshape(*stack.shape[:-2], *(1,) * missing, *stack.shape[-2:])


BINDERS: Final[Mapping[str, Binder]] = {
    "solve_banded": taking_fields(bind_solve_banded),
    "solve_toeplitz": taking_fields(bind_solve_toeplitz),
    "solveh_banded": taking_fields(bind_solveh_banded),
}
