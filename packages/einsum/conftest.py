"""What tests of this package share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def sigint_interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt; a job in the background of a shell ignores it, and its children inherit that."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)
