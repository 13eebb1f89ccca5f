"""cuTENSOR, as ``cupy_backends.cuda.libs.cutensor`` binds it: descriptors, plans, and contractions on the host."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np

from fake_cupy.driver import FakeError, Machine
from tensor_core.dtypes import C32, C64, F32, F64
from tensor_gpu.device.provider import Contract, Lying, refusal
from tensor_gpu.sim.memory import SimulatedMemory
from tensor_gpu.sim.tensors import contract

OF_TYPES: Final = {0: F32, 1: F64, 4: C32, 5: C64}
WORKSPACE: Final = 192
ALIGNMENTS: Final = (4, 8, 16, 128)


class Cutensor:
    """``cupy_backends.cuda.libs.cutensor``; objects are numbers, and those that are not destroyed are told."""

    COMPUTE_DESC_32F, COMPUTE_DESC_64F = 4, 16

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._objects: dict[int, Any] = {}
        self._made = 0

    def _keep(self, thing: object) -> int:
        self._made += 1
        self._objects[self._made] = thing
        return self._made

    def get_version(self) -> int:
        return 20301

    def create(self) -> int:
        return self._keep("handle")

    def createTensorDescriptor(
        self, handle: int, numModes: int, extent: int, stride: int, dataType: int, alignmentRequirement: int
    ) -> int:
        self._machine.note("createTensorDescriptor", numModes, dataType, alignmentRequirement)
        if alignmentRequirement not in ALIGNMENTS or self._objects[handle] != "handle":
            raise FakeError("CUTENSOR_STATUS_INVALID_VALUE")
        extents, strides = (_numbers(where, numModes, ctypes.c_int64) for where in (extent, stride))
        return self._keep((OF_TYPES[dataType], extents, strides, alignmentRequirement))

    def destroyTensorDescriptor(self, desc: int) -> None:
        del self._objects[desc]

    def createContraction(
        self, handle: int, descA: int, modeA: int, opA: int, descB: int, modeB: int, opB: int, descC: int,
        modeC: int, opC: int, descD: int, modeD: int, descCompute: int,
    ) -> int:  # fmt: skip
        given = [self._objects[desc] for desc in (descA, descB, descC)]
        (dtype, *_), modes = given[0], []
        for (_, extents, _, _), where in zip(given, (modeA, modeB, modeC), strict=True):
            modes.append(_numbers(where, len(extents), ctypes.c_int32))
        exact = 16 if dtype.component is F64 else 4
        if (descD, modeD, opB, opC, descCompute) != (descC, modeC, 1, 1, exact) or opA not in (1, 9):
            raise FakeError("CUTENSOR_STATUS_NOT_SUPPORTED")
        sizes: dict[int, int] = {}
        lying = []
        for one, (_, extents, strides, _) in zip(modes, given, strict=True):
            if any(sizes.setdefault(mode, size) != size for mode, size in zip(one, extents, strict=True)):
                raise FakeError("CUTENSOR_STATUS_INVALID_VALUE: one mode has two extents")
            lying.append(Lying(one, strides))
        a, b, c = lying
        call = Contract(dtype, sizes, a, b, c, opA == 9)
        if refusal(call):
            raise FakeError(f"CUTENSOR_STATUS_NOT_SUPPORTED: {refusal(call)}")
        return self._keep((call, min(alignment for *_, alignment in given)))

    def destroyOperationDescriptor(self, desc: int) -> None:
        del self._objects[desc]

    def createPlanPreference(self, handle: int, algo: int, jitMode: int) -> int:
        if (algo, jitMode) != (-1, 0):
            raise FakeError("CUTENSOR_STATUS_INVALID_VALUE")
        return self._keep("preference")

    def destroyPlanPreference(self, pref: int) -> None:
        del self._objects[pref]

    def estimateWorkspaceSize(self, handle: int, desc: int, planPref: int, workspacePref: int) -> int:
        return WORKSPACE

    def createPlan(self, handle: int, desc: int, pref: int, workspaceSizeLimit: int) -> int:
        self._machine.note("createPlan", self._machine.current[-1])
        if self._objects[pref] != "preference" or workspaceSizeLimit != WORKSPACE:
            raise FakeError("CUTENSOR_STATUS_INVALID_VALUE")
        return self._keep((*self._objects[desc], self._machine.current[-1]))

    def destroyPlan(self, plan: int) -> None:
        self._machine.note("destroyPlan")
        del self._objects[plan]

    def contract(
        self, handle: int, plan: int, alpha: int, A: int, B: int, beta: int, C: int, D: int, workspace: int,
        workspaceSize: int,
    ) -> None:  # fmt: skip
        call, alignment, device = self._objects[plan]
        factors = [
            complex(np.frombuffer(ctypes.string_at(one, call.dtype.itemsize), call.dtype.numpy_name)[0])
            for one in (alpha, beta)
        ]
        if (*factors, C, workspaceSize) != (1, 0, D, WORKSPACE) or device != self._machine.current[-1]:
            raise FakeError("CUTENSOR_STATUS_INVALID_VALUE")
        if any(address % alignment for address in (A, B, C)):
            raise FakeError(f"CUTENSOR_STATUS_INVALID_VALUE: memory is not aligned to {alignment} bytes")
        self._machine.note("contract", A, B, C, alignment)

        def work(memory: SimulatedMemory) -> None:
            memory.bytes_at(workspace, WORKSPACE)[...] = 0xEE
            contract(memory, call, (A, B, C))

        self._machine.submit(self._machine.current_streams[-1].ptr, work)


def _numbers(where: int, count: int, kind: Any) -> tuple[int, ...]:
    return tuple((kind * count).from_address(where)) if count else ()
