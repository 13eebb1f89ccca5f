"""The conformance suite fails for a backend that computes rightly but lies about memory and devices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.dtypes import DTYPES
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement
from tensor_runtime.testing.conformance_parts.memory import VIEWS, MemoryConformance, overwrite
from tensor_runtime.testing.oracle import whole_numbers
from tensor_runtime.testing.simulated_device import DeviceArray, SimulatedBackend

SUITE = MemoryConformance()
SLICES = next(
    mark.args[1]
    for mark in SUITE.test_an_output_that_overlaps_an_operand_is_refused.pytestmark  # type: ignore[attr-defined]
    if mark.name == "parametrize"
)


def run(placement: Placement) -> Iterator[str]:
    """The names of the tests that fail at a placement."""
    calls: list[tuple[str, Callable[[], None]]] = [
        *(("view", partial(SUITE.test_a_view_begins_where_its_layout_says, name, placement)) for name in VIEWS),
        ("chain", lambda: SUITE.test_any_chain_of_views_begins_where_the_hosts_does(placement)),
        ("apart", lambda: SUITE.test_two_tensors_lie_apart(placement)),
        *(
            ("overlap", partial(SUITE.test_an_output_that_overlaps_an_operand_is_refused, *row, placement))
            for row in SLICES
        ),
        ("other memory", lambda: SUITE.test_an_output_in_other_memory_is_taken(placement)),
        *(("copy", partial(SUITE.test_upload_and_download_copy, dtype, placement)) for dtype in DTYPES),
        ("placements", lambda: SUITE.test_it_has_the_placements_that_it_lists_and_no_other(placement)),
        ("offers", lambda: SUITE.test_what_it_offers_it_does_not_lack(placement)),
    ]
    for name, call in calls:
        try:
            call()
        except (Exception, pytest.fail.Exception):  # hypothesis may gather several failures in a group
            yield name


class NoOffset(SimulatedBackend):
    def offset_of(self, array: DeviceArray, /) -> int:
        return 0


class OffsetInBytes(SimulatedBackend):
    def offset_of(self, array: DeviceArray, /) -> int:
        return super().offset_of(array) * 8


class NeverTogether(SimulatedBackend):
    """As a kernel that answers "no overlap" to every question."""

    def location_of(self, array: DeviceArray, /) -> tuple[Hashable, int]:
        return object(), 0


class AlwaysAtOnePlace(SimulatedBackend):
    def location_of(self, array: DeviceArray, /) -> tuple[Hashable, int]:
        return "device", 0


class PlaceInElements(SimulatedBackend):
    def location_of(self, array: DeviceArray, /) -> tuple[Hashable, int]:
        space, address = super().location_of(array)
        return space, address // 8


class SharedUpload(SimulatedBackend):
    """Of one dtype only: a short cut where the layouts happen to agree."""

    def upload(self, source: HostTensor[Any], form: Form, /) -> DeviceArray:
        inner: Any = self._inner
        if source.dtype is not tr.C32:
            return super().upload(source, form)
        array, _ = inner.borrow(source, None)
        return DeviceArray(array)


class SharedDownload(SimulatedBackend):
    def download(self, array: DeviceArray, form: Form, /) -> HostTensor[Any]:
        if not form.is_compact or not form.size:
            return super().download(array, form)
        inner: Any = self._inner
        memory = inner.lend(array.inside, form).reshape(-1, order="A").view("u1")
        return HostTensor.wrap_bytes(memory, form.shape, form.dtype)


class OneDeviceTooMany(SimulatedBackend):
    def placements(self) -> tuple[Placement, ...]:
        return (*super().placements(), Placement(MemoryKind.Device, DeviceId(DeviceKind.other("another"), 0)))


class Undecided(SimulatedBackend):
    def unsupported(self) -> Mapping[str, str]:
        return {"add": "not at this time of the year"}


@pytest.mark.parametrize(
    ("kind", "caught"),
    [
        (SimulatedBackend, set()),
        (NoOffset, {"view"}),
        (OffsetInBytes, {"view"}),
        (NeverTogether, {"view", "overlap"}),
        (AlwaysAtOnePlace, {"view", "apart", "overlap", "other memory"}),
        (PlaceInElements, {"view", "overlap"}),
        (SharedUpload, {"copy"}),
        (SharedDownload, {"copy"}),
        (OneDeviceTooMany, {"placements"}),
        (Undecided, {"offers"}),
    ],
)
def test_a_backend_that_lies_about_its_memory_fails(kind: type[SimulatedBackend], caught: set[str]) -> None:
    device = kind(tr.backend("cpu"), "lying")
    tr.register_backend("lying", device)
    try:
        found = set(run(device.placement()))
        # Drawn chains of views may find what views by known steps always do; memory may happen to lie apart.
        perhaps = {NoOffset: {"chain"}, OffsetInBytes: {"chain"}, PlaceInElements: {"apart"}}.get(kind, set())
        assert caught <= found <= caught | perhaps
    finally:
        registry.unregister("lying")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_overwriting_changes_every_element(dtype: tr.DType) -> None:
    before = whole_numbers((2, 3), dtype)
    after = before.copy()
    overwrite(after)

    assert all(before[m, n] != after[m, n] for m in range(2) for n in range(3))
