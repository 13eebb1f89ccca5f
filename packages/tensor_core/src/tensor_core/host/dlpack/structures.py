"""The C structures of DLPack 1.x and the functions of Python's C interface that handle capsules and buffers.

Importing it imports ctypes, which takes milliseconds: the modules that use it do so when memory is exchanged.

Source: ``dlpack.h`` of DLPack 1.1 and the Python specification of DLPack.
"""

from __future__ import annotations

import ctypes
import sys

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_core.static_types import Any, Final

VERSION: Final = (1, 1)
VERSIONED: Final = b"dltensor_versioned"
UNVERSIONED: Final = b"dltensor"
USED: Final = {VERSIONED: b"used_dltensor_versioned", UNVERSIONED: b"used_dltensor"}
"""Names of capsules that have been taken."""
READ_ONLY: Final = 1 << 0
IS_COPIED: Final = 1 << 1
_CODES: Final[dict[DType, int]] = {Bool: 6, I32: 0, I64: 0, F32: 2, F64: 2, C32: 5, C64: 5}
ELEMENT_TYPES: Final = {dtype: (code, 8 * dtype.itemsize, 1) for dtype, code in _CODES.items()}
"""Code, bits and lanes of each element type."""
NAMES: Final = {0: "int", 1: "uint", 2: "float", 3: "opaque", 4: "bfloat", 5: "complex", 6: "bool"}


class Device(ctypes.Structure):
    """Where memory is; (1, 0) is the host's."""

    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class ElementType(ctypes.Structure):
    """Code, bits of one lane, lanes."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class TensorInfo(ctypes.Structure):
    """``DLTensor``: strides count elements, and NULL stands for those of row-major elements without gaps."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("rank", ctypes.c_int32),
        ("dtype", ElementType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Unversioned(ctypes.Structure):
    """``DLManagedTensor``, before version 1."""

    _fields_ = (("tensor", TensorInfo), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Versioned(ctypes.Structure):
    """``DLManagedTensorVersioned``; the first four fields are the same in every version to come."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", TensorInfo),
    )


class Buffer(ctypes.Structure):
    """``Py_buffer``, of which the first field is the address of the bytes."""

    _fields_ = (
        ("address", ctypes.c_void_p),
        ("owner", ctypes.c_void_p),
        ("length", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    )


def python_function(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's C interface, called with the interpreter's lock held."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


new_capsule: Final = python_function(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)
name_of: Final = python_function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
pointer_of: Final = python_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
rename: Final = python_function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
get_buffer: Final = python_function(
    "PyObject_GetBuffer", ctypes.c_int, ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int
)
release_buffer: Final = python_function("PyBuffer_Release", None, ctypes.POINTER(Buffer))
Deleter: Final = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def _clock() -> Any:
    library = ctypes.CDLL(None) if sys.platform != "win32" else ctypes.CDLL("ucrtbase")
    return library._time64 if sys.platform == "win32" else library.time


time: Final = _clock()
"""Writes the time of day, in seconds as int64, at the address given; no interpreter and no exception is in its way."""
