"""Strict complex numbers: their parts, and complex numbers from parts."""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import COMPLEX, REAL_FLOATING
from tensor_runtime.dispatch.call import execute_binary, execute_unary
from tensor_runtime.dispatch.dtype_rules import component, equal_shapes, same_shape
from tensor_runtime.ops.complex_parts import paired
from tensor_runtime.primitives.strict import StrictSpec
from tensor_runtime.tensors.tensor import Tensor

_REAL: Final = StrictSpec("real", accepts=COMPLEX, result_dtype=component, result_shape=same_shape)
_IMAG: Final = StrictSpec("imag", accepts=COMPLEX, result_dtype=component, result_shape=same_shape)
_COMPLEX: Final = StrictSpec(
    "complex", binary=True, accepts=REAL_FLOATING, result_dtype=paired, result_shape=equal_shapes
)


def real(a: Tensor, /) -> Tensor:
    """Real parts of a complex operand.

    >>> real(tensor([3 + 4j])).to_numpy().tolist()
    [3.0]
    """
    return execute_unary(_REAL, a)


def imag(a: Tensor, /) -> Tensor:
    """Imaginary parts of a complex operand.

    >>> imag(tensor([3 + 4j])).to_numpy().tolist()
    [4.0]
    """
    return execute_unary(_IMAG, a)


def complex(re: Tensor, im: Tensor, /) -> Tensor:
    """Complex numbers from their parts, both F32 or both F64. Errors as for ``primitives.add``.

    >>> complex(tensor([3.0]), tensor([4.0])).to_numpy().tolist()
    [(3+4j)]
    """
    return execute_binary(_COMPLEX, re, im)
