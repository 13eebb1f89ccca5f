"""Every kernel has a contract, and the runtime, the families and the CPU backend keep to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

import tensor_runtime as tr
from tensor_core.errors import BackendContractError, TensorError
from tensor_cpu.kernel_table import ROWS
from tensor_runtime.backends.registry import registry
from tensor_runtime.contracts.contract import CONTRACTS, bound_params
from tensor_runtime.contracts.contraction import ContractParams
from tensor_runtime.contracts.reduction import ReduceParams
from tensor_runtime.form import form_of
from tensor_runtime.testing.cases import all_cases, family_cases
from tensor_runtime.testing.kernel_contracts import ContractBackend, all_contracts, problem_of

CASES = (*all_cases(), *family_cases())  # which imports the families


@pytest.fixture(scope="module")
def device() -> Iterator[ContractBackend]:
    backend = ContractBackend(tr.backend("cpu"), "by-contract")
    registry.register(backend.name, backend)
    try:
        yield backend
    finally:
        registry.unregister(backend.name)


@pytest.fixture(scope="module")
def bound(device: ContractBackend) -> frozenset[str]:
    """What all conformance cases and the families bind; every call is held to the contracts."""
    place = device.placement()
    for case in CASES:
        with suppress(*([case.error] if case.error else [])):
            case.call(*[tr.upload(host, place) for host in case.operands] or [place])
    return frozenset(device.bound)


def test_whatever_is_bound_and_called_is_what_its_contract_says(bound: frozenset[str]) -> None:
    assert {"add", "slice_view", "pad", "nonzero", "copy_into", "scatter", "svd", "unary_einsum"} <= bound


def test_every_kernel_of_the_backend_has_a_contract() -> None:
    assert not ROWS.keys() - all_contracts().keys()


def test_no_contract_is_without_a_kernel() -> None:
    assert not all_contracts().keys() - ROWS.keys()


def test_no_contract_is_without_a_case_that_binds_its_kernel(bound: frozenset[str]) -> None:
    assert not all_contracts().keys() - bound


@pytest.mark.parametrize(
    ("name", "operands", "params", "message"),
    [
        ("sum", 1, (0, False), r"parameters \(0, False\); the contract says ReduceParams"),
        ("sum", 2, ReduceParams(0, False), "2 operands; the contract says x"),
        ("sum", 1, ReduceParams("0", False), "not of the types declared"),  # type: ignore[arg-type]
        ("sum", 1, ReduceParams(0, 1), "not of the types declared"),  # type: ignore[arg-type]
        ("contract", 2, ContractParams((0,), (0,), (True,)), "not of the types declared"),
        ("add", 2, 1, "parameters 1; the contract says None"),
        ("untangle", 1, None, "there is no contract"),
    ],
)
def test_what_is_not_as_a_contract_says_is_refused_when_it_is_bound(
    device: ContractBackend, name: str, operands: int, params: object, message: str
) -> None:
    form = form_of(tr.F64, (2,), device.placement())
    with pytest.raises(BackendContractError, match=message):
        device.bind(name, (form,) * operands, form, params)


def test_a_call_without_the_arguments_of_the_contract_is_refused(device: ContractBackend) -> None:
    form = form_of(tr.F64, (2,), device.placement())
    kernel = device.bind("slice_view", (form,), form, bound_params("slice_view", ((2, 1),)))
    with pytest.raises(BackendContractError, match="slice_view: called with 1 arguments"):
        kernel(tr.to(tr.zeros(2), device.placement())._array)


@pytest.mark.parametrize("name", [name for name, contract in CONTRACTS.items() if contract.params is not None])
def test_parameters_are_equal_to_the_plain_tuple_that_keys_hold(name: str) -> None:
    params = CONTRACTS[name].params
    key = tuple(range(len(params._fields)))  # type: ignore[union-attr]
    made = bound_params(name, key if len(key) > 1 else key[0])
    assert type(made) is params
    assert made == key
    assert hash(made) == hash(key)


def test_a_kernel_without_a_contract_gets_its_parameters_as_they_are() -> None:
    assert bound_params("untangle", ("any", 3)) == ("any", 3)
    assert problem_of(all_contracts()["add"], (int, float), None) is None


def test_an_error_of_the_contracts_is_one_of_the_tree() -> None:
    assert issubclass(BackendContractError, TensorError)
