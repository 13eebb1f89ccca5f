"""What tests of native kernels run with."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import CPU

INSTRUCTION_SETS = ("plain", "avx2", "avx512")
LEFT_OUT = pytest.StashKey[Counter[str]]()
"""How many tests name each instruction set that is not here."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what no setting of this process reaches, so that suites with other settings leave it out.

    Tests of instruction sets that are not here are left out, and counted: they are thousands.
    """
    here = INSTRUCTION_SETS[: INSTRUCTION_SETS.index(LIBRARY.instruction_set()) + 1] if AVAILABLE else ()
    kept: list[pytest.Item] = []
    lacking: list[pytest.Item] = []
    for item in items:
        named = None
        if isinstance(item, pytest.Function) and item.path.parent == Path(__file__).parent:
            drawn = item.callspec.params if hasattr(item, "callspec") else {}
            if not {"program", "output"}.isdisjoint(set(item.fixturenames) - set(drawn)):
                item.add_marker("own_process")
            if "threads" in item.fixturenames:
                item.add_marker("own_threads")
            named = drawn.get("instruction_set", drawn.get("instructions"))
            if named in INSTRUCTION_SETS:
                item.add_marker("own_instructions")
        if named in INSTRUCTION_SETS and named not in here:
            config.stash.setdefault(LEFT_OUT, Counter())[named] += 1
            lacking.append(item)
        else:
            kept.append(item)
    if lacking:
        config.hook.pytest_deselected(items=lacking)
        items[:] = kept


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which kernels were not tested, and why."""
    why = "this processor lacks it" if AVAILABLE else WHY_NOT
    for name, count in config.stash.get(LEFT_OUT, Counter()).items():
        terminalreporter.write_line(f"{count:,} tests of {name} kernels are left out: {why}")


@pytest.fixture(params=INSTRUCTION_SETS)
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    """Kernels made meanwhile use this one; skipped where the processor lacks it."""
    if not AVAILABLE:
        pytest.skip(WHY_NOT)
    former = LIBRARY.instruction_set()
    try:
        LIBRARY.set_instruction_set(request.param)
    except ValueError:
        pytest.skip(f"this processor lacks {request.param}")
    yield request.param
    LIBRARY.set_instruction_set(former)


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """Native kernels run on so many threads meanwhile."""
    former = LIBRARY.threads()
    LIBRARY.set_threads(request.param)
    yield request.param
    LIBRARY.set_threads(former)


@pytest.fixture
def cpu_serves() -> None:
    """The backend is loaded, so that its native calls stand in the place of functions in Python."""
    registry.backend_for(CPU)


@pytest.fixture
def restored() -> Iterator[None]:
    """Whatever a test sets, the instructions, threads and streamed sizes of native kernels are those of before."""
    chosen, threads, streamed = LIBRARY.instruction_set(), LIBRARY.threads(), LIBRARY.streamed_bytes()
    yield
    LIBRARY.set_instruction_set(chosen)
    LIBRARY.set_threads(threads)
    LIBRARY.set_streamed_bytes(streamed)


@pytest.fixture
def program() -> Callable[..., subprocess.CompletedProcess[str]]:
    """``program(code, *arguments, **environment)`` runs Python with no settings but those given."""

    def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        ours = ("TENSOR_CPU_", "OPENBLAS_", "OMP_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={**kept, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def output(program: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., str]:
    """The same, for a program that succeeds: what it prints."""

    def run(code: str, *arguments: str, **environment: str) -> str:
        done = program(code, *arguments, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run
