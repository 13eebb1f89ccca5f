"""Refusing, before its first step, a plan that cannot end for want of memory."""

from __future__ import annotations

from typing import Any, Final

from tensor_core.errors import OutOfMemoryError
from tensor_einsum.planned import Planned
from tensor_einsum.report import readable_bytes
from tensor_runtime.backends.memory_limits import recently_usable_bytes
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import Kernel

_UNCHECKED: Final = 64 << 20
"""Peaks up to here are never looked at, so that small plans pay nothing for the question."""


def check_fits(plan: Planned, /) -> None:
    """Refuse a plan whose own peak is more than this process may have in all, whatever is taken at the moment.

    Operands do not count: they exist already, and may be mapped files or repeated elements. What is free at the moment
    does not decide, because it changes; what decides is the memory of the machine, the control groups of the process
    and its limit on addresses, of which the smallest holds.

    Raises:
        OutOfMemoryError: with the fields ``needed`` and ``usable``, in bytes.

    >>> from tensor_einsum import plan
    >>> check_fits(plan("i,j->ij", (3,), (4,)))
    >>> check_fits(plan("i,j->ij", (10**9,), (10**9,)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.OutOfMemoryError: einsum: the plan needs 6.9 EiB at its peak beside the operands, but this ...
    """
    needed = plan.peak_bytes
    usable = recently_usable_bytes()
    if usable is not None and needed > usable:
        raise OutOfMemoryError(
            f"einsum: the plan needs {readable_bytes(needed)} at its peak beside the operands, but this process may "
            f"use {readable_bytes(usable)} in all; choose another order with optimize=, contract slices of an "
            "operand and add the results, or raise the limit of the process",
            operation="einsum",
            needed=needed,
            usable=usable,
        )


def checked(plan: Planned, home: Placement, kernel: Kernel, /) -> Kernel:
    """The kernel of a plan, behind a check where one may be needed: in host memory, and not for small plans.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime.placement import CPU
    >>> checked(plan("i,j->ij", (3,), (4,)), CPU, max) is max
    True
    """
    if not needs_check(plan, home):
        return kernel

    def run(*arrays: Any) -> Any:
        check_fits(plan)
        return kernel(*arrays)

    return run


def needs_check(plan: Planned, home: Placement, /) -> bool:
    """Whether the limits of this process decide if the plan can end, and the plan is large enough to ask.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime.backends.meta import META
    >>> from tensor_runtime.placement import CPU
    >>> large = plan("i,j->ij", (10**5,), (10**5,))
    >>> needs_check(large, CPU), needs_check(large, META)
    (True, False)
    """
    return plan.peak_bytes > _UNCHECKED and hasattr(registry.backend_for(home), "lend")
