"""Tensors that a function uses without being given them: those of its closure, and of the module that it is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from tensor_runtime.tensors.tensor import Tensor


def with_free_tensors(function: Callable[..., Any], replaced: Callable[[Any], Any], /) -> Callable[..., Any]:
    """The function as it would be if other tensors stood where it finds those that are no arguments; itself without.

    Args:
        function: any; only one written in Python is looked into, not what it calls, nor attributes of objects.
        replaced: gives what stands for a tensor, or for a list or tuple with tensors in it.

    >>> x = tensor([1.0, 2.0])
    >>> double = lambda: x + x
    >>> with_free_tensors(double, lambda found: -found)().to_numpy().tolist(), double().to_numpy().tolist()
    ([-2.0, -4.0], [2.0, 4.0])
    """
    if type(function) is not FunctionType:
        return function
    module, closure = function.__globals__, function.__closure__ or ()
    free = {name: replaced(module[name]) for name in _names(function.__code__) if _has_tensors(module.get(name))}
    if not free and not any(map(_is_free, closure)):
        return function
    cells = tuple(CellType(replaced(cell.cell_contents)) if _is_free(cell) else cell for cell in closure)
    names = {**module, **free} if free else module
    result = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    result.__kwdefaults__ = function.__kwdefaults__
    return result


def _is_free(cell: CellType) -> bool:
    try:
        return _has_tensors(cell.cell_contents)
    except ValueError:  # it has none yet
        return False


def _has_tensors(value: Any) -> bool:
    return isinstance(value, Tensor) or (type(value) in (list, tuple) and any(map(_has_tensors, value)))


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes, in the functions inside too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
