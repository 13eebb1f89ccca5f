"""Transfers: the only functions that move elements between placements.

``upload`` takes a host tensor of ``tensor_core`` to a placement, ``download`` brings one back, and ``to`` goes from
placement to placement. ``trace_transfers`` records every byte they move.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from tensor_core.errors import DTypeError
from tensor_core.host_tensor import HostTensor
from tensor_runtime.failures import guarded
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU, DeviceId, Placement, as_placement
from tensor_runtime.registry import registry
from tensor_runtime.tensors import Tensor, unwrap, wrap


class Transfer(NamedTuple):
    """One movement of elements."""

    operation: str
    source: str
    target: str
    nbytes: int


_LOG: Final[ContextVar[list[Transfer] | None]] = ContextVar("tensor_runtime_transfers", default=None)


@contextmanager
def trace_transfers() -> Iterator[list[Transfer]]:
    """Record every transfer made inside the ``with`` block, in this thread or task.

    >>> from tensor_core import HostTensor
    >>> with trace_transfers() as log:
    ...     x = upload(HostTensor.from_nested([1.0, 2.0]))
    >>> log
    [Transfer(operation='upload', source='host', target='cpu', nbytes=16)]
    """
    log: list[Transfer] = []
    token = _LOG.set(log)
    try:
        yield log
    finally:
        _LOG.reset(token)


def _record(operation: str, source: object, target: object, nbytes: int) -> None:
    log = _LOG.get()
    if log is not None:
        log.append(Transfer(operation, str(source), str(target), nbytes))


def upload(source: HostTensor[Any], place: Placement | DeviceId | str = CPU, /) -> Tensor:
    """A copy of a host tensor at a placement, compact; the bytes of a Bool arrive as 0 and 1.

    Raises:
        DTypeError: the source is no ``tensor_core.HostTensor``.
        BackendUnavailableError: nobody serves the placement.

    >>> from tensor_core import HostTensor
    >>> upload(HostTensor.from_nested([[1.0, 2.0]]), "cpu").shape
    (1, 2)
    """
    if not isinstance(source, HostTensor):
        raise DTypeError(
            f"upload: found {type(source).__name__}; accepted: a HostTensor; asarray() takes arrays, to() tensors"
        )
    form = form_of(source.dtype, source.shape, as_placement(place))
    array = guarded("upload", registry.backend_for(form.placement).upload, source.normalised(), form)
    _record("upload", "host", form.placement, form.nbytes)
    return wrap(form, array)


def download(x: Tensor, /) -> HostTensor[Any]:
    """A compact copy on the host, as a tensor of ``tensor_core``.

    >>> download(tensor([[1.0, 2.0]])).shape
    (1, 2)
    """
    form, array = unwrap("download", x)
    host: HostTensor[Any] = guarded("download", registry.backend_for(form.placement).download, array, form)
    _record("download", form.placement, "host", form.nbytes)
    return host


def to(x: Tensor, place: Placement | DeviceId | str, /) -> Tensor:
    """The tensor at a placement: itself if it is there, else a compact copy.

    >>> x = tensor([1.0])
    >>> to(x, "cpu") is x
    True
    """
    form, _ = unwrap("to", x)
    target = as_placement(place)
    if form.placement is target:
        return x
    registry.backend_for(target)  # refuse before anything is moved
    return upload(download(x), target)
