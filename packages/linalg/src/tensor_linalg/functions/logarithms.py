"""Logarithms of matrices by Schur's triangle, over trailing batch axes, in F64 and C64."""

from __future__ import annotations

from math import nan, pi
from typing import Final

from tensor_core.dtypes import C64, I64, Bool
from tensor_linalg.decompositions import schur
from tensor_linalg.functions.balances import ACYCLIC, across_and_means, potentials, rescaled, sizes
from tensor_linalg.functions.determinants import slogdet
from tensor_linalg.functions.exponentials import identities
from tensor_linalg.functions.triangles import triangle_root
from tensor_linalg.operands import some
from tensor_linalg.products import matmul, mH
from tensor_linalg.solving.condition import one_norm
from tensor_linalg.solving.systems import solve
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.ops.arithmetic import abs, add, divide, multiply, subtract
from tensor_runtime.ops.comparison import equal, greater, greater_equal, less, not_equal
from tensor_runtime.ops.complex_parts import imag, real
from tensor_runtime.ops.creation import full, zeros
from tensor_runtime.ops.diagonals import extract_diagonal
from tensor_runtime.ops.exponential import expm1, log, log1p
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.logic import logical_and, logical_not, logical_or
from tensor_runtime.ops.reduction import any, max, sum
from tensor_runtime.ops.rounding import round
from tensor_runtime.ops.selection import maximum, minimum, where
from tensor_runtime.ops.views import expand_dims, move_axes
from tensor_runtime.tensors.tensor import Tensor

MOST_ROOTS: Final = 60
NEAR: Final = 0.25
"""Distance from the identity within which eight nodes integrate the logarithm to a rounding unit of F64."""
_IMAGINARY: Final = 2.0**-26
"""Share of its norm that a logarithm of a real matrix may have in its imaginary part, which is rounding."""
_NODES: Final = (
    (0.01985507175123188, 0.05061426814518813), (0.10166676129318663, 0.11119051722668724),
    (0.2372337950418355, 0.15685332293894366), (0.4082826787521751, 0.18134189168918100),
    (0.5917173212478249, 0.18134189168918100), (0.7627662049581645, 0.15685332293894366),
    (0.8983332387068134, 0.11119051722668724), (0.9801449282487681, 0.05061426814518813),
)  # fmt: skip
"""Nodes and weights of Gauss and Legendre on [0, 1]."""


def is_far(a: Tensor, one: Tensor, /) -> Tensor:
    """Which matrices are farther from the identity than ``NEAR``.

    >>> import tensor_runtime as tr
    >>> is_far(tr.tensor([[1.5]]), tr.eye(1)).item()
    True
    """
    return greater(one_norm(subtract(a, one)), NEAR)


def logarithm_beside_identity(rest: Tensor, one: Tensor, /) -> Tensor:
    """log(1 + rest) of a rest whose norm is ``NEAR`` at most: the Padé approximant of degree 8, in partial fractions.

    >>> import tensor_runtime as tr
    >>> logarithm_beside_identity(tr.tensor([[0.0, 0.25], [0.0, 0.0]]), tr.eye(2)).to_numpy().round(15).tolist()
    [[0.0, 0.25], [0.0, 0.0]]
    """
    found: Tensor | None = None
    for node, weight in _NODES:
        term = multiply(solve(add(multiply(rest, node), one), rest, check=False), weight)
        found = term if found is None else add(found, term)
    assert found is not None
    return found


def uneven(a: Tensor, /) -> Tensor:
    """Which matrices a permutation makes triangles, or a scaling more even: roots of all of it lose what is small.

    >>> import tensor_runtime as tr
    >>> [uneven(tr.tensor([[1.0, x], [1.0, 2.0]])).item() for x in (0.0, 1.0, 1e9)]
    [True, False, True]
    """
    elements, rows = abs(a), a.shape[0]
    above = greater(max(elements, (0, 1)), max(extract_diagonal(elements, axes=(0, 1)), -1))
    zeros_within = sum(convert(equal(elements, 0.0), I64), (0, 1))
    seems = logical_or(above, greater_equal(zeros_within, rows * (rows - 1) // 2))
    if not some(seems):  # as of matrices that have their largest elements on their diagonals, and no zeros
        return seems
    across, mean, diagonal = across_and_means(a)
    more_even = greater(max(across, (0, 1)), add(maximum(mean, diagonal), 1.0))
    return logical_or(less(mean, ACYCLIC), more_even)


def logarithm_by_schur(a: Tensor, /) -> tuple[Tensor, Tensor]:
    """Logarithms of matrices in F64 or C64, scaled so that they are even; and which have none and may be anything.

    >>> import tensor_runtime as tr
    >>> found, without = logarithm_by_schur(tr.tensor([[1.0, 1e10], [0.0, 2.0]]))
    >>> found.to_numpy().tolist(), without.item()
    ([[0.0, 6931471805.599453], [0.0, 0.6931471805599453]], False)
    """
    across, mean, diagonal = across_and_means(a)
    powers = potentials(subtract(across, maximum(mean, diagonal)))
    b = rescaled(a, powers)
    found, without = _of_complex(b) if a.dtype.kind == "complex" else _of_real(b)
    found = rescaled(found, powers, -1)
    # rounding makes an eigenvalue of what elimination finds to be 0
    return found, logical_or(without, equal(slogdet(a, check=False).sign, 0.0))


def _of_complex(a: Tensor) -> tuple[Tensor, Tensor]:
    t, z = schur(a, form="complex", check=False)
    without = any(equal(extract_diagonal(t, axes=(0, 1)), 0.0), -1)
    return matmul(matmul(z, triangle_logarithm(where(without, identities(t), t))), mH(z)), without


def _of_real(a: Tensor) -> tuple[Tensor, Tensor]:
    """By a real triangle where all eigenvalues are real, else the real part of what a complex one gives."""
    one = identities(a)
    t, z = schur(a, check=False)
    below = not_equal(extract_diagonal(t, -1, axes=(0, 1)), 0.0)
    beside = zeros((*below.shape[:-1], 1), dtype=Bool, placement=a.placement)
    in_pairs = logical_or(concatenate([below, beside], -1), concatenate([beside, below], -1))
    negative = logical_not(greater(extract_diagonal(t, axes=(0, 1)), 0.0))
    without = any(logical_and(negative, logical_not(in_pairs)), -1)
    turning = logical_and(any(in_pairs, -1), logical_not(without))
    found = matmul(matmul(z, triangle_logarithm(where(logical_or(without, turning), one, t))), mH(z))
    if not some(turning):
        return found, without
    whole, singular = _of_complex(where(turning, a, one))
    rest = greater(one_norm(imag(whole)), multiply(one_norm(whole), _IMAGINARY))
    return where(turning, real(whole), found), logical_or(without, logical_or(singular, rest))


def triangle_logarithm(t: Tensor, /) -> Tensor:
    """The logarithm of an upper triangle, of which a real one has a positive diagonal, by roots of it.

    A scaling makes elements off the diagonal as small as those on it. Roots are equally exact with and without, each
    element for itself, but few are enough where all are of one size. The diagonal and the one above have closed forms.

    Source: Al-Mohy and Higham, Improved inverse scaling and squaring algorithms for the matrix logarithm, SIAM J. Sci.
    Comput. 34 (2012), C153-C169.

    >>> import tensor_runtime as tr
    >>> triangle_logarithm(tr.tensor([[1.0, 1e300], [0.0, 1.0]])).tolist()
    [[0.0, 1e+300], [0.0, 0.0]]
    """
    one, size = identities(t), sizes(t)
    values = extract_diagonal(t, axes=(0, 1))
    on_it = move_axes(extract_diagonal(size, axes=(0, 1)), -1, 0)
    powers = potentials(subtract(size, minimum(expand_dims(on_it, 0), expand_dims(on_it, 1))))
    logarithms = log(add(values, 0.0))  # of no imaginary part of -0
    root = rescaled(t, powers)
    factor = full(t.shape[2:], 1.0, placement=t.placement)
    far = is_far(root, one)
    for _ in range(MOST_ROOTS):
        if not some(far):
            break
        root = where(far, triangle_root(where(far, root, one)), root)
        factor = multiply(factor, where(far, 2.0, 1.0))
        far = is_far(root, one)
    rest = subtract(root, one)
    _set_diagonal(rest, expm1(divide(logarithms, expand_dims(factor, -1))))
    found = rescaled(multiply(logarithm_beside_identity(rest, one), where(far, nan, factor)), powers, -1)
    _set_diagonal(found, logarithms)
    if t.shape[0] > 1:
        _set_diagonal(found, multiply(extract_diagonal(t, 1, axes=(0, 1)), _slopes(values, logarithms)), 1)
    return found


def _set_diagonal(a: Tensor, values: Tensor, k: int = 0) -> None:
    mutable_view(extract_diagonal(a, k, axes=(0, 1)))[...] = values


def _slopes(values: Tensor, logarithms: Tensor) -> Tensor:
    """Differences of the logarithms of neighbours along the last axis over those of the values, 1/x of equal ones."""
    x, gap = values[..., :-1], subtract(values[..., 1:], values[..., :-1])
    apart = subtract(logarithms[..., 1:], logarithms[..., :-1])
    part = divide(gap, x)
    beside = less(abs(part), 0.5)
    exact = log1p(where(beside, part, 0.0))
    if exact.dtype is C64:  # on whichever sheets the two are
        turns = round(divide(imag(subtract(apart, exact)), 2 * pi))
        exact = add(exact, multiply(turns, 2j * pi))
    equals = equal(gap, 0.0)
    return divide(where(equals, 1.0, where(beside, exact, apart)), where(equals, x, gap))
