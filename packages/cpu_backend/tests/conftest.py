"""What tests of native kernels run with."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import CPU


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what no setting of this process reaches, so that suites with other settings leave it out."""
    for item in items:
        if isinstance(item, pytest.Function) and item.path.parent == Path(__file__).parent:
            drawn = item.callspec.params if hasattr(item, "callspec") else {}
            if not {"program", "output"}.isdisjoint(set(item.fixturenames) - set(drawn)):
                item.add_marker("own_process")
            if "threads" in item.fixturenames:
                item.add_marker("own_threads")


@pytest.fixture(params=["plain", "avx2", "avx512"])
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
