"""Matrix products as a device's library has them: by addresses, leading dimensions and strides, and as strict."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tensor_core.dtypes import FLOATING
from tensor_gpu.device.api import Gemm
from tensor_gpu.device.program import HostMemory
from tensor_gpu.sim.errors import SimulationError

LARGEST: Final = 2**31 - 1  # extents and leading dimensions are 32 bits wide


def check_gemm(call: Gemm, /) -> None:
    """Refuse what cuBLAS refuses.

    Raises:
        SimulationError: an extent or a leading dimension that the library does not take.

    >>> from tensor_core import F64
    >>> check_gemm(Gemm(F64, "N", "N", 3, 1, 1, 0, 2, 0, 0, 1, 0, 0, 3, 0, 1))
    Traceback (most recent call last):
    tensor_gpu.sim.errors.SimulationError: gemm: the leading dimension of a is 2, less than its 3 rows
    """
    if call.dtype not in FLOATING:
        raise SimulationError(f"gemm: no products of {call.dtype.name}")
    if call.a_turned not in "NTC" or call.b_turned not in "NTC":
        raise SimulationError(f"gemm: operands are turned {call.a_turned!r} and {call.b_turned!r}")
    for name in ("m", "n", "k", "matrices", "a_leading", "b_leading", "c_leading"):
        if not 0 <= getattr(call, name) <= LARGEST:
            raise SimulationError(f"gemm: {name} is {getattr(call, name)}, which 31 bits do not hold")
    rows = {
        "a": call.m if call.a_turned == "N" else call.k,
        "b": call.k if call.b_turned == "N" else call.n,
        "c": call.m,
    }
    for name, count in rows.items():
        leading = getattr(call, f"{name}_leading")
        if leading < max(1, count):
            raise SimulationError(f"gemm: the leading dimension of {name} is {leading}, less than its {count} rows")
    if call.a_stride < 0 or call.b_stride < 0 or call.c_stride < (1 if call.matrices > 1 else 0):
        raise SimulationError("gemm: a stride from matrix to matrix is negative, or results lie over each other")


def multiply(memory: HostMemory, call: Gemm, /) -> None:
    """The products, in the memory of a device.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.memory import SimulatedMemory
    >>> memory = SimulatedMemory(0, 1 << 20)
    >>> a, b, c = (memory.allocate(8) for _ in range(3))
    >>> memory.view(a, F64, (1,), (1,))[:], memory.view(b, F64, (1,), (1,))[:] = 2.0, 3.0
    >>> multiply(memory, Gemm(F64, "N", "N", 1, 1, 1, a, 1, 0, b, 1, 0, c, 1, 0, 1))
    >>> memory.view(c, F64, (1,), (1,)).tolist()
    [6.0]
    """

    def stack(address: int, turned: str, rows: int, columns: int, leading: int, stride: int) -> Any:
        across = (1, leading) if turned == "N" else (leading, 1)
        found = memory.view(address, call.dtype, (call.matrices, rows, columns), (stride, *across))
        return np.conj(found) if turned == "C" else found

    a = stack(call.a, call.a_turned, call.m, call.k, call.a_leading, call.a_stride)
    b = stack(call.b, call.b_turned, call.k, call.n, call.b_leading, call.b_stride)
    c = stack(call.c, "N", call.m, call.n, call.c_leading, call.c_stride)
    with np.errstate(all="ignore"):
        c[...] = a @ b
