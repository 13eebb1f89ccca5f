"""How much memory the operating system lets this process have.

:func:`available_bytes` is what could be allocated now, :func:`usable_bytes` what the process may have in all, whatever
is taken at the moment. Each is the smallest of three: the machine's memory, the limits of the process's control groups
(version 1 and 2, its own group and all above it), and its own limit on addresses (``ulimit -v``). Swap space does not
count: work that lives in it does not end in any useful time.

Nothing is allocated to find out. Limits change while a process runs, so nothing is kept, save by
:func:`recently_usable_bytes`, for a second. All numbers are bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import inf
from os import PathLike, path
from time import monotonic
from typing import Final

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

Root = str | PathLike[str]


def available_bytes(root: Root = "/") -> int | None:
    """Bytes that can be allocated now: the smallest of what the machine, the control groups and the limits leave.

    Args:
        root: where ``proc`` and ``sys`` are found; tests give a folder of their own.

    Returns:
        Bytes, never negative, or None where the operating system does not tell.

    >>> import pathlib, tempfile
    >>> machine = pathlib.Path(tempfile.mkdtemp())
    >>> (machine / "proc").mkdir()
    >>> _ = (machine / "proc" / "meminfo").write_text("MemAvailable: 1 kB")
    >>> available_bytes(machine)
    1024
    """
    found = [*_machine(root, "MemAvailable:")]
    for most, used in _control_groups(root):
        found.append(most - used)
    for most in _address_limit():
        pages = _text(root, "proc/self/statm").split()
        found += [most - int(pages[0]) * resource.getpagesize()] if pages else []
    return max(0, min(found)) if found else None


def usable_bytes(root: Root = "/") -> int | None:
    """Bytes that this process may have in all, what it has now included.

    Args:
        root: as for :func:`available_bytes`.

    Returns:
        Bytes, or None where the operating system does not tell.

    >>> import pathlib, tempfile
    >>> machine = pathlib.Path(tempfile.mkdtemp())
    >>> (machine / "proc").mkdir()
    >>> _ = (machine / "proc" / "meminfo").write_text("MemTotal: 4 kB")
    >>> usable_bytes(machine)
    4096
    """
    found = [*_machine(root, "MemTotal:"), *[most for most, _ in _control_groups(root)], *_address_limit()]
    return min(found) if found else None


def recently_usable_bytes() -> int | None:
    """:func:`usable_bytes`, as it was at most a second ago: reading limits takes 50 to 500 µs, remembering them 0.1.

    >>> recently_usable_bytes() == recently_usable_bytes()
    True
    """
    global _looked, _usable
    now = monotonic()
    if now - _looked > _SECONDS:
        _usable = usable_bytes()
        _looked = now
    return _usable


_SECONDS: Final = 1.0
_looked = -inf  # when limits were last read
_usable: int | None = None


def _machine(root: Root, field: str) -> Iterator[int]:
    kibibytes = _fields(root, "proc/meminfo").get(field)
    if kibibytes is not None:
        yield kibibytes * 1024
        return
    try:  # macOS: only the whole memory is known
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return


_VERSIONS: Final = (
    ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Of the control groups of version 2, then 1: where they are mounted, the limit, what is used, and what of that is
file pages that are given back when needed."""


def _control_groups(root: Root) -> Iterator[tuple[int, int]]:
    """(limit, bytes used) of each control group that holds this process and limits it."""
    groups = _own_groups(root)
    for (mounted, limit, used, cache), group in zip(_VERSIONS, groups, strict=True):
        while True:
            folder = path.join(mounted, group)
            most, now = _number(root, path.join(folder, limit)), _number(root, path.join(folder, used))
            if most is not None and now is not None:
                yield most, now - _fields(root, path.join(folder, "memory.stat")).get(cache, 0)
            if not group:
                break
            group = path.dirname(group)


def _own_groups(root: Root) -> tuple[str, str]:
    """The process's groups of version 2 and 1, below where they are mounted; "" for the one at the top.

    In a container the path may be the host's, of which nothing exists here; the top is then the container's own.
    """
    second = first = ""
    for line in _text(root, "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if not controllers:
            second = group.strip("/")
        elif "memory" in controllers.split(","):
            first = group.strip("/")
    return second, first


def _address_limit() -> Iterator[int]:
    if resource is None:
        return
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        yield most


def _fields(root: Root, file: str) -> dict[str, int]:
    rows = [line.split() for line in _text(root, file).splitlines()]
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def _number(root: Root, file: str) -> int | None:
    text = _text(root, file).strip()
    return int(text) if text.isdigit() else None


def _text(root: Root, file: str) -> str:
    try:
        with open(path.join(root, file), encoding="ascii", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
