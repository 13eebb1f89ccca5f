"""Transposed arrays: the arrays of this backend, and their traffic with the outside.

The *transposed array* of a tensor is the NumPy array over the same memory with its axes reversed. A compact
column-major tensor has a C-contiguous transposed array, so NumPy's products and gufuncs, which answer row-major, answer
in our layout. Nobody above the backend sees that.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensor_core.dtypes import DTYPE_NAMES, DTYPES, Bool, DType, dtype_of_name
from tensor_core.errors import (
    ArgumentError,
    DTypeError,
    ExchangeError,
    TensorError,
    UnsupportedOperationError,
    shortened,
)
from tensor_core.foreign import check_holds, refuse_masked, refuse_nulls
from tensor_core.host.dlpack.borrowing import lent_capsule
from tensor_core.host.dlpack.lending import HOST
from tensor_core.host.tensor import HostTensor
from tensor_core.interrupts import is_of_a_signal
from tensor_core.shapes import row_major_strides
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

Array = np.ndarray[Any, Any]

NUMPY_DTYPES: Final[dict[DType, np.dtype[Any]]] = {dtype: np.dtype(dtype.numpy_name) for dtype in DTYPES}
"""Our dtypes as NumPy's."""


_ADDRESSES: Final = 2 * sys.maxsize + 2
MOST_AXES: Final = 64  # of a NumPy array
_MANY: Final = 1 << 12  # elements whose order NumPy changes slower than our own copies


def check_rank(operation: str, form: Form, /) -> None:
    """Refuse a tensor that no transposed array can hold.

    Raises:
        UnsupportedOperationError: more than 64 axes.

    >>> from tensor_core import F64
    >>> check_rank("copy", form_of(F64, (2, 3), CPU))
    """
    if form.rank > MOST_AXES:
        raise UnsupportedOperationError(
            f"{operation}: a tensor has {form.rank} axes; the cpu backend stores at most {MOST_AXES}, as NumPy does; "
            "reshape so that axes that stay together become one",
            operation=operation,
        )


def empty(form: Form, /) -> Array:
    """Uninitialised compact transposed array.

    >>> from tensor_core import F64
    >>> empty(form_of(F64, (2, 3), CPU)).shape
    (3, 2)
    """
    return np.empty(form.shape[::-1], NUMPY_DTYPES[form.dtype])


def transposed_strides(form: Form, /) -> tuple[int, ...]:
    """Strides of the transposed array in bytes.

    >>> from tensor_core import F64
    >>> transposed_strides(form_of(F64, (2, 3), CPU))
    (16, 8)
    """
    itemsize = form.dtype.itemsize
    return tuple(stride * itemsize for stride in reversed(form.strides))


def truth(array: Array, /) -> Array:
    """The array itself; of Bool, a copy whose bytes are 0 and 1.

    Lent memory may hold any byte, of which all but 0 are true. Most functions of NumPy read them so; what compares
    bytes needs this first.

    >>> truth(np.array([0, 255, 2], np.uint8).view(bool)).view(np.uint8).tolist()
    [0, 1, 1]
    """
    if array.dtype.kind != "b":
        return array
    truths: Array = np.not_equal(array.view(np.uint8), 0, out=np.empty(array.shape, bool))
    return truths


def first_true(found: Array, /) -> tuple[int, ...]:
    """Index, in the tensor's order of axes, of the first true element in column-major order.

    >>> first_true(np.array([[False, False], [True, True]]))
    (0, 1)
    """
    position = int(found.argmax())
    return tuple(int(along) for along in reversed(np.unravel_index(position, found.shape)))


def restride(array: Array, view: Form, /) -> Array:
    """The view of ``array``'s elements that has the form given and starts at the same element.

    >>> from tensor_core import F64
    >>> restride(np.arange(6.0).reshape(3, 2), form_of(F64, (2,), CPU, (3,))).tolist()
    [0.0, 3.0]
    """
    return as_strided(array, view.shape[::-1], transposed_strides(view))


def address_of(array: Array, /) -> int:
    """Address of the first element.

    >>> x = np.arange(6.0)
    >>> address_of(x[2:]) - address_of(x)
    16
    """
    return LIBRARY.address(array) if AVAILABLE else int(array.__array_interface__["data"][0])


def offset_of(array: Array, /) -> int:
    """Offset of the first element in the allocation, in elements.

    >>> offset_of(np.arange(6.0)[2:]), offset_of(as_strided(np.arange(6.0)[2:], (2,), (16,)))
    (2, 2)
    """
    owner: Any = array.base
    if not isinstance(owner, np.ndarray) and not hasattr(owner, "base") and array.flags.c_contiguous:
        return 0
    base = _allocated(array)
    start = min(address_of(base), np.lib.array_utils.byte_bounds(base)[0])
    return (address_of(array) - start) // array.itemsize


def _allocated(array: Array) -> Array:
    """The array that a view is of, over all views between."""
    base = array
    owner: Any = array.base
    while owner is not None:  # as_strided puts an object between a view and its base
        base = owner if isinstance(owner, np.ndarray) else base
        owner = getattr(owner, "base", None)
    return base


def upload(source: HostTensor[Any], form: Form, /) -> Array:
    """Compact transposed array with the elements of a host tensor, copied.

    >>> from tensor_core import F64
    >>> source = HostTensor.from_nested([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> upload(source, form_of(F64, (2, 3), CPU)).tolist()
    [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    """
    check_rank("upload", form)
    return adopt(source, form).copy()


def download(array: Array, form: Form, /) -> HostTensor[Any]:
    """Compact host tensor with the elements of a transposed array, copied."""
    return share(np.array(truth(array), order="C"), form)


def adopt(source: HostTensor[Any], form: Form, /) -> Array:
    """Compact transposed array in the memory of a host tensor.

    >>> from tensor_core import F64
    >>> source = HostTensor.from_nested([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> adopted = adopt(source, form_of(F64, (2, 3), CPU))
    >>> adopted[2, 1] = 7.0
    >>> source.to_nested()
    [[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]
    """
    dtype = NUMPY_DTYPES[form.dtype]
    flat = np.frombuffer(source.raw, dtype=dtype) if form.size else np.empty(0, dtype)
    return flat.reshape(form.shape[::-1])


def share(array: Array, form: Form, /) -> HostTensor[Any]:
    """Host tensor in the memory of a compact transposed array.

    >>> from tensor_core import F64
    >>> array = np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])
    >>> shared = share(array, form_of(F64, (2, 3), CPU))
    >>> array[2, 1] = 7.0
    >>> shared.to_nested()
    [[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]
    """
    return HostTensor.wrap_bytes(array.reshape(-1).view(np.uint8).data, form.shape, form.dtype)


def lend(array: Array, form: Form, /) -> Array:
    """The same memory with axes in the tensor's order; read-only where elements are repeated.

    >>> from tensor_core import F64
    >>> form, repeated = form_of(F64, (3, 2), CPU), form_of(F64, (3, 2), CPU, (1, 0))
    >>> transposed = np.arange(6.0).reshape(2, 3)
    >>> lent = lend(transposed, form)
    >>> lent[2, 1] = 7.0
    >>> transposed.tolist(), lend(restride(transposed, repeated), repeated).flags.writeable
    ([[0.0, 1.0, 2.0], [3.0, 4.0, 7.0]], False)
    """
    lent = array.T
    if 0 in form.strides and not form.is_compact:
        lent.flags.writeable = False
    return lent


def borrow(source: Any, copy: bool | None, dtype: DType | None = None, /) -> tuple[Array, Form] | None:
    """Transposed array and form of a foreign array: its own memory where that is column-major, else one copy.

    Column-major here means that strides do not shrink from axis to axis, whatever their signs: Fortran arrays, slices
    of them, vectors. Row-major data is copied once, or refused when ``copy`` is False. An array whose dtype is none of
    ours becomes one of ``dtype`` where that holds all its values.

    >>> ours = np.zeros((2, 3), order="F")
    >>> transposed, form = borrow(ours, None)
    >>> form, np.shares_memory(transposed, ours)
    (Form(F64, (2, 3), cpu), True)
    >>> borrow(np.zeros((2, 3)), False)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: asarray: the array of shape (2, 3) with strides (24, 8) in bytes is row-major ...
    """
    if not any(hasattr(source, name) for name in ("__array_interface__", "__array__", "__buffer__")):
        try:
            memoryview(source)
        except TypeError:
            return None
    refuse_masked("asarray", source)
    if not isinstance(source, (np.ndarray, np.generic)):
        refuse_nulls("asarray", source)
        _check_interface(source)
    return _borrowed("asarray", _as_array(source), copy, dtype)


def borrow_dlpack(source: Any, copy: bool | None, /) -> tuple[Array, Form]:
    """As :func:`borrow`, of what a DLPack capsule lends.

    >>> ours = np.zeros((2, 3), order="F")
    >>> transposed, form = borrow_dlpack(ours, None)
    >>> form, np.shares_memory(transposed, ours)
    (Form(F64, (2, 3), cpu), True)
    """
    # NumPy believes what a capsule says, and a wrong number in it would end the process.
    lent = source if type(source) is np.ndarray else _Lent(lent_capsule(source, False if copy is False else None))
    try:
        array = np.from_dlpack(lent, copy=False) if copy is False else np.from_dlpack(lent)
    except (TensorError, MemoryError):
        raise
    except Exception as error:  # each library refuses in its own words
        raise ExchangeError(
            f"from_dlpack: {type(source).__name__} lends nothing that NumPy reads: {type(error).__name__}: {error}"
        ) from error
    return _borrowed("from_dlpack", array, copy, None)


class _Lent:
    """A capsule, as ``np.from_dlpack`` asks for it."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: object) -> Any:
        """The capsule."""
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        """The host."""
        return HOST


def _borrowed(operation: str, array: Array, copy: bool | None, dtype: DType | None) -> tuple[Array, Form]:
    own = dtype_of_name(array.dtype.name) if array.dtype.isnative else None
    if own is None:
        return _converted(operation, array, copy, dtype)
    dtype = own
    steps = [stride for extent, stride in zip(array.shape, array.strides, strict=True) if extent > 1]
    aligned = not any(stride % dtype.itemsize for stride in steps) and array.flags.aligned
    if not (aligned and _is_column_major(array)):
        if copy is False:
            raise ArgumentError(
                f"{operation}: the array of shape {array.shape} with strides {array.strides} in bytes is row-major (or "
                "unaligned), so a column-major tensor needs a copy, and copy=False; "
                "pass copy=None, or an array made with order='F'"
            )
        copy = True
    if copy:
        transposed = _compact(array.T, dtype) if aligned else np.array(array.T, order="C", copy=True)
        if dtype is Bool:
            np.not_equal(transposed.view(np.uint8), 0, out=transposed)
        return transposed, form_of(dtype, array.shape, CPU)
    strides = tuple(stride // dtype.itemsize for stride in array.strides)
    return array.T, form_of(dtype, array.shape, CPU, strides)


def _compact(array: Array, dtype: DType) -> Array:
    """A copy in the order of C; of many elements by our own kernels, which go through both orders tile by tile."""
    if not AVAILABLE or type(array) is not np.ndarray or array.size < _MANY:
        return np.array(array, order="C", copy=True)
    strides = tuple(stride // dtype.itemsize for stride in array.strides)
    copied: Array = LIBRARY.bind_copy(array.shape, strides, dtype.name)(array)
    return copied


def _check_interface(source: Any) -> None:
    """Raise an error for an array interface of which NumPy would make something else than it says."""
    interface = getattr(source, "__array_interface__", None)
    if not isinstance(interface, dict):
        return
    typestr, data, shape = (interface.get(key) for key in ("typestr", "data", "shape"))
    if not isinstance(typestr, str) or typestr[:1] not in tuple("<>|="):  # some others stand for float64
        raise DTypeError(
            f"asarray: a {type(source).__name__} has the type string {shortened(typestr)}; accepted: {DTYPE_NAMES}, "
            "written as NumPy's array interface has it, such as '<f8'"
        )
    if isinstance(data, tuple) and isinstance(shape, tuple) and 0 not in shape:
        length = int(typestr[2:]) if typestr[2:].isdecimal() else 1
        strides = interface.get("strides") or row_major_strides(shape)
        in_bytes = length if strides is not interface.get("strides") else 1
        reach = [(extent - 1) * stride * in_bytes for extent, stride in zip(shape, strides, strict=False)]
        lowest, highest = (data[0] + sum(bound(one, 0) for one in reach) for bound in (min, max))
        if lowest <= 0 or highest + length > _ADDRESSES or highest - lowest + length > sys.maxsize:
            raise ArgumentError(
                f"asarray: a {type(source).__name__} at address {data[0]} with shape {shortened(shape)} and strides "
                f"{shortened(interface.get('strides'))} reaches from {lowest} to {highest}; accepted: addresses"
            )


def _as_array(source: Any) -> Array:
    """NumPy's array of a foreign object, or an error that says what the object's own library said."""
    try:
        return np.asarray(source)
    except (TensorError, MemoryError):
        raise
    except Exception as error:  # each library refuses in its own words, such as PyTorch a tensor that requires grad
        if is_of_a_signal(error):
            raise
        raise (DTypeError if isinstance(error, TypeError) else ArgumentError)(
            f"asarray: a {type(source).__module__}.{type(source).__qualname__} gives no array: {type(error).__name__}: "
            f"{error}; accepted: what NumPy reads, with elements that are {DTYPE_NAMES}"
        ) from error


def _converted(operation: str, array: Array, copy: bool | None, dtype: DType | None) -> tuple[Array, Form]:
    wanted = check_holds(operation, array.dtype.name, str(array.dtype), dtype)
    if copy is False:
        raise ArgumentError(f"{operation}: {array.dtype} to {wanted} needs a copy, and copy=False; pass copy=None")
    with np.errstate(all="ignore"):
        transposed = array.T.astype(NUMPY_DTYPES[wanted], order="C")
    return transposed, form_of(wanted, array.shape, CPU)


def _is_column_major(array: Array) -> bool:
    steps = [abs(stride) for extent, stride in zip(array.shape, array.strides, strict=True) if extent > 1]
    return array.size <= 1 or all(fast <= slow for fast, slow in pairwise(steps))
