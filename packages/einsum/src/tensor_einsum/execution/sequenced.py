"""Steps between numbered slots, run as one kernel where the backend can: those of slices, and of backward sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensor_runtime.dispatch.sequences import bind_sequence
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import Kernel, KernelStep

Place = tuple[Kernel, int, int, int]
"""A kernel, the slots of its operands, or -1, and the slot of its result."""


class StepError(Exception):
    """What one of the steps raised; for who runs them, who knows what to tell of it."""

    def __init__(self, place: int, error: Exception) -> None:
        super().__init__(place)
        self.place, self.error = place, error


class Sequenced:
    """Steps that are bound as one kernel when they run for the first time.

    Args:
        home: where they run.
        places: the steps, in order; slots of results are filled once.
        wanted: slots that must be filled afterwards; those that no step fills stay as they are.

    >>> from tensor_runtime.backends.meta import META
    >>> slots = [1, 2, None]
    >>> steps = Sequenced(META, [(max, 0, 1, 2)], [2])
    >>> steps.run(slots), slots
    (False, [1, 2, None])
    >>> steps.found([1, 2]) is None
    True
    """

    __slots__ = ("_home", "_kernel", "_places", "_reads", "_results", "_wanted")

    def __init__(self, home: Placement, places: Sequence[Place], wanted: Sequence[int]) -> None:
        self._home: Placement | None = home if len(places) > 1 else None
        self._places, self._wanted = tuple(places), tuple(wanted)
        self._kernel: Kernel | None = None
        self._reads: list[int] = []
        self._results: tuple[int, ...] = ()

    def run(self, slots: list[Any]) -> bool:
        """Fill the slots that are wanted; False, and nothing has run, where the backend has no such kernel.

        Raises:
            StepError: with what a step raised.
        """
        kernel = self._kernel or self._bind()
        if kernel is None:
            return False
        found = kernel(*[slots[slot] for slot in self._reads])
        for slot, array in zip(self._results, found, strict=True):
            slots[slot] = array
        return True

    def found(self, given: Sequence[Any]) -> Sequence[Any] | None:
        """What is wanted, in order, of what fills the first slots; None, and nothing has run, as for :meth:`run`.

        Raises:
            StepError: with what a step raised.
        """
        kernel = self._kernel or self._bind()
        if kernel is None:
            return None
        found: Sequence[Any] = kernel(*[given[slot] for slot in self._reads])
        if self._results == self._wanted:
            return found
        made = dict(zip(self._results, found, strict=True))
        return [made[slot] if slot in made else given[slot] for slot in self._wanted]

    def _bind(self) -> Kernel | None:
        home = self._home  # read once: another thread may find out meanwhile that there is no such kernel
        if home is None:
            return None
        made = {result for _, _, _, result in self._places}
        read = {slot for _, first, second, _ in self._places for slot in (first, second)} - made - {-1}
        reads, results = sorted(read), tuple([slot for slot in dict.fromkeys(self._wanted) if slot in made])
        numbers = {slot: number for number, slot in enumerate(reads)}
        numbers[-1] = -1
        steps: list[KernelStep] = []
        for kernel, first, second, result in self._places:
            steps.append((kernel, numbers[first], numbers[second]))
            numbers[result] = len(reads) + len(steps) - 1
        places = tuple(result for _, _, _, result in self._places)

        def failed(number: int, error: Exception) -> Exception:
            return StepError(places[number], error)

        bound = bind_sequence(home, len(reads), steps, tuple(numbers[slot] for slot in results), failed)
        if bound is None:
            self._home = None
        self._reads, self._results, self._kernel = reads, results, bound
        return bound
