"""The contract of a kernel, and the table of all that were declared.

A backend binds a kernel by its name, to the forms of its operands and of its result, and to its parameters: an instance
of the type that the contract names, or None. What is bound is then called with the backend's arrays, followed by the
run-time arguments, which are part of no binding's key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Contract(NamedTuple):
    """What one kernel gets and gives.

    A kernel that ``needs`` nothing optional is called with all operands in order, then with all arguments. Names in
    ``optional`` may be missing; where one name stands among operands and arguments, it comes as exactly one of them.
    """

    kernel: str
    computes: str  # one sentence
    operands: Mapping[str, str]  # what each is, in order; their dtypes, where they are not those of the result
    result: str
    params: type[tuple[Any, ...]] | None = None  # a NamedTuple
    arguments: Mapping[str, str] = _NOTHING  # given at run time, after the arrays
    optional: frozenset[str] = frozenset()
    repeated: bool = False  # the last operand stands for one or more

    def accepts_operands(self, count: int, /) -> bool:
        """Whether the kernel may be bound to so many operands.

        >>> CONTRACTS["pad"].accepts_operands(1), CONTRACTS["pad"].accepts_operands(3)
        (True, False)
        """
        least = len(self.operands.keys() - self.optional)
        return least <= count and (self.repeated or count <= len(self.operands))

    def accepts_arguments(self, operands: int, given: int, /) -> bool:
        """Whether a kernel bound to so many operands may be called with so many arguments after them.

        >>> CONTRACTS["pad"].accepts_arguments(1, 1), CONTRACTS["pad"].accepts_arguments(2, 1)
        (True, False)
        """
        came = set(list(self.operands)[:operands])
        return given == len(self.arguments.keys() - came)


CONTRACTS: Final[dict[str, Contract]] = {}
"""Every declared contract by the name of its kernel; those of a family from the moment when it is imported."""


def declare(contracts: Iterable[Contract], /) -> tuple[Contract, ...]:
    """Add contracts to :data:`CONTRACTS`; a family of operations calls it with those of its own kernels.

    >>> (contract,) = declare([Contract("untangle", "Removes knots.", {"x": "any dtype"}, "as the operand")])
    >>> CONTRACTS.pop("untangle") is contract
    True
    """
    declared = tuple(contracts)
    CONTRACTS.update((contract.kernel, contract) for contract in declared)
    return declared


def bound_params(kernel: str, key: Any, /) -> Any:
    """The parameters that a backend is bound with, from the part of a binding's key that holds them.

    A call that finds its binding makes no object but its key, so the key is a plain tuple of the fields, or the one
    field itself; this is called when there is no binding yet. A kernel without a contract gets the key as it is.

    >>> bound_params("sum", (0, False)), bound_params("cumsum", 1)
    (ReduceParams(axis=0, keepdims=False), ScanParams(axis=1))
    >>> bound_params("add", None) is None
    True
    """
    contract = CONTRACTS.get(kernel)
    params: Any = contract and contract.params
    if params is None or type(key) is params:
        return key
    return params(key) if len(params._fields) == 1 else params(*key)
