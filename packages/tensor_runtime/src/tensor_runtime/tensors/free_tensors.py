"""Tensors that a function uses without being given them: those of its closure, and of the module that it is in."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from operator import is_
from types import CellType, CodeType, FunctionType
from typing import Any, Final

from tensor_runtime.tensors.tensor import Tensor

_NONE: Final = object()  # in place of what a name lacks


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
    named = {name: module.get(name) for name in _names(function.__code__)}
    free = {name: replaced(value) for name, value in named.items() if _has_tensors(value)}
    cells = tuple([_other_cell(cell, replaced) for cell in closure])
    if not free and all(map(is_, cells, closure)):
        return function
    names = {**module, **free} if free else module
    result = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    result.__kwdefaults__ = function.__kwdefaults__
    return _assigning(result, module, free) if free else result


def _assigning(function: FunctionType, module: dict[str, Any], free: Container[str]) -> Callable[..., Any]:
    """The function, which assigns to names of a copy of its module, so that the module has them after a call.

    What stands for a tensor stays out of it, and so does whatever is assigned to that tensor's name.
    """
    names = function.__globals__
    given = names.copy()

    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        finally:
            for name in given.keys() | names.keys():
                if name in free or given.get(name, _NONE) is names.get(name, _NONE):
                    continue
                if name in names:
                    module[name] = names[name]
                else:
                    module.pop(name, None)

    return call


def _other_cell(cell: CellType, replaced: Callable[[Any], Any]) -> CellType:
    """The cell itself, or another one where there are tensors in it."""
    try:
        value = cell.cell_contents
    except ValueError:  # it has none yet
        return cell
    return CellType(replaced(value)) if _has_tensors(value) else cell


def _has_tensors(value: Any) -> bool:
    """Whether it is a tensor, or a list or tuple with one at any depth; lists may hold themselves."""
    pending, seen = [value], set[int]()
    while pending:
        one = pending.pop()
        if isinstance(one, Tensor):
            return True
        if type(one) in (list, tuple) and id(one) not in seen:
            seen.add(id(one))
            pending.extend(one)
    return False


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes, in the functions inside too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
