"""Signs and phases of factors, chosen so that they are reproducible or continuous. Composed of tensor operations."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import I32, Bool
from tensor_core.errors import DTypeError, ShapeError
from tensor_linalg.operands import require_together
from tensor_runtime.dispatch.arguments import choice
from tensor_runtime.dispatch.conversion import cast
from tensor_runtime.dispatch.dtype_rules import inexact
from tensor_runtime.ops.arithmetic import abs, conj, multiply, sign
from tensor_runtime.ops.comparison import equal, greater, greater_equal
from tensor_runtime.ops.complex_parts import imag, real
from tensor_runtime.ops.creation import eye, ones
from tensor_runtime.ops.diagonals import extract_diagonal
from tensor_runtime.ops.exponential import exp2, log2
from tensor_runtime.ops.gather_scatter import take_along_axis
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.logic import logical_and
from tensor_runtime.ops.ranges import arange
from tensor_runtime.ops.reduction import max, sum
from tensor_runtime.ops.rounding import isfinite, round
from tensor_runtime.ops.selection import maximum, where
from tensor_runtime.ops.statistics import argmax
from tensor_runtime.ops.views import broadcast_in_dim, copy, expand_dims, move_axes, reshape, squeeze
from tensor_runtime.tensors.tensor import Tensor

RAW: Final = "raw"
"""Whatever the method gives."""
_NEARLY: Final = 1 - 1e-3
"""Elements of this part of the largest one count as large: which of two equal ones is larger, rounding decides."""


def is_raw(gauge: object, /) -> bool:
    """Whether nothing is to be turned.

    >>> is_raw("raw"), is_raw("canonical")
    (True, False)
    """
    return gauge is RAW or (isinstance(gauge, str) and gauge == RAW)


def phases(z: Tensor, /) -> Tensor:
    """z / |z|, and 1 for 0; of a real number its sign.

    >>> from tensor_runtime.ops.creation import tensor
    >>> phases(tensor([-2.0, 0.0, 3.0])).to_numpy().tolist(), phases(tensor([2j])).to_numpy().tolist()
    ([-1.0, 1.0, 1.0], [1j])
    """
    found = sign(sign(z))  # the first is not quite a phase where z is subnormal
    return where(equal(found, 0.0), 1.0, found)


def turned(operation: str, vectors: Tensor, gauge: str | Tensor, /) -> tuple[Tensor, Tensor]:
    """Columns in a gauge other than "raw", and the phases by which they were multiplied.

    Args:
        operation: the name that errors bear.
        vectors: shape [M, K, B...].
        gauge: "canonical", or a tensor of that shape, of any dtype and size of elements, to which the columns are
            aligned, but for those of which the inner product is 0 or not finite.

    Returns:
        The columns, of which the canonical ones have one element each that is exactly real; and numbers of magnitude 1,
        shape [K, B...].

    Raises:
        ArgumentError: another gauge.
        ShapeError: a tensor of another shape.
        DTypeError: a complex tensor for real columns.
        PlacementError: a tensor that lives elsewhere.

    >>> from tensor_runtime.ops.creation import tensor
    >>> [part.to_numpy().tolist() for part in turned("svd", tensor([[0.6, 0.8], [-0.8, 0.6]]), "canonical")]
    [[[-0.6, 0.8], [0.8, 0.6]], [-1.0, 1.0]]
    """
    if isinstance(gauge, Tensor):
        if gauge.shape != vectors.shape:
            raise ShapeError(
                f"{operation}: gauge of shape {gauge.shape} for vectors of shape {vectors.shape}; accepted: that one",
                operation=operation,
                shapes=(gauge.shape, vectors.shape),
            )
        if gauge.dtype.component is not gauge.dtype and vectors.dtype.component is vectors.dtype:
            raise DTypeError(
                f"{operation}: gauge is {gauge.dtype.name} for vectors of {vectors.dtype.name}; accepted: a real one",
                operation=operation,
            )
        require_together(operation, vectors, gauge)
        inner = sum(multiply(conj(_near_one(gauge)), _near_one(vectors)), 0)
        found = cast(conj(phases(where(isfinite(inner), inner, 1.0))), vectors.dtype)
        return multiply(vectors, expand_dims(found, 0)), found
    choice(operation, "gauge", gauge, (RAW, "canonical"), "a tensor")
    if 0 in vectors.shape:
        return copy(vectors), ones(vectors.shape[1:], dtype=vectors.dtype, placement=vectors.placement)
    sizes = abs(vectors)
    among_largest = greater_equal(sizes, multiply(max(sizes, 0, keepdims=True), _NEARLY))
    first = argmax(cast(among_largest, I32), 0, keepdims=True)
    found = conj(phases(squeeze(take_along_axis(vectors, first, axis=0), 0)))
    result = multiply(vectors, expand_dims(found, 0))
    if result.dtype is not result.dtype.component:  # rounding leaves an imaginary part
        rows = arange(vectors.shape[0], dtype=first.dtype, placement=vectors.placement)
        chosen = equal(reshape(rows, (vectors.shape[0], *(1,) * (vectors.rank - 1))), first)
        result = where(chosen, real(result), result)
    return result, found


def _near_one(vectors: Tensor, /) -> Tensor:
    """Columns times powers of two by which their largest elements are about 1, so that products stay in the range."""
    if 0 in vectors.shape:
        return vectors
    exact = cast(vectors, inexact(vectors.dtype))
    half = root_of_power(exact)
    return multiply(multiply(exact, half), half)


def root_of_power(columns: Tensor, /) -> Tensor:
    """Roots of the powers of four by which the largest elements of columns are about 1, where they are not 0.

    A power itself may be beyond the range: multiply by its root twice.

    Args:
        columns: shape [M, N, B...], M not 0.

    Returns:
        Shape [1, N, B...], real; 1 for a column of zeros and one that is not finite.

    >>> from tensor_runtime.ops.creation import tensor
    >>> root_of_power(tensor([[2.0**100, 0.0], [-1.0, 0.0]])).to_numpy().tolist() == [[2.0**-50, 1.0]]
    True
    """
    sizes = abs(real(columns))
    if columns.dtype is not columns.dtype.component:  # the absolute value of a complex number may be beyond the range
        sizes = maximum(sizes, abs(imag(columns)))
    largest = max(sizes, 0, keepdims=True)
    ordinary = where(logical_and(greater(largest, 0.0), isfinite(largest)), largest, 1.0)
    return exp2(round(multiply(log2(ordinary), -0.5)))


def with_positive_diagonal(q: Tensor, r: Tensor, /) -> tuple[Tensor, Tensor]:
    """The factors of q r with phases moved from r to q, so that the diagonal of r is real and not negative.

    >>> from tensor_runtime.ops.creation import tensor
    >>> q, r = with_positive_diagonal(tensor([[-1.0]]), tensor([[-2.0, 3.0]]))
    >>> q.to_numpy().tolist(), r.to_numpy().tolist()
    ([[1.0]], [[2.0, -3.0]])
    """
    rows, columns = r.shape[:2]
    diagonal = move_axes(extract_diagonal(r), -1, 0)
    moved = phases(diagonal)
    if rows > columns:  # a square q has columns that meet no row of r but zeros
        rest = ones((rows - columns, *r.shape[2:]), dtype=r.dtype, placement=r.placement)
        moved = concatenate([moved, rest], 0)
    found = multiply(r, expand_dims(conj(moved), 1))
    if r.dtype is not r.dtype.component:  # rounding leaves an imaginary part
        on_diagonal = broadcast_in_dim(eye(rows, columns, dtype=Bool, placement=r.placement), r.shape, (0, 1))
        found = where(on_diagonal, real(found), found)
    return multiply(q, expand_dims(moved, 0)), found
