"""What importing costs: the standard library only, and little of it."""

from __future__ import annotations

import subprocess
import sys

PROBE = """
import sys
before = set(sys.modules)
import tensor_core
print(*sorted(set(sys.modules) - before))
"""


def imported() -> list[str]:
    return subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()


def test_only_the_standard_library_comes_along() -> None:
    tops = {name.partition(".")[0] for name in imported()} - {"tensor_core"}
    assert tops <= set(sys.stdlib_module_names)


def test_slow_modules_stay_out() -> None:
    names = set(imported())
    assert not names & {
        "dataclasses",
        "json",
        "ctypes",
        "importlib.metadata",
        "inspect",
        "enum",
        "typing",
        "re",
        "pickle",
    }
    assert len([name for name in names if not name.startswith("tensor_core")]) <= 40
