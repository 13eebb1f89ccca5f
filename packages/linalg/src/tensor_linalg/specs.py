"""What each decomposition accepts and the shapes it gives; no data.

The two matrix axes come first, batch axes last: ``[M, N, B...]`` is one M x N matrix for every batch index. Below, K
is the smaller of M and N.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tensor_core.dtypes import FLOATING, DType
from tensor_core.errors import DTypeError, ShapeError
from tensor_core.shapes import broadcast_shapes
from tensor_linalg import contracts as contracts  # declares them before anything is bound
from tensor_runtime.backends.kernel_facts import KernelFacts
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.form import Form, Shape
from tensor_runtime.protocols import Operand, Result


def _not_finite(kernel: str, operands: tuple[Any, ...], result: Result, params: Any, /) -> str | None:
    return f"{kernel} refuses elements that are not finite" if params.check else None


def _no_result(kernel: str, operands: tuple[Any, ...], result: Result, params: Any, /) -> str:
    return _not_finite(kernel, operands, result, params) or f"{kernel} refuses matrices that have no result"


class LinalgSpec(OpSpec):
    """A spec whose operands each have a floating or complex dtype: no integer is promoted behind the caller's back.

    Args:
        total: every finite matrix has a result, which the method always finds.
        options: as for ``OpSpec``.
    """

    __slots__ = ()

    def __init__(self, name: str, *, total: bool = False, **options: Any) -> None:
        super().__init__(name, facts=KernelFacts(refuses=_not_finite if total else _no_result), **options)

    def common_dtype(self, operands: Sequence[Operand], /) -> DType:
        """Promotion of the operands, each of which must be F32, F64, C32 or C64.

        >>> from tensor_core import F32, C64
        >>> from tensor_runtime.form import form_of
        >>> from tensor_runtime.placement import CPU
        >>> SOLVE.common_dtype((form_of(F32, (2, 2), CPU), form_of(C64, (2, 2), CPU)))
        C64
        """
        for position, operand in enumerate(operands):
            if isinstance(operand, Form) and operand.dtype not in FLOATING:
                which = "operand" if len(operands) == 1 else f"operand {'ab'[position]}"
                raise DTypeError(
                    f"{self.name}: {which} is {operand.dtype}; accepted: C32, C64, F32, F64; convert(x, F64) first",
                    operation=self.name,
                    dtype=operand.dtype,
                )
        return super().common_dtype(operands)


def matrix_axes(operation: str, shape: Shape, /) -> tuple[int, int, Shape]:
    """M, N and the batch shape of ``[M, N, B...]``.

    Raises:
        ShapeError: fewer than two axes.

    >>> matrix_axes("svd", (4, 3, 10))
    (4, 3, (10,))
    """
    if len(shape) < 2:
        raise ShapeError(
            f"{operation}: operand of shape {shape} holds no matrices; accepted: [M, N, B...], batch axes last",
            operation=operation,
            shape=shape,
        )
    return shape[0], shape[1], shape[2:]


def square_axes(operation: str, shape: Shape, /) -> tuple[int, Shape]:
    """N and the batch shape of ``[N, N, B...]``.

    Raises:
        ShapeError: fewer than two axes, or the first two differ.

    >>> square_axes("eigh", (3, 3, 10))
    (3, (10,))
    """
    rows, columns, batch = matrix_axes(operation, shape)
    if rows != columns:
        leading = len(shape) > 2 and shape[-1] == shape[-2]
        advice = "; move the leading batch axes to the end with permute_axes()" if leading else ""
        raise ShapeError(
            f"{operation}: operand of shape {shape} holds {rows}x{columns} matrices, which are not square; "
            f"accepted: [N, N, B...], batch axes last{advice}",
            operation=operation,
            shape=shape,
        )
    return rows, batch


def svd_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape, Shape]:
    """``[M, K, B...]``, ``[K, B...]``, ``[K, N, B...]``.

    >>> svd_shapes("svd", (4, 3, 10), True)
    ((4, 3, 10), (3, 10), (3, 3, 10))
    """
    rows, columns, batch = matrix_axes(operation, shape)
    short = min(rows, columns)
    return (rows, short, *batch), (short, *batch), (short, columns, *batch)


def qr_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape]:
    """``[M, K, B...]`` and ``[K, N, B...]``.

    >>> qr_shapes("qr", (4, 3, 10), True)
    ((4, 3, 10), (3, 3, 10))
    """
    left, _, right = svd_shapes(operation, shape, check)
    return left, right


def eigh_shapes(operation: str, shape: Shape, check: bool, /) -> tuple[Shape, Shape]:
    """``[N, B...]`` and ``[N, N, B...]``.

    >>> eigh_shapes("eigh", (3, 3, 10), True)
    ((3, 10), (3, 3, 10))
    """
    size, batch = square_axes(operation, shape)
    return (size, *batch), shape


def cholesky_shape(operation: str, shape: Shape, check: bool, /) -> Shape:
    """``[N, N, B...]``.

    >>> cholesky_shape("cholesky", (3, 3, 10), True)
    (3, 3, 10)
    """
    square_axes(operation, shape)
    return shape


def inv_shape(operation: str, shape: Shape, check: bool, /) -> Shape:
    """``[N, N, B...]``.

    >>> inv_shape("inv", (3, 3, 10), True)
    (3, 3, 10)
    """
    square_axes(operation, shape)
    return shape


def det_shape(operation: str, shape: Shape, check: bool, /) -> Shape:
    """``[B...]``.

    >>> det_shape("det", (3, 3, 10), True)
    (10,)
    """
    return square_axes(operation, shape)[1]


def solve_shape(operation: str, a: Shape, b: Shape, check: bool, /) -> Shape:
    """``[N, M, B...]``, or ``[N]`` when ``b`` is a vector; batch shapes broadcast among themselves.

    >>> solve_shape("solve", (3, 3, 1, 10), (3, 2, 5, 1), True)
    (3, 2, 5, 10)
    """
    size, batch = square_axes(operation, a)
    if b[:1] != (size,) or (len(b) == 1 and len(a) != 2):
        vector = "[N] or " if len(a) == 2 else ""
        column = "" if len(b) != 1 or len(a) == 2 else "; expand_dims(b, 1) adds the column axis"
        raise ShapeError(
            f"{operation}: a of shape {a} and b of shape {b} do not fit; "
            f"accepted: b of shape {vector}[N, M, B...] with N = {size}{column}",
            operation=operation,
            shapes=(a, b),
        )
    if len(b) == 1:
        return b
    if batch == b[2:]:
        return b
    try:
        return (size, b[1], *broadcast_shapes(batch, b[2:]))
    except ShapeError as error:
        raise ShapeError(
            f"{operation}: batch shapes {batch} of a and {b[2:]} of b do not broadcast; "
            "accepted: extents that are equal or 1, aligned at the last axis",
            operation=operation,
            shapes=(a, b),
        ) from error


def _with_singular_values(dtype: DType, /) -> tuple[DType, DType, DType]:
    return dtype, dtype.component, dtype


def _twice(dtype: DType, /) -> tuple[DType, DType]:
    return dtype, dtype


def _with_eigenvalues(dtype: DType, /) -> tuple[DType, DType]:
    return dtype.component, dtype


SVD: Final = LinalgSpec(
    "svd", accepts=FLOATING, result_dtype=_with_singular_values, result_shape=svd_shapes, takes_params=True
)
QR: Final = LinalgSpec(
    "qr", total=True, accepts=FLOATING, result_dtype=_twice, result_shape=qr_shapes, takes_params=True
)
EIGH: Final = LinalgSpec(
    "eigh", accepts=FLOATING, result_dtype=_with_eigenvalues, result_shape=eigh_shapes, takes_params=True
)
CHOLESKY: Final = LinalgSpec("cholesky", accepts=FLOATING, result_shape=cholesky_shape, takes_params=True)
SOLVE: Final = LinalgSpec("solve", accepts=FLOATING, result_shape=solve_shape, takes_params=True)
INV: Final = LinalgSpec("inv", accepts=FLOATING, result_shape=inv_shape, takes_params=True)
DET: Final = LinalgSpec("det", total=True, accepts=FLOATING, result_shape=det_shape, takes_params=True)
"""The params of each is ``check``: whether the elements are first checked to be finite."""
