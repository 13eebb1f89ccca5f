"""What tests of native kernels run with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tensor_cpu.extension import LIBRARY


@pytest.fixture(params=["plain", "avx2", "avx512"])
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    """Kernels made meanwhile use this one; skipped where the processor lacks it."""
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
