"""Exchange with other libraries: ``from_dlpack``, and what a tensor answers to their protocols, DLPack above all.

Host memory is exchanged by what ``tensor_core`` knows of DLPack; of a backend it takes no more than ``lend`` and
``borrow``. Memory of devices is the business of their backends (``ops.device_data``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_core.errors import MissingAttributeError, PlacementError
from tensor_core.host.dlpack.lending import HOST, is_unversioned, must_copy
from tensor_core.host.tensor import HostTensorView
from tensor_core.layout import TensorLayout, is_injective
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.registry import registry
from tensor_runtime.ops.device_data import device_told, lent_by_device
from tensor_runtime.ops.host_data import as_tensor, lent_by_dlpack
from tensor_runtime.tensors.tensor import Tensor, unwrap
from tensor_runtime.tensors.transfer import lend


def from_dlpack(x: object, /, *, copy: bool | None = None) -> Tensor:
    """A tensor of what another library lends through DLPack: PyTorch, JAX, CuPy, NumPy and others.

    The memory is shared where it is column-major, or strided so, and copied once where it is row-major, as
    :func:`asarray` does.

    Args:
        x: an array or tensor with ``__dlpack__`` and ``__dlpack_device__``, in the host's memory, or in that of a
            device whose backend borrows it; the tensor is there then.
        copy: True always copies, False never, None where it must.

    Raises:
        DTypeError: no such object, a masked array, or an element type that is none of ours.
        PlacementError: the memory is of a device from which no backend borrows; nothing is moved silently.
        ExchangeError: the other library refuses, or lends what is malformed.
        ArgumentError: ``copy=False`` and it takes a copy.

    Source: the array API standard 2024.12, ``from_dlpack``.

    >>> import numpy as np
    >>> from_dlpack(np.array([[1.0, 2.0], [3.0, 4.0]]))[0, 1].item()
    2.0
    """
    return as_tensor(x, None, copy) if isinstance(x, Tensor) else lent_by_dlpack(x, copy)


def lend_capsule(
    x: Tensor,
    *,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> object:
    """A DLPack capsule of the elements, for the ``from_dlpack`` of another library.

    The memory is shared, and kept alive until the other library is done with it; a copy is lent where strides run
    backwards, and where repeated elements are lent to a consumer older than DLPack 1.0.

    Args:
        x: a tensor in the host's memory, or on a device whose backend lends it.
        stream: the consumer's, which waits for the elements; None on the host, which has no streams.
        max_version: the newest version of DLPack that the consumer reads; None before 1.0.
        dl_device: the device that the consumer wants it on; None or where it is.
        copy: True copies, False shares or fails, None shares where that can be.

    Raises:
        PlacementError: the tensor is on a device whose backend lends nothing.
        ExchangeError: the memory cannot be shared as asked.
        ArgumentError: another stream, or a malformed argument.

    >>> import numpy as np
    >>> np.from_dlpack(tensor([[1, 2], [3, 4]])).tolist()
    [[1, 2], [3, 4]]
    """
    form, array = unwrap("__dlpack__", x)
    backend: Any = registry.backend_for(form.placement)
    if not hasattr(backend, "lend"):
        capsule = lent_by_device(form, array, stream, max_version, dl_device, copy)
        if capsule is not None:
            return capsule
        raise PlacementError(
            f"__dlpack__: the tensor is on {form.placement}, and nothing is moved silently; use to(x, 'cpu') first",
            operation="__dlpack__",
            placement=form.placement,
        )
    lent = lend("__dlpack__", backend, array, form)
    if not hasattr(lent, "__dlpack__"):
        lent = HostTensorView.borrow(lent)
    repeated = not is_injective(TensorLayout(form.shape, form.strides))
    writable = getattr(getattr(lent, "flags", None), "writeable", True)
    copied = must_copy(
        form.strides,
        readonly=repeated or not writable,
        stream=stream,
        max_version=max_version,
        dl_device=dl_device,
        copy=copy,
    )
    version = None if is_unversioned(max_version) else max_version
    return lent.__dlpack__(max_version=version, copy=True if copied else None)


def device_of(x: Tensor, /) -> tuple[int, int]:
    """DLPack's name of the device where a tensor is.

    Raises:
        PlacementError: as for the capsule.

    >>> device_of(tensor([1.0]))
    (1, 0)
    """
    form, _ = unwrap("__dlpack_device__", x)
    if not hasattr(registry.backend_for(form.placement), "lend"):
        there = device_told(form)
        if there is not None:
            return there
        raise PlacementError(
            f"__dlpack_device__: the tensor is on {form.placement}, which lends nothing; use to(x, 'cpu') first",
            operation="__dlpack_device__",
            placement=form.placement,
        )
    return HOST


def cuda_interface(x: Tensor, /) -> dict[str, object]:
    """What tells other libraries where the elements are on a device of CUDA: ``__cuda_array_interface__``, version 3.

    The memory is shared, and is there as long as the tensor is; whoever reads it lets the stream named wait. Work on a
    stream that does not wait for CUDA's default stream has to be done before the tensor goes.

    Raises:
        MissingAttributeError: the tensor is not on such a device, so that ``hasattr`` is False.

    >>> hasattr(tensor([1.0]), "__cuda_array_interface__")
    False
    """
    form, array = unwrap("__cuda_array_interface__", x)
    backend: Any = registry.backend_for(form.placement)
    if not hasattr(backend, "lend_cuda_interface"):
        raise MissingAttributeError(
            f"'{type(x).__name__}' object has no attribute '__cuda_array_interface__' on {form.placement}; accepted: "
            "tensors on devices of CUDA",
            name="__cuda_array_interface__",
        )
    told: dict[str, object] = call_translated(
        "__cuda_array_interface__", form, backend.lend_cuda_interface, array, form
    )
    return told


ANSWERS: Final[Mapping[str, Any]] = {
    "__dlpack__": lend_capsule,
    "__dlpack_device__": device_of,
    "__cuda_array_interface__": property(cuda_interface, doc="Where the elements are on a device of CUDA."),
}
"""Attributes of tensors that other libraries look for."""
