"""Progress of a contraction: how much of its work is done, and how long the rest will take.

Work is counted in flops, because the last steps often take nearly all the time. The estimate of the time left supposes
that the rest goes at the rate so far, without the first step: kernels are bound in its time, which may take longer than
all steps.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from time import perf_counter
from typing import Any, Final, NamedTuple

from tensor_core.errors import ArgumentError, BackendUnavailableError, shortened
from tensor_einsum.steps.steps import Step

Repeated = tuple[Sequence[Step], int]
"""Steps, and how often all of them are executed, one round after the other."""

OnStep = Callable[[int, int], object]
"""Called after each step, or slice, with how many are done and how many there are."""

_LEAST: Final = 1000
"""Flops that a step counts for at least; it takes its microseconds even if it only rearranges."""
_SLOW: Final = 2e8  # flops a second, which no rest is slower than when only the first step is done
_DELAY: Final = 1e-9
"""Seconds before which tqdm writes nothing: any, so that a bar which cannot be written is made, and can be closed."""


class Progress(NamedTuple):
    """Where a contraction is, after one of its steps."""

    done: int  # steps
    total: int  # steps
    share: float  # of the work, from 0 to 1
    seconds: float  # since the contraction began
    seconds_left: float  # estimated


class Meter:
    """Counts work as steps are done, and tells ``report``.

    A contraction that goes on from a checkpoint begins with some steps done; the rate is that of the others.

    >>> from tensor_einsum import plan
    >>> steps = plan("ij,jk,kl->il", (9, 9), (9, 9), (9, 9)).steps
    >>> meter = Meter([(steps, 1)], lambda progress: print(progress.share))
    >>> meter(1, 2)
    0.5
    """

    def __init__(self, rounds: Sequence[Repeated], report: Callable[[Progress], object]) -> None:
        self.rounds = [
            (list(accumulate([max(step.flops, _LEAST) for step in steps], initial=0)), times)
            for steps, times in rounds
            if steps and times
        ]
        self.total = sum([times * work[-1] for work, times in self.rounds])
        self.report = report
        self.before: int | None = None  # work that was done when the contraction began
        self.first: tuple[int, float] | None = None  # work and seconds after the first step
        self.started = perf_counter()

    def __call__(self, done: int, total: int) -> None:
        """Take note of one more step; whatever ``report`` raises stops the contraction."""
        if self.before is None:
            self.before = self._work(done - 1)
        work, seconds = self._work(done), perf_counter() - self.started
        rest = self.total - work
        if self.first is None:
            self.first = work, seconds
            left = min(seconds * (rest / (work - self.before)), rest / _SLOW)
        else:
            before, begun = self.first
            left = (seconds - begun) * (rest / (work - before))  # of ints, as shares may be equal when rounded
        self.report(Progress(done, total, work / self.total, seconds, left))

    def _work(self, done: int) -> int:
        found = 0
        for work, times in self.rounds:
            steps = len(work) - 1
            if done < times * steps:
                rounds, rest = divmod(done, steps)
                return found + rounds * work[-1] + work[rest]
            done -= times * steps
            found += times * work[-1]
        return found


def check_function(operation: str, what: str, value: Any) -> None:
    """Refuse what is neither a function of two ints nor None.

    >>> check_function("einsum", "on_step", 3)
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: einsum: on_step is 3; accepted: a function of two ints, done and total, or None
    """
    if value is not None and not callable(value):
        raise ArgumentError(
            f"{operation}: {what} is {shortened(value)}; accepted: a function of two ints, done and total, or None",
            operation=operation,
        )


def counted(on_step: OnStep | None, total: int, done: int = 0) -> Callable[[], object] | None:
    """What is to be called after each step without saying which, where ``done`` of ``total`` steps are done already.

    >>> counted(print, 3, 1)()
    2 3
    """
    if on_step is None:
        return None

    def one_more() -> None:
        nonlocal done
        done += 1
        on_step(done, total)

    return one_more


@contextmanager
def reporting(operation: str, rounds: Sequence[Repeated], progress: Any) -> Iterator[OnStep | None]:
    """What is to be called after each step, for what a user gives as ``progress``.

    Args:
        operation: the name for messages.
        rounds: steps in the order in which they are executed.
        progress: False or None for nothing, True for a bar of tqdm on stderr, which is left out where that cannot be
            written, or a function of a :class:`Progress`.

    Raises:
        ArgumentError: something else.
        BackendUnavailableError: a bar is asked for, and tqdm is not installed.

    >>> with reporting("einsum", (), False) as on_step:
    ...     on_step is None
    True
    """
    if progress is None or progress is False:
        yield None
    elif progress is True:
        bar = _Bar(operation)
        try:
            yield Meter(rounds, bar)
        finally:
            bar.close()
    elif callable(progress):
        yield Meter(rounds, progress)
    else:
        raise ArgumentError(
            f"{operation}: progress is {shortened(progress)}; accepted: True, False, and a function of a Progress",
            operation=operation,
        )


class _Bar:
    """A bar of tqdm on stderr; where that is closed or cannot be written there is none, and the work goes on."""

    def __init__(self, operation: str) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise BackendUnavailableError(
                f"{operation}: progress=True needs tqdm; pip install 'ironstride-tensor-einsum[progress]', or give a "
                "function",
                operation=operation,
            ) from error
        self.bar: Any = None
        self.shown = 0.0
        if sys.stderr is None or getattr(sys.stderr, "closed", False):
            return
        shape = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
        with self._while_it_can_be_written():
            self.bar = tqdm(total=100, desc=operation, bar_format=shape, leave=False, delay=_DELAY)
            self.bar.refresh()

    def __call__(self, now: Progress) -> None:
        with self._while_it_can_be_written():
            if self.bar is not None:
                self.bar.update(100 * now.share - self.shown)
                self.shown = 100 * now.share

    def close(self) -> None:
        """Clear the bar."""
        with self._while_it_can_be_written():
            if self.bar is not None:
                self.bar.close()

    @contextmanager
    def _while_it_can_be_written(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError):  # of the stream
            bar, self.bar = self.bar, None
            if bar is not None:
                with suppress(OSError, ValueError):  # it is off after that, whether it could be cleared or not
                    bar.close()
