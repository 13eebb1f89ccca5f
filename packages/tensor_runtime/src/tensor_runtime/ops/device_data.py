"""Data of devices, in and out: memory of other libraries that a backend of devices borrows, and ours that it lends.

An object says where its memory is by ``__dlpack_device__``, or has ``__cuda_array_interface__``. The backend of that
device borrows it (``protocols.DeviceBackend.borrow``); nothing is moved, and nothing goes over the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tensor_core.errors import (
    ArgumentError,
    BackendUnavailableError,
    DTypeError,
    ExchangeError,
    PlacementError,
    shortened,
)
from tensor_core.host.dlpack.lending import HOST
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.registry import placements_of, registry
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceId, DeviceKind, GpuBackendKind, Placement, as_placement
from tensor_runtime.tensors.tensor import Tensor, wrap, wrap_borrowed

_CUDA: Final = DeviceKind.gpu(GpuBackendKind.Cuda)
_ROCM: Final = DeviceKind.gpu(GpuBackendKind.Rocm)
_KINDS: Final[Mapping[int, DeviceKind]] = {2: _CUDA, 3: _CUDA, 13: _CUDA, 10: _ROCM, 11: _ROCM}
"""Whose device DLPack means by a type; other types are those of backends that are loaded and say so."""


def borrowed_from_device(operation: str, x: Any, copy: bool | None, dtype: Any = None, /) -> Tensor | None:
    """A tensor of the memory of a device; None where ``x`` names none that a backend borrows from.

    Args:
        operation: what the user called.
        x: an array or tensor of another library.
        copy: True always copies, False never, None where it must.
        dtype: what the caller asked for.

    Raises:
        DTypeError: the backend finds no memory in it.
        ExchangeError: the other library refuses.

    >>> borrowed_from_device("asarray", [1.0], None) is None
    True
    """
    backend = _backend_of(x)
    if backend is None:
        return None
    lent = call_translated(operation, None, backend.borrow, x, copy, dtype)
    if lent is None:
        raise DTypeError(
            f"{operation}: found a {type(x).__name__} on a device, of which the {backend.name} backend can borrow "
            "nothing; accepted: an array or tensor with __dlpack__ or __cuda_array_interface__"
        )
    array, form = lent
    return (wrap if is_copied(backend, array, copy) else wrap_borrowed)(form, array)


def is_copied(backend: Any, array: Any, copy: bool | None, /) -> bool:
    """Whether what a backend gave when it was to borrow is memory of its own; a backend that does not tell borrowed it.

    >>> is_copied(None, None, True), is_copied(None, None, None)
    (True, False)
    """
    return copy is True or (hasattr(backend, "is_lent") and not backend.is_lent(array))


def _backend_of(x: Any) -> Any:
    """The backend that borrows from the device which an object names."""
    device = _device_named(x)
    if device is not None:
        for backend, place in _borrowing(device[0]):
            if _told(backend, place) == device:
                return backend
    elif hasattr(x, "__cuda_array_interface__"):  # of which device, only its backend can tell
        return next((backend for backend, _ in _borrowing(2)), None)
    return None


def _device_named(x: Any) -> tuple[int, int] | None:
    """DLPack's name of the device where an object is; None for what names none, and for what fails to."""
    if not hasattr(x, "__dlpack_device__"):
        return None
    try:
        kind, number = x.__dlpack_device__()
        return int(kind), int(number)
    except Exception:  # each library fails in its own words; who needs the name asks again
        return None


def _borrowing(kind: int) -> Iterator[tuple[Any, Placement]]:
    """Backends that may borrow memory of a type of devices, with each of their placements."""
    if kind == HOST[0]:
        return
    known = _KINDS.get(kind)
    if known is not None:
        try:
            found: list[Any] = [registry.backend_for(as_placement(DeviceId(known)))]
        except (BackendUnavailableError, PlacementError):
            return
    else:
        found = registry.loaded()
    for one in found:
        if hasattr(one, "borrow") and hasattr(one, "dlpack_device"):
            for place in placements_of(one):
                yield registry.backend_for(place), place


def _told(backend: Any, place: Placement) -> tuple[int, int]:
    told: tuple[int, int] = call_translated("__dlpack_device__", None, backend.dlpack_device, place)
    return told


def device_told(form: Form, /) -> tuple[int, int] | None:
    """DLPack's name of the device where a tensor of this form is; None where its backend has none.

    >>> from tensor_runtime.backends.meta import META
    >>> device_told(zeros(2, placement=META)._form) is None
    True
    """
    backend: Any = registry.backend_for(form.placement)
    return _told(backend, form.placement) if hasattr(backend, "dlpack_device") else None


def lent_by_device(
    form: Form, array: Any, stream: Any, max_version: Any, dl_device: Any, copy: bool | None, /
) -> object | None:
    """A DLPack capsule of the memory of a device; None where its backend lends none. Arguments as ``__dlpack__``.

    Raises:
        ExchangeError: the consumer wants it on another device.
        ArgumentError: a stream that is neither None nor an int.

    >>> from tensor_runtime.backends.meta import META
    >>> lent_by_device(zeros(2, placement=META)._form, None, None, None, None, None) is None
    True
    """
    backend: Any = registry.backend_for(form.placement)
    if not hasattr(backend, "lend_dlpack"):
        return None
    here = device_told(form)
    if dl_device is not None and tuple(dl_device) != here:
        raise ExchangeError(
            f"__dlpack__: the tensor is on DLPack's device {here}, and wanted on {tuple(dl_device)}; nothing is moved "
            "silently: use to() first"
        )
    if stream is not None and type(stream) is not int:
        raise ArgumentError(f"__dlpack__: stream is {shortened(stream)}; accepted: None, and an int")
    lent: object = call_translated("__dlpack__", form, backend.lend_dlpack, array, form, stream, max_version, copy)
    return lent
