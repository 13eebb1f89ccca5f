"""What the conformance suite finds on simulated devices that lack operations, or give what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensor_runtime as tr
from tensor_core.errors import UnsupportedOperationError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.plugins.families import Family, FamilyTable
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.conformance import check_case
from tensor_runtime.testing.conformance_parts import memory
from tensor_runtime.testing.simulated_device import SimulatedBackend


@pytest.fixture
def poor() -> Iterator[Placement]:
    """A device that lacks the square root."""
    device = SimulatedBackend(tr.backend("cpu"), "poor", {"sqrt": "the device has no square root"})
    tr.register_backend("poor", device)
    yield device.placement()
    registry.unregister("poor")


FOUR = HostTensor.from_nested([4.0, 4.0])
FOUR_ON_CPU = tr.upload(FOUR)
TWO = HostTensor.from_nested([2.0, 2.0])


def test_what_a_backend_lacks_with_a_reason_passes(poor: Placement) -> None:
    check_case(Case("sqrt", "lacking", (FOUR,), tr.sqrt, lambda: TWO), poor)


def test_what_a_backend_lacks_without_a_reason_fails(poor: Placement) -> None:
    def call(x: tr.Tensor) -> tr.Tensor:
        raise UnsupportedOperationError("exp: not here", operation="exp")

    with pytest.raises(AssertionError, match=r"unsupported\(\) does not list 'exp'"):
        check_case(Case("exp", "lacking", (FOUR,), call, lambda: TWO), poor)


def test_what_no_backend_can_have_heard_of_passes(poor: Placement, monkeypatch: pytest.MonkeyPatch) -> None:
    waves = Family("waves", "waves 1.0", "waves/1", {"sine": "math:sin"}, ("sine", "exp"))
    monkeypatch.setattr(memory, "family_table", FamilyTable(lambda: [waves]))

    def calling(operation: str) -> Case:
        def call(x: tr.Tensor) -> tr.Tensor:
            raise UnsupportedOperationError(f"{operation}: not here", operation=operation)

        return Case(operation, "lacking", (FOUR,), call, lambda: TWO)

    found = check_case(calling("sine"), poor)

    assert found == {("sine", "an operation of the family waves, which no backend has itself")}
    with pytest.raises(AssertionError, match=r"unsupported\(\) does not list 'exp'"):  # cpu has it
        check_case(calling("exp"), poor)
    with pytest.raises(AssertionError, match=r"unsupported\(\) does not list 'cosine'"):  # of no family
        check_case(calling("cosine"), poor)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (tr.exp, r"operands as given: element \(0,\) is 54\.59"),
        (lambda x: tr.sqrt(FOUR_ON_CPU), "on cpu, expected poor:0"),
        (lambda x: x, "expected 2.0"),
        (lambda x: 2.0, "a float, expected a tensor"),
        (lambda x: (x, x), "2 results, expected 1"),
    ],
)
def test_a_wrong_result_fails(poor: Placement, call: object, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_case(Case("wrong", "result", (FOUR,), call, lambda: TWO), poor)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x, "an operand has changed with the result"),
        (lambda x: tr.broadcast_to(x, (2,)).T, "an operand has changed with the result"),
        (lambda x: tr.reverse_view(tr.reverse_view(tr.copy(x), 0), 0), None),
        (lambda x: tr.reverse_view(tr.copy(x), 0), "expected a compact result"),
    ],
)
def test_a_result_that_is_not_owned_and_compact_fails(call: object, message: str | None) -> None:
    case = Case("borrowing", "result", (FOUR,), call, lambda: FOUR)  # type: ignore[arg-type]
    if message is None:
        check_case(case, tr.CPU)
        return
    with pytest.raises(AssertionError, match=message):
        check_case(case, tr.CPU)


def test_a_missing_error_fails() -> None:
    case = Case("exp", "refused", (FOUR,), tr.exp, lambda: None, error=tr.TensorError)

    with pytest.raises(AssertionError, match="no error, expected TensorError"):
        check_case(case, tr.CPU)


def test_an_operation_that_moves_elements_fails(poor: Placement) -> None:
    with pytest.raises(AssertionError, match="moved elements"):
        check_case(Case("exp", "moving", (FOUR,), lambda x: tr.to(x, "cpu"), lambda: TWO), poor)
