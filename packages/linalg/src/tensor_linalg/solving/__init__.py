"""Linear systems, and what is had by solving some."""

from __future__ import annotations

from tensor_linalg.solving.inverses import inv
from tensor_linalg.solving.systems import solve

__all__ = ["inv", "solve"]
