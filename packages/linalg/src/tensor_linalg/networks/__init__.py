"""What tensor networks are made with: truncated decompositions, of matrices and between axes of tensors.

All are composed of public functions, so they run on every backend that has the decompositions.
"""

from __future__ import annotations

from tensor_linalg.networks.split import SplitResult, split
from tensor_linalg.networks.svd_truncated import TruncatedSVDResult, svd_truncated

__all__ = ["SplitResult", "TruncatedSVDResult", "split", "svd_truncated"]
