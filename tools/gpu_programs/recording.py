"""A simulated device that notes its launches: what they were given, and what their programs mean by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import DType
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.device.api import Launch
from tensor_gpu.sim.api import SimulatedApi
from tensor_gpu.sim.memory import SimulatedMemory
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import DeviceKind, Placement

CAPACITY: Final = 1 << 24  # bytes of the device's memory
Bytes = tuple[int, bytes]
"""An address and what stands there."""


class Noted(NamedTuple):
    """One launch; allocations are those that its arguments name."""

    launch: Launch
    before: tuple[Bytes, ...]
    after: tuple[Bytes, ...]
    dtypes: tuple[DType | None, ...]  # as the meaning looked at each allocation
    ulps: int = 0  # rounding units that a result may differ by
    cancels: bool = False  # a result near 0 is of terms near 1, whose rounding units count


class _Watched:
    """Memory that notes the element types in which its allocations are looked at."""

    def __init__(self, memory: SimulatedMemory) -> None:
        self._memory = memory
        self.dtypes: dict[int, DType] = {}

    def view(self, address: int, dtype: DType, shape: Sequence[int], strides: Sequence[int], /) -> Any:
        found = self._memory.allocation_of(address)
        if found is not None:
            self.dtypes[found[0]] = dtype
        return self._memory.view(address, dtype, shape, strides)


class RecordingApi(SimulatedApi):
    """One device whose launches are noted, in the order in which they run.

    ``noted`` may be cleared.

    >>> from tensor_gpu.sim.bench import Bench
    >>> api = RecordingApi()
    >>> bench = Bench(api)
    >>> bench.run("negative", bench.put([1.0]))
    [-1.0]
    >>> len(api.noted), len(api.noted[0].before)
    (1, 2)
    """

    def __init__(self, *, memory_bytes: int = CAPACITY, seed: int = 0) -> None:
        super().__init__(devices=1, memory_bytes=memory_bytes, seed=seed)
        self.noted: list[Noted] = []

    def launch(self, stream: Any, launch: Launch, /) -> None:
        """Submit what the program means, and the noting of it."""

        def work(memory: SimulatedMemory) -> None:
            named = (memory.allocation_of(argument) for argument in launch.arguments if isinstance(argument, int))
            places = list(dict.fromkeys(place for place in named if place is not None))
            watched = _Watched(memory)
            before = _taken(memory, places)
            launch.program.meaning(watched, launch.arguments)
            dtypes = tuple(watched.dtypes.get(start) for start, _ in places)
            self.noted.append(Noted(launch, before, _taken(memory, places), dtypes))

        self.submit("launches", stream, work)


def _taken(memory: SimulatedMemory, places: Sequence[tuple[int, int]]) -> tuple[Bytes, ...]:
    return tuple((start, memory.bytes_at(start, nbytes).tobytes()) for start, nbytes in places)


class Recording(NamedTuple):
    """A device of the runtime whose launches are noted."""

    api: RecordingApi
    backend: DeviceBackend
    place: Placement

    def launches(self) -> list[Noted]:
        """All that were submitted so far, after they ran; they are noted no more."""
        self.backend.synchronize()
        found, self.api.noted = self.api.noted, []
        return found


@contextmanager
def recorded(name: str = "noted") -> Iterator[Recording]:
    """A device of the runtime, under a name, inside the ``with`` block.

    >>> import tensor_runtime as tr
    >>> with recorded("doctest") as recording:
    ...     x = -tr.to(tr.tensor([1.0]), recording.place)
    ...     len(recording.launches())
    1
    """
    api = RecordingApi()
    backend = DeviceBackend(api, DeviceKind.other(name))
    registry.register(name, backend)
    try:
        yield Recording(api, backend, backend.placements()[0])
    finally:
        registry.unregister(name)
