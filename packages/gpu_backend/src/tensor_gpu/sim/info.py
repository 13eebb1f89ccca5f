"""What the registry shows of the simulated devices without loading them."""

from __future__ import annotations

from typing import Final

info: Final = {
    "name": "sim",
    "distribution": "ironstride-tensor-gpu",
    "device_kinds": ("sim",),
    "protocol_version": 2,
    "status": "ready",
}
