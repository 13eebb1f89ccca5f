"""Routines of LAPACK that neither NumPy nor the extension calls, called through ``ctypes``.

The library is that of :mod:`tensor_cpu.system.blas` where the extension is in use; else the OpenBLAS that NumPy itself
calls, found through NumPy's extension module, and last what SciPy offers in ``scipy.linalg.cython_lapack``.

Only routines for binary64 (``d...`` and ``z...``) are called. Arrays are NumPy's: what LAPACK takes for a column-major
matrix [M, N] is a C-contiguous array (N, M). A call lets other Python threads run. Extents have been checked against
:func:`limit` before.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from tensor_core.errors import BackendUnavailableError
from tensor_cpu.system.blas import SPELLINGS, open_blas
from tensor_cpu.system.extension import AVAILABLE


class Library(NamedTuple):
    """Where routines are found."""

    integer_bits: int
    find: Callable[[str], Any]
    """The function of a name, or None."""


def call(name: str, /, *arguments: int | float | str | Any) -> int:
    """Call a routine; what it says of how that went.

    Args:
        name: of the routine, in lower case.
        arguments: all but the last one, ``info``. An int or a float is passed by reference, a str as characters, an
            array as a pointer to its first element, None as a null pointer.

    Returns:
        ``info``: 0, or the number that the routine's documentation explains. Negative ones never come from arguments
        that the caller has in his hand.

    Raises:
        BackendUnavailableError: no library here has the routine.

    >>> a, pivots = np.array([[4.0, 2.0], [0.0, 5.0]]), integers(2)
    >>> call("dgetrf", 2, 2, a, 2, pivots), a.tolist(), pivots.tolist()
    (0, [[4.0, 0.5], [0.0, 5.0]], [1, 2])
    """
    opened = library()
    integer = ctypes.c_int64 if opened.integer_bits == 64 else ctypes.c_int32
    given: list[Any] = []
    lengths = 0
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            given.append(argument.ctypes.data_as(ctypes.c_void_p))
        elif isinstance(argument, str):
            given.append(argument.encode())
            lengths += 1
        elif isinstance(argument, int):
            given.append(ctypes.byref(integer(argument)))
        elif isinstance(argument, float):
            given.append(ctypes.byref(ctypes.c_double(argument)))
        else:
            given.append(argument)
    info = integer(0)
    routine = opened.find(name)
    if routine is None:
        raise BackendUnavailableError(
            f"LAPACK's {name} is not in the library in use; pip install scipy-openblas32", routine=name
        )
    routine.restype = None
    routine(*given, ctypes.byref(info), *[ctypes.c_size_t(1)] * lengths)  # gfortran's lengths of characters
    return int(info.value)


def integers(count: int, /) -> Any:
    """An array of that many integers of the library.

    >>> integers(3).shape
    (3,)
    """
    return np.zeros(count, np.int64 if library().integer_bits == 64 else np.int32)


def limit() -> int:
    """The largest extent or number of elements that the library can count.

    >>> limit() in (2**31 - 1, 2**63 - 1)
    True
    """
    return int(2 ** (library().integer_bits - 1)) - 1


@cache
def library() -> Library:
    """The library in use.

    Raises:
        BackendUnavailableError: there is none.

    >>> library().find("no_such_routine") is None
    True
    """
    paths = [_path_of_blas()] if AVAILABLE else []
    from numpy.linalg import _umath_linalg

    for path in (*paths, _umath_linalg.__file__):
        found = None if path is None else _opened(path)
        if found is not None:
            return found
    try:
        from scipy.linalg import cython_lapack
    except ImportError as error:
        raise BackendUnavailableError(
            "no library with LAPACK was found: NumPy's has no symbols, and SciPy is not installed; pip install scipy"
        ) from error
    return Library(32, lambda name: _from_capsule(cython_lapack.__pyx_capi__.get(name)))


def _path_of_blas() -> str | None:
    provider = open_blas()
    return None if provider.name == "scipy" else provider.path


def _opened(path: str) -> Library | None:
    try:
        opened = ctypes.CDLL(path)
    except OSError:
        return None
    for prefix, suffix, bits in SPELLINGS:
        if hasattr(opened, f"{prefix}dgees{suffix}"):
            return Library(bits, partial(_symbol, opened, prefix, suffix))
    return None


def _symbol(opened: ctypes.CDLL, prefix: str, suffix: str, name: str) -> Any:
    return getattr(opened, f"{prefix}{name}{suffix}", None)


def _from_capsule(capsule: Any) -> Any:
    if capsule is None:
        return None
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None)(address)
