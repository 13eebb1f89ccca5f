"""Why what a caller gives as a map is refused, or what the map gave: each by its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import tensor_runtime as tr
from tensor_core.dtypes import FLOATING
from tensor_core.errors import DTypeError, PlacementError, ReadOnlyError, ShapeError, TensorError
from tensor_core.shapes import Shape
from tensor_linalg.operands import first, no_tensor
from tensor_runtime.errors import NonFiniteError

OPERATOR: Final = "the operator"
"""What the map is called that a method is about."""


def require_operator(operation: str, a: Any, name: str = OPERATOR, /) -> None:
    """Raise where a map is neither a tensor nor a function.

    Raises:
        ForeignOperandError: an array of another library.
        ArgumentError: anything else, such as nested lists.

    >>> require_operator("demo", tr.eye(2))
    """
    if not isinstance(a, tr.Tensor) and not callable(a):
        accepted = (
            "a function from tensor to tensor, or a tensor that holds a matrix, which asarray() makes of an array"
        )
        raise no_tensor(operation, f"{name} is", a, f"; accepted: {accepted}")


def wrong_image(operation: str, name: str, y: Any, given: Shape, wanted: str, /) -> TensorError:
    """The error about what a function gave for a tensor: no tensor, one of another dtype, or of another shape.

    >>> print(wrong_image("demo", OPERATOR, None, (2,), " of shape (2,)"))
    demo: the operator gave a NoneType for a tensor of shape (2,); accepted: a floating or complex tensor of shape (2,)
    """
    rest = f" for a tensor of shape {given}; accepted: a floating or complex tensor{wanted}"
    if not isinstance(y, tr.Tensor):
        return no_tensor(operation, f"{name} gave", y, rest)
    kind = ShapeError if y.dtype in FLOATING else DTypeError
    return kind(f"{operation}: {name} gave {y.dtype} of shape {y.shape}{rest}", operation=operation)


def require_beside(operation: str, name: str, y: tr.Tensor, x: tr.Tensor, /) -> None:
    """Raise where an image lies elsewhere than the vector.

    Raises:
        PlacementError: it does.

    >>> require_beside("demo", OPERATOR, tr.ones(3), tr.ones(2))
    """
    if y.placement is not x.placement:
        raise PlacementError(
            f"{operation}: {name} gave a tensor on {y.placement} for one on {x.placement}; accepted: images where the "
            "vectors are; to() moves them",
            operation=operation,
            placements=(y.placement, x.placement),
        )


def written_argument(operation: str, name: str, /) -> TensorError:
    """The error about a function that changed the vector it was given.

    >>> print(written_argument("demo", OPERATOR))  # doctest: +ELLIPSIS
    demo: the operator wrote into the tensor that it was given, which is still needed; accepted: functions that ...
    """
    return ReadOnlyError(
        f"{operation}: {name} wrote into the tensor that it was given, which is still needed; accepted: functions that "
        "leave it as it is; to_numpy() lends its memory, numpy.array(v) and copy(v) are the function's own",
        operation=operation,
    )


@contextmanager
def finite_images(operation: str, maps: str = OPERATOR, /) -> Iterator[None]:
    """What a decomposition inside says of NaN and infinities becomes an error about the map, where they came from.

    >>> with finite_images("demo"):
    ...     raise NonFiniteError("eigh: ...")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_runtime.errors.NonFiniteError: demo: the operator or the start holds NaN or an infinity, or products ...
    """
    try:
        yield
    except NonFiniteError:
        raise _not_finite(operation, (), maps) from None


def _not_finite(operation: str, column: Shape, maps: str) -> NonFiniteError:
    where = f", as batch index {column} shows" if column else ""
    return NonFiniteError(
        f"{operation}: {maps} or the start holds NaN or an infinity, or products overflow{where}; "
        "accepted: finite images of finite tensors",
        operation=operation,
        batch_index=column,
    )


def require_numbers(operation: str, x: tr.Tensor, batch: Shape, maps: str = OPERATOR, /) -> None:
    """Raise where what the columns of an iteration tell is NaN or infinite.

    Raises:
        NonFiniteError: with ``batch_index``.

    >>> require_numbers("demo", tr.ones((2,)), (2,))
    """
    bad = ~tr.isfinite(x)
    if tr.any(bad):
        raise _not_finite(operation, first(bad.reshape(batch)), maps)
