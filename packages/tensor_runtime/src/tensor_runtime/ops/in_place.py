"""Operators in place: ``view += x`` of a mutable view writes, where ``x += y`` of any other tensor names a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tensor_core.errors import LossyConversionError, OverlappingViewError
from tensor_core.foreign import number_of
from tensor_runtime.dispatch.call import execute_binary
from tensor_runtime.dispatch.out import write
from tensor_runtime.dispatch.spec import PYTHON_NUMBERS, OpSpec
from tensor_runtime.ops import arithmetic, division, logic
from tensor_runtime.tensors.tensor import Tensor


def in_place_operators(methods: Mapping[str, Any], /) -> dict[str, Callable[..., Any]]:
    """The methods of mutable views that write, by their names, from those that give new tensors.

    Errors as for the operator, and as for ``out=``: the view's dtype must hold the result, whose shape is the view's.

    >>> view = zeros(2).mutable_view()
    >>> view += 1
    >>> view.to_numpy().tolist()
    [1.0, 1.0]
    """
    specs: dict[str, OpSpec | None] = {
        "add": arithmetic.ADD, "sub": arithmetic.SUBTRACT, "mul": arithmetic.MULTIPLY, "truediv": arithmetic.DIVIDE,
        "floordiv": division.FLOOR_DIVIDE, "mod": division.REMAINDER, "pow": arithmetic.POW, "and": logic.BITWISE_AND,
        "or": logic.BITWISE_OR, "xor": logic.BITWISE_XOR, "lshift": logic.BITWISE_LEFT_SHIFT,
        "rshift": logic.BITWISE_RIGHT_SHIFT, "matmul": None,
    }  # fmt: skip
    return {f"__i{name}__": _in_place(f"__i{name}__", spec, methods[f"__{name}__"]) for name, spec in specs.items()}


def _in_place(name: str, spec: OpSpec | None, compute: Callable[..., Any]) -> Callable[..., Any]:
    """``view += x`` of a mutable view, which writes; a tensor that is none has no such method, and gets a new value."""

    def infix(view: Tensor, other: Any, /) -> Any:
        plain = type(other) is Tensor or type(other) in PYTHON_NUMBERS
        if spec is not None and (plain or number_of(other) is not None):
            try:
                return execute_binary(spec, view, other, view)
            except OverlappingViewError:
                pass  # then the result is computed before anything is written
            except LossyConversionError:
                if plain:
                    raise
        result = compute(view, other)
        if result is NotImplemented:
            return result
        write(view, result, f"in place, {name.strip('_')[1:]}")  # type: ignore[arg-type]
        return view

    infix.__name__, infix.__qualname__ = name, f"TypedTensorViewMut.{name}"
    return infix
