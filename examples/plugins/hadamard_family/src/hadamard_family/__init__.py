"""Products and transforms named for Hadamard: ``khatri_rao`` of CP decompositions, and ``walsh_hadamard``."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import C32, C64, F32, F64, I64
from tensor_core.errors import ShapeError
from tensor_core.shapes import Shape, normalize_axis
from tensor_runtime import Tensor
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.dispatch.call import execute_binary, execute_with_params
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import OpSpec

__all__ = ["khatri_rao", "walsh_hadamard"]


def _columns(operation: str, a: Shape, b: Shape) -> Shape:
    if not a or not b or a[1:] != b[1:]:
        raise ShapeError(
            f"{operation}: shapes {a} and {b}; both need a first axis, and the same extents after it",
            operation=operation,
        )
    return (a[0] * b[0], *a[1:])


def _power_of_two(operation: str, shape: Shape, axis: int) -> Shape:
    extent = shape[normalize_axis(axis, len(shape), operation)]
    if extent < 1 or extent & (extent - 1):
        raise ShapeError(f"{operation}: axis {axis} has extent {extent}; pad it to a power of two", operation=operation)
    return shape


_NUMBERS: Final = frozenset({I64, F32, F64, C32, C64})
KHATRI_RAO: Final = OpSpec("khatri_rao", accepts=_NUMBERS, result_shape=_columns, binary=True)
WALSH_HADAMARD: Final = OpSpec("walsh_hadamard", accepts=_NUMBERS, result_shape=_power_of_two, takes_params=True)


def khatri_rao(a: Tensor, b: Tensor, /, *, out: Out = None) -> Tensor:
    """Kronecker products of the columns of two matrices, as alternating least squares asks for them.

    Args:
        a: shape [I, ...]; I64, F32, F64, C32 or C64 after promotion.
        b: shape [J, ...], with the extents of ``a`` after the first axis.
        out: where the result is written.

    Returns:
        An owned tensor of shape [I J, ...]; row i J + j of a column is a[i] b[j].

    Raises:
        ShapeError: an operand of rank 0, or extents after the first axis that differ.
        DTypeError: Bool or I32.

    >>> import tensor_runtime as tr
    >>> khatri_rao(tr.tensor([[1.0, 2.0], [3.0, 4.0]]), tr.tensor([[1.0, 10.0], [5.0, 0.0]])).to_numpy().tolist()
    [[1.0, 20.0], [5.0, 0.0], [3.0, 40.0], [15.0, 0.0]]
    """
    return execute_binary(KHATRI_RAO, a, b, out)


def walsh_hadamard(x: Tensor, /, axis: int = 0, *, out: Out = None) -> Tensor:
    """The Walsh-Hadamard transform along an axis, in natural order and not normalized: N log N additions.

    Element k of the result is the sum of (-1)^s x[n], where s counts the bits that k and n share; twice the transform
    is N times the operand. It is a Hadamard gate on each qubit of a state, times √N.

    Args:
        x: I64 (which wraps), F32, F64, C32 or C64.
        axis: of an extent N that is a power of two.
        out: where the result is written.

    Returns:
        An owned tensor of the operand's shape and dtype.

    Raises:
        ShapeError: an extent that is not a power of two.
        AxisError: an axis out of range.
        DTypeError: Bool or I32.

    >>> import tensor_runtime as tr
    >>> walsh_hadamard(tr.tensor([1.0, 0.0, 1.0, 0.0])).to_numpy().tolist()
    [2.0, 2.0, 0.0, 0.0]
    """
    return execute_with_params(WALSH_HADAMARD, x, whole("walsh_hadamard", "axis", axis), out)
