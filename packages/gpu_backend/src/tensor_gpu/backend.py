"""The backend object: what the runtime asks of devices of one kind, whichever interface they are reached by."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any

import numpy as np

from tensor_core.errors import PlacementError
from tensor_core.host.tensor import HostTensor
from tensor_gpu import kernel_table
from tensor_gpu.device.api import DeviceApi
from tensor_gpu.device.arrays import DeviceArray, ForeignAllocation
from tensor_gpu.device.executor import Executor, check_process
from tensor_gpu.device.notes import Notes
from tensor_gpu.device.pool import Pool
from tensor_gpu.device.providers import Providers
from tensor_gpu.device.streams import Transfer, UserStream
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.planning import compact
from tensor_gpu.tables.drivers import DriverTable, read_drivers, shipped
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceId, DeviceKind, Placement, as_placement
from tensor_runtime.protocols import Kernel, KernelChoice, MemoryUse, OnCase, Operand, Result


class DeviceBackend:
    """Tensors on devices that one interface reaches.

    >>> from tensor_gpu.sim.api import SimulatedApi
    >>> DeviceBackend(SimulatedApi(devices=2), DeviceKind.other("sim")).placements()
    (sim:0, sim:1)
    """

    def __init__(self, api: DeviceApi, kind: DeviceKind) -> None:
        self.name = api.name
        self.device_kind = kind
        self.api = api
        self.providers = Providers(api.providers)
        self._drivers: Mapping[int, DriverTable | None] = {}  # that the user gave, by numbers of devices
        self._process = os.getpid()
        self._notes = Notes()
        self._executors: dict[int, Executor] = {}  # by numbers of devices; made when they are asked for

    def executor(self, placement: Placement, /) -> Executor:
        """What submits work to the device of a placement."""
        assert placement.device is not None
        ordinal = placement.device.ordinal
        found = self._executors.get(ordinal)
        if found is None:
            made = Executor(self.api, ordinal, self._process, self._notes, self.providers, self._drivers_of)
            found = self._executors.setdefault(ordinal, made)
        return found

    def _opened(self) -> list[Executor]:
        """Of devices that there are, and that were used."""
        count = len(self.api.devices())
        return [executor for ordinal, executor in sorted(self._executors.items()) if ordinal < count]

    def placements(self) -> tuple[Placement, ...]:
        """The memory of each device, then what other kinds they have."""
        devices = list(enumerate(self.api.devices()))
        kinds = dict.fromkeys(kind for _, device in devices for kind in device.memory_kinds)
        return tuple(
            Placement(kind, DeviceId(self.device_kind, ordinal))
            for kind in kinds
            for ordinal, device in devices
            if kind in device.memory_kinds
        )

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """The kernel for exactly these forms, on the device of the result."""
        first = result[0] if isinstance(result, tuple) else result
        return kernel_table.bind(self.executor(first.placement), name, operands, result, params)

    def explain(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> KernelChoice:
        """What computes, what is copied for it, and why nothing faster does; errors as for :meth:`bind`."""
        from tensor_gpu.explanation import explain

        first = result[0] if isinstance(result, tuple) else result
        return explain(self.executor(first.placement), name, operands, result, params)

    def operations(self) -> frozenset[str]:
        """Every name in the kernel table."""
        return frozenset(kernel_table.rows()) - self.unsupported().keys()

    def unsupported(self) -> Mapping[str, str]:
        """What is left out, each with the reason."""
        return kernel_table.unsupported(self._missing())

    def _missing(self) -> Mapping[str, str]:
        """Libraries that a device lacks, and so an operation needs in vain somewhere."""
        return {name: why for device in self.api.devices() for name, why in device.missing.items()}

    def offset_of(self, array: DeviceArray, /) -> int:
        """Offset of the first element in its allocation, in elements."""
        return (array.address - array.allocation.address) // array.itemsize

    def is_lent(self, array: DeviceArray, /) -> bool:
        """Whether what was borrowed is another library's memory."""
        return isinstance(array.allocation, ForeignAllocation)

    def location_of(self, array: DeviceArray, /) -> tuple[Hashable, int]:
        """The device's addresses are one space."""
        return (self.name, array.allocation.ordinal), array.address

    def examine(self, array: Any, form: Form, /) -> str | None:
        """What is wrong with an array: where it is, the size of its elements, whether all of them are within memory."""
        if not isinstance(array, DeviceArray):
            return f"a {type(array).__name__}"
        where = self.placement_of(array)
        if where is not form.placement:
            return f"an array on {where}"
        if array.itemsize != form.dtype.itemsize:
            return f"elements of {array.itemsize} bytes"
        reaches = [(extent - 1) * stride for extent, stride in zip(form.shape, form.strides, strict=True)]
        first = array.address - array.allocation.address + sum(min(one, 0) for one in reaches) * array.itemsize
        last = array.address - array.allocation.address + (sum(max(one, 0) for one in reaches) + 1) * array.itemsize
        if form.size and not 0 <= first < last <= array.allocation.nbytes:
            return f"memory of {array.allocation.nbytes} bytes, of which bytes {first} to {last - 1} would be used"
        return None

    def placement_of(self, array: DeviceArray, /) -> Placement:
        """Where an array is."""
        return Placement(array.allocation.kind, DeviceId(self.device_kind, array.allocation.ordinal))

    def upload(self, source: HostTensor[Any], form: Form, /) -> DeviceArray:
        """A copy of a host tensor."""
        executor = self.executor(form.placement)
        target = executor.empty(form)
        if form.size:
            executor.upload(target, memoryview(source.raw))
        return target

    def begin_upload(self, source: HostTensor[Any], form: Form, /) -> Transfer[DeviceArray]:
        """A copy of a host tensor, in the background."""
        array = self.upload(source, form)
        executor = self.executor(form.placement)
        return Transfer(executor, executor.stream(), lambda: array)

    def download(self, array: DeviceArray, form: Form, /) -> HostTensor[Any]:
        """A copy on the host, complete."""
        return self.begin_download(array, form).result()

    def begin_download(self, array: DeviceArray, form: Form, /) -> Transfer[HostTensor[Any]]:
        """A copy on the host, in the background."""
        executor, taken = self.executor(form.placement), np.empty(form.nbytes, np.uint8).data
        stream = executor.stream()
        if form.size:
            stream = executor.begin_download(self._compact(array, form), taken)
        made = partial(HostTensor.wrap_bytes, taken, form.shape, form.dtype)
        return Transfer(executor, stream, made)

    def transfer(self, array: DeviceArray, form: Form, target: Form, /) -> DeviceArray | None:
        """A copy in other memory of the same kind of devices, if there is a way; the device of the source knows."""
        executor = self.executor(target.placement)
        peers = self.executor(form.placement).properties().peers
        if peers is not None and executor.ordinal not in (array.allocation.ordinal, *peers):
            return None
        source = self._compact(array, form)
        copied = executor.empty(target)
        if form.size:
            executor.copy(copied, source, form.nbytes)
        return copied

    def _compact(self, array: DeviceArray, form: Form) -> DeviceArray:
        if form.is_compact:
            return array
        copied: DeviceArray = bind_step(self.executor(form.placement), "copy", (form,), compact(form), None)(array)
        return copied

    def use_drivers(
        self, table: DriverTable | str | os.PathLike[str] | None, placement: Placement | str | None = None, /
    ) -> AbstractContextManager[object]:
        """Decompose as a table says from now on; kernels are bound anew.

        Args:
            table: one, or the file of one, as ``tensor_gpu.sweep`` writes it; None for the one shipped.
            placement: the device; None for all of this backend.

        Returns:
            What puts back the tables of before, at the end of a ``with`` block.

        Raises:
            LoadError: the file cannot be read.
            FormatError: it holds no table.
            PlacementError: the placement is none of this backend.

        >>> from tensor_gpu.sim.bench import Bench
        >>> from tensor_gpu.tables.drivers import Rule
        >>> bench = Bench()
        >>> with bench.backend.use_drivers(DriverTable([Rule("qr", "geqrf")])):
        ...     len(bench.executor.drivers.rules)
        1
        """
        found = table if table is None or isinstance(table, DriverTable) else read_drivers(table)
        there = self.placements()
        places = there if placement is None else (as_placement(placement),)
        if not {*places} <= {*there}:
            accepted = ", ".join(map(str, there))
            raise PlacementError(f"use_drivers: placement is {places[0]}; accepted: {accepted}")
        given = dict.fromkeys([one.device.ordinal for one in places if one.device], found)
        restored = ExitStack()
        restored.callback(self._put_drivers, {ordinal: self._drivers.get(ordinal) for ordinal in given})
        self._put_drivers(given)
        return restored

    def _drivers_of(self, ordinal: int) -> DriverTable | None:
        return self._drivers.get(ordinal)

    def _put_drivers(self, tables: Mapping[int, DriverTable | None]) -> None:
        """Of these devices, all at once; the others keep theirs."""
        self._drivers = {**self._drivers, **tables}
        binding_cache.clear()

    def calibrate(self, placement: Placement, seconds: float, on_case: OnCase, tell: Callable[[str], object], /) -> str:
        """The table of a device's fastest drivers, for :meth:`use_drivers`, of what so many seconds suffice for."""
        from tensor_gpu.sweep import sweep

        return sweep(placement, seconds=seconds, on_case=on_case, on_failure=tell).to_json()

    def stream(self, placement: Placement, handle: int | None, /) -> UserStream:
        """A new stream of a device, or another library's.

        Raises:
            UnsupportedOperationError: another library's, and these devices take none.
        """
        return UserStream(self.executor(placement), handle)

    def memory(self, placement: Placement, /) -> MemoryUse:
        """What is used on a device now."""
        return self.pool(placement).stats()

    def pool(self, placement: Placement, /) -> Pool:
        """The memory there: it has ``set_limit``, ``stats`` and ``clear``."""
        executor = self.executor(placement)
        executor.check_process()
        return executor.pool(placement.memory_kind)

    def wait_for(self, placement: Placement, /) -> None:
        """Wait for every stream of one device."""
        self.executor(placement).synchronize()

    def synchronize(self) -> None:
        """Wait for every stream of each device."""
        for executor in self._opened():
            executor.synchronize()

    def describe(self) -> Mapping[str, str]:
        """The devices and their memory."""
        check_process(self.name, self._process)
        facts = {}
        for ordinal, properties in enumerate(self.api.devices()):
            memory = self.api.memory(ordinal)
            drivers = self._drivers.get(ordinal) or shipped(properties.compute_capability)
            used = f"{memory.used} of {memory.total} bytes in use"
            facts[f"{self.name}:{ordinal}"] = f"{properties.name}, {used}; drivers {drivers.digest}"
        if self.api.providers():
            facts["contractions by"] = self.providers.describe()
        return facts
