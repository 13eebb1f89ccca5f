"""Refusing, before its first step, a plan that cannot end for want of memory.

What a plan needs is its peak, and what the kernels of its steps say that they take besides (``workspaces`` of the
runtime): a backend may have to copy an operand, such as one that is repeated along an axis.
"""

from __future__ import annotations

from typing import Any, Final

from tensor_core.errors import OutOfMemoryError
from tensor_core.formatting import readable_bytes
from tensor_einsum.planned import Planned
from tensor_runtime.backends.memory_limits import recently_usable_bytes
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import Kernel

_UNCHECKED: Final = 64 << 20
"""Needs up to here are never looked at, so that small plans pay nothing for the question."""


def check_fits(plan: Planned, needed: int, /) -> None:
    """Refuse a plan that needs more than this process may have in all, whatever is taken at the moment.

    Operands do not count: they exist already, and may be mapped files or repeated elements. What is free at the moment
    does not decide, because it changes; what decides is the memory of the machine, the control groups of the process
    and its limit on addresses, of which the smallest holds.

    Args:
        plan: what is asked about.
        needed: bytes that it takes at once: its peak, or more where kernels take workspaces.

    Raises:
        OutOfMemoryError: with the fields ``needed`` and ``usable``, in bytes.

    >>> from tensor_einsum import plan
    >>> small, large = plan("i,j->ij", (3,), (4,)), plan("i,j->ij", (10**9,), (10**9,))
    >>> check_fits(small, small.peak_bytes)
    >>> check_fits(large, large.peak_bytes)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.OutOfMemoryError: einsum: the plan needs 6.9 EiB at its peak beside the operands, but this ...
    """
    usable = recently_usable_bytes()
    if usable is not None and needed > usable:
        copies = needed - plan.peak_bytes
        of_which = f" ({readable_bytes(copies)} of it for workspaces, such as copies of operands)" if copies else ""
        raise OutOfMemoryError(
            f"einsum: the plan needs {readable_bytes(needed)} at its peak beside the operands{of_which}, but this "
            f"process may use {readable_bytes(usable)} in all; choose another order with optimize=, contract slices of "
            "an operand and add the results, or raise the limit of the process",
            operation="einsum",
            needed=needed,
            usable=usable,
        )


def checked(plan: Planned, needed: int, home: Placement, kernel: Kernel, /) -> Kernel:
    """The kernel of a plan, behind a check where one may be needed: in host memory, and not for small plans.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime.placement import CPU
    >>> checked(plan("i,j->ij", (3,), (4,)), 96, CPU, max) is max
    True
    """
    if not needs_check(needed, home):
        return kernel

    def run(*arrays: Any) -> Any:
        check_fits(plan, needed)
        return kernel(*arrays)

    return run


def needs_check(needed: int, home: Placement, /) -> bool:
    """Whether the limits of this process decide if a plan can end that needs so many bytes, and they are many.

    >>> from tensor_runtime.backends.meta import META
    >>> from tensor_runtime.placement import CPU
    >>> needs_check(10**10, CPU), needs_check(10**10, META)
    (True, False)
    """
    return needed > _UNCHECKED and hasattr(registry.backend_for(home), "lend")
