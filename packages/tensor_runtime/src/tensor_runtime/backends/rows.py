"""What :func:`tensor_runtime.backends` shows: a row for each backend, and for whatever plug-in is in trouble."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from tensor_runtime.backends.discovery import VARIABLE, Candidate, in_one_line

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

    def _repr_html_(self) -> str:
        from html import escape  # only notebooks need it

        def line(tag: str, cells: tuple[str, ...]) -> str:
            return "".join(f'<{tag} style="text-align:left">{escape(cell)}</{tag}>' for cell in cells)

        marks = {True: ' style="color:#b5283c"', False: ""}
        rows = "".join(f"<tr{marks[row.troubled]}>{line('td', row[:4])}</tr>" for row in self)
        return f"<table><thead><tr>{line('th', BackendRow._fields[:4])}</tr></thead><tbody>{rows}</tbody></table>"


def name_conflict(candidate: Candidate, known: Iterable[Candidate], /) -> str:
    """That several distributions take a backend's name, in the same words for each of them; empty where one does.

    >>> one, two = (Candidate("npu", f"{origin} 1.0", lambda: None, {}) for origin in ("one", "two"))
    >>> name_conflict(two, [one, two])
    "backend name 'npu' is taken by one 1.0 and two 1.0; uninstall one"
    """
    named = [one for one in known if one.name == candidate.name and not one.excluded]
    takers = " and ".join(one.distribution for one in named)
    return f"backend name {candidate.name!r} is taken by {takers}; uninstall one" if len(named) > 1 else ""


def device_conflict(kind: str, known: Iterable[Candidate], /) -> str:
    """That several backends claim a device, in the same words for each of them; empty where one does.

    A backend that cannot be used, and says so, claims nothing.

    >>> one, two = (Candidate(name, f"{name} 1.0", lambda: None, {"device_kinds": ("npu",)}) for name in ("a", "b"))
    >>> device_conflict("npu", [one, two])
    "device 'npu' is claimed by 'a' of a 1.0 and 'b' of b 1.0; uninstall one, or choose with TENSOR_RUNTIME_BACKENDS"
    """
    usable = [one for one in known if kind in one.device_kinds and not one.unavailable and not one.excluded]
    claims = " and ".join(f"{one.name!r} of {one.distribution}" for one in usable)
    if len(usable) < 2:
        return ""
    return f"device {kind!r} is claimed by {claims}; uninstall one, or choose with {VARIABLE}"


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
