"""Banded systems: SciPy's binding of the LAPACK routine ``gbsv``, one matrix of a stack after the other."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.linalg.checks import require_finite, require_indexable
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_runtime.errors import SingularMatrixError
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


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
    from scipy.linalg import get_lapack_funcs

    bands, sides = operands
    size, columns, batch = result.shape[0], prod(result.shape[1:2]), result.shape[2:]
    one_matrix = bands.rank == 2
    largest = max(size * (2 * lower + upper + 1), size * (prod(sides.shape[1:]) if one_matrix else columns))
    require_indexable("solve_banded", result.shape, largest)
    dtype = NUMPY_DTYPES[result.dtype]
    gbsv: Any = get_lapack_funcs("gbsv", dtype=dtype)
    ranks = (min(2, bands.rank), min(2, sides.rank))

    def solved(band: Array, right: Array, place: tuple[int, ...]) -> Array:
        """Transposed solutions; ``band`` is [N, l + u + 1], ``right`` [M, N]."""
        work = np.zeros((size, 2 * lower + upper + 1), dtype)  # what the exchange of rows fills comes first
        work[:, lower:] = band
        *_, x, info = gbsv(lower, upper, work.T, np.array(right, dtype, order="C").T, overwrite_ab=1, overwrite_b=1)
        if info > 0:
            raise SingularMatrixError(
                f"solve_banded: the matrix{f' at batch index {place}' if place else ''} is exactly singular; "
                "lstsq() of the whole matrix gives the least-squares solution",
                operation="solve_banded",
                batch_index=place,
                element_index=None,
            )
        return np.asarray(x.T)

    def kernel(ab: Array, b: Array) -> Array:
        if check:
            require_finite("solve_banded", "ab", ab, ranks[0])
            require_finite("solve_banded", "b", b, ranks[1])
        if not result.size:
            return np.zeros(result.shape[::-1], dtype)
        if one_matrix:  # whose factors serve all right-hand sides
            return np.ascontiguousarray(solved(ab, b.reshape(-1, size), ())).reshape(result.shape[::-1])
        out = np.empty(result.shape[::-1], dtype)
        matrices = np.broadcast_to(_padded(ab, len(batch)), (*batch[::-1], *ab.shape[-2:]))
        rights = np.broadcast_to(_padded(b, len(batch)), out.shape)
        given = bands.shape[2:]
        for index in np.ndindex(*batch[::-1]):
            place = index[::-1][len(batch) - len(given) :]
            own = tuple(0 if extent == 1 else i for i, extent in zip(place, given, strict=True))
            out[index] = solved(matrices[index], rights[index], own)
        return out

    return kernel


def _padded(stack: Array, batch_rank: int) -> Array:
    """The stack with as many batch axes as the result; those that it lacks stand before the tensor's own."""
    missing = batch_rank + 2 - stack.ndim
    return stack.reshape(*stack.shape[:-2], *(1,) * missing, *stack.shape[-2:])


BINDERS: Final[Mapping[str, Binder]] = {"solve_banded": taking_fields(bind_solve_banded)}
