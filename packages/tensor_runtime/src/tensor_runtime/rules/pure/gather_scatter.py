"""What writing at index values gives, as a ``scatter`` to places counted in column-major order."""

from __future__ import annotations

from math import prod

from tensor_runtime.backends.error_translation import naming
from tensor_runtime.contracts.gather_scatter import TakeParams
from tensor_runtime.ops.advanced_indexing import as_line, multiples
from tensor_runtime.ops.arithmetic import add
from tensor_runtime.ops.gather_scatter import along_axis, scatter, take_along_axis
from tensor_runtime.ops.views import broadcast_to, copy, reshape, reshape_view
from tensor_runtime.tensors.tensor import Tensor


@naming("take_along_axis")
def put_along_axis(x: Tensor, indices: Tensor, values: Tensor, params: TakeParams, /) -> Tensor:
    """The elements of ``x`` after values were put at each line's own indices; errors as for the operation.

    >>> put_along_axis(zeros(3), tensor([-1, 0]), tensor([1.0, 2.0]), TakeParams(0)).to_numpy().tolist()
    [2.0, 0.0, 1.0]
    """
    if params.axis is None:
        line = put_along_axis(as_line(x), indices, values, TakeParams(0))
        return copy(reshape(line, x.shape, order="C"))
    axis = params.axis % x.rank
    target = along_axis("put_along_axis", x.shape, indices.shape, axis)
    places: Tensor | None = None
    for number, extent in enumerate(x.shape):
        steps = multiples(extent, prod(x.shape[:number]), x.placement)
        lying = reshape_view(steps, tuple(extent if one == number else 1 for one in range(x.rank)))
        if number == axis:
            lying = take_along_axis(lying, indices, axis)
        places = lying if places is None else add(places, lying)
    assert places is not None
    written = scatter(reshape(x, -1), broadcast_to(places, target), broadcast_to(values, target), mode="replace")
    return reshape_view(written, x.shape)
