"""Convolution over any number of spatial axes, channels last: NHWC tensors and HWCF filters in two dimensions.

As in every library for machine learning, "convolution" means cross-correlation: filters are not reversed, and complex
filters are not conjugated. ``reverse_view`` of the filters gives the convolution of mathematics.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, Final

from tensor_core.dtypes import NUMERIC
from tensor_core.errors import ArgumentError, ShapeError, shortened
from tensor_core.shapes import Shape
from tensor_runtime.dispatch.call import execute_pair
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.ops.windows import Padding, Steps, Windows, as_padding, as_steps, resolve
from tensor_runtime.static_types.combined import product_dtype
from tensor_runtime.tensors.tensor import Tensor

Params = tuple[Steps, Padding, Steps, int]  # strides, padding, dilation, groups


def convolution_windows(operation: str, x: Shape, filters: Shape, params: Params, /) -> Windows:
    """The windows of a convolution, after every check of its shapes; for backends, which then bind the kernel.

    >>> convolution_windows("conv", (1, 5, 6, 3), (3, 3, 3, 8), (1, "VALID", 1, 1)).counts
    (3, 4)
    """
    strides, padding, dilation, groups = params
    if len(x) < 3:
        raise ShapeError(
            f"{operation}: x has shape {x}; accepted: [N, spatial..., C_in], rank 3 or more",
            operation=operation,
            shapes=(x, filters),
        )
    if len(filters) != len(x):
        raise ShapeError(
            f"{operation}: x has shape {x}, so {len(x) - 2} spatial axes, and filters have shape {filters}; "
            f"accepted: filters [spatial..., C_in / groups, C_out] of rank {len(x)}",
            operation=operation,
            shapes=(x, filters),
        )
    _check_channels(operation, x, filters, groups)
    for axis, extent in enumerate(filters[:-2]):
        if extent == 0:
            raise ShapeError(
                f"{operation}: axis {axis} of filters has extent 0; accepted: spatial extents of 1 or more",
                operation=operation,
                shapes=(x, filters),
            )
    return resolve(operation, x[1:-1], filters[:-2], strides, padding, dilation)


def _check_channels(operation: str, x: Shape, filters: Shape, groups: int) -> None:
    last = len(x) - 1
    if groups < 1:
        raise ArgumentError(f"{operation}: groups is {groups}; accepted: an int of 1 or more", operation=operation)
    for name, channels in (("x", x[-1]), ("filters", filters[-1])):
        if channels % groups:
            raise ShapeError(
                f"{operation}: axis {last} of {name} has {channels} channels, which {groups} groups do not divide",
                operation=operation,
                shapes=(x, filters),
            )
    if filters[-2] * groups != x[-1]:
        each = "" if groups == 1 else f", {x[-1] // groups} in each of {groups} groups,"
        raise ShapeError(
            f"{operation}: axis {last} of x has {x[-1]} channels{each} but axis {last - 1} of filters has "
            f"{filters[-2]}; accepted: equal extents",
            operation=operation,
            shapes=(x, filters),
        )


def _convolved(operation: str, x: Shape, filters: Shape, params: Params, /) -> Shape:
    counts = convolution_windows(operation, x, filters, params).counts  # checks the ranks first
    return x[0], *counts, filters[-1]


CONV: Final = OpSpec("conv", accepts=NUMERIC, result_shape=_convolved, takes_params=True)


@product_dtype
def conv(
    x: Tensor,
    filters: Tensor,
    /,
    *,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "VALID",
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    out: Out = None,
) -> Tensor:
    """Cross-correlation with filters: "convolution" as in every library for machine learning.

    ``result[n, o..., f] = sum over k..., c of x[n, o * strides + k * dilation - before, c] * filters[k..., c, f]``,
    where c runs over the channels of the group of f, and x is zero where padding stands. These zeros take part in the
    sum: times an infinite filter element they give NaN.

    Args:
        x: shape [N, spatial..., C_in], one spatial axis or more; any dtype but Bool.
        filters: shape [spatial..., C_in / groups, C_out], spatial extents of 1 or more. Operands of different dtypes
            are promoted.
        strides: steps from window to window, one for all spatial axes or one each.
        padding: "VALID": none. "SAME": as in TensorFlow, ``ceil(extent / stride)`` windows; of the zeros needed half
            stand in front, rounded down, the rest behind. Or one pair (before, after) for each spatial axis; negative
            numbers crop.
        dilation: steps from element to element of a filter, one for all spatial axes or one each.
        groups: G groups of channels: channels g * C_in / G and up of x meet the g-th part of the C_out filters alone.
            ``groups=C_in`` is the depthwise convolution.

    Returns:
        Shape [N, windows..., C_out], with ``(extent + before + after - dilation * (K - 1) - 1) // strides + 1`` windows
        along each axis, and none where the filter is larger than the padded operand (as in StableHLO; some libraries
        raise). dtype: the promoted one. Integers are exact and wrap. The order of floating additions is the backend's.

    Raises:
        ShapeError: ranks that do not fit, channels that differ or that the groups do not divide, a filter without
            elements along an axis, padding that crops more than there is.
        ArgumentError: an unknown padding, strides, dilation or groups below 1 or of the wrong number.
        DTypeError: both operands are Bool.

    >>> x, edge = tensor([1.0, 2.0, 4.0, 8.0]).reshape(1, 4, 1), tensor([-1.0, 1.0]).reshape(2, 1, 1)
    >>> conv(x, edge).reshape(-1).to_numpy().tolist()
    [1.0, 2.0, 4.0]
    >>> conv(x, edge, strides=2, padding=[(1, 1)]).reshape(-1).to_numpy().tolist()
    [1.0, 2.0, -8.0]
    >>> conv(zeros((8, 5, 6, 3)), zeros((3, 3, 3, 16)), strides=2, padding="SAME").shape
    (8, 3, 3, 16)
    """
    return execute_pair(
        CONV,
        x,
        filters,
        (
            as_steps("conv", "strides", strides),
            as_padding("conv", padding),
            as_steps("conv", "dilation", dilation),
            _as_groups(groups),
        ),
        out,
    )


def _as_groups(value: Any) -> int:
    try:
        return index(value)
    except TypeError:
        raise ArgumentError(
            f"conv: groups is {shortened(value)}; accepted: an int of 1 or more", operation="conv"
        ) from None
