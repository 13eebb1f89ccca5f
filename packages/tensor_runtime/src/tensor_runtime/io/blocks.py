"""Tensors to bytes in the order of a format, and blocks of a file to tensors."""

from __future__ import annotations

from typing import Any

from tensor_core.dtypes import Bool, DType
from tensor_core.errors import PlacementError
from tensor_core.files.blocks import Block, Bytes
from tensor_core.host.tensor import HostTensorView
from tensor_core.shapes import Order
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.ops.creation import asarray
from tensor_runtime.ops.views import copy, reversed_axes, to_contiguous
from tensor_runtime.placement import is_stand_in
from tensor_runtime.tensors.tensor import Tensor, unwrap
from tensor_runtime.tensors.transfer import lend


class TensorOutgoing:
    """A tensor in host memory that is to be written; its elements are copied only when they lie in another order.

    Raises:
        PlacementError: it is on a device.
        DTypeError: no tensor.

    >>> TensorOutgoing("save", tensor([[1, 2], [3, 4]])).in_order("C")[::8].hex()
    '01020304'
    """

    def __init__(self, operation: str, x: Tensor, /) -> None:
        form, _ = unwrap(operation, x)
        self._backend: Any = registry.backend_for(form.placement)
        if is_stand_in(form.placement):
            self._backend.download(None, form)  # refuses: there are no elements
        if not hasattr(self._backend, "lend"):
            raise PlacementError(
                f"{operation}: the tensor is on {form.placement}, and nothing is moved silently; use to(x, 'cpu') "
                "first",
                operation=operation,
                placement=form.placement,
            )
        self._operation, self._tensor, self._form = operation, x, form

    @property
    def dtype(self) -> DType:
        """Its element type."""
        return self._form.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self._form.shape

    def in_order(self, order: Order, /) -> Bytes:
        """All elements in native byte order, "F" column-major or "C" row-major."""
        if not self._form.size:
            return b""
        # Row-major order is column-major order of the axes reversed.
        compact = to_contiguous(self._tensor if order == "F" else reversed_axes(self._tensor))
        lent = HostTensorView.borrow(lend(self._operation, self._backend, compact._array, compact._form))
        # A byte of a Bool that is neither 0 nor 1 is true, and lent memory may hold one; a file may not.
        return lent.tobytes() if self.dtype is Bool else lent.as_slice().cast("B")


def tensor_of(block: Block, dtype: DType | None = None, /, *, shared: bool = False) -> Tensor:
    """An owned tensor that takes over the bytes of a block, or one copy of them if they are row-major.

    Args:
        block: elements of a file.
        dtype: converted to this, checked.
        shared: leave the elements where they are: of order "C", a view with row-major strides.

    Raises:
        LossyConversionError: ``dtype`` does not hold the elements.

    >>> tensor_of(Block(Bool, (2, 3), "C", bytearray(6)), shared=True).strides
    (3, 1)
    """
    forward = asarray(block.forward(), copy=False)
    x = forward if block.order == "F" else reversed_axes(forward)
    if not shared and not x.is_compact:
        x = copy(x)
    return x if dtype is None or dtype is block.dtype else convert(x, dtype)
