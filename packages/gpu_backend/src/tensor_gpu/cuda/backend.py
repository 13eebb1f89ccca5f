"""The devices of CUDA as a backend of the runtime: ``cuda:0`` and so on, where there are any."""

from __future__ import annotations

from tensor_core.errors import BackendUnavailableError
from tensor_gpu.cuda.cupy_api import CupyApi
from tensor_gpu.cuda.exchange import CudaBackend
from tensor_gpu.cuda.probe import CupyProbe
from tensor_gpu.cuda.report import examine
from tensor_runtime.placement import DeviceKind, GpuBackendKind


def backend(probe: CupyProbe | None = None, /) -> CudaBackend:
    """The backend of this process; the entry point calls it once, and this imports CuPy.

    Args:
        probe: what is asked of the machine; None for this one.

    Raises:
        BackendUnavailableError: something is missing; the message says what, and the command that mends it.

    >>> class Bare(CupyProbe):
    ...     def installed(self):
    ...         return False
    >>> backend(Bare())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.BackendUnavailableError: CuPy is not installed; pip install ...
    """
    if probe is None:
        probe = CupyProbe()
    report = examine(probe)
    if not report.usable:
        raise BackendUnavailableError(report.message)
    return CudaBackend(CupyApi(probe.modules), DeviceKind.gpu(GpuBackendKind.Cuda))
