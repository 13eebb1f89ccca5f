"""Powers of a matrix, and products of several in the cheapest order; batch axes last."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple, TypeVar, overload

from tensor_core.dtypes import TensorScalar
from tensor_core.errors import ArgumentError, ShapeError
from tensor_core.promotion import promote
from tensor_core.shapes import Shape
from tensor_linalg.composed import failing_as
from tensor_linalg.masking import Check, MaskedResult, asks_for_mask, checks, masked_result, unfailing
from tensor_linalg.operands import floating, with_batch
from tensor_linalg.products import MATMUL, matmul
from tensor_linalg.solving.inverses import inv
from tensor_linalg.specs.shapes import matrix_axes, square_axes
from tensor_linalg.targets import placed
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.dispatch.call import execute_binary
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.dispatch.out import Out
from tensor_runtime.ops.creation import eye
from tensor_runtime.ops.views import copy, expand_dims, squeeze
from tensor_runtime.tensors.tensor import Tensor, TypedTensor, owned, unwrap

T = TypeVar("T", bound=TensorScalar)

_MOST_EXACT: Final = 100
"""Matrices of the longest chain whose cheapest order is looked for, which takes the third power of their number."""


@overload
def matrix_power(a: TypedTensor[T], n: int, /, *, check: bool = True, out: None = None) -> TypedTensor[T]: ...
@overload
def matrix_power(a: Tensor, n: int, /, *, check: bool = True, out: Out = None) -> Tensor: ...
@overload
def matrix_power(
    a: Tensor, n: int, /, *, check: Literal["mask"], out: MaskedResult[Tensor] | None = None
) -> MaskedResult[Tensor]: ...
def matrix_power(a: Tensor, n: int, /, *, check: Check = True, out: Any = None) -> Tensor | MaskedResult[Tensor]:
    """Powers of square matrices by repeated squaring, batch axes last.

    Args:
        a: shape [N, N, B...]; any dtype, of which integers wrap and Bool is multiplied by and and or. F32, F64, C32 or
            C64 for negative powers.
        n: the exponent; 0 gives identities, negative ones powers of the inverse.
        check: for negative ``n``, raise when an element is not finite.
            "mask" raises for no matrix of a batch, and gives a ``MaskedResult``: the result, NaN where a matrix has
            none, and a ``status`` of each, I32 [B...], which is 0 for every matrix unless ``n`` is negative.
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [N, N, B...], of the operand's dtype; owned, compact. It takes at most 2 log2 |n| products, whose errors
        each are N rounding units times the norms of the factors; values beyond the dtype's range become infinite
        or NaN.

    Raises:
        ShapeError: fewer than two axes, or matrices that are not square.
        ArgumentError: an exponent that is no int.
        DTypeError: an integer or Bool tensor with a negative exponent.
        NonFiniteError: NaN or an infinity under a negative exponent.
        SingularMatrixError: a matrix without inverse under a negative exponent.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., §9.2.5.

    >>> import tensor_runtime as tr
    >>> matrix_power(tr.tensor([[1, 1], [1, 0]]), 10).to_numpy().tolist()
    [[89, 55], [55, 34]]
    """
    name = "matrix_power"
    size, batch = square_axes(name, unwrap(name, a)[0].shape)
    exponent = whole(name, "n", n)
    if check is not True and asks_for_mask(check):
        if exponent < 0:
            return masked_result(name, lambda x: matrix_power(x, n, check=False), a, out=out)
        return unfailing(name, matrix_power(a, n), batch, out, a)  # products take any elements
    check = checks(name, check)
    if exponent == 0:
        return placed(name, copy(with_batch(eye(size, dtype=a.dtype, placement=a.placement), 2, batch)), out, a)
    square = a
    if exponent < 0:
        floating(name, a)
        with failing_as(name):
            square = inv(a, check=check)
    exponent = abs(exponent)
    found: Tensor | None = None
    while True:
        if exponent & 1:
            found = square if found is None else matmul(found, square)
        exponent >>= 1
        if not exponent:
            assert found is not None
            return placed(name, copy(found) if found is a and out is None else found, out, a)
        square = matmul(square, square)


def multi_dot(matrices: Sequence[Tensor], /, *, out: Out = None) -> Tensor:
    """Product of several matrices, in the order that takes the fewest multiplications; batch axes last.

    More than 100 are multiplied in an order that takes at most a quarter more, and is found in linear time.

    Args:
        matrices: two or more of shapes [M, K, B...], [K, L, B...], …; any dtype. Batch shapes broadcast among
            themselves, aligned at the last axis. The first may be a vector, a row [K], and the last one a column [L].
        out: where the result is written; see ``tensor_runtime.add``.

    Returns:
        Shape [M, N, B...], without the axes that vectors lack; of the promoted dtype, owned, compact. The order is that
        of the extents alone, so equal shapes give equal results. Factors of several dtypes are promoted before any are
        multiplied, so none wraps that the result can hold.

    Raises:
        ArgumentError: fewer than two matrices, or no tuple or list of them.
        ShapeError: inner extents that differ, batch shapes that do not broadcast, or a vector between matrices.
        PlacementError: the operands live in different places.

    Source: Cormen, Leiserson, Rivest and Stein, Introduction to Algorithms, 3rd ed., §15.2; Chin, Comm. ACM 21 (1978),
    544-549.

    >>> import tensor_runtime as tr
    >>> multi_dot([tr.ones((2, 100)), tr.ones((100, 3)), tr.ones(3)]).to_numpy().tolist()
    [300.0, 300.0]
    """
    name = "multi_dot"
    if not isinstance(matrices, (tuple, list)):
        raise ArgumentError(
            f"{name}: found a {type(matrices).__name__}; accepted: a sequence of two tensors or more", operation=name
        )
    if len(matrices) < 2:
        raise ArgumentError(f"{name}: {len(matrices)} matrices; accepted: two or more", operation=name)
    row, column, steps = _chain_of(tuple([unwrap(name, one)[0].shape for one in matrices]))
    given: list[Tensor] = list(matrices)
    if row:
        given[0] = expand_dims(given[0], 0)
    if column:
        given[-1] = expand_dims(given[-1], 1)
    if any(one.dtype is not given[0].dtype for one in given):
        given = _promoted(given)
    for left, right in steps:
        given.append(execute_binary(MATMUL, given[left], given[right]))
    found = given[-1]
    if row or column:
        found = owned(squeeze(found, [axis for axis, gone in ((0, row), (1, column)) if gone]))
    return found if out is None else placed(name, found, out, *matrices)


def _promoted(matrices: list[Tensor]) -> list[Tensor]:
    """The factors in the promoted dtype, so that no product of two is of a smaller one; real ones stay real."""
    dtype = promote(*[one.dtype for one in matrices])
    real = dtype.component if dtype.kind == "complex" else dtype
    return [convert(one, dtype if one.dtype.kind == "complex" else real) for one in matrices]


class _Chain(NamedTuple):
    """Whether a row comes first and a column last, and which are multiplied; each product comes behind the others."""

    row: bool
    column: bool
    steps: tuple[tuple[int, int], ...]


@lru_cache(256)
def _chain_of(shapes: tuple[Shape, ...]) -> _Chain:
    name = "multi_dot"
    row, column = len(shapes[0]) == 1, len(shapes[-1]) == 1
    whole_shapes = [(1, *shapes[0]) if row else shapes[0], *shapes[1:-1], (*shapes[-1], 1) if column else shapes[-1]]
    sides = [matrix_axes(name, shape)[:2] for shape in whole_shapes]
    for k, ((_, inner), (outer, _)) in enumerate(pairwise(sides)):
        if inner != outer:
            raise ShapeError(
                f"{name}: matrices {k} and {k + 1} of shapes {shapes[k]} and {shapes[k + 1]} do not fit; "
                "accepted: [M, K, B...] and [K, L, B...], batch axes last",
                operation=name,
                shapes=shapes,
            )
    extents = (sides[0][0], *(n for _, n in sides))
    parts = (cheapest_split if len(shapes) <= _MOST_EXACT else cheap_split)(extents)
    chains, left = [], [(0, len(shapes))]  # every chain before its factors
    while left:
        start, stop = left.pop()
        if stop - start > 1:
            chains.append((start, stop))
            left += [(start, parts[start, stop]), (parts[start, stop], stop)]
    places = {(k, k + 1): k for k in range(len(shapes))}
    places |= {chain: len(shapes) + k for k, chain in enumerate(reversed(chains))}
    steps = [(places[start, parts[start, stop]], places[parts[start, stop], stop]) for start, stop in reversed(chains)]
    return _Chain(row, column, tuple(steps))


def cheapest_split(extents: tuple[int, ...], /) -> dict[tuple[int, int], int]:
    """Where each chain of matrices is cut last, so that it takes the fewest multiplications.

    Args:
        extents: of matrix k ``extents[k]`` rows and ``extents[k + 1]`` columns.

    Returns:
        For each chain (start, stop) of two or more where its right factor starts; the first of equals.

    >>> cheapest_split((2, 100, 3, 1))[0, 3]
    1
    """
    if len(set(extents)) == 1:
        return {(k, stop): k + 1 for stop in range(2, len(extents)) for k in range(stop - 1)}
    cost: dict[tuple[int, int], int] = {(k, k + 1): 0 for k in range(len(extents) - 1)}
    parts: dict[tuple[int, int], int] = {}
    for length in range(2, len(extents)):
        for start in range(len(extents) - length):
            stop = start + length
            price, middle = min(
                (cost[start, cut] + cost[cut, stop] + extents[start] * extents[cut] * extents[stop], cut)
                for cut in range(start + 1, stop)
            )
            cost[start, stop], parts[start, stop] = price, middle
    return parts


def cheap_split(extents: tuple[int, ...], /) -> dict[tuple[int, int], int]:
    """The same for some chains, of which the whole one consists, with at most a quarter more multiplications.

    A chain is a polygon with a corner for each extent, and its products are triangles. From the smallest corner on, one
    is cut off where that costs less than to leave it to the triangles with the smallest one, which are made at last.

    Source: F. Y. Chin, An O(n) algorithm for determining a near-optimal computation order of matrix chain products,
    Comm. ACM 21 (1978), 544-549.

    >>> cheap_split((2, 100, 3, 1))[0, 3]
    1
    """
    least = min(extents)
    first_one = extents.index(least)
    triangles: list[tuple[int, int, int]] = []
    corners = [first_one]
    for corner in [*range(first_one + 1, len(extents)), *range(first_one + 1)]:
        while len(corners) > (2 if corner == first_one else 1):
            before, last, behind = extents[corners[-2]], extents[corners[-1]], extents[corner]
            if before * behind * (last + least) >= least * last * (before + behind):
                break
            triangles.append((corners[-2], corners.pop(), corner))
        corners.append(corner)
    triangles += [(first_one, *pair) for pair in pairwise(corners[1:-1])]
    return {(start, stop): cut for start, cut, stop in map(sorted, triangles)}
