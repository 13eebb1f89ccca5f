"""Streams that run late, and in any order that they may: a wait that is missing shows as wrong numbers.

What is submitted is kept until somebody waits, or too much is kept; then streams take turns as a seeded generator says,
one piece of work at a time, until what is waited for has run. With the same seed, and the same work, they run in the
same order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Final

from tensor_gpu.sim.errors import SimulationError

MOST_KEPT: Final = 256  # pieces of work that wait at one time
Work = Callable[[], None]


class SimulatedEvent:
    """A point in a stream."""

    __slots__ = ("passed",)

    def __init__(self) -> None:
        self.passed = False


class SimulatedStream:
    """A queue of one device."""

    __slots__ = ("__weakref__", "ordinal", "queue")

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.queue: deque[Work | SimulatedEvent] = deque()  # an event stands for waiting until it has passed


class Scheduler:
    """Runs what is kept in streams, in an order drawn from ``seed``.

    >>> scheduler, done = Scheduler(seed=1), []
    >>> a, b = scheduler.new_stream(0), scheduler.new_stream(0)
    >>> scheduler.submit(a, lambda: done.append("a"))
    >>> scheduler.wait(b, scheduler.record(a))
    >>> scheduler.submit(b, lambda: done.append("b"))
    >>> done
    []
    >>> scheduler.synchronize(b)
    >>> done
    ['a', 'b']
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._busy: dict[SimulatedStream, None] = {}  # streams that have something left to run
        self._kept = 0

    def new_stream(self, ordinal: int, /) -> SimulatedStream:
        """Another queue."""
        return SimulatedStream(ordinal)

    def submit(self, stream: SimulatedStream, work: Work, /) -> None:
        """Keep a piece of work until later."""
        self._keep(stream, work)
        while self._kept > MOST_KEPT:
            self._run_one()

    def record(self, stream: SimulatedStream, /) -> SimulatedEvent:
        """The point after all that is in the stream."""
        event = SimulatedEvent()

        def passed() -> None:
            event.passed = True

        self.submit(stream, passed)
        return event

    def wait(self, stream: SimulatedStream, event: SimulatedEvent, /) -> None:
        """Let the stream go on after the event only."""
        self._keep(stream, event)

    def synchronize(self, stream: SimulatedStream, /) -> None:
        """Run until the stream is empty."""
        while stream.queue:
            self._run_one()

    def finish(self) -> None:
        """Run until nothing is left in any stream."""
        while self._busy:
            self._run_one()

    def run_until(self, event: SimulatedEvent, /) -> None:
        """Run until the event has passed."""
        while not event.passed:
            self._run_one()

    def done(self, stream: SimulatedStream, /) -> bool:
        """Whether nothing is left to run in the stream, but for waiting for what has passed."""
        self._pass(stream)
        return not stream.queue

    def _keep(self, stream: SimulatedStream, one: Work | SimulatedEvent) -> None:
        stream.queue.append(one)
        self._busy[stream] = None
        self._kept += 1

    def _pass(self, stream: SimulatedStream) -> None:
        """Go past events that have passed."""
        while stream.queue and isinstance(event := stream.queue[0], SimulatedEvent) and event.passed:
            self._taken(stream)

    def _taken(self, stream: SimulatedStream) -> Work | SimulatedEvent:
        self._kept -= 1
        one = stream.queue.popleft()
        if not stream.queue:
            self._busy.pop(stream, None)
        return one

    def _run_one(self) -> None:
        for stream in tuple(self._busy):
            self._pass(stream)
        ready = [one for one in self._busy if not isinstance(one.queue[0], SimulatedEvent)]
        if not ready:
            if self._busy:
                raise SimulationError("every stream waits for another one")
            return
        work = self._taken(self._random.choice(ready))
        assert not isinstance(work, SimulatedEvent)
        work()
