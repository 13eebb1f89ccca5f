"""Suites that run in processes of their own: conformance, and sanitizers on our programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Final

from gpu_reporting import sanitized
from gpu_reporting.subject import NotRunError, RefutedError, Subject, require
from gpu_reporting.verdicts import Item, Told, told

TOOLS: Final = Path(__file__).resolve().parents[1]
LOG: Final = TOOLS.parent / "out" / "gpu_conformance.log"
"""What the suite printed, where it failed."""
FEW: Final = "add- or sum- or sort- or matmul or cholesky"
"""What runs on a simulated device; ``make test`` runs the rest there."""
SANITIZERS: Final = ("memcheck", "racecheck", "initcheck", "synccheck")
"""Of CUDA's ``compute-sanitizer``."""
FOUND: Final = 9
"""The exit status that says that one of them found something."""
MOST_WORKERS: Final = 12
"""Processes of the conformance suite on one GPU, where pytest can have several: most of its time compiles programs."""


def _conformance(subject: Subject) -> str:
    """What the suite counts; on a GPU all of it."""
    options = [] if subject.gpu else ["-k", FEW]
    plugin = ("-p", "tensor_runtime.testing.pytest_plugin", "--conformance", subject.place)
    if subject.gpu and find_spec("xdist"):
        options += ["-n", str(min(MOST_WORKERS, os.cpu_count() or 1))]
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, *plugin, *options)
    done = _run(command, subject.left(), {"REQUIRE_GPU": "1" if subject.gpu else ""})
    counted = [line for line in done.stdout.splitlines() if line.startswith("conformance of") and "needed" not in line]
    if done.returncode or not counted:
        LOG.parent.mkdir(exist_ok=True)
        LOG.write_text(done.stdout + done.stderr, encoding="utf-8")
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        said = failed or (done.stdout + done.stderr).splitlines()[-12:]
        raise RefutedError(f"{' / '.join([*counted, *said])}; all of it is in {LOG.relative_to(TOOLS.parent)}")
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
    done = _run((*options, sys.executable, "-m", "gpu_reporting.sanitized", subject.place), subject.left())
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


def sanitizers(subject: Subject, /) -> Told:
    """All of CUDA's at once, and those of the host."""
    with ThreadPoolExecutor() as pool:
        begun = [(tool, pool.submit(_sanitizer, tool, subject)) for tool in SANITIZERS]
        items = [Item(tool, partial(_result, future)) for tool, future in begun]
        return told(subject, [Item("the host's sanitizers of addresses and undefined behaviour", _on_the_host), *items])


def _result(future: Future[str], subject: Subject) -> str:
    return future.result()


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
        timeout=seconds if isfinite(seconds) else None,
    )
