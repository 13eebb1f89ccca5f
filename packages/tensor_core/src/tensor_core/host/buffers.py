"""Memory lent through the buffer protocol: ``memoryview(x)``, ``bytes(x)``, ``file.write(x)``, from Python 3.12 on.

Older interpreters ask no class written in Python for a buffer. Importing it imports ctypes; see ``dlpack.structures``.
"""

from __future__ import annotations

import ctypes

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_core.host.dlpack import structures as c
from tensor_core.host.storage import Storage
from tensor_core.layout import TensorLayout, is_injective
from tensor_core.static_types import Any, Final

# "l" where a C long has 8 bytes, as NumPy writes it; complex as NumPy and PEP 3118 write it.
FORMATS: Final[dict[DType, bytes]] = {
    F32: b"f",
    F64: b"d",
    I32: b"i",
    I64: b"l" if ctypes.sizeof(ctypes.c_long) == 8 else b"q",
    Bool: b"?",
    C32: b"Zf",
    C64: b"Zd",
}
_new_view: Final = c.python_function("PyMemoryView_FromBuffer", ctypes.py_object, ctypes.POINTER(c.Buffer))


def exported(storage: Storage, layout: TensorLayout, /) -> memoryview[Any]:
    """The elements of a layout as a buffer of its shape and strides, of whatever sign.

    Read-only where the storage is, and where two indices may name one element. The memory lives as long as the storage:
    whoever hands the buffer on keeps that.

    Source: PEP 3118; PEP 688.

    >>> storage = Storage.of(F64, [1.0, 2.0, 3.0])
    >>> seen = exported(storage, TensorLayout((3,), (-1,), 2))
    >>> seen.tolist(), seen.format, seen.strides
    ([3.0, 2.0, 1.0], 'd', (-8,))
    """
    itemsize, rank = storage.dtype.itemsize, layout.rank
    held, lent = c.Buffer(), c.Buffer()
    c.get_buffer(storage.raw, ctypes.byref(held), 0)
    try:
        lent.address = held.address + (layout.offset * itemsize if layout.size else 0)
    finally:
        c.release_buffer(ctypes.byref(held))
    sizes = ctypes.c_ssize_t * max(rank, 1)
    lent.length, lent.itemsize, lent.rank = layout.size * itemsize, itemsize, rank
    lent.readonly = storage.readonly or not is_injective(layout)
    lent.format = FORMATS[storage.dtype]
    lent.shape, lent.strides = sizes(*layout.shape), sizes(*(stride * itemsize for stride in layout.strides))
    return _new_view(ctypes.byref(lent))  # type: ignore[no-any-return]  # ctypes has no types; it copies both arrays
