"""How many threads the CPU backend uses: those of its own kernels and those of the BLAS libraries alike.

The first count is that of ``TENSOR_CPU_THREADS`` in the environment, else of ``OMP_NUM_THREADS``, else the number of
processors that this process may use; unless it is the first of these, the BLAS libraries keep what they choose
themselves. The two kinds of threads never work at the same time on one call, so they share one number. A count that
nobody chose is a bound: work gets no more threads than the thread that asks for it may use processors at the moment.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from types import TracebackType
from typing import Final, NamedTuple

from tensor_core.errors import ArgumentError, BackendUnavailableError, shortened
from tensor_cpu.extension import AVAILABLE, LIBRARY
from tensor_runtime.arguments import whole

VARIABLE: Final = "TENSOR_CPU_THREADS"
USUAL_VARIABLE: Final = "OMP_NUM_THREADS"
_MOST: Final = 1024  # more is a mistake of units; MOST_THREADS in native/threads.h

_lock: Final = Lock()
_count = 1
_chosen = False


class _Library(NamedTuple):
    """A BLAS library, as far as its threads go."""

    threads: Callable[[], int]
    set_threads: Callable[[int], object]


class ThreadSetting:
    """What :func:`set_threads` did; as a context manager it undoes it at the end of the block."""

    def __init__(self, former: tuple[int, bool], former_blas: tuple[tuple[_Library, int], ...]) -> None:
        self._former = former
        self._former_blas = former_blas

    def __enter__(self) -> ThreadSetting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        with _lock:
            _set_ours(*self._former)
            for library, count in self._former_blas:
                library.set_threads(count)


def set_threads(count: int, /) -> ThreadSetting:
    """Compute with so many threads from now on, or within a ``with`` block.

    Holds for the whole process: the kernels of this backend, and every BLAS library that is loaded.

    Args:
        count: at least 1; more than there are processors only costs time.

    Returns:
        a context manager, which may be ignored; leaving its block restores the counts that were in force before.

    Raises:
        ArgumentError: ``count`` is no int from 1 to 1024.

    >>> before = threads()
    >>> with set_threads(1):
    ...     threads()
    1
    >>> threads() == before
    True
    """
    wanted = whole("set_threads", "count", count)
    if not 1 <= wanted <= _MOST:
        raise ArgumentError(
            f"set_threads: count is {shortened(wanted)}; accepted: 1 to {_MOST}", operation="set_threads", count=wanted
        )
    with _lock:
        former = (_count, _chosen)
        former_blas = tuple((library, library.threads()) for library in _blas_libraries())
        _set_ours(wanted)
        for library, _ in former_blas:
            library.set_threads(wanted)
    return ThreadSetting(former, former_blas)


def threads() -> int:
    """The number of threads in force.

    >>> threads() >= 1
    True
    """
    return _count


def apply_environment() -> None:
    """Set the first count; the backend calls it when it is imported, and nobody else does.

    Raises:
        ArgumentError: ``TENSOR_CPU_THREADS`` is no number from 1 to 1024.

    >>> before = threads()
    >>> apply_environment()
    >>> threads() == before
    True
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        usual = _count_in(os.environ.get(USUAL_VARIABLE, "").split(",")[0].strip())  # one for each level of nesting
        _set_ours(usual or _processors(), bool(usual))
        return
    count = _count_in(text)
    if not count:
        raise ArgumentError(f"{VARIABLE} is {shortened(text)}; accepted: 1 to {_MOST}, or unset", variable=VARIABLE)
    if AVAILABLE:  # NumPy's library is found without the 5 ms that threadpoolctl takes
        from tensor_cpu.native import blas  # 2 ms that most processes can do without

        _set_ours(count)
        with suppress(ArgumentError, BackendUnavailableError):  # a wrong choice is told when BLAS is needed
            blas.open_blas()
            LIBRARY.blas_set_threads(count)
    else:
        set_threads(count)


def _count_in(text: str) -> int:
    """The count that a text names; 0 when it names none."""
    count = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0
    return count if count <= _MOST else 0


def _set_ours(count: int, chosen: bool = True) -> None:
    global _count, _chosen
    _count, _chosen = count, chosen
    if AVAILABLE:
        (LIBRARY.set_threads if chosen else LIBRARY.set_most_threads)(count)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), _MOST)
    return min(os.cpu_count() or 1, _MOST)


def _blas_libraries() -> list[_Library]:
    """The BLAS libraries that are loaded.

    The one that native kernels call is asked through them, because they hold its threads back for moments.
    """
    from threadpoolctl import ThreadpoolController

    from tensor_cpu.native import blas

    ours = blas.opened()
    return [
        _Library(LIBRARY.blas_threads, LIBRARY.blas_set_threads)
        if ours is not None and ours.controls_threads and ours.path == os.path.realpath(library.filepath)
        else _Library(library.get_num_threads, library.set_num_threads)
        for library in ThreadpoolController().lib_controllers
        if library.user_api == "blas"
    ]
