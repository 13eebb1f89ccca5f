"""Strict change of dtype."""

from __future__ import annotations

from tensor_core.dtypes import DTypeLike
from tensor_runtime.dispatch.conversion import cast
from tensor_runtime.tensors.tensor import Tensor


def convert(x: Tensor, /, dtype: DTypeLike, *, overflow: str) -> Tensor:
    """Copy of another dtype; defined for every pair, with the policy written.

    It is ``tensor_runtime.cast``, which says what becomes of each value. ``tensor_runtime.convert`` refuses pairs that
    may lose values, so it is decided from dtypes alone.

    Args:
        x: any shape and layout.
        dtype: one of the seven, its name, or a NumPy dtype.
        overflow: "error", "saturate" or "wrap", for values that an integer dtype does not hold.

    Raises:
        CastRangeError: a value does not fit and ``overflow`` is "error".
        ArgumentError: another policy.
        DTypeError: no such dtype.

    >>> convert(tensor([1.9, -1.9]), "I32", overflow="error").to_numpy().tolist()
    [1, -1]
    """
    return cast(x, dtype, overflow)
