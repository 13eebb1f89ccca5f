"""Matrices made of vectors and of other matrices, and what is read off them; batch axes last."""

from __future__ import annotations

from tensor_core.dtypes import Bool
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_core.promotion import promote
from tensor_core.shapes import as_shape
from tensor_linalg.operands import with_batch
from tensor_linalg.specs.shapes import broadcast_batches, matrix_axes
from tensor_linalg.targets import placed
from tensor_runtime.dispatch.arguments import flag, whole
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.dispatch.out import Out
from tensor_runtime.ops import diagonals
from tensor_runtime.ops.arithmetic import multiply, subtract
from tensor_runtime.ops.creation import full, zeros
from tensor_runtime.ops.diagonals import extract_diagonal
from tensor_runtime.ops.joining import concatenate, stack
from tensor_runtime.ops.logic import logical_and
from tensor_runtime.ops.views import DIAGONAL_VIEW, expand_dims, move_axes, reshape_view
from tensor_runtime.static_types.combined import product_dtype
from tensor_runtime.static_types.results import accumulator_dtype, same_dtype, same_dtype_into
from tensor_runtime.tensors.tensor import Tensor, owned, unwrap


@accumulator_dtype
def trace(a: Tensor, /, offset: int = 0, *, out: Out = None) -> Tensor:
    """Sums of the elements on a diagonal, batch axes last.

    ``tensor_runtime.trace`` takes any two axes.

    Args:
        a: shape [M, N, B...], any dtype.
        offset: which diagonal, above the main one where positive.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [B...], of the dtype that ``tensor_runtime.sum`` gives; owned.

    Raises:
        ShapeError: fewer than two axes.
        ArgumentError: an offset that is no int.

    >>> import tensor_runtime as tr
    >>> trace(tr.tensor([[1.0, 2.0], [3.0, 4.0]])).item()
    5.0
    """
    matrix_axes("trace", unwrap("trace", a)[0].shape)
    return placed("trace", diagonals.trace(a, offset, 0, 1), out, a)


@same_dtype
def diagonal(a: Tensor, /, offset: int = 0) -> Tensor:
    """The elements on a diagonal, as a view: [M, N, B...] gives [L, B...].

    ``tensor_runtime.extract_diagonal`` takes any two axes, and has the diagonal last.

    Args:
        a: shape [M, N, B...], any dtype.
        offset: which diagonal, above the main one where positive; beyond the matrix it is empty.

    Raises:
        ShapeError: fewer than two axes.
        ArgumentError: an offset that is no int.

    >>> import tensor_runtime as tr
    >>> diagonal(tr.tensor([[1, 2, 3], [4, 5, 6]]), 1).to_numpy().tolist()
    [2, 6]
    """
    shape = unwrap("diagonal", a)[0].shape
    if type(offset) is int and offset == 0 and len(shape) == 2 and shape[0] == shape[1]:
        return execute_with_params(DIAGONAL_VIEW, a, (0, 1))  # half a microsecond less
    _, _, batch = matrix_axes("diagonal", shape)
    line = extract_diagonal(a, whole("diagonal", "offset", offset))
    return move_axes(line, -1, 0) if batch else line


@product_dtype
def cross(x: Tensor, y: Tensor, /, *, out: Out = None) -> Tensor:
    """Cross products of vectors in three dimensions, batch axes last.

    Args:
        x: shape [3, B...], any dtype.
        y: shape [3, B...], any dtype but Bool beside Bool; batch shapes broadcast among themselves, aligned at the last
            axis.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [3, B...], of the promoted dtype; owned, compact. Each element is right to two rounding units of the
        larger of its two products.

    Raises:
        ShapeError: the first axis does not have extent 3, or the batch shapes do not broadcast.
        DTypeError: both are Bool.
        PlacementError: the operands live in different places.

    Source: Python array API standard, ``cross``, which has its vectors where ``axis`` says.

    >>> import tensor_runtime as tr
    >>> cross(tr.tensor([1.0, 0.0, 0.0]), tr.tensor([0.0, 1.0, 0.0])).to_numpy().tolist()
    [0.0, 0.0, 1.0]
    """
    for one in (x, y):
        shape = unwrap("cross", one)[0].shape
        if shape[:1] != (3,):
            raise ShapeError(
                f"cross: operand of shape {shape}; accepted: [3, B...], batch axes last", operation="cross", shape=shape
            )
    if promote(x.dtype, y.dtype) is Bool:
        raise DTypeError("cross: operands are Bool; accepted: C32, C64, F32, F64, I32, I64", operation="cross")
    broadcast_batches("cross", x.shape[1:], y.shape[1:])
    pairs = ((1, 2), (2, 0), (0, 1))
    return placed("cross", stack([subtract(multiply(x[i], y[j]), multiply(x[j], y[i])) for i, j in pairs]), out, x, y)


@product_dtype
def kron(a: Tensor, b: Tensor, /, *, out: Out = None) -> Tensor:
    """Kronecker products of matrices, batch axes last.

    ``tensor_runtime.kron`` takes tensors of any rank, and multiplies all their axes.

    Args:
        a: shape [M, N, B...], any dtype.
        b: shape [P, Q, B...]; batch shapes broadcast among themselves, aligned at the last axis.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [M P, N Q, B...], of the promoted dtype: a[i, j] times b in block (i, j); owned, compact.

    Raises:
        ShapeError: an operand has fewer than two axes, or the batch shapes do not broadcast.
        PlacementError: the operands live in different places.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §1.3.6.

    >>> import tensor_runtime as tr
    >>> kron(tr.tensor([[1, 2]]), tr.tensor([[1], [3]])).to_numpy().tolist()
    [[1, 2], [3, 6]]
    """
    m, n, batch_a = matrix_axes("kron", unwrap("kron", a)[0].shape)
    p, q, batch_b = matrix_axes("kron", unwrap("kron", b)[0].shape)
    batch = broadcast_batches("kron", batch_a, batch_b)
    left = expand_dims(expand_dims(with_batch(a, 2, batch), 1), 0)
    right = expand_dims(expand_dims(with_batch(b, 2, batch), 1), 3)
    both_bool = a.dtype is Bool and b.dtype is Bool
    product = (logical_and if both_bool else multiply)(left, right)  # [P, M, Q, N, B...]: block after block
    return placed("kron", owned(reshape_view(product, (m * p, n * q, *batch))), out, a, b)


def block_diag(*matrices: Tensor, out: Out = None) -> Tensor:
    """Matrices as blocks on the diagonal of a larger one, zeros elsewhere; batch axes last.

    Args:
        matrices: shapes [M, N, B...], any dtype; M, N or both may be 0. Batch shapes broadcast among themselves,
            aligned at the last axis.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [sum of M, sum of N, B...], of the promoted dtype; owned, compact.

    Raises:
        ArgumentError: no matrices.
        ShapeError: fewer than two axes, or the batch shapes do not broadcast.
        PlacementError: the matrices live in different places.

    >>> import tensor_runtime as tr
    >>> block_diag(tr.tensor([[1]]), tr.tensor([[2, 3]])).to_numpy().tolist()
    [[1, 0, 0], [0, 2, 3]]
    """
    name = "block_diag"
    if not matrices:
        raise ArgumentError(f"{name}: no matrices; accepted: one or more", operation=name)
    shapes = [matrix_axes(name, unwrap(name, one)[0].shape) for one in matrices]
    dtype = promote(*(one.dtype for one in matrices))
    batch = shapes[0][2]
    for _, _, of_one in shapes[1:]:
        batch = broadcast_batches(name, batch, of_one)
    columns = sum(n for _, n, _ in shapes)
    rows, before = [], 0
    for one, (m, n, _) in zip(matrices, shapes, strict=True):
        left, right = (
            zeros((m, width, *batch), dtype=dtype, placement=one.placement) for width in (before, columns - before - n)
        )
        own = one if one.dtype is dtype else convert(one, dtype)
        rows.append(concatenate([left, with_batch(own, 2, batch), right], 1))
        before += n
    return placed(name, concatenate(rows), out, *matrices)


@same_dtype_into
def vander(x: Tensor, /, n: int | None = None, *, increasing: bool = False, out: Out = None) -> Tensor:
    """Vandermonde matrices, whose columns are powers of a vector; batch axes last.

    Args:
        x: shape [M, B...], any dtype but Bool; integers wrap.
        n: how many columns; None for as many as rows.
        increasing: the powers 0, 1, 2, … from left to right; else from right to left, as NumPy has it.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [M, n, B...], of the operand's dtype; owned, compact. Power k is a product of k factors, within k rounding
        units.

    Raises:
        ShapeError: no axes.
        DTypeError: Bool.
        ArgumentError: ``n`` is no int from 0 on.
        SizeLimitError: more elements than int64 counts.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §4.6.

    >>> import tensor_runtime as tr
    >>> vander(tr.tensor([1, 2, 3])).to_numpy().tolist()
    [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """
    name = "vander"
    shape = unwrap(name, x)[0].shape
    if x.dtype is Bool:
        raise DTypeError(f"{name}: operand is Bool; accepted: C32, C64, F32, F64, I32, I64", operation=name)
    if not shape:
        raise ShapeError(f"{name}: a scalar; accepted: vectors [M, B...]", operation=name, shape=shape)
    count = shape[0] if n is None else whole(name, "n", n)
    if count < 0:
        raise ArgumentError(f"{name}: n is {count}; accepted: None, or an int from 0 on", operation=name)
    rising = flag(name, "increasing", increasing)
    as_shape((shape[0], count, *shape[1:]))  # refuses more elements than can be counted, before any is computed
    if count == 0:
        return placed(name, zeros((shape[0], 0, *shape[1:]), dtype=x.dtype, placement=x.placement), out, x)
    powers = [full(shape, 1, dtype=x.dtype, placement=x.placement)]
    for _ in range(count - 1):
        powers.append(multiply(powers[-1], x))
    return placed(name, stack(powers if rising else powers[::-1], 1), out, x)
