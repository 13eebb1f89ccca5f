"""What devices have that the host has not: streams, memory of their own, and refusals of values that may come late.

Backends bring what they can (``protocols.DeviceBackend``). One that computes at once has a single stream in effect, and
refuses values at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Final, Literal

from tensor_core.errors import ArgumentError, UnsupportedOperationError, shortened
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import CPU, DeviceId, Placement, as_placement
from tensor_runtime.protocols import DEFERRED, DeviceStream, MemoryUse

_ENTERED: Final[ContextVar[tuple[AbstractContextManager[object], ...]]] = ContextVar(
    "tensor_runtime_streams_entered", default=()
)
"""What leaves the streams that are current in this context, innermost last."""


def checks(when: Literal["now", "deferred"], /) -> AbstractContextManager[None]:
    """Say when values are refused inside the ``with`` block, in this thread or task.

    Such as an index out of range, a zero divisor of integers, a number that an integer type cannot hold. To refuse
    them at once, each operation that checks values has to wait for its device. With "deferred", the kernels
    of a backend that can do so note the refusal in their stream and go on; the result has any elements, and operands
    that would have been written are as they were, by ``view[indices] = y`` too. ``synchronize``, ``download`` and
    ``item``, which wait for their device, then raise the first one; so does whatever reads from that stream, or from
    one that has waited for it since, on any device, such as ``nonzero``. It is raised once, as the same error with the
    same fields; what was noted after it in the same stream is dropped with it. Leaving the block waits for nothing. A
    backend that computes at once, such as ``cpu``, refuses at once either way.

    Args:
        when: "now", which is the usual way, or "deferred".

    Raises:
        ArgumentError: another word.

    >>> with checks("deferred"):
    ...     tensor([1, 2]) // 1
    Tensor(I64, (2,), column-major, cpu)
     1  2
    """
    if type(when) is not str or when not in ("now", "deferred"):
        raise ArgumentError(f"checks: found {shortened(when)}; accepted: 'now', 'deferred'", operation="checks")
    return _checking(when == "deferred")


@contextmanager
def _checking(late: bool) -> Iterator[None]:
    token = DEFERRED.set(late)
    try:
        yield
    finally:
        DEFERRED.reset(token)


class Stream:
    """A queue of a device: what is submitted to it runs in order, and beside what other streams run.

    In a ``with`` block it is the current one of its device, in this thread or task; blocks nest, and a stream may be
    entered as often as one likes. Made by ``tensor_runtime.stream``.

    Args:
        placement: whose device.
        native: the backend's stream.

    >>> from tensor_runtime import stream
    >>> with stream("cpu") as s:
    ...     s.done()
    True
    """

    __slots__ = ("_native", "placement")

    def __init__(self, placement: Placement, native: DeviceStream, /) -> None:
        self.placement = placement
        self._native = native

    @property
    def handle(self) -> int:
        """What other libraries know it by, such as the address of a ``cudaStream_t``; 0 without streams."""
        handle: int = call_translated("stream", None, lambda: self._native.handle)
        return handle

    def done(self) -> bool:
        """Whether everything submitted to it is done; a backend without streams is waited for."""
        done: bool = call_translated("stream", None, self._native.done)
        return done

    def synchronize(self) -> None:
        """Wait until everything submitted to it is done; errors as for ``tensor_runtime.synchronize``."""
        call_translated("synchronize", None, self._native.synchronize)

    def __enter__(self) -> Stream:
        entered: AbstractContextManager[object] = call_translated("stream", None, self._native.current)
        call_translated("stream", None, entered.__enter__)
        _ENTERED.set((*_ENTERED.get(), entered))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        *before, entered = _ENTERED.get()
        _ENTERED.set(tuple(before))
        entered.__exit__(kind, error, trace)

    def __repr__(self) -> str:
        return f"Stream({self.placement}, {self.handle:#x})"


class _OnlyStream:
    """The stream of a backend without streams: all that it computes, in order."""

    handle: Final = 0

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def current(self) -> AbstractContextManager[object]:
        return nullcontext()

    def done(self) -> bool:
        self._backend.synchronize()
        return True

    def synchronize(self) -> None:
        self._backend.synchronize()


def stream(place: Placement | DeviceId | str, handle: int | None = None, /) -> Stream:
    """A stream of a device, which a ``with`` block makes the current one there.

    Kernels and transfers in the background go to the current stream of their device. A tensor that was made on one
    stream may be used on any other: the device waits for it, the host does not. Where a backend has no streams,
    as ``cpu``, this is its only one, and the block changes nothing, so that a program runs in either place.

    Args:
        place: whose device.
        handle: of another library's stream, such as ``torch.cuda.Stream().cuda_stream`` or ``cupy.cuda.Stream().ptr``,
            which has to live as long; None makes a new one.

    Raises:
        UnsupportedOperationError: a handle, and the backend has no streams.
        ArgumentError: a handle that is no int of 0 or more.
        BackendUnavailableError, PlacementError: nobody serves the placement.

    >>> with stream("cpu"):
    ...     x = tensor([1.0]) + 1.0
    >>> stream("cpu", 140)
    Traceback (most recent call last):
        ...
    tensor_core.errors.UnsupportedOperationError: stream: the cpu backend has no streams, so none has the handle 140
    """
    if handle is not None and (type(handle) is not int or handle < 0):
        raise ArgumentError(
            f"stream: the handle is {shortened(handle)}; accepted: None, and an int of 0 or more", operation="stream"
        )
    placement = as_placement(place)
    backend: Any = registry.backend_for(placement)
    make = getattr(backend, "stream", None)
    if make is not None:
        return Stream(placement, call_translated("stream", None, make, placement, handle))
    if handle is not None:
        raise UnsupportedOperationError(
            f"stream: the {backend.name} backend has no streams, so none has the handle {handle}", operation="stream"
        )
    return Stream(placement, _OnlyStream(backend))


def memory(place: Placement | DeviceId | str = CPU, /) -> MemoryUse:
    """Bytes of the memory at a placement that are used, kept for reuse, and may be taken at most, as its backend says.

    Raises:
        UnsupportedOperationError: the backend does not count.
        BackendUnavailableError, PlacementError: nobody serves the placement.

    >>> memory("meta")
    Traceback (most recent call last):
        ...
    tensor_core.errors.UnsupportedOperationError: memory: the meta backend does not count its memory
    """
    placement = as_placement(place)
    backend: Any = registry.backend_for(placement)
    if not hasattr(backend, "memory"):
        raise UnsupportedOperationError(
            f"memory: the {backend.name} backend does not count its memory", operation="memory"
        )
    found: MemoryUse = call_translated("memory", None, backend.memory, placement)
    return found
