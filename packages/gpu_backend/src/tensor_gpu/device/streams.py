"""What a user holds of work that is not done: streams, and transfers in the background."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from tensor_gpu.device.api import Event, Stream
from tensor_gpu.device.executor import Executor

R = TypeVar("R")


class UserStream:
    """A stream of one device, as ``tensor_runtime.stream`` gives it: a new one, or another library's of a handle.

    >>> from tensor_gpu.sim.bench import Bench
    >>> stream = UserStream(Bench().executor)
    >>> with stream.current():
    ...     pass
    >>> stream.done()
    True
    """

    def __init__(self, executor: Executor, handle: int | None = None) -> None:
        self._executor = executor
        self._stream = executor.new_stream(handle)

    @property
    def handle(self) -> int:
        """A number that no other stream of this process has now."""
        return self._executor.api.handle(self._stream)

    def current(self) -> AbstractContextManager[object]:
        """Submit to it within the ``with`` block."""
        return self._executor.using(self._stream)

    def done(self) -> bool:
        """Whether everything submitted to it is done."""
        self._executor.check_process()
        return self._executor.api.done(self._stream)

    def synchronize(self) -> None:
        """Wait for what was submitted to it."""
        self._executor.wait(self._stream)


class Transfer(Generic[R]):
    """A transfer that was submitted to a stream, and what makes its result once that has run.

    >>> from tensor_gpu.sim.bench import Bench
    >>> executor = Bench().executor
    >>> Transfer(executor, executor.stream(), lambda: 7).result()
    7
    """

    def __init__(self, executor: Executor, stream: Stream, make: Callable[[], R]) -> None:
        self._executor = executor
        self._event: Event | None = executor.api.record(stream)
        self._stream: Stream | None = stream
        self._make: Callable[[], R] | None = make
        self._result: R

    def done(self) -> bool:
        """Whether there is nothing to wait for."""
        self._executor.check_process()
        return self._event is None or self._executor.api.passed(self._event)

    def result(self) -> R:
        """What was transferred; waits."""
        if self._make is not None:
            self._executor.wait(self._stream)
            self._result = self._make()
            self._event = self._stream = self._make = None
        return self._result
