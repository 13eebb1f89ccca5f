"""What operations that are composed of others look at.

Errors name what the user called, and his indices; and results may be within the range where singular values are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tensor_core.shapes import Shape
from tensor_linalg.operands import holds, sum_is_finite
from tensor_linalg.specs.linalg_spec import require_floating
from tensor_linalg.specs.shapes import matrix_axes, square_axes
from tensor_runtime.errors import LinalgError, NonFiniteError, non_finite
from tensor_runtime.form import Form
from tensor_runtime.ops.arithmetic import multiply
from tensor_runtime.ops.creation import full
from tensor_runtime.ops.logic import logical_and, logical_not
from tensor_runtime.ops.reduction import all, any
from tensor_runtime.ops.rounding import isfinite
from tensor_runtime.ops.selection import where
from tensor_runtime.tensors.tensor import Tensor, unwrap

Index = tuple[int, ...]
SMALLER: Final = 2.0**-24
"""Times a matrix whose largest singular value is beyond the range, whatever its extents."""


def matrices(operation: str, a: Tensor, /, *, square: bool = False) -> tuple[int, int, Shape]:
    """M, N and the batch shape of an operand [M, N, B...].

    Raises:
        DTypeError: an integer or Bool tensor.
        ShapeError: fewer than two axes, or matrices that are not square though they have to be.

    >>> from tensor_runtime.ops.creation import zeros
    >>> matrices("rq", zeros((2, 3, 7)))
    (2, 3, (7,))
    """
    form = floating_form(operation, a)
    if square:
        size, batch = square_axes(operation, form.shape)
        return size, size, batch
    return matrix_axes(operation, form.shape)


def floating_form(operation: str, a: Tensor, which: str = "operand", /) -> Form:
    """The form of an operand, which must be floating or complex.

    Raises:
        DTypeError: an integer or Bool tensor.

    >>> from tensor_runtime.ops.creation import zeros
    >>> floating_form("rq", zeros(3)).shape
    (3,)
    """
    form, _ = unwrap(operation, a)
    require_floating(operation, [form.dtype], which)
    return form


class failing_as:  # noqa: N801  # a class, as a context made of a generator takes three times as long
    """Errors of what is called inside bear this operation's name, and name elements of its own operand.

    Args:
        operation: what the user called.
        element: from the row and column of the operand that was given to the operation inside to those of the user's;
            None where they are the same.
        operand: the user's name of what the operation inside calls ``a``; other operands keep theirs.
        instead: a word of the error that is untrue of the user's operand, and what is true.

    >>> with failing_as("lq", lambda i, j: (j, i)):
    ...     raise NonFiniteError("qr: ...", element_index=(0, 1))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_runtime.errors.NonFiniteError: lq: operand a holds NaN or an infinity at element (1, 0); accepted: finite ...
    """

    __slots__ = ("_named",)

    def __init__(
        self,
        operation: str,
        element: Callable[[int, int], Index] | None = None,
        operand: str = "a",
        /,
        *,
        instead: tuple[str, str] = ("", ""),
    ) -> None:
        self._named = operation, element, operand, instead

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, LinalgError):
            operation, element, operand, instead = self._named
            raise renamed(operation, error, element, operand, instead) from None


def renamed(
    operation: str,
    error: LinalgError,
    element: Callable[[int, int], Index] | None = None,
    operand: str = "a",
    instead: tuple[str, str] = ("", ""),
) -> LinalgError:
    """The error that :func:`failing_as` raises, for a caller that cannot wait for a ``with``.

    >>> renamed("pinv", NonFiniteError("svd: ...", element_index=(0, 1))).operation
    'pinv'
    """
    facts = vars(error)
    index, batch = facts.get("element_index"), facts.get("batch_index", ())
    if isinstance(error, NonFiniteError) and index is not None:
        found = str(error).partition(" holds ")[2].partition(" at element ")[0]
        if not found or (element is not None and "j" in found):  # of what was turned perhaps the conjugate
            found = "NaN or an infinity"
        if (own := facts.get("operand", "a")) != "a":
            return non_finite(operation, own, index, batch, found)
        return non_finite(operation, operand, index if element is None else element(*index), batch, found)
    told = f"{operation}:" if operand == "a" else f"{operation}: of operand {operand},"
    message = str(error).replace(f"{facts.get('operation')}:", told, 1)
    if instead[0]:
        message = message.replace(*instead)
    return type(error)(message, **{**facts, "operation": operation})


def with_smaller(a: Tensor, sizes: Tensor, /) -> tuple[Tensor, Tensor] | None:
    """Matrices of which those with a singular value beyond the range are smaller, and what they were multiplied by.

    Vectors and ratios of singular values are the same.

    Args:
        a: shape [M, N, B...].
        sizes: their singular values [K, B...], or the eigenvalues.

    Returns:
        Tensors [M, N, B...] and [B...]; None where nothing but elements that are not finite is beyond the range.

    >>> import tensor_runtime as tr
    >>> a = tr.full((2, 2), 1e308)
    >>> found = with_smaller(a, tr.tensor([float("inf"), 0.0]))
    >>> found is not None and found[1].item() == 2.0**-24, with_smaller(a, tr.tensor([1.0, 0.0]))
    (True, None)
    """
    if sum_is_finite(sizes):
        return None
    beyond = logical_and(logical_not(all(isfinite(sizes), 0)), all(isfinite(a), (0, 1)))
    if not holds(any(beyond)):
        return None
    factors = where(beyond, full((), SMALLER, dtype=sizes.dtype, placement=a.placement), 1.0)
    return multiply(a, factors), factors
