"""Forms: everything about a tensor but its elements.

A form is dtype, shape, strides and placement in one interned object. A pair of forms answers every question about
placement, dtype, shape and layout in one look-up, so each check runs once per pair of forms, never per call. The offset
of a view is not part of it: slices at different offsets share their bindings.

Strides count elements. Axes of extent 0 or 1 bear the compact stride, and an empty tensor is compact, so equal meaning
is one form. Two equal forms may exist for a moment when threads race through a garbage collection; identity is
speed here, not correctness.
"""

from __future__ import annotations

from typing import Final
from weakref import WeakValueDictionary

from tensor_core.dtypes import DType
from tensor_core.errors import SizeLimitError
from tensor_core.shapes import Shape, canonical_strides, compact_strides, element_count
from tensor_runtime.locks import fork_safe_lock
from tensor_runtime.placement import Placement

_LARGEST: Final = 2**63 - 1  # a native array counts bytes in int64


class Form:
    """Made by :func:`form_of` only; bindings and tensors keep it alive."""

    __slots__ = ("__weakref__", "dtype", "is_compact", "placement", "shape", "size", "strides")

    dtype: DType
    shape: Shape
    strides: Shape  # elements, signed
    placement: Placement
    size: int  # number of elements
    is_compact: bool  # column-major without gaps

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements when compact."""
        return self.size * self.dtype.itemsize

    def __reduce__(self) -> tuple[object, ...]:
        return form_of, (self.dtype, self.shape, self.placement, self.strides)

    def __copy__(self) -> Form:
        return self

    def __deepcopy__(self, memo: object) -> Form:
        return self

    def __repr__(self) -> str:
        layout = "" if self.is_compact else f", strides={self.strides}"
        return f"Form({self.dtype.name}, {self.shape}{layout}, {self.placement})"


_forms: Final[WeakValueDictionary[tuple[DType, Shape, Shape, Placement], Form]] = WeakValueDictionary()
_lock: Final = fork_safe_lock()


def form_of(dtype: DType, shape: Shape, placement: Placement, strides: Shape | None = None, /) -> Form:
    """The one form of this content.

    Args:
        dtype: element type.
        shape: extents, already checked to be non-negative ints.
        placement: where the elements are.
        strides: signed, in elements; None for compact (column-major).

    Raises:
        SizeLimitError: the elements would need more than 2**63 - 1 bytes.

    >>> from tensor_core import F64
    >>> from tensor_runtime.placement import CPU
    >>> form_of(F64, (2, 3), CPU) is form_of(F64, (2, 3), CPU, (1, 2))
    True
    """
    compact = compact_strides(shape)
    strides = compact if strides is None else canonical_strides(shape, strides)
    key = (dtype, shape, strides, placement)
    with _lock:
        known = _forms.get(key)
    if known is not None:
        return known
    form = Form()
    form.dtype, form.shape, form.strides, form.placement = key
    form.size = size = element_count(shape)
    form.is_compact = strides == compact
    if (size or element_count([extent or 1 for extent in shape])) * dtype.itemsize > _LARGEST:
        raise SizeLimitError(
            f"shape {shape} of {dtype.name} needs more than 2**63 - 1 bytes; make an extent smaller", shape=shape
        )
    with _lock:
        return _forms.setdefault(key, form)
