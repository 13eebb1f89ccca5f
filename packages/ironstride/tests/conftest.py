"""What tests of the program share."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Self

import pytest


@pytest.fixture
def interrupting_bar() -> Callable[..., type]:
    """Makes bars of progress that are interrupted, by Ctrl-C or a signal, when they are told of so many steps."""

    def made(after: int, number: signal.Signals | None = None) -> type:
        class Interrupting:
            n, disable = 0, False

            def __init__(self, **_: object) -> None: ...
            def __enter__(self) -> Self:
                return self

            def __exit__(self, *_: object) -> None: ...
            def update(self, _: float) -> None:
                self.n += 1
                if self.n == after:
                    if number is None:
                        raise KeyboardInterrupt
                    os.kill(os.getpid(), number)

        return Interrupting

    return made
