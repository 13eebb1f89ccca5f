"""Memory lent to other libraries and borrowed from them, each pair in a process of its own, which may abort."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("direction", ["out", "in"])
def test_every_dtype_and_layout_crosses(library: str, direction: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "clients.scripts.lending", library, direction],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "42"), done.stderr
