"""Kernels for ``cpu``, whose arrays are NumPy's with the axes of a tensor reversed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensor_core.shapes import normalize_axis
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

Array = np.ndarray[Any, Any]


def bind_khatri_rao(operands: tuple[Form, Form], result: Form, params: object) -> Kernel:
    """One product, with the rows of b innermost."""
    dtype, shape = result.dtype.numpy_name, result.shape[::-1]

    def kernel(a: Array, b: Array) -> Array:
        made = np.empty((*a.shape, b.shape[-1]), dtype)
        with np.errstate(all="ignore"):
            np.multiply(a[..., :, None], b[..., None, :], out=made, dtype=dtype)
        return made.reshape(shape)

    return kernel


def bind_walsh_hadamard(operands: tuple[Form], result: Form, params: int) -> Kernel:
    """Butterflies in place on a copy, one pass over it for each bit."""
    axis = normalize_axis(params, result.rank, "walsh_hadamard")
    extent, inner = result.shape[axis], int(np.prod(result.shape[:axis]))
    steps = [inner << bit for bit in range(extent.bit_length() - 1)]

    def kernel(x: Array) -> Array:
        made = np.array(x, order="C")
        if made.size:
            with np.errstate(all="ignore"):
                for step in steps:
                    pairs = made.reshape(-1, 2, step)
                    first, second = pairs[:, 0].copy(), pairs[:, 1]
                    pairs[:, 0] += second
                    np.subtract(first, second, out=second)
        return made

    return kernel
