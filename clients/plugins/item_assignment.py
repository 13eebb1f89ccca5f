"""Tests run inside ``item_assignment()``: what the standard calls ``__setitem__`` writes into tensors."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tensor_runtime.interop import item_assignment


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Wrap each test."""
    with item_assignment():
        return (yield)
