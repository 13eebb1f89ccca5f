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
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.error_translation import call_translated, fail
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU, DeviceId, Placement, as_placement
from tensor_runtime.tensors.tensor import Number, Tensor, unwrap, wrap


class Transfer(NamedTuple):
    """One movement of elements."""

    operation: str
    source: str
    target: str
    nbytes: int


TRANSFERS: Final[ContextVar[list[Transfer] | None]] = ContextVar("tensor_runtime_transfers", default=None)
"""Where transfers are recorded in this context; None where nobody does."""


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
    token = TRANSFERS.set(log)
    try:
        yield log
    finally:
        TRANSFERS.reset(token)


def _record(operation: str, source: object, target: object, nbytes: int) -> None:
    log = TRANSFERS.get()
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
    backend = registry.backend_for(form.placement)
    try:
        array = backend.upload(source.normalised(), form)
    except Exception as error:
        fail("upload", error, form)
    _record("upload", "host", form.placement, form.nbytes)
    return wrap(form, array)


def download(x: Tensor, /) -> HostTensor[Any]:
    """A compact copy on the host, as a tensor of ``tensor_core``.

    >>> download(tensor([[1.0, 2.0]])).shape
    (1, 2)
    """
    form, array = unwrap("download", x)
    backend = registry.backend_for(form.placement)
    try:
        backend.synchronize()
        host: HostTensor[Any] = backend.download(array, form)
    except Exception as error:
        fail("download", error, form)
    _record("download", form.placement, "host", form.nbytes)
    return host


def only_element(x: Tensor, /) -> Number:
    """The element of a tensor of one element, as a Python number; a download like any other.

    Where the memory is the host's, nothing is built around it: that would take twenty times as long.

    >>> only_element(tensor([[2.5]]))
    2.5
    """
    form, array = unwrap("download", x)
    backend: Any = registry.backend_for(form.placement)
    lends = getattr(backend, "lend", None)
    if lends is None:
        return download(x)[(0,) * len(form.shape)]  # type: ignore[no-any-return]
    try:
        backend.synchronize()
        lent = lends(array, form)
        element: Number = (
            lent.item() if hasattr(lent, "item") else backend.download(array, form)[(0,) * len(form.shape)]
        )
    except Exception as error:
        fail("download", error, form)
    _record("download", form.placement, "host", form.nbytes)
    return element


def lend(operation: str, backend: Any, array: Any, form: Form, /) -> Any:
    """Host memory as an object that NumPy reads, complete: whatever still computes into it is waited for.

    >>> x = tensor([1.0, 2.0])
    >>> lend("demo", registry.backend_for(x.placement), x._array, x._form).tolist()
    [1.0, 2.0]
    """
    try:
        backend.synchronize()
        return backend.lend(array, form)
    except Exception as error:
        fail(operation, error, form)


def synchronize(place: Placement | DeviceId | str | None = None, /) -> None:
    """Wait until everything submitted so far is computed.

    What reads elements waits by itself (``item``, ``download``, ``to``, ``to_numpy``, ``save``, printing). This is
    for what this library does not see: a clock, and memory that was borrowed with ``asarray`` and is written through
    a view, before its owner reads it. The ``cpu`` backend computes at once and never has anything to wait for.

    Args:
        place: whose device; None waits for every backend that has been used in this process.

    Raises:
        BackendUnavailableError: nobody serves the placement.
        BackendError: something failed in the background.

    >>> x = tensor([1.0, 2.0]) + 1.0
    >>> synchronize("cpu")
    """
    backends = registry.loaded() if place is None else [registry.backend_for(as_placement(place))]
    for backend in backends:
        call_translated("synchronize", None, backend.synchronize)


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
