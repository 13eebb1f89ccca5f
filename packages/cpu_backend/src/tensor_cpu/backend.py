"""The backend object: what the runtime asks of this package."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import DType
from tensor_core.host.tensor import HostTensor
from tensor_cpu import kernel_table, storage
from tensor_cpu.call_checks import CHECKED, checked, fault
from tensor_cpu.storage import Array
from tensor_cpu.system import memory, threads
from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT
from tensor_runtime.backends.memory_limits import usable_bytes
from tensor_runtime.form import Form
from tensor_runtime.placement import CPU, DeviceKind, MemoryUse, Placement
from tensor_runtime.protocols import (
    CallParts,
    HostBackend,
    Kernel,
    KernelChoice,
    KernelStep,
    Operand,
    Result,
    StepFailed,
)
from tensor_runtime.thread_counts import ThreadSetting

threads.apply_environment()
if os.environ.get("TENSOR_CPU_BLAS"):  # a wrong word is told now, though the library is opened when it is needed
    from tensor_cpu.system import blas

    blas.wanted()
memory.apply_environment()


class CpuBackend:
    """NumPy on the host, on transposed arrays (see ``tensor_cpu.storage``).

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2,), CPU)
    >>> CpuBackend().bind("multiply", (form, form), form, None)(np.array([2.0, 3.0]), np.array([5.0, 7.0])).tolist()
    [10.0, 21.0]
    >>> CpuBackend().bind("untangle", (form,), form, None)
    Traceback (most recent call last):
    tensor_core.errors.UnsupportedOperationError: untangle: the cpu backend has no such operation
    """

    name: Final = "cpu"
    device_kind: Final = DeviceKind.Cpu

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """The kernel for exactly these forms.

        Raises:
            UnsupportedOperationError: this backend has no such operation, or a tensor has more than 64 axes.
            MemoryError: a result, or a workspace, that no memory can hold.
        """
        forms: list[Operand] = [*operands, *(result if isinstance(result, tuple) else (result,))]
        for form in forms:
            if isinstance(form, Form) and len(form.shape) > storage.MOST_AXES:
                storage.check_rank(name, form)
        try:
            kernel = kernel_table.bind(name, operands, result, params)
        except OverflowError as error:  # more bytes, or more elements with a workspace, than there are addresses
            raise MemoryError(str(error)) from error
        return checked(name, kernel, operands) if CHECKED else kernel

    def bind_sequence(
        self, operands: int, steps: Sequence[KernelStep], results: int | tuple[int, ...], failed: StepFailed, /
    ) -> Kernel | None:
        """One native kernel for all steps (csrc/sequence/sequence.h); None where fewer than two of them are native."""
        return LIBRARY.bind_sequence(operands, steps, results, failed) if AVAILABLE else None

    def explain(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> KernelChoice:
        """Which kernel ``bind`` gives, what it copies, and why a faster one was not taken."""
        from tensor_cpu.explanation import explain

        return explain(name, operands, result, params)

    def native_call(self, name: str, function: Callable[..., Any], parts: CallParts, /) -> Callable[..., Any] | None:
        """One of csrc/calls; None without the extension, and where every call is to be checked."""
        wanted = AVAILABLE and not CHECKED and name in LIBRARY.CALLS
        return LIBRARY.Call(name, function, *parts) if wanted else None

    def operations(self) -> frozenset[str]:
        """Every name in the kernel table."""
        return frozenset(kernel_table.ROWS)

    def unsupported(self) -> Mapping[str, str]:
        """Nothing is left out on purpose."""
        return {}

    def placements(self) -> tuple[Placement, ...]:
        """Ordinary memory, where all processors of the machine compute."""
        return (CPU,)

    def offset_of(self, array: Array, /) -> int:
        """Offset of the array's first element in its allocation, in elements."""
        return storage.offset_of(array)

    def is_lent(self, array: Array, /) -> bool:
        """Whether what was borrowed is another library's memory."""
        return isinstance(array.base, np.ndarray)  # a copy has none, or its own allocation

    def examine(self, array: Any, form: Form, /) -> str | None:
        """What is wrong with an array, in the order of NumPy's axes."""
        found = fault(array, form, writes=False)
        return found and f"an array {found}"

    if AVAILABLE:  # else nobody counts

        def memory(self, placement: Placement, /) -> MemoryUse:
            """What the pool of ``tensor_cpu.system.memory`` counts: buffers from its smallest size on."""
            found = memory.pool.stats()
            counts = found.used_bytes, found.kept_bytes, usable_bytes(), found.peak_bytes, found.hits + found.misses
            return MemoryUse(*counts)

    def location_of(self, array: Array, /) -> tuple[str, int]:
        """The address of the first element in this process: borrowed memory may be anybody's."""
        return "host", storage.address_of(array)

    def upload(self, source: HostTensor[Any], form: Form, /) -> Array:
        """A copy of a host tensor, as a transposed array."""
        return storage.upload(source, form)

    def download(self, array: Array, form: Form, /) -> HostTensor[Any]:
        """A copy of a transposed array, as a host tensor."""
        return storage.download(array, form)

    def share(self, array: Array, form: Form, /) -> HostTensor[Any]:
        """The memory of a compact array, as a host tensor."""
        return storage.share(array, form)

    def adopt(self, source: HostTensor[Any], form: Form, /) -> Array:
        """The memory of a host tensor, as a transposed array."""
        return storage.adopt(source, form)

    def borrow(self, source: Any, copy: bool | None, dtype: DType | None = None, /) -> tuple[Array, Form] | None:
        """Transposed array and form of foreign memory."""
        return storage.borrow(source, copy, dtype)

    def borrow_dlpack(self, source: Any, copy: bool | None, /) -> tuple[Array, Form]:
        """Transposed array and form of what a DLPack capsule lends; see ``tensor_cpu.storage.borrow``."""
        return storage.borrow_dlpack(source, copy)

    def lend(self, array: Array, form: Form, /) -> Array:
        """The same memory with axes in the tensor's order."""
        return storage.lend(array, form)

    def synchronize(self) -> None:
        """Nothing to wait for: every kernel has finished when it returns."""

    def threads(self) -> Mapping[str, int]:
        """Threads of the kernels, and of the BLAS library that they call once it is open."""
        blas = LIBRARY.blas_threads() if AVAILABLE else 0
        return {"kernels": threads.threads(), **({"blas": blas} if blas else {})}

    def set_threads(self, count: int, /) -> ThreadSetting:
        """Let a kernel use so many, and lend them to a BLAS that is its own; see ``tensor_cpu.system.threads``."""
        return threads.set_threads(count)

    def describe(self) -> Mapping[str, str]:
        """Versions, BLAS libraries and threads, for ``doctor``."""
        import scipy

        return {
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "numpy's blas": _numpys_blas(),
            **_native_facts(),
            "machine": f"{platform.machine()}, {platform.system()}",
        }


def _numpys_blas() -> str:
    config: Any = np.show_config(mode="dicts")
    found = config.get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def _native_facts() -> Mapping[str, str]:
    """Whether native kernels are in use, and with what."""
    if not AVAILABLE:
        return {"native kernels": f"none: {WHY_NOT}", "blas": "NumPy's", "threads": "those of NumPy's BLAS"}
    from tensor_cpu.system import blas

    stats = memory.pool.stats()
    return {
        "native kernels": f"in use, {LIBRARY.instruction_set()}",
        "blas": blas.describe(),
        "threads": str(LIBRARY.threads()),
        "cached memory": f"{stats.kept_bytes} bytes kept of at most {stats.limit_bytes}, {stats.used_bytes} in use",
    }


def backend() -> HostBackend[Array]:
    """The backend of this process; the entry point calls it once.

    >>> backend().name
    'cpu'
    """
    return CpuBackend()
