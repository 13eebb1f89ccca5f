"""Suites that run in processes of their own: conformance, and sanitizers on our programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Final

from gpu_reporting import sanitized
from gpu_reporting.subject import NotRunError, RefutedError, Subject, require
from gpu_reporting.verdicts import Item, Told, told

TOOLS: Final = Path(__file__).resolve().parents[1]
FEW: Final = "add- or sum- or sort- or matmul or cholesky"
"""What runs on a simulated device; ``make test`` runs the rest there."""
SANITIZERS: Final = ("memcheck", "racecheck", "initcheck", "synccheck")
"""Of CUDA's ``compute-sanitizer``."""
FOUND: Final = 9
"""The exit status that says that one of them found something."""
SECONDS: Final = 200.0
SANITIZED_SECONDS: Final = 45.0


def _conformance(subject: Subject) -> str:
    """What the suite counts; on a GPU all of it."""
    options = [] if subject.gpu else ["-k", FEW]
    plugin = ("-p", "tensor_runtime.testing.pytest_plugin", "--conformance", subject.place)
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, *plugin, *options)
    done = _run(command, subject.left(SECONDS), {"REQUIRE_GPU": "1" if subject.gpu else ""})
    counted = [line for line in done.stdout.splitlines() if line.startswith("conformance of") and "needed" not in line]
    if done.returncode or not counted:
        raise RefutedError(" / ".join((done.stdout + done.stderr).splitlines()[-12:]))
    return "; ".join([*counted, *([] if subject.gpu else [f"tests of `{FEW}` alone"])])


def conformance(subject: Subject, /) -> Told:
    """With REQUIRE_GPU=1 where there is one: nothing may then compute elsewhere."""
    return told(subject, [Item("conformance suite", _conformance)])


def _sanitizer(tool: str, subject: Subject) -> str:
    if not subject.gpu:
        raise NotRunError("it looks at GPUs; the same launches are run on the host, below")
    program = shutil.which("compute-sanitizer")
    if program is None:
        raise NotRunError("`compute-sanitizer` is not on PATH; it comes with CUDA's toolkit")
    options = (program, "--tool", tool, "--error-exitcode", str(FOUND))
    done = _run(
        (*options, sys.executable, "-m", "gpu_reporting.sanitized", subject.place), subject.left(SANITIZED_SECONDS)
    )
    require(not done.returncode, f"{tool} finds nothing: {(done.stdout + done.stderr)[-500:]}")
    return f"nothing found in {len(sanitized.CALLS)} calls"


def _on_the_host(subject: Subject) -> str:
    """The launches of the same calls, compiled for the host under its sanitizers, and compared with what they mean."""
    from gpu_programs.building import compiler
    from gpu_programs.comparing import difference
    from gpu_programs.recording import recorded
    from gpu_programs.running import Hosted
    from tensor_core.errors import BackendUnavailableError

    try:
        compiler()
    except BackendUnavailableError as error:
        raise NotRunError(str(error)) from error
    with recorded() as recording:
        sanitized.run(str(recording.place))
        launches = recording.launches()
    exact = [one._replace(ulps=8) for one in launches]
    programs = list({one.launch.program.source: one.launch.program for one in exact}.values())
    with Hosted(programs) as hosted:
        wrong = [difference(one, left) for one, left in zip(exact, hosted.run(exact), strict=True)]
    found = [one for one in wrong if one is not None]
    require(not found, f"sources do what programs mean: {found[:2]}")
    return f"{len(launches)} launches of {len(programs)} programs of {len(sanitized.CALLS)} calls: nothing found"


ITEMS: Final = (
    *(Item(tool, partial(_sanitizer, tool)) for tool in SANITIZERS),
    Item("the host's sanitizers of addresses and undefined behaviour", _on_the_host),
)


def sanitizers(subject: Subject, /) -> Told:
    """All of CUDA's, and those of the host."""
    return told(subject, ITEMS)


def _run(
    command: tuple[str, ...], seconds: float, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(TOOLS), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": paths, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
