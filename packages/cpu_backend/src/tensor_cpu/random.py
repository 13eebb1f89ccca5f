"""The kernel of ``uniform``: Philox4x64-10 from NumPy, with the counter that the runtime's documentation fixes.

NumPy's generator adds one to its counter before each block of four words, so it starts one before block 0.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tensor_core.dtypes import COMPLEX
from tensor_cpu.arrays import Array, empty
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

CHUNK: Final = 1 << 15  # words drawn at once; bounds the temporaries
_BEFORE_BLOCK_0: Final = np.full(4, 2**64 - 1, np.uint64)


def bind_uniform(result: Form, /) -> Kernel:
    """From seed and stream to numbers on the open interval (0, 1); ``tensor_runtime.random`` says with which bits.

    >>> from tensor_core.dtypes import F32
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_uniform(form_of(F32, (2, 3), CPU))(1, 0).shape
    (3, 2)
    """
    single = result.dtype.component.itemsize == 4
    shift, step = (41, 2.0**-23) if single else (12, 2.0**-52)
    words = result.size * (2 if result.dtype in COMPLEX else 1)

    def drawn(seed: int, stream: int) -> Array:
        array = empty(result)
        parts: Array = array.reshape(-1).view(np.float32 if single else np.float64)
        source = np.random.Philox(key=np.array([seed, stream], np.uint64), counter=_BEFORE_BLOCK_0)
        for start in range(0, words, CHUNK):
            part = parts[start : start + CHUNK]
            # The shifted word has one bit less than the significand, so adding a half and scaling are exact.
            part[...] = source.random_raw(part.size) >> np.uint64(shift)
            np.add(part, 0.5, out=part)
            np.multiply(part, step, out=part)
        return array

    return drawn
