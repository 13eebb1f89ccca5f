"""What the runtime knows of this family before it is loaded; this module is read alone, and imports nothing heavy."""

from __future__ import annotations

from typing import Final

FAMILY: Final = {
    "id": "ironstride.einsum/1",
    "operations": {"einsum": "tensor_einsum:einsum"},
    "kernels": ("unary_einsum", "add_into", "semiring_unary_einsum"),
    "cases": "tensor_einsum.testing.cases",
}
