"""What :func:`tensor_runtime.backends` shows: a row for each backend, and for whatever plug-in is in trouble."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from tensor_runtime.backends.discovery import Candidate, in_one_line

KERNEL: Final = "a kernel"
"""What stands for devices in the row of a kernel that a package brings for a backend."""
RULE: Final = "a rule"
"""What stands there in the row of a rule."""


class BackendRow(NamedTuple):
    """One line of :func:`backends`."""

    name: str
    devices: str
    distribution: str
    status: str
    troubled: bool = False
    """Whether it is broken or in conflict; a backend that cannot be used here, and says so, is in no trouble."""


class BackendTable(tuple[BackendRow, ...]):
    """Backends known to this process; prints as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [BackendRow("name", "devices", "distribution", "status"), *self]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = (
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
        )
        return "\n".join(line.rstrip() for line in lines)


def own_kernels(candidate: Candidate) -> tuple[Collection[str], str]:
    """Names of the kernels that a backend has itself, and its status where it is broken; nothing while not loaded.

    >>> own_kernels(Candidate("npu", "npu-plugin 1.0", lambda: None, {}))
    ((), '')
    """
    backend = candidate.instance
    if backend is None:
        return (), candidate.status if candidate.failure is not None else ""
    try:
        dict(backend.unsupported())
        return frozenset(backend.operations()), ""
    except Exception as failure:  # a plug-in's report may fail in any way
        return (), f"broken: it does not say which operations it has: {in_one_line(failure)}"
