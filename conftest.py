"""What the tests of all packages share: Hypothesis without a deadline, as a busy machine is no failure, and Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A number of examples stands here and not beside a test; `make test-long` takes the second profile.
settings.register_profile("workspace", deadline=None, print_blob=True, max_examples=50)
settings.register_profile("long", parent=settings.get_profile("workspace"), max_examples=2000)
settings.load_profile("workspace")


@pytest.fixture
def sigint_interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt; a job in the background of a shell ignores it, and its children inherit that."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)
