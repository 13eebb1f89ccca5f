"""Strict rearrangements: the same elements under other indices.

Results share the operand's elements where its layout allows that, as those of the public functions do; each says which
options have no default here.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensor_core.shapes import as_permutation, as_shape
from tensor_runtime.ops import views
from tensor_runtime.tensors.tensor import Tensor, unwrap


def transpose(x: Tensor, /, permutation: Sequence[int]) -> Tensor:
    """View with the axes in another order: axis k of the result is axis ``permutation[k]`` of the operand.

    Args:
        x: shape [N0, N1, ...].
        permutation: every axis once.

    Raises:
        AxisError: not a permutation of the axes.

    >>> transpose(zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    form, _ = unwrap("transpose", x)
    return views.transpose_view(x, as_permutation(permutation, form.rank))


def reshape(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """Tensor of another shape with the elements in the same column-major order: a view, or a compact copy.

    Args:
        x: any layout.
        shape: the same number of elements; every extent is written, none is -1.

    Raises:
        ShapeError: another number of elements, or a negative extent.

    >>> reshape(tensor([[1, 2], [3, 4]]), (4,)).to_numpy().tolist()
    [1, 3, 2, 4]
    """
    return views.reshape(x, as_shape(shape))


def broadcast_in_dim(x: Tensor, /, shape: Sequence[int], axes: Sequence[int]) -> Tensor:
    """Read-only view of another shape, of which the caller says where each axis of the operand goes.

    The one way to broadcast among the primitives; it is ``tensor_runtime.broadcast_in_dim``, which documents errors.

    Args:
        x: any layout.
        shape: of the result.
        axes: axis k of the operand becomes axis ``axes[k]`` of the result.

    >>> broadcast_in_dim(tensor([1, 2]), (2, 3), (0,)).to_numpy().tolist()
    [[1, 1, 1], [2, 2, 2]]
    """
    return views.broadcast_in_dim(x, shape, axes)


def reverse(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """View that runs backwards along the axes named.

    Raises:
        AxisError: an axis out of range or named twice.

    >>> reverse(tensor([1, 2, 3]), (0,)).to_numpy().tolist()
    [3, 2, 1]
    """
    return views.reverse_view(x, axes)
