"""The conformance suite on a device that computes late, on streams, and adds all that a backend of devices may."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensor_runtime as tr
from queued_device import QueuedBackend
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import all_cases
from tensor_runtime.testing.conformance import check_case
from tensor_runtime.testing.conformance_parts.devices import DevicesConformance
from tensor_runtime.testing.conformance_parts.facts import FactsConformance, first_cases
from tensor_runtime.testing.conformance_parts.memory import MemoryConformance
from tensor_runtime.testing.conformance_parts.sequences import SequenceConformance


@pytest.fixture(scope="module")
def placement() -> Iterator[Placement]:
    device = QueuedBackend("queued")
    tr.register_backend("queued", device)
    yield device.placement()
    registry.unregister("queued")


class TestQueuedConformance(DevicesConformance, MemoryConformance, FactsConformance, SequenceConformance):
    pass


@pytest.mark.parametrize("when", ["now", "deferred"])
@pytest.mark.parametrize("case", first_cases(all_cases()), ids=lambda case: case.id)
def test_every_operation_is_right_on_a_queue(case: Case, when: str, placement: Placement) -> None:
    with tr.checks(when):  # type: ignore[arg-type]
        check_case(case, placement)
