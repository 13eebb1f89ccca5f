"""Properties: what holds for every input, each as a function that draws one example and asserts.

``make test`` runs a few thousand examples of each, ``make test-long`` as many as one has time for. An example comes
from a plain ``random.Random``, seeded by the property's name and the number of its block, so that a failure is repeated
by ``python tools/long_tests.py NAME --seed N``.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple


class Property(NamedTuple):
    """One property and how often it is tried."""

    name: str
    sentence: str
    example: Callable[[Random], None]  # draws one example; AssertionError says that the property does not hold
    short: int  # examples in make test
    long: int  # examples in make test-long
    block: int = 100  # examples per seed

    def run_block(self, seed: int) -> int:
        """Try the examples of one seed; their number.

        Raises:
            PropertyError: one of them fails; the failure itself is chained.

        >>> Property("even", "doubles are even", lambda rng: None, 1, 1, 3).run_block(7)
        3
        """
        rng = Random(f"{self.name} {seed}")
        for k in range(self.block):
            try:
                self.example(rng)
            except Exception as error:
                raise PropertyError(
                    f"{self.name}, {self.sentence}: seed {seed}, example {k}: {type(error).__name__}: {error}"
                ) from error
        return self.block


class PropertyError(AssertionError):
    """A property does not hold; the message says for which seed."""
