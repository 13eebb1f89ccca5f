"""What backends and their authors test with; needs the extra ``testing`` where it says so."""

from __future__ import annotations

from typing import Final

REQUIRED_KERNELS: Final = frozenset(
    {
        "broadcast_view",
        "copy_into",
        "diagonal_view",
        "full",
        "mutable_view",
        "reshape_view",
        "reverse_view",
        "slice_view",
        "transpose_view",
    }
)
"""Kernels without which the conformance suite cannot run on a backend: it lays operands out and writes with them."""
