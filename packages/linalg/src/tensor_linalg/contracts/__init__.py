"""Contracts of the family's kernels, as ``tensor_runtime.contracts`` has those of the runtime."""

from __future__ import annotations

from typing import Final

from tensor_linalg.contracts import decompositions, functions, solving
from tensor_linalg.contracts.common import CheckParams, EighParams, SVDParams

__all__ = ["KERNELS", "CheckParams", "EighParams", "SVDParams"]

KERNELS: Final = (*decompositions.KERNELS, *solving.KERNELS, *functions.KERNELS)
"""The contracts of this family, in the order of ``docs/kernels.md``."""
