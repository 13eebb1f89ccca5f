"""What libraries of CUDA have in common: handles, work in the current stream, and what refuses wrong arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from fake_cupy.driver import FakeError, Machine
from tensor_core.dtypes import C32, C64, F32, F64, DType
from tensor_gpu.device.api import Solver
from tensor_gpu.sim.lapack import run_solver
from tensor_gpu.sim.memory import SimulatedMemory

OF_LETTERS: Final = {"s": F32, "d": F64, "c": C32, "z": C64}
WORKSPACE: Final = 7  # elements that routines say they need
TURNED: Final = "NTC"
Work = Callable[[SimulatedMemory], None]


class Library:
    """Handles, and work in the current stream."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._live: set[int] = set()
        self._made = 0

    def create(self) -> int:
        self._made += 1
        self._live.add(self._made)
        return self._made

    def destroy(self, handle: int) -> None:
        self._live.remove(handle)

    def _submit(self, name: str, handle: int, arguments: tuple[Any, ...], work: Work) -> None:
        if handle not in self._live:
            raise FakeError(f"{name}: no handle {handle}")
        self._machine.note(name, handle, *arguments)
        self._machine.submit(self._machine.current_streams[-1].ptr, work)


def factors(dtype: DType, address: int) -> complex:
    """A number of the host."""
    return complex(np.frombuffer(ctypes.string_at(address, dtype.itemsize), dtype.numpy_name)[0])


def expect(name: str, found: object, expected: object) -> None:
    """Refuse an argument of another value."""
    if found != expected:
        raise FakeError(f"{name}: found {found}, expected {expected}")


def run_one(memory: SimulatedMemory, call: Solver, workspace: tuple[int, int] | None) -> None:
    """One routine on one matrix; its workspace is written, to see that there is one."""
    if workspace is not None:
        address, size = workspace
        memory.bytes_at(address, size * call.dtype.itemsize)[...] = 0xEE
    if call.info:
        run_solver(memory, call)
        return
    info = memory.allocate(4)
    run_solver(memory, call._replace(info=info))
    memory.release(info)


def addresses(memory: SimulatedMemory, table: int, count: int) -> list[int]:
    """What a table of pointers holds; without a count, the one address itself."""
    return memory.bytes_at(table, 8 * count).view(np.uint64).tolist() if count else [table]
