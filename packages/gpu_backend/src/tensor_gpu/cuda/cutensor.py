"""Contractions by cuTENSOR, whichever package binds it: descriptors, plans that are kept, workspaces.

Nothing here imports a package: whoever makes a :class:`CutensorProvider` says how the library is opened. A plan is for
tensors that lie so, on one device; memory that begins where 128 bytes begin has faster ones than other memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple

import numpy as np

from tensor_core.dtypes import C32, C64, F32, F64, DType
from tensor_gpu.cuda.solvers import ONE_AND_ZERO
from tensor_gpu.device.api import Scratch
from tensor_gpu.device.provider import Contract, Lying, refusal

MOST_PLANS: Final = 512
ALIGNED: Final = 128
"""Bytes; memory of the pool begins at multiples of 256."""
TYPES: Final[Mapping[DType, int]] = {F32: 0, F64: 1, C32: 4, C64: 5}
"""cudaDataType_t."""
AS_IT_IS, CONJUGATED = 1, 9
"""cutensorOperator_t: CUTENSOR_OP_IDENTITY, CUTENSOR_OP_CONJ."""
ANY_ALGORITHM: Final = -1
NO_JIT: Final = 0
USUAL_WORKSPACE: Final = 2


class Bindings(NamedTuple):
    """Functions of cuTENSOR; addresses and objects of the library are ints."""

    version: Callable[[], int]
    create: Callable[[], int]
    tensor: Callable[[int, int, int, int, int, int], int]
    """Of a handle, the number of modes, addresses of extents and strides, the type and the alignment."""
    contraction: Callable[..., int]
    """Of a handle, thrice a tensor, the address of its modes and an operator, then c's again, and what computes."""
    preference: Callable[[int, int, int], int]
    workspace: Callable[[int, int, int, int], int]
    plan: Callable[[int, int, int, int], int]
    contract: Callable[..., object]
    """Of a handle, a plan, the addresses of alpha, a, b, beta and c, those of the workspace, its bytes, the stream."""
    destroy_tensor: Callable[[int], object]
    destroy_contraction: Callable[[int], object]
    destroy_preference: Callable[[int], object]
    destroy_plan: Callable[[int], object]
    single: int
    """What computes in F32, in full precision."""
    double: int


def of_cupy(library: Any, /) -> Bindings:
    """The functions as CuPy binds them; they work on the current stream.

    Args:
        library: ``cupy_backends.cuda.libs.cutensor``.

    >>> from unittest.mock import Mock
    >>> library = Mock()
    >>> of_cupy(library).contract(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    >>> library.contract.call_args.args
    (1, 2, 3, 4, 5, 6, 7, 7, 8, 9)
    """

    def contract(
        handle: int, plan: int, alpha: int, a: int, b: int, beta: int, c: int, room: int, nbytes: int, stream: int
    ) -> None:
        library.contract(handle, plan, alpha, a, b, beta, c, c, room, nbytes)

    return Bindings(
        library.get_version,
        library.create,
        library.createTensorDescriptor,
        library.createContraction,
        library.createPlanPreference,
        library.estimateWorkspaceSize,
        library.createPlan,
        contract,
        library.destroyTensorDescriptor,
        library.destroyOperationDescriptor,
        library.destroyPlanPreference,
        library.destroyPlan,
        library.COMPUTE_DESC_32F,
        library.COMPUTE_DESC_64F,
    )


def of_nvmath(library: Any, /) -> Bindings:
    """The functions as nvmath-python binds them.

    Args:
        library: ``nvmath.bindings.cutensor``.

    >>> from unittest.mock import Mock
    >>> library = Mock()
    >>> of_nvmath(library).contract(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    >>> library.contract.call_args.args
    (1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10)
    """

    def contract(
        handle: int, plan: int, alpha: int, a: int, b: int, beta: int, c: int, room: int, nbytes: int, stream: int
    ) -> None:
        library.contract(handle, plan, alpha, a, b, beta, c, c, room, nbytes, stream)

    return Bindings(
        library.get_version,
        library.create,
        library.create_tensor_descriptor,
        library.create_contraction,
        library.create_plan_preference,
        library.estimate_workspace_size,
        library.create_plan,
        contract,
        library.destroy_tensor_descriptor,
        library.destroy_operation_descriptor,
        library.destroy_plan_preference,
        library.destroy_plan,
        library.ComputeDesc.COMPUTE_32F(),
        library.ComputeDesc.COMPUTE_64F(),
    )


class _Plan:
    """A plan of the library, destroyed when nobody holds it."""

    def __init__(self, number: int, workspace: int, destroy: Callable[[int], object]) -> None:
        self.number = number
        self.workspace = workspace
        self._destroy = destroy

    def __del__(self) -> None:
        self._destroy(self.number)


class CutensorProvider:
    """``device.provider.Provider`` by cuTENSOR.

    >>> from contextlib import nullcontext
    >>> from unittest.mock import Mock
    >>> library = Mock(get_version=lambda: 20301)
    >>> CutensorProvider("cutensor", lambda: of_cupy(library), nullcontext, nullcontext).opened()
    'cuTENSOR 2.3.1'
    """

    def __init__(
        self,
        name: str,
        open_library: Callable[[], Bindings],
        on_device: Callable[[int], AbstractContextManager[object]],
        on_stream: Callable[[Any], AbstractContextManager[object]],
        /,
    ) -> None:
        """What is asked of others.

        Args:
            name: by which it is chosen.
            open_library: imports what binds the library, and opens it; raises anything where it cannot.
            on_device: makes a device the current one.
            on_stream: makes a stream, and its device, the current one.
        """
        self.name = name
        self._open, self._on_device, self._on_stream = open_library, on_device, on_stream
        self._handles: dict[int, int] = {}
        self._plans: OrderedDict[tuple[object, ...], _Plan] = OrderedDict()
        self._lock = threading.RLock()
        self._library: Bindings

    def opened(self) -> str:
        """Import and open it."""
        self._library = self._open()
        number = self._library.version()
        return f"cuTENSOR {number // 10000}.{number // 100 % 100}.{number % 100}"

    def refuses(self, ordinal: int, call: Contract, /) -> str | None:
        """What its rules refuse; raises what the library itself has against it."""
        refused = refusal(call)
        if refused is None:
            with self._on_device(ordinal):
                for aligned in (False, True):  # which of them a call needs is not known before
                    self._plan(ordinal, call, aligned=aligned)
        return refused

    def contract(self, stream: Any, call: Contract, addresses: tuple[int, int, int], scratch: Scratch, /) -> None:
        """Submit a contraction."""
        one, zero = ONE_AND_ZERO[call.dtype]
        a, b, c = addresses
        with self._on_stream(stream):
            aligned = all(address % ALIGNED == 0 for address in addresses)
            plan = self._plan(stream.ordinal, call, aligned=aligned)
            room = scratch(plan.workspace) if plan.workspace else 0
            native = int(stream.native.ptr)
            handle = self._handles[stream.ordinal]
            self._library.contract(handle, plan.number, one, a, b, zero, c, room, plan.workspace, native)

    def _plan(self, ordinal: int, call: Contract, *, aligned: bool) -> _Plan:
        key = (ordinal, aligned, *call.key)
        with self._lock:
            found = self._plans.get(key)
            if found is None:
                found = self._plans[key] = self._made(ordinal, call, ALIGNED if aligned else call.dtype.itemsize)
                if len(self._plans) > MOST_PLANS:
                    self._plans.popitem(last=False)
            self._plans.move_to_end(key)
            return found

    def _made(self, ordinal: int, call: Contract, alignment: int) -> _Plan:
        library = self._library
        handle = self._handles.get(ordinal)
        if handle is None:
            handle = self._handles[ordinal] = library.create()
        made: list[tuple[Callable[[int], object], int]] = []
        try:
            tensors, modes = [], []
            for lying in (call.a, call.b, call.c):
                tensors.append(_tensor(library, handle, call, lying, alignment))
                made.append((library.destroy_tensor, tensors[-1]))
                modes.append(np.array(lying.modes, np.int32))
            a, b, c = zip(tensors, (one.ctypes.data for one in modes), strict=True)
            computed = library.single if call.dtype.component is F32 else library.double
            how = CONJUGATED if call.conjugated and call.dtype in (C32, C64) else AS_IT_IS
            operation = library.contraction(handle, *a, how, *b, AS_IT_IS, *c, AS_IT_IS, *c, computed)
            made.append((library.destroy_contraction, operation))
            preference = library.preference(handle, ANY_ALGORITHM, NO_JIT)
            made.append((library.destroy_preference, preference))
            workspace = int(library.workspace(handle, operation, preference, USUAL_WORKSPACE))
            return _Plan(library.plan(handle, operation, preference, workspace), workspace, library.destroy_plan)
        finally:
            for destroy, one in made:
                destroy(one)


def _tensor(library: Bindings, handle: int, call: Contract, lying: Lying, alignment: int) -> int:
    extents = np.array([call.extents[mode] for mode in lying.modes], np.int64)
    strides = np.array(lying.strides, np.int64)
    where = extents.ctypes.data, strides.ctypes.data
    return library.tensor(handle, len(lying.modes), *where, TYPES[call.dtype], alignment)
