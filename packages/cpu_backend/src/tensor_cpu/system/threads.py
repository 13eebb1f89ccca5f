"""How many threads the CPU backend uses: those of its own kernels, among which matrix products and decompositions are.

The first count is that of ``TENSOR_CPU_THREADS`` in the environment, else of ``OMP_NUM_THREADS``, else the number of
processors that this process may use. A count that nobody chose is a bound: work gets no more threads than the thread
that asks for it may use processors at the moment. Libraries that others call too, such as NumPy's BLAS, keep the
threads that they have.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Final

from tensor_core.errors import ArgumentError, shortened
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.workspaces import threads_in_force
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.locks import fork_safe_lock
from tensor_runtime.thread_counts import ThreadSetting

VARIABLE: Final = "TENSOR_CPU_THREADS"
USUAL_VARIABLE: Final = "OMP_NUM_THREADS"
_MOST: Final = 1024  # more is a mistake of units; MOST_THREADS in csrc/core/threads.h

_lock: Final = fork_safe_lock()
_count = 1
_chosen = False


def set_threads(count: int, /) -> ThreadSetting:
    """Compute with so many threads from now on, or within a ``with`` block.

    Holds for all kernels of this backend in the process, and for nothing else: NumPy's own functions keep the threads
    that its BLAS has.

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
        _set_ours(wanted)
    return ThreadSetting(partial(_restore, *former))


def threads() -> int:
    """The number of threads in force.

    >>> threads() >= 1
    True
    """
    return _count


def apply_environment() -> None:
    """Set the first count; the backend calls it when it is imported, and nobody else does.

    ``OMP_NUM_THREADS`` is passed over where it names no count from 1 to 1024: it is not ours, and others that read it
    may take what it says.

    Raises:
        ArgumentError: ``TENSOR_CPU_THREADS`` is no number from 1 to 1024.

    >>> apply_environment()
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
    _set_ours(count)


def _count_in(text: str) -> int:
    """The count that a text names; 0 when it names none."""
    count = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0
    return count if count <= _MOST else 0


def _restore(count: int, chosen: bool) -> None:
    with _lock:
        _set_ours(count, chosen)


def _set_ours(count: int, chosen: bool = True) -> None:
    global _count, _chosen
    _count, _chosen = count, chosen
    if AVAILABLE:
        (LIBRARY.set_threads if chosen else LIBRARY.set_most_threads)(count)
        threads_in_force.tell("cpu", (count, chosen))  # NumPy's kernels have no threads, and so nothing to say


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), _MOST)
    return min(os.cpu_count() or 1, _MOST)
