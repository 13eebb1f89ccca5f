"""``opt_einsum.contract`` is our ``einsum``: NumPy arrays in, tensors inside, NumPy arrays out.

What opt_einsum refuses and we do not is refused here: labels that the output repeats (an embedded diagonal), and
keywords that are none of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import opt_einsum

import tensor_runtime as tr

_THEIRS = {"optimize", "use_blas", "memory_limit", "backend", "out", "dtype", "order", "casting"}


def _tensor(x: Any) -> Any:
    array = np.asarray(x)
    return tr.asarray(array)


def contract(*operands: Any, **options: Any) -> Any:
    """Stands for the function of opt_einsum."""
    unknown = options.keys() - _THEIRS
    if unknown:
        raise TypeError(f"contract: unknown keywords {sorted(unknown)}")
    if not {"dtype", "order", "casting", "out"}.isdisjoint(options):  # NumPy's, and refused as NumPy refuses them
        return theirs(*operands, **options)
    notation, *given = operands
    if isinstance(notation, str):
        output = notation.rpartition("->")[2].replace(" ", "") if "->" in notation else ""
        if len({*output} - {"."}) != len(output.replace(".", "")):
            raise ValueError("an output label is given once")
        found = tr.einsum(notation, *map(_tensor, given))
    else:
        parts = [_tensor(x) if i % 2 == 0 and i + 1 < len(operands) else x for i, x in enumerate(operands)]
        found = tr.einsum(*parts)
    return found.to_numpy()


theirs = opt_einsum.contract
opt_einsum.contract = contract
