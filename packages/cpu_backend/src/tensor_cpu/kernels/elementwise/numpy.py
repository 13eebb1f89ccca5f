"""Elementwise kernels on transposed arrays, from the rows that array namespaces share.

Right-aligned broadcasting of tensors is "insert axes at the end" for their transposed arrays. It is decided once, when
a kernel is bound; for equal compact forms NumPy's own ufunc is the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import FLOATING, Bool, DType
from tensor_core.promotion import promote_scalar
from tensor_cpu.kernel_table import Binder
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty, truth
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.backends.shared.value_errors import number_out_of_range
from tensor_runtime.backends.xp_tables import elementwise as rows
from tensor_runtime.backends.xp_tables.elementwise import Ufunc
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand

BINARY: Final = rows.binary(np)
UNARY: Final = rows.unary(np)


def bind_unary(name: str, form: Form, result: Form, /) -> Kernel:
    """The kernel of a function of one operand."""
    return bind_function(UNARY[name], form, result)


def bind_function(ufunc: Ufunc, form: Form, result: Form, /) -> Kernel:
    """The kernel of a ufunc of one operand; what is no float is computed in the result's dtype if that is one.

    >>> from tensor_core import F64, I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_function(np.sqrt, form_of(I64, (2,), CPU), form_of(F64, (2,), CPU))(np.array([4, -1])).tolist()
    [2.0, nan]
    """
    if result.dtype in FLOATING and form.dtype not in FLOATING:
        computed = NUMPY_DTYPES[result.dtype]
        return ignoring_fp_errors(lambda x: ufunc(x, out=empty(result), dtype=computed))
    if form.rank and form.is_compact:
        return ignoring_fp_errors(ufunc)
    return ignoring_fp_errors(lambda x: ufunc(x, out=empty(result)))


def bind_binary(name: str, operands: tuple[Operand, ...], result: Form, /) -> Kernel:
    """The kernel of a function of two operands, of which one may be a Python number."""
    return ignoring_fp_errors(binary_function(name, BINARY[name], operands, result))


def binary_function(name: str, ufunc: Ufunc, operands: tuple[Operand, ...], result: Form, /) -> Ufunc:
    """What :func:`bind_binary` runs without NumPy's warnings: ``ufunc`` fitted to the operands' forms.

    Args:
        name: of the operation, for errors.
        ufunc: broadcasts, takes ``out=`` and ``order=``.
        operands: forms, or types of Python numbers.
        result: form of the result.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> matrix, row = form_of(F64, (2, 3), CPU), form_of(F64, (3,), CPU)
    >>> add = binary_function("add", np.add, (matrix, row), matrix)
    >>> add(np.zeros((3, 2)), np.array([1.0, 2.0, 3.0])).tolist()
    [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    >>> binary_function("subtract", np.subtract, (int, row), row)(1, np.array([1.0, 2.0, 3.0])).tolist()
    [0.0, -1.0, -2.0]
    """
    a, b = operands
    if isinstance(a, Form) and isinstance(b, Form):
        if result.dtype in FLOATING and a.dtype is b.dtype is Bool and name != "divide":
            ufunc = partial(ufunc, dtype=NUMPY_DTYPES[result.dtype])  # NumPy would take half precision
        if a.dtype is b.dtype is Bool and (_is_repeated(a, result) or _is_repeated(b, result)):
            ufunc = _of_truths(ufunc)
        return _of_tensors(ufunc, a, b, result)
    if isinstance(a, Form):
        return _of_number(name, ufunc, a, b, result, number_first=False)
    assert isinstance(b, Form)
    return _of_number(name, ufunc, b, a, result, number_first=True)


def _of_tensors(ufunc: Ufunc, a: Form, b: Form, result: Form) -> Ufunc:
    rank = result.rank
    if rank == 0:  # NumPy answers rank 0 with a scalar, unless it gets somewhere to write
        return lambda x, y: ufunc(x, y, out=empty(result))
    if a is b and a.is_compact and a.shape == result.shape:
        return ufunc
    i, j = (stretched(form.rank, rank) for form in (a, b))
    if a.rank == b.rank:
        return lambda x, y: ufunc(x, y, order="C")
    return lambda x, y: ufunc(x[i], y[j], order="C")


def _is_repeated(form: Form, result: Form) -> bool:
    return form.shape != result.shape or 0 in form.strides


def _of_truths(ufunc: Ufunc) -> Ufunc:
    """The ufunc of what is true; NumPy compares bytes where it repeats an element, and lent memory may hold any."""
    return lambda x, y, **options: ufunc(truth(x), truth(y), **options)


def _of_number(name: str, ufunc: Ufunc, form: Form, number: Operand, result: Form, *, number_first: bool) -> Ufunc:
    """One operand is a Python number: it becomes an element of the dtype both are computed in."""
    assert isinstance(number, type)
    common = promote_scalar(form.dtype, number)
    if result.dtype in FLOATING and common not in FLOATING:
        common = result.dtype
    element = element_of(name, common)
    if not (form.rank and form.is_compact):  # rank 0 and strided operands need to be told where to write
        if number_first:
            return lambda x, y: ufunc(element(x), y, out=empty(result))
        return lambda x, y: ufunc(x, element(y), out=empty(result))
    if number_first:
        return lambda x, y: ufunc(element(x), y)
    return lambda x, y: ufunc(x, element(y))


def readers(name: str, operands: tuple[Operand, ...], rank: int, dtype: DType, /) -> list[Callable[[Any], Any]]:
    """For each operand, what makes it an array (or an element) that broadcasts to a result of ``rank`` axes.

    Python numbers become elements of ``dtype``; tensors keep theirs.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> row, number = readers("where", (form_of(F64, (3,), CPU), int), 2, F64)
    >>> row(np.zeros(3)).shape, number(1)
    ((3, 1), np.float64(1.0))
    """
    found: list[Callable[[Any], Any]] = []
    for operand in operands:
        if not isinstance(operand, Form):
            found.append(element_of(name, dtype))
        elif operand.rank == rank:
            found.append(_itself)
        else:
            found.append(partial(_indexed, stretched(operand.rank, rank)))
    return found


def _itself(x: Any) -> Any:
    return x


def _indexed(index: Any, x: Array) -> Array:
    view: Array = x[index]
    return view


def stretched(rank: int, full: int, /) -> tuple[Any, ...]:
    """The index that gives an array of ``rank`` axes the trailing axes of extent 1 that broadcasting asks for."""
    return (..., *[None] * (full - rank))


def element_of(name: str, dtype: DType, /) -> Callable[[Any], Any]:
    """From a Python number to a NumPy scalar of the dtype; one out of range is our error, or compared all the same.

    >>> from tensor_core import I32
    >>> element_of("add", I32)(2**31 - 1)
    np.int32(2147483647)
    >>> element_of("add", I32)(2**31)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.CastRangeError: add: the number 2147483648 does not fit I32; ...
    """
    scalar = NUMPY_DTYPES[dtype].type
    compares = name in rows.COMPARISONS

    def element(value: Any) -> Any:
        try:
            return scalar(value)
        except OverflowError:
            if compares:  # every element is nearer to zero, as it is beside the infinity of that sign
                return np.float64(np.inf if value > 0 else -np.inf)
            raise number_out_of_range(name, value, dtype) from None

    return element


def _unary(name: str) -> Binder:
    return lambda operands, result, params: bind_unary(name, operands[0], result)


def _binary(name: str) -> Binder:
    return lambda operands, result, params: bind_binary(name, operands, result)


BINDERS: Final[Mapping[str, Binder]] = {name: _unary(name) for name in UNARY} | {name: _binary(name) for name in BINARY}
"""Every row; ``tensor_cpu.kernel_table`` says which of them another module refines."""
