"""Operators between tensors and what else a user puts beside one.

A number computes. An array, which would be mixed in silently, and anything that Python brings (a list, None, a string)
are refused with what to write; any other class is asked whether it can, as Python asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tensor_core.foreign import number_of, refuse_masked
from tensor_runtime.dispatch.call import execute_binary, execute_mixed
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.errors import ForeignOperandError
from tensor_runtime.ops import contraction, division
from tensor_runtime.tensors.tensor import Tensor

Operator = Callable[[Tensor, Any], Any]

_REMEDIES: Final[dict[type, str]] = {list: "; tensor() makes one of a list", tuple: "; tensor() makes one of a tuple"}
_REPEATED: Final = (list, tuple, str, bytes, bytearray)
"""What Python repeats where it is multiplied by an integer, such as a tensor of rank 0."""


def operator_of(spec: OpSpec) -> Operator:
    """The operator with the tensor first.

    >>> from tensor_runtime.ops.arithmetic import ADD
    >>> operator_of(ADD)(tensor([1.0]), 2).item()
    3.0
    """

    def infix(a: Tensor, b: Any, /) -> Any:
        try:
            return execute_binary(spec, a, b) if type(b) is Tensor else execute_mixed(spec, a, b)
        except ForeignOperandError:
            if _is_ours(b):
                raise
            return _declined(spec.name, a, b)

    return infix


def reflected_of(spec: OpSpec) -> Operator:
    """The operator with the tensor second.

    >>> from tensor_runtime.ops.arithmetic import SUBTRACT
    >>> reflected_of(SUBTRACT)(tensor([1.0]), 3).item()
    2.0
    """

    def infix(b: Tensor, a: Any, /) -> Any:
        try:
            return execute_mixed(spec, a, b)
        except ForeignOperandError:
            if _is_ours(a):
                raise
            return _declined(spec.name, b, a)

    return infix


def matmul(a: Tensor, b: Any, /) -> Any:
    """``a @ b``, of tensors alone.

    >>> matmul(tensor([1.0, 2.0]), tensor([3.0, 4.0])).item()
    11.0
    """
    return contraction.matmul(a, b) if isinstance(b, Tensor) else _no_factor(a, b)


def reflected_matmul(b: Tensor, a: Any, /) -> Any:
    """``a @ b`` of something else and a tensor, which computes nothing.

    >>> reflected_matmul(tensor([1.0, 2.0]), [3.0, 4.0])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_runtime.errors.ForeignOperandError: matmul: a tensor meets a list; accepted: a tensor; tensor() makes one ...
    """
    return contraction.matmul(a, b) if isinstance(a, Tensor) else _no_factor(b, a)


def floor_and_rest(a: Tensor, b: Any, /) -> Any:
    """``divmod(a, b)``.

    >>> floor_and_rest(tensor(7), 3)[1].item()
    1
    """
    quotient = FLOORED(a, b)
    return quotient if quotient is NotImplemented else (quotient, REST(a, b))


def reflected_floor_and_rest(b: Tensor, a: Any, /) -> Any:
    """``divmod(a, b)`` of something else and a tensor.

    >>> reflected_floor_and_rest(tensor(3), 7)[0].item()
    2
    """
    quotient = REFLECTED_FLOORED(b, a)
    return quotient if quotient is NotImplemented else (quotient, REFLECTED_REST(b, a))


def _is_ours(other: object) -> bool:
    """Whether it is no foreign operand, so that the error tells of another: one inside a rule for the operation."""
    return isinstance(other, Tensor) or number_of(other) is not None


def _no_factor(x: Tensor, other: object) -> Any:
    """What becomes of ``@`` beside something that is no tensor."""
    if number_of(other) is not None:
        raise ForeignOperandError(
            f"matmul: found a {type(other).__name__}; accepted: two tensors; of a number write x * number",
            operation="matmul",
        )
    return _declined("matmul", x, other)


def _declined(operation: str, x: Tensor, other: object) -> Any:
    """Let the other operand's class try, unless an array would be mixed in silently, or Python's own knows no tensors.

    ``==`` and ``!=`` would take a refusal for False and True.
    """
    refuse_masked(operation, other)
    if hasattr(other, "__array__") or hasattr(other, "__array_interface__"):
        raise ForeignOperandError(
            f"{operation}: a tensor meets a {type(other).__module__}.{type(other).__name__}; "
            "make it a tensor with asarray(), or the tensor an array with to_numpy()",
            operation=operation,
        ) from None
    if type(other).__module__ != "builtins":
        return NotImplemented
    if operation == "multiply" and x.rank == 0 and isinstance(other, _REPEATED):
        return NotImplemented
    found, remedy = f"a {type(other).__name__}", _REMEDIES.get(type(other), "")
    if other is None:
        found, remedy = "None", "; ask x is None" if operation in ("equal", "not_equal") else ""
    accepted = "a tensor" if operation == "matmul" else "a tensor, and Python's bool, int, float and complex"
    raise ForeignOperandError(
        f"{operation}: a tensor meets {found}; accepted: {accepted}{remedy}", operation=operation
    ) from None


FLOORED: Final = operator_of(division.FLOOR_DIVIDE)
"""``a // b``."""
REFLECTED_FLOORED: Final = reflected_of(division.FLOOR_DIVIDE)
"""``a // b`` of something else and a tensor."""
REST: Final = operator_of(division.REMAINDER)
"""``a % b``."""
REFLECTED_REST: Final = reflected_of(division.REMAINDER)
"""``a % b`` of something else and a tensor."""
