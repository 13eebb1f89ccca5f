"""Tensors like another one in shape, dtype and place, and tensors whose elements nobody has written yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, SupportsIndex

from tensor_core.dtypes import F64, DTypeLike, as_dtype
from tensor_core.errors import UnsupportedOperationError
from tensor_core.shapes import as_shape
from tensor_runtime.backends.bindings import Binding, BindingTable
from tensor_runtime.backends.error_translation import call_translated, naming
from tensor_runtime.backends.kernel_facts import state
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.conversion import as_dtype_or
from tensor_runtime.form import Form, form_of
from tensor_runtime.ops import native_calls
from tensor_runtime.ops.creation import full, ones, zeros
from tensor_runtime.placement import CPU, Placement, as_placement
from tensor_runtime.static_types.creation import typed_full_like, typed_zeros, typed_zeros_like
from tensor_runtime.tensors.tensor import Number, Tensor, unwrap, wrap

state("empty")


def _bind_empty(form: Form) -> Binding:
    return registry.bind("empty", (), form, None), form


_EMPTY = BindingTable(_bind_empty)


@typed_zeros
def empty(
    shape: SupportsIndex | Sequence[SupportsIndex], /, dtype: DTypeLike = F64, *, placement: Placement | str = CPU
) -> Tensor:
    """Tensor whose elements are whatever the memory held; write them all before you read one.

    On a backend that makes none, a tensor of zeros.

    >>> empty((2, 3), dtype="I32").shape
    (2, 3)
    """
    return _empty_call(shape, dtype, placement)


def _empty(shape: Any, dtype: Any, placement: Any) -> Tensor:
    place = as_placement(placement)
    try:
        kernel, form = _EMPTY[form_of(as_dtype(dtype), as_shape(shape), place)]
    except UnsupportedOperationError:
        filled: Tensor = zeros(shape, dtype=dtype, placement=place)
        return filled
    return wrap(form, call_translated("empty", form, kernel))


_empty_call: Callable[[Any, Any, Any], Tensor] = _empty  # or a native one (``ops.native_calls``)
native_calls.place("empty", _empty, partial(globals().__setitem__, "_empty_call"))


@typed_zeros_like
def empty_like(x: Tensor, /, dtype: DTypeLike | None = None, *, placement: Placement | str | None = None) -> Tensor:
    """:func:`empty` in the shape, dtype and place of ``x``, unless others are named; compact.

    >>> empty_like(zeros((2, 3))).shape
    (2, 3)
    """
    if dtype is None and placement is None and type(x) is Tensor:
        return _empty_call(x._form.shape, x._form.dtype, x._form.placement)
    form, place = _like("empty_like", x, placement)
    return empty(form.shape, dtype=as_dtype_or(dtype, form.dtype), placement=place)


@typed_zeros_like
def zeros_like(x: Tensor, /, dtype: DTypeLike | None = None, *, placement: Placement | str | None = None) -> Tensor:
    """Zeros in the shape, dtype and place of ``x``, unless others are named; compact.

    >>> zeros_like(tensor([1, 2]))
    Tensor(I64, (2,), column-major, cpu)
     0  0
    """
    form, place = _like("zeros_like", x, placement)
    return zeros(form.shape, dtype=as_dtype_or(dtype, form.dtype), placement=place)


@typed_zeros_like
def ones_like(x: Tensor, /, dtype: DTypeLike | None = None, *, placement: Placement | str | None = None) -> Tensor:
    """Ones in the shape, dtype and place of ``x``, unless others are named; compact.

    >>> ones_like(tensor([1.5, 2.5]))
    Tensor(F64, (2,), column-major, cpu)
     1.0  1.0
    """
    form, place = _like("ones_like", x, placement)
    return ones(form.shape, dtype=as_dtype_or(dtype, form.dtype), placement=place)


@typed_full_like
@naming("full")
def full_like(
    x: Tensor, value: Number, /, dtype: DTypeLike | None = None, *, placement: Placement | str | None = None
) -> Tensor:
    """One value in the shape, dtype and place of ``x``, unless others are named; compact.

    Raises:
        DTypeError: the value's kind does not fit the dtype (a float into I64; NumPy would cut it).
        CastRangeError: an integer outside the dtype's range.

    >>> full_like(tensor([1.5, 2.5]), 7)
    Tensor(F64, (2,), column-major, cpu)
     7.0  7.0
    """
    form, place = _like("full_like", x, placement)
    return full(form.shape, value, dtype=as_dtype_or(dtype, form.dtype), placement=place)


def _like(operation: str, x: Tensor, placement: Placement | str | None) -> tuple[Form, Placement]:
    form, _ = unwrap(operation, x)
    return form, form.placement if placement is None else as_placement(placement)
