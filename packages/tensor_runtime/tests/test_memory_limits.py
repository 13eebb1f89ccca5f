"""The memory that is left and the memory there is, read from made-up machines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tensor_runtime.backends.memory_limits import available_bytes, usable_bytes


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
    assert 0 < (available_bytes() or 1) <= (usable_bytes() or 2)


def test_what_may_be_used_in_all_does_not_depend_on_what_is_taken(tmp_path: Path) -> None:
    put(tmp_path, "proc/meminfo", "MemTotal:       100 kB\nMemAvailable:     1 kB\n")
    put(tmp_path, "sys/fs/cgroup/memory.max", "40000\n")
    put(tmp_path, "sys/fs/cgroup/memory.current", "39999\n")

    assert usable_bytes(tmp_path) == 40000
    assert available_bytes(tmp_path) == 1


@pytest.mark.parametrize(
    ("line", "mounted", "limit", "used"),
    [
        ("0::/user/job\n", "sys/fs/cgroup", "memory.max", "memory.current"),
        ("4:cpu,memory:/user/job\n", "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ],
)
def test_the_smallest_limit_of_the_groups_above_a_process_holds(
    tmp_path: Path, line: str, mounted: str, limit: str, used: str
) -> None:
    put(tmp_path, "proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 100 kB\n")
    put(tmp_path, "proc/self/cgroup", "9:name=systemd:/elsewhere\n" + line)
    put(tmp_path, f"{mounted}/user/job/{limit}", "70000\n")
    put(tmp_path, f"{mounted}/user/job/{used}", "10\n")
    put(tmp_path, f"{mounted}/user/{limit}", "50000\n")
    put(tmp_path, f"{mounted}/user/{used}", "20000\n")
    put(tmp_path, f"{mounted}/elsewhere/{limit}", "1\n")
    put(tmp_path, f"{mounted}/elsewhere/{used}", "1\n")

    assert usable_bytes(tmp_path) == 50000
    assert available_bytes(tmp_path) == 30000


def test_a_limit_on_addresses_counts() -> None:
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "from tensor_runtime.backends.memory_limits import available_bytes, usable_bytes\n"
        "print(usable_bytes(), 0 < available_bytes() < 2**30)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.split() == [str(2**30), "True"]
