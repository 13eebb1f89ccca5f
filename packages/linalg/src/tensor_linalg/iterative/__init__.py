"""Krylov methods for a caller's function on tensors of any rank: systems, eigenvalues, singular values, exponentials.

A map is a function from a tensor to a tensor of the same shape, whatever its rank, or a tensor ``[*shape, *shape]``;
nobody flattens anything. Vectors lie in one tensor, products with them are ``dot_general``, and each step reads a
number or two back to the host, by which it decides. The same start gives the same bits on one machine.

Where a right-hand side has trailing batch axes, each column is iterated with numbers of its own. ``eigsh``, ``eigs``
and ``svds`` look for pairs of one map from one start; trailing batch axes of the start, as ``batch_rank`` counts them,
make it a block, whose vectors span one space together.

A callback is told ``Progress`` and stops the iteration by returning True. Ctrl-C stops it too: the best so far is
returned, with ``interrupted=True``. Before the first product with A has ended (``svds``: with AᴴA) there is nothing to
return, and ``KeyboardInterrupt`` goes on to the caller. Where one iteration makes the products of another, as a
``solve=`` by ``minres`` does, both stop, whatever is made of the result of the inner one.

No more than ``maxiter`` products with A are made (``svds``: with AᴴA), that for the residual of ``x0`` among them;
``svds`` makes up to ``k`` more with A at its end, for left vectors, and to a smaller space one with A at its beginning
and those ``k`` with Aᴴ. One product with a block, or with all columns of a right-hand side, counts as one.
``iterations`` counts those that ended. Nothing is raised where an iteration does not converge: ``converged`` says so,
of ``cg`` and ``minres`` only where one of the products has shown it. NaN and infinities are errors, wherever they come
from: a right-hand side, an image, or products that overflow.
"""

from __future__ import annotations

from tensor_linalg.iterative.cg import cg
from tensor_linalg.iterative.eigs import eigs
from tensor_linalg.iterative.eigsh import eigsh
from tensor_linalg.iterative.expm_multiply import ExponentialResult, expm_multiply
from tensor_linalg.iterative.gmres import gmres
from tensor_linalg.iterative.lsmr import lsmr
from tensor_linalg.iterative.minres import minres
from tensor_linalg.iterative.results import EigenSearchResult, Progress, SolverResult
from tensor_linalg.iterative.svds import SingularResult, svds

__all__ = [
    "EigenSearchResult",
    "ExponentialResult",
    "Progress",
    "SingularResult",
    "SolverResult",
    "cg",
    "eigs",
    "eigsh",
    "expm_multiply",
    "gmres",
    "lsmr",
    "minres",
    "svds",
]
