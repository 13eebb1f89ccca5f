"""Dense linear algebra on NumPy: decompositions, their values alone, ``solve``, ``inv``, ``det`` and ``slogdet``.

Tensors are ``[M, N, B...]``; their transposed arrays, which these kernels get and return, are ``(...B, N, M)``: stacks
of transposed matrices in the batch order of ``numpy.linalg``. Where the transposed problem has the same answer
(``svd``, ``cholesky``, ``inv``, ``det``, ``slogdet``) the transposed array goes in as it is and the results come out as
transposed arrays; ``qr``, ``eigh`` and ``solve`` need one transposition of the result. NumPy copies each matrix once,
computes F32 in F64 and C32 in C64, and rounds at the end.

A kernel checks its input (unless ``check`` is false), never writes to it, and returns compact arrays of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from tensor_core.errors import UnsupportedOperationError
from tensor_core.shapes import Shape
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.linalg.checks import (
    Array,
    bounded,
    first_bad_minor,
    first_failure,
    not_positive_definite,
    require_finite,
    require_indexable,
)
from tensor_cpu.kernels.linalg.limits.scaling import safe_det, safe_eig, safe_inv, safe_qr, safe_slogdet, safe_solve
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import MOST_AXES
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.errors import LinalgError, NotConvergedError, SingularMatrixError, matrix_at, of_matrix
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

_MOST_OPERAND_AXES: Final = MOST_AXES - 4  # NumPy's generalised functions want axes of their own beside the operand's


class Routine(NamedTuple):
    """One decomposition: how to compute it, how to explain that it failed, how many elements its largest array has."""

    compute: Callable[..., tuple[Array, ...]]
    explain: Callable[[Array], LinalgError]
    elements: Callable[..., int]


def svd(a: Array) -> tuple[Array, ...]:
    """Transposes of u, s, vh. With X = Aᵀ = U' S V'ᴴ, A = (V'ᴴ)ᵀ S U'ᵀ: that of u is V'ᴴ, that of vh is U'.

    No conjugation is involved, because A is the transpose of its transposed array, not the adjoint.

    >>> u, s, vh = svd(np.array([[3.0, 0.0], [0.0, 4.0]]))
    >>> s.tolist()
    [4.0, 3.0]
    """
    left, values, right = np.linalg.svd(bounded(a), full_matrices=False)
    return right, values + 0.0, left  # LAPACK may give a zero another sign


def svd_full(a: Array) -> tuple[Array, ...]:
    """Transposes of the square u, of s and of the square vh.

    >>> [part.shape for part in svd_full(np.ones((2, 3)))]
    [(3, 3), (2,), (2, 2)]
    """
    left, values, right = np.linalg.svd(bounded(a), full_matrices=True)
    return right, values + 0.0, left


def svdvals(a: Array) -> tuple[Array, ...]:
    """Singular values, which are those of the transposed arrays.

    >>> svdvals(np.array([[3.0, 0.0], [0.0, 4.0]]))[0].tolist()
    [4.0, 3.0]
    """
    return (np.linalg.svd(bounded(a), compute_uv=False) + 0.0,)


def qr(a: Array) -> tuple[Array, ...]:
    """Transposed arrays of q and r; the transposed problem would be an LQ factorisation, which NumPy lacks.

    >>> q, r = qr(np.array([[2.0]]))
    >>> (q * r).tolist()
    [[2.0]]
    """
    q, r = np.linalg.qr(_swap(a))
    return _swap(q), _swap(r)


def qr_complete(a: Array) -> tuple[Array, ...]:
    """Transposed arrays of the square q and of r with as many rows as the matrix.

    >>> [part.shape for part in qr_complete(np.ones((2, 3)))]
    [(3, 3), (2, 3)]
    """
    q, r = np.linalg.qr(_swap(a), mode="complete")
    return _swap(q), _swap(r)


def eigh(a: Array) -> tuple[Array, ...]:
    """Ascending eigenvalues and the transposed eigenvectors; reads the lower triangle of each tensor matrix.

    >>> eigh(np.array([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()
    [1.0, 2.0]
    """
    values, vectors = np.linalg.eigh(_swap(a), UPLO="L")
    return values, _swap(vectors)


def eigvalsh(a: Array) -> tuple[Array, ...]:
    """Ascending eigenvalues of the lower triangle of each tensor matrix, which is the array's upper one.

    >>> eigvalsh(np.array([[2.0, 0.0], [7.0, 1.0]]))[0].tolist()
    [1.0, 2.0]
    """
    return (np.linalg.eigvalsh(a, UPLO="U"),)


def eig(a: Array) -> tuple[Array, ...]:
    """Eigenvalues and the transposed eigenvectors, complex whatever they are.

    >>> eig(np.array([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()
    [(2+0j), (1+0j)]
    """
    values, vectors = np.linalg.eig(_swap(a))
    return _complex(values), _swap(_complex(vectors))


def eigvals(a: Array) -> tuple[Array, ...]:
    """Eigenvalues, which are those of the transposed arrays, complex whatever they are.

    >>> eigvals(np.array([[2.0, 7.0], [0.0, 1.0]]))[0].tolist()
    [(2+0j), (1+0j)]
    """
    return (_complex(np.linalg.eigvals(a)),)


def cholesky(a: Array) -> tuple[Array, ...]:
    """Transpose of the lower factor.

    The array's upper triangle is the tensor's lower one, and UᴴU = Aᵀ gives A = Uᵀ (Uᵀ)ᴴ.

    >>> cholesky(np.array([[4.0, 2.0], [7.0, 5.0]]))[0].tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    """
    return (np.linalg.cholesky(a, upper=True),)


def solve(a: Array, b: Array) -> tuple[Array, ...]:
    """Transposed array of x with A x = b.

    One matrix against many batches of columns is factored once: the batch of b is merged with its columns. Otherwise
    batch axes align at the tensor's last one, which is the transposed array's first, so the shorter transposed array
    gets extents of 1 before its matrix axes. Matrices beside an empty batch of columns are factored all the same.

    >>> solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([[2.0, 4.0]]))[0].tolist()
    [[1.0, 1.0]]
    """
    if b.ndim == 1:
        return (np.linalg.solve(_swap(a), b),)
    if a.ndim == 2:
        columns = b.reshape(prod(b.shape[:-1]), b.shape[-1])
        return (_compact(_swap(np.linalg.solve(_swap(a), columns.T))).reshape(b.shape),)
    if 0 in b.shape[:-2]:
        _try_solve(_swap(a))
    rank = max(a.ndim, b.ndim)
    return (_swap(np.linalg.solve(_swap(_pad_batch(a, rank)), _swap(_pad_batch(b, rank)))),)


def inv(a: Array) -> tuple[Array, ...]:
    """Transposed array of the inverse, which is the inverse of the transposed array.

    >>> inv(np.array([[2.0, 0.0], [0.0, 4.0]]))[0].tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return (np.linalg.inv(a),)


def det(a: Array) -> tuple[Array, ...]:
    """Determinants, which are those of the transposed arrays.

    >>> det(np.array([[2.0, 0.0], [7.0, 4.0]]))[0].round(12).tolist()
    8.0
    """
    return (np.linalg.det(a),)


def slogdet(a: Array) -> tuple[Array, ...]:
    """Signs and logarithms of the sizes of determinants, which are those of the transposed arrays.

    >>> [part.round(12).tolist() for part in slogdet(np.array([[-2.0, 0.0], [7.0, 1.0]]))]
    [-1.0, 0.69314718056]
    """
    return tuple(np.linalg.slogdet(a))


def _swap(stack: Array) -> Array:
    """View with the two matrix axes exchanged: transposed array to tensor matrix and back."""
    return stack.swapaxes(-1, -2)


def _pad_batch(transposed: Array, rank: int) -> Array:
    return transposed.reshape(transposed.shape[:-2] + (1,) * (rank - transposed.ndim) + transposed.shape[-2:])


def _complex(array: Array) -> Array:
    return array.astype(np.result_type(array.dtype, np.complex64), copy=False)


def _compact(array: Array) -> Array:
    return np.asarray(array, order="C")  # ascontiguousarray would give a determinant an axis


def not_converged(operation: str, batch: tuple[int, ...], matrix: Array | None = None, /) -> NotConvergedError:
    """The error of an iteration that failed on the matrix at a batch index, which need not be told.

    >>> print(not_converged("svd", (3,)))
    svd: the iteration of the matrix at batch index (3,) did not converge; it may for the matrix times a power of two
    >>> print(not_converged("svd", (3,), np.full((2, 2), np.nan)))
    svd: the iteration of the matrix at batch index (3,) did not converge: it holds NaN or infinity; accepted: finite \
elements, as check=True makes sure
    """
    why = "; it may for the matrix times a power of two"
    if matrix is not None and not np.isfinite(matrix).all():
        why = ": it holds NaN or infinity; accepted: finite elements, as check=True makes sure"
    return NotConvergedError(
        f"{operation}: the iteration{of_matrix(batch)} did not converge{why}",
        operation=operation,
        batch_index=batch,
        element_index=None,
    )


def _explain_iteration(operation: str, compute: Callable[[Array], object], a: Array) -> LinalgError:
    return not_converged(operation, *first_failure(compute, a))


def _explain_qr(a: Array) -> LinalgError:
    batch, _ = first_failure(qr, a)
    return LinalgError(
        f"qr: LAPACK refused the input{of_matrix(batch)}", operation="qr", batch_index=batch, element_index=None
    )


def _upper_factor(a: Array) -> Array:
    return np.linalg.cholesky(a, upper=True)


def _explain_cholesky(a: Array) -> LinalgError:
    batch, matrix = first_failure(_upper_factor, a)
    return not_positive_definite(first_bad_minor(_upper_factor, matrix), batch)


def _explain_solve(a: Array, *_: Array) -> LinalgError:
    return singular("solve", _swap(a), _try_solve)  # as it was factored: rounding may decide


def _explain_inv(a: Array) -> LinalgError:
    return singular("inv", a, _try_solve)


def singular(operation: str, a: Array, run: Callable[[Array], object], /) -> LinalgError:
    """The error of ``solve`` or ``inv`` that names the first matrix on which ``run`` raises ``LinAlgError``.

    >>> print(singular("inv", np.zeros((1, 1)), np.linalg.inv))
    inv: the matrix is exactly singular; pinv() gives the pseudo-inverse
    """
    return exactly_singular(operation, first_failure(run, a)[0])


def exactly_singular(operation: str, batch: tuple[int, ...], /) -> SingularMatrixError:
    """The error of ``solve`` or ``inv`` that names the matrix at a batch index.

    >>> print(exactly_singular("solve", (3,)))
    solve: the matrix at batch index (3,) is exactly singular; lstsq() gives the least-squares solution
    """
    instead = "lstsq() gives the least-squares solution" if operation == "solve" else "pinv() gives the pseudo-inverse"
    return SingularMatrixError(
        f"{operation}: {matrix_at(batch)} is exactly singular; {instead}",
        operation=operation,
        batch_index=batch,
        element_index=None,
    )


def _explain_det(a: Array) -> LinalgError:
    return LinalgError("det: LAPACK refused the input", operation="det", batch_index=(), element_index=None)


def _try_solve(a: Array) -> Array:
    return np.linalg.solve(a, np.zeros((a.shape[-1], 1)))


# Elements of the largest array or workspace, from the documentation of the LAPACK drivers.


def _svd_elements(a: Shape) -> int:
    short, long = sorted(a[:2])  # xGESDD: lwork of the real driver, lrwork of the complex one
    return max(short * long, 5 * short * short + 7 * short, 2 * long * short + 2 * short * short + short)


def _svd_full_elements(a: Shape) -> int:
    return max(_svd_elements(a), max(a[:2]) ** 2)


def _eigh_elements(a: Shape) -> int:
    return 2 * a[0] * a[0] + 6 * a[0] + 1  # xSYEVD and xHEEVD


def _matrix_elements(a: Shape) -> int:
    return a[0] * a[1]


def _complete_elements(a: Shape) -> int:
    return a[0] * max(a[:2])


def _solve_elements(a: Shape, b: Shape) -> int:
    columns = prod(b[1:] if len(a) == 2 else b[1:2])  # one matrix: the batch of b becomes columns
    return max(a[0] * a[1], a[0] * columns)


ROUTINES: Final[Mapping[str, Routine]] = {
    "svd": Routine(svd, partial(_explain_iteration, "svd", svd), _svd_elements),
    "svd_full": Routine(svd_full, partial(_explain_iteration, "svd", svd_full), _svd_full_elements),
    "svdvals": Routine(svdvals, partial(_explain_iteration, "svdvals", svdvals), _svd_elements),
    "qr": Routine(partial(safe_qr, qr), _explain_qr, _matrix_elements),
    "qr_complete": Routine(partial(safe_qr, qr_complete), _explain_qr, _complete_elements),
    "eigh": Routine(eigh, partial(_explain_iteration, "eigh", eigh), _eigh_elements),
    "eigvalsh": Routine(eigvalsh, partial(_explain_iteration, "eigvalsh", eigvalsh), _eigh_elements),
    "eig": Routine(partial(safe_eig, eig), partial(_explain_iteration, "eig", eig), _matrix_elements),
    "eigvals": Routine(partial(safe_eig, eigvals), partial(_explain_iteration, "eigvals", eigvals), _matrix_elements),
    "cholesky": Routine(cholesky, _explain_cholesky, _matrix_elements),
    "solve": Routine(partial(safe_solve, solve), _explain_solve, _solve_elements),
    "inv": Routine(partial(safe_inv, inv), _explain_inv, _matrix_elements),
    "det": Routine(partial(safe_det, det), _explain_det, _matrix_elements),
    "slogdet": Routine(partial(safe_slogdet, slogdet), _explain_det, _matrix_elements),
}
"""The decompositions by kernel name."""
_PUBLIC: Final = {"svd_full": "svd", "qr_complete": "qr"}  # what errors call kernels that options ask for


def bind(name: str, operands: tuple[Operand, ...], result: Result, check: bool) -> Kernel:
    """The kernel of one decomposition for these forms.

    Args:
        name: a key of :data:`ROUTINES`.
        operands: forms of floating or complex tensors whose shapes the operation's spec has accepted.
        result: a form, or a tuple of them; decides whether the kernel returns an array or a tuple.
        check: whether to check that the elements are finite.

    Raises:
        SizeLimitError: LAPACK's integers are too short for the shapes.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2, 2), CPU)
    >>> kernel = bind("cholesky", (form,), form, True)
    >>> kernel(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    >>> kernel(np.array([[4.0, 2.0], [2.0, 1.0]]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_runtime.errors.NotPositiveDefiniteError: cholesky: the leading 2x2 block is not positive definite; ...
    """
    routine, operation = ROUTINES[name], _PUBLIC.get(name, name)
    shapes = tuple(operand.shape for operand in operands if isinstance(operand, Form))
    require_indexable(operation, shapes[0], routine.elements(*shapes))
    checked = tuple(("ab"[i], min(2, len(shape))) for i, shape in enumerate(shapes)) if check else ()
    single = isinstance(result, Form)

    def kernel(*arrays: Array) -> Any:
        for (operand, core_rank), array in zip(checked, arrays, strict=False):  # nothing when unchecked
            require_finite(operation, operand, array, core_rank)
        if max(array.ndim for array in arrays) > _MOST_OPERAND_AXES:
            most = f"NumPy's kernel takes at most {_MOST_OPERAND_AXES} axes; reshape the batch axes to one"
            raise UnsupportedOperationError(f"{operation}: {most}", operation=operation)
        try:
            results = routine.compute(*arrays)
            return _compact(results[0]) if single else tuple(map(_compact, results))
        except LinAlgError:
            raise routine.explain(*arrays) from None

    return ignoring_fp_errors(kernel)


_OWN: Final = ROUTINES.keys() - {"eigh", "svd", "svdvals"}  # which have drivers
BINDERS: Final[Mapping[str, Binder]] = {name: taking_fields(partial(bind, name)) for name in _OWN}
