"""How square roots of matrices over trailing batch axes are found: by an iteration, or from triangles."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Final

from tensor_linalg.composed import failing_as
from tensor_linalg.functions.determinants import slogdet
from tensor_linalg.functions.exponentials import SMALL, cast_back, identities, prepared
from tensor_linalg.functions.triangles import is_rooted_triangle, schur_root, triangle_root
from tensor_linalg.operands import first, some
from tensor_linalg.products import matmul
from tensor_linalg.solving.condition import one_norm
from tensor_linalg.solving.inverses import inv
from tensor_linalg.specs.functions import SQRTM_ITERATED
from tensor_linalg.specs.shapes import square_axes
from tensor_runtime.dispatch.call import execute_parts
from tensor_runtime.errors import NotConvergedError, SingularMatrixError, matrix_at
from tensor_runtime.ops import complex_parts, exponential
from tensor_runtime.ops.arithmetic import abs, add, divide, multiply, subtract
from tensor_runtime.ops.comparison import equal, greater, less, less_equal, not_equal
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.logic import logical_and, logical_not, logical_or
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import copy
from tensor_runtime.tensors.tensor import Tensor, unwrap

_MOST_STEPS: Final = 16
"""Steps of an iteration that doubles its digits; where it needs more, or has no limit, Schur's triangle takes less."""
_DRIFT: Final = 2.0**-44
"""Share of A's norm, for each row, by which the square of what an iteration gives may miss A."""
_HALF_OF_THE_DIGITS: Final = 2.0**-26
"""Share of it that the square of Schur's root may miss; one that misses more is no root."""
ALONE: Final = 64
"""Rows beyond which one matrix takes as long alone as in a batch."""
_REMEDY: Final = (
    "accepted: real matrices without eigenvalues on the closed negative real axis (converted to C64, invertible ones "
    "with any); hermitian=True for Hermitian ones"
)
_REMEDY_COMPLEX: Final = "accepted: complex matrices that are not singular; hermitian=True for Hermitian ones"
_LARGE: Final = (
    "a square root so large beside it that rounding hides it",
    "accepted: matrices nearer to normal, such as a similar one of smaller elements off the diagonal",
)


def square_root(a: Tensor, check: bool, /) -> Tensor:
    """By Denman and Beavers' iteration, of small matrices in a kernel; what it does not find by Schur's triangle.

    >>> import tensor_runtime as tr
    >>> square_root(tr.tensor([[4.0, 5.0], [0.0, 9.0]]), True).to_numpy().round(12).tolist()
    [[2.0, 1.0], [0.0, 3.0]]
    """
    root, lost = iterated("sqrtm", a, check)
    if lost is None:
        return root
    others = cast_back(root_by_triangle("sqrtm", prepared("sqrtm", a, False), lost), a.dtype)
    return where(lost, others, root) if lost.rank else others


def iterated(operation: str, a: Tensor, check: bool, /) -> tuple[Tensor, Tensor | None]:
    """Roots by the iteration, or of triangles that are large; and which are not found so, None where all are.

    >>> import tensor_runtime as tr
    >>> [part.item() for part in iterated("sqrtm", tr.tensor([[-4.0]]), True)][1]
    True
    """
    if square_axes(operation, unwrap(operation, a)[0].shape)[0] > SMALL:
        found, lost = _composed_root(operation, prepared(operation, a, check))
        return cast_back(found, a.dtype), lost
    root, status = execute_parts(SQRTM_ITERATED, a, check)
    return root, not_equal(status, 0) if some(status) else None


def _composed_root(operation: str, a: Tensor) -> tuple[Tensor, Tensor | None]:
    if 0 in a.shape:
        return copy(a), None
    if a.shape[0] <= ALONE:
        return _iterated_composed(operation, a)
    left: list[Tensor] = []

    def others(rest: Tensor) -> Tensor:
        x, lost = _iterated_composed(operation, rest)
        left.extend([] if lost is None else [lost])
        return x

    return one_by_one(a, is_rooted_triangle(a), _of_triangle, others), left[0] if left else None


def _of_triangle(t: Tensor) -> Tensor | None:
    """The root of a triangle; None where its square is not the triangle to all digits but some."""
    root = triangle_root(t)
    return None if some(misses(root, t)) else root


def _iterated_composed(operation: str, a: Tensor) -> tuple[Tensor, Tensor | None]:
    with failing_as(operation):
        x, lost = iterated_root(a)
    lost = logical_or(lost, misses(x, a))
    return x, lost if some(lost) else None


def root_by_triangle(operation: str, a: Tensor, lost: Tensor, /) -> Tensor:
    """Roots of those of which the iteration has no limit, or one whose square is not A, by Schur's decomposition.

    Of a real matrix that is the real part, whose square is A where no eigenvalue lies on the negative real axis.

    >>> import tensor_runtime as tr
    >>> root_by_triangle("sqrtm", tr.tensor([[4.0]]), tr.tensor(True)).item()
    2.0
    """
    real = a.dtype.kind != "complex"
    rest = where(lost, a, identities(a)) if lost.rank else a
    with failing_as(operation):
        found, singular = schur_root(rest)
    root = complex_parts.real(found) if real else found
    without = misses(root, rest, _HALF_OF_THE_DIGITS)
    if real or operation == "logm":
        without = logical_or(without, singular)
    if operation == "logm":  # rounding makes an eigenvalue of what elimination finds to be 0
        without = logical_or(without, equal(slogdet(rest, check=False).sign, 0.0))
    if some(without):
        large = logical_and(misses(found, rest, _HALF_OF_THE_DIGITS), logical_not(singular))
        raise without_root(operation, without, real, _LARGE if large[first(without)].item() else None)
    return root


def misses(x: Tensor, a: Tensor, part: float | None = None, /) -> Tensor:
    """Where the square of x is farther from A than a part of A's norm, by default some rounding units, or is NaN.

    >>> import tensor_runtime as tr
    >>> misses(tr.eye(2), tr.full((2, 2), 1.0)).item()
    True
    """
    part = a.shape[0] * _DRIFT if part is None else part
    distance = one_norm(subtract(matmul(x, x), a))
    return logical_not(less_equal(distance, multiply(one_norm(a), part)))


def iterated_root(a: Tensor, /) -> tuple[Tensor, Tensor]:
    """X goes to the root, and M, X times its partner, to the identity; and which have no limit.

    Rounding parts X from M where X is ill-conditioned, so that M tells nothing of how near X is to a root.

    Those without limit go on as identities, and those that are found stay as they are, so that each has the steps that
    it has alone.

    >>> import tensor_runtime as tr
    >>> root, lost = iterated_root(tr.tensor([[4.0]]))
    >>> root.item(), lost.item()
    (2.0, False)
    """
    size = a.shape[0]
    one = identities(a)
    x = m = a
    near = lost = less(one_norm(a), 0.0)  # of no matrix
    unfinished = logical_not(near)
    for _ in range(_MOST_STEPS):
        sign, logarithm = slogdet(m, check=False)
        stopped = logical_not(greater(abs(sign), 0.5))  # 0 or NaN: no inverse, so no limit
        if some(stopped):
            lost = logical_or(lost, stopped)
            x, m = where(stopped, one, x), where(stopped, one, m)
            logarithm = where(stopped, 0.0, logarithm)
        try:
            inverse = inv(m, check=False)
        except SingularMatrixError:  # a determinant that another decomposition gives may be rounding in place of 0
            inverse, status = inv(m, check="mask")
            refused = not_equal(status, 0)
            lost = logical_or(lost, refused)
            x, m, inverse = (where(refused, one, each) for each in (x, m, inverse))
            logarithm = where(refused, 0.0, logarithm)
        # scaling by the determinant helps far from the limit, and disturbs near it
        scaled = where(near, 1.0, exponential.exp(multiply(logarithm, -0.5 / size)))
        square = multiply(scaled, scaled)
        inverse = divide(inverse, square)
        x = where(unfinished, multiply(matmul(x, add(inverse, one)), multiply(scaled, 0.5)), x)
        m = where(unfinished, multiply(add(one, multiply(add(multiply(m, square), inverse), 0.5)), 0.5), m)
        away = one_norm(subtract(m, one))
        near, unfinished = less(away, 1e-2), logical_not(less_equal(away, size * 2.0**-50))
        if not some(unfinished):
            break
    return x, logical_or(lost, unfinished)


def without_root(operation: str, bad: Tensor, real: bool, large: tuple[str, str] | None = None, /) -> NotConvergedError:
    """The error about the first of the bad matrices, given what it has that is too large, and what helps.

    >>> import tensor_runtime as tr
    >>> without_root("sqrtm", tr.tensor([False, True]), True).batch_index
    (1,)
    """
    batch = first(bad)
    if large is not None:
        text = f"{operation}: {matrix_at(batch)} has {large[0]}; {large[1]}"
    elif real:
        text = f"{operation}: the iteration for the square root of {matrix_at(batch)} has no limit; {_REMEDY}"
    else:
        text = f"{operation}: {matrix_at(batch)} has no square root that can be found; {_REMEDY_COMPLEX}"
    return NotConvergedError(text, operation=operation, batch_index=batch, element_index=None)


def one_by_one(
    a: Tensor, chosen: Tensor, function: Callable[[Tensor], Tensor | None], others: Callable[[Tensor], Tensor]
) -> Tensor:
    """What a function makes of the chosen matrices, one by one so that nothing depends on how many there are.

    The others, and those of which it makes nothing, are left to ``others``, which is given identities in the places of
    the rest.

    >>> import tensor_runtime as tr
    >>> one_by_one(tr.full((1, 1, 2), 3.0), tr.tensor([True, False]), lambda one: add(one, one), copy).tolist()
    [[[6.0, 3.0]]]
    """
    if not some(chosen):
        return others(a)
    found, left = copy(a), copy(logical_not(chosen))
    write_found, write_left = mutable_view(found), mutable_view(left)
    for place in product(*map(range, a.shape[2:])):
        if chosen[place].item():
            one = function(copy(a[:, :, *place]))
            if one is None:
                write_left[place] = True
            else:
                write_found[:, :, *place] = one
    return where(left, others(where(left, a, identities(a))), found) if some(left) else found
