"""What every kernel gets and gives: operands, run-time arguments, result and parameters, by family.

``contract`` says what a row holds; the other modules hold the rows and the parameters' types, and ``docs/kernels.md``
is made from them. They import ``algebras`` and ``form`` and nothing above; elementwise kernels share one row.
"""

from __future__ import annotations

from tensor_runtime.contracts import (
    contraction,
    creation,
    elementwise,
    gather_scatter,
    joining,
    linalg,
    reduction,
    views,
)

__all__ = ["contraction", "creation", "elementwise", "gather_scatter", "joining", "linalg", "reduction", "views"]
