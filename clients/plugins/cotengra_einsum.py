"""``cotengra.einsum`` is our ``einsum``: NumPy arrays in, tensors inside, NumPy arrays out."""

from __future__ import annotations

from typing import Any

import cotengra

import tensor_runtime as tr


def einsum(equation: str, *arrays: Any, strip_exponent: bool = False) -> Any:
    """Stands for the function of cotengra."""
    found: Any = tr.einsum(equation, *map(tr.asarray, arrays), strip_exponent=strip_exponent)
    if not strip_exponent:
        return found.to_numpy()
    mantissa, exponent = found
    return mantissa.to_numpy(), float(exponent)


cotengra.einsum = einsum
