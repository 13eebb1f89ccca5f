"""Transfers: the only functions that move elements between placements.

``upload`` takes a host tensor of ``tensor_core`` to a placement, ``download`` brings one back, and ``to`` goes from
placement to placement. ``trace_transfers`` records every byte they move.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal, NamedTuple, overload

from tensor_core.dtypes import Element
from tensor_core.errors import ArgumentError, DTypeError, PlacementError, shortened
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.error_translation import call_translated, fail
from tensor_runtime.backends.meta import META
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU, DeviceId, Placement, as_placement, is_stand_in
from tensor_runtime.tensors.pending import AtOnce, Pending
from tensor_runtime.tensors.tensor import Tensor, unwrap, wrap


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


@overload
def upload(
    source: HostTensor[Any], place: Placement | DeviceId | str = CPU, /, *, wait: Literal[True] = True
) -> Tensor: ...
@overload
def upload(
    source: HostTensor[Any], place: Placement | DeviceId | str = CPU, /, *, wait: Literal[False]
) -> Pending[Tensor]: ...
def upload(
    source: HostTensor[Any], place: Placement | DeviceId | str = CPU, /, *, wait: bool = True
) -> Tensor | Pending[Tensor]:
    """A copy of a host tensor at a placement, compact; the bytes of a Bool arrive as 0 and 1.

    Args:
        source: may change as soon as this returns, whatever ``wait`` is.
        place: where the copy goes.
        wait: False returns a ``Pending``, whose ``.result()`` waits for the tensor; where the backend transfers
            nothing in the background, it is done at once.

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
    backend: Any = registry.backend_for(form.placement)
    begin = _beginning("upload", backend, wait)
    try:
        found = (begin or backend.upload)(source.normalised(), form)
    except Exception as error:
        fail("upload", error, form)
    _record("upload", "host", form.placement, form.nbytes)
    if wait:
        return wrap(form, found)
    return Pending("upload", form, AtOnce(found) if begin is None else found, lambda array: wrap(form, array))


@overload
def download(x: Tensor, /, *, wait: Literal[True] = True) -> HostTensor[Any]: ...
@overload
def download(x: Tensor, /, *, wait: Literal[False]) -> Pending[HostTensor[Any]]: ...
def download(x: Tensor, /, *, wait: bool = True) -> HostTensor[Any] | Pending[HostTensor[Any]]:
    """A compact copy on the host, as a tensor of ``tensor_core``.

    Args:
        x: what is written to it later is not in the copy, whatever ``wait`` is.
        wait: False returns a ``Pending``, whose ``.result()`` waits for the copy; where the backend transfers nothing
            in the background, it is done at once.

    >>> download(tensor([[1.0, 2.0]])).shape
    (1, 2)
    """
    form, array = unwrap("download", x)
    backend: Any = registry.backend_for(form.placement)
    begin = _beginning("download", backend, wait)
    try:
        if begin is None:
            _wait_for(backend, form.placement)
        found = (begin or backend.download)(array, form)
    except Exception as error:
        fail("download", error, form)
    _record("download", form.placement, "host", form.nbytes)
    if wait:
        return found  # type: ignore[no-any-return]
    return Pending("download", form, AtOnce(found) if begin is None else found, lambda host: host)


def _beginning(operation: str, backend: Any, wait: object) -> Any:
    """How the backend begins such a transfer in the background; None where it is to be waited for, or it cannot."""
    if wait is True:
        return None
    if wait is not False:
        raise ArgumentError(f"{operation}: wait is {shortened(wait)}; accepted: True, False", operation=operation)
    return getattr(backend, f"begin_{operation}", None)


def _wait_for(backend: Any, place: Placement) -> None:
    """Wait for one device, where the backend can, else for all that it has submitted."""
    one = getattr(backend, "wait_for", None)
    if one is None:
        backend.synchronize()
    else:
        one(place)


def only_element(x: Tensor, /) -> Element:
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
        element: Element = (
            lent.item() if hasattr(lent, "item") else backend.download(array, form)[(0,) * len(form.shape)]
        )
    except Exception as error:
        fail("download", error, form)
    _record("download", form.placement, "host", form.nbytes)
    return element


def require_host(operation: str, x: Tensor, remedy: str, /) -> None:
    """Refuse a tensor on a device where a number is expected: nothing moves but by name.

    A tensor without elements is left to whoever asks for one.

    Raises:
        PlacementError: with what to write.

    >>> require_host("index", tensor(1), "write int(x)")
    """
    place = x._form.placement
    if place is not META and not is_stand_in(place) and not hasattr(registry.backend_for(place), "lend"):
        raise PlacementError(
            f"{operation}: the tensor of shape {x.shape} is on {place}, and nothing is moved by itself; {remedy}",
            operation=operation,
        )


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
        TensorError: what an operation refuses whose checks were put off (``checks("deferred")``).

    >>> x = tensor([1.0, 2.0]) + 1.0
    >>> synchronize("cpu")
    """
    if place is not None:
        placement = as_placement(place)
        call_translated("synchronize", None, _wait_for, registry.backend_for(placement), placement)
        return
    for backend in registry.loaded():
        call_translated("synchronize", None, backend.synchronize)


def to(x: Tensor, place: Placement | DeviceId | str, /) -> Tensor:
    """The tensor at a placement: itself if it is there, else a compact copy.

    Between two placements of one backend the copy goes straight there, where the backend has a way; else over the host.

    >>> x = tensor([1.0])
    >>> to(x, "cpu") is x
    True
    """
    form, array = unwrap("to", x)
    target = as_placement(place)
    if form.placement is target:
        return x
    backend: Any = registry.backend_for(target)  # refuse before anything is moved
    source: Any = registry.backend_for(form.placement)
    there = form_of(form.dtype, form.shape, target)
    if backend is source and hasattr(backend, "transfer"):
        found = call_translated("to", there, backend.transfer, array, form, there)
        if found is not None:
            _record("to", form.placement, target, form.nbytes)
            return wrap(there, found)
    if form.is_compact and hasattr(source, "share"):
        return upload(call_translated("to", form, _shared, source, array, form), target)
    host = download(x)
    if not hasattr(backend, "adopt"):
        return upload(host, target)
    found = call_translated("to", there, backend.adopt, host.normalised(), there)
    _record("upload", "host", target, form.nbytes)
    return wrap(there, found)


def _shared(backend: Any, array: Any, form: Form) -> HostTensor[Any]:
    backend.synchronize()
    shared: HostTensor[Any] = backend.share(array, form)
    return shared
