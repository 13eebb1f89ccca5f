"""Programs in a process of their own, in which the extension of einsum is switched off."""

from __future__ import annotations

import os
import subprocess
import sys


def printed(code: str) -> str:
    """What a program prints there; one that fails is an error."""
    environment = {**os.environ, "TENSOR_EINSUM_NATIVE": "0"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
