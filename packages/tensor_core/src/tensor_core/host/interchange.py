"""Interchange: memory shared with other libraries, through NumPy's array interface or the buffer protocol.

Nothing here imports NumPy. What is borrowed shares memory and keeps its owner alive; what is exported is kept alive by
the memoryview in it. The array interface counts bytes, everything else elements.
"""

from __future__ import annotations

import sys

from tensor_core.dtypes import C32, C64, DTYPE_NAMES, F32, F64, I32, I64, Bool, DType
from tensor_core.errors import DTypeError, LayoutError, ViewRequiresCopyError
from tensor_core.foreign import check_holds, dtypes_that_hold, name_of_typestr, refuse_masked
from tensor_core.host.storage import Storage
from tensor_core.layout import TensorLayout, is_injective, reachable_range, validate_layout
from tensor_core.shapes import canonical_strides
from tensor_core.static_types import Any, Final

_ORDER: Final = "<" if sys.byteorder == "little" else ">"
_TYPESTR: Final[dict[DType, str]] = {
    F32: f"{_ORDER}f4",
    F64: f"{_ORDER}f8",
    I32: f"{_ORDER}i4",
    I64: f"{_ORDER}i8",
    Bool: "|b1",
    C32: f"{_ORDER}c8",
    C64: f"{_ORDER}c16",
}
_OF_TYPESTR: Final = {name: dtype for dtype, name in _TYPESTR.items()}
# Formats of the buffer protocol; "l" is I64 where a C long has 8 bytes.
_OF_FORMAT: Final[dict[tuple[str, int], DType]] = {
    ("f", 4): F32,
    ("d", 8): F64,
    ("i", 4): I32,
    ("l", 4): I32,
    ("l", 8): I64,
    ("q", 8): I64,
    ("?", 1): Bool,
    ("Zf", 8): C32,
    ("Zd", 16): C64,
}
_ADDRESSES: Final = 2 * sys.maxsize + 2
RAW_FORMATS: Final = frozenset({"B", "b", "c"})  # bytes that carry no element type


def export_interface(storage: Storage, layout: TensorLayout, /) -> dict[str, Any]:
    """The array interface of a layout: zero-copy, any signed strides.

    Read-only where the storage is, and where two indices may name one element.

    Source: NumPy's array interface protocol, version 3, with ``data`` as a buffer, which keeps the memory alive.

    >>> export_interface(Storage.zeros(F64, 3), TensorLayout((3,), (-1,), 2))["strides"]
    (-8,)
    """
    itemsize = storage.dtype.itemsize
    # The offset may not point behind the last byte, not even for an empty layout.
    return {
        "version": 3,
        "shape": layout.shape,
        "typestr": _TYPESTR[storage.dtype],
        "data": storage.raw if is_injective(layout) else storage.raw.toreadonly(),
        "offset": layout.offset * itemsize if layout.size else 0,
        "strides": tuple(stride * itemsize for stride in layout.strides),
    }


def borrow(source: Any, /) -> tuple[Storage, TensorLayout]:
    """Storage and layout that share the memory of an array or a buffer.

    Args:
        source: an object with ``__array_interface__``, or a C-contiguous buffer.

    Raises:
        DTypeError: it is neither, or its element type is none of ours, or its bytes are swapped.
        ViewRequiresCopyError: its strides are no multiples of the element's length, or its buffer is not C-contiguous.

    >>> storage, layout = borrow(memoryview(bytearray(32)).cast("d", (2, 2)))
    >>> storage.dtype, layout
    (F64, TensorLayout(shape=(2, 2), strides=(2, 1), offset=0))
    """
    refuse_masked("array interface", source)
    interface = getattr(source, "__array_interface__", None)
    if interface is None:
        return _borrow_buffer(source)
    try:
        shape = tuple(map(int, interface["shape"]))
        typestr = str(interface["typestr"])
        in_bytes = None if interface.get("strides") is None else tuple(map(int, interface["strides"]))
        data, offset = interface.get("data"), int(interface.get("offset", 0))
        address = (int(data[0]), bool(data[1])) if isinstance(data, tuple) else None
        masked = interface.get("mask") is not None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise LayoutError(
            f"array interface: that of {type(source).__name__} is malformed ({error!r}); see NumPy's protocol"
        ) from None
    dtype = _OF_TYPESTR.get(typestr.replace("=", _ORDER))
    if masked:
        raise DTypeError("array interface: found a mask, which no tensor has; accepted: an array without one")
    if dtype is None:
        holding = ", ".join(map(str, dtypes_that_hold(name_of_typestr(typestr))))
        raise DTypeError(
            f"array interface: found type string {typestr!r}; accepted: {DTYPE_NAMES}, native byte order"
            + (f"; from_buffer(x, dtype) converts a copy to {holding}" if holding else "")
        )
    layout = _layout_of(shape, in_bytes, dtype.itemsize)
    if address is not None:
        return borrow_address(dtype, layout, *address, source)
    raw = buffer_of(source if data is None else data)
    raw = raw.cast("B") if raw.nbytes else memoryview(b"")
    head = offset % dtype.itemsize
    storage = Storage(dtype, raw[head : head + (len(raw) - head) // dtype.itemsize * dtype.itemsize])
    layout = TensorLayout(layout.shape, layout.strides, offset // dtype.itemsize)
    validate_layout(layout, len(storage), dtype.itemsize)
    return storage, layout


def convertible(source: Any, dtype: DType | None, /) -> Any:
    """The array itself, or a copy of it in ``dtype`` when its own element type is none of ours but ``dtype`` holds it.

    Raises:
        LossyConversionError: ``dtype`` does not hold all values.
        DTypeError: no type of ours does, or the source cannot convert itself.

    >>> buffer = bytearray(8)
    >>> convertible(buffer, F64) is buffer
    True
    """
    interface = getattr(source, "__array_interface__", None)
    typestr = interface.get("typestr") if isinstance(interface, dict) else None
    if dtype is None or not isinstance(typestr, str) or typestr.replace("=", _ORDER) in _OF_TYPESTR:
        return source
    refuse_masked("from_buffer", source)
    check_holds("from_buffer", name_of_typestr(typestr), f"type string {typestr!r}", dtype)
    if not callable(getattr(source, "astype", None)):
        raise DTypeError(
            f"from_buffer: a {type(source).__name__} of type string {typestr!r} has no astype() to convert it; "
            f"accepted: {DTYPE_NAMES}, native byte order"
        )
    return source.astype(dtype.numpy_name)


def _layout_of(shape: tuple[int, ...], in_bytes: tuple[int, ...] | None, itemsize: int) -> TensorLayout:
    if in_bytes is None:
        return TensorLayout.row_major(shape)
    if 0 not in shape and any(stride % itemsize for stride, extent in zip(in_bytes, shape, strict=False) if extent > 1):
        raise ViewRequiresCopyError(
            f"array interface: strides of {in_bytes} bytes for elements of {itemsize}; copy the array first",
            strides=in_bytes,
        )
    if len(shape) != len(in_bytes) or min(shape, default=0) < 0:
        return TensorLayout(shape, in_bytes)  # refuses
    return TensorLayout(shape, canonical_strides(shape, tuple(stride // itemsize for stride in in_bytes)))


def borrow_address(
    dtype: DType, layout: TensorLayout, address: int, readonly: bool, owner: object
) -> tuple[Storage, TensorLayout]:
    """Storage and layout over memory at an address, which ``owner`` keeps alive.

    Args:
        dtype: element type.
        layout: of the elements, with offset 0 at the address.
        address: of the first element.
        readonly: whether writing is refused.
        owner: what lives as long as the storage does.

    Raises:
        LayoutError: the layout reaches below the lowest address.

    >>> from array import array
    >>> numbers = array("d", [1.0, 2.0])
    >>> borrow_address(F64, TensorLayout((2,)), numbers.buffer_info()[0], True, numbers)[0].elements()
    [1.0, 2.0]
    """
    reach = check_address(dtype, layout, address)
    if reach is None:
        return Storage(dtype, b"" if readonly else bytearray()), TensorLayout(layout.shape)
    lowest, highest = reach
    layout = TensorLayout(layout.shape, layout.strides, -lowest)
    length = highest - lowest + 1
    import ctypes  # costs 5 ms, and only foreign addresses need it

    block = (ctypes.c_char * (length * dtype.itemsize)).from_address(address + lowest * dtype.itemsize)
    block.owner = owner  # type: ignore[attr-defined]  # lives as long as any memoryview of the block
    raw = memoryview(block).cast("B")
    return Storage(dtype, raw.toreadonly() if readonly else raw), layout


def check_address(dtype: DType, layout: TensorLayout, address: int, /) -> tuple[int, int] | None:
    """The reachable range of a layout over memory at an address, which has to lie among addresses that there are.

    Raises:
        LayoutError: the layout reaches below the lowest address, or beyond the highest.

    >>> check_address(F64, TensorLayout((2,), (-1,)), 4096)
    (-1, 0)
    """
    reach = reachable_range(layout)
    if reach is None:
        return None
    lowest, highest = reach
    validate_layout(TensorLayout(layout.shape, layout.strides, -lowest), highest - lowest + 1, dtype.itemsize)
    if address + lowest * dtype.itemsize <= 0 or address + (highest + 1) * dtype.itemsize > _ADDRESSES:
        raise LayoutError(
            f"array interface: address {address} with {layout!r}; accepted: the address of the first element"
        )
    return reach


def _borrow_buffer(source: Any) -> tuple[Storage, TensorLayout]:
    view = buffer_of(source)
    dtype = dtype_of_buffer(view)
    if not view.c_contiguous:
        raise ViewRequiresCopyError(
            f"buffer: strides of {view.strides} bytes are not C-contiguous; HostTensor.from_buffer copies it",
            strides=view.strides,
        )
    raw = view.cast("B") if view.nbytes else memoryview(b"" if view.readonly else bytearray())
    return Storage(dtype, raw), TensorLayout.row_major(view.shape or ())


def buffer_of(source: Any, /) -> memoryview[Any]:
    """A memoryview of anything that has one.

    Raises:
        DTypeError: it has none.

    >>> buffer_of(b"ab").nbytes
    2
    """
    refuse_masked("buffer", source)
    try:
        return memoryview(source)
    except TypeError:
        raise DTypeError(
            f"buffer: found {type(source).__name__}; accepted: objects with __array_interface__ or the buffer protocol"
        ) from None


def dtype_of_buffer(view: memoryview[Any], /) -> DType:
    """The element type of a buffer's format.

    Raises:
        DTypeError: the format is none of ours, or its bytes are swapped.

    >>> dtype_of_buffer(memoryview(bytearray(8)).cast("d"))
    F64
    """
    found = _OF_FORMAT.get((view.format.lstrip("@="), view.itemsize))
    if found is None:
        raise DTypeError(f"buffer: found format {view.format!r}; accepted: {DTYPE_NAMES}, native byte order")
    return found
