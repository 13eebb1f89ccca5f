"""Powers; the rest of arithmetic are rows of the array namespace.

Native kernels: tiny results, and the elementwise machine (csrc/elementwise).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import FLOATING
from tensor_core.errors import ArgumentError
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.elementwise.numpy import BINARY, binary_function
from tensor_cpu.storage import first_true
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.backends.shared.value_errors import negative_exponent
from tensor_runtime.backends.xp_tables.elementwise import Ufunc
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def bind_pow(operands: tuple[Any, ...], result: Form, params: None, /) -> Kernel:
    """The kernel of a power; the exponents 2 and 3, the most common ones, are products.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(I64, (2,), CPU)
    >>> bind_pow((int, form), form, None)(2, np.array([3, 10])).tolist()
    [8, 1024]
    >>> bind_pow((int, form), form, None)(2, np.array([3, -1]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: pow: the exponent at index (1,) is -1, and integers have no negative powers; ...
    """
    function = binary_function("pow", BINARY["pow"], operands, result)
    if operands[1] in (int, float) and operands[0].dtype is result.dtype:
        product = binary_function("pow", BINARY["multiply"], (operands[0],) * 2, result)
        function = _with_products(function, product)
    if result.dtype in FLOATING:
        return ignoring_fp_errors(function)

    def power(x: Any, y: Any) -> Any:
        try:
            return function(x, y)
        except ValueError:  # NumPy's word for a negative exponent
            raise _refused(y) from None

    return ignoring_fp_errors(power)


def _with_products(power: Ufunc, product: Ufunc) -> Ufunc:
    def function(x: Any, y: Any) -> Any:
        if y == 2:
            return product(x, x)
        if y == 3:
            square = product(x, x)
            return np.multiply(square, x, out=square)
        return power(x, y)

    return function


def _refused(exponent: Any) -> ArgumentError:
    if not isinstance(exponent, np.ndarray):
        return negative_exponent(None, exponent)
    index = first_true(np.less(exponent, 0))
    return negative_exponent(index, exponent[index[::-1]].item())


BINDERS: Final[Mapping[str, Binder]] = {"pow": bind_pow}
