"""The text that all programs begin with, and the types of C++ that stand for ours."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
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

    >>> "to(" in header()
    True
    """
    folder = files("tensor_gpu.programs") / "cuda"
    return "".join((folder / name).read_text() + "\n" for name in (*HEADERS, *more))
