"""Pooling: the largest element or the mean of each window, over the spatial axes of [N, spatial..., C].

Padding adds positions, not elements: it never is the maximum, and a mean divides by the number of elements that a
window really holds, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tensor_core.dtypes import ALL, REAL, Bool
from tensor_core.errors import ArgumentError, ShapeError
from tensor_core.shapes import Shape
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.dtype_rules import inexact
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.ops.windows import Padding, Steps, Windows, as_padding, as_steps, resolve
from tensor_runtime.static_types.results import inexact_dtype, same_dtype_into
from tensor_runtime.tensors.tensor import Tensor

Params = tuple[Steps, Steps | None, Padding, Steps]  # window, strides, padding, dilation


def pooling_windows(operation: str, x: Shape, params: Params, /) -> Windows:
    """The windows of a pooling, after every check of its shapes; for backends, which then bind the kernel.

    >>> pooling_windows("max_pool", (1, 5, 6, 3), (2, None, "SAME", 1)).counts
    (3, 3)
    """
    window, strides, padding, dilation = params
    if len(x) < 3:
        raise ShapeError(
            f"{operation}: the operand has shape {x}; accepted: [N, spatial..., C], rank 3 or more",
            operation=operation,
            shape=x,
        )
    rank = len(x) - 2
    extents = window if isinstance(window, tuple) else (window,) * rank
    if len(extents) != rank or any(extent < 1 for extent in extents):
        raise ArgumentError(
            f"{operation}: window is {window}; accepted: an int of 1 or more, or {rank} of them, one per spatial axis",
            operation=operation,
        )
    windows = resolve(operation, x[1:-1], extents, extents if strides is None else strides, padding, dilation)
    if 0 not in windows.counts:
        for axis, extent in enumerate(x[1:-1]):
            bare = _window_without_element(windows, axis, extent)
            if bare is not None:
                raise ArgumentError(
                    f"{operation}: window {bare} along axis {axis + 1} of shape {x} holds padding alone, and "
                    f"{operation} of nothing is undefined; pad less than {windows.padding[axis]}",
                    operation=operation,
                    axis=axis + 1,
                )
    return windows


def _window_without_element(windows: Windows, axis: int, extent: int) -> int | None:
    """The number of a window that holds no element along an axis, or None; looks at the padded windows only."""
    before, stride, count = windows.padding[axis][0], windows.strides[axis], windows.counts[axis]
    step, size = windows.dilation[axis], windows.extents[axis]
    if (count - 1) * stride - before >= extent:
        return count - 1
    if step * (size - 1) < before:
        return 0
    if extent < step:  # all there is may fall between two elements of a dilated window
        for number in range(min(count, -(-before // stride))):
            if (number * stride - before) % step >= extent:
                return number
    return None


def _pooled(operation: str, x: Shape, params: Params, /) -> Shape:
    counts = pooling_windows(operation, x, params).counts  # checks the rank first
    return x[0], *counts, x[-1]


MAX_POOL: Final = OpSpec("max_pool", accepts=REAL | {Bool}, result_shape=_pooled, takes_params=True)
MEAN_POOL: Final = OpSpec("mean_pool", accepts=ALL, result_dtype=inexact, result_shape=_pooled, takes_params=True)


@same_dtype_into
def max_pool(
    x: Tensor,
    window: int | Sequence[int],
    /,
    *,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "VALID",
    dilation: int | Sequence[int] = 1,
    out: Out = None,
) -> Tensor:
    """Largest element of each window; NaN if the window holds one. Padding never is the largest.

    Args:
        x: shape [N, spatial..., C], one spatial axis or more; real or Bool.
        window: its extent, one for all spatial axes or one each.
        strides: steps from window to window, one for all or one each; None takes the window's extents.
        padding: "VALID", "SAME" or explicit pairs, as for :func:`~tensor_runtime.ops.convolution.conv`.
        dilation: steps from element to element of a window, one for all or one each.

    Returns:
        Shape [N, windows..., C], the operand's dtype. No windows where one is larger than the padded operand.

    Raises:
        ShapeError: rank below 3, or padding that crops more than there is.
        ArgumentError: an unknown padding; window, strides or dilation below 1 or of the wrong number; explicit padding
            so wide that a window holds no element.
        DTypeError: complex numbers, which have no order.

    >>> x = tensor([3.0, 1.0, 2.0, 5.0, 4.0]).reshape(1, 5, 1)
    >>> max_pool(x, 2).reshape(-1).to_numpy().tolist(), max_pool(x, 2, padding="SAME").reshape(-1).to_numpy().tolist()
    ([3.0, 5.0], [3.0, 5.0, 4.0])
    """
    return execute_with_params(MAX_POOL, x, _params("max_pool", window, strides, padding, dilation), out)


@inexact_dtype
def mean_pool(
    x: Tensor,
    window: int | Sequence[int],
    /,
    *,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "VALID",
    dilation: int | Sequence[int] = 1,
    out: Out = None,
) -> Tensor:
    """Mean of each window over the elements that it really holds: padding is not counted.

    Arguments, shape and errors as for :func:`max_pool`; every dtype is accepted. Integers and Bool give F64 and are
    added in F64; floating types keep theirs. The order of the additions is the backend's.

    >>> x = tensor([3, 1, 2, 5, 4]).reshape(1, 5, 1)
    >>> mean_pool(x, 2, padding="SAME").reshape(-1).to_numpy().tolist()
    [2.0, 3.5, 4.0]
    """
    return execute_with_params(MEAN_POOL, x, _params("mean_pool", window, strides, padding, dilation), out)


def _params(
    operation: str,
    window: int | Sequence[int],
    strides: int | Sequence[int] | None,
    padding: str | Sequence[Sequence[int]],
    dilation: int | Sequence[int],
) -> Params:
    return (
        as_steps(operation, "window", window),
        None if strides is None else as_steps(operation, "strides", strides),
        as_padding(operation, padding),
        as_steps(operation, "dilation", dilation),
    )
