"""Matrix decompositions over trailing batch axes: ``svd``, ``qr``, ``eigh``, ``cholesky``.

A tensor ``[M, N, B...]`` is one M x N matrix for every batch index; the result for a batch is the result for each
matrix. Operands may be any view (transposed, reversed, strided, broadcast) and are never written to; results are
owned, compact and column-major.

Dtypes are F32, F64, C32 (two F32) and C64 (two F64). Each function first checks that its operands are finite, which
reads one status word back from the device; ``check=False`` skips that, and then NaN or an infinity may hang LAPACK or
give numbers that mean nothing.

Signs and phases (the *gauge*) are whatever the method gives: they may differ between backends, sizes, thread counts and
versions, and are not continuous in the input. Only what the docstrings promise may be relied on.
"""

from __future__ import annotations

from tensor_linalg.decompositions.cholesky import cholesky
from tensor_linalg.decompositions.eigh import EighResult, eigh
from tensor_linalg.decompositions.qr import QRResult, qr
from tensor_linalg.decompositions.svd import SVDResult, svd

__all__ = ["EighResult", "QRResult", "SVDResult", "cholesky", "eigh", "qr", "svd"]
