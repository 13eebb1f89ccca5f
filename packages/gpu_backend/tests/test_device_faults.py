"""What goes wrong on a device is told as what it is, and leaves everything as it was."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tensor_linalg
import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    BackendError,
    DeviceLostError,
    OutOfMemoryError,
    PlacementError,
    TensorError,
    UnsupportedOperationError,
)
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.device.api import Gemm
from tensor_gpu.sim.api import SimulatedApi
from tensor_gpu.sim.errors import CallFailedError, SimulationError
from tensor_gpu.sim.faults import Faults, Limits
from tensor_gpu.tables.drivers import DriverTable, Rule
from tensor_runtime.backends.registry import registry
from tensor_runtime.errors import NotConvergedError, NotPositiveDefiniteError
from tensor_runtime.placement import DeviceKind, MemoryKind

KIND = DeviceKind.other("faulty")
STACK = [[[4.0, 9.0, 5.0], [1.0, 2.0, 1.0]], [[1.0, 2.0, 1.0], [6.0, 8.0, 7.0]]]  # [2, 2, 3]: three definite matrices


@pytest.fixture
def api() -> Iterator[SimulatedApi]:
    """Devices ``faulty:0`` and ``faulty:1`` of one mebibyte, on which nothing is when the test is over."""
    found = SimulatedApi(devices=2, memory_bytes=1 << 20)
    tr.register_backend("faulty", DeviceBackend(found, KIND))
    try:
        yield found
        if in_use() != (0, 0):
            gc.collect()
        assert in_use() == (0, 0)
    finally:
        registry.unregister("faulty")


def on_device(nested: Any, place: str = "faulty:0") -> tr.Tensor:
    return tr.to(tr.tensor(nested), place)


CALLS: dict[str, Callable[[tr.Tensor], Any]] = {
    "add": lambda x: x + x,
    "einsum": lambda x: tr.einsum("ijb,jkb->ikb", x, x),
    "cholesky": lambda x: tensor_linalg.cholesky(x),
    "svd": lambda x: tensor_linalg.svd(x),
    "solve": lambda x: tensor_linalg.solve(x, x),
    "sort": lambda x: tr.sort(x, axis=2),
    "take": lambda x: tr.take(x, on_device([1, 0]), axis=1),
    "to": lambda x: tr.to(x, "faulty:1"),
    "download": lambda x: tr.download(x),
    "copy_into": lambda x: tr.copy_into(tr.mutable_view(tr.zeros(x.shape, placement=x.placement)), x),
    "fuse": lambda x: tr.fuse(lambda y: tr.exp(y) * y)(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_after_whichever_call_a_device_is_lost_all_is_told_as_that(api: SimulatedApi, name: str) -> None:
    x, call = on_device(STACK), CALLS[name]
    expected, used = values(call(x)), in_use()
    for number in range(200):
        with api.under(Faults(lost_after=number)):
            try:
                call(x)
                break
            except DeviceLostError:
                pass
        if in_use() != used:
            gc.collect()
            assert in_use() == used
    assert number > 0
    assert tr.download(x).to_nested() == STACK
    assert values(call(x)) == expected


@pytest.mark.parametrize("name", CALLS)
def test_whichever_call_of_a_device_fails_all_is_as_before_and_the_next_try_succeeds(
    api: SimulatedApi, name: str
) -> None:
    x, call = on_device(STACK), CALLS[name]
    expected, kept = values(call(x)), tr.download(x).to_nested()
    used = in_use()
    for kind in ("allocations", "launches", "gemms", "solvers", "uploads", "downloads", "copies", "fills", "waits"):
        for number in range(1, 100):
            clear_pools()
            with api.under(Faults(fail={kind: range(number, number + 2)})):  # memory is asked for twice
                try:
                    call(x)
                    break
                except TensorError as error:
                    told = OutOfMemoryError if kind == "allocations" else BackendError
                    assert type(error) is told, error
                    if kind == "allocations":
                        assert " bytes were asked for" in str(error), error
                    else:
                        assert f"call {number}" in str(error), error
                        assert type(error.__cause__) is CallFailedError
            if in_use() != used:
                gc.collect()
                assert in_use() == used
            assert tr.download(x).to_nested() == kept
            assert values(call(x)) == expected


def clear_pools() -> None:
    backend: Any = tr.backend("faulty")
    for place in backend.placements():
        backend.pool(place).clear()


def in_use() -> tuple[int, int]:
    return tr.memory("faulty:0").used, tr.memory("faulty:1").used


def values(found: Any) -> Any:
    if isinstance(found, tr.Tensor):
        return tr.download(found).to_nested()
    if isinstance(found, tuple):
        return [values(one) for one in found]
    return found.to_nested() if hasattr(found, "to_nested") else found


def test_an_output_is_written_as_a_whole_or_not_at_all(api: SimulatedApi) -> None:
    x, target = on_device(STACK), on_device(STACK)
    out = tr.mutable_view(target)[::-1]
    for number in range(1, 20):
        with api.under(Faults(fail={"launches": number})):
            try:
                tr.subtract(x, x, out=out)
                break
            except BackendError:
                pass
        assert tr.download(target).to_nested() == STACK
    assert number > 1
    assert not tr.any(tr.not_equal(target, 0.0)).item()


def test_a_lost_device_raises_from_then_on_and_another_one_goes_on(api: SimulatedApi) -> None:
    x, y = on_device([1.0, 2.0]), on_device([1.0, 2.0], "faulty:1")
    late = tr.download(x, wait=False)
    calls: list[Callable[[], Any]] = [
        lambda: x + 1.0,
        lambda: tr.download(x),
        lambda: tr.zeros(2, placement="faulty:0"),
        lambda: tr.to(y, "faulty:0"),
        lambda: tr.to(x, "faulty:1"),
        lambda: tr.synchronize("faulty:0"),
        lambda: tr.stream("faulty:0"),
        late.result,
    ]
    with api.under(Faults(lost_after=2, device=0)):
        assert (x + 1.0).shape == (2,)  # an allocation and a launch
        for call in calls:
            with pytest.raises(DeviceLostError, match="sim:0: the device is lost") as caught:
                call()
            assert caught.value.device == "sim:0"
        assert tr.download(y + 1.0).to_nested() == [2.0, 3.0]
    assert late.result().to_nested() == tr.download(x).to_nested() == [1.0, 2.0]


def test_tensors_of_a_lost_device_can_be_dropped(api: SimulatedApi) -> None:
    x = on_device([1.0, 2.0])
    with api.under(Faults(lost_after=0)):
        del x
        assert tr.memory("faulty:1").used == 0


def test_what_a_solver_reports_of_a_matrix_is_told_with_its_place_in_the_batch(api: SimulatedApi) -> None:
    x = on_device(STACK)
    by_library: Any = tr.backend("faulty").use_drivers(DriverTable([Rule("cholesky", "potrf")]))  # type: ignore[attr-defined]
    with (
        by_library,
        api.under(Faults(info={"potrf": {1: 2}})),
        pytest.raises(NotPositiveDefiniteError) as indefinite,
    ):
        tensor_linalg.cholesky(x)
    with api.under(Faults(info={"gesvd": {2: 1}})), pytest.raises(NotConvergedError) as endless:
        tensor_linalg.svd(x, driver="gesvd")
    assert (indefinite.value.batch_index, endless.value.batch_index) == ((1,), (2,))
    assert tr.download(x).to_nested() == STACK
    assert tensor_linalg.cholesky(x).shape == (2, 2, 3)


def test_without_its_library_a_solver_says_so_and_products_do_without(api: SimulatedApi) -> None:
    x, big = on_device(STACK), tr.full((64, 64), 2.0, placement="faulty:0")
    with api.under(Limits(memory_bytes=1 << 20, missing=("gemm", "solver"))):
        with pytest.raises(UnsupportedOperationError, match=r"cholesky: .* lacks the library"):
            tensor_linalg.cholesky(x)
        assert "svd" in tr.backend("faulty").unsupported()
        assert "svd" not in tr.backend("faulty").operations()
        gemms = api.counts["gemms"]
        assert tr.download(big @ big)[0, 0] == 256.0
        assert api.counts["gemms"] == gemms
        with pytest.raises(UnsupportedOperationError, match="lacks the library"):
            api.gemm(api.new_stream(0), Gemm(tr.F64, "N", "N", 1, 1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1))
    assert tensor_linalg.cholesky(x).shape == x.shape


def test_a_library_that_takes_few_matrices_is_called_more_often(api: SimulatedApi) -> None:
    x = tr.to(tr.arange(20480, dtype="F64").reshape((64, 64, 5)), "faulty:0")
    definite = tr.to(tr.tensor(STACK), "faulty:0")
    product, (u, s, _) = x_by_x(x), tensor_linalg.svd(definite)
    with api.under(Limits(memory_bytes=1 << 20, largest_batch=2)):
        before = api.counts.copy()
        again = x_by_x(x)
        assert (api.counts - before)["gemms"] == 3
        assert values(tensor_linalg.svd(definite)[:2]) == values((u, s))
        assert values(tensor_linalg.solve(definite, definite)) == values(tensor_linalg.solve(definite, definite))
    assert values(again) == values(product)


def x_by_x(x: tr.Tensor) -> tr.Tensor:
    return tr.einsum("ijb,jkb->ikb", x, x)


def test_an_extent_that_the_library_does_not_take_goes_another_way(api: SimulatedApi) -> None:
    x = tr.full((64, 64), 2.0, placement="faulty:0")
    assert tr.download(x @ x)[3, 3] == 256.0
    before = api.counts["gemms"]
    with api.under(Limits(memory_bytes=1 << 20, largest_extent=63)):
        assert tr.download(x @ x)[3, 3] == 256.0
    assert api.counts["gemms"] == before == 1


def test_without_peer_access_tensors_go_over_the_host(api: SimulatedApi) -> None:
    x = on_device([1.0, 2.0])
    with api.under(Limits(memory_bytes=1 << 20, peer_access=False)):
        with tr.trace_transfers() as log:
            there = tr.to(x, "faulty:1")
        assert [one.operation for one in log] == ["download", "upload"]
        with pytest.raises(SimulationError, match="no access"):
            api.copy(api.new_stream(0), 2 << 45, 1 << 45, 8)
    assert tr.download(there).to_nested() == [1.0, 2.0]


def test_devices_come_and_go(api: SimulatedApi) -> None:
    x, y = on_device([1.0]), on_device([1.0], "faulty:1")
    with api.under(Limits(devices=1, memory_bytes=1 << 20)):
        with pytest.raises(PlacementError, match="there are 1 such devices now"):
            y + 1.0
        assert tr.download(x + 1.0).to_nested() == [2.0]
    with api.under(Limits(devices=4, memory_bytes=1 << 20, compute_capability=(7, 0))):
        assert tr.download(tr.to(y, "faulty:3") + 1.0).to_nested() == [2.0]
        assert len(tr.backend("faulty").describe()) == 4
    tr.synchronize()
    assert tr.download(y).to_nested() == [1.0]


def test_memory_can_be_less_for_a_while(api: SimulatedApi) -> None:
    with api.under(Limits(memory_bytes=1024)):
        with pytest.raises(OutOfMemoryError, match="zeros: not enough memory for the result of 1600 bytes"):
            tr.zeros(200, placement="faulty:0")
        assert tr.zeros(100, placement="faulty:0").shape == (100,)
    assert tr.zeros(200, placement="faulty:0").shape == (200,)


@pytest.mark.parametrize("wrong", [Limits(memory_bytes=1 << 40), 7])
def test_conditions_that_cannot_be_are_refused_and_change_nothing(api: SimulatedApi, wrong: Any) -> None:
    former = api.limits
    with pytest.raises(ArgumentError, match=r"under: .*accepted"), api.under(wrong):
        pass
    assert api.limits == former


@pytest.mark.parametrize("name", ["devices", "memory_bytes", "largest_extent", "largest_batch"])
@pytest.mark.parametrize("wrong", [0, -1, 1.5, "x", True, None])
def test_limits_that_are_no_counts_are_refused(name: str, wrong: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"Limits: {name} is .*; accepted: ints of 1 or more"):
        Limits(**{name: wrong})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"compute_capability": 9}, "compute_capability is 9; accepted: a tuple of two ints"),
        ({"peer_access": "no"}, "peer_access is 'no'; accepted: True and False"),
        ({"missing": "gemm"}, "missing is 'gemm'; accepted: a collection of 'gemm' and 'solver'"),
        ({"missing": ("magma",)}, r"missing is \('magma',\); accepted: a collection"),
        ({"missing": 3}, "missing is 3; accepted: a collection"),
        ({"memory_kinds": ()}, r"memory_kinds is \(\); accepted: a tuple of MemoryKind.Device"),
        ({"memory_kinds": (MemoryKind.Device, "x")}, "memory_kinds is .*; accepted: a tuple of MemoryKind.Device"),
    ],
)
def test_limits_that_cannot_be_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^Limits: {message}"):
        Limits(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fail": 3}, "fail is 3; accepted: a dict"),
        ({"fail": {"nothing": 1}}, "fail has no calls of kind 'nothing'; accepted: allocations, launches"),
        ({"fail": {"launches": 0}}, r"fail\['launches'\] is 0; accepted: an int of 1 or more"),
        ({"fail": {"launches": range(2)}}, r"fail\['launches'\] is range\(0, 2\); accepted"),
        ({"fail": {"launches": [2, "x"]}}, r"fail\['launches'\] is .*; accepted"),
        ({"info": {"nonsense": {0: 1}}}, "info has no routine 'nonsense'; accepted: potrf, getrf"),
        ({"info": {"potrf": 3}}, r"info\['potrf'\] is 3; accepted: ints by numbers of matrices"),
        ({"info": {"potrf": {-1: 3}}}, r"info\['potrf'\] is \{-1: 3\}; accepted"),
        ({"lost_after": -1}, "lost_after is -1; accepted: None, and ints of 0 or more"),
        ({"device": "x"}, "device is 'x'; accepted: None, and ints of 0 or more"),
    ],
)
def test_faults_that_cannot_be_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^Faults: {message}"):
        Faults(**given)


def test_a_kind_of_memory_that_is_gone_for_a_while_is_refused_though_it_was_used() -> None:
    api: Any = tr.backend("sim").api  # type: ignore[attr-defined]
    x = tr.ones(2, placement="sim:0")
    assert x.placement.device is not None
    pinned = tr.Placement(MemoryKind.PinnedHost, x.placement.device)
    y = tr.zeros(2, placement=pinned)
    calls: list[Callable[[], Any]] = [lambda: tr.zeros(2, placement=pinned), lambda: y + 1.0, lambda: tr.to(x, pinned)]

    with api.under(Limits()):
        for call in calls:
            with pytest.raises(PlacementError, match="sim:0 has no PinnedHost memory; it has Device"):
                call()
    assert tr.download(y + 1.0).to_nested() == [1.0, 1.0]
