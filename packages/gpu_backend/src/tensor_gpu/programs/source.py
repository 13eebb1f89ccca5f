"""The text that all programs begin with, and the types of C++ that stand for ours."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from math import isinf
from typing import Final

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType

TYPES: Final[Mapping[DType, str]] = {
    F32: "float",
    F64: "double",
    C32: "complex32",
    C64: "complex64",
    I32: "int",
    I64: "long long",
    Bool: "bool",
}
"""Types in registers. In memory a Bool is an ``unsigned char`` of which all but 0 is true."""

HEADERS: Final = (
    "numbers.cuh",
    "arithmetic.cuh",
    "comparison.cuh",
    "division.cuh",
    "exponential.cuh",
    "trigonometry.cuh",
    "warp.cuh",
)
"""What every program begins with."""

OPTIONS: Final = ("--std=c++17", "--fmad=false")
"""With which every source is compiled.

A product and a sum are not contracted to one rounding, so that results have the host's bits wherever the host's are
exact; who wants one rounding calls ``fma``.
"""


@cache
def header(*more: str) -> str:
    """The text of every header, in order, and of those that only some programs need.

    >>> "to(" in header(), "philox" in header("random.cuh")
    (True, True)
    """
    folder = files("tensor_gpu.programs") / "cuda"
    return "".join((folder / name).read_text() + "\n" for name in (*HEADERS, *more))


def stored(dtype: DType, /) -> str:
    """The type of elements in memory: a Bool is a byte there.

    >>> stored(Bool), stored(F64)
    ('unsigned char', 'double')
    """
    return "unsigned char" if dtype is Bool else TYPES[dtype]


def literal(value: complex, dtype: DType, /) -> str:
    """A number as an expression of C++ of the type's own.

    >>> from tensor_core import F64
    >>> literal(0, F64), literal(float("-inf"), F64), literal(1, C32)
    ('number<double>(0.0)', 'number<double>(-1.0 / 0.0)', 'number<complex32>(1.0, 0.0)')
    """
    parts = [value.real, value.imag] if dtype.kind == "complex" else [value.real]
    if dtype.kind in ("float", "complex"):
        words = [("1.0 / 0.0" if part > 0 else "-1.0 / 0.0") if isinf(part) else repr(float(part)) for part in parts]
    else:
        words = [str(int(part)) for part in parts]
    return f"number<{TYPES[dtype]}>({', '.join(words)})"


def loaded(element: str, dtype: DType, /) -> str:
    """The value of an element in memory.

    >>> loaded("x[i]", Bool), loaded("x[i]", F64)
    ('x[i] != 0', 'x[i]')
    """
    return f"{element} != 0" if dtype is Bool else element
