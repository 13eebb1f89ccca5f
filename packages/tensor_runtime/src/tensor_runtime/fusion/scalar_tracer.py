"""What stands for a Python number among the arguments of a fused function while it is traced.

Beside a tensor it is an operand like any other, whose form is the number's type. Its value is not known yet, so
arithmetic between numbers, and whatever else asks for the value, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tensor_core.errors import UnsupportedOperationError
from tensor_runtime.backends.tracing import Node
from tensor_runtime.ops.methods import METHODS
from tensor_runtime.tensors.tensor import Tensor, blank

_ARITHMETIC: Final = ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow")
_BITS: Final = ("and", "or", "xor", "lshift", "rshift")
_BESIDE_A_TENSOR: Final = frozenset(
    ["__rmatmul__", *(f"__{prefix}{name}__" for name in (*_ARITHMETIC, *_BITS) for prefix in ("", "r"))]
)
_MIRRORED: Final = {
    "__eq__": "__eq__",
    "__ne__": "__ne__",
    "__lt__": "__gt__",
    "__gt__": "__lt__",
    "__le__": "__ge__",
    "__ge__": "__le__",
}
"""The comparison that Python asks the tensor for when the number stands first; also asked here when it stands last."""


class NumberArgument(Tensor):
    """A tensor in name only: ``_form`` is the type of a Python number, under which specs bind it.

    >>> x = number_argument(float, None)
    >>> x + 1  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.UnsupportedOperationError: __add__: a fused function asks for the value of an argument ...
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<Python {self._form.__name__}, an argument of a fused function>"  # type: ignore[attr-defined]


def number_argument(kind: type, node: Node | None, /) -> NumberArgument:
    """The stand-in of a number of this type.

    >>> number_argument(int, None)
    <Python int, an argument of a fused function>
    """
    result: NumberArgument = blank(NumberArgument)
    result._form, result._array = kind, node  # type: ignore[assignment]
    return result


def _refusal(name: str, kind: type) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        f"{name}: a fused function asks for the value of an argument that is a Python {kind.__name__}, but it runs "
        "once for many values; accepted: elementwise operations beside a tensor (compute the number before the call)",
        operation=name,
    )


def _method(name: str) -> Callable[..., Any]:
    mirrored = METHODS.get(_MIRRORED.get(name, ""))
    method = METHODS[name] if name in _BESIDE_A_TENSOR else None

    def answer(a: Any, *others: Any, **options: Any) -> Any:
        beside_a_tensor = others and isinstance(others[0], Tensor) and not isinstance(others[0], NumberArgument)
        if beside_a_tensor and method is not None:
            return method(a, *others)
        if beside_a_tensor and mirrored is not None:
            return mirrored(others[0], a)
        raise _refusal(name, a._form)

    return answer


for _name in METHODS:
    if _name.startswith("__") and _name not in ("__repr__", "__reduce_ex__"):
        setattr(NumberArgument, _name, _method(_name))
