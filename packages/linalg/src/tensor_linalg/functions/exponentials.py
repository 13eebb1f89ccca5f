"""Exponentials, sines and cosines of square matrices over trailing batch axes, by scaling and squaring.

F32 and C32 are computed in F64 and C64, and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any, Final, Literal, TypeVar, overload

from tensor_core.dtypes import C64, F64, DType, TensorScalar
from tensor_linalg.functions.balances import balancing_powers, rescaled
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result
from tensor_linalg.operands import floating, lent, require_finite, some
from tensor_linalg.products import matmul, matvec, mT
from tensor_linalg.solving.condition import one_norm
from tensor_linalg.solving.systems import solve
from tensor_linalg.specs.functions import EXPM
from tensor_linalg.specs.shapes import square_axes
from tensor_linalg.targets import placed
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.conversion import cast, convert
from tensor_runtime.dispatch.out import Out
from tensor_runtime.ops import complex_parts, exponential
from tensor_runtime.ops.arithmetic import abs, add, divide, multiply, subtract
from tensor_runtime.ops.comparison import greater
from tensor_runtime.ops.creation import eye, full
from tensor_runtime.ops.logic import logical_and, logical_not
from tensor_runtime.ops.reduction import max
from tensor_runtime.ops.rounding import ceil
from tensor_runtime.ops.selection import maximum, minimum, where
from tensor_runtime.ops.views import copy
from tensor_runtime.tensors.tensor import Tensor, TypedTensor, unwrap

T = TypeVar("T", bound=TensorScalar)
Number = Tensor | float
"""A norm, or what matrices are scaled by: a float of one matrix on the host, else a tensor [B...]."""
SMALL: Final = 16
"""Rows up to which exponentials and square roots ask for kernels; of larger matrices products take the time."""
_PADE: Final = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
"""Coefficients of the numerator of the Padé approximant of degree 13."""
_LARGEST: Final = 5.371920351148152
"""Norm up to which that approximant is exact to a rounding unit of F64."""
_SMALLER: Final = (
    (1.495585217958292e-2, (120.0, 60.0, 12.0, 1.0)),
    (2.539398330063230e-1, (30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0)),
    (0.5, (51891840.0, 25945920.0, 5987520.0, 831600.0, 75600.0, 4536.0, 168.0, 3.0)),
)
"""Norms up to which degrees 3, 5 and 7 are exact as well, and their coefficients; those of degree 7, which is so up to
0.95, three times the usual ones: 17297280 lies just above a power of two, where rounding takes most."""
_COEFFICIENTS: Final = (*(coefficients for _, coefficients in _SMALLER), _PADE)
_REMAINDER: Final = 1 / 113250775606021113483283660800000000.0
"""Size of the first coefficient that the approximant gets wrong, that of power 27."""
_BALANCED: Final = 2.0**20
"""Norm beyond which matrices are looked at for a similarity that makes them smaller."""
_CUBED: Final = 40
"""Rows up to which two products of matrices take less time than 16 of a matrix and a vector."""
_MOST: Final = 1100
"""Halvings after which every number of F64 is small."""
_MOST_DOUBLED: Final = 2.0**150
"""A factor whose sixth power does not overflow."""


@overload
def expm(a: TypedTensor[T], /, *, check: bool = True, out: None = None) -> TypedTensor[T]: ...
@overload
def expm(a: Tensor, /, *, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def expm(a: Tensor, /, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None) -> MaskedResult[Tensor]: ...
def expm(a: Tensor, /, *, check: Check = True, out: Any = None) -> Tensor | MaskedResult[Tensor]:
    """Exponentials of square matrices, by a Padé approximant with scaling and squaring.

    Each matrix of a batch is scaled by a power of two of its own, so that it has the digits that it has alone.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [N, N, B...], of the operand's dtype; owned, compact. It is the exponential of a matrix that differs from
        A by a rounding unit of F64 times its norm, but for the rounding errors of the squarings, which for matrices
        that are far from normal may be larger. Values beyond the dtype's range become infinite or NaN.

    Raises:
        DTypeError: an integer or Bool tensor; convert it first.
        ShapeError: fewer than two axes, or matrices that are not square.
        ArgumentError: another ``check``.
        NonFiniteError: NaN or an infinity, with ``batch_index`` and ``element_index``.

    Source: Al-Mohy and Higham, A new scaling and squaring algorithm for the matrix exponential, SIAM J. Matrix Anal.
    Appl. 31 (2009), 970-989; Higham, Functions of Matrices, SIAM 2008, §10.3. Matrices of norms beyond 2²⁰ are scaled
    by a diagonal similarity first, exactly, so that large elements that lie on no cycle cost no digits.

    >>> import tensor_runtime as tr
    >>> expm(tr.tensor([[0.0, 1.0], [0.0, 0.0]])).to_numpy().tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    if check is not True and asks_for_mask(check):
        return masked_result("expm", lambda x: expm(x, check=False), a, out=out)
    checked = check is True or checks("expm", check)
    rows = square_axes("expm", unwrap("expm", a)[0].shape)[0]
    if rows == 1:
        return placed("expm", cast_back(exponential.exp(prepared("expm", a, checked)), a.dtype), out, a)
    if rows <= SMALL:
        return execute_with_params(EXPM, a, checked, out)
    return placed("expm", by_squaring("expm", a, checked), out, a)


def by_squaring(operation: str, a: Tensor, check: bool, /) -> Tensor:
    """Exponentials of matrices of any size, by products and systems of the backend.

    >>> import tensor_runtime as tr
    >>> by_squaring("expm", tr.zeros((1, 1)), True).to_numpy().tolist()
    [[1.0]]
    """
    return cast_back(_exponential(prepared(operation, a, check)), a.dtype)


@overload
def cosm(a: TypedTensor[T], /, *, check: bool = True, out: None = None) -> TypedTensor[T]: ...
@overload
def cosm(a: Tensor, /, *, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def cosm(a: Tensor, /, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None) -> MaskedResult[Tensor]: ...
def cosm(a: Tensor, /, *, check: Check = True, out: Any = None) -> Tensor | MaskedResult[Tensor]:
    """Cosines of square matrices, by exponentials of i A.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [N, N, B...], of the operand's dtype; owned, compact. The error is that of the exponentials of i A and
        -i A, which for complex matrices may be much larger than the cosine.

    Raises:
        DTypeError, ShapeError, NonFiniteError: as for :func:`expm`.

    Source: Higham, Functions of Matrices, SIAM 2008, §12.

    >>> import tensor_runtime as tr
    >>> cosm(tr.zeros((2, 2))).to_numpy().round(15).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if check is not True and asks_for_mask(check):
        return masked_result("cosm", lambda x: cosm(x, check=False), a, out=out)
    return placed("cosm", _circular("cosm", a, check), out, a)


@overload
def sinm(a: TypedTensor[T], /, *, check: bool = True, out: None = None) -> TypedTensor[T]: ...
@overload
def sinm(a: Tensor, /, *, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def sinm(a: Tensor, /, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None) -> MaskedResult[Tensor]: ...
def sinm(a: Tensor, /, *, check: Check = True, out: Any = None) -> Tensor | MaskedResult[Tensor]:
    """Sines of square matrices, by exponentials of i A.

    Args:
        a: shape [N, N, B...]; F32, F64, C32 or C64.
        check: raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [N, N, B...], of the operand's dtype; owned, compact. The error is that of the exponentials of i A and
        -i A less the identity, which for complex matrices may be much larger than the sine.

    Raises:
        DTypeError, ShapeError, NonFiniteError: as for :func:`expm`.

    Source: Higham, Functions of Matrices, SIAM 2008, §12.

    >>> import tensor_runtime as tr
    >>> sinm(tr.zeros((2, 2))).to_numpy().tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    if check is not True and asks_for_mask(check):
        return masked_result("sinm", lambda x: sinm(x, check=False), a, out=out)
    return placed("sinm", _circular("sinm", a, check), out, a)


def prepared(operation: str, a: Tensor, check: Check) -> Tensor:
    """The operand in F64 or C64, after the checks that all functions of square matrices make.

    >>> import tensor_runtime as tr
    >>> prepared("expm", tr.ones((1, 1), dtype="F32"), True).dtype
    F64
    """
    check = checks(operation, check)
    square_axes(operation, unwrap(operation, a)[0].shape)
    dtype = floating(operation, a)
    if check:
        require_finite(operation, "a", a)
    wide = C64 if dtype.kind == "complex" else F64
    return a if a.dtype is wide else convert(a, wide)


def cast_back(x: Tensor, dtype: DType, /) -> Tensor:
    """The result in the operand's dtype.

    >>> import tensor_runtime as tr
    >>> cast_back(tr.ones(1), tr.F32).dtype
    F32
    """
    return x if x.dtype is dtype else cast(x, dtype)


def identities(a: Tensor, /) -> Tensor:
    """One identity that broadcasts against matrices [N, N, B...], shape [N, N, 1...].

    >>> import tensor_runtime as tr
    >>> identities(tr.zeros((2, 2, 5))).shape
    (2, 2, 1)
    """
    one = eye(a.shape[0], dtype=a.dtype, placement=a.placement)
    return one.reshape(*one.shape, *(1,) * (a.rank - 2))


def _circular(operation: str, a: Tensor, check: Check) -> Tensor:
    wide = prepared(operation, a, check)
    sine = operation == "sinm"
    forward = _exponential_of_any(multiply(wide, 1j), sine)
    if wide.dtype is F64:
        part = complex_parts.imag(forward) if sine else complex_parts.real(forward)
        return cast_back(part, a.dtype) if a.dtype is not F64 else copy(part)
    backward = _exponential_of_any(multiply(wide, -1j), sine)
    if sine:
        return cast_back(multiply(subtract(forward, backward), -0.5j), a.dtype)
    return cast_back(multiply(add(forward, backward), 0.5), a.dtype)


def _exponential_of_any(a: Tensor, less_one: bool) -> Tensor:
    """The same by the kernel of small matrices, which does not take the identity off."""
    if less_one or 0 in a.shape or a.shape[0] > SMALL:
        return _exponential(a, less_one)
    return execute_with_params(EXPM, a, False)


def _exponential(a: Tensor, less_one: bool = False, balanced: bool = False) -> Tensor:
    """exp(A), or exp(A) - 1 with the digits of its own that a small A leaves it."""
    if 0 in a.shape:
        return copy(a)
    size = _read(one_norm(a))
    factors, degree = _coefficients(size)
    if degree == 13 and not balanced and _some(large := size > _BALANCED):
        shifts = balancing_powers(a)
        if isinstance(large, Tensor):
            shifts = where(large, shifts, 0.0)
        return rescaled(_exponential(rescaled(a, shifts), less_one, True), shifts, -1)
    halvings: Number | None = None
    if degree < 13:
        b, powers = a, [matmul(a, a)]
        while len(powers) < degree // 2:
            powers.append(matmul(powers[-1], powers[0]))
    else:
        scale, halvings, powers = _scaled(a, size)
        b = multiply(a, scale)
    powers.insert(0, identities(a))

    def combined(first: int, last: int, taken_out: int) -> Tensor:
        """Every other term from one power of A to another, without as many factors of A."""
        found: Tensor | None = None
        for k in range(last, first - 1, -2):
            term = multiply(powers[(k - taken_out) // 2], factors[k])
            found = term if found is None else add(found, term)
        assert found is not None
        return found

    odd, even = combined(1, min(degree, 7), 1), combined(0, min(degree - 1, 6), 0)
    if degree == 13:
        odd, even = (add(matmul(powers[3], combined(8 + k, 12 + k, 6 + k)), low) for k, low in ((1, odd), (0, even)))
    odd = matmul(b, odd)
    x = solve(subtract(even, odd), multiply(odd, 2.0) if less_one else add(even, odd), check=False)
    if halvings is None:
        return x
    for k in range(_MOST):
        more = halvings > float(k)
        if not _some(more):
            break
        squared = matmul(x, x)
        squared = add(squared, multiply(x, 2.0)) if less_one else squared
        x = where(more, squared, x) if isinstance(more, Tensor) and more.rank else squared
    return x


def _read(x: Tensor) -> Number:
    """The number itself of one matrix on the host: of such Python computes in a tenth of the time, to the same bits."""
    array = None if x.rank else lent(x)
    return x if array is None else float(array)


def _some(condition: Tensor | bool) -> bool:
    return some(condition) if isinstance(condition, Tensor) else condition


def _both(one: Tensor | bool, other: Tensor | bool) -> Tensor | bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return logical_and(one, other)
    return one and other


def _where(condition: Tensor | bool, x: Number, y: Number) -> Number:
    if isinstance(condition, Tensor):
        return where(condition, x, y)
    return x if condition else y


def _coefficients(size: Number) -> tuple[Sequence[Tensor | float], int]:
    """Coefficients of approximants for matrices of these norms, each its own, and the highest of their degrees.

    Those beyond the degree of a matrix are zeros, so that its terms add up to what they are without others beside it.
    """
    fits = [size <= norm for norm, _ in _SMALLER]
    least = next((k for k, one in enumerate(fits) if _some(one)), len(fits))
    most = least
    if isinstance(size, Tensor) and size.rank:
        most = next(
            (k for k, one in enumerate(fits) if isinstance(one, Tensor) and not some(logical_not(one))), len(fits)
        )
    if least == most:
        return _COEFFICIENTS[most], len(_COEFFICIENTS[most]) - 1
    factors: list[Tensor | float] = []
    for power, factor in enumerate(_COEFFICIENTS[most]):
        found: Tensor | float = factor
        for k in reversed(range(least, most)):
            smaller = _COEFFICIENTS[k]
            found = _where(fits[k], smaller[power] if power < len(smaller) else 0.0, found)
        factors.append(found)
    return factors, len(factors) - 1


def _scaled(a: Tensor, size: Number) -> tuple[Number, Number, list[Tensor]]:
    """A power of two for each matrix of this norm, how often it halves, and powers 2, 4 and 6 of the scaled matrix."""
    one: Number = full(size.shape, 1.0, dtype=F64, placement=a.placement) if isinstance(size, Tensor) else 1.0
    scale, halvings = one, one * 0.0
    for _ in range(_MOST):
        large = size * scale > _LARGEST
        if not _some(large):
            break
        scale, halvings = _where(large, scale * 0.5, scale), _where(large, halvings + 1.0, halvings)
    b = multiply(a, scale)
    b2 = matmul(b, b)
    b4 = matmul(b2, b2)
    b6 = matmul(b4, b2)
    if not _some(halvings > 0.0):
        return scale, halvings, [b2, b4, b6]
    # Roots of norms of powers may be much smaller than the norm, where a matrix is far from normal; what is scaled by
    # the norm then loses digits in squarings that it does not need.
    sized = (6, one_norm(b6)), (8, one_norm(matmul(b4, b4))), (10, one_norm(matmul(b4, b6)))
    roots = [exponential.exp(multiply(exponential.log(norm), 1 / k)) for k, norm in sized]
    needed = _read(minimum(maximum(roots[0], roots[1]), maximum(roots[1], roots[2])))
    doubled = one
    for _ in range(_MOST):
        room = _both(_both(halvings > 0.0, doubled < _MOST_DOUBLED), needed * (doubled * 2.0) <= _LARGEST)
        if not _some(room):
            break
        doubled, halvings = _where(room, doubled * 2.0, doubled), _where(room, halvings - 1.0, halvings)
    if not _some(doubled > 1.0):
        return scale, halvings, [b2, b4, b6]
    again = _read(_lost(multiply(abs(b), doubled)))
    for _ in range(_MOST):
        much = again > 0.0
        if not _some(much):
            break
        doubled, halvings = _where(much, doubled * 0.5, doubled), _where(much, halvings + 1.0, halvings)
        again = again - 1.0
    square = doubled * doubled
    fourth = square * square
    return scale * doubled, halvings, [multiply(b2, square), multiply(b4, fourth), multiply(b6, fourth * square)]


def _lost(sizes: Tensor) -> Tensor:
    """How many more halvings the approximant needs, from the norm of power 27 of the sizes of the elements."""
    column = full(sizes.shape[1:], 1.0, dtype=F64, placement=sizes.placement)
    turned = mT(sizes)
    whole = max(matvec(turned, column), 0)
    sums = divide(matvec(turned, column), where(greater(whole, 0.0), whole, 1.0))
    left = 26
    if turned.shape[0] <= _CUBED:
        sums, left = matvec(turned, matvec(turned, sums)), 8
        turned = matmul(matmul(turned, turned), turned)
    for _ in range(left):
        sums = matvec(turned, sums)
    error = multiply(max(sums, 0), _REMAINDER * 2.0**53)
    bits = divide(exponential.log(where(greater(error, 0.0), error, 1.0)), 26 * log(2))
    return maximum(ceil(bits), 0.0)
