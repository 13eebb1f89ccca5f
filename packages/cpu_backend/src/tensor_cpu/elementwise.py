"""Elementwise kernels on twins, from the rows that array namespaces share.

Right-aligned broadcasting of tensors is "insert axes at the end" for their twins. It is decided once, when a kernel
is bound; for equal compact forms NumPy's own ufunc is the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import COMPLEX, FLOATING, DType
from tensor_core.errors import CastRangeError
from tensor_core.promotion import promote_scalar
from tensor_cpu.arrays import NUMPY_DTYPES, empty
from tensor_cpu.quiet import quiet
from tensor_runtime.form import Form
from tensor_runtime.namespace import elementwise as rows
from tensor_runtime.protocols import Kernel, Operand

BINARY: Final = rows.binary(np)
UNARY: Final = rows.unary(np)


def bind_unary(name: str, form: Form, result: Form, /) -> Kernel:
    """The kernel of a function of one operand."""
    ufunc = UNARY[name]
    computed: Any = NUMPY_DTYPES[result.dtype] if form.dtype not in FLOATING else None
    if computed is None and form.rank and (form is result or (form.is_compact and form.dtype in COMPLEX)):
        return quiet(ufunc)
    return quiet(lambda x: ufunc(x, out=empty(result), **({"dtype": computed} if computed else {})))


def bind_binary(name: str, operands: tuple[Operand, ...], result: Form, /) -> Kernel:
    """The kernel of a function of two operands, of which one may be a Python number."""
    a, b = operands
    if isinstance(a, Form) and isinstance(b, Form):
        return _bind_tensors(name, a, b, result)
    if isinstance(a, Form):
        return _bind_number(name, a, b, result, number_first=False)
    assert isinstance(b, Form)
    return _bind_number(name, b, a, result, number_first=True)


def _bind_tensors(name: str, a: Form, b: Form, result: Form) -> Kernel:
    ufunc = BINARY[name]
    rank = result.rank
    if rank == 0:  # NumPy answers rank 0 with a scalar, unless it gets somewhere to write
        return quiet(lambda x, y: ufunc(x, y, out=empty(result)))
    if a is b and a.is_compact and a.shape == result.shape:
        return quiet(ufunc)
    i, j = ((..., *[None] * (rank - form.rank)) for form in (a, b))
    if a.rank == b.rank:
        return quiet(lambda x, y: ufunc(x, y, order="C"))
    return quiet(lambda x, y: ufunc(x[i], y[j], order="C"))


def _bind_number(name: str, form: Form, number: Operand, result: Form, *, number_first: bool) -> Kernel:
    """One operand is a Python number: it becomes an element of the dtype both are computed in."""
    ufunc = BINARY[name]
    assert isinstance(number, type)
    common = promote_scalar(form.dtype, number)
    if name == "divide" and common not in FLOATING:
        common = result.dtype
    element = _element_of(name, common)
    if not (form.rank and form.is_compact):  # rank 0 and strided operands need to be told where to write
        if number_first:
            return quiet(lambda x, y: ufunc(element(x), y, out=empty(result)))
        return quiet(lambda x, y: ufunc(x, element(y), out=empty(result)))
    if number_first:
        return quiet(lambda x, y: ufunc(element(x), y))
    return quiet(lambda x, y: ufunc(x, element(y)))


def _element_of(name: str, dtype: DType) -> Callable[[Any], Any]:
    """From a Python number to a NumPy scalar of the dtype; a number out of range is our error."""
    scalar = NUMPY_DTYPES[dtype].type

    def element(value: Any) -> Any:
        try:
            return scalar(value)
        except OverflowError:
            raise CastRangeError(
                f"{name}: the number {_shortened(value)} does not fit {dtype.name}; "
                "convert the tensor to a wider dtype first",
                value=value,
            ) from None

    return element


def _shortened(value: Any) -> str:
    return f"of {value.bit_length()} bits" if isinstance(value, int) and value.bit_length() > 256 else str(value)
