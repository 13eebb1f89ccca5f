"""What the registry shows of the GPU backend without loading it.

The backend itself is not in this release: the package declares no entry in the group ``tensor_runtime.backends``, and
nothing here imports an array library or asks for a device.
"""

from __future__ import annotations

from typing import Final

info: Final = {
    "name": "gpu",
    "distribution": "ironstride-tensor-gpu",
    "device_kinds": ("cuda", "rocm"),
    "protocol_version": 2,
    "status": "not in this release",
    "reason": "this release computes on the CPU only",
}
