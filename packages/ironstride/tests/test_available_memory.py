"""The memory that is left, read from a made-up machine."""

from __future__ import annotations

from pathlib import Path

from ironstride.memory import available_bytes


def put(root: Path, name: str, content: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="ascii")


def test_the_machine_says_what_is_available(tmp_path: Path) -> None:
    put(tmp_path, "proc/meminfo", "MemTotal:       100 kB\nMemAvailable:     60 kB\n")

    assert available_bytes(tmp_path) == 60 * 1024


def test_a_control_group_leaves_less_but_gives_its_cache_back(tmp_path: Path) -> None:
    put(tmp_path, "proc/meminfo", "MemAvailable: 60 kB\n")
    put(tmp_path, "sys/fs/cgroup/memory.max", "40000\n")
    put(tmp_path, "sys/fs/cgroup/memory.current", "30000\n")
    put(tmp_path, "sys/fs/cgroup/memory.stat", "anon 5\ninactive_file 2000\n")

    assert available_bytes(tmp_path) == 12000


def test_the_older_control_group_counts_too(tmp_path: Path) -> None:
    put(tmp_path, "proc/meminfo", "MemAvailable: 60 kB\n")
    put(tmp_path, "sys/fs/cgroup/memory/memory.limit_in_bytes", "40000\n")
    put(tmp_path, "sys/fs/cgroup/memory/memory.usage_in_bytes", "50000\n")

    assert available_bytes(tmp_path) == 0


def test_an_unlimited_control_group_limits_nothing(tmp_path: Path) -> None:
    put(tmp_path, "proc/meminfo", "MemAvailable: 60 kB\n")
    put(tmp_path, "sys/fs/cgroup/memory.max", "max\n")
    put(tmp_path, "sys/fs/cgroup/memory.current", "30000\n")

    assert available_bytes(tmp_path) == 60 * 1024


def test_this_machine_has_some_memory() -> None:
    assert (available_bytes() or 1) > 0
