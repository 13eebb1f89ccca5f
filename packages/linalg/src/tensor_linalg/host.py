"""Small results as Python numbers: by them iterations and truncations decide."""

from __future__ import annotations

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
