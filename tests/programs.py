"""Programs in a process of their own, under a limit of time; a negative return code is a crash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent


def run(program: str, path: Path | None = None) -> str:
    """What a program prints; it must end by itself, with status 0."""
    paths = [str(path or ""), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout
