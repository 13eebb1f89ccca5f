"""Methods of ``Tensor``: thin sugar over the public functions, attached to the class here and nowhere else.

``tensors.py`` declares what this module attaches, so that editors and type checkers see it. A test compares the two.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from math import isinf, isnan
from types import FunctionType, ModuleType
from typing import Any, Final

from tensor_core.dtypes import Element
from tensor_core.errors import ArgumentError, AxisError, CastRangeError, DTypeError, MissingAttributeError
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.tracing import TRACING, elements_refused
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.ops import arithmetic, comparison, logic, native_calls, operators, reduction
from tensor_runtime.ops.arrangement import swapaxes
from tensor_runtime.ops.creation import buffer_of, to_numpy
from tensor_runtime.ops.exchange import ANSWERS
from tensor_runtime.ops.in_place import in_place_operators
from tensor_runtime.ops.indexing import getitem, iterate, mutable_view, setitem
from tensor_runtime.ops.item_assignment import assign_item, delete_item
from tensor_runtime.ops.numpy_names import array_function, array_ufunc, attributes, masked_data
from tensor_runtime.ops.operators import operator_of, reflected_of
from tensor_runtime.ops.views import copy, reshape, reversed_axes
from tensor_runtime.placement import Placement
from tensor_runtime.tensors.formatting import html_text, tensor_text
from tensor_runtime.tensors.pickling import reduce_tensor
from tensor_runtime.tensors.tensor import Tensor, TypedTensorViewMut, unwrap
from tensor_runtime.tensors.transfer import download, only_element, require_host, to


def item(x: Tensor, /) -> Element:
    """The only element of a tensor of one element, as a Python number. Waits for the device.

    >>> item(tensor([[2.5]]))
    2.5
    """
    return _element("item", x)


def tolist(x: Tensor, /) -> Any:
    """Nested lists of Python numbers, index-faithful: ``tolist(x)[i][j]`` is element (i, j); of rank 0, the number.

    Waits for the device, and moves the elements to the host.

    >>> tolist(tensor([[1, 2], [3, 4]])), tolist(tensor(1.5))
    ([[1, 2], [3, 4]], 1.5)
    """
    form, _ = unwrap("tolist", x)
    _check_untraced("tolist", x, "elements")
    if hasattr(registry.backend_for(form.placement), "lend"):
        return to_numpy(x).tolist()
    return download(x).to_nested()


def _check_untraced(operation: str, x: Tensor, what: str = "an element") -> None:
    """Refuse an argument of a function that is being traced, whatever its size, by the name that was called."""
    if x._form.placement is TRACING:
        raise elements_refused(operation, what)


def _element(operation: str, x: Tensor, remedy: str = "index first, or to_numpy()") -> Element:
    _check_untraced(operation, x)
    if x.size != 1:
        raise ArgumentError(
            f"{operation}: shape {x.shape} has {x.size} elements; accepted: exactly one ({remedy})", shape=x.shape
        )
    return only_element(x)


def _bool(x: Tensor, /) -> bool:
    _check_untraced("bool", x, "the truth of an argument")
    if x.size != 1:
        raise ArgumentError(
            f"bool: the truth of {x.size} elements of shape {x.shape} is ambiguous; accepted: one element, such "
            "as any() or all() of a Bool tensor gives"
        )
    return bool(_element("bool", x))


def _number_as(target: Callable[[Any], Any], name: str) -> Callable[[Tensor], Any]:
    def number(x: Tensor, /) -> Any:
        element = _element(name, x)
        if isinstance(element, complex) and target is not complex:
            raise DTypeError(f"{name}: the element is complex; take abs(x), or cast(x, F64) for the real part")
        if target is operator.index and not isinstance(element, (bool, int)):
            raise DTypeError(f"{name}: the dtype is {x.dtype.name}; accepted: I32, I64, Bool")
        if target is int:
            _check_whole(name, element)
        return target(element)

    return number


def _index(x: Tensor, /) -> int:
    _check_untraced("index", x)
    require_host("index", x, "write int(x) to read it")
    return _INDEX(x)


def _among_numbers(x: Tensor, /) -> Element:
    """The element where the tensor stands for a number, in a list of numbers."""
    require_host("element", x, "stack() joins tensors there, and item() reads one")
    return _element("element", x)


def _check_whole(name: str, element: Any) -> None:
    """Refuse NaN and infinities, which no int equals."""
    if isnan(element):
        raise ArgumentError(f"{name}: the element is nan; accepted: finite numbers", value=element)
    if isinf(element):
        raise CastRangeError(f"{name}: the element is {element}; accepted: finite numbers", value=element)


def _format(x: Tensor, specification: str, /) -> str:
    if not specification:
        return str(x)
    try:
        return format(_element("format", x), specification)
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"format: {error}; the element is a {x.dtype.name}", operation="format") from None


def _round(x: Tensor, digits: int | None = None, /) -> Element:
    element = _element("round", x, "tensor_runtime.round(x, decimals) rounds all")
    if isinstance(element, complex):
        raise DTypeError("round: the element is complex; tensor_runtime.round(x) rounds both parts")
    if digits is None:
        _check_whole("round", element)
        return round(element)
    return round(element, whole("round", "digits", digits))


def _length(x: Tensor, /) -> int:
    if x.rank == 0:
        raise DTypeError("len: a tensor of rank 0 has no length; its size is 1")
    return x.shape[0]


def _contains(x: Tensor, value: Any, /) -> bool:
    return x.size > 0 and bool(item(reduction.max(comparison.equal(x, value))))


def _array(x: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """NumPy's protocol, with the meaning of ``copy`` that NumPy 2 gives it."""
    shared = to_numpy(x)
    if dtype is not None and shared.dtype != dtype:
        if copy is False:
            raise ArgumentError(f"__array__: {x.dtype.name} to {dtype} needs a copy, and copy=False")
        return shared.astype(dtype)
    return shared.copy(order="K") if copy else shared


def _array_namespace(x: Tensor, /, *, api_version: str | None = None) -> ModuleType:
    """The array API standard's functions for tensors, ``tensor_runtime.array_api``.

    Raises:
        ArgumentError: a version that is not followed.
    """
    array_api = import_module("tensor_runtime.array_api")  # stands above all operations; few programs ask for it
    if api_version not in (None, "2021.12", "2022.12", "2023.12", array_api.__array_api_version__):
        raise ArgumentError(
            f"__array_namespace__: found api_version={api_version!r}; accepted: {array_api.__array_api_version__!r}"
        )
    return array_api


def _to_device(x: Tensor, device: Placement | str, /, *, stream: None = None) -> Tensor:
    """The tensor at a placement, as ``to``; streams are none of the host's."""
    if stream is not None:
        raise ArgumentError("to_device: found a stream; accepted: None")
    return to(x, device)


class _NoMatrixError(AxisError, MissingAttributeError):
    """A tensor of less than two axes has no ``mT``, which ``hasattr`` may ask for."""


def _matrices_transposed(x: Tensor, /) -> Tensor:
    rank = len(x._form.shape)
    if rank < 2:
        raise _NoMatrixError(f"mT: rank {rank}; accepted: two axes or more, of which the last two are exchanged")
    return x.T if rank == 2 else swapaxes(x, -2, -1)


def _reshape(x: Tensor, /, *shape: int | Sequence[int], order: str = "F") -> Tensor:
    """Tensor of another shape with the elements in the same order; a view where the layout allows it, else a copy.

    Args:
        x: any layout.
        shape: extents, one by one or as a tuple; one may be -1, which stands for what is left.
        order: "F" counts elements column-major, as tensors are stored; "C" row-major, as NumPy does by default.

    Raises:
        ShapeError: another number of elements.
        ArgumentError: another order.

    >>> x = tensor([[1, 2], [3, 4]])
    >>> x.reshape(4).tolist(), x.reshape(-1, order="C").tolist()
    ([1, 3, 2, 4], [1, 2, 3, 4])
    """
    extents: Any = shape[0] if len(shape) == 1 else shape
    return reshape(x, extents, order=order)


def _deepcopy(x: Tensor, memo: Any, /) -> Tensor:
    return copy(x)


_reshape.__name__, _reshape.__qualname__ = "reshape", "Tensor.reshape"

_INDEX: Final[Callable[[Tensor], int]] = _number_as(operator.index, "index")
METHODS: Final[dict[str, Any]] = {
    "T": property(reversed_axes, doc="View with all axes reversed."),
    "buffer": property(buffer_of, doc="The memory, shared."),
    "reshape": _reshape,
    "to": to,
    "item": item,
    "tolist": tolist,
    "to_numpy": to_numpy,
    "mutable_view": mutable_view,
    "__getitem__": getitem,
    "__setitem__": assign_item,
    "__delitem__": delete_item,
    "__len__": _length,
    "__iter__": iterate,
    "__contains__": _contains,
    "__bool__": _bool,
    "__int__": _number_as(int, "int"),
    "__float__": _number_as(float, "float"),
    "__complex__": _number_as(complex, "complex"),
    "__index__": _index,
    "_among_numbers": _among_numbers,
    "__format__": _format,
    "__round__": _round,
    "__array__": _array,
    "mT": property(_matrices_transposed, doc="View with the two last axes exchanged, as in the array API standard."),
    "device": property(lambda x: x.placement, doc="The placement, under the array API standard's name."),
    "to_device": _to_device,
    "__array_namespace__": _array_namespace,
    **ANSWERS,
    "__array_ufunc__": array_ufunc,
    "__array_function__": array_function,
    "__dir__": attributes,
    "_data": property(masked_data),
    "__copy__": copy,
    "__deepcopy__": _deepcopy,
    "__reduce_ex__": reduce_tensor,
    "__repr__": tensor_text,
    "_repr_html_": html_text,
    "__neg__": arithmetic.negative,
    "__pos__": arithmetic.positive,
    "__abs__": arithmetic.abs,
    "__matmul__": operators.matmul,
    "__rmatmul__": operators.reflected_matmul,
    "__add__": operator_of(arithmetic.ADD),
    "__radd__": reflected_of(arithmetic.ADD),
    "__sub__": operator_of(arithmetic.SUBTRACT),
    "__rsub__": reflected_of(arithmetic.SUBTRACT),
    "__mul__": operator_of(arithmetic.MULTIPLY),
    "__rmul__": reflected_of(arithmetic.MULTIPLY),
    "__truediv__": operator_of(arithmetic.DIVIDE),
    "__rtruediv__": reflected_of(arithmetic.DIVIDE),
    "__floordiv__": operators.FLOORED,
    "__rfloordiv__": operators.REFLECTED_FLOORED,
    "__mod__": operators.REST,
    "__rmod__": operators.REFLECTED_REST,
    "__divmod__": operators.floor_and_rest,
    "__rdivmod__": operators.reflected_floor_and_rest,
    "__pow__": operator_of(arithmetic.POW),
    "__rpow__": reflected_of(arithmetic.POW),
    "__and__": operator_of(logic.BITWISE_AND),
    "__rand__": reflected_of(logic.BITWISE_AND),
    "__or__": operator_of(logic.BITWISE_OR),
    "__ror__": reflected_of(logic.BITWISE_OR),
    "__xor__": operator_of(logic.BITWISE_XOR),
    "__rxor__": reflected_of(logic.BITWISE_XOR),
    "__invert__": logic.bitwise_invert,
    "__lshift__": operator_of(logic.BITWISE_LEFT_SHIFT),
    "__rlshift__": reflected_of(logic.BITWISE_LEFT_SHIFT),
    "__rshift__": operator_of(logic.BITWISE_RIGHT_SHIFT),
    "__rrshift__": reflected_of(logic.BITWISE_RIGHT_SHIFT),
    "__eq__": operator_of(comparison.EQUAL),
    "__ne__": operator_of(comparison.NOT_EQUAL),
    "__lt__": operator_of(comparison.LESS),
    "__le__": operator_of(comparison.LESS_EQUAL),
    "__gt__": operator_of(comparison.GREATER),
    "__ge__": operator_of(comparison.GREATER_EQUAL),
}

for _name, _method in METHODS.items():
    if isinstance(_method, FunctionType) and _method.__name__ == "infix":  # what Python's own errors call it
        _method.__name__, _method.__qualname__ = _name, f"Tensor.{_name}"
    setattr(Tensor, _name, _method)


_NATIVE: Final = {
    **{
        name: name.strip("_")
        for name in (
            "reshape",
            "item",
            "tolist",
            "to_numpy",
            "__getitem__",
            "__bool__",
            "__int__",
            "__float__",
            "__complex__",
        )
    },
    "T": "reversed_axes",
    "mT": "matrices_transposed",
    "__len__": "length",
    "__iter__": "iterate",
}
"""Names of native calls that stand for methods and attributes."""
_OF_FORMS: Final = {
    **{name: name for name in ("dtype", "shape", "strides", "placement", "rank", "size")},
    "ndim": "rank",
}
"""And for those attributes that the class itself declares."""


def _put(name: str, own: Any, call: Any) -> None:
    """Put a method into the class, as it is or as an attribute."""
    if isinstance(own, property):
        setattr(Tensor, name, own if call is own.fget else native_calls.attribute(name, own, call))
        return
    setattr(Tensor, name, own if call is own else call)
    if call is not own:
        native_calls.take_slot(call)


for _name, _call in (_NATIVE | _OF_FORMS).items():
    _method = METHODS[_name] if _name in METHODS else vars(Tensor)[_name]
    _function: Any = _method.fget if isinstance(_method, property) else _method
    native_calls.place(_call, _function, partial(_put, _name, _method))
TypedTensorViewMut.__setitem__ = setitem  # type: ignore[method-assign]
native_calls.place("setitem", setitem, partial(setattr, TypedTensorViewMut, "__setitem__"))
for _name, _method in in_place_operators(METHODS).items():
    setattr(TypedTensorViewMut, _name, _method)
