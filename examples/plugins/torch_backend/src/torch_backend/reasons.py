"""Why the backend lacks a kernel: what PyTorch has not, what the runtime promises otherwise, what is not written."""

from __future__ import annotations

from collections.abc import Mapping

import torch

_RANDOM = "numbers of a seed are the same on every backend, and PyTorch's generators draw others"
_ALGEBRA = "PyTorch has no contraction in algebras other than plus and times"
_ROUTINE: Mapping[str, str] = {
    "hessenberg": "Hessenberg reduction",
    "schur": "Schur decomposition",
    "qr_pivoted": "QR decomposition with pivots",
    "lu_complete": "LU decomposition with complete pivoting",
    "eigh_range": "decomposition for some eigenvalues alone",
    "solve_banded": "solver of banded systems",
    "solveh_banded": "solver of banded Hermitian systems",
    "solve_toeplitz": "solver of Toeplitz systems",
}
_OTHERS: Mapping[str, str] = {
    **dict.fromkeys(("uniform", "normal", "integers"), _RANDOM),
    **dict.fromkeys(("semiring_contract", "semiring_unary_einsum"), _ALGEBRA),
    **{name: f"PyTorch has no {routine}" for name, routine in _ROUTINE.items()},
    "elementwise_program": "a fused function runs step by step",
}
_ENDINGS: Mapping[str, str] = {
    "_overwriting": "the example computes into memory of its own, and leaves operands as they are",
    "_status": "the example raises where a matrix has no result, and tells of no batch which ones have",
    "_unchecked": "the example has no quotients and remainders of whole numbers",
}


def reason(name: str, /) -> str:
    """Why there is no kernel of this name.

    >>> reason("schur"), reason("sort")
    ('PyTorch has no Schur decomposition', 'the example has no kernel on torch.sort')
    """
    if name in _OTHERS:
        return _OTHERS[name]
    for ending, why in _ENDINGS.items():
        if name.endswith(ending):
            return why
    for library, module in (
        ("torch", torch),
        ("torch.linalg", torch.linalg),
        ("torch.nn.functional", torch.nn.functional),
    ):
        if hasattr(module, name):
            return f"the example has no kernel on {library}.{name}"
    return f"PyTorch has no function named {name}, and the example does not make one of others"
