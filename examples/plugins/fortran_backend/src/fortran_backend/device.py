"""A backend whose arrays are NumPy's in Fortran order: what the conformance suite needs, and a few operations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

import tensor_runtime as tr
from tensor_core.errors import UnsupportedOperationError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceKind
from tensor_runtime.protocols import Kernel, Operand
from tensor_runtime.testing import REQUIRED_KERNELS

Array = np.ndarray[Any, Any]
FUNCTIONS: Mapping[str, Any] = {"add": np.add, "negative": np.negative, "equal": np.equal}
REASON = "the Fortran backend is an example, and has a few operations only"


class FortranBackend:
    """Fits ``tensor_runtime.protocols.Backend``; axis k of an array is axis k of its tensor."""

    name = "fortran"
    device_kind = DeviceKind.other("fortran")

    def bind(self, name: str, operands: tuple[Operand, ...], result: Any, params: Any, /) -> Kernel:
        """The kernel for these forms; ``docs/kernels.md`` says what each one gets and gives."""
        if name not in self.operations():
            raise UnsupportedOperationError(f"{name}: {REASON}", operation=name)
        if name == "copy_into":
            return lambda x, y: np.copyto(x, y, casting="unsafe")
        dtype, shape = result.dtype.numpy_name, result.shape
        if name.endswith("_view"):  # the form has the strides; two kernels move the first element as well
            strides = [stride * np.dtype(dtype).itemsize for stride in result.strides]
            if name == "reverse_view":
                return lambda x: np.flip(x, params.axes)
            if name == "slice_view":
                return lambda x, starts: as_strided(x[(..., *(slice(one, None) for one in starts))], shape, strides)
            return lambda x: as_strided(x, shape, strides)
        if name == "sum":
            return owned(partial(np.sum, axis=params.axis, dtype=dtype, keepdims=params.keepdims), result)
        return owned(FUNCTIONS.get(name, np.asarray), result)  # "full" is given a number

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


def owned(function: Any, form: Form, /) -> Kernel:
    """A kernel that computes an array of its own, as the form says, and never warns."""

    def kernel(*operands: Any) -> Array:
        return np.array(np.broadcast_to(function(*operands), form.shape), form.dtype.numpy_name, order="F")

    return np.errstate(all="ignore")(kernel)


backend = FortranBackend()
