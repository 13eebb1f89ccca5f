"""A library of contractions on simulated devices: as strict as those that it stands for, and as late as its stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tensor_gpu.device.api import Scratch
from tensor_gpu.device.program import HostMemory
from tensor_gpu.device.provider import Contract, Lying, refusal
from tensor_gpu.sim.errors import SimulationError

if TYPE_CHECKING:
    from tensor_gpu.sim.api import SimulatedApi

WORKSPACE: Final = 64  # bytes that every contraction takes, and writes


class SimulatedProvider:
    """``device.provider.Provider`` of simulated devices whose limits name it.

    >>> from tensor_gpu.sim.api import SimulatedApi
    >>> SimulatedProvider(SimulatedApi(), "simulated").opened()
    'of simulated devices'
    """

    def __init__(self, api: SimulatedApi, name: str) -> None:
        self._api = api
        self.name = name

    def opened(self) -> str:
        """It is there."""
        return "of simulated devices"

    def refuses(self, ordinal: int, call: Contract, /) -> str | None:
        """What cuTENSOR refuses."""
        return refusal(call)

    def contract(self, stream: Any, call: Contract, addresses: tuple[int, int, int], scratch: Scratch, /) -> None:
        """Submit sums of products.

        Raises:
            SimulationError: it is refused, or the result lies over an operand.
        """
        refused = refusal(call)
        if refused is not None:
            raise SimulationError(f"{self.name}: {refused}")
        if addresses[2] in addresses[:2]:
            raise SimulationError(f"{self.name}: the result lies over an operand")
        room = scratch(WORKSPACE)

        def work(memory: HostMemory) -> None:
            memory.view(room, call.dtype, (WORKSPACE // call.dtype.itemsize,), (1,))[...] = 0
            contract(memory, call, addresses)

        self._api.submit("contractions", stream, work)


def contract(memory: HostMemory, call: Contract, addresses: tuple[int, int, int], /) -> None:
    """The sums, in the memory of a device.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.memory import SimulatedMemory
    >>> memory = SimulatedMemory(0, 1 << 20)
    >>> a, c = memory.allocate(16), memory.allocate(8)
    >>> memory.view(a, F64, (2,), (1,))[:] = 3.0, 4.0
    >>> contract(memory, Contract(F64, {0: 2}, Lying((0,), (1,)), Lying((0,), (1,)), Lying((), ())), (a, a, c))
    >>> memory.view(c, F64, (), ()).tolist()
    25.0
    """
    numbers = {mode: number for number, mode in enumerate(call.extents)}

    def view(address: int, lying: Lying) -> tuple[Any, list[int]]:
        shape = tuple(call.extents[mode] for mode in lying.modes)
        return memory.view(address, call.dtype, shape, lying.strides), [numbers[mode] for mode in lying.modes]

    (a, of_a), (b, of_b), (c, of_c) = map(view, addresses, (call.a, call.b, call.c))
    if call.conjugated:
        a = np.conj(a)
    with np.errstate(all="ignore"):
        c[...] = np.einsum(a, of_a, b, of_b, of_c, optimize=True)
