"""Devices: streams, refusals that come late, transfers in the background and between devices, and memory in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from queued_device import ForeignArray, QueuedBackend
from tensor_core.errors import (
    ArgumentError,
    BackendError,
    CastRangeError,
    DivisionByZeroError,
    DTypeError,
    ExchangeError,
    IndexingError,
    PlacementError,
    TensorError,
    UnsupportedOperationError,
)
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import DeviceId, MemoryKind, Placement
from tensor_runtime.testing.conformance_parts.devices import REFUSED, DevicesConformance
from tensor_runtime.testing.simulated_device import SimulatedBackend

LINE = HostTensor.from_nested([1.0, 2.0, 3.0])


@pytest.fixture
def queued() -> Iterator[QueuedBackend]:
    made = QueuedBackend("queued")
    tr.register_backend("queued", made)
    yield made
    registry.unregister("queued")


def waiting(backend: QueuedBackend) -> int:
    return sum(len(stream.waiting) for stream in backend.streams)


# Refusals of values.

LATE: list[tuple[str, type[TensorError]]] = [
    ("take", IndexingError),
    ("cast", CastRangeError),
    ("floor_divide", DivisionByZeroError),
    ("put_along_axis", IndexingError),
]
READS: list[Callable[[Any, Placement], object]] = [
    lambda x, place: tr.synchronize(place),
    lambda x, place: tr.synchronize(),
    lambda x, place: tr.synchronize("queued:0"),
    lambda x, place: tr.download(x),
    lambda x, place: tr.download(x, wait=False).result(),
    lambda x, place: x[0].item(),
    lambda x, place: tr.to(x, "cpu"),
]


@pytest.mark.parametrize(("name", "error"), LATE)
@pytest.mark.parametrize("read", READS)
def test_what_is_refused_late_is_raised_where_the_device_is_waited_for(
    queued: QueuedBackend, name: str, error: type[TensorError], read: Callable[[Any, Placement], object]
) -> None:
    place = queued.placement()
    with pytest.raises(error) as now:
        REFUSED[name](place)
    x = tr.upload(LINE, place)
    with tr.checks("deferred"):
        REFUSED[name](place)
    with pytest.raises(error) as late:
        read(x, place)
    assert str(late.value) == str(now.value)
    assert late.value.__dict__ == now.value.__dict__
    read(x, place)  # once


def test_the_first_refusal_is_raised_and_those_after_it_are_dropped(queued: QueuedBackend) -> None:
    place = queued.placement()
    with tr.checks("deferred"):
        REFUSED["cast"](place)
        REFUSED["take"](place)
        after = tr.upload(LINE, place) + 1.0
    with pytest.raises(CastRangeError):
        tr.synchronize(place)
    tr.synchronize(place)
    assert tr.download(after).to_nested() == [2.0, 3.0, 4.0]


def test_a_refusal_belongs_to_its_device_and_its_stream(queued: QueuedBackend) -> None:
    first, second = tr.stream("queued:0"), tr.stream("queued:1")
    with tr.checks("deferred"), first, second:
        REFUSED["take"](queued.placement(0))
    second.synchronize()
    tr.synchronize("queued:1")
    with pytest.raises(IndexingError):
        first.synchronize()
    first.synchronize()


def test_refusals_are_late_inside_the_block_only(queued: QueuedBackend) -> None:
    with tr.checks("deferred"), tr.checks("now"), pytest.raises(IndexingError):
        REFUSED["take"](queued.placement())
    with pytest.raises(ArgumentError, match="checks: found 'later'; accepted: 'now', 'deferred'"):
        tr.checks("later")  # type: ignore[arg-type]


def test_a_backend_that_computes_at_once_refuses_at_once() -> None:
    for name, error in LATE:
        with tr.checks("deferred"), pytest.raises(error):
            REFUSED[name](tr.CPU)


# Streams.


def test_kernels_go_to_the_current_stream_of_their_device(queued: QueuedBackend) -> None:
    x = tr.upload(LINE, "queued")
    made = tr.stream("queued:0")
    with made as entered:
        y = x + 1.0
        with tr.stream("queued:1"):
            y = y * 2.0
    z = x * 5.0
    assert entered is made
    assert [len(stream.waiting) for stream in queued.streams] == [1, 0, 2, 0]
    assert not made.done()
    made.synchronize()
    assert made.done()
    assert [len(stream.waiting) for stream in queued.streams] == [1, 0, 0, 0]
    assert tr.download(y).to_nested() == [4.0, 6.0, 8.0]
    assert tr.download(z).to_nested() == [5.0, 10.0, 15.0]


def test_a_stream_is_entered_again_and_left_when_the_block_fails(queued: QueuedBackend) -> None:
    made = tr.stream("queued")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), made, made:
            raise ZeroDivisionError
    _ = tr.upload(LINE, "queued") + 1.0
    assert made.done()
    assert len(queued.streams[0].waiting) == 1


def test_another_librarys_stream_is_known_by_its_handle(queued: QueuedBackend) -> None:
    made = tr.stream("queued", 0x140)
    assert (made.handle, made.placement) == (0x140, queued.placement())
    assert repr(made) == "Stream(queued:0, 0x140)"
    for wrong in (-1, 1.0, True, "7"):
        with pytest.raises(ArgumentError, match=r"stream: the handle is .*; accepted: None, and an int of 0 or more"):
            tr.stream("queued", wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("place", ["cpu", "simulated"])
def test_without_streams_there_is_one(device: SimulatedBackend, place: str) -> None:
    with tr.stream(place) as only:
        x = tr.upload(LINE, place) + 1.0
    only.synchronize()
    assert only.done()
    assert only.handle == 0
    assert tr.download(x).to_nested() == [2.0, 3.0, 4.0]
    with pytest.raises(UnsupportedOperationError, match=f"the {place} backend has no streams, so none has the handle"):
        tr.stream(place, 3)


# Transfers.


def test_uploads_and_downloads_run_in_the_background(queued: QueuedBackend) -> None:
    source = HostTensor.from_nested([1.0, 2.0])
    with tr.trace_transfers() as log:
        going = tr.upload(source, "queued", wait=False)
        source[0] = 7.0
        assert not going.done()
        assert repr(going) == "Pending(upload, Form(F64, (2,), queued:0), under way)"
        x = going.result()
        assert going.done()
        assert going.result() is x
        coming = tr.download(x + 1.0, wait=False)
        assert not coming.done()
        assert coming.result().to_nested() == [2.0, 3.0]
        assert coming.result() is coming.result()
    assert [(one.operation, one.nbytes) for one in log] == [("upload", 16), ("download", 16)]


@pytest.mark.parametrize("place", ["cpu", "simulated"])
def test_transfers_that_cannot_wait_are_done_at_once(device: SimulatedBackend, place: str) -> None:
    going = tr.upload(LINE, place, wait=False)
    assert going.done()
    assert going.result().placement is tr.upload(LINE, place).placement
    coming = tr.download(going.result(), wait=False)
    assert coming.done()
    assert coming.result().to_nested() == LINE.to_nested()
    for wrong in (None, 0, "no"):
        with pytest.raises(ArgumentError, match=r"upload: wait is .*; accepted: True, False"):
            tr.upload(LINE, place, wait=wrong)  # type: ignore[call-overload]


def test_what_fails_in_the_background_is_an_error_of_our_tree(queued: QueuedBackend) -> None:
    def fail() -> None:
        raise RuntimeError("no power")

    going = tr.upload(LINE, "queued", wait=False)
    queued.streams[0].waiting.append(fail)
    with pytest.raises(BackendError, match="upload: the backend failed: RuntimeError: no power"):
        going.result()
    assert going.result().shape == (3,)


def test_a_copy_to_another_device_goes_straight_there(queued: QueuedBackend) -> None:
    pinned = Placement(MemoryKind.PinnedHost, DeviceId(queued.device_kind, 0))
    x = tr.upload(HostTensor.from_nested([[1.0, 2.0], [3.0, 4.0]]), "queued:0").T + 1.0
    for target in (queued.placement(1), pinned):
        before = queued.direct
        with tr.trace_transfers() as log:
            y = tr.to(x, target)
        assert queued.direct == before + 1
        assert log == [tr.tensors.transfer.Transfer("to", "queued:0", repr(target), 32)]  # type: ignore[attr-defined]
        assert tr.download(y).to_nested() == [[2.0, 4.0], [3.0, 5.0]]
    with pytest.raises(PlacementError, match=r"it has queued:0, queued:1, queued:0 \(PinnedHost\)$"):
        tr.to(x, "queued:2")


def test_where_there_is_no_straight_way_the_copy_goes_over_the_host(queued: QueuedBackend) -> None:
    queued.transfer = lambda array, form, target: None  # type: ignore[method-assign, assignment, return-value]
    x = tr.upload(LINE, "queued:0")
    with tr.trace_transfers() as log:
        assert tr.download(tr.to(x, "queued:1")).to_nested() == LINE.to_nested()
    assert [one.operation for one in log] == ["download", "upload", "download"]


def test_one_device_is_waited_for_alone(queued: QueuedBackend) -> None:
    x, y = tr.upload(LINE, "queued:0") + 1.0, tr.upload(LINE, "queued:1") + 1.0
    tr.synchronize("queued:0")
    assert waiting(queued) == 1
    assert tr.download(x).to_nested() == tr.download(y).to_nested()


# Memory of other libraries, and memory in use.


@pytest.mark.parametrize("take", [tr.asarray, tr.from_dlpack])
def test_foreign_memory_is_borrowed_by_the_backend_of_its_device(
    queued: QueuedBackend, take: Callable[[object], tr.Tensor]
) -> None:
    array = np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])
    with tr.trace_transfers() as log:
        x = take(ForeignArray(array, 1))
    assert log == []
    assert x.placement is queued.placement(1)
    array[0, 1] = 9.0
    assert tr.download(x).to_nested() == [[1.0, 9.0], [3.0, 4.0]]
    with pytest.raises(PlacementError, match=r"lies on DLPack's device \(12, 7\)"):
        take(ForeignArray(array, 7))


def test_a_copy_is_made_on_the_device_or_where_it_is_asked_for(queued: QueuedBackend) -> None:
    array = np.array([1, 2])
    x = tr.asarray(ForeignArray(array, 0), copy=True)
    y = tr.asarray(ForeignArray(array, 0), tr.F64, placement="queued:1")
    tr.synchronize("queued")  # before the owner writes what was borrowed
    array[0] = 9
    assert tr.download(x).to_nested() == [1, 2]
    assert (y.dtype, y.placement) == (tr.F64, queued.placement(1))
    assert tr.download(y).to_nested() == [1.0, 2.0]


def test_the_cuda_array_interface_alone_names_a_device_that_nobody_here_has() -> None:
    class Array:
        __cuda_array_interface__ = {"shape": (1,), "typestr": "<f8", "data": (64, False), "version": 3}  # noqa: RUF012

    with pytest.raises(DTypeError, match="asarray: found a Array"):
        tr.asarray(Array())


def test_device_memory_is_lent_with_the_consumers_wishes(queued: QueuedBackend) -> None:
    x: Any = tr.upload(LINE, "queued:1")
    assert x.__dlpack_device__() == (12, 1)
    capsule = x.__dlpack__(stream=7, max_version=(1, 0), copy=False, dl_device=(12, 1))
    assert (capsule.number, capsule.stream, capsule.max_version, capsule.copy) == (1, 7, (1, 0), False)
    with pytest.raises(ExchangeError, match=r"on DLPack's device \(12, 1\), and wanted on \(1, 0\)"):
        x.__dlpack__(dl_device=(1, 0))
    with pytest.raises(ArgumentError, match="stream is 'now'; accepted: None, and an int"):
        x.__dlpack__(stream="now")


def test_memory_is_counted_where_it_is(queued: QueuedBackend) -> None:
    x = tr.zeros((4, 4), placement="queued:1")
    assert tr.memory("queued:1") == tr.MemoryUse(used=128, kept=0, limit=1 << 40)
    assert tr.memory("queued:0").used == 0
    view = x.T
    assert tr.memory(view.placement).used == 128
    with pytest.raises(PlacementError):
        tr.memory("queued:5")


def test_a_backend_that_does_not_count_says_so(device: SimulatedBackend) -> None:
    with pytest.raises(UnsupportedOperationError, match="memory: the simulated backend does not count its memory"):
        tr.memory(device.placement())


# The suite finds what is wrong.


class Wrong(QueuedBackend):
    """One method is another one's."""

    def __init__(self, name: str, method: str, instead: Callable[..., Any]) -> None:
        super().__init__(name)
        setattr(self, method, lambda *arguments: instead(self, *arguments))


def _late(self: QueuedBackend, source: HostTensor[Any], form: Any) -> Any:
    """An upload that reads the source when it runs."""
    going = QueuedBackend.begin_upload(self, source, form)
    made, waiting = going.found(), self.streams[0].waiting
    waiting[-1] = lambda: setattr(made, "inside", self._inner.upload(source, form))
    return going


FAULTS: list[tuple[str, Callable[..., Any], str, str]] = [
    ("transfer", lambda self, array, form, target: array, "test_copies_between_placements_are_compact_and_equal", "to"),
    ("dlpack_device", lambda self, place: (12, 0), "test_devices_bear_names_of_their_own", "one name twice"),
    ("begin_upload", _late, "test_transfers_in_the_background_own_their_buffers", "begin_upload"),
    ("memory", lambda self, place: tr.MemoryUse(0, 0, None), "test_memory_is_counted", "before 1048576 bytes"),
]


@pytest.mark.parametrize(("method", "instead", "test", "message"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_the_suite_fails_for_a_wrong_device(method: str, instead: Callable[..., Any], test: str, message: str) -> None:
    wrong = Wrong("wrong", method, instead)
    tr.register_backend("wrong", wrong)
    try:
        with pytest.raises(AssertionError, match=message):
            getattr(DevicesConformance(), test)(wrong.placement())
    finally:
        registry.unregister("wrong")
