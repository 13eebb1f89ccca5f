"""Which BLAS and LAPACK the native kernels call.

Chosen once, when the first kernel needs it:

1. MKL, if the environment says ``TENSOR_CPU_BLAS=mkl``; the ``mkl`` distribution must be installed.
2. The OpenBLAS that NumPy itself calls. Its symbols are found through NumPy's own extension module, so nothing more is
   loaded, one pool of threads serves both, and its integers have 64 bits in the wheels of PyPI.
3. Otherwise what SciPy offers in ``scipy.linalg.cython_lapack``: public and always there, with integers of 32 bits;
   importing it takes 0.2 s.

``TENSOR_CPU_BLAS=numpy`` and ``=scipy`` insist on one of the latter two.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from threading import Lock
from types import MappingProxyType
from typing import Final, NamedTuple

from tensor_core.errors import ArgumentError, BackendUnavailableError, shortened
from tensor_cpu.extension import LIBRARY

VARIABLE: Final = "TENSOR_CPU_BLAS"

_MKL_LIBRARIES: Final = ("libmkl_rt.so", "libmkl_rt.dylib", "mkl_rt.")
_SPELLINGS: Final = (("scipy_", "_64_", 64), ("", "_64_", 64), ("scipy_", "_", 32), ("", "_", 32))
"""How libraries spell the names of LAPACK: prefix, suffix, and what that says about their integers."""
_THREADS: Final = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
)


class Provider(NamedTuple):
    """A library in use."""

    name: str
    """``numpy``, ``scipy`` or ``mkl``."""
    path: str
    """Of the library; of an extension module that is linked to it, if :attr:`controls_threads` is false."""
    integer_bits: int
    """Of the integers that it counts with."""
    controls_threads: bool
    """Whether its threads can be held back; if not, only they share the work."""

    @property
    def limit(self) -> int:
        """The largest extent or number of elements that it can count."""
        return (1 << (self.integer_bits - 1)) - 1


def _open(name: str, path: str) -> Provider | None:
    for prefix, suffix, bits in _SPELLINGS:
        if LIBRARY.blas_open(path, prefix, suffix, bits) is None:
            return _with_threads(name, path, bits)
    return None


def _with_threads(name: str, path: str, bits: int) -> Provider:
    for getter, setter in _THREADS:
        library = LIBRARY.blas_control_threads(path, getter, setter)
        if library is not None:
            return Provider(name, os.path.realpath(library), bits, True)
    return Provider(name, path, bits, False)


def _from_numpy() -> Provider | None:
    from numpy.linalg import _umath_linalg

    path = getattr(_umath_linalg, "__file__", None)
    if path is None:
        return None
    try:
        return _open("numpy", path)
    except OSError:
        return None


def _from_scipy() -> Provider | None:
    from scipy.linalg import cython_lapack

    LIBRARY.blas_provide((cython_lapack.__pyx_capi__,))
    return _with_threads("scipy", cython_lapack.__file__, 32)


def _from_mkl() -> Provider | None:
    path = _mkl_library()
    return None if path is None else _open("mkl", path)


def _mkl_library() -> str | None:
    from importlib.metadata import PackageNotFoundError, files  # 10 ms that nobody else needs

    try:
        listed = files("mkl") or ()
    except PackageNotFoundError:
        return None
    found = [os.path.realpath(str(one.locate())) for one in listed if one.name.startswith(_MKL_LIBRARIES)]
    return next((path for path in found if os.path.exists(path)), None)


_OPENERS: Final[Mapping[str, Callable[[], Provider | None]]] = MappingProxyType(
    {"numpy": _from_numpy, "scipy": _from_scipy, "mkl": _from_mkl}
)
_lock: Final = Lock()
_opened: Provider | None = None


def wanted() -> str:
    """What the environment asks for; empty for the default.

    Raises:
        ArgumentError: the variable names no provider.

    >>> wanted() in ("", "numpy", "scipy", "mkl")
    True
    """
    name = os.environ.get(VARIABLE, "")
    if name and name not in _OPENERS:
        raise ArgumentError(
            f"{VARIABLE} is {shortened(name)}; accepted: {', '.join(_OPENERS)}, or unset for the best that is there",
            variable=VARIABLE,
            value=name,
        )
    return name


def open_blas() -> Provider:
    """The library that native kernels call, opened if that has not happened yet; without the extension, an error.

    Raises:
        ArgumentError: ``TENSOR_CPU_BLAS`` names no provider.
        BackendUnavailableError: it names one that is not installed.

    >>> open_blas().integer_bits in (32, 64)
    True
    """
    global _opened
    if _opened is None:
        with _lock:
            if _opened is None:
                _opened = _choose(wanted())
    return _opened


def opened() -> Provider | None:
    """The library that native kernels call, if they have called one."""
    return _opened


def _choose(name: str) -> Provider:
    for one in (name,) if name else ("numpy", "scipy"):
        provider = _OPENERS[one]()
        if provider is not None:
            return provider
    advice = {"mkl": "pip install ironstride-tensor-cpu[mkl]", "numpy": f"unset {VARIABLE}, and SciPy's is used"}
    raise BackendUnavailableError(
        f"{VARIABLE}={name}, but no such library with all of BLAS and LAPACK was found; {advice.get(name, '')}",
        variable=VARIABLE,
        value=name,
    )


def describe() -> str:
    """The provider for ``doctor``: which one, its integers and threads, or why there is none.

    >>> "bit integers" in describe()
    True
    """
    try:
        provider = open_blas()
    except (ArgumentError, BackendUnavailableError) as error:
        return f"none: {error}"
    threads = LIBRARY.blas_threads()
    count = f"{threads} threads" if threads else "threads unknown"
    return f"{provider.name}, {provider.integer_bits}-bit integers, {count} ({provider.path})"
