"""Linear maps that a caller gives, as functions of flat vectors.

A map is a function from a tensor of any shape to one of the same shape (or of another stated one), or a tensor
``[*range, *domain]``. Inside, a vector is flat, [n] in column-major order, or [n, C] for C independent columns, which
are the trailing batch axes of what the caller sees; neither way is an element copied where results are compact.

An image belongs to the function that gave it, which may write its next one into the same memory, and so may the
caller's other functions. So an image is used up before any of them is called again; one that is to last longer is
copied where it is made, as :meth:`LinearMap.kept` and :meth:`LinearMap.images` do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite, prod
from typing import Any, Final

import tensor_runtime as tr
from tensor_core.dtypes import FLOATING
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_core.shapes import Shape
from tensor_linalg.iterative.interrupts import called
from tensor_linalg.iterative.refusals import (
    OPERATOR,
    require_beside,
    require_numbers,
    require_operator,
    written_argument,
    wrong_image,
)
from tensor_linalg.operands import no_tensor, require_tensor, require_together
from tensor_linalg.products import vecdot
from tensor_runtime.dispatch.arguments import whole

Operator = tr.Tensor | Callable[[tr.Tensor], tr.Tensor]
WATCHED: Final = 2
"""Of how many products it is looked at whether a function leaves its argument as it is: one that writes does so always,
and the first vector may be one that it does not change."""


class LinearMap:
    """A linear map of flat vectors; ``products`` counts the images it has given, ``name`` is what errors call it.

    Images are ``lift`` times those of the caller's map; see :meth:`raised`.

    >>> twice = LinearMap("demo", lambda x: x * 2.0, (2, 3), ())
    >>> twice(tr.ones((6,))).shape, twice.products
    ((6,), 1)
    """

    __slots__ = ("_apply", "batch", "domain", "dtype", "lift", "name", "operation", "products", "target")

    def __init__(
        self,
        operation: str,
        a: Any,
        domain: Shape,
        batch: Shape,
        target: Shape | None = None,
        /,
        *,
        name: str = OPERATOR,
    ) -> None:
        self.operation, self.name, self.domain, self.batch = operation, name, domain, batch
        self.target = domain if target is None else target
        self.products, self.lift = 0, 1.0
        require_operator(operation, a, name)
        # That of a matrix, or of a function's image; None before the first.
        self.dtype: tr.DType | None = a.dtype if isinstance(a, tr.Tensor) else None
        self._apply = self._of_matrix(a) if isinstance(a, tr.Tensor) else self._of_function(a)

    def __call__(self, x: tr.Tensor, /, *, of_image: bool = False) -> tr.Tensor:
        """The image of a flat vector, or of each column; good until a function of the caller's is called again.

        A vector that is the image of another map may be written into by the function: nobody needs it any more.
        """
        watched = self.products < WATCHED and not of_image
        y = self._apply(x if self.lift == 1.0 else tr.multiply(x, self.lift), watched)
        self.products += 1
        if self.dtype is None:
            self.dtype = y.dtype
        return y

    def kept(self, x: tr.Tensor, /) -> tr.Tensor:
        """The same, good for ever."""
        return tr.copy(self(x))

    def raised(self, image: tr.Tensor, /) -> bool:
        """Whether vectors are given to the map times a power of two from here on, as this image of one is tiny.

        Of elements that are subnormal products have few digits; by such a vector all that the map itself has are left.

        >>> tiny = LinearMap("demo", tr.eye(2) * 2.0**-1060, (2,), ())
        >>> tiny.raised(tiny(tr.ones(2))), tiny(tr.ones(2)).to_numpy().tolist() == [2.0**-460] * 2
        (True, True)
        """
        self.lift = float(raising(tr.norm(image.reshape((image.size,)))))
        return self.lift != 1.0

    def images(self, vectors: tr.Tensor, /) -> Iterator[tr.Tensor]:
        """Those of vectors [n, k], columns [m, p] at a time; p is the width of a block, and 1 without batch axes.

        >>> identity = LinearMap("demo", lambda x: x, (2,), (2,))
        >>> [block.to_numpy().tolist() for block in identity.images(tr.ones((2, 3)))]
        [[[1.0, 1.0], [1.0, 1.0]], [[1.0], [1.0]]]
        """
        width = prod(self.batch)
        for at in range(0, vectors.shape[1], width):
            block = vectors[:, at : at + width]
            image = self.kept(padded(block, width) if self.batch else block[:, 0])
            yield image[:, : block.shape[1]] if self.batch else tr.expand_dims(image, 1)

    def _of_matrix(self, a: tr.Tensor) -> Callable[[tr.Tensor, bool], tr.Tensor]:
        if a.shape != (*self.target, *self.domain) or a.dtype not in FLOATING:
            raise (ShapeError if a.dtype in FLOATING else DTypeError)(
                f"{self.operation}: {self.name} is {a.dtype} of shape {a.shape}, for vectors of shape {self.domain}; "
                f"accepted: C32, C64, F32 or F64 of shape {(*self.target, *self.domain)}",
                operation=self.operation,
                shape=a.shape,
            )
        matrix = a.reshape((prod(self.target), prod(self.domain)))

        def product(x: tr.Tensor, watched: bool) -> tr.Tensor:
            require_together(self.operation, matrix, x)
            return tr.dot_general(matrix, x, contracting=([1], [0]))

        return product

    def _of_function(self, a: Callable[[tr.Tensor], tr.Tensor]) -> Callable[[tr.Tensor, bool], tr.Tensor]:
        given, wanted = (*self.domain, *self.batch), (*self.target, *self.batch)
        flattened = flat_shape(self.target, self.batch)

        def applied(x: tr.Tensor, watched: bool) -> tr.Tensor:
            vector = x.reshape(given)
            lent = tr.copy(vector) if watched else vector  # what is written into is not the caller's right-hand side
            y: Any = called(a, lent)
            if not isinstance(y, tr.Tensor) or y.shape != wanted or y.dtype not in FLOATING:
                raise wrong_image(self.operation, self.name, y, given, f" of shape {wanted}")
            require_beside(self.operation, self.name, y, x)
            if watched and tr.any((lent != vector) & (vector == vector)):
                raise written_argument(self.operation, self.name)
            return y.reshape(flattened)

        return applied


def padded(block: tr.Tensor, width: int, /) -> tr.Tensor:
    """Vectors [n, q] with columns of zeros behind them, up to so many.

    >>> padded(tr.ones((2, 1)), 3).to_numpy().tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    n, held = block.shape
    if held == width:
        return block
    nothing = tr.zeros((n, width - held), dtype=block.dtype, placement=block.placement)
    return tr.concatenate([block, nothing], axis=1)


def unsolved(
    operation: str,
    residuals: tr.Tensor,
    bound: tr.Tensor,
    batch: Shape,
    ended: tr.Tensor | None = None,
    /,
    maps: str = f"{OPERATOR}, b",
) -> tr.Tensor | None:
    """Which columns have residuals above their bounds, but for those that have ended; None where there is no such.

    ``maps`` is what an error calls those that gave the images, and the right-hand side.

    Raises:
        NonFiniteError: a residual is NaN or infinite, which an image was, or the right-hand side or the start is; or a
            bound is NaN, which the norm of a right-hand side beyond the range makes it.

    >>> unsolved("demo", tr.tensor([2.0, 0.5]), tr.ones((2,)), (2,)).to_numpy().tolist()
    [True, False]
    >>> unsolved("demo", tr.tensor([1.0, 0.5]), tr.ones((2,)), (2,)) is None
    True
    """
    above = ~(residuals <= bound)
    active = above if ended is None else above & ~ended
    measured = tr.maximum(residuals, bound)  # the residual where it is above, and NaN where either is
    missed = tr.where(active, measured, 0.0)
    left = float(tr.sum(missed) if missed.rank else missed)
    if not isfinite(left):
        require_numbers(operation, measured, batch, maps)
    return active if left != 0 else None


def preconditioning(operation: str, given: Operator | None, domain: Shape, batch: Shape, /) -> LinearMap | None:
    """The map that is about the inverse of another, where one was given."""
    return None if given is None else LinearMap(operation, given, domain, batch, name="the preconditioner")


def names(*maps: LinearMap | None) -> str:
    """What an error calls maps of which one gave what is not finite, and the right-hand side, which may be so itself.

    >>> names(LinearMap("demo", tr.eye(2), (2,), ()), None)
    'the operator, b'
    """
    return ", ".join((*(one.name for one in maps if one is not None), "b"))


def flat(x: tr.Tensor, core: Shape, batch: Shape, /) -> tr.Tensor:
    """[n], or [n, C] where there are batch axes.

    >>> flat(tr.zeros((2, 3, 4)), (2, 3), (4,)).shape, flat(tr.zeros((2, 3)), (2, 3), ()).shape
    ((6, 4), (6,))
    """
    return x.reshape(flat_shape(core, batch))


def flat_shape(core: Shape, batch: Shape, /) -> Shape:
    """That of a flat vector, or of columns.

    >>> flat_shape((2, 3), (4, 5)), flat_shape((2, 3), ())
    ((6, 20), (6,))
    """
    return (prod(core), prod(batch)) if batch else (prod(core),)


def parted(operation: str, a: Any, b: Any, batch_rank: Any, what: str, /) -> tuple[Shape, Shape]:
    """The shape of one right-hand side, and of the trailing axes that count them.

    Of a matrix [N, N] all axes of ``b`` but as many as the matrix's halves have are batch axes.

    Raises:
        ForeignOperandError: ``b``, which errors call ``what``, is no tensor.
        DTypeError: it is an integer or Bool tensor.
        ArgumentError: more batch axes than there are.

    >>> parted("cg", tr.eye(3), tr.zeros((3, 5)), 0, "b")
    ((3,), (5,))
    """
    require_tensor(operation, what, b)
    if b.dtype not in FLOATING:
        raise DTypeError(f"{operation}: {what} is {b.dtype}; accepted: C32, C64, F32, F64", operation=operation)
    count = whole(operation, "batch_rank", batch_rank)
    if isinstance(a, tr.Tensor) and count == 0:
        count = max(b.rank - a.rank // 2, 0)
    if not 0 <= count <= b.rank:
        raise ArgumentError(
            f"{operation}: batch_rank is {count} for {what} of rank {b.rank}; accepted: 0 to {b.rank}",
            operation=operation,
        )
    cut = b.rank - count
    return b.shape[:cut], b.shape[cut:]


def adjoint_of(operation: str, a: Any, adjoint: Any, /) -> Any:
    """What maps back: the function given, or the conjugated matrix with its halves exchanged.

    >>> adjoint_of("lsmr", tr.ones((2, 3)), None).shape
    (3, 2)
    """
    if isinstance(adjoint, tr.Tensor) or callable(adjoint):
        return adjoint
    if adjoint is not None:
        accepted = "; accepted: a function from tensor to tensor, a tensor that holds a matrix, or None"
        raise no_tensor(operation, "adjoint is", adjoint, accepted)
    if not isinstance(a, tr.Tensor):
        raise ArgumentError(
            f"{operation}: a is a function without its adjoint; accepted: adjoint=, the function of its adjoint",
            operation=operation,
        )
    half = a.rank // 2
    turned = tr.permute_axes(a, (*range(half, a.rank), *range(half)))
    return tr.conj(turned) if a.dtype.kind == "complex" else turned


def over(x: tr.Tensor, divisor: tr.Tensor, otherwise: float = 0.0, /, there: tr.Tensor | None = None) -> tr.Tensor:
    """The quotient, NaN where either is; where the divisor is 0, or not ``there``, another number.

    >>> over(tr.tensor([1.0, 1.0]), tr.tensor([2.0, 0.0])).to_numpy().tolist()
    [0.5, 0.0]
    """
    if there is None:
        there = divisor != 0.0
    if there.rank == 0 and there.placement is tr.CPU and there:  # nothing waits for it
        return tr.divide(x, divisor)
    return tr.where(there, tr.divide(x, tr.where(there, divisor, 1.0)), otherwise)


def levelled(image: tr.Tensor, x: tr.Tensor, /) -> tr.Tensor | None:
    """Powers of two that bring the image of each column near the column's length; None where all are near enough.

    Squares of what is near neither vanish nor overflow.

    >>> levelled(tr.tensor([1e-250, 0.0]), tr.tensor([1.0, 0.0])).item() == 2.0**830
    True
    >>> levelled(tr.tensor([1e-9, 0.0]), tr.tensor([1.0, 0.0])) is None
    True
    """
    least, most = (-1022, 1023) if image.dtype.component is tr.F64 else (-126, 127)  # powers that have all digits
    exponent = tr.subtract(tr.log2(tr.norm(x, axis=0)), tr.log2(tr.norm(image, axis=0)))
    far = tr.isfinite(exponent) & (tr.abs(exponent) > most // 6)
    if not tr.any(far):
        return None
    return tr.exp2(tr.where(far, tr.clip(tr.round(exponent), least, most), 0.0))


def raising(length: tr.Tensor, /) -> tr.Tensor:
    """Powers of two that bring tiny lengths to where there are digits enough to divide by; 1 for others.

    >>> raising(tr.tensor([1e-320, 1.0])).to_numpy().tolist() == [2.0**600, 1.0]
    True
    """
    most = 1000 if length.dtype is tr.F64 else 120
    tiny = (length > 0.0) & (length < 2.0 ** (-0.9 * most))
    return tr.where(tiny, tr.full_like(length, 2.0 ** (0.6 * most)), 1.0)


def quotient(x: tr.Tensor, length: float, /) -> tr.Tensor:
    """A vector over a length above 0, tiny ones as well: complex quotients by such overflow on the way.

    >>> quotient(tr.tensor([2.0**-1060 * 1j]), 2.0**-1060).to_numpy().tolist()
    [1j]
    """
    most = 1000 if x.dtype.component is tr.F64 else 120
    if length >= 2.0 ** (-0.9 * most):
        return tr.divide(x, length)
    lift = 2.0 ** (0.6 * most)
    return tr.divide(tr.multiply(x, lift), length * lift)


def directions(x: tr.Tensor, length: tr.Tensor, /) -> tr.Tensor:
    """The same for a vector or columns, of their lengths; zeros where those are 0.

    >>> directions(tr.tensor([2.0**-1060 * 1j]), tr.tensor(2.0**-1060)).to_numpy().tolist()
    [1j]
    """
    lift = raising(length)
    return over(tr.multiply(x, lift), tr.multiply(length, lift))


def inner(x: tr.Tensor, y: tr.Tensor, /) -> tr.Tensor:
    """The real parts of inner products, [] or [C].

    >>> inner(tr.tensor([1.0, 1j]), tr.tensor([2.0, 1j])).item()
    3.0
    """
    found = vecdot(x, y)
    return tr.real(found) if found.dtype.kind == "complex" else found


def times(x: tr.Tensor, factor: tr.Tensor | None, /) -> tr.Tensor:
    """The product with what :func:`levelled` gives.

    >>> times(tr.ones((2,)), None).to_numpy().tolist()
    [1.0, 1.0]
    """
    return x if factor is None else tr.multiply(x, factor)


def hypotenuse(x: tr.Tensor, y: tr.Tensor, /) -> tr.Tensor:
    """The square root of x² + y², whose squares neither overflow nor vanish.

    >>> hypotenuse(tr.tensor([3e-200, 0.0]), tr.tensor([4e-200, 0.0])).to_numpy().tolist()
    [5e-200, 0.0]
    """
    return tr.abs(tr.complex(x, y))


def share(length: tr.Tensor, tol: float, /) -> tr.Tensor:
    """``tol`` times a length, below which residuals shall come; NaN, which no residual is below, of an infinite one.

    >>> share(tr.tensor([2.0, float("inf")]), 0.5).to_numpy().tolist()
    [1.0, nan]
    """
    return tr.add(tr.multiply(length, tol), tr.multiply(length, 0.0))
