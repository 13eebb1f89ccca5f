"""Tensors from Python values and from foreign arrays, and of one value.

Nested lists are read as they are written: ``tensor([[1, 2], [3, 4]])[0, 1]`` is 2. Flat data is column-major unless the
caller says otherwise. Everything lands on ``cpu`` unless a placement is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, SupportsIndex

from tensor_core.dtypes import F64, I64, DType, DTypeLike
from tensor_core.errors import (
    UnsupportedOperationError,
)
from tensor_core.host.tensor import HostTensor
from tensor_core.scalar_conversion import to_element
from tensor_core.shapes import as_shape
from tensor_runtime.backends.bindings import Binding, BindingTable
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.kernel_facts import state
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.conversion import as_dtype_or, as_number
from tensor_runtime.form import Form, form_of
from tensor_runtime.ops import host_data
from tensor_runtime.ops.host_data import NATURAL as _NATURAL
from tensor_runtime.ops.host_data import as_dtype_or_none
from tensor_runtime.ops.native_calls import place
from tensor_runtime.placement import CPU, Placement, as_placement
from tensor_runtime.static_types.creation import (
    typed_asarray,
    typed_from_flat,
    typed_full,
    typed_tensor,
    typed_zeros,
)
from tensor_runtime.tensors.buffer import BackendBuffer, HostBuffer
from tensor_runtime.tensors.tensor import Number, Tensor, unwrap, wrap
from tensor_runtime.tensors.transfer import upload

if TYPE_CHECKING:
    import numpy as np


def natural_dtype(number: object, /) -> DType | None:
    """Bool, I64, F64 or C64 for a Python number of exactly that kind; None for anything else.

    >>> natural_dtype(1), natural_dtype("1")
    (I64, None)
    """
    return _NATURAL.get(type(number))


def _bind_creation(key: tuple[str, Form]) -> Binding:
    name, form = key
    return registry.bind(name, (), form, None), form


for _kernel in ("full", "eye", "arange", "linspace"):
    state(_kernel)
_CREATIONS: Final = BindingTable(_bind_creation)


def created(
    name: str, dtype: DType, shape: tuple[int, ...], placement: Any, *arguments: Any, operation: str = ""
) -> Tensor:
    """What a kernel without operands makes.

    Args:
        name: the kernel.
        dtype: the result's.
        shape: the result's.
        placement: the result's; a placement or its name.
        arguments: what the kernel takes.
        operation: whom errors name, where that is not the kernel.

    >>> created("full", F64, (2,), "cpu", 1.0).to_numpy().tolist()
    [1.0, 1.0]
    """
    operation = operation or name
    try:
        kernel, form = _CREATIONS[name, form_of(dtype, shape, as_placement(placement))]
    except UnsupportedOperationError as error:
        if operation == name or not str(error).startswith(f"{name}: "):
            raise
        text = str(error).replace(name, operation, 1)  # the kernel's name says nothing to who called zeros()
        raise UnsupportedOperationError(text, operation=operation) from None
    return wrap(form, call_translated(operation, form, kernel, *arguments))


@typed_tensor
def tensor(data: object, /, dtype: DTypeLike | None = None, *, placement: Placement | str = CPU) -> Tensor:
    """Owned tensor of nested lists, of a number, or of anything that :func:`asarray` takes; always a copy.

    Args:
        data: nested sequences, index-faithful: ``data[i][j]`` becomes element (i, j). Tensors and arrays of rank 0 are
            numbers; of rank 1 and more, ``stack`` joins them.
        dtype: None takes the type in which all elements meet: Bool, I64, F64 or C64 for Python's numbers, its own dtype
            for a tensor of rank 0.
        placement: where it goes.

    Raises:
        ShapeError: rows of different lengths.
        DTypeError: an element is no number; an integer outside the dtype.

    >>> tensor([[1.0, 2.0], [3.0, 4.0]])
    Tensor(F64, (2, 2), column-major, cpu)
     1.0  2.0
     3.0  4.0
    """
    return _tensor_call(data, dtype, placement)


@typed_from_flat
def from_flat(
    data: Sequence[Number],
    shape: Sequence[SupportsIndex],
    /,
    *,
    dtype: DTypeLike | None = None,
    order: Literal["F", "C"] = "F",
    placement: Placement | str = CPU,
) -> Tensor:
    """Owned tensor of flat data.

    Args:
        data: as many numbers as ``shape`` has elements.
        shape: extents.
        dtype: None takes the widest kind found.
        order: "F" for column-major data (Fortran, Julia, MATLAB), "C" for row-major data (C, NumPy).
        placement: where it goes.

    >>> from_flat([1, 2, 3, 4], (2, 2)).to_numpy().tolist()
    [[1, 3], [2, 4]]
    >>> from_flat([1, 2, 3, 4], (2, 2), order="C").to_numpy().tolist()
    [[1, 2], [3, 4]]
    """
    host = HostTensor.from_flat(data, as_shape(shape), as_dtype_or_none(dtype), order=order)
    return upload(host, placement)


@typed_asarray
def asarray(
    x: object,
    /,
    dtype: DTypeLike | None = None,
    *,
    copy: bool | None = None,
    placement: Placement | str | None = None,
) -> Tensor:
    """Tensor of an array, a nested list or a number; shares memory where it can.

    Column-major data is borrowed as it is: memory whose strides, of whatever sign, do not shrink from axis to axis.
    Row-major data is copied once, so that what follows is fast. Data whose dtype is not one of the seven (unsigned, 8
    or 16 bits, half precision, swapped bytes) is converted where ``dtype`` holds all its values, and refused otherwise.

    Args:
        x: a tensor, an array of the host (``__array_interface__``, ``__array__``, ``__dlpack__`` or the buffer
            protocol) or of a device whose backend borrows it (``__dlpack__``, ``__cuda_array_interface__``), nested
            lists, or a number.
        dtype: checked conversion, as by ``convert``, decided from the dtypes alone. Unsigned integers of 64 bits go to
            F64 and C64, which round beyond 2**53 as for I64.
        copy: True always copies, False never (an error if it must), None only when it must.
        placement: where the tensor goes. None leaves tensors and memory of devices where they are, and all else on
            ``cpu``.

    Raises:
        ArgumentError: a copy is needed and ``copy=False``.
        DTypeError: no tensor can hold the data; a masked array, whose mask no tensor has.
        LossyConversionError: ``dtype`` cannot hold the values.
        PlacementError: memory of a device from which no backend borrows; it is not moved silently.
        BackendUnavailableError: nothing serves ``placement``.

    >>> import numpy as np
    >>> a = np.array([[1.0, 2.0]])
    >>> np.shares_memory(asarray(a).to_numpy(), a)
    True
    """
    found = _asarray_call(x, dtype, copy)
    return found if placement is None else host_data.placed(found, placement, copy)


def listed(operation: str, values: Any, beside: Tensor, /) -> Tensor:
    """A list of numbers as a tensor in the place of another one; anything else as it is, to be refused.

    >>> listed("take", [0, 1], tensor([2.0])).dtype, listed("take", [], tensor([2.0])).dtype
    (I64, I64)
    """
    if type(values) not in (list, tuple, range):
        return values  # type: ignore[no-any-return]
    return asarray(values, None if len(values) else I64, placement=unwrap(operation, beside)[0].placement)


def to_numpy(x: Tensor, /) -> np.ndarray[Any, Any]:
    """The elements of a tensor on the host as a NumPy array that shares memory; read-only if elements are repeated.

    Raises:
        PlacementError: the tensor is on a device; ``download`` first.

    >>> to_numpy(tensor([[1, 2], [3, 4]])).tolist()
    [[1, 2], [3, 4]]
    """
    shared: np.ndarray[Any, Any] = _to_numpy_call(x)
    return shared


def buffer_of(x: Tensor, /) -> HostBuffer | BackendBuffer:
    """The memory of a tensor; shares it, copies nothing.

    >>> buffer_of(tensor([1, 2])).nbytes
    16
    """
    if hasattr(registry.backend_for(x.placement), "lend"):
        return HostBuffer(x.placement, x.nbytes, to_numpy(x))
    return BackendBuffer(x.placement, x.nbytes, x._array)


@typed_full
def full(
    shape: SupportsIndex | Sequence[SupportsIndex],
    value: Number,
    /,
    dtype: DTypeLike | None = None,
    *,
    placement: Placement | str = CPU,
) -> Tensor:
    """Tensor of one value.

    Args:
        shape: extents.
        value: a Python number, or a tensor of rank 0 on the host.
        dtype: None takes Bool, I64, F64 or C64 from a number, and a tensor's own.
        placement: where it goes.

    Raises:
        CastRangeError: an integer outside the dtype's range.
        DTypeError: the value's kind does not fit the dtype (a float into I64).

    >>> full((2,), 7)
    Tensor(I64, (2,), column-major, cpu)
     7  7
    """
    return _full_call(shape, value, dtype, placement)


def _full(shape: Any, value: Any, dtype: Any, placement: Any) -> Tensor:
    number = as_number("full", value)
    wanted = as_dtype_or(dtype, value._form.dtype if isinstance(value, Tensor) else _NATURAL[type(number)])
    return created("full", wanted, as_shape(shape), placement, to_element(number, wanted))


@typed_zeros
def zeros(
    shape: SupportsIndex | Sequence[SupportsIndex], /, dtype: DTypeLike = F64, *, placement: Placement | str = CPU
) -> Tensor:
    """Tensor of zeros (of False for Bool).

    >>> zeros((2, 3), dtype="I32").dtype
    I32
    """
    return _zeros_call(shape, dtype, placement)


def _zeros(shape: Any, dtype: Any, placement: Any) -> Tensor:
    return created("full", as_dtype_or(dtype, F64), as_shape(shape), placement, 0, operation="zeros")


@typed_zeros
def ones(
    shape: SupportsIndex | Sequence[SupportsIndex], /, dtype: DTypeLike = F64, *, placement: Placement | str = CPU
) -> Tensor:
    """Tensor of ones (of True for Bool).

    >>> ones(2)
    Tensor(F64, (2,), column-major, cpu)
     1.0  1.0
    """
    return _ones_call(shape, dtype, placement)


def _ones(shape: Any, dtype: Any, placement: Any) -> Tensor:
    return created("full", as_dtype_or(dtype, F64), as_shape(shape), placement, 1, operation="ones")


def eye(
    rows: int, columns: int | None = None, /, *, dtype: DTypeLike = F64, placement: Placement | str = CPU
) -> Tensor:
    """Matrix with ones on the main diagonal.

    Args:
        rows: extent of the first axis.
        columns: extent of the second; None for a square matrix.

    >>> eye(2, dtype="I64")
    Tensor(I64, (2, 2), column-major, cpu)
     1  0
     0  1
    """
    return _eye_call(rows, columns, dtype, placement)


def _eye(rows: Any, columns: Any, dtype: Any, placement: Any) -> Tensor:
    shape = as_shape((rows, rows if columns is None else columns))
    return created("eye", as_dtype_or(dtype, F64), shape, placement)


# What the functions above call: the ones in Python, or native ones that stand for them (``ops.native_calls``).
_tensor_call: Callable[[Any, Any, Any], Tensor] = host_data.new_tensor
_asarray_call: Callable[[Any, Any, Any], Tensor] = host_data.as_tensor
_to_numpy_call: Callable[[Any], Any] = host_data.as_numpy
_full_call: Callable[[Any, Any, Any, Any], Tensor] = _full
_zeros_call: Callable[[Any, Any, Any], Tensor] = _zeros
_ones_call: Callable[[Any, Any, Any], Tensor] = _ones
_eye_call: Callable[[Any, Any, Any, Any], Tensor] = _eye
_CALLS: Final[tuple[tuple[str, Callable[..., Any]], ...]] = (
    ("tensor", host_data.new_tensor),
    ("asarray", host_data.as_tensor),
    ("to_numpy", host_data.as_numpy),
    ("full", _full),
    ("zeros", _zeros),
    ("ones", _ones),
    ("eye", _eye),
)
for _name, _function in _CALLS:
    place(_name, _function, partial(globals().__setitem__, f"_{_name}_call"))
