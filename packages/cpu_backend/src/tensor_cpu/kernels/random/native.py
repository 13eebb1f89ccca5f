"""Native random numbers (csrc/random/philox.c), with the bits of those of ``kernels.random.numpy``.

Numbers of the normal distribution differ from those by the last bits of logarithm, sine and cosine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_cpu.kernel_table import NativeBinder
from tensor_cpu.storage import Array, empty
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand

TAKES: Final = "everything"


def bind_uniform(operands: tuple[Operand, ...], result: Any, params: None, /) -> Kernel:
    """From seed and stream to numbers on the open interval (0, 1).

    >>> from tensor_core.dtypes import F32
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_uniform((), form_of(F32, (2, 3), CPU), None)(1, 0).shape
    (3, 2)
    """
    form: Form = result

    def drawn(seed: int, stream: int) -> Array:
        array = empty(form)
        LIBRARY.fill_uniform(array, seed, stream)
        return array

    return drawn


def bind_integers(operands: tuple[Operand, ...], result: Any, params: None, /) -> Kernel:
    """From seed, stream, low and how many integers there are, 1 to 2**64, to integers from low on.

    >>> from tensor_core.dtypes import I32
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_integers((), form_of(I32, (3,), CPU), None)(1, 0, -5, 1).tolist()
    [-5, -5, -5]
    """
    form: Form = result

    def drawn(seed: int, stream: int, low: int, number: int) -> Array:
        array = empty(form)
        LIBRARY.fill_integers(array, seed, stream, low, number % 2**64)
        return array

    return drawn


def bind_normal(operands: tuple[Operand, ...], result: Any, params: None, /) -> Kernel:
    """From seed and stream to numbers of the standard normal distribution.

    >>> from tensor_core.dtypes import C64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_normal((), form_of(C64, (2, 3), CPU), None)(1, 0).shape
    (3, 2)
    """
    form: Form = result

    def drawn(seed: int, stream: int) -> Array:
        array = empty(form)
        LIBRARY.fill_normal(array, seed, stream)
        return array

    return drawn


BINDERS: Final[Mapping[str, NativeBinder]] = {
    "uniform": bind_uniform,
    "integers": bind_integers,
    "normal": bind_normal,
}
