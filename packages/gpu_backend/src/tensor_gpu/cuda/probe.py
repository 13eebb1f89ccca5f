"""What is asked of this machine before its devices of CUDA are used, as ``tensor_gpu.cuda.report`` wants it."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import I64
from tensor_core.errors import BackendError
from tensor_gpu.cuda.arguments import Arguments
from tensor_gpu.cuda.cupy_api import Modules
from tensor_gpu.cuda.report import cupy_installed
from tensor_gpu.device.program import Argument, HostMemory, Program

_PROBED: Final = 20260


def _probed(memory: HostMemory, arguments: tuple[Argument, ...]) -> None:
    memory.view(int(arguments[0]), I64, (1,), (1,))[...] = _PROBED


PROBE: Final = Program("probe", f'extern "C" __global__ void probe(long long* x) {{ x[0] = {_PROBED}; }}', _probed)
"""Writes a number, to see whether a device does."""


class CupyProbe:
    """``report.Probe`` of this machine.

    >>> CupyProbe().installed() in (True, False)
    True
    """

    def __init__(self) -> None:
        self.modules: Modules

    def installed(self) -> bool:
        """Whether there is a CuPy to import."""
        return cupy_installed()

    def load(self) -> str:
        """Import it."""
        self.modules = Modules.imported()
        return self.modules.version

    def driver(self) -> int:
        """The newest CUDA that the driver knows."""
        return int(self.modules.runtime.driverGetVersion())

    def runtime(self) -> int:
        """The CUDA that CuPy was built for."""
        return int(self.modules.runtime.runtimeGetVersion())

    def devices(self) -> int:
        """How many there are."""
        return int(self.modules.runtime.getDeviceCount())

    def library(self, name: str, /) -> None:
        """Open a library; NVRTC is opened by its first call."""
        found = getattr(self.modules.libs, name)
        if name == "nvrtc":
            found.getVersion()

    def launch(self) -> None:
        """Compile, run and read back a kernel of one element on the first device, with no more than that takes."""
        cuda, runtime = self.modules.cuda, self.modules.runtime
        facts = runtime.getDeviceProperties(0)
        with cuda.Device(0):
            function = self.modules.loaded(PROBE, (int(facts["major"]), int(facts["minor"])))
            stream, memory, taken = (
                cuda.Stream(non_blocking=True),
                cuda.MemoryPool().malloc(8),
                cuda.alloc_pinned_memory(8),
            )
            arguments = Arguments()  # which live until the launch has read them
            self.modules.launch(function, 1, 1, stream, arguments.packed((memory.ptr,)))
            runtime.memcpyAsync(taken.ptr, memory.ptr, 8, runtime.memcpyDefault, stream.ptr)
            stream.synchronize()
        found = int.from_bytes(memoryview(taken).cast("B")[:8], "little")
        if found != _PROBED:
            raise BackendError(f"it wrote {found}, not {_PROBED}")
