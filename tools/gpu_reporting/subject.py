"""What a report is about: a placement, whether a GPU is behind it, and until when the report may take."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

import tensor_runtime as tr
from tensor_core.errors import TensorError

SIMULATED: Final = "sim"


class Subject(NamedTuple):
    """Where the sections compute."""

    place: str
    gpu: bool
    end: float = math.inf
    """By ``time.monotonic``, when the report has to be written."""

    def size(self, whole: int, small: int) -> int:
        """An extent: whole on a GPU, small on a simulated device, which is as slow as it is strict."""
        return whole if self.gpu else small

    def left(self, most: float = math.inf) -> float:
        """Seconds that are left, at most so many; at least one, so that a program that has none says what it began.

        >>> Subject("sim", False).left(60.0), Subject("sim", False, end=0.0).left()
        (60.0, 1.0)
        """
        return max(1.0, min(most, self.end - time.monotonic()))

    def within(self, seconds: float) -> Subject:
        """The same, for so many seconds at most."""
        return self._replace(end=min(self.end, time.monotonic() + seconds))

    def rounds(self, most: int) -> Iterator[int]:
        """Numbers from 0 on, as many as are wanted or there is time for; one at the least.

        >>> list(Subject("sim", False).rounds(3)), list(Subject("sim", False, end=0.0).rounds(3))
        ([0, 1, 2], [0])
        """
        for number in range(most):
            if number and time.monotonic() > self.end:
                return
            yield number


class RefutedError(Exception):
    """Something is not as it should be."""


class NotRunError(Exception):
    """Something could not be looked at here, and why."""


def subject(name: str, seconds: float = math.inf, /) -> tuple[Subject, str]:
    """The placement of a backend if it can be used here, else a simulated device; and the reason, or "".

    >>> subject("nobody")[0][:2], subject("nobody")[1][:43]
    (('sim', False), "nobody: no backend serves device 'nobody'; ")
    """
    end = time.monotonic() + seconds
    if name == SIMULATED:
        return Subject(SIMULATED, False, end), "sim was asked for"
    try:
        tr.synchronize(name)
        tr.to(tr.ones(1, placement=name), "cpu")
    except Exception as error:  # the driver's own, too: whatever it is, a report is written
        said = str(error) if isinstance(error, TensorError) else f"{type(error).__name__}: {error}"
        first_line = said.partition("\n")[0]
        return Subject(SIMULATED, False, end), f"{name}: {first_line}"
    return Subject(name, True, end), ""


def require(holds: bool, what: str, /) -> None:
    """Raise unless something holds.

    >>> require(1 + 1 == 3, "sums are right")
    Traceback (most recent call last):
    gpu_reporting.subject.RefutedError: not so: sums are right
    """
    if not holds:
        raise RefutedError(f"not so: {what}")
