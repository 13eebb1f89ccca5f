"""Data of the host, in and out: what ``tensor``, ``asarray`` and ``to_numpy`` of ``ops.creation`` do in Python.

Those functions say what is accepted and what is shared; a backend may bring faster ones for its usual tensors
(``ops.native_calls``), which hand over to these.
"""

from __future__ import annotations

from typing import Any, Final

from tensor_core.dtypes import C64, F64, I64, Bool, DType, as_dtype, dtype_of_name
from tensor_core.errors import ArgumentError, DTypeError, LossyConversionError, PlacementError
from tensor_core.foreign import number_of
from tensor_core.host.dlpack.borrowing import check_on_host
from tensor_core.host.tensor import HostTensor, HostTensorView
from tensor_core.promotion import can_convert
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.form import Form
from tensor_runtime.ops.device_data import borrowed_from_device, is_copied
from tensor_runtime.ops.views import copy as copied
from tensor_runtime.placement import CPU, as_placement, is_stand_in
from tensor_runtime.tensors.tensor import Number, Tensor, unwrap, wrap, wrap_borrowed
from tensor_runtime.tensors.transfer import lend, to, upload

NATURAL: Final[dict[type, DType]] = {bool: Bool, int: I64, float: F64, complex: C64}
"""Dtypes of which Python's numbers are elements by nature."""


def as_dtype_or_none(dtype: Any, /) -> DType | None:
    """The dtype that a user names; None stays None."""
    return None if dtype is None else as_dtype(dtype)


def new_tensor(data: Any, dtype: Any, placement: Any, /) -> Tensor:
    """As ``ops.creation.tensor``.

    >>> new_tensor([1, 2.5], None, CPU).dtype
    F64
    """
    nested = data if isinstance(data, (list, tuple)) else _number(data)
    if nested is not None:
        return upload(HostTensor.from_nested(nested, as_dtype_or_none(dtype)), placement)
    made = as_tensor(data, dtype, True, "tensor")
    if made.placement is as_placement(placement):
        return made
    return to(made, placement)


def as_tensor(x: Any, dtype: Any, copy: bool | None, operation: str = "asarray", /) -> Tensor:
    """As ``ops.creation.asarray``.

    >>> as_tensor([1, 2], None, None).shape
    (2,)
    """
    wanted = as_dtype_or_none(dtype)
    if copy is not None:
        copy = flag("asarray", "copy", copy)
    if isinstance(x, Tensor):
        found, shared = x, True
    else:
        found, shared = _borrowed(x, wanted, copy)
    if wanted is not None and found.dtype is not wanted:
        if copy is False:
            raise ArgumentError(
                f"asarray: {found.dtype.name} to {wanted.name} needs a copy, and copy=False; pass copy=None"
            )
        if found is not x and not can_convert(found.dtype, wanted):
            raise LossyConversionError(
                f"{operation}: {found.dtype} to {wanted} can lose values; cast(asarray(array), {wanted.name}) does it "
                "all the same",
                operation=operation,
                target=wanted,
            )
        return convert(found, wanted)
    return copied(found) if copy and shared else found


def placed(x: Tensor, placement: Any, copy: bool | None, /) -> Tensor:
    """The tensor where ``asarray`` was asked to put it.

    >>> placed(new_tensor([1], None, CPU), "cpu", False).placement
    cpu
    """
    target = as_placement(placement)
    if copy is False and x.placement is not target:
        raise ArgumentError(f"asarray: from {x.placement} to {target} needs a copy, and copy=False; pass copy=None")
    return to(x, target)


def _borrowed(x: Any, dtype: DType | None, copy: bool | None) -> tuple[Tensor, bool]:
    """A tensor of foreign data, and whether it still shares memory with it."""
    if isinstance(x, range):
        x = list(x)
    nested = x if isinstance(x, (list, tuple)) else _number(x)
    if nested is not None:
        if copy is False:
            raise ArgumentError(f"asarray: a {type(x).__name__} has no memory to share, and copy=False; pass copy=None")
        return upload(HostTensor.from_nested(nested, dtype), CPU), False
    there = None if hasattr(x, "__array_interface__") else borrowed_from_device("asarray", x, copy, dtype)
    if there is not None:
        return there, copy is not True
    backend: Any = registry.backend_for(CPU)
    lent = call_translated("asarray", None, backend.borrow, x, copy, dtype)
    if lent is None and hasattr(x, "__dlpack__"):
        return lent_by_dlpack(x, copy), copy is not True
    if lent is None:
        raise DTypeError(
            f"asarray: found a {type(x).__name__}; accepted: a tensor, an array, a buffer, nested lists, or a number"
        )
    return _lent(backend, lent, copy), copy is not True


def _number(x: Any) -> Number | None:
    """The Python number that a scalar equals; None for NumPy's scalars of our dtypes, which keep them, and all else."""
    if type(x) in NATURAL:
        return x  # type: ignore[no-any-return]
    return None if dtype_of_name(getattr(getattr(x, "dtype", None), "name", "")) else number_of(x)


def _lent(backend: Any, given: tuple[Any, Form], copy: bool | None) -> Tensor:
    """The tensor of what a backend borrowed, or copied."""
    array, form = given
    return (wrap if is_copied(backend, array, copy) else wrap_borrowed)(form, array)


def lent_by_dlpack(x: Any, copy: bool | None, /) -> Tensor:
    """As ``ops.exchange.from_dlpack``, of what is no tensor.

    >>> lent_by_dlpack(HostTensor.from_nested([1, 2]), None).tolist()
    [1, 2]
    """
    if copy is None or type(copy) is bool:
        there = borrowed_from_device("from_dlpack", x, copy)
        if there is not None:
            return there
    check_on_host(x, copy)
    backend: Any = registry.backend_for(CPU)
    if not hasattr(backend, "borrow_dlpack"):
        return as_tensor(HostTensorView.from_dlpack(x, copy=False if copy is False else None), None, copy)
    return _lent(backend, call_translated("from_dlpack", None, backend.borrow_dlpack, x, copy), copy)


def as_numpy(x: Tensor, /) -> Any:
    """As ``ops.creation.to_numpy``.

    >>> as_numpy(new_tensor([1, 2], None, CPU)).tolist()
    [1, 2]
    """
    form, array = unwrap("to_numpy", x)
    backend: Any = registry.backend_for(form.placement)
    if is_stand_in(form.placement):
        backend.download(array, form)  # refuses: there are no elements
    if not hasattr(backend, "lend"):
        raise PlacementError(
            f"to_numpy: the tensor is on {form.placement}, and nothing is moved silently; "
            "use to(x, 'cpu') or download(x)",
            operation="to_numpy",
            placement=form.placement,
        )
    return lend("to_numpy", backend, array, form)
