"""What the registry shows of GPUs without loading anything.

Devices of CUDA are not in this release: the package declares an entry in the group ``tensor_runtime.backends`` for
simulated devices alone (``tensor_gpu.sim``), and nothing here imports an array library or asks for a device.
"""

from __future__ import annotations

from typing import Final

info: Final = {
    "name": "gpu",
    "distribution": "ironstride-tensor-gpu",
    "device_kinds": ("cuda", "rocm"),
    "protocol_version": 2,
    "status": "not in this release",
    "reason": "this release computes on the CPU, and on simulated devices (sim)",
}
