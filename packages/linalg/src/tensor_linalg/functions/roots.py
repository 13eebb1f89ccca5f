"""Square roots, logarithms and other functions of square matrices over trailing batch axes.

F32 and C32 are computed in F64 and C64, and rounded once, but for functions of eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, overload

from tensor_core.dtypes import F64
from tensor_core.errors import ArgumentError, ShapeError
from tensor_linalg.composed import failing_as
from tensor_linalg.decompositions import eigh
from tensor_linalg.functions.exponentials import cast_back, identities, prepared
from tensor_linalg.functions.logarithms import (
    MOST_ROOTS,
    NEAR,
    is_far,
    logarithm_beside_identity,
    logarithm_by_schur,
    uneven,
)
from tensor_linalg.functions.square_roots import (
    ALONE,
    iterated,
    one_by_one,
    root_by_triangle,
    square_root,
    without_root,
)
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.operands import first, floating, no_tensor, require_finite, some, unit_of
from tensor_linalg.products import matmul, mH
from tensor_linalg.solving.condition import one_norm
from tensor_linalg.specs.shapes import square_axes
from tensor_linalg.targets import placed
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.out import Out
from tensor_runtime.errors import NotConvergedError, NotPositiveDefiniteError, matrix_at
from tensor_runtime.ops import exponential
from tensor_runtime.ops.arithmetic import abs, multiply, negative, subtract
from tensor_runtime.ops.comparison import equal, greater, less, less_equal
from tensor_runtime.ops.diagonals import extract_diagonal
from tensor_runtime.ops.logic import logical_and, logical_not, logical_or
from tensor_runtime.ops.reduction import all, max, min
from tensor_runtime.ops.rounding import isfinite
from tensor_runtime.ops.selection import maximum, where
from tensor_runtime.ops.views import copy, expand_dims
from tensor_runtime.tensors.tensor import Tensor, unwrap

_MANY: Final = 7
"""Roots after which what is lost in them is looked for: an element may miss 2⁷ rounding units."""
_BEYOND: Final = "a logarithm beyond the range of F64", "accepted: matrices nearer to normal"
_SURE: Final = 2.0**-13
"""Share of the largest eigenvalue above which others have so many digits that logarithms by them are hardly worse."""
_EVEN: Final = 2.0**-4
"""The same of elements on the diagonal: in a matrix that is graded, roots keep digits that eigenvalues lose."""


@overload
def sqrtm(a: Tensor, /, *, hermitian: bool = False, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def sqrtm(
    a: Tensor, /, *, hermitian: bool = False, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def sqrtm(
    a: Tensor, /, *, hermitian: bool = False, check: Check = True, out: Any = None
) -> Tensor | MaskedResult[Tensor]:
    """Principal square roots of square matrices, whose eigenvalues have no negative real parts.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64. Real matrices have real roots, and no eigenvalues on the closed
            negative real axis; complex ones may have such, whose roots lie on the positive imaginary axis, but 0 once
            at most.
        hermitian: take the matrices to be Hermitian and positive semidefinite, of which the lower triangle is read;
            they may be singular.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        X [N, N, B...] with X X ≈ A, of the operand's dtype; owned, compact. The error of X is some rounding units of
        F64 times N and the condition number of X, times its norm.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        ArgumentError: another ``hermitian`` or ``check``.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        NotConvergedError: the real matrix at ``batch_index`` has an eigenvalue on the closed negative real axis, or so
            near it that no real root is found; or the complex one has the eigenvalue 0 more than once; or a root is so
            large beside its matrix, which then is far from normal, that its square has less than half of the digits.
        NotPositiveDefiniteError: with ``hermitian``, the matrix at ``batch_index`` has a negative eigenvalue.

    Source: Denman and Beavers' iteration in product form with scaling: Cheng, Higham, Kenney and Laub, Approximating
    the logarithm of a matrix to specified accuracy, SIAM J. Matrix Anal. Appl. 22 (2001), 1112-1125; Higham, Functions
    of Matrices, SIAM 2008, §6.3. Where the square of its limit is not A to some digits less than all, and where it
    has no limit, Björck and Hammarling's method on Schur's triangle is taken: Linear Algebra Appl. 52/53
    (1983), 127-140; Higham, §6.2. Upper triangular matrices of more than 64 rows are such triangles at once. What it
    finds has a square that is A to half the digits at least, or is an error.

    >>> import tensor_runtime as tr
    >>> sqrtm(tr.tensor([[4.0, 5.0], [0.0, 9.0]])).to_numpy().round(12).tolist()
    [[2.0, 1.0], [0.0, 3.0]]
    """
    if check is not True and asks_for_mask(check):
        return masked_result("sqrtm", lambda x: sqrtm(x, hermitian=hermitian, check=False), a, out=out)
    if flag("sqrtm", "hermitian", hermitian):
        found = _of_positive("sqrtm", prepared("sqrtm", a, check), exponential.sqrt, unit_of(a.dtype))
        return placed("sqrtm", cast_back(found, a.dtype), out, a)
    return placed("sqrtm", square_root(a, check is True or checks("sqrtm", check)), out, a)


@overload
def logm(a: Tensor, /, *, hermitian: bool = False, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def logm(
    a: Tensor, /, *, hermitian: bool = False, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def logm(
    a: Tensor, /, *, hermitian: bool = False, check: Check = True, out: Any = None
) -> Tensor | MaskedResult[Tensor]:
    """Principal logarithms of square matrices, whose eigenvalues have imaginary parts from -π, excluded, to π.

    Args:
        a: shape [N, N, B...], invertible; F32, F64, C32 or C64. Real matrices have real logarithms, and no eigenvalues
            on the negative real axis; complex ones may have such, whose logarithms have the imaginary part π.
        hermitian: take the matrices to be Hermitian and positive definite, of which the lower triangle is read.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        X [N, N, B...] with exp(X) ≈ A, of the operand's dtype; owned, compact. The error is that of repeated square
        roots: some rounding units of F64 times N and the condition number of the first root, times the norm of X. Of
        triangles, upper or lower, whose logarithms are larger than about 32, that of each element is some rounding
        units of the products along the diagonal and above it that make it.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        ArgumentError: another ``hermitian`` or ``check``.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        NotConvergedError: the real matrix at ``batch_index`` has an eigenvalue on the closed negative real axis, or so
            near it that it has no square root here; or a root is so large that :func:`sqrtm` refuses it, but not for
            triangles; or the logarithm is beyond the range; or the complex matrix is singular. What is looked for is an
            exactly zero pivot or eigenvalue, not the rank: of a singular matrix with neither, to which rounding gives
            an eigenvalue near 0, the result is the logarithm of a matrix beside it.
        NotPositiveDefiniteError: with ``hermitian``, the matrix at ``batch_index`` has an eigenvalue that is not
            positive.

    Source: inverse scaling and squaring, Higham, Functions of Matrices, SIAM 2008, §11.5, with the approximant of
    degree 8 in partial fractions. Triangles, also permuted ones, and matrices that a diagonal similarity evens out, by
    Schur's triangle where they need more than seven roots, or have none that is found: Al-Mohy and Higham, SIAM J. Sci.
    Comput. 34 (2012), C153-C169. Matrices of more than 64 rows that are exactly Hermitian, not near the identity,
    of a condition below 2¹³ and a diagonal whose elements differ by 2⁴ at most, by eigenvalues and eigenvectors, which
    is faster.

    >>> import tensor_runtime as tr
    >>> abs(logm(tr.tensor([[1.0, 3.0], [0.0, 1.0]]))).to_numpy().round(12).tolist()
    [[0.0, 3.0], [0.0, 0.0]]
    """
    if check is not True and asks_for_mask(check):
        return masked_result("logm", lambda x: logm(x, hermitian=hermitian, check=False), a, out=out)
    wide = prepared("logm", a, check)
    if flag("logm", "hermitian", hermitian):
        return placed("logm", cast_back(_of_positive("logm", wide, exponential.log, None), a.dtype), out, a)
    found = copy(wide) if 0 in a.shape else _logarithm(wide)
    return placed("logm", cast_back(found, a.dtype), out, a)


@overload
def funm(a: Tensor, function: Callable[[Tensor], Tensor], /, *, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def funm(
    a: Tensor,
    function: Callable[[Tensor], Tensor],
    /,
    *,
    check: Literal["mask"],
    out: MaskedResult[Tensor] | None = None,
) -> MaskedResult[Tensor]: ...
def funm(
    a: Tensor, function: Callable[[Tensor], Tensor], /, *, check: Check = True, out: Any = None
) -> Tensor | MaskedResult[Tensor]:
    """A function of Hermitian matrices, V f(w) Vᴴ, by their eigenvalues and eigenvectors; SciPy's is of any matrix.

    Args:
        a: shape [N, N, B...], Hermitian, of which the lower triangle is read; F32, F64, C32 or C64.
        function: from the eigenvalues, a real tensor [N, B...], to a floating or complex tensor of that shape, element
            by element, such as ``tensor_runtime.exp``.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [N, N, B...], of the dtype that ``a`` and the function's values promote to; owned, compact. The error is
        that of the function and of :func:`eigh`: some rounding units times N and the largest value of the function,
        and what the function makes of errors of the eigenvalues.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square; a function that gives another shape.
        ArgumentError, ForeignOperandError: a function that gives no tensor; an array of another library.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.
        NotConvergedError: LAPACK's iteration failed for the matrix at ``batch_index``.

    Source: Higham, Functions of Matrices, SIAM 2008, §4.5.

    >>> import tensor_runtime as tr
    >>> funm(tr.tensor([[2.0, 1.0], [1.0, 2.0]]), tr.log).to_numpy().round(6).tolist()
    [[0.549306, 0.549306], [0.549306, 0.549306]]
    """
    if check is not True and asks_for_mask(check):
        return masked_result("funm", lambda x: funm(x, function, check=False), a, out=out)
    check = checks("funm", check)
    if not callable(function):
        raise ArgumentError(
            f"funm: function is a {type(function).__name__}; accepted: a function of a tensor", operation="funm"
        )
    square_axes("funm", unwrap("funm", a)[0].shape)
    floating("funm", a)
    if check:
        require_finite("funm", "a", a)
    with failing_as("funm"):
        values, vectors = eigh(a, check=False)
    found = function(values)
    if not isinstance(found, Tensor):
        rest = "; accepted: a tensor, one element for each eigenvalue"
        raise no_tensor("funm", "the function gave", found, rest)
    if found.shape != values.shape:
        raise ShapeError(
            f"funm: the function gave shape {found.shape}; accepted: that of the eigenvalues, {values.shape}",
            operation="funm",
            shape=found.shape,
        )
    return placed("funm", _with_values(vectors, found), out, a)


def _with_values(vectors: Tensor, values: Tensor) -> Tensor:
    return matmul(multiply(vectors, expand_dims(values, 0)), mH(vectors))


def _of_positive(operation: str, a: Tensor, function: Callable[[Tensor], Tensor], unit: float | None) -> Tensor:
    """The function of positive definite matrices; given a rounding unit, of semidefinite ones that are rounded so."""
    with failing_as(operation):
        values, vectors = eigh(a, check=False)
    if a.shape[0]:
        smallest = values[0]
        if unit is not None:
            bad = less(smallest, negative(multiply(max(abs(values), 0), a.shape[0] * unit)))
            values = maximum(values, 0.0)
        else:
            bad = less_equal(smallest, 0.0)
        if some(bad):
            batch = first(bad)
            kind = "definite" if unit is None else "semidefinite"
            text = (
                f"{operation}: {matrix_at(batch)} has the eigenvalue "
                f"{smallest[batch].item():.3g}; accepted: positive {kind} matrices with hermitian=True"
            )
            raise NotPositiveDefiniteError(text, operation=operation, batch_index=batch, element_index=None)
    return _with_values(vectors, function(values))


def _logarithm(a: Tensor) -> Tensor:
    one = identities(a)
    if a.shape[0] > ALONE:
        hermitian = all(equal(subtract(a, mH(a)), 0.0), (0, 1))
        return one_by_one(a, hermitian, _by_eigenvalues, lambda rest: _by_roots(rest, one))
    return _by_roots(a, one)


def _by_eigenvalues(a: Tensor) -> Tensor | None:
    """The logarithm of a Hermitian matrix; None of one near the identity, and where an eigenvalue may lack digits."""
    diagonal = abs(extract_diagonal(a, axes=(0, 1)))
    even = greater(min(diagonal), multiply(max(diagonal), _EVEN))
    if not some(logical_and(even, greater(one_norm(subtract(a, identities(a))), NEAR))):
        return None
    try:
        values, vectors = eigh(a, check=False)
    except NotConvergedError:
        return None
    sure = some(greater(values[0], multiply(values[-1], _SURE)))
    return _with_values(vectors, exponential.log(values)) if sure else None


def _by_roots(a: Tensor, one: Tensor) -> Tensor:
    """Logarithms by square roots until the identity is near; of uneven matrices that take many, by Schur's triangle."""
    root, lost = a, less(one_norm(a), 0.0)  # of no matrix
    rough: Tensor | None = None
    factor: Tensor | None = None
    for count in range(MOST_ROOTS):
        far = is_far(root, one)
        if not some(far):
            break
        before = where(far, root, one)
        found, missed = iterated("logm", before, False)
        if missed is not None or count == _MANY:
            rough = uneven(a) if rough is None else rough
            given_up = logical_and(rough, far if missed is None or count == _MANY else missed)
            found, lost = where(given_up, one, found), logical_or(lost, given_up)
            if missed is not None and some(missed := logical_and(missed, logical_not(given_up))):
                found = where(missed, root_by_triangle("logm", before, missed), found)
        root = where(far, found, root)
        twice = where(far, 2.0, 1.0)
        factor = twice if factor is None else multiply(factor, twice)
    else:
        lost = logical_or(lost, is_far(root, one))
    near = logarithm_beside_identity(subtract(root, one), one)
    near = near if factor is None else multiply(near, factor)
    if not some(lost):
        return near
    with failing_as("logm"):
        others, without = logarithm_by_schur(where(lost, a, one))
    beyond = logical_not(all(isfinite(others), (0, 1)))
    if some(bad := logical_or(without, beyond)):
        raise without_root("logm", bad, a.dtype is F64, None if without[first(bad)].item() else _BEYOND)
    return where(lost, others, near)
