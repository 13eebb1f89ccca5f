"""Einsum's conformance cases on the CPU backend and on a device whose arrays nobody else opens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_einsum.testing.cases import cases, summed
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.conformance import check_case
from tensor_runtime.testing.oracle import whole_numbers
from tensor_runtime.testing.simulated_device import SimulatedBackend

CASES = tuple(cases())
BY_ID = {case.id: case for case in CASES}


@pytest.fixture(scope="module")
def device() -> Iterator[Placement]:
    simulated = SimulatedBackend(tr.backend("cpu"), "networks")
    tr.register_backend("networks", simulated)
    yield simulated.placement()
    registry.unregister("networks")


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_case_holds_in_every_layout(case: Case, device: Placement) -> None:
    check_case(case, tr.CPU)
    check_case(case, device)


def test_no_two_cases_bear_one_name() -> None:
    assert len(BY_ID) == len(CASES)
    assert {case.operation for case in CASES} == {"einsum"}


def test_a_contraction_over_the_wrong_axis_fails() -> None:
    case = BY_ID["einsum-ij,ij->ij ((2, 3), (2, 3))"]

    with pytest.raises(AssertionError, match="expected"):
        check_case(case._replace(call=lambda a, b: tr.multiply(a, a)), tr.CPU)


@pytest.mark.parametrize("notation", ["ij,jk->ik", "ij,jk->ki", "ij,ij->j"])
def test_the_oracle_agrees_with_numpy(notation: str) -> None:
    inputs, _, output = notation.partition("->")
    shapes = ((2, 3), (2, 3)) if inputs == "ij,ij" else ((2, 3), (3, 4))
    hosts = [whole_numbers(shape, tr.C64) for shape in shapes]
    expected = np.einsum(notation, *[np.asarray(host) for host in hosts])

    assert np.asarray(summed(tr.C64, inputs.split(","), output, hosts)).tolist() == expected.tolist()
