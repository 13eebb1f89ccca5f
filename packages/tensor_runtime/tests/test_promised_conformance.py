"""The conformance suite on a device whose arrays are promises and cannot be written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensor_runtime as tr
from promised_device import PromisingBackend
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import all_cases
from tensor_runtime.testing.conformance import check_case
from tensor_runtime.testing.conformance_parts.devices import DevicesConformance
from tensor_runtime.testing.conformance_parts.facts import first_cases
from tensor_runtime.testing.conformance_parts.memory import MemoryConformance
from tensor_runtime.testing.conformance_parts.sequences import SequenceConformance

WRITING = ("copy_into", "put_along_axis", "scan", "view[...] = x", "setitem")


@pytest.fixture(scope="module")
def placement() -> Iterator[Placement]:
    device = PromisingBackend("promising")
    tr.register_backend("promising", device)
    yield device.placement()
    registry.unregister("promising")


class TestPromisedConformance(DevicesConformance, MemoryConformance, SequenceConformance):
    pass


@pytest.mark.parametrize(
    "case",
    [*first_cases(all_cases()), *(case for case in all_cases() if case.operation in WRITING)],
    ids=lambda case: case.id,
)
def test_every_operation_is_right_on_promises(case: Case, placement: Placement) -> None:
    check_case(case, placement)
