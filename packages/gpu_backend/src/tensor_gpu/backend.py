"""The backend object: what the runtime asks of devices of one kind, whichever interface they are reached by."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

from tensor_core.host.tensor import HostTensor
from tensor_gpu import kernel_table
from tensor_gpu.device.api import DeviceApi
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.device.streams import Transfer, UserStream
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.planning import compact
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement
from tensor_runtime.protocols import Kernel, MemoryUse, Operand, Result


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
        self._executors = tuple(Executor(api, ordinal) for ordinal in range(len(api.devices())))

    def executor(self, placement: Placement, /) -> Executor:
        """What submits work to the device of a placement."""
        assert placement.device is not None
        return self._executors[placement.device.ordinal]

    def placements(self) -> tuple[Placement, ...]:
        """The memory of each device."""
        return tuple(
            Placement(MemoryKind.Device, DeviceId(self.device_kind, ordinal)) for ordinal in range(len(self._executors))
        )

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """The kernel for exactly these forms, on the device of the result."""
        first = result[0] if isinstance(result, tuple) else result
        return kernel_table.bind(self.executor(first.placement), name, operands, result, params)

    def operations(self) -> frozenset[str]:
        """Every name in the kernel table."""
        return frozenset(kernel_table.rows())

    def unsupported(self) -> Mapping[str, str]:
        """What is left out, each with the reason."""
        return kernel_table.unsupported()

    def offset_of(self, array: DeviceArray, /) -> int:
        """Offset of the first element in its allocation, in elements."""
        return (array.address - array.allocation.address) // array.itemsize

    def location_of(self, array: DeviceArray, /) -> tuple[Hashable, int]:
        """The device's addresses are one space."""
        return (self.name, array.allocation.ordinal), array.address

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
        executor, taken = self.executor(form.placement), bytearray(form.nbytes)
        stream = executor.stream()
        if form.size:
            stream = executor.begin_download(self._compact(array, form), taken)
        made = partial(HostTensor.wrap_bytes, taken, form.shape, form.dtype)
        return Transfer(executor, stream, made, array.allocation.writer)

    def transfer(self, array: DeviceArray, form: Form, target: Form, /) -> DeviceArray | None:
        """A copy on another device of the same kind, from memory to memory."""
        source = self._compact(array, form)
        executor = self.executor(target.placement)
        copied = executor.empty(target)
        if form.size:
            executor.copy(copied, source, form.nbytes)
        return copied

    def _compact(self, array: DeviceArray, form: Form) -> DeviceArray:
        if form.is_compact:
            return array
        copied: DeviceArray = bind_step(self.executor(form.placement), "copy", (form,), compact(form), None)(array)
        return copied

    def stream(self, placement: Placement, handle: int | None, /) -> UserStream:
        """A new stream of a device, or another library's.

        Raises:
            UnsupportedOperationError: another library's, and these devices take none.
        """
        return UserStream(self.executor(placement), handle)

    def memory(self, placement: Placement, /) -> MemoryUse:
        """What is used on a device now."""
        executor = self.executor(placement)
        executor.check_process()
        facts = self.api.memory(executor.ordinal)
        return MemoryUse(facts.used, 0, facts.total)

    def wait_for(self, placement: Placement, /) -> None:
        """Wait for every stream of one device."""
        self.executor(placement).synchronize()

    def synchronize(self) -> None:
        """Wait for every stream of each device."""
        for executor in self._executors:
            executor.synchronize()

    def describe(self) -> Mapping[str, str]:
        """The devices and their memory."""
        facts = {}
        for ordinal, properties in enumerate(self.api.devices()):
            memory = self.api.memory(ordinal)
            facts[f"{self.name}:{ordinal}"] = f"{properties.name}, {memory.used} of {memory.total} bytes in use"
        return facts
