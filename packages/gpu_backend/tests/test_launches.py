"""How many launches, transfers and copies operations take, and that what is shared among parts is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import F32, I32, I64, Bool
from tensor_core.errors import DivisionByZeroError, IndexingError
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.sim.api import SimulatedApi
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import DeviceKind

Counts = dict[str, int]


@pytest.fixture(scope="module")
def api() -> Any:
    api = SimulatedApi(devices=1, memory_bytes=1 << 28)
    tr.register_backend("counted", DeviceBackend(api, DeviceKind.other("counted")))
    yield api
    registry.unregister("counted")


def on_device(values: Any, dtype: Any = None) -> Any:
    x = tr.asarray(np.asfortranarray(values))
    return tr.to(x if dtype is None else tr.cast(x, dtype), "counted:0")


def counted(api: SimulatedApi, call: Callable[[], Any]) -> tuple[Any, Counts]:
    """What a call gives, and what it submitted: not the first one, which binds."""
    call()
    api.counts.clear()
    result = call()
    return result, {name: number for name, number in api.counts.items() if number}


WHOLE = np.arange(24).reshape(2, 3, 4)

CASES: dict[str, tuple[Callable[[Any, Any], Any], Counts]] = {
    "add of views": (lambda x, i: x[:, ::-1][:, 1:] + x[:, 1:], {"launches": 1}),
    "sum over two axes": (lambda x, i: tr.sum(x, axis=(0, 1)), {"launches": 1}),
    "sum of all": (lambda x, i: tr.sum(x), {"launches": 1}),
    "max over the last axis of a view": (lambda x, i: tr.max(tr.transpose(x)[::-1], axis=-1), {"launches": 1}),
    "argmax in row-major order": (lambda x, i: tr.argmax(x), {"launches": 1}),
    "cumsum": (lambda x, i: tr.cumsum(x, axis=1), {"launches": 1}),
    "division, with a look": (lambda x, i: x // (x + 1), {"launches": 3, "fills": 1, "downloads": 1, "bytes down": 8}),
    "division without a look": (lambda x, i: tr.floor_divide(x, x + 1, check=False), {"launches": 2}),
    "division by a number": (lambda x, i: x // 3, {"launches": 1}),
    "cast to floats": (lambda x, i: tr.cast(x, F32), {"launches": 1}),
    "cast that wraps": (lambda x, i: tr.cast(x, I32, overflow="wrap"), {"launches": 1}),
    "concatenate": (lambda x, i: tr.concatenate((x, x, x), axis=1), {"launches": 3}),
    "tile": (lambda x, i: tr.tile(x, (2, 1, 2)), {"launches": 1}),
    "repeat": (lambda x, i: tr.repeat(x, 2, axis=1), {"launches": 1}),
    "roll along one axis": (lambda x, i: tr.roll(x, 1, axis=1), {"launches": 2}),
    "pad": (lambda x, i: tr.pad(x, ((1, 1), (0, 0), (0, 0))), {"launches": 2}),
    "tril": (lambda x, i: tr.tril(x), {"launches": 1}),
    "take": (lambda x, i: tr.take(x, i, axis=1), {"launches": 2, "fills": 1, "downloads": 1, "bytes down": 8}),
    "a view": (lambda x, i: tr.transpose(x)[1:, ::2], {}),
}


@pytest.mark.parametrize("name", CASES)
def test_an_operation_submits_no_more_than_it_must(api: SimulatedApi, name: str) -> None:
    call, expected = CASES[name]
    x, index = on_device(WHOLE, I64), on_device([0, -1], I64)

    found, counts = counted(api, lambda: call(x, index))

    assert counts == expected
    wanted = call(tr.asarray(np.asfortranarray(WHOLE)), tr.asarray(np.array([0, -1])))
    assert tr.to(found, "cpu").to_numpy().tolist() == wanted.to_numpy().tolist()


@pytest.mark.parametrize(
    ("shape", "axes", "launches"),
    [
        ((64, 64, 100), (0, 1), 1),
        ((1 << 19,), None, 2),
        ((3, 1 << 17), 1, 2),
        ((1 << 17, 3), 0, 2),
        ((40, 5, 6000), (0, 2), 2),
        ((1000, 400), 1, 1),
    ],
)
def test_reductions_of_any_size_are_exact(
    api: SimulatedApi, shape: tuple[int, ...], axes: int | tuple[int, ...] | None, launches: int
) -> None:
    random = np.random.default_rng(1)
    values = random.integers(-50, 50, shape).astype(np.float64)
    x = on_device(values)

    for name, oracle in (("sum", np.sum), ("max", np.max), ("min", np.min)):
        found, counts = counted(api, lambda name=name: getattr(tr, name)(x, axis=axes))  # type: ignore[misc]
        assert counts == {"launches": launches}
        assert tr.to(found, "cpu").to_numpy().tolist() == oracle(values, axis=axes).tolist()


@pytest.mark.parametrize("shape", [(1 << 19,), (3, 1 << 17), (700, 600)])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_of_many_extremes_is_found(api: SimulatedApi, name: str, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(2).integers(0, 1000, shape).astype(np.float32)
    values.reshape(-1)[12345] = np.nan
    x = on_device(values)

    for axis in (None, -1):
        found = tr.to(getattr(tr, name)(x, axis=axis), "cpu").to_numpy()
        assert found.tolist() == getattr(np, name)(values, axis=axis).tolist()


@pytest.mark.parametrize("shape", [(100_000,), (3, 20_000), (20_000, 3), (5, 40, 50)])
@pytest.mark.parametrize("dtype", [I64, Bool, F32])
def test_running_sums_of_long_lines_are_exact(api: SimulatedApi, shape: tuple[int, ...], dtype: Any) -> None:
    values = np.random.default_rng(3).integers(0, 2, shape)
    x = on_device(values, dtype)

    for axis in range(len(shape)):
        found = tr.to(tr.cumsum(x, axis=axis), "cpu").to_numpy()
        assert found.tolist() == np.cumsum(values, axis=axis).tolist()


def test_a_refusal_leaves_what_would_be_written(api: SimulatedApi) -> None:
    x, index = on_device(np.zeros(3)), on_device([0, 3], I64)

    with pytest.raises(IndexingError, match=r"indices\[1\] is 3, out of range for axis 0 of extent 3"):
        tr.put_along_axis(x.mutable_view(), index, on_device([1.0, 2.0]), axis=0)
    assert tr.to(x, "cpu").to_numpy().tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(DivisionByZeroError, match=r"the divisor at index \(1, 0\) is 0") as caught:
        on_device([[1], [2]], I64) % on_device([[1], [0]], I64)
    assert caught.value.index == (1, 0)


@pytest.mark.parametrize("shape", [(5000,), (3, 700), (700, 3), (2, 600, 2)])
@pytest.mark.parametrize("descending", [False, True])
def test_sorts_of_long_lines_are_stable(api: SimulatedApi, shape: tuple[int, ...], descending: bool) -> None:
    values = np.random.default_rng(4).integers(0, 50, shape).astype(np.float64)
    values.reshape(-1)[::91] = np.nan
    x = on_device(values)

    for axis in range(len(shape)):
        key = -values if descending else values
        places = key.argsort(axis=axis, kind="stable")
        found = tr.to(tr.argsort(x, axis=axis, descending=descending), "cpu").to_numpy()
        assert found.tolist() == places.tolist()
        in_order = tr.to(tr.sort(x, axis=axis, descending=descending), "cpu").to_numpy()
        np.testing.assert_array_equal(in_order, np.take_along_axis(values, places, axis))


def test_what_was_chosen_from_much_is_complete(api: SimulatedApi) -> None:
    values = np.random.default_rng(5).integers(0, 900, (130, 90))
    x = on_device(values)

    found = tr.unique_all(x)
    wanted = np.unique(values, return_index=True, return_inverse=True, return_counts=True)
    for one, other in zip(found, wanted, strict=True):
        assert tr.to(one, "cpu").to_numpy().tolist() == other.tolist()
    for axis, places in zip(tr.nonzero(x), values.nonzero(), strict=True):
        assert tr.to(axis, "cpu").to_numpy().tolist() == places.tolist()


def test_of_several_updates_of_one_place_the_last_one_stays(api: SimulatedApi) -> None:
    places = np.random.default_rng(6).integers(0, 10, 500)
    x, index, updates = on_device(np.zeros(10)), on_device(places), on_device(np.arange(500.0))

    replaced = tr.to(tr.scatter(x, index, updates, mode="replace"), "cpu").to_numpy()
    added = tr.to(tr.scatter(x, index, updates, mode="add"), "cpu").to_numpy()

    assert replaced.tolist() == [float(np.flatnonzero(places == place)[-1]) for place in range(10)]
    assert added.tolist() == [float(np.flatnonzero(places == place).sum()) for place in range(10)]
