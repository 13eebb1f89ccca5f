"""What the tests of all packages share.

Hypothesis has no deadline, as a busy machine is no failure; Ctrl-C interrupts; conformance suites are counted; what is
collected is kept from the garbage collector, which would go through all tests again and again.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from hypothesis import settings

# A number of examples stands here and not beside a test; `make test-long` takes the second profile.
settings.register_profile("workspace", deadline=None, print_blob=True, max_examples=50)
settings.register_profile("long", parent=settings.get_profile("workspace"), max_examples=2000)
settings.load_profile("workspace")


def pytest_configure(config: pytest.Config) -> None:
    """Count what the conformance suites of backends find; the core is tested without the runtime, too."""
    if find_spec("tensor_runtime") is not None:
        config.pluginmanager.import_plugin("tensor_runtime.testing.pytest_plugin")


def pytest_collection() -> None:
    """Nothing that is collected can go before the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What was collected is looked at no more; what tests make is."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def sigint_interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt; a job in the background of a shell ignores it, and its children inherit that."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.fixture
def leaving_to_blas() -> str:
    """The first line of a program whose products are left to BLAS, whatever processor this is."""
    return "from tensor_cpu.kernels import blas_costs; blas_costs.blas_slowness = lambda dtype: 0.01\n"


@pytest.fixture
def by_blas(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Products that BLAS can take are left to it, whatever processor this is."""
    from tensor_cpu.kernels import blas_costs
    from tensor_runtime import binding_cache

    monkeypatch.setattr(blas_costs, "blas_slowness", lambda dtype: 0.01)
    binding_cache.clear()
    yield
    binding_cache.clear()
