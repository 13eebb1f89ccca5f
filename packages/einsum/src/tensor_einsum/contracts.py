"""The contracts of the kernels that only einsum binds; the others are in ``tensor_runtime.contracts``."""

from __future__ import annotations

from typing import Final, NamedTuple

from tensor_runtime.contracts.contract import Contract, declare
from tensor_runtime.contracts.contraction import Labels


class UnaryEinsumParams(NamedTuple):
    """Labels of the axes: those the operand repeats are read along a diagonal, and those the result has not are summed.

    A label that the result repeats is written along a diagonal, with zeros elsewhere; the operand has them all.
    """

    operand: Labels
    result: Labels


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
    ]
)
"""The contracts of this family, in the order of ``docs/kernels.md``."""
