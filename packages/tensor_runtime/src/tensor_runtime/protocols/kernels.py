"""Kernels, what they are bound to, and what they give back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tensor_runtime.form import Form

Operand = Form | type
"""What a kernel is bound to: a tensor's form, or the type that stands in for a Python number."""
Result = Form | tuple[Form, ...]
Kernel = Callable[..., Any]
"""Native arrays (and Python numbers) in; one native array, or a tuple of them, out. Never warns.

Where the extent of the results depends on the values (``nonzero``, ``unique``), a :class:`Counted` comes out.

A kernel may have an attribute ``workspace_bytes``, an int: the most bytes that a call takes at once besides its
results, such as copies of operands. Without one it counts as 0, and a few megabytes of fixed size may be left out.
``einsum`` refuses before the first step what cannot fit with them.
"""

KernelStep = tuple[Kernel, int, int]
"""One kernel of a sequence, and the slots of its operands; -1 for those that it has not. Slots hold the operands of the
sequence, then the result of each step."""
StepFailed = Callable[[int, Exception], BaseException]
"""From the number of a step and what its kernel raised to what is raised instead."""


class Counted:
    """Native arrays of which one extent depends on the operand's values, and that extent.

    >>> Counted(("indices",), 3).count
    3
    """

    __slots__ = ("arrays", "count")

    def __init__(self, arrays: tuple[Any, ...], count: int) -> None:
        self.arrays = arrays
        self.count = count


class KernelChoice(NamedTuple):
    """How a backend computes one operation on operands of given forms.

    Attributes:
        kernel: what computes, in words: "native loop", "NumPy", "BLAS".
        threads: the most threads it may use; 1 for one that uses no others.
        workspace_bytes: the most bytes taken at once besides the results.
        notes: copies that are made first, and why a faster way was not taken; one sentence each.
        seconds: of one run in one thread, as the cost model thinks by which the kernel was chosen; None without one.
        fills_output: whether it writes to an ``out`` of just the result's form at once, where others are copied there.
    """

    kernel: str
    threads: int = 1
    workspace_bytes: int = 0
    notes: tuple[str, ...] = ()
    seconds: float | None = None
    fills_output: bool = False
