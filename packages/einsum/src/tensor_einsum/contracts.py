"""The contracts of the kernels that only einsum binds; the others are in ``tensor_runtime.contracts``."""

from __future__ import annotations

from typing import Final, NamedTuple

from tensor_runtime.algebras import Semiring
from tensor_runtime.backends.kernel_facts import KernelFacts, state
from tensor_runtime.contracts.contract import Contract, declare
from tensor_runtime.contracts.contraction import Labels


class UnaryEinsumParams(NamedTuple):
    """Labels of the axes: those the operand repeats are read along a diagonal, and those the result has not are summed.

    A label that the result repeats is written along a diagonal, with zeros elsewhere; the operand has them all.
    """

    operand: Labels
    result: Labels


class SemiringUnaryEinsumParams(NamedTuple):
    """Labels as for ``UnaryEinsumParams``, and what sums are, and the zero that stands off the diagonals."""

    operand: Labels
    result: Labels
    algebra: Semiring
    """Its name, dtype rules and functions: ``tensor_runtime.algebras``."""


KERNELS: Final = declare(
    [
        Contract(
            "unary_einsum",
            "Diagonals, sums and a permutation of one operand.",
            {"x": "any dtype and layout"},
            "owned, compact, of the operand's dtype",
            UnaryEinsumParams,
        ),
        Contract(
            "add_into",
            "Adds the second array's elements to the first's, as the kernel add does, in place.",
            {
                "target": "any dtype, any layout that names no element twice; bound as the result, too",
                "source": "the target's shape and dtype; any layout, and no element of the target",
            },
            "None; the target has changed",
        ),
        Contract(
            "semiring_unary_einsum",
            "The same in another algebra; its zero where no element is summed, and off the diagonals.",
            {"x": "any layout"},
            "owned, compact, of the operand's dtype",
            SemiringUnaryEinsumParams,
        ),
    ]
)
"""The contracts of this family, in the order of ``docs/kernels.md``."""

state(
    "add_into", KernelFacts(effect="writes")
)  # beside its contract: the module that binds it is loaded for slices alone
