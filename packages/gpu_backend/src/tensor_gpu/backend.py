"""The backend object: what the runtime asks of devices of one kind, whichever interface they are reached by."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from tensor_core.host.tensor import HostTensor
from tensor_gpu import kernel_table
from tensor_gpu.device.api import DeviceApi
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.planning import compact
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement
from tensor_runtime.protocols import Kernel, Operand, Result


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

    def download(self, array: DeviceArray, form: Form, /) -> HostTensor[Any]:
        """A copy on the host, complete."""
        executor = self.executor(form.placement)
        if not form.is_compact:
            array = bind_step(executor, "copy", (form,), compact(form), None)(array)
        taken = executor.download(array, form.nbytes) if form.size else bytearray()
        return HostTensor.wrap_bytes(taken, form.shape, form.dtype)

    def synchronize(self) -> None:
        """Wait for the current stream of each device."""
        for executor in self._executors:
            executor.synchronize()

    def describe(self) -> Mapping[str, str]:
        """The devices and their memory."""
        facts = {}
        for ordinal, properties in enumerate(self.api.devices()):
            memory = self.api.memory(ordinal)
            facts[f"{self.name}:{ordinal}"] = f"{properties.name}, {memory.used} of {memory.total} bytes in use"
        return facts
