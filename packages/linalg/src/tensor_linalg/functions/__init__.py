"""Numbers and matrices that are functions of a matrix."""

from __future__ import annotations

from tensor_linalg.functions.determinants import det

__all__ = ["det"]
