"""A bench to try kernels on: one simulated device, and tensors of it made of lists."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensor_core.dtypes import F64, DType
from tensor_core.host.tensor import HostTensor
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.sim.api import SimulatedApi
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import DeviceKind


class Placed(NamedTuple):
    """An array on the bench, and its form."""

    array: DeviceArray
    form: Form


class Bench:
    """One simulated device.

    >>> bench = Bench()
    >>> x = bench.put([1.0, 2.0])
    >>> bench.run("add", x, x)
    [2.0, 4.0]
    >>> bench.api.counts["launches"]
    1
    """

    def __init__(self, api: SimulatedApi | None = None) -> None:
        self.api = api or SimulatedApi(devices=1, memory_bytes=1 << 24)
        self.backend = DeviceBackend(self.api, DeviceKind.other("bench"))
        (self.place,) = self.backend.placements()

    @property
    def executor(self) -> Executor:
        """What submits work to the device."""
        return self.backend.executor(self.place)

    def form(self, shape: tuple[int, ...], dtype: DType = F64, strides: tuple[int, ...] | None = None, /) -> Form:
        """The form of a tensor on the bench."""
        return form_of(dtype, shape, self.place, strides)

    def put(self, nested: Any, dtype: DType | None = None, /) -> Placed:
        """A compact tensor of nested lists."""
        host = HostTensor.from_nested(nested, dtype)
        form = self.form(host.shape, host.dtype)
        return Placed(self.backend.upload(host, form), form)

    def run(self, kernel: str, *operands: Any, result: Form | None = None, params: Any = None) -> Any:
        """Nested lists of what a kernel gives; without a form for it, that of the first operand."""
        placed = [operand for operand in operands if isinstance(operand, Placed)]
        form = placed[0].form if result is None else result
        kinds = tuple(operand.form if isinstance(operand, Placed) else type(operand) for operand in operands)
        arrays = [operand.array if isinstance(operand, Placed) else operand for operand in operands]
        return self.get(Placed(self.backend.bind(kernel, kinds, form, params)(*arrays), form))

    def get(self, placed: tuple[DeviceArray, Form], /) -> Any:
        """Nested lists of a tensor on the bench."""
        return self.backend.download(*placed).to_nested()
