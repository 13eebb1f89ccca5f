"""Products made of one contraction: ``dot``, ``vecdot``, ``outer`` and ``kron``, with NumPy's meaning.

Results are owned, compact and column-major, in the promoted dtype. Integers wrap; products of Bool are ands, sums ors.
"""

from __future__ import annotations

from functools import cache
from typing import Final, SupportsIndex

from tensor_core.errors import ShapeError
from tensor_core.shapes import Shape, normalize_axis
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.dispatch.call import execute_binary
from tensor_runtime.dispatch.dtype_rules import broadcast
from tensor_runtime.dispatch.out import Out, as_target, mutable_view_of, written
from tensor_runtime.ops.contraction import ContractionSpec, Signature
from tensor_runtime.ops.views import broadcast_to, move_axes, reshape, reshape_view
from tensor_runtime.static_types.combined import product_dtype
from tensor_runtime.tensors.tensor import Tensor, owned, unwrap


def _dot_labels(operation: str, a: Shape, b: Shape, /) -> Signature:
    labels_a = tuple(range(len(a)))
    labels_b = list(range(len(a), len(a) + len(b)))
    if not a or not b:
        return labels_a, tuple(labels_b), (*labels_a, *labels_b)
    inner = -2 if len(b) > 1 else 0
    if a[-1] != b[inner]:
        raise ShapeError(
            f"{operation}: shapes {a} and {b}; accepted: the last axis of a and the last but one of b (the only one of "
            f"a vector) of one extent, but they have {a[-1]} and {b[inner]}",
            operation=operation,
            shapes=(a, b),
        )
    labels_b[inner] = labels_a[-1]
    return labels_a, tuple(labels_b), (*labels_a[:-1], *(label for label in labels_b if label != labels_a[-1]))


def _outer_labels(operation: str, a: Shape, b: Shape, /) -> Signature:
    return (0,), (1,), (0, 1)


def _kron_labels(operation: str, a: Shape, b: Shape, /) -> Signature:
    """Axis k of the product is made of axis k of b, the faster one, and axis k of a."""
    rank = max(len(a), len(b))
    labels_a = tuple(2 * axis + 1 for axis in range(rank - len(a), rank))
    labels_b = tuple(2 * axis for axis in range(rank - len(b), rank))
    return labels_a, labels_b, tuple(sorted((*labels_a, *labels_b)))


DOT: Final = ContractionSpec("dot", _dot_labels)
OUTER: Final = ContractionSpec("outer", _outer_labels)
KRON: Final = ContractionSpec("kron", _kron_labels)


@product_dtype
def dot(a: Tensor, b: Tensor, /, out: Out = None) -> Tensor:
    """Sum of products over the last axis of ``a`` and the last but one of ``b``, as in NumPy.

    :func:`~tensor_runtime.ops.contraction.matmul` broadcasts batch axes instead; for ranks 1 and 2 both agree.

    Args:
        a: shape [A..., K], or [K]; of rank 0 it scales ``b``.
        b: shape [B..., K, N], or [K]; of rank 0 it scales ``a``.

    Returns:
        Shape [A..., B..., N].

    Raises:
        ShapeError: the contracted extents differ.
        ArgumentError: an operand is a Python number; ``multiply`` scales.
        PlacementError: the operands live in different places.

    >>> dot(tensor([1, 2]), tensor([3, 4])).item(), dot(ones((2, 3)), ones((4, 3, 5))).shape
    (11, (2, 4, 5))
    """
    return execute_binary(DOT, a, b, out)


@product_dtype
def outer(a: Tensor, b: Tensor, /, out: Out = None) -> Tensor:
    """Every element of ``a`` times every element of ``b``.

    Args:
        a: M elements; another rank than 1 is read as a line of its elements in row-major order, as in NumPy.
        b: N elements, likewise.

    Returns:
        Shape [M, N].

    Raises:
        PlacementError: the operands live in different places.

    >>> outer(tensor([1, 2]), tensor([3, 4])).to_numpy().tolist()
    [[3, 4], [6, 8]]
    """
    return execute_binary(OUTER, _line(a), _line(b), out)


@product_dtype
def kron(a: Tensor, b: Tensor, /, *, out: Out = None) -> Tensor:
    """Kronecker product: ``a`` with each element replaced by that element times ``b``.

    Args:
        a: shape [A0, A1, ...].
        b: shape [B0, B1, ...]; the operand of lower rank gets axes of extent 1 in front.

    Returns:
        Shape [A0·B0, A1·B1, ...]; along each axis, the index of ``b`` is the faster one.

    Raises:
        PlacementError: the operands live in different places.

    >>> kron(tensor([1, 10]), tensor([1, 2, 3])).to_numpy().tolist()
    [1, 2, 3, 10, 20, 30]
    """
    (form_a, _), (form_b, _) = unwrap("kron", a), unwrap("kron", b)
    rank = max(form_a.rank, form_b.rank)
    of_a = (1,) * (rank - form_a.rank) + form_a.shape
    of_b = (1,) * (rank - form_b.rank) + form_b.shape
    shape = tuple(m * n for m, n in zip(of_a, of_b, strict=True))
    if out is None or getattr(out, "shape", None) != shape:
        product = owned(reshape_view(execute_binary(KRON, a, b), shape))
        return product if out is None else written("kron", out, product, a, b)
    apart = [
        form.shape[axis - rank + form.rank]
        for axis in range(rank)
        for form in (form_b, form_a)
        if axis >= rank - form.rank
    ]
    execute_binary(KRON, a, b, mutable_view_of(reshape_view(as_target("kron", out), apart)))
    return out


@product_dtype
def vecdot(a: Tensor, b: Tensor, /, axis: SupportsIndex = -1, *, out: Out = None) -> Tensor:
    """Sum of products along one axis, of which ``a`` is conjugated; the other axes broadcast, as in NumPy.

    Args:
        a: any dtype, rank 1 or more.
        b: the same extent along the axis.
        axis: of each operand; negative ones count from its own end.

    Returns:
        The broadcast shape of the other axes, in the promoted dtype.

    Raises:
        ShapeError: the extents along the axis differ, or the other axes do not broadcast.
        AxisError: an axis out of range; rank 0 has none.
        PlacementError: the operands live in different places.

    >>> vecdot(tensor([1j, 2.0]), tensor([1j, 3.0])).item(), vecdot(ones((4, 1, 3)), ones((2, 3))).shape
    ((7+0j), (4, 2))
    """
    (form_a, _), (form_b, _) = unwrap("vecdot", a), unwrap("vecdot", b)
    conjugated = form_a.dtype.kind == "complex"
    if type(axis) is int and form_a.shape == form_b.shape and -form_a.rank <= axis < form_a.rank:  # nothing to arrange
        return execute_binary(_vecdot_along(axis % form_a.rank - form_a.rank, conjugated), a, b, out)
    places = [normalize_axis(whole("vecdot", "axis", axis), form.rank, "vecdot") for form in (form_a, form_b)]
    extents = form_a.shape[places[0]], form_b.shape[places[1]]
    if extents[0] != extents[1]:
        raise ShapeError(
            f"vecdot: shapes {form_a.shape} and {form_b.shape} along axis {axis}; accepted: equal extents, but they "
            f"have {extents[0]} and {extents[1]}",
            operation="vecdot",
            shapes=(form_a.shape, form_b.shape),
        )
    x, y = (move_axes(one, place, -1) for one, place in zip((a, b), places, strict=True))
    shape = broadcast("vecdot", x.shape, y.shape)
    return execute_binary(_vecdot_along(-1, conjugated), broadcast_to(x, shape), broadcast_to(y, shape), out)


@cache
def _vecdot_along(axis: int, conjugated: bool) -> ContractionSpec:
    """The contraction of two operands of one shape along an axis that is counted from the end."""

    def labels(operation: str, a: Shape, b: Shape, /) -> Signature:
        every = tuple(range(len(a)))
        return every, every, (*every[:axis], *every[len(a) + axis + 1 :])

    return ContractionSpec("vecdot", labels, conjugated=conjugated)


def _line(x: Tensor) -> Tensor:
    form, _ = unwrap("outer", x)
    return x if form.rank == 1 else reshape(x, -1, order="C")
