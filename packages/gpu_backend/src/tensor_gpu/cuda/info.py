"""What the registry shows of devices of CUDA without loading anything."""

from __future__ import annotations

from collections.abc import Mapping

from tensor_gpu.cuda.report import NOT_INSTALLED, cupy_installed


def info() -> Mapping[str, object]:
    """Where CuPy is not installed, the reason at once; whatever else may be missing is found when it is imported.

    >>> info()["name"]
    'cuda'
    """
    return {
        "name": "cuda",
        "distribution": "ironstride-tensor-gpu",
        "device_kinds": ("cuda",),
        "protocol_version": 2,
        "status": "ready" if cupy_installed() else NOT_INSTALLED,
    }
