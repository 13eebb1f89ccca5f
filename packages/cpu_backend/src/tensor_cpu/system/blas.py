"""Which BLAS and LAPACK the native kernels call.

Chosen once, when the first kernel needs it:

1. MKL, if the environment says ``TENSOR_CPU_BLAS=mkl``; the ``mkl`` distribution must be installed.
2. An OpenBLAS of our own, from the distribution ``scipy-openblas32``. Nobody else calls it or finds its symbols, so
   that its threads are ours: none, but while a large matrix is decomposed or multiplied.
3. Where that is not installed, or another package has loaded it already, the OpenBLAS that NumPy itself calls. Its
   symbols are found through NumPy's own extension module, so nothing more is loaded.
4. Otherwise what SciPy offers in ``scipy.linalg.cython_blas`` and ``cython_lapack``: public and always there; importing
   them takes 0.2 s.

The number of threads of a library that NumPy or SciPy call too is never changed; our own counts as such once somebody
who has loaded it after us has set its number. ``TENSOR_CPU_BLAS=own``, ``=numpy``
and ``=scipy`` insist on one of the latter three.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from tensor_core.errors import ArgumentError, BackendUnavailableError, shortened
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.locks import fork_safe_lock

VARIABLE: Final = "TENSOR_CPU_BLAS"
SPELLINGS: Final = (("scipy_", "_64_", 64), ("", "_64_", 64), ("scipy_", "_", 32), ("", "_", 32))
"""How libraries spell the names of LAPACK: prefix, suffix, and what that says about their integers."""

_MKL_LIBRARIES: Final = ("libmkl_rt.so", "libmkl_rt.dylib", "mkl_rt.")
_THREADS: Final = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_", ""),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads", ""),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_", ""),
    ("openblas_get_num_threads", "openblas_set_num_threads", ""),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads", "MKL_Set_Num_Threads_Local"),
)
"""Who reads the number of threads, who sets it, and who sets that of the calling thread alone."""
_OWN_THREADS: Final = "one thread for each call, more for a large one that is alone"
_POLLING: Final = "OPENBLAS_THREAD_TIMEOUT"
_CONFIGURATIONS: Final = ("scipy_openblas_get_config64_", "scipy_openblas_get_config", "openblas_get_config")


class Provider(NamedTuple):
    """A library in use."""

    name: str
    """``own``, ``numpy``, ``scipy`` or ``mkl``."""
    path: str
    """Of the library; of an extension module that is linked to it, if :attr:`tells_threads` is false."""
    integer_bits: int
    """Of the integers that it counts with."""
    tells_threads: bool
    """Whether it says how many threads it uses; if not, they alone share the work."""

    @property
    def limit(self) -> int:
        """The largest extent or number of elements that it can count."""
        return (1 << (self.integer_bits - 1)) - 1


def _open(name: str, path: str) -> Provider | None:
    for prefix, suffix, bits in SPELLINGS:
        if LIBRARY.blas_open(path, prefix, suffix, bits, name == "own") is None:
            return _with_threads(name, path, bits)
    return None


def _with_threads(name: str, path: str, bits: int) -> Provider:
    for getter, setter, here in _THREADS:
        library = LIBRARY.blas_control_threads(path, getter, setter, here, name == "own")
        if library is not None:
            return Provider(name, os.path.realpath(library), bits, True)
    return Provider(name, path, bits, False)


def _from_own() -> Provider | None:
    path = own_library()
    if path is None or LIBRARY.blas_is_loaded(path):
        return None
    with _brief_polling():
        return _open("own", path)


@contextmanager
def _brief_polling() -> Iterator[None]:
    """An OpenBLAS that is loaded meanwhile lets its threads sleep some microseconds after a call.

    By default they poll for a new one for about 30 ms, on processors that other threads could use.
    """
    if _POLLING in os.environ:
        yield
        return
    os.environ[_POLLING] = "15"  # binary logarithm of the processor's cycles
    try:
        yield
    finally:
        del os.environ[_POLLING]


def own_library() -> str | None:
    """The path of the library that comes with us, if it is installed.

    The package that holds it is never imported: that would show the library's symbols to everybody.

    >>> path = own_library()
    >>> path is None or "openblas" in path
    True
    """
    spec = find_spec("scipy_openblas32")
    folders = [] if spec is None else spec.submodule_search_locations or []
    found = (path for folder in folders for path in sorted(Path(folder, "lib").glob("libscipy_openblas*")))
    return next((str(path) for path in found if path.suffix in {".so", ".dylib"}), None)


def _from_numpy() -> Provider | None:
    from numpy.linalg import _umath_linalg

    return _open("numpy", _umath_linalg.__file__)


def _from_scipy() -> Provider | None:
    from scipy.linalg import cython_blas, cython_lapack

    LIBRARY.blas_provide((cython_lapack.__pyx_capi__, cython_blas.__pyx_capi__))
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
    {"own": _from_own, "numpy": _from_numpy, "scipy": _from_scipy, "mkl": _from_mkl}
)
_DEFAULT: Final = ("own", "numpy", "scipy")
_ANOTHER: Final = f"unset {VARIABLE}, and another one is used"
_ADVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "": "pip install scipy-openblas32",
        "own": "pip install scipy-openblas32, and let no other package load it",
        "numpy": _ANOTHER,
        "scipy": _ANOTHER,
        "mkl": "pip install ironstride-tensor-cpu[mkl]",
    }
)
_CORE: Final = "OPENBLAS_CORETYPE"
_CORES: Final = {
    64: ("skylakex", "cooperlake", "sapphirerapids"),
    32: ("sandybridge", "bulldozer", "piledriver", "haswell", "steamroller", "excavator", "zen"),
    16: (
        "prescott",
        "core2",
        "penryn",
        "dunnington",
        "nehalem",
        "atom",
        "nano",
        "opteron",
        "opteron_sse3",
        "barcelona",
    ),
}
"""Processors that the environment may name, by the bytes of a vector of the kernels that OpenBLAS has for them."""
_lock: Final = fork_safe_lock()
_opened: Provider | None = None


def wanted() -> str:
    """What the environment asks for; empty for the default.

    Raises:
        ArgumentError: the variable names no provider.

    >>> wanted() in ("", "own", "numpy", "scipy", "mkl")
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
        BackendUnavailableError: it names one that is not installed, or nothing was found anywhere.

    >>> open_blas().integer_bits in (32, 64)
    True
    """
    global _opened
    if _opened is None:
        with _lock:
            if _opened is None:
                _opened = _choose(wanted())
    return _opened


@cache
def blas_limit() -> int:
    """The largest extent or number of elements that the library of :func:`open_blas` can count.

    Raises:
        ArgumentError, BackendUnavailableError: as for :func:`open_blas`.

    >>> blas_limit() == open_blas().limit
    True
    """
    return open_blas().limit


def opened() -> Provider | None:
    """The library that native kernels call, if they have called one."""
    return _opened


def asks_for_mkl() -> bool:
    """Whether the environment asks for MKL, which chooses its kernels by itself.

    >>> asks_for_mkl() == (wanted() == "mkl")
    True
    """
    return os.environ.get(VARIABLE) == "mkl"


@cache
def asked_vector_bytes() -> int | None:
    """Bytes of a vector of the kernels that ``OPENBLAS_CORETYPE`` asks for; None if OpenBLAS looks at the processor.

    Read once, as the library does; a name that it does not know it passes over.

    >>> asked_vector_bytes() in (None, 16, 32, 64)
    True
    """
    if asks_for_mkl():
        return None
    named = os.environ.get(_CORE, "").lower()
    return next((width for width, cores in _CORES.items() if named in cores), None)


def _choose(name: str) -> Provider:
    for one in (name,) if name else _DEFAULT:
        opener = _OPENERS[one]
        try:
            provider = opener()
        except (ImportError, AttributeError, OSError, KeyError, ValueError):
            continue  # not there, not for this machine, or without all of BLAS and LAPACK
        if provider is not None:
            return provider
    missing = "library with all of BLAS and LAPACK was found"
    what = f"{VARIABLE}={name}, but no such {missing}" if name else f"no {missing}: {', '.join(_DEFAULT)} were tried"
    raise BackendUnavailableError(f"{what}; {_ADVICE[name]}", variable=VARIABLE, value=name)


def describe() -> str:
    """The provider for ``doctor``: which one, its integers, version and threads, or why there is none.

    >>> "bit integers" in describe()
    True
    """
    try:
        provider = open_blas()
    except (ArgumentError, BackendUnavailableError) as error:
        return f"none: {error}"
    count = LIBRARY.blas_threads()
    threads = _OWN_THREADS if provider.name == "own" else f"{count or 'unknown'} threads of its own"
    facts = (provider.name, _version(provider.path), f"{provider.integer_bits}-bit integers", threads)
    return f"{', '.join(fact for fact in facts if fact)} ({provider.path})"


def _version(path: str) -> str:
    """What an OpenBLAS says of itself, with the type of processor that it found; empty for another library."""
    import ctypes

    library = ctypes.CDLL(path)
    for name in _CONFIGURATIONS:
        tell = getattr(library, name, None)
        if tell is not None:
            tell.restype = ctypes.c_char_p
            return " ".join(tell().decode().split())
    return ""
