"""Placements: a backend says which it has, and no way leads to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import (
    BackendUnavailableError,
    PlacementError,
)
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.discovery import Candidate
from tensor_runtime.backends.registry import Registry
from tensor_runtime.backends.registry import registry as the_registry
from tensor_runtime.form import form_of
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement, as_placement
from tensor_runtime.testing.simulated_device import SimulatedBackend

NOWHERE = [
    "cpu:5",
    DeviceId(DeviceKind.Cpu, 1),
    Placement(MemoryKind.PinnedHost, DeviceId(DeviceKind.Cpu, 0)),
    Placement(MemoryKind.Managed, DeviceId(DeviceKind.Cpu, 0)),
    Placement(MemoryKind.other("fast"), DeviceId(DeviceKind.Cpu, 0)),
    "simulated:1",
    "meta:3",
    Placement(MemoryKind.Managed, DeviceId(DeviceKind.other("meta"), 0)),
    Placement(MemoryKind.other("cpu"), DeviceId(DeviceKind.other("meta"), 0)),
    "tracing:1",
]
WAYS: list[Callable[[Any], object]] = [
    lambda place: tr.zeros(2, placement=place),
    lambda place: tr.full(2, 1.5, placement=place),
    lambda place: tr.eye(2, placement=place),
    lambda place: tr.arange(3, placement=place),
    lambda place: tr.linspace(0.0, 1.0, 3, placement=place),
    lambda place: tr.tensor([1.0], placement=place),
    lambda place: tr.tensor(tr.ones(2), placement=place),
    lambda place: tr.from_flat([1.0], (1,), placement=place),
    lambda place: tr.tabulate(2, float, placement=place),
    lambda place: tr.from_function((2,), float, placement=place),
    lambda place: tr.uniform(2, seed=1, placement=place),
    lambda place: tr.normal(2, seed=1, placement=place),
    lambda place: tr.integers(2, 0, 5, seed=1, placement=place),
    lambda place: tr.to(tr.ones(2), place),
    lambda place: tr.upload(HostTensor.from_nested([1.0]), place),
    tr.synchronize,
    lambda place: tr.infer(tr.zeros, 2, placement=place),
    lambda place: tr.infer(tr.exp, form_of(tr.F64, (2,), as_placement(place))),
]


@pytest.mark.parametrize("place", NOWHERE, ids=repr)
def test_a_placement_that_nobody_can_provide_is_refused_on_every_way_in(device: SimulatedBackend, place: Any) -> None:
    kind = as_placement(place).device
    there = {"cpu": "cpu", "meta": "meta:0", "tracing": "tracing:0", "simulated": "simulated:0"}
    for way in WAYS:
        if kind is not None and kind.kind.short == "meta" and "infer" in way.__code__.co_names:
            continue  # what runs on meta needs no stand-in
        with tr.trace_transfers() as log, pytest.raises(PlacementError) as caught:
            way(place)
        assert log == []
        assert kind is not None
        assert f"has no such device or memory; it has {there[kind.kind.short]}" in str(caught.value)
        assert caught.value.placement is as_placement(place)  # type: ignore[attr-defined]


def test_a_placement_without_a_device_is_refused_by_inference_too() -> None:
    with pytest.raises(BackendUnavailableError, match="names no device"):
        tr.infer(tr.zeros, 2, placement=Placement(MemoryKind.Managed, None))


def test_a_backend_that_lists_no_placements_has_its_first_device() -> None:
    class Silent(SimulatedBackend):
        placements = None  # type: ignore[assignment]

    one = Candidate("one", "one-dist 1.0", lambda: Silent(tr.backend("cpu"), "one"), {"device_kinds": ("one",)})
    registry = Registry(lambda: [one])

    assert registry.backend_for(as_placement("one")).name == "one"
    with pytest.raises(PlacementError, match="placement one:1: the one backend has no such device or memory; it"):
        registry.backend_for(as_placement("one:1"))


def test_every_device_that_a_backend_lists_is_served() -> None:
    many = SimulatedBackend(tr.backend("cpu"), "many", devices=3)
    tr.register_backend("many", many)
    try:
        x = tr.ones(2, placement="many:2")
        assert repr(tr.add(x, x).placement) == "many:2"
        assert tr.infer(tr.zeros, 2, placement="many:1").placement is many.placement(1)
        with pytest.raises(PlacementError, match=r"many:0, many:1, many:2$"):
            tr.zeros(2, placement="many:3")
    finally:
        the_registry.unregister("many")
