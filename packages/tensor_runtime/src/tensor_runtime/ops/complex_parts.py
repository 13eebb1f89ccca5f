"""Parts of complex numbers, and complex numbers from parts. Results are owned copies, never views."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import C32, C64, F32, REAL, Bool, DType
from tensor_runtime.dispatch.call import execute_binary, execute_unary
from tensor_runtime.dispatch.dtype_rules import component
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import ElementwiseSpec
from tensor_runtime.static_types.combined import paired_dtype
from tensor_runtime.static_types.results import component_dtype
from tensor_runtime.tensors.tensor import Number, Tensor


def paired(dtype: DType, /) -> DType:
    """The complex type of two components: C32 for F32, C64 for everything else.

    >>> from tensor_core import F64
    >>> paired(F32), paired(F64)
    (C32, C64)
    """
    return C32 if dtype is F32 else C64


REAL_PART: Final = ElementwiseSpec("real", result_dtype=component)
IMAG_PART: Final = ElementwiseSpec("imag", result_dtype=component)
COMPLEX: Final = ElementwiseSpec("complex", 2, accepts=REAL | {Bool}, result_dtype=paired)


@component_dtype
def real(a: Tensor, /, out: Out = None) -> Tensor:
    """Real parts; a copy of a real operand. NumPy gives a view, we do not.

    Args:
        a: any dtype.

    Returns:
        F32 for C32, F64 for C64, else the operand's dtype.

    >>> real(tensor([3 + 4j, -1]))
    Tensor(F64, (2,), column-major, cpu)
      3.0  -1.0
    """
    return execute_unary(REAL_PART, a, out)


@component_dtype
def imag(a: Tensor, /, out: Out = None) -> Tensor:
    """Imaginary parts; zeros of a real operand. Dtypes as for :func:`real`. NumPy gives a view, we do not.

    >>> imag(tensor([3 + 4j, -1]))
    Tensor(F64, (2,), column-major, cpu)
     4.0  0.0
    """
    return execute_unary(IMAG_PART, a, out)


@paired_dtype
def complex(re: Tensor | Number, im: Tensor | Number, /, out: Out = None) -> Tensor:
    """Complex numbers with the parts given, which keep their infinities, NaN and signs of zero.

    Args:
        re: real parts: real or Bool, any shape, or a Python number.
        im: imaginary parts; broadcasts with ``re``.

    Returns:
        C32 when the parts' common dtype is F32, else C64.

    Raises:
        DTypeError: a part is complex.
        ShapeError: the shapes do not broadcast.
        PlacementError: the operands live in different places.

    >>> complex(tensor([3.0, -1.0]), 2)
    Tensor(C64 (complex128), (2,), column-major, cpu)
      3.0+2.0j  -1.0+2.0j
    """
    return execute_binary(COMPLEX, re, im, out)
