"""Least squares by singular values, which the backend's own kernel ``svd`` finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernel_table import bind as bind_best
from tensor_cpu.kernels.linalg.checks import require_finite
from tensor_cpu.kernels.linalg.limits.powers import scaled
from tensor_cpu.kernels.linalg.numpy import not_converged
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.errors import NotConvergedError
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

_HEADROOM: Final = 24
"""Powers of two that are taken out where singular values, or sums on the way to solutions, are beyond the range."""


def _powers_of_large(x: Array, values: Array) -> Array:
    """What is taken out of finite matrices whose singular values are not, [..., 1, 1]; 0 for others."""
    large = ~np.isfinite(values)[..., None].all(axis=(-2, -1), keepdims=True)
    return np.where(large & np.isfinite(x).all(axis=(-2, -1), keepdims=True), _HEADROOM, 0)


def bind(
    operands: tuple[Any, ...], result: Any, rtol: float, check: bool, *, bind_svd: Callable[..., Kernel] = bind_best
) -> Kernel:
    """The kernel for these forms: solution, residuals, rank and singular values.

    Args:
        operands: forms of the matrices and of their right-hand sides, which the operation's spec has accepted.
        result: of the four results.
        rtol: the part of the largest singular value up to which another one counts as zero.
        check: whether to check that the elements are finite.
        bind_svd: as ``kernel_table.bind``; with ``bind_numpy`` the kernel takes batches of any length.

    Raises:
        SizeLimitError: LAPACK's integers are too short for the shapes.

    >>> from tensor_core import F64, I64
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (1, 1), CPU)
    >>> result = (form, form_of(F64, (1,), CPU), form_of(I64, (), CPU), form_of(F64, (1,), CPU))
    >>> [part.tolist() for part in bind((form, form), result, 0.0, True)(np.array([[2.0]]), np.array([[4.0]]))]
    [[[2.0]], [0.0], 1, [2.0]]
    """
    a: Form = operands[0]
    rows, columns, *batch = a.shape
    short = min(rows, columns)
    shapes = (rows, short, *batch), (short, *batch), (short, columns, *batch)
    dtypes = a.dtype, a.dtype.component, a.dtype
    factors = tuple(form_of(dtype, shape, a.placement) for dtype, shape in zip(dtypes, shapes, strict=True))
    svd = bind_svd("svd", (a,), factors, (False, "auto"))
    found_as = [NUMPY_DTYPES[form.dtype] for form in result]
    missing = (1,) * (result[0].rank - a.rank)  # batch axes that the right-hand sides alone have

    def solved(sides: Array, u: Array, divisors: Array, vh: Array) -> Array:
        found: Array = _over(sides @ u.swapaxes(-1, -2).conj(), divisors) @ vh.conj().swapaxes(-1, -2)
        return found

    def kernel(x: Array, y: Array) -> tuple[Array, ...]:
        if check:
            require_finite("lstsq", "a", x)
            require_finite("lstsq", "b", y)
        try:
            u, values, vh = svd(x)
            powers = None if np.isfinite(values).all() else _powers_of_large(x, values)
            if powers is not None:
                u, values, vh = svd(scaled(x, -powers))
        except NotConvergedError as error:
            raise not_converged("lstsq", vars(error).get("batch_index", ())) from None
        counted = values > values.max(axis=-1, keepdims=True, initial=0.0) * rtol
        divisors = np.where(counted, values, np.inf)
        right = _inserted(y, (1,) * (result[0].rank - y.ndim))
        u, vh, whole, divisors = (_inserted(part, missing) for part in (u, vh, x, divisors[..., None, :]))
        sides = right
        if powers is not None:  # both smaller, solutions are the same
            values, sides = scaled(values, powers[..., 0]), scaled(right, -_inserted(powers, missing))
        solution = solved(sides, u, divisors, vh)
        finite = np.isfinite(solution)
        if not finite.all():
            smaller = solved(scaled(sides, -_HEADROOM), u, divisors, vh)
            solution = np.where(finite, solution, scaled(smaller, _HEADROOM))
        missed = right - solution @ whole
        parts = solution, _squares(missed).sum(axis=-1), counted.sum(axis=-1), values
        return tuple(np.asarray(part, dtype, order="C") for part, dtype in zip(parts, found_as, strict=True))

    return ignoring_fp_errors(kernel)


def _inserted(x: Array, missing: tuple[int, ...]) -> Array:
    """Axes of extent 1 before those of the matrices."""
    return x.reshape(*x.shape[:-2], *missing, *x.shape[-2:]) if missing else x


def _over(x: Any, divisors: Array) -> Array:
    """The quotient by real numbers, also by subnormal ones, whose reciprocals are beyond the range."""
    if x.dtype.kind != "c":
        return np.asarray(x / divisors)
    found = np.empty(np.broadcast_shapes(x.shape, divisors.shape), x.dtype)
    found.real, found.imag = x.real / divisors, x.imag / divisors
    return found


def _squares(x: Any) -> Array:
    squares: Array = x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x
    return squares


BINDERS: Final[Mapping[str, Binder]] = {"lstsq": taking_fields(bind)}
