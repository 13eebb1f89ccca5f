"""Transfers and memory by way of CuPy's modules: what they wait for, and what is told where there is too little."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from fake_cupy import solvers
from fake_cupy.driver import Machine
from fake_cupy.libraries import modules
from tensor_core.errors import BackendError, OutOfMemoryError
from tensor_gpu.cuda.cupy_api import CupyApi
from tensor_gpu.cuda.exchange import CudaBackend
from tensor_gpu.device.pool import DeviceMemoryError
from tensor_gpu.tables.drivers import DriverTable, Rule
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import DeviceKind


def test_uploads_take_their_bytes_at_once_and_downloads_give_them_when_they_are_waited_for(api: CupyApi) -> None:
    stream, address, given, taken = api.new_stream(0), api.allocate(0, 3), bytearray(b"abc"), bytearray(3)
    api.upload(stream, address, given)
    given[:] = b"xyz"
    api.download(stream, address, taken)
    after = api.record(stream)

    assert (api.done(stream), api.passed(after), taken) == (False, False, bytearray(3))
    api.synchronize(stream)
    assert (api.done(stream), api.passed(after), taken) == (True, True, bytearray(b"abc"))
    assert not api._staging.streams()


def test_a_failure_is_told_by_whoever_asks_whether_work_is_done(machine: Machine, api: CupyApi) -> None:
    stream, address, taken = api.new_stream(0), api.allocate(0, 8), bytearray(8)
    api.download(stream, address, taken)
    event = api.record(stream)
    api.release(0, address, (stream,))
    machine.failed = 700
    assert not stream.native.done  # CuPy's own answer, which says nothing of the failure

    asked: list[Callable[[], object]] = [
        lambda: api.done(stream),
        lambda: api.passed(event),
        lambda: api.allocate(0, 8),
        lambda: api.download(stream, address, taken),
    ]
    for ask in asked:
        with pytest.raises(BackendError, match=r"^cuda: what was submitted has failed: cudaErrorIllegalAddress: "):
            ask()
    machine.failed = 0
    assert (api.done(stream), api.passed(event)) == (False, False)
    api.synchronize(stream)
    assert api.passed(event)


@pytest.mark.parametrize("met", [set(), {(1, 0)}, {(0, 1), (1, 0)}])
def test_devices_are_let_meet_at_the_first_copy_between_them(
    machine: Machine, api: CupyApi, met: set[tuple[int, int]]
) -> None:
    machine.met = met
    stream, here, there, taken = api.new_stream(1), api.allocate(0, 4), api.allocate(1, 4), bytearray(4)
    other = api.new_stream(0)
    api.fill(other, here, 7, 4)
    api.copy(other, api.allocate(0, 4), here, 4)
    api.wait(stream, api.record(other))
    assert machine.noted("deviceEnablePeerAccess") == []
    for _ in range(2):
        api.copy(stream, there, here, 4)
    api.download(stream, there, taken)
    api.synchronize(stream)

    assert taken == bytes([7] * 4)
    enabled = {arguments for _, arguments in machine.noted("deviceEnablePeerAccess")}
    assert enabled == {(0, 1), (1, 0)} - met
    assert len(machine.noted("deviceEnablePeerAccess")) == len(enabled)


def test_memory_goes_when_its_users_have_run_and_is_waited_for_only_where_none_is_left(
    machine: Machine, api: CupyApi
) -> None:
    stream, address = api.new_stream(0), api.allocate(0, 700_000)
    api.fill(stream, address, 1, 700_000)
    api.release(0, address, (stream,))
    api.allocate(0, 8)
    assert not machine.noted("wait for event")
    assert api.memory(0).used == 8
    api.allocate(0, 700_000)

    assert [name for name, _ in machine.noted("wait for event", "free_all_blocks")] == [
        "wait for event",
        "free_all_blocks",
    ]
    with pytest.raises(
        DeviceMemoryError, match=r"^cuda:0: 700000 bytes were asked for, 700008 of 1048576 are"
    ) as caught:
        api.allocate(0, 700_000)
    assert caught.value.fields == {"asked": 700_000, "used": 700_008, "limit": 1 << 20}


def test_large_transfers_go_in_pieces_of_which_few_are_pinned_at_a_time(
    machine: Machine, api: CupyApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api._staging, "_piece", 100)
    monkeypatch.setattr(api._staging, "_most", 250)
    machine.pinned_most = 250
    given, taken = np.random.default_rng(0).bytes(1010), bytearray(1010)
    stream, address = api.new_stream(0), api.allocate(0, 1010)
    api.upload(stream, address, given)
    api.download(stream, address, taken)
    api.synchronize(stream)

    assert taken == given
    assert [size for _, (size,) in machine.noted("alloc_pinned_memory")] == [*[100] * 10, 10] * 2
    assert not machine.pinned


def test_a_lack_of_pinned_memory_is_waited_for_and_then_told(machine: Machine, api: CupyApi) -> None:
    machine.pinned_most = 10
    one, other = api.new_stream(0), api.new_stream(1)
    here, there, taken = api.allocate(0, 8), api.allocate(1, 8), bytearray(8)
    api.upload(one, here, b"abcdefgh")
    api.download(other, there, taken)  # after the first has run
    assert (api.done(one), machine.noted("wait for event")) == (True, [("wait for event", ())])

    api.synchronize(other)
    with pytest.raises(
        DeviceMemoryError, match=r"^11 bytes of pinned memory of the host were asked for, and transfers"
    ):
        api.upload(one, here, bytes(11))


def test_a_lack_of_memory_anywhere_is_an_error_of_our_tree(shared: Machine, place: str) -> None:
    x = tr.ones(64)
    there = tr.to(x, place)
    shared.pinned_most, before = 256, shared.pinned_most
    try:
        for move in (lambda: tr.to(x, place), lambda: tr.to(there, "cpu"), lambda: tr.download(there, wait=False)):
            with pytest.raises(
                OutOfMemoryError, match="512 bytes of pinned memory of the host were asked for"
            ) as caught:
                move()
            assert caught.value.asked == 512
    finally:
        shared.pinned_most = before
    assert tr.to(there, "cpu").tolist() == [1.0] * 64


def test_memory_that_is_not_there_is_told_with_what_is_in_use(api: CupyApi) -> None:
    api.allocate(0, (1 << 20) - 1024)  # guards take 512
    with pytest.raises(DeviceMemoryError, match="56 bytes were asked for, 1047552 of 1048576 are in use"):
        api.allocate(0, 56)


def test_workspaces_of_solvers_are_memory_of_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers, "WORKSPACE", 20_000)
    backend = CudaBackend(CupyApi(modules(Machine(memory_bytes=1 << 20))), DeviceKind.other("narrow"))
    tr.register_backend("narrow", backend)
    try:
        a = tr.full((1, 1), 4.0, placement="narrow:0")
        pool = backend.pool(a.placement)
        kept = [tr.zeros(1000, placement="narrow:0") for _ in range(112)]
        del kept
        assert pool.stats().kept > 890_000  # 160 kB are not left beside them

        with backend.use_drivers(DriverTable([Rule("cholesky", "potrf")])):
            assert tl.cholesky(a).item() == 2.0
            assert pool.stats().kept < 170_000  # the workspace among them

            pool.set_limit(4096)
            with pytest.raises(
                OutOfMemoryError, match=r"cholesky: .*160000 bytes were asked for, \d+ of 4096 are in use"
            ):
                tl.cholesky(a)
        assert (pool.stats().used, tr.download(a).to_nested()) == (8, [[4.0]])
    finally:
        registry.unregister("narrow")
