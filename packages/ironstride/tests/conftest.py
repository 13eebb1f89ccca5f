"""What tests of the program share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import pytest


@pytest.fixture
def interrupting_bar() -> Callable[[int], type]:
    """Makes bars of progress that are interrupted, as by Ctrl-C, when they are told of so many steps."""

    def made(after: int) -> type:
        class Interrupting:
            n, disable = 0, False

            def __init__(self, **_: object) -> None: ...
            def __enter__(self) -> Self:
                return self

            def __exit__(self, *_: object) -> None: ...
            def update(self, _: float) -> None:
                self.n += 1
                if self.n == after:
                    raise KeyboardInterrupt

        return Interrupting

    return made
