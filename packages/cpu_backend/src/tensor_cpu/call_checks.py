"""Kernels that compare what they are called with against what they were bound to: slow, for finding errors.

A native kernel reads nothing from an array but its address, and trusts the caller with the rest. With
``TENSOR_CPU_CHECK_CALLS=1`` in the environment, every array is first compared with the form of its operand, whether the
operation's kernel is native, NumPy's, or made of both.
"""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np

from tensor_core.errors import ArgumentError, BackendContractError, shortened
from tensor_cpu.storage import NUMPY_DTYPES, transposed_strides
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.workspaces import workspace_of
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand

VARIABLE: Final = "TENSOR_CPU_CHECK_CALLS"
_WRITES: Final = frozenset({"copy_into", "add_into"})  # into their first operand


def wanted() -> bool:
    """Whether the environment asks for it.

    Raises:
        ArgumentError: ``TENSOR_CPU_CHECK_CALLS`` is neither 0 nor 1.

    >>> wanted() in (False, True)
    True
    """
    text = os.environ.get(VARIABLE, "0") or "0"
    if text not in ("0", "1"):
        raise ArgumentError(f"{VARIABLE} is {shortened(text)}; accepted: 0, 1, or unset", variable=VARIABLE)
    return text == "1"


CHECKED: Final = wanted()
if CHECKED and AVAILABLE:
    LIBRARY.set_call_checks(True)  # kernels within kernels, too


def checked(name: str, kernel: Kernel, operands: tuple[Operand, ...]) -> Kernel:
    """The kernel of an operation bound to these operands, which compares arrays with them if that is wanted.

    >>> checked("negative", np.negative, ())(np.ones(2)).tolist()
    [-1.0, -1.0]
    """
    return CheckedKernel(name, kernel, operands) if CHECKED else kernel


class CheckedKernel:
    """A kernel that raises a ``BackendContractError`` when an array is not of the form it was bound to.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> CheckedKernel("negative", np.negative, (form_of(F64, (2,), CPU),))(np.zeros(3))
    Traceback (most recent call last):
    tensor_core.errors.BackendContractError: negative: operand 0 is of shape (3,), bound to (2,)
    """

    __slots__ = ("_kernel", "_name", "_operands")

    def __init__(self, name: str, kernel: Kernel, operands: tuple[Operand, ...]) -> None:
        self._name, self._kernel, self._operands = name, kernel, operands

    def __call__(self, *arrays: Any) -> Any:
        for place, (array, operand) in enumerate(zip(arrays, self._operands, strict=False)):  # ``full`` takes more
            if isinstance(operand, Form):
                found = fault(array, operand, writes=place == 0 and self._name in _WRITES)
                if found:
                    raise BackendContractError(f"{self._name}: operand {place} is {found}")
        return self._kernel(*arrays)

    @property
    def workspace_bytes(self) -> int:
        """What the kernel itself says; the comparison takes nothing."""
        return workspace_of(self._kernel)

    def __repr__(self) -> str:
        return repr(self._kernel)


def fault(array: Any, form: Form, *, writes: bool) -> str | None:
    """What is wrong with an array, shapes and strides in reversed order of axes; None where nothing is.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> fault(np.zeros(3), form_of(F64, (2,), CPU), writes=False)
    'of shape (3,), bound to (2,)'
    """
    if not isinstance(array, np.ndarray):
        return f"a {type(array).__name__}, no array"
    shape, strides, dtype = form.shape[::-1], transposed_strides(form), NUMPY_DTYPES[form.dtype]
    if array.dtype != dtype:
        return f"of {array.dtype}, bound to {dtype}"
    if array.shape != shape:
        return f"of shape {array.shape}, bound to {shape}"
    matters = [extent > 1 and form.size > 0 for extent in shape]
    if any(found != bound for found, bound, does in zip(array.strides, strides, matters, strict=True) if does):
        return f"of strides {array.strides} in bytes, bound to {strides}"
    if not array.flags.aligned and form.size > 0:
        return "not aligned"
    if writes and not array.flags.writeable:
        return "read-only"
    return None
