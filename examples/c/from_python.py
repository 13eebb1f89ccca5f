"""Tensors lent to C functions: ``python examples/c/from_python.py`` compiles them and calls them.

A view is lent as it is, its strides of any sign; C writes into the tensor itself. By DLPack, C takes what any library
lends; memory that runs backwards is copied then, as other libraries do not take it.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import ironstride as it

HERE: Final = Path(__file__).resolve().parent
DTYPES: Final = (it.Bool, it.I32, it.I64, it.F32, it.F64, it.C32, it.C64)  # in the order of enum is_dtype


class View(ctypes.Structure):
    """``is_view`` of ironstride.h."""

    _fields_ = (
        ("first", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("writable", ctypes.c_int32),
    )


def view_of(x: it.Tensor) -> View:
    """A tensor in host memory as C sees it; it lends its memory as long as the view lives.

    >>> view = view_of(it.ones((2, 3))[::-1])
    >>> view.shape[:2], view.strides[:2]
    ([2, 3], [-1, 2])
    """
    array = x.buffer.array
    axes = ctypes.c_int64 * max(x.ndim, 1)
    view = View(
        first=array.ctypes.data,
        shape=axes(*x.shape),
        strides=axes(*x.strides),
        rank=x.ndim,
        dtype=DTYPES.index(x.dtype),
        writable=array.flags.writeable,
    )
    view.lent = array
    return view


def capsule_pointer(x: Any) -> tuple[int, object]:
    """The address of what a DLPack capsule lends, and the capsule, which keeps it."""
    capsule = x.__dlpack__(max_version=(1, 0))
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return pointer(capsule, b"dltensor_versioned"), capsule


def compiled(folder: Path) -> ctypes.CDLL:
    """The functions of sum_and_scale.c, compiled by ``cc``, or by what the environment's CC says."""
    library = folder / "sum_and_scale.so"
    compiler = shlex.split(os.environ.get("CC") or "cc")
    flags = ["-O2", "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*compiler, *flags, str(HERE / "sum_and_scale.c"), "-o", str(library)], check=True)
    functions = ctypes.CDLL(str(library))
    functions.sum.argtypes = (ctypes.POINTER(View), ctypes.POINTER(ctypes.c_double))
    functions.scale.argtypes = (ctypes.POINTER(View), ctypes.c_double)
    functions.sum_of_dlpack.argtypes = (ctypes.c_void_p, ctypes.POINTER(ctypes.c_double))
    functions.scale_dlpack.argtypes = (ctypes.c_void_p, ctypes.c_double)
    return functions


def total(functions: ctypes.CDLL, x: it.Tensor) -> float:
    """The sum of a tensor's elements, by C."""
    result = ctypes.c_double()
    if status := functions.sum(view_of(x), result):
        raise ValueError(f"sum refused the tensor: {status}")
    return result.value


def main() -> int:
    """Add up and scale a matrix and a view of it that runs backwards."""
    with tempfile.TemporaryDirectory() as folder:
        functions = compiled(Path(folder))
        x = it.reshape_view(it.arange(6.0), (2, 3))
        backwards = it.mutable_view(x)[::-1, ::2]
        print(
            f"the sum of {x.tolist()} is {total(functions, x)}, of {backwards.tolist()} {total(functions, backwards)}"
        )
        functions.scale(view_of(backwards), 10.0)
        print(f"scaled where the view shows it: {x.tolist()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
