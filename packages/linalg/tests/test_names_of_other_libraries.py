"""What is written for functions of matrices that SciPy, PyTorch and JAX have under names of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg

import tensor_einsum
import tensor_linalg as tl
import tensor_runtime as tr
from tensor_runtime.ops import names_elsewhere

A: Final = np.array([[4.0, 1.0, 0.5], [-0.5, 3.0, 0.25], [1.0, -1.0, 2.0]])
B: Final = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0], [-2.0, 1.0, 0.25]])
SPD: Final = A @ A.T
ROOT: Final = np.linalg.cholesky(SPD)
TALL: Final = np.vstack([A, B])
TRIANGLE: Final = np.triu(A)
V: Final = np.array([1.0, -2.0, 0.5])
W: Final = np.array([0.5, 0.25, -1.0])
Q, R = np.linalg.qr(A)
QR: Final = {"q": Q, "r": R, "u": V, "v": W, "k": 1, "axis": 0}
SIX: Final = np.arange(6.0)
LINEAR: Final = {"x": A, "y": V}
TRIDIAGONAL: Final = {"d": SIX[:3], "e": V[:2]}

GIVEN: Final[Mapping[str, tuple[Any, Mapping[str, Any]]]] = {
    "addmm": (A + B @ SPD, {"x": A, "y": B, "z": SPD}),
    "adjoint": (A.T, {"x": A}),
    "chain_matmul": (A @ B @ SPD, {"matrices": [A, B, SPD]}),
    "cholesky_ex": (ROOT, {"x": SPD}),
    "cholesky_inverse": (scipy.linalg.inv(SPD), {"factor": ROOT, "rows": 3}),
    "cholesky_solve": (scipy.linalg.solve(SPD, B), {"factor": ROOT, "y": B}),
    "cholesky_update": (np.linalg.cholesky(SPD + np.outer(V, V)), {"x": SPD, "y": V}),
    "coshm": (scipy.linalg.coshm(A), {"x": A}),
    "dft": (scipy.linalg.dft(3), {"n": 3}),
    "diagsvd": (scipy.linalg.diagsvd(V, 3, 3), {"s": V}),
    "eigh_tridiagonal": (scipy.linalg.eigh_tridiagonal(SIX[:3], V[:2])[0], TRIDIAGONAL),
    "eigvalsh_tridiagonal": (scipy.linalg.eigvalsh_tridiagonal(SIX[:3], V[:2]), TRIDIAGONAL),
    "expm_frechet": (scipy.linalg.expm_frechet(A, B, compute_expm=False), {"x": A, "y": B, "n": 3}),
    "fractional_matrix_power": (scipy.linalg.fractional_matrix_power(A, 0.3), {"x": A, "t": 0.3}),
    "frobenius_norm": (np.linalg.norm(A), {"x": A}),
    "ger": (np.outer(V, W), {"x": V, "y": W}),
    "hadamard": (scipy.linalg.hadamard(4), {"n": 4}),
    "helmert": (scipy.linalg.helmert(3), {"n": 3}),
    "hilbert": (scipy.linalg.hilbert(3), {"n": 3}),
    "inv_ex": (scipy.linalg.inv(A), {"x": A}),
    "inverse": (scipy.linalg.inv(A), {"x": A}),
    "invhilbert": (scipy.linalg.invhilbert(3), {"n": 3}),
    "invpascal": (scipy.linalg.invpascal(3), {"n": 3}),
    "ishermitian": (scipy.linalg.ishermitian(SPD), {"x": SPD}),
    "issymmetric": (scipy.linalg.issymmetric(A), {"x": A}),
    "khatri_rao": (scipy.linalg.khatri_rao(TALL, B), {"x": TALL, "y": B}),
    "ldl_solve": (scipy.linalg.solve(A, B), {"x": A, "y": B}),
    "lobpcg": (scipy.linalg.eigvalsh(SPD)[-1:], {"x": SPD, "y": B[:, :1], "k": 1}),
    "logdet": (np.linalg.slogdet(A)[1], {"x": A}),
    "lsqr": (np.linalg.lstsq(TALL, SIX)[0], {"x": TALL, "y": SIX}),
    "matrix_exp": (scipy.linalg.expm(A), {"x": A}),
    "matrix_transpose": (A.T, {"x": A}),
    "mv": (A @ V, LINEAR),
    "nuclear_norm": (np.linalg.norm(A, "nuc"), {"x": A}),
    "onenormest": (scipy.sparse.linalg.onenormest(A), {"x": A}),
    "orthogonal_procrustes": (scipy.linalg.orthogonal_procrustes(A, B)[0], {"x": A, "y": B}),
    "pascal": (scipy.linalg.pascal(3), {"n": 3}),
    "pinverse": (scipy.linalg.pinv(TALL), {"x": TALL}),
    "pinvh": (scipy.linalg.pinvh(SPD), {"x": SPD}),
    "polar_unitary": (scipy.linalg.polar(A)[0], {"x": A}),
    "qdwh": (scipy.linalg.polar(A)[0], {"x": A}),
    "signm": (scipy.linalg.signm(B), {"x": B}),
    "sinhm": (scipy.linalg.sinhm(A), {"x": A}),
    "solve_circulant": (scipy.linalg.solve_circulant(SIX[2:5], B), {"x": SIX[2:5], "y": B}),
    "solve_ex": (scipy.linalg.solve(A, B), {"x": A, "y": B}),
    "solve_triangular": (scipy.linalg.solve_triangular(TRIANGLE, B), {"x": TRIANGLE, "y": B}),
    "spsolve": (scipy.linalg.solve(A, B), {"x": A, "y": B}),
    "spsolve_triangular": (scipy.linalg.solve_triangular(ROOT, B, lower=True), {"x": ROOT, "y": B}),
    "symeig": (scipy.linalg.eigvalsh(SPD), {"x": SPD}),
    "tanhm": (scipy.linalg.tanhm(A), {"x": A}),
    "tanm": (scipy.linalg.tanm(A), {"x": A}),
    "tridiagonal_solve": (
        np.linalg.solve(np.diag(SIX[3:]) + np.diag(V[1:], -1) + np.diag(W[:2], 1), B),
        {"lower": V, "d": SIX[3:], "upper": W, "y": B},
    ),
    **{
        name: (scipy.linalg.solve(A, V), LINEAR)
        for name in ("bicg", "bicgstab", "cgs", "gcrotmk", "lgmres", "qmr", "tfqmr")
    },
}
"""For a name what the other library gives, and the operands of the line; of several results the first is compared."""
PARTS: Final[Mapping[str, tuple[Any, Mapping[str, Any]]]] = {
    "pca_lowrank": (scipy.linalg.svdvals(TALL - TALL.mean(0)), {"x": TALL, "rank": 3, "seed": 0}),
    "svd_lowrank": (scipy.linalg.svdvals(TALL), {"x": TALL, "rank": 3, "seed": 0}),
}
"""The same of functions of which the singular values are compared."""
MAGNITUDES: Final[Mapping[str, tuple[Any, Mapping[str, Any]]]] = {
    "geqrf": (Q, {"x": A}),
    "householder_product": (Q, {"x": A}),
    "orgqr": (Q, {"x": A}),
    "ormqr": (Q @ B, {"x": A, "y": B}),
    "qr_delete": (scipy.linalg.qr(np.delete(A, 1, 0))[0], QR),
    "qr_insert": (Q, {"q": Q[:, :2], "r": R[:2, :2], "columns": A[:, 2:]}),
    "qr_multiply": (B @ Q, {"x": A, "y": B}),
    "qr_update": (scipy.linalg.qr_update(Q, R, V, W)[0], QR),
    "tridiagonal": (scipy.linalg.hessenberg(SPD), {"x": SPD}),
}
"""The same of functions whose results have free signs."""
NAMED: Final = frozenset({
    "ArpackError", "ArpackNoConvergence", "LinAlgError", "LinAlgWarning", "LinearOperator", "MatrixRankWarning",
    "aslinearoperator", "cho_factor", "factorized", "ldl_factor", "ldl_factor_ex", "lu_factor_ex", "lu_unpack",
    "rsf2csf", "spilu", "splu",
})  # fmt: skip
"""Names for which there is nothing to compare: classes, and factors in another form."""


def _written(name: str, operands: Mapping[str, Any]) -> Any:
    """What the line gives that the hint for a name has before its explanation."""
    line = re.split(r", (?:which|whose|where|after) ", names_elsewhere.MATRICES[name])[0]
    tensors: dict[str, Any] = {
        key: tr.asarray(value) if isinstance(value, np.ndarray) else value for key, value in operands.items()
    }
    if "matrices" in tensors:
        tensors["matrices"] = [tr.asarray(one) for one in tensors["matrices"]]
    return eval(line, {**vars(tr), "scipy": scipy, "tensor_linalg": tl, "tensor_einsum": tensor_einsum, **tensors})


@pytest.mark.parametrize("name", [*GIVEN, *PARTS, *MAGNITUDES])
def test_a_line_that_is_told_for_another_name_computes_what_that_does(name: str) -> None:
    expected, operands = (GIVEN | PARTS | MAGNITUDES)[name]  # type: ignore[operator]
    found = _written(name, operands)
    if isinstance(found, tuple):
        found = found.s if name in PARTS else found[0]  # type: ignore[attr-defined]
    found, expected = np.asarray(found), np.asarray(expected)
    if name in MAGNITUDES:
        found, expected = np.abs(found), np.abs(expected)
    np.testing.assert_allclose(found.squeeze(), expected.squeeze(), rtol=1e-7, atol=1e-9)


def test_every_name_has_a_line_that_is_run_or_none_to_run() -> None:
    run = GIVEN.keys() | PARTS.keys() | MAGNITUDES.keys()
    assert run | NAMED == names_elsewhere.MATRICES.keys() and not run & NAMED


def test_names_of_other_libraries_are_no_slips_of_ours() -> None:
    theirs = {*np.linalg.__all__, *scipy.linalg.__all__, *scipy.sparse.linalg.__all__, *names_elsewhere.MATRICES}
    for name in theirs - {*tl.__all__} - {"dsolve", "isolve"}:  # modules of SciPy that went
        with pytest.raises(AttributeError) as caught:
            getattr(tl, name)
        assert "did you mean" not in str(caught.value), name


@pytest.mark.parametrize(
    ("name", "meant"),
    [("choleski", "cholesky"), ("svdval", "svdvals"), ("eighvals", "eigvals"), ("slogdte", "slogdet")],
)
def test_a_slip_is_told_what_was_meant(name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=rf"did you mean: '{meant}'\?$"):
        getattr(tl, name)
