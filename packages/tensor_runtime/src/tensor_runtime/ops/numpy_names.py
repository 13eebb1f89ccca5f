"""What users of NumPy, SciPy and PyTorch look for, and what it is called here.

NumPy's functions on tensors are refused by errors that name ours, and so are methods that a tensor has not; nothing of
this is on the way of a call that succeeds.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from tensor_core.dtypes import dtype_of_name
from tensor_core.errors import MissingAttributeError
from tensor_core.foreign import number_of, refuse_masked, shape_of
from tensor_runtime.backends.plugins.families import families
from tensor_runtime.backends.xp_tables import elementwise
from tensor_runtime.errors import ForeignOperandError
from tensor_runtime.operations import operation
from tensor_runtime.ops.names_elsewhere import (
    ALONE,
    FUNCTIONS,
    LINALG,
    MATRICES,
    METHODS,
    OURS,
    REDUCTIONS,
    UFUNC_METHODS,
)
from tensor_runtime.tensors.tensor import Tensor

_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "true_divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod, "divmod": divmod,
    "power": operator.pow, "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "left_shift": operator.lshift, "right_shift": operator.rshift, "equal": operator.eq, "not_equal": operator.ne,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
}  # fmt: skip
_METADATA: Final = frozenset({"ndim", "shape", "size"})
_OPERANDS: Final = {"a": "x", "b": "y"}
_SLIP: Final = 0.8
"""Similarity to what was meant that a slip of the fingers leaves, and another word does not."""


def array_ufunc(x: Tensor, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any:
    """NumPy's protocol for its elementwise functions, by which it asks for ``scalar * x`` too; all else is refused.

    Raises:
        ForeignOperandError: always, but for an operator between a NumPy scalar and a tensor.

    >>> import numpy as np
    >>> array_ufunc(x := tensor([1.0]), np.multiply, "__call__", np.float64(2), x).item()
    2.0
    """
    name = ufunc.__name__
    if method == "__call__" and not options and len(inputs) == 2 and inputs[1] is x and name in _OPERATORS:
        scalar = inputs[0]
        if name in elementwise.COMPARISONS and shape_of(scalar) == () and hasattr(scalar, "__array_interface__"):
            scalar = scalar[()]  # NumPy compares its scalars as arrays of rank 0
        number = None if isinstance(scalar, Tensor) else number_of(scalar)
        if number is not None and number is not scalar:
            return _OPERATORS[name](number, x)
    if method == "__call__":
        raise _refused(f"numpy.{name}", "numpy", name, inputs)
    ours = OURS.get(name, name)
    remedy = REDUCTIONS.get(f"{name}.{method}", UFUNC_METHODS.get(method, "").format(ours) if _is_public(ours) else "")
    raise _unlike(f"numpy.{name}.{method}", remedy and f"tensor_runtime.{remedy}", inputs)


def array_function(x: Tensor, function: Any, types: Any, arguments: tuple[Any, ...], options: Any, /) -> Any:
    """NumPy's protocol for its other functions; only shape, rank and size are told.

    Raises:
        ForeignOperandError: for all others.

    >>> import numpy as np
    >>> np.shape(tensor([1.0]))
    (1,)
    """
    name = function.__name__
    if name in _METADATA and len(arguments) == 1 and not options:
        return getattr(x, name)
    if name == "where" and len(arguments) == 1:
        name = "nonzero"
    raise _refused(f"{function.__module__}.{function.__name__}", function.__module__, name, arguments)


def masked_data(x: Tensor, /) -> NoReturn:
    """What ``numpy.ma`` asks any operand for before it reads it as an array: there is none.

    Raises:
        ForeignOperandError: ``numpy.ma`` asks.
        MissingAttributeError: anybody else does, such as ``inspect``.

    >>> hasattr(tensor([1.0]), "_data")
    False
    """
    if not str(sys._getframe(1).f_globals.get("__name__")).startswith("numpy.ma."):
        raise MissingAttributeError("'Tensor' object has no attribute '_data'", name="_data")
    raise ForeignOperandError(
        "numpy.ma: found a masked array beside a tensor, and a tensor has no mask; accepted: x.filled(value), which "
        "gives the masked elements a value, or x.data, which ignores the mask"
    )


def _refused(called: str, module: str, name: str, arguments: Sequence[Any]) -> ForeignOperandError:
    if module == "numpy.linalg":
        ours = LINALG.get(name) or _of_family(name)
    else:
        ours = _written(name) if module == "numpy" else ""
    return _unlike(called, ours, arguments)


def _unlike(called: str, remedy: str, arguments: Sequence[Any]) -> ForeignOperandError:
    """The error of a function that takes arrays alone; the remedy is what to write for tensors alone."""
    for one in arguments:
        refuse_masked(called, one)
    met, told = "found a tensor, which is no array of NumPy's", f"write {remedy}"
    if not remedy:
        told = "to_numpy(), or np.asarray(x), gives NumPy the elements"
    for one in arguments:
        if hasattr(one, "__array_interface__") and number_of(one) is None:
            met = f"a tensor meets a {type(one).__module__}.{type(one).__name__}"
            told = "make it a tensor with asarray(), or the tensor an array with to_numpy()"
            told += f"; of tensors, write {remedy}" if remedy else ""
            break
    return ForeignOperandError(f"{called}: {met}; {told}", operation=called)


def _written(name: str) -> str:
    """What a user writes for a function of NumPy's; "" where nothing here does the same."""
    ours = OURS.get(name, name)
    if _is_public(ours):
        return f"tensor_runtime.{ours}({_arguments(getattr(sys.modules['tensor_runtime'], ours))})"
    instead = FUNCTIONS.get(name, "")
    if instead:
        return instead if instead.startswith("x.") else f"{instead}, with functions of tensor_runtime"
    return _of_family(name)


def _is_public(name: str) -> bool:
    runtime = sys.modules["tensor_runtime"]
    return name in runtime.__all__ and callable(getattr(runtime, name))


def _of_family(name: str) -> str:
    """The call of a function that a family brings; "" where none does."""
    for family in families():
        if name in family.operations:
            module = family.operations[name].partition(":")[0].partition(".")[0]
            return f"{module}.{name}({_arguments(operation(name, module))})"
    return ""


def _arguments(function: Any) -> str:
    """The arguments that a call must give, as a user writes them."""
    from inspect import Parameter, signature  # costs a millisecond to import

    names = []
    for one in signature(function).parameters.values():
        required = one.default in (Parameter.empty, ...)
        if one.kind is Parameter.VAR_POSITIONAL:
            names.append(f"*{one.name}")
        elif required and one.kind is Parameter.KEYWORD_ONLY:
            names.append(f"{one.name}={one.name}")
        elif required and one.kind is not Parameter.VAR_KEYWORD:
            names.append(_OPERANDS.get(one.name, one.name))
    return ", ".join(names)


def _takes_a_tensor(function: Any) -> bool:
    """Whether its first parameter is one, as its annotation says."""
    from inspect import signature

    if not callable(function) or isinstance(function, type):
        return False
    first = next(iter(signature(function).parameters.values()), None)
    return first is not None and str(first.annotation).startswith(("Tensor", "TypedTensor"))


class _Absent:
    """What stands for an attribute that tensors have not, so that the error names the function instead.

    A ``__getattr__`` would cost each attribute that is there 25 ns.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        name, kind = self.name, owner.__name__
        found = f"{kind!r} object has no attribute {name!r}"
        if name in METHODS:
            raise MissingAttributeError(f"{found}; write {METHODS[name]}", name=name)
        ours = OURS.get(name, name)
        if not _takes_a_tensor(vars(sys.modules["tensor_runtime"]).get(ours)):
            raise MissingAttributeError(found, name=name)
        what = f"{name!r} is a function" if ours == name else f"{name!r} is the function {ours!r} here"
        raise MissingAttributeError(f"{found}: {what}: {_written(name)}", name=name)


def tell_of_functions(names: Iterable[str], /) -> None:
    """Let the attributes of tensors that are not there name the functions of these names, and what NumPy calls them.

    >>> x = tensor([1.0])
    >>> x.sum()
    Traceback (most recent call last):
        ...
    tensor_core.errors.MissingAttributeError: 'Tensor' object has no attribute 'sum': 'sum' is a function: \
tensor_runtime.sum(x)
    >>> hasattr(x, "sum"), "sum" in dir(x)
    (False, False)
    """
    taken = vars(Tensor)
    for name in (*names, *OURS, *METHODS):
        if name not in taken:
            setattr(Tensor, name, _Absent(name))


def missing_function(name: str, /) -> NoReturn:
    """What a name raises that ``tensor_runtime`` lacks; where NumPy or PyTorch has it, with what it is called here.

    >>> missing_function("array")
    Traceback (most recent call last):
        ...
    tensor_core.errors.MissingAttributeError: module 'tensor_runtime' has no attribute 'array'; write tensor(data), or \
asarray(array), which shares memory
    """
    remedy = _instead(name)
    found = f"module 'tensor_runtime' has no attribute {name!r}"
    raise MissingAttributeError(f"{found}; {remedy}" if remedy else found, name=name)


def missing_in_family(module: str, name: str, /) -> NoReturn:
    """What a name raises that a family's module lacks: with what to write, or with a public name of which it is a slip.

    Another library's names are slips of none, nor is what is nearer to one of them.

    >>> missing_in_family("tensor_linalg", "truncated_svd")
    Traceback (most recent call last):
        ...
    tensor_core.errors.MissingAttributeError: module 'tensor_linalg' has no attribute 'truncated_svd'; did you mean: \
'svd_truncated'?
    """
    found = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        raise MissingAttributeError(found, name=name)
    known = sys.modules[module].__all__
    words = sorted(name.lower().split("_"))
    near = [one for one in known if sorted(one.lower().split("_")) == words]
    if name in MATRICES:
        remedy = f"write {MATRICES[name]}"
    elif not near and _is_public(name):
        remedy = f"write tensor_runtime.{name}"
    elif not near and _instead(name):
        remedy = _instead(name)
    else:
        from difflib import get_close_matches  # costs milliseconds to import

        near = near or get_close_matches(name, (*known, *MATRICES, *ALONE["scipy.linalg"]), 1, _SLIP)
        remedy = f"did you mean: {near[0]!r}?" if near and near[0] in known else ""
    raise MissingAttributeError(f"{found}; {remedy}" if remedy else found, name=name)


def _instead(name: str) -> str:
    dtype = dtype_of_name(name) if len(name) > 1 else None
    ours = FUNCTIONS.get(name) or (dtype.name if dtype is not None else OURS.get(name)) or _of_family(name)
    ours = ours or MATRICES.get(name, "")
    if ours:
        return f"write {ours}"
    module = next((module for module, names in ALONE.items() if name in names), "")
    return f"{module}.{name} takes x.to_numpy(), and asarray() an array that it gives" if module else ""


def attributes(x: Tensor, /) -> list[str]:
    """The names of the attributes that a tensor has; what ``dir(x)`` lists.

    >>> "shape" in attributes(tensor([1.0])), "sum" in attributes(tensor([1.0]))
    (True, False)
    """
    absent = {name for name, value in vars(Tensor).items() if isinstance(value, _Absent)}
    return sorted(set(dir(type(x))) - absent)
