"""Views from and to tensors whose batch axes come first, as NumPy's and the array API's functions have them."""

from __future__ import annotations

from tensor_core.errors import ShapeError
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.ops.views import permute_axes
from tensor_runtime.static_types.results import same_dtype
from tensor_runtime.tensors.tensor import Tensor, unwrap


@same_dtype
def batch_first(x: Tensor, n: int, /) -> Tensor:
    """The last ``n`` axes moved to the front in their order, as a view: [core..., B...] gives [B..., core...].

    Args:
        x: any dtype and layout.
        n: how many batch axes there are.

    Raises:
        ShapeError: fewer than ``n`` axes, or ``n`` is negative.
        ArgumentError: ``n`` is no int.

    >>> import tensor_runtime as tr
    >>> batch_first(tr.zeros((2, 3, 10, 20)), 2).shape
    (10, 20, 2, 3)
    """
    rank, count = _counts("batch_first", x, n)
    core = rank - count
    return permute_axes(x, (*range(core, rank), *range(core)))


@same_dtype
def batch_last(x: Tensor, n: int, /) -> Tensor:
    """The first ``n`` axes moved to the end in their order, as a view: [B..., core...] gives [core..., B...].

    Args:
        x: any dtype and layout.
        n: how many batch axes there are.

    Raises:
        ShapeError: fewer than ``n`` axes, or ``n`` is negative.
        ArgumentError: ``n`` is no int.

    >>> import tensor_runtime as tr
    >>> batch_last(tr.zeros((10, 20, 2, 3)), 2).shape
    (2, 3, 10, 20)
    """
    rank, count = _counts("batch_last", x, n)
    return permute_axes(x, (*range(count, rank), *range(count)))


def _counts(operation: str, x: Tensor, n: int) -> tuple[int, int]:
    rank, count = unwrap(operation, x)[0].rank, whole(operation, "n", n)
    if not 0 <= count <= rank:
        raise ShapeError(
            f"{operation}: {count} batch axes of shape {x.shape}; accepted: 0 to {rank}",
            operation=operation,
            shape=x.shape,
        )
    return rank, count
