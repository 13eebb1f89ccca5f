"""How many threads the backends compute with: one call for all of them.

The runtime has no threads of its own. It passes the count on to every backend that says how many threads it has, by the
two methods of ``protocols.ThreadedBackend``; a backend without them, such as one of a device, is left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import NamedTuple

from tensor_core.errors import ArgumentError, shortened
from tensor_runtime.backends.registry import Registry, registry
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.placement import CPU
from tensor_runtime.protocols import ThreadedBackend


class ThreadRow(NamedTuple):
    """One line of :func:`threads`."""

    backend: str
    library: str
    """What runs the threads: the backend's own kernels, or a library that it calls."""
    threads: int


class ThreadTable(tuple[ThreadRow, ...]):
    """Threads in force, by backend and library; prints as a table.

    >>> ThreadTable([ThreadRow("cpu", "kernels", 4)])
    backend  library  threads
    cpu      kernels        4
    """

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [("backend", "library", "threads"), *((row.backend, row.library, str(row.threads)) for row in self)]
        first, second, third = (max(map(len, column)) for column in zip(*rows, strict=True))
        return "\n".join(f"{row[0]:{first}}  {row[1]:{second}}  {row[2]:>{third}}" for row in rows)


class ThreadSetting:
    """What :func:`set_threads` did; as a context manager it undoes it at the end of the block."""

    def __init__(self, undo: Callable[[], object]) -> None:
        self._undo = undo

    def __enter__(self) -> ThreadSetting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._undo()


def set_threads(count: int, /) -> ThreadSetting:
    """Compute with so many threads from now on, or within a ``with`` block.

    Holds for the whole process: every backend that runs threads on the host. The one that serves ``cpu`` is loaded for
    this, others count if they are loaded already; one that is loaded later starts with its own default.

    Args:
        count: at least 1; more than there are processors only costs time.

    Returns:
        A context manager, which may be ignored; leaving its block restores the counts that were in force before.

    Raises:
        ArgumentError: ``count`` is no int of 1 or more, or more than a backend takes; nothing is changed then.
        BackendUnavailableError: nobody serves ``cpu``.

    >>> with set_threads(1):
    ...     [row.threads for row in threads() if row.library == "kernels"]
    [1]
    """
    wanted = whole("set_threads", "count", count)
    if wanted < 1:
        raise ArgumentError(f"set_threads: count is {shortened(wanted)}; accepted: 1 or more", operation="set_threads")
    with ExitStack() as undo:  # a backend that refuses leaves none of them changed
        for backend in _threaded(registry):
            setting: AbstractContextManager[object] = backend.set_threads(wanted)
            undo.callback(setting.__exit__, None, None, None)
        return ThreadSetting(undo.pop_all().close)


def threads() -> ThreadTable:
    """The threads in force: one row for each library that a loaded backend computes with.

    Raises:
        BackendUnavailableError: nobody serves ``cpu``.

    >>> threads()[0]._fields
    ('backend', 'library', 'threads')
    """
    return ThreadTable(
        ThreadRow(backend.name, library, count)
        for backend in _threaded(registry)
        for library, count in backend.threads().items()
    )


def _threaded(known: Registry) -> list[ThreadedBackend]:
    known.backend_for(CPU)  # whoever asks for threads is about to compute
    threaded = [backend for backend in known.loaded() if isinstance(backend, ThreadedBackend)]
    return sorted(threaded, key=lambda backend: backend.name)
