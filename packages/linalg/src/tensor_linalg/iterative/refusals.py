"""Why what a caller gives as a map is refused, or what the map gave: each by its name."""

from __future__ import annotations

from typing import Any, Final

import tensor_runtime as tr
from tensor_core.dtypes import FLOATING
from tensor_core.errors import DTypeError, ShapeError, TensorError
from tensor_core.shapes import Shape
from tensor_linalg.operands import no_tensor

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
