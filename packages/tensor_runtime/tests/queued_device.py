"""A simulated machine of two devices that computes late, on streams: what a backend of devices may add, all of it."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import tensor_runtime as tr
from tensor_core.dtypes import DType
from tensor_core.errors import TensorError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import DeviceId, MemoryKind, Placement
from tensor_runtime.protocols import DEFERRED, RETOLD, Counted, Kernel, MemoryUse, Operand, Result
from tensor_runtime.testing.simulated_device import DeviceArray, SimulatedBackend

EXTERNAL: Final = 12
"""DLPack's type of devices that it does not know."""


class QueuedArray(DeviceArray):
    """An array that is empty until its stream has run."""

    __slots__ = ("__weakref__", "form", "stream")

    def __init__(self, form: Form, stream: QueuedStream, inside: Any = None) -> None:
        super().__init__(inside)
        self.form = form
        self.stream = stream


class QueuedStream:
    """What was submitted and has not run, and the first refusal of values that was noted."""

    def __init__(self, backend: QueuedBackend, placement: Placement, handle: int) -> None:
        self.backend = backend
        self.placement = placement
        self.handle = handle
        self.waiting: deque[Callable[[], None]] = deque()
        self.noted: TensorError | None = None
        backend.streams.append(self)

    @contextmanager
    def current(self) -> Iterator[None]:
        token = self.backend.current.set({**(self.backend.current.get() or {}), self.placement.device: self})
        try:
            yield
        finally:
            self.backend.current.reset(token)

    def run(self) -> None:
        """Run everything that waits here, and what that waits for elsewhere."""
        while self.waiting:
            self.waiting.popleft()()

    def done(self) -> bool:
        return not self.waiting

    def synchronize(self) -> None:
        self.run()
        noted, self.noted = self.noted, None
        if noted is not None:
            raise noted


class QueuedTransfer:
    """A transfer that runs when its stream does."""

    def __init__(self, stream: QueuedStream, found: Callable[[], Any]) -> None:
        self.stream = stream
        self.found = found

    def done(self) -> bool:
        return self.stream.done()

    def result(self) -> Any:
        self.stream.synchronize()
        return self.found()


class QueuedBackend(SimulatedBackend):
    """Kernels wait in the current stream of their device, and so do refusals of values where they may come late."""

    def __init__(self, name: str) -> None:
        super().__init__(tr.backend("cpu"), name, devices=2)
        self.streams: list[QueuedStream] = []
        self.current: ContextVar[dict[Any, QueuedStream] | None] = ContextVar("current", default=None)
        self.usual = {place.device: QueuedStream(self, place, 0) for place in super().placements()}
        self.used: dict[Placement, int] = {}
        self.direct = 0  # copies between its placements

    def placements(self) -> tuple[Placement, ...]:
        pinned = Placement(MemoryKind.PinnedHost, DeviceId(self.device_kind, 0))
        return (*super().placements(), pinned)

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        kernel = self._inner.bind(name, operands, result, params)
        facts = facts_of(name)
        forms = result if isinstance(result, tuple) else (result,)

        def submit(*arguments: Any) -> Any:
            stream, retold = self._current(forms[0].placement), RETOLD.get()
            if facts.effect != "pure" or (facts.checks_values and not DEFERRED.get()):
                self._run_all()
                try:
                    found = kernel(*map(_inside, arguments))
                except TensorError as error:
                    if facts.effect != "writes" or not DEFERRED.get():
                        raise
                    stream.noted = stream.noted or retold(error)
                    return None
                if isinstance(found, Counted):
                    arrays = (self._made(form, stream, one) for form, one in zip(forms, found.arrays, strict=True))
                    return Counted(tuple(arrays), found.count)
                return found if found is None else self._wrapped(result, stream, found)
            made = tuple(self._made(form, stream, None, facts.view) for form in forms)

            def compute() -> None:
                try:
                    found = kernel(*map(_inside, arguments))
                except TensorError as error:
                    if not facts.checks_values:
                        raise
                    stream.noted = stream.noted or retold(error)
                    found = tuple(map(self._zeros, forms))
                    found = found if isinstance(result, tuple) else found[0]
                for one, inside in zip(made, found if isinstance(result, tuple) else (found,), strict=True):
                    one.inside = inside

            stream.waiting.append(compute)
            return made if isinstance(result, tuple) else made[0]

        return submit

    def _wrapped(self, result: Result, stream: QueuedStream, found: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(self._made(form, stream, one) for form, one in zip(result, found, strict=True))
        return self._made(result, stream, found)

    def _made(self, form: Form, stream: QueuedStream, inside: Any = None, view: bool = False) -> QueuedArray:
        array = QueuedArray(form, stream, inside)
        if not view:
            place = form.placement
            self.used[place] = self.used.get(place, 0) + form.nbytes
            weakref.finalize(array, self._freed, place, form.nbytes).atexit = False
        return array

    def _freed(self, place: Placement, nbytes: int) -> None:
        self.used[place] -= nbytes

    def _zeros(self, form: Form) -> Any:
        return self._inner.upload(HostTensor.zeros(form.shape, form.dtype), form)

    def _current(self, place: Placement) -> QueuedStream:
        return (self.current.get() or {}).get(place.device) or self.usual[place.device]

    def _run_all(self) -> None:
        for stream in self.streams:
            stream.run()

    def offset_of(self, array: DeviceArray, /) -> int:
        return self._inner.offset_of(_inside(array))

    def location_of(self, array: DeviceArray, /) -> Any:
        return self._inner.location_of(_inside(array))

    def upload(self, source: HostTensor[Any], form: Form, /) -> QueuedArray:
        return self._made(form, self._current(form.placement), self._inner.upload(source, form))

    def download(self, array: DeviceArray, form: Form, /) -> HostTensor[Any]:
        assert array.inside is not None, "read before it was waited for"
        return self._inner.download(array.inside, form)

    def synchronize(self) -> None:
        for place in super().placements():
            self.wait_for(place)

    def wait_for(self, placement: Placement, /) -> None:
        there = [stream for stream in self.streams if stream.placement.device is placement.device]
        for stream in there:
            stream.run()
        noted = [stream.noted for stream in there if stream.noted is not None]
        for stream in there:
            stream.noted = None
        if noted:
            raise noted[0]

    def transfer(self, array: QueuedArray, form: Form, target: Form, /) -> QueuedArray:
        self.direct += 1
        stream = self._current(target.placement)
        made = self._made(target, stream)

        def copy() -> None:
            made.inside = self._inner.upload(self._inner.download(_inside(array), form), target)

        stream.waiting.append(copy)
        return made

    def dlpack_device(self, placement: Placement, /) -> tuple[int, int]:
        return EXTERNAL, self.placements().index(placement)

    def borrow(self, source: Any, copy: bool | None, dtype: DType | None = None, /) -> tuple[QueuedArray, Form] | None:
        if not hasattr(source, "__dlpack__"):
            return None
        capsule = source.__dlpack__(stream=0, max_version=(1, 1), copy=copy)
        place = self.placements()[capsule.number]
        array, form = self._inner.borrow(capsule.lent, copy, dtype)  # type: ignore[attr-defined]
        there = form_of(form.dtype, form.shape, place, form.strides)
        return self._made(there, self._current(place), array, view=True), there

    def lend_dlpack(self, array: QueuedArray, form: Form, stream: Any, max_version: Any, copy: Any, /) -> Capsule:
        lent = self._inner.lend(_inside(array), form)  # type: ignore[attr-defined]
        return Capsule(lent, self.placements().index(form.placement), stream, max_version, copy)

    def begin_upload(self, source: HostTensor[Any], form: Form, /) -> QueuedTransfer:
        stream, staged = self._current(form.placement), source.copy()
        made = self._made(form, stream)

        def copy() -> None:
            made.inside = self._inner.upload(staged, form)

        stream.waiting.append(copy)
        return QueuedTransfer(stream, lambda: made)

    def begin_download(self, array: QueuedArray, form: Form, /) -> QueuedTransfer:
        stream = self._current(form.placement)
        found: list[HostTensor[Any]] = []
        stream.waiting.append(lambda: found.append(self._inner.download(_inside(array), form)))
        return QueuedTransfer(stream, lambda: found[0])

    def stream(self, placement: Placement, handle: int | None, /) -> QueuedStream:
        return QueuedStream(self, placement, len(self.streams) if handle is None else handle)

    def memory(self, placement: Placement, /) -> MemoryUse:
        return MemoryUse(self.used.get(placement, 0), 0, 1 << 40)


class Capsule(NamedTuple):
    """What stands for a DLPack capsule, and what it was asked for with."""

    lent: Any
    number: int
    stream: int | None = None
    max_version: tuple[int, int] | None = None
    copy: bool | None = None


class ForeignArray:
    """Another library's array on one of the devices, in its words."""

    def __init__(self, lent: Any, number: int) -> None:
        self.lent = lent
        self.number = number

    def __dlpack_device__(self) -> tuple[int, int]:
        return EXTERNAL, self.number

    def __dlpack__(self, **asked: Any) -> Capsule:
        return Capsule(self.lent, self.number)


def _inside(value: Any) -> Any:
    while isinstance(value, QueuedArray) and value.inside is None:
        value.stream.waiting.popleft()()
    return value.inside if isinstance(value, DeviceArray) else value
