"""Some eigenvalues of Hermitian maps, by thick-restart Lanczos."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any, Final, NamedTuple

import tensor_runtime as tr
from tensor_core.dtypes import FLOATING
from tensor_core.errors import ArgumentError, DTypeError
from tensor_core.shapes import Shape
from tensor_linalg.composed import failing_as
from tensor_linalg.decompositions.lu import lu_factor
from tensor_linalg.host import from_numbers
from tensor_linalg.iterative.block_lanczos import BlockLanczos
from tensor_linalg.iterative.interrupts import ended
from tensor_linalg.iterative.lanczos import Lanczos
from tensor_linalg.iterative.operators import LinearMap, Operator, flat, parted, raising
from tensor_linalg.iterative.refusals import OPERATOR, require_numbers, require_operator
from tensor_linalg.iterative.results import Callback, EigenSearchResult, Stop
from tensor_linalg.operands import number, require_regular, seed_of
from tensor_linalg.solving.factored import lu_solve
from tensor_runtime.dispatch.arguments import choice, flag, whole
from tensor_runtime.ops.diagonals import extract_diagonal
from tensor_runtime.tensors.tensor import owned

_ORDERS: dict[str, Callable[[float], float]] = {"SA": lambda w: w, "LA": lambda w: -w, "LM": lambda w: -abs(w)}
"""What is smallest for the eigenvalue wanted first."""
_LOWERING: Final = 2.0**-64
"""What brings lengths beyond the range back into it."""


class Start(NamedTuple):
    """Where a search starts: one vector, or a block of them."""

    flat: tr.Tensor
    """Shape [n], or [n, p] where there are batch axes."""
    core: Shape
    """The shape of one vector."""
    batch: Shape
    """That of the axes that count vectors."""


def eigsh(
    a: Operator,
    /,
    x0: tr.Tensor | None = None,
    *,
    k: int = 1,
    which: str = "SA",
    sigma: float | None = None,
    solve: Operator | None = None,
    tol: float | None = None,
    maxiter: int = 3000,
    basis: int | None = None,
    multiplets: bool = True,
    batch_rank: int = 0,
    seed: int = 0,
    callback: Callback | None = None,
) -> EigenSearchResult:
    """Some eigenvalues and eigenvectors of a Hermitian map that is known by its products.

    Lanczos with full reorthogonalisation in a basis of fixed size: when it is full, the best approximations stay and
    the rest begins anew. Eigenvectors that have been found are locked.

    Args:
        a: a function from a tensor of the shape of ``x0``, whatever its rank, to one of that shape, or a tensor
            [*shape, *shape].
        x0: where to start; it also says shape, dtype and place of vectors. Beside a matrix it may be left out: normal
            numbers are drawn from ``seed``.
        k: how many eigenpairs.
        which: "SA" for the smallest eigenvalues, "LA" for the largest, "LM" for those of largest magnitude; of
            ``sigma``, those nearest.
        sigma: a real number; look for the eigenvalues nearest to it, by solving with A - sigma.
        solve: that inverse as a function, such as one that calls ``minres``; a matrix is inverted without it.
        tol: stop when every residual |A x - w x| is at most ``tol`` times the largest eigenvalue seen; with ``sigma``
            every residual of the inverse ``tol`` times its own eigenvalue, so that w - sigma has the digits of
            ``tol``, as far as A in its dtype has them, however near the shift is to one of them. None for the rounding
            unit to the power 3/4. The error of an eigenvalue is about the square of its residual over its distance to
            the next.
        maxiter: products with A at most, of which one with a block counts as one.
        basis: vectors that are kept, each as large as one of ``x0``; None for max(20, 2 k + 4), and of blocks of p
            vectors for 8 p more.
        multiplets: with ``k`` above 1, search what is orthogonal to all that was found, from another start, until
            nothing that belongs among it is left. A Krylov space holds one vector of each multiplet alone; without
            this search, which about doubles the products, copies are found by rounding or not at all; of a block, as
            many as it has vectors are. The same search is made where the start lay in a space that the map leads out
            of no more.
        batch_rank: how many of the last axes of ``x0`` count vectors of a block, which start together and span one
            space; beside a matrix, the axes it does not act on. The function is then given [*shape, *block], always
            with the whole block, and may make one product of all. A block finds as many copies of an eigenvalue as it
            has vectors without a second search, and fewer calls do; its vectors, all told, are more.
        seed: of starts that are drawn.
        callback: called with ``Progress`` whenever residuals are looked at, also the last time; True stops, and what
            was found by then has converged where no search for copies was left.

    Returns:
        eigenvalues [k] real and ascending; eigenvectors [*shape, k], orthonormal; whether all have converged; the
        number of products; residuals [k], as the recurrence has them (with ``sigma`` those of the inverse); and whether
        Ctrl-C stopped it. Where it was stopped, the best so far, perhaps fewer than k. Phases are as they come.

    Raises:
        ShapeError, DTypeError, ArgumentError: what the function gave, or an option, does not fit.
        PlacementError: what the function gave, or a tensor, lives elsewhere.
        ReadOnlyError: the function wrote into the vector that it was given.
        NonFiniteError: what the function gave, or ``x0``, holds NaN or an infinity.
        SingularMatrixError: a matrix less ``sigma`` is exactly singular.

    Source: K. Wu and H. Simon, SIAM J. Matrix Anal. Appl. 22, 602 (2000); of blocks Golub and Van Loan, Matrix
    Computations, 4th ed., §10.3.6.

    >>> def second_difference(x):
    ...     return x * 2.0 - tr.roll(x, 1, 0) - tr.roll(x, -1, 0)
    >>> found = eigsh(second_difference, tr.normal((100,), seed=1), k=3)
    >>> tr.abs(found.eigenvalues).to_numpy().round(6).tolist()  # 2 - 2 cos(2 π j / 100), twice each but for j = 0
    [0.0, 0.003947, 0.003947]
    >>> block = eigsh(second_difference, tr.normal((100, 2), seed=1), k=3, batch_rank=1, multiplets=False)
    >>> abs(block.eigenvalues - found.eigenvalues).to_numpy().round(9).tolist()
    [0.0, 0.0, 0.0]
    """
    start = start_vector("eigsh", a, x0, batch_rank, seed)
    k, room = sizes("eigsh", k, basis, start)
    choice("eigsh", "which", which, tuple(_ORDERS), "and sigma=0.0 for those nearest to 0")
    stop = Stop("eigsh", tol, maxiter, callback, start.flat.dtype, 0.75)
    if sigma is None and solve is not None:
        raise ArgumentError("eigsh: solve= without sigma; accepted: both, or neither", operation="eigsh")
    if sigma is None:
        return hermitian_pairs("eigsh", a, start, k, which, room, multiplets, seed, stop)
    if which == "LA":
        raise ArgumentError(
            "eigsh: which='LA' beside sigma; accepted: no which, as the eigenvalues nearest to sigma are found",
            operation="eigsh",
        )
    sigma = number("eigsh", "sigma", sigma, "a finite real number, or None", -inf)
    inverse, name = _inverse(a, solve, sigma, start.core), OPERATOR if solve is None else "solve"
    return hermitian_pairs("eigsh", inverse, start, k, "LM", room, multiplets, seed, stop, sigma, name)


def hermitian_pairs(
    operation: str,
    a: Operator,
    start: Start,
    k: int,
    which: str,
    room: int,
    multiplets: bool,
    seed: int,
    stop: Stop,
    sigma: float | None = None,
    name: str = OPERATOR,
    /,
) -> EigenSearchResult:
    """What ``eigsh`` computes of arguments that were looked at; errors bear the name of who asks, and ``name`` the map.

    >>> stop = Stop("demo", None, 9, None, tr.F64, 0.75)
    >>> start = Start(tr.ones((1,)), (1,), ())
    >>> hermitian_pairs("demo", tr.eye(1), start, 1, "SA", 1, False, 0, stop).eigenvalues.to_numpy().tolist()
    [1.0]
    """
    apply = LinearMap(operation, a, start.core, start.batch, name=name)
    more = flag(operation, "multiplets", multiplets) and k > 1
    process = BlockLanczos if start.batch else Lanczos
    lanczos = process(apply, start.flat, room, _ORDERS[which], stop, seed, sigma is not None)
    converged, interrupted = lanczos.run(k, more)
    return ended(lambda now: _result(lanczos, k, start.core, sigma, converged and not now, now), interrupted)


def sizes(operation: str, k: Any, basis: Any, start: Start, few: int = 20, /) -> tuple[int, int]:
    """How many pairs are sought, and how many vectors are kept: ``few`` where nothing is said and k is small.

    >>> sizes("demo", 2, None, Start(tr.ones((30,)), (30,), ()))
    (2, 20)
    """
    size, width = prod(start.core), prod(start.batch)
    k = whole(operation, "k", k)
    if not 1 <= k <= size:
        raise ArgumentError(
            f"{operation}: k is {k}; accepted: 1 to {size}, the extent of the space", operation=operation
        )
    usual = max(few, 2 * k + 4) + (8 * width if start.batch else 0)
    room, least = usual if basis is None else whole(operation, "basis", basis), k + 2 * width + 1
    if room < least:
        named = f"k + {2 * width + 1}" + (f", with blocks of {width}" if start.batch else "")
        raise ArgumentError(
            f"{operation}: basis is {room}; accepted: at least {named}, which is {least}", operation=operation
        )
    return k, min(room, size)


def start_vector(operation: str, a: Operator, x0: Any, batch_rank: Any, seed: int, /) -> Start:
    """The start that was given, or normal numbers of the shape that a matrix takes.

    Raises:
        ShapeError, DTypeError, ArgumentError: it does not fit, or is not there beside a function.
        NonFiniteError: it holds NaN or an infinity, beside which a search would draw another one.

    >>> start_vector("demo", tr.eye(3), None, 0, 0).core
    (3,)
    >>> start_vector("demo", tr.eye(3), tr.ones((3, 2)), 0, 0).batch
    (2,)
    """
    require_operator(operation, a)
    given = _start(operation, a, x0, batch_rank, seed_of(operation, seed))
    core, batch = parted(operation, a, given, batch_rank, "x0")
    if 0 in core:
        raise ArgumentError(
            f"{operation}: the space, of shape {core}, has no elements, and no vector to find; "
            "accepted: extents from 1 on",
            operation=operation,
        )
    if batch and not 1 <= prod(batch) <= prod(core):
        raise ArgumentError(
            f"{operation}: x0 of shape {given.shape} is a block of {prod(batch)} vectors; accepted: 1 to {prod(core)}, "
            "the extent of the space",
            operation=operation,
        )
    vectors = flat(given, core, batch)
    lengths = tr.norm(vectors, axis=0)
    if not tr.all(tr.isfinite(lengths)):  # but large elements may be all that it is
        require_numbers(operation, tr.where(tr.all(tr.isfinite(vectors), 0), 0.0, inf), batch)
        vectors = tr.multiply(vectors, tr.where(tr.isfinite(lengths), tr.ones_like(lengths), _LOWERING))
    return Start(tr.multiply(vectors, raising(lengths)), core, batch)


def _start(operation: str, a: Operator, x0: Any, batch_rank: Any, seed: int) -> Any:
    if x0 is None:
        if whole(operation, "batch_rank", batch_rank):
            raise ArgumentError(
                f"{operation}: batch_rank is {batch_rank} without x0; accepted: a block to start from, such as "
                "normal((*shape, 4), seed=1)",
                operation=operation,
            )
        if not isinstance(a, tr.Tensor):
            raise ArgumentError(
                f"{operation}: beside a function x0 is needed, for shape and dtype: normal(shape, seed=1) will do",
                operation=operation,
            )
        if a.dtype not in FLOATING:
            raise DTypeError(
                f"{operation}: the operator is {a.dtype}; accepted: C32, C64, F32, F64", operation=operation
            )
        return tr.normal(a.shape[a.rank // 2 :], seed=seed, dtype=a.dtype, placement=a.placement)
    return x0


def _inverse(a: Operator, solve: Operator | None, sigma: float, shape: tuple[int, ...]) -> Operator:
    if solve is not None:
        return solve
    if not isinstance(a, tr.Tensor):
        raise ArgumentError(
            "eigsh: sigma beside a function needs solve=, a function that applies the inverse of A - sigma, such as "
            "lambda b: minres(a, b, shift=sigma, tol=1e-12).x",
            operation="eigsh",
        )
    LinearMap("eigsh", a, shape, ())  # refuses what is no matrix for these vectors
    size = prod(shape)
    one = tr.eye(size, dtype=a.dtype, placement=a.placement)
    with failing_as("eigsh"):
        factors = lu_factor(tr.subtract(a.reshape((size, size)), tr.multiply(one, sigma)))
    zero = tr.any(tr.equal(extract_diagonal(factors.lu), 0.0))
    require_regular("eigsh", zero, "less sigma is exactly singular", "sigma is an eigenvalue; take one beside it")

    def solved(x: tr.Tensor) -> tr.Tensor:
        batch = x.shape[len(shape) :]
        return lu_solve(factors, flat(x, shape, batch), check=False).reshape((*shape, *batch))

    return solved


def _result(
    lanczos: Lanczos, k: int, shape: tuple[int, ...], sigma: float | None, converged: bool, interrupted: bool
) -> EigenSearchResult:
    values, residuals, vectors = lanczos.pairs(k)
    if sigma is not None:
        values = [sigma + 1 / value if value else inf for value in values]
    order = sorted(range(len(values)), key=values.__getitem__)
    if order != list(range(len(values))):
        vectors = tr.stack([vectors[:, position] for position in order], axis=1)
    component = vectors.dtype.component
    return EigenSearchResult(
        from_numbers([values[position] for position in order], vectors, component),
        owned(vectors.reshape((*shape, len(order)))),
        converged,
        lanczos.apply.products,
        from_numbers([residuals[position] for position in order], vectors, component),
        interrupted,
    )
