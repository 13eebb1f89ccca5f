"""A backend on PyTorch: one for its tensors in the host's memory, one for those on GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

import tensor_runtime as tr
from tensor_core.errors import BackendUnavailableError, UnsupportedOperationError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement
from tensor_runtime.protocols import Kernel, Operand
from torch_backend import kernels, linear_algebra
from torch_backend.arrays import DTYPES, Array, device_of, whole
from torch_backend.reasons import reason

TABLE = {**kernels.TABLE, **linear_algebra.TABLE}


class TorchBackend:
    """Fits ``tensor_runtime.protocols.Backend``; ``kind`` is what PyTorch calls its devices."""

    def __init__(self, kind: str, devices: int) -> None:
        self.name = f"torch-{kind}"
        self.device_kind = DeviceKind.other(self.name)
        self._devices = devices

    def placements(self) -> tuple[Placement, ...]:
        """All its devices."""
        return tuple(
            Placement(MemoryKind.Device, DeviceId(self.device_kind, ordinal)) for ordinal in range(self._devices)
        )

    def bind(self, name: str, operands: tuple[Operand, ...], result: Any, params: Any, /) -> Kernel:
        """The kernel for these forms."""
        if name not in TABLE:
            raise UnsupportedOperationError(f"{name}: {reason(name)}", operation=name)
        kernel: Kernel = torch.no_grad()(TABLE[name](name, operands, result, params))
        return kernel

    def operations(self) -> frozenset[str]:
        """Everything it has."""
        return frozenset(TABLE)

    def unsupported(self) -> Mapping[str, str]:
        """Everything else that is known of on the host."""
        return {name: reason(name) for name in sorted(tr.backend("cpu").operations() - self.operations())}

    def offset_of(self, array: Array, /) -> int:
        """As the array says."""
        return array.offset

    def location_of(self, array: Array, /) -> tuple[int, int]:
        """Each allocation is a space of its own."""
        return array.row.untyped_storage()._cdata, array.offset * array.row.itemsize

    def upload(self, source: HostTensor[Any], form: Form, /) -> Array:
        """A copy of the elements in a row."""
        row = torch.frombuffer(bytearray(source.tobytes() or b"\0" * 16), dtype=DTYPES[form.dtype])[: form.size]
        return Array(row.to(device_of(form.placement)), 0)

    def download(self, array: Array, form: Form, /) -> HostTensor[Any]:
        """A copy of the elements in column-major order."""
        tensor = whole(form)(array).permute(tuple(range(form.rank))[::-1]).contiguous().view(-1).cpu()
        data = bytearray(tensor.view(torch.uint8).numpy().tobytes()) if form.size else bytearray()
        return HostTensor.wrap_bytes(data, form.shape, form.dtype)

    def synchronize(self) -> None:
        """Wait for every GPU."""
        if self.device_kind.short == "torch-cuda":
            for ordinal in range(self._devices):
                torch.cuda.synchronize(ordinal)

    def describe(self) -> Mapping[str, str]:
        """For ``doctor``."""
        return {"torch": str(torch.__version__)}


def on_the_host() -> TorchBackend:
    """Tensors in the host's memory."""
    return TorchBackend("cpu", 1)


def on_gpus() -> TorchBackend:
    """Tensors on GPUs, where PyTorch finds some."""
    if not torch.cuda.is_available():
        raise BackendUnavailableError("torch-cuda: PyTorch finds no GPU; use torch-cpu")
    return TorchBackend("cuda", torch.cuda.device_count())
