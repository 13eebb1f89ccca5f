"""``numpy.einsum`` is our ``einsum``: NumPy arrays in, tensors inside, NumPy arrays out, with NumPy's keywords.

``out``, ``dtype``, ``casting`` and ``order`` are done around ours, with NumPy's own functions; arrays of element types
that are none of the seven go nowhere and fail.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tensor_runtime as tr

theirs = np.einsum


def einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = False,
    dtype: Any = None,
    casting: str = "safe",
    order: str = "K",
) -> Any:
    """Stands for the function of NumPy."""
    if order.upper() not in "KACF" or not operands:
        raise ValueError("order must be one of 'C', 'F', 'A', or 'K'")
    np.can_cast(np.float64, np.float64, casting=casting)  # type: ignore[arg-type]
    if out is not None and not isinstance(out, np.ndarray):
        raise TypeError("out must be an array")

    def ours(x: Any) -> tr.Tensor:
        array: Any = np.asarray(x)
        return tr.asarray(array if dtype is None else array.astype(dtype, casting=casting))

    notation, *given = operands
    if isinstance(notation, str):
        if "->" in notation:
            output = notation.rpartition("->")[2].replace(" ", "").replace(".", "")
            if len(set(output)) != len(output):
                raise ValueError("an output label is given once")
        found = tr.einsum(notation, *map(ours, given))
    else:
        parts = [ours(x) if i % 2 == 0 and i + 1 < len(operands) else list(x) for i, x in enumerate(operands)]
        found = tr.einsum(*parts)
    array = found.to_numpy()
    if out is None:
        return np.array(array, order="C" if order in "Cc" else "F" if order in "Ff" else "K")[()]
    if not np.can_cast(array.dtype, out.dtype, casting=casting):  # type: ignore[arg-type]
        raise TypeError("out cannot hold the result")
    out[...] = array
    return out


np.einsum = einsum  # type: ignore[assignment]
