"""What a report is about: a placement, and whether a GPU is behind it."""

from __future__ import annotations

from typing import Final, NamedTuple

import tensor_runtime as tr
from tensor_core.errors import TensorError

SIMULATED: Final = "sim"


class Subject(NamedTuple):
    """Where the sections compute."""

    place: str
    gpu: bool

    def size(self, whole: int, small: int) -> int:
        """An extent: whole on a GPU, small on a simulated device, which is as slow as it is strict."""
        return whole if self.gpu else small


class RefutedError(Exception):
    """A section found something that is not as it should be."""


def subject(name: str, /) -> tuple[Subject, str]:
    """The placement of a backend if it can be used here, else a simulated device; and the reason, or "".

    >>> subject("nobody")[0], subject("nobody")[1][:43]
    (Subject(place='sim', gpu=False), "nobody: no backend serves device 'nobody'; ")
    """
    if name == SIMULATED:
        return Subject(SIMULATED, False), "sim was asked for"
    try:
        tr.synchronize(name)
        tr.to(tr.ones(1, placement=name), "cpu")
    except TensorError as error:
        return Subject(SIMULATED, False), f"{name}: {str(error).splitlines()[0]}"
    return Subject(name, True), ""


def require(holds: bool, what: str, /) -> None:
    """Raise unless something holds.

    >>> require(1 + 1 == 3, "sums are right")
    Traceback (most recent call last):
    gpu_reporting.subject.RefutedError: not so: sums are right
    """
    if not holds:
        raise RefutedError(f"not so: {what}")
