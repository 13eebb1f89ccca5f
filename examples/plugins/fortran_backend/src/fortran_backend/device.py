"""A backend whose arrays are NumPy's in Fortran order: what the conformance suite needs, and a few operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

import tensor_runtime as tr
from tensor_core.errors import UnsupportedOperationError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceKind
from tensor_runtime.protocols import Kernel, Operand, Result
from tensor_runtime.testing import REQUIRED_KERNELS

Array = np.ndarray[Any, Any]
FUNCTIONS: Mapping[str, Callable[..., Any]] = {"add": np.add, "negative": np.negative, "equal": np.equal}


class FortranBackend:
    """Fits ``tensor_runtime.protocols.Backend``; axis k of an array is axis k of its tensor."""

    name = "fortran"
    device_kind = DeviceKind.other("fortran")

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """The kernel for these forms; ``docs/kernels.md`` says what each one gets and gives."""
        if name not in self.operations() or not isinstance(result, Form):
            raise UnsupportedOperationError(f"{name}: {REASON}", operation=name)
        dtype, shape = result.dtype.numpy_name, result.shape
        if name == "reverse_view":
            return lambda x: np.flip(x, params.axes)
        if name == "slice_view":
            return lambda x, starts: x[index_of(params.entries, starts)]
        if name.endswith("_view"):  # what is left starts where the operand starts
            return lambda x: as_strided(x, shape, [stride * x.itemsize for stride in result.strides])
        if name == "copy_into":
            return lambda x, y: np.copyto(x, y, casting="unsafe")
        if name == "full":
            return silent(lambda value: np.full(shape, value, dtype, order="F"))
        if name == "sum":
            return silent(lambda x: compact(np.sum(x, params.axis, dtype, keepdims=params.keepdims), result))
        function = FUNCTIONS[name]
        return silent(lambda *given: compact(function(*given), result))

    def operations(self) -> frozenset[str]:
        """Everything it has."""
        return REQUIRED_KERNELS | FUNCTIONS.keys() | {"sum"}

    def unsupported(self) -> Mapping[str, str]:
        """Everything else."""
        return dict.fromkeys(tr.backend("cpu").operations() - self.operations(), REASON)

    def offset_of(self, array: Array, /) -> int:
        """From the start of the allocation that the array is a view of."""
        owner: Any = array
        while owner.base is not None:
            owner = owner.base
        return (array.ctypes.data - int(owner.ctypes.data)) // array.itemsize

    def location_of(self, array: Array, /) -> tuple[str, int]:
        """Its address in the memory of the process."""
        return "memory", array.ctypes.data

    def upload(self, source: HostTensor[Any], form: Form, /) -> Array:
        """A copy; the host's axes are in the tensor's order, too."""
        return np.array(source, form.dtype.numpy_name, order="F")

    def download(self, array: Array, form: Form, /) -> HostTensor[Any]:
        """A copy of the elements in column-major order."""
        return HostTensor.wrap_bytes(bytearray(array.tobytes(order="F")), form.shape, form.dtype)

    def synchronize(self) -> None:
        """NumPy has computed when it returns."""

    def describe(self) -> Mapping[str, str]:
        """For ``doctor``."""
        return {"numpy": np.__version__}


REASON = "the Fortran backend is an example, and has a few operations only"


def silent(kernel: Kernel) -> Kernel:
    """A kernel never warns."""
    return np.errstate(all="ignore")(kernel)


def compact(values: Any, form: Form) -> Array:
    """An array of its own, as the form says."""
    return np.array(np.broadcast_to(values, form.shape), form.dtype.numpy_name, order="F")


def index_of(entries: tuple[Any, ...], starts: tuple[int, ...]) -> tuple[Any, ...]:
    """NumPy's index for the entries of ``SliceParams``; the ellipsis keeps rank 0 an array."""
    index: list[Any] = [...]
    first = iter(starts)
    for entry in entries:
        if entry is None:
            index.append(None)
        elif entry == ():
            index.append(next(first))
        else:
            (extent, step), start = entry, next(first)
            stop = start + extent * step
            index.append(slice(start, stop if stop >= 0 else None, step) if extent else slice(0, 0))
    return tuple(index)


backend = FortranBackend()
