"""The part of the conformance suite for what backends of devices may add (``protocols.DeviceBackend``).

Each test asks for the methods that it is about; a backend without them has nothing to be tested for.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Any, Final

from tensor_core.dtypes import DTYPES, F64, I32
from tensor_core.errors import TensorError, UnsupportedOperationError
from tensor_runtime.backends.registry import placements_of, registry
from tensor_runtime.dispatch.conversion import cast
from tensor_runtime.ops.creation import full
from tensor_runtime.ops.division import floor_divide
from tensor_runtime.ops.exchange import from_dlpack
from tensor_runtime.ops.gather_scatter import gather, put_along_axis, scatter, take
from tensor_runtime.ops.indexing import copy_into, mutable_view
from tensor_runtime.ops.views import reverse_view, transpose_view
from tensor_runtime.placement import Placement
from tensor_runtime.tensors.devices import checks, memory, stream
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.tensors.transfer import download, synchronize, to, trace_transfers, upload
from tensor_runtime.testing.comparing import difference, inverted
from tensor_runtime.testing.conformance_parts.memory import overwrite, require
from tensor_runtime.testing.oracle import whole_numbers

REFUSED: Final[Mapping[str, Callable[[Placement], object]]] = {
    "take": lambda place: take(_line(place), full((2,), 7, placement=place)),
    "cast": lambda place: cast(full((2,), 3e9, placement=place), I32),
    "floor_divide": lambda place: floor_divide(full((2,), 5, placement=place), full((2,), 0, placement=place)),
    "put_along_axis": lambda place: _put(_line(place)),
    "gather": lambda place: gather(_line(place), full((2,), 7, placement=place)),
    "scatter": lambda place: scatter(
        _line(place), full((2,), 7, placement=place), full((2,), 1.0, placement=place), mode="add"
    ),
    "indexing": lambda place: _table(place)[:, full((2,), 7, placement=place)],
    "indexing by two": lambda place: _table(place)[full((2,), 1, placement=place), full((2,), 7, placement=place)],
    "item assignment": lambda place: _assigned(_table(place), slice(None), full((2,), 7, placement=place)),
    "item assignment by two": lambda place: _assigned(
        _table(place), full((2,), 1, placement=place), full((2,), 7, placement=place)
    ),
    "item assignment by two, reversed": lambda place: _assigned(
        _table(place)[::-1], full((2,), -7, placement=place), full((2,), 7, placement=place)
    ),
}
"""Calls that refuse their values, by the operation that does."""


class DevicesConformance:
    """What :class:`tensor_runtime.testing.conformance.BackendConformance` asks of a backend's devices.

    >>> sorted(REFUSED)[:3]
    ['cast', 'floor_divide', 'gather']
    """

    def test_one_device_is_waited_for(self, placement: Placement) -> None:
        """What was computed there is complete afterwards."""
        x = full((4, 6), 7.0, placement=placement)
        synchronize(placement)
        require(download(x)[3, 5] == 7.0, "synchronize: the elements are not there")

    def test_copies_between_placements_are_compact_and_equal(self, placement: Placement) -> None:
        """``transfer`` copies any dtype and view to each other placement of the backend, and back."""
        backend: Any = registry.backend_for(placement)
        for place in placements_of(backend):
            for dtype in DTYPES:
                host = whole_numbers((4, 6), dtype)
                base = upload(host, placement)
                for view in (base, transpose_view(base), reverse_view(base, 0), base[1:, ::2], base[2:2]):
                    with trace_transfers() as log:
                        there = to(view, place)
                    straight = place is placement or [one.operation for one in log] == ["to"]
                    require(straight or len(log) == 2, f"to({place}) moves elements {len(log)} times: {log}")
                    require(there.placement is place, f"to({place}) gives a tensor on {there.placement}")
                    require(there is view or there.is_compact, f"to({place}) gives strides {there.strides}")
                    found = difference(download(to(there, placement)), download(view))
                    require(found is None, f"to({place}) of {view._form} and back: {found}")
                if place is not placement:
                    there = to(base, place)
                    copy_into(mutable_view(base), upload(inverted(host), placement))
                    found = difference(download(there), host)
                    require(found is None, f"to({place}) shares memory with its operand: {found}")

    def test_devices_bear_names_of_their_own(self, placement: Placement) -> None:
        """``dlpack_device`` gives a pair of ints, of no other placement's; what is lent is borrowed again, shared."""
        backend: Any = registry.backend_for(placement)
        if not hasattr(backend, "dlpack_device"):
            return
        names = [backend.dlpack_device(place) for place in placements_of(backend)]
        for name in names:
            right = type(name) is tuple and len(name) == 2 and all(type(one) is int for one in name)
            require(right, f"dlpack_device gives {name!r}, expected (type, number)")
        require(len(set(names)) == len(names), f"dlpack_device gives {names}: one name twice")
        x = upload(whole_numbers((4, 6), F64), placement)
        told = x.__dlpack_device__()
        require(told == backend.dlpack_device(placement), f"__dlpack_device__ is {told}")
        if not (hasattr(backend, "borrow") and hasattr(backend, "lend_dlpack")):
            return
        y = from_dlpack(_Foreign(x))
        require(y.placement is placement, f"borrowed memory of {placement} is on {y.placement}")
        require(difference(download(y), download(x)) is None, "borrowed memory has other elements")
        if not getattr(backend, "only_pure", False):
            copy_into(mutable_view(x), upload(inverted(whole_numbers((4, 6), F64)), placement))
            require(difference(download(y), download(x)) is None, "borrowed memory is not shared")

    def test_transfers_in_the_background_own_their_buffers(self, placement: Placement) -> None:
        """The source may change at once, and later writes do not count."""
        for dtype in DTYPES:
            for shape in ((), (3,), (4, 6), (0, 2)):
                host = whole_numbers(shape, dtype)
                given = host.copy()
                going = upload(given, placement, wait=False)
                overwrite(given)
                x = going.result()
                require(going.done() and going.result() is x, "begin_upload: not done though its result was given")
                coming = download(x, wait=False)
                copy_into(mutable_view(x), upload(inverted(host), placement))
                found = difference(coming.result(), host)
                require(found is None, f"begin_upload and begin_download of {dtype} {shape}: {found}")
                require(coming.done(), "begin_download: not done though its result was given")

    def test_tensors_of_one_stream_may_be_used_on_another(self, placement: Placement) -> None:
        """Whichever stream writes an array, others read it afterwards or before; blocks nest."""
        host = whole_numbers((4, 6), F64)
        x = upload(host, placement)
        first, second = stream(placement), stream(placement)
        with first:
            y = full((4, 6), 7.0, placement=placement)
            copy_into(mutable_view(y), x)
            with second:
                z = full((4, 6), 8.0, placement=placement)
                copy_into(mutable_view(z), y)
            copy_into(mutable_view(y), z[::-1])
        require(difference(download(z), host) is None, "what another stream wrote or writes is read too early or late")
        require(difference(download(y[::-1]), host) is None, "what another stream wrote was not waited for")
        for one in (first, second):
            one.synchronize()
            require(one.done(), "a stream is not done after it was waited for")
            require(type(one.handle) is int, f"a stream has the handle {one.handle!r}")

    def test_memory_is_counted(self, placement: Placement) -> None:
        """More is used after a tensor is made, less when it is gone, and never more than the limit."""
        if not hasattr(registry.backend_for(placement), "memory"):
            return
        gc.collect()
        before = memory(placement)
        x = full((1 << 17,), 1.0, placement=placement)
        synchronize(placement)
        after = memory(placement)
        require(after.used >= before.used + x.nbytes, f"memory: {before} before {x.nbytes} bytes, {after} after them")
        require(after.limit is None or after.used <= after.limit, f"memory: more is used than its limit: {after}")
        del x
        gc.collect()
        synchronize(placement)
        require(memory(placement).used < after.used, f"memory: {after}, and no less when a tensor is gone")

    def test_values_that_are_refused_late_are_refused_alike(self, placement: Placement) -> None:
        """At once or when the device is waited for: the same class and fields, once, and nothing is written."""
        for name, call in REFUSED.items():
            now = _refusal(name, call, placement)
            if isinstance(now, UnsupportedOperationError):
                continue
            with checks("deferred"):
                late = _refusal(name, call, placement)
            require(type(late) is type(now), f"{name}: refused late with {late!r}, at once with {now!r}")
            require(late.__dict__ == now.__dict__, f"{name}: fields {late.__dict__} late, {now.__dict__} at once")
            synchronize(placement)  # raises nothing a second time
        far, one = (full((2,), number, placement=placement) for number in (70, 1))
        writes: dict[str, Callable[[Tensor], object]] = {
            "put_along_axis": lambda x: _put(x[0]),
            "put_along_axis of all": lambda x: put_along_axis(mutable_view(x), far, 1.0, axis=None),
            "x[:, i] = y": lambda x: _assigned(x, slice(None), far),
            "x[i, j] = y": lambda x: _assigned(x, one, far),
            "x[::-1][i, j] = y": lambda x: _assigned(x[::-1], far, far),
        }
        for name, write in writes.items():
            x = _table(placement)
            with checks("deferred"):
                error = _refusal(name, lambda place, write=write, x=x: write(x), placement)  # type: ignore[misc]
            unsupported = isinstance(error, UnsupportedOperationError)
            written = not unsupported and difference(download(x), download(_table(placement)))
            require(not written, f"{name}: it wrote though it refused")


class _Foreign:
    """A tensor as another library's: it lends, and is none of ours."""

    def __init__(self, x: Tensor) -> None:
        self._x: Any = x

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self._x.__dlpack_device__()
        return device

    def __dlpack__(self, **asked: Any) -> object:
        return self._x.__dlpack__(**asked)


def _line(place: Placement) -> Tensor:
    return upload(whole_numbers((3,), F64), place)


def _table(place: Placement) -> Tensor:
    return upload(whole_numbers((3, 3), F64), place)


def _assigned(x: Tensor, *index: Any) -> None:
    mutable_view(x)[index] = 9.0


def _put(x: Tensor) -> None:
    put_along_axis(mutable_view(x), full((2,), 7, placement=x.placement), 1.0, axis=0)


def _refusal(name: str, call: Callable[[Placement], object], place: Placement) -> TensorError:
    """What a call raises, or the wait that follows it."""
    try:
        call(place)
        synchronize(place)
    except TensorError as error:
        return error
    raise AssertionError(f"{name}: values that it must refuse are taken")
