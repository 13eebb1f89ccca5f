"""Suites that run in processes of their own: conformance, and CUDA's sanitizer on our kernels."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Final

from gpu_reporting.subject import RefutedError, Subject, require

FEW: Final = "add- or sum- or sort- or matmul or cholesky"
"""What runs on a simulated device; ``make test`` runs the rest there."""
SANITIZED: Final = """
import tensor_runtime as tr
place = "{place}"
x = tr.to(tr.tensor([[4.0, 1.0, 2.0], [1.0, 5.0, 3.0], [2.0, 3.0, 6.0]]), place)
for y in (x + x.T, tr.sum(x, axis=0), tr.cumsum(x, axis=1), tr.sort(x, axis=0), tr.einsum("ij,jk->ik", x, x[::-1])):
    tr.to(y, "cpu")
"""
"""Kernels of each kind, on operands of every layout."""
SECONDS: Final = 240


def conformance(subject: Subject, /) -> list[str]:
    """What the conformance suite counts; on a GPU all of it."""
    options = [] if subject.gpu else ["-k", FEW]
    plugin = ("-p", "tensor_runtime.testing.pytest_plugin", "--conformance", subject.place)
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, *plugin, *options)
    environment = {"REQUIRE_GPU": "1"} if subject.gpu else {}
    done = _run(command, environment)
    counted = [line for line in done.stdout.splitlines() if line.startswith("conformance of") and "needed" not in line]
    if done.returncode or not counted:
        raise RefutedError("\n".join((done.stdout + done.stderr).splitlines()[-20:]))
    return [*([] if subject.gpu else [f"Tests of `{FEW}` alone.", ""]), *counted]


def sanitizer(subject: Subject, /) -> list[str]:
    """Memory, and races in shared memory, as ``compute-sanitizer`` sees them."""
    if not subject.gpu:
        return [
            "Not run: it looks at GPUs. The same sources run on the host under sanitizers, `make test-gpu-sources`."
        ]
    program = shutil.which("compute-sanitizer")
    if program is None:
        return ["Not run: `compute-sanitizer` is not on PATH; it comes with CUDA's toolkit."]
    said = []
    for tool in ("memcheck", "racecheck"):
        code = SANITIZED.format(place=subject.place)
        done = _run((program, "--tool", tool, "--error-exitcode", "9", sys.executable, "-c", code), {})
        require(not done.returncode, f"{tool} finds nothing: {(done.stdout + done.stderr)[-800:]}")
        said.append(f"- {tool}: nothing found")
    return said


def _run(command: tuple[str, ...], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=SECONDS
    )
