"""How time is taken: by events of CUDA on a library's own stream, or by the host's clock where a library has none."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, NamedTuple


class Clock(NamedTuple):
    """Marks in the work of a device; those of one call are compared when its result was waited for."""

    mark: Callable[[], Any]
    between: Callable[[Any, Any], float]  # nanoseconds
    events: bool = True


def host() -> Clock:
    """The host's, which is right only for a call whose result is waited for before the second mark.

    >>> clock = host()
    >>> clock.between(clock.mark(), clock.mark()) >= 0
    True
    """
    return Clock(perf_counter_ns, lambda first, last: float(last - first), events=False)


def of_cupy(xp: Any, handle: int | None = None, /) -> Clock:
    """Events by CuPy, on its current stream or on the one of a handle.

    >>> from types import SimpleNamespace as Space
    >>> log = []
    >>> event = lambda: Space(record=lambda stream: log.append(stream))
    >>> cuda = Space(Event=event, ExternalStream=lambda ptr: ("stream", ptr), get_elapsed_time=lambda a, b: 1.5)
    >>> clock = of_cupy(Space(cuda=cuda), 7)
    >>> clock.between(clock.mark(), clock.mark()), log
    (1500000.0, [('stream', 7), ('stream', 7)])
    """
    external = None if handle is None else xp.cuda.ExternalStream(handle)

    def mark() -> Any:
        event = xp.cuda.Event()
        event.record(xp.cuda.get_current_stream() if external is None else external)
        return event

    return Clock(mark, lambda first, last: 1e6 * float(xp.cuda.get_elapsed_time(first, last)))


def of_torch(xp: Any, /) -> Clock:
    """Events by PyTorch, on its current stream."""

    def mark() -> Any:
        event = xp.cuda.Event(enable_timing=True)
        event.record()
        return event

    return Clock(mark, lambda first, last: 1e6 * float(first.elapsed_time(last)))
