"""Numbers and extents as arguments: Python's, and those of other libraries that stand for them."""

from collections.abc import Sequence
from typing import SupportsIndex

from tensor_runtime.tensors.tensor import ForeignNumber

Whole = int | ForeignNumber[int]
Real = float | ForeignNumber[float]
Extents = SupportsIndex | Sequence[SupportsIndex]
