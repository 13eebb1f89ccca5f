"""The family's conformance cases on the CPU backend and on a device whose arrays nobody else opens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensor_runtime as tr
from tensor_core.host.tensor import HostTensor
from tensor_linalg import svd
from tensor_linalg.family import FAMILY
from tensor_linalg.testing.cases import cases
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.conformance import check_case
from tensor_runtime.testing.simulated_device import SimulatedBackend

CASES = tuple(cases())
BY_ID = {case.id: case for case in CASES}


@pytest.fixture(scope="module")
def device() -> Iterator[Placement]:
    simulated = SimulatedBackend(tr.backend("cpu"), "matrices")
    tr.register_backend("matrices", simulated)
    yield simulated.placement()
    registry.unregister("matrices")


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_case_holds_in_every_layout(case: Case, device: Placement) -> None:
    check_case(case, tr.CPU)
    check_case(case, device)


def test_every_operation_of_the_family_has_cases_and_no_two_bear_one_name() -> None:
    operations = FAMILY["operations"]
    assert isinstance(operations, dict)
    assert {case.operation for case in CASES} == {f"linalg.{name}" for name in operations}
    assert len(BY_ID) == len(CASES)


@pytest.mark.parametrize("wrong", ["u", "s", "order"])
def test_factors_of_another_matrix_or_in_another_order_fail(wrong: str) -> None:
    def spoilt(a: tr.Tensor) -> tuple[tr.Tensor, ...]:
        u, s, vh = svd(a)
        if wrong == "u":
            return tr.multiply(u, 2.0), tr.multiply(s, 0.5), vh
        if wrong == "s":
            return u, tr.multiply(s, 1.001), vh
        return tr.copy(u[:, ::-1]), tr.copy(s[::-1]), tr.copy(vh[::-1])

    with pytest.raises(AssertionError, match="result"):
        check_case(BY_ID["linalg.svd-F64"]._replace(call=spoilt), tr.CPU)


def test_a_factor_that_is_not_owned_fails_though_its_product_is_right() -> None:
    def borrowed(a: tr.Tensor) -> tuple[tr.Tensor, ...]:
        u, s, vh = svd(a)
        return tr.transpose(tr.copy(tr.transpose(u))), s, vh

    with pytest.raises(AssertionError, match=r"result 0: .*expected a compact result"):
        check_case(BY_ID["linalg.svd-F64"]._replace(call=borrowed), tr.CPU)


def test_the_oracles_factor_times_its_adjoint_is_the_matrix() -> None:
    from tensor_linalg.testing.cases.matrices import factor, hermitian, shifted
    from tensor_runtime.testing.oracle import whole_numbers

    a: HostTensor[tr.C64] = shifted(hermitian(whole_numbers((3, 3), tr.C64)), 24)
    lower = factor(a)
    for i in range(3):
        for j in range(3):
            assert sum(lower[i, k] * lower[j, k].conjugate() for k in range(3)) == pytest.approx(a[i, j])
