"""Contracts of elementwise kernels: one for all of them, ``gelu``, and chains of them that are one kernel.

Most bear the name of a public function. Of the others, ``div`` and ``rem`` are strict primitives, whose quotients of
integers are truncated; a name with ``_unchecked`` is the division with ``check=False``, which looks at no divisor.
``where`` takes the Bool condition first, ``clip`` the bounds last, and ``complex`` the real part first.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

from tensor_runtime.contracts.contract import Contract, declare
from tensor_runtime.contracts.views import ConvertParams
from tensor_runtime.form import Form

Reference = int | tuple[str, Any]
"""What a step takes: a number, or ("constant", a Python number)."""


class GeluParams(NamedTuple):
    """Which function it is."""

    approximate: Literal["none", "tanh"]
    """By the distribution function of the normal distribution, or by a hyperbolic tangent that is close to it."""


class ProgramStep(NamedTuple):
    """One operation of a chain; its own parameters are those of ``STEP_PARAMS`` beside this, or None."""

    kernel: str
    """Name of an elementwise kernel."""
    operands: tuple[Reference, ...]
    """Operand k of the program for k below their number n, the result of step k - n beyond; or a constant."""
    form: Form
    """Of what the step computes; compact."""


class ProgramParams(NamedTuple):
    """A chain of elementwise operations."""

    steps: tuple[ProgramStep, ...]
    """In order; the last one gives the result, and no step may refuse a value."""


STEP_PARAMS: Final = {"convert": ConvertParams("error"), "cast": ConvertParams("error")}
"""Parameters of a program's steps by their kernels: no value there can be out of range."""


def elementwise_contract(kernel: str, operands: int, /) -> Contract:
    """The contract of every elementwise kernel without parameters.

    >>> list(elementwise_contract("add", 2).operands)
    ['a', 'b']
    """
    what = "any dtype that the operation accepts, any layout, a shape that broadcasts to the result's"
    return Contract(
        kernel,
        "Element by element, in the promoted dtype of the operands.",
        dict.fromkeys("abc"[:operands], what if operands == 1 else f"{what}; or a Python number"),
        "owned, compact",
    )


KERNELS: Final = declare(
    [
        Contract(
            "gelu",
            "x times the distribution function of the normal distribution.",
            {"a": "any dtype but a complex one, any layout"},
            "owned, compact; F64 for integers and Bool, else the operand's dtype",
            GeluParams,
        ),
        Contract(
            "elementwise_program",
            "A chain of elementwise operations at once; a backend without it runs them one by one.",
            {"x": "any form, or a Python number"},
            "owned, compact; the form of the last step",
            ProgramParams,
            repeated=True,
        ),
    ]
)
"""The contracts of this family, in the order of ``docs/kernels.md``."""
