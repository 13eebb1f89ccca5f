"""How many bytes this process may still take, as far as the operating system says.

Nothing is allocated here to find out. All numbers are bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


def available_bytes(root: Path = Path("/")) -> int | None:
    """Bytes that can be allocated now: the smallest of what the machine, the control group and the limits leave.

    Args:
        root: where `proc` and `sys` are found; tests give a folder of their own.

    Returns:
        Bytes, never negative, or None where the operating system does not tell.

    >>> import tempfile
    >>> machine = Path(tempfile.mkdtemp())
    >>> (machine / "proc").mkdir()
    >>> _ = (machine / "proc" / "meminfo").write_text("MemAvailable: 1 kB")
    >>> available_bytes(machine)
    1024
    """
    found = [*_machine(root), *_control_group(root), *_limits(root)]
    return max(0, min(found)) if found else None


def _machine(root: Path) -> Iterator[int]:
    kibibytes = _fields(root / "proc/meminfo").get("MemAvailable:")
    if kibibytes is not None:
        yield kibibytes * 1024
        return
    try:  # macOS: only the whole memory is known
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return


def _control_group(root: Path) -> Iterator[int]:
    # Version 2, then version 1. Cached file pages count as used there but are given back when needed.
    for folder, limit, used, cache in (
        ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        most, now = _number(root / folder / limit), _number(root / folder / used)
        if most is not None and now is not None:
            yield most - now + _fields(root / folder / "memory.stat").get(cache, 0)


def _limits(root: Path) -> Iterator[int]:
    if resource is None:
        return
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _text(root / "proc/self/statm").split()
    if most != resource.RLIM_INFINITY and pages:
        yield most - int(pages[0]) * resource.getpagesize()


def _fields(file: Path) -> dict[str, int]:
    rows = [line.split() for line in _text(file).splitlines()]
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def _number(file: Path) -> int | None:
    text = _text(file).strip()
    return int(text) if text.isdigit() else None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
