"""Contracts of kernels that make arrays from numbers. The result's form says all but those."""

from __future__ import annotations

from typing import Final

from tensor_runtime.contracts.contract import Contract, declare

_MADE = "owned, compact, of the form that it was bound to"
_SEED = {"seed": "an int from 0 to 2**64 - 1", "stream": "an int from 0 to 2**64 - 1"}

KERNELS: Final = declare(
    [
        Contract(
            "full",
            "One number everywhere.",
            {},
            _MADE,
            arguments={"value": "a Python number that the dtype can hold; the sign of a zero is kept"},
        ),
        Contract("empty", "Whatever the memory held; without it, zeros are made by full.", {}, _MADE),
        Contract("eye", "Ones on the main diagonal of two axes, zeros elsewhere.", {}, _MADE),
        Contract(
            "arange",
            "Element k is start + k * step, computed in F64, or in I64 if both are ints; never accumulated.",
            {},
            f"{_MADE}, of rank 1",
            arguments={"start": "an int or a float", "step": "an int or a float"},
        ),
        Contract(
            "linspace",
            "Element k is start + k * step, computed in F64 or C64; the last one is the end itself, if it belongs.",
            {},
            f"{_MADE}, of rank 1",
            arguments={
                "start": "a float or a complex number",
                "stop": "a number of the same kind",
                "endpoint": "a bool: whether stop is the last element",
            },
        ),
        Contract(
            "uniform",
            "Random numbers on (0, 1), of the bits that the module tensor_runtime.ops.random fixes.",
            {},
            f"{_MADE}, F32, F64, C32 or C64",
            arguments=_SEED,
        ),
        Contract(
            "integers",
            "Random integers, of the bits that the module tensor_runtime.ops.random fixes.",
            {},
            f"{_MADE}, I32 or I64",
            arguments={**_SEED, "low": "the smallest integer", "count": "how many there are from low on, 1 to 2**64"},
        ),
        Contract(
            "normal",
            "Normally distributed numbers by the formulas of the module tensor_runtime.ops.random.",
            {},
            f"{_MADE}, F32, F64, C32 or C64",
            arguments=_SEED,
        ),
    ]
)
"""The contracts of this family, in the order of ``docs/kernels.md``."""
