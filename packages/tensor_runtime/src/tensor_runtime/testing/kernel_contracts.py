"""Whether what is bound, and how it is called, is what the contracts say.

``tensor_runtime.contracts`` states what each kernel gets and gives. Elementwise kernels have no row there: which they
are say the specs that bind them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tensor_core.errors import BackendContractError
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.backends.plugins.result_checks import result_checks
from tensor_runtime.contracts.contract import CONTRACTS, Contract
from tensor_runtime.contracts.elementwise import elementwise_contract
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.protocols import Counted, Kernel, Operand, Result
from tensor_runtime.testing.completeness import declared_specs
from tensor_runtime.testing.simulated_device import SimulatedBackend


@contextmanager
def checked_results() -> Iterator[None]:
    """Look at the result of every kernel that runs inside the ``with`` block, in all threads.

    A result of another shape, element type or placement than the kernel was bound to is a ``BackendContractError`` that
    names backend, operation, what was expected and what was found, and is dropped. A backend says by ``examine`` what
    its arrays are (``tensor_runtime.protocols.DeviceBackend``); without it, only how many there are is looked at.
    Kernels are bound anew at both ends of the block. ``TENSOR_RUNTIME_CHECK_RESULTS=1`` in the environment does the
    same for a whole process.

    >>> with checked_results():
    ...     tensor([1.0, 2.0]) + 1.0
    Tensor(F64, (2,), column-major, cpu)
     2.0  3.0
    """
    before, result_checks.wanted = result_checks.wanted, True
    binding_cache.clear()
    try:
        yield
    finally:
        result_checks.wanted = before
        binding_cache.clear()


def all_contracts() -> Mapping[str, Contract]:
    """Contracts of all kernels by name: those of the runtime, and of every family that is imported.

    >>> all_contracts()["maximum"].operands.keys() == {"a", "b"}
    True
    """
    found = dict(CONTRACTS)
    for spec in declared_specs().values():
        if isinstance(spec, OpSpec) and spec.facts.elementwise and not spec.takes_params:
            operands = len(signature(spec.result_shape).parameters) - 1  # the operation's name comes first
            found.setdefault(spec.kernel, elementwise_contract(spec.kernel, operands))
    return found


def problem_of(contract: Contract, operands: tuple[Operand, ...], params: Any, /) -> str | None:
    """What is wrong with operands and parameters that a kernel is bound to, or None.

    >>> problem_of(CONTRACTS["sum"], (), None)
    '0 operands; the contract says x'
    >>> problem_of(CONTRACTS["full"], (), 3)
    'parameters 3; the contract says None'
    """
    if not contract.accepts_operands(len(operands)):
        return f"{len(operands)} operands; the contract says {', '.join(contract.operands) or 'none'}"
    wanted = contract.params
    if type(params) is not (type(None) if wanted is None else wanted):
        return f"parameters {params!r}; the contract says {wanted and wanted.__name__}"
    if wanted is not None and not matches(params, wanted):
        return f"parameters {params!r}, whose fields are not of the types declared"
    return None


def matches(value: object, hint: Any, /) -> bool:
    """Whether a value is of a declared type; an int is no float and no bool, and a tuple is looked into.

    >>> matches((1, None), tuple[int | None, ...]), matches(True, int), matches("F", Literal["F", "C"])
    (True, False, True)
    """
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(matches(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        if type(value) is not tuple:
            return False
        if parts[1:] == (...,):
            return all(matches(one, parts[0]) for one in value)
        return len(value) == len(parts) and all(map(matches, value, parts))
    if isinstance(value, tuple) and type(value) is hint:
        return all(map(matches, value, get_type_hints(hint).values()))
    return value is None if hint in (None, type(None)) else type(value) is hint


class ContractBackend(SimulatedBackend):
    """A simulated device that holds the runtime, and the backend that computes, to the contracts.

    ``bound`` has the kernels that were bound.

    >>> from tensor_runtime import backend
    >>> ContractBackend(backend("cpu"), "strict").bind("add", (), (), None)
    Traceback (most recent call last):
    tensor_core.errors.BackendContractError: add: bound to 0 operands; the contract says a, b
    """

    def __init__(self, inner: Any, name: str) -> None:
        super().__init__(inner, name)
        self._known = all_contracts()
        self.bound: set[str] = set()

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """The inner kernel, after a look at what it is bound to; each call is looked at, too."""
        contract = CONTRACTS.get(name) or self._known.get(name)  # a family may have been imported since
        if contract is None:
            raise BackendContractError(f"{name}: there is no contract of this kernel", operation=name)
        problem = problem_of(contract, operands, params)
        if problem is not None:
            raise BackendContractError(f"{name}: bound to {problem}", operation=name)
        self.bound.add(name)
        kernel = super().bind(name, operands, result, params)

        def called(*given: Any) -> Any:
            if not contract.accepts_arguments(len(operands), len(given) - len(operands)):
                raise BackendContractError(
                    f"{name}: called with {len(given)} arguments, {len(operands)} of them arrays; the contract says "
                    f"{', '.join((*contract.operands, *contract.arguments))}",
                    operation=name,
                )
            found = kernel(*given)
            if (found is None) != contract.result.startswith("None") or isinstance(found, Counted) != (
                facts_of(name).effect == "answers"
            ):
                raise BackendContractError(f"{name}: gave a {type(found).__name__}, which is not {contract.result}")
            return found

        return called
