"""Small results as Python numbers: by them iterations and truncations decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensor_runtime as tr


def numbers(x: tr.Tensor, /) -> list[Any]:
    """The elements as nested lists of Python numbers; a download where the tensor lies on a device.

    >>> numbers(tr.tensor([1.0, 2.0]))
    [1.0, 2.0]
    """
    here = x if x.placement is tr.CPU else tr.to(x, tr.CPU)
    found: list[Any] = here.to_numpy().tolist()
    return found


def from_numbers(
    values: Sequence[complex] | Sequence[Sequence[complex]], like: tr.Tensor, dtype: tr.DType, /
) -> tr.Tensor:
    """A tensor of these numbers, one or two deep, where another tensor lies.

    >>> from_numbers([1.0, 2.0], tr.ones(()), tr.F64).to_numpy().tolist()
    [1.0, 2.0]
    >>> from_numbers([[1.0], [2.0]], tr.ones(()), tr.C32).dtype is tr.C32
    True
    """
    return tr.tensor(list(values), dtype=dtype, placement=like.placement)
