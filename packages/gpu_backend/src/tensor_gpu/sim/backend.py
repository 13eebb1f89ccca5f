"""The simulated devices as a backend of the runtime: ``sim:0`` and ``sim:1``."""

from __future__ import annotations

import os
from typing import Final

from tensor_core.errors import ArgumentError
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.sim.api import SimulatedApi
from tensor_runtime.placement import DeviceKind, MemoryKind

SEED: Final = "TENSOR_GPU_SIM_SEED"
"""Variable of the environment: an int of 0 or more, by which the streams take turns."""

KINDS: Final = (MemoryKind.Device, MemoryKind.PinnedHost, MemoryKind.Managed)


def backend() -> DeviceBackend:
    """The backend of this process; the entry point calls it once.

    >>> backend().name
    'sim'
    """
    return DeviceBackend(SimulatedApi(seed=_seed(), memory_kinds=KINDS), DeviceKind.other("sim"))


def _seed() -> int:
    text = os.environ.get(SEED, "0")
    if not (text.isascii() and text.isdigit()):
        raise ArgumentError(f"{SEED} is {text!r}; accepted: an int of 0 or more", variable=SEED)
    return int(text)
