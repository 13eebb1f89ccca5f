"""Whether a plan can end with the memory that there is, asked before its first step. All numbers are bytes.

On the host the limits of this process decide: the memory of the machine, its control groups and its limit on addresses,
of which the smallest holds. On a device its memory decides, or the limit that the user has set there. What is free at
the moment does not, because it changes. Operands do not count: they exist already, and may be mapped files or repeated
elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tensor_core.errors import OutOfMemoryError
from tensor_core.formatting import readable_bytes
from tensor_runtime.backends.memory_limits import recently_usable_bytes
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.workspaces import threads_in_force
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import Kernel

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

_UNCHECKED: Final = 64 << 20
"""Needs up to here are never looked at on the host, so that small plans pay nothing for the question."""
_UNCHECKED_ON_DEVICES: Final = 1 << 20
"""The same of devices, whose memory may be small; the question takes microseconds."""


def needs_check(needed: int, home: Placement, /) -> bool:
    """Whether somebody limits the memory of a placement, and a plan needs so much that the question is worth it.

    >>> from tensor_runtime.backends.meta import META
    >>> from tensor_runtime.placement import CPU
    >>> needs_check(10**10, CPU), needs_check(10**10, META), needs_check(1000, CPU)
    (True, False, False)
    """
    if needed <= _UNCHECKED_ON_DEVICES:
        return False
    backend = registry.backend_for(home)
    return needed > _UNCHECKED if _is_of_host(backend) else hasattr(backend, "memory")


def usable_bytes(home: Placement, /) -> int | None:
    """The most that arrays at a placement may take in all; None where nobody says.

    >>> from tensor_runtime.backends.meta import META
    >>> from tensor_runtime.placement import CPU
    >>> usable_bytes(CPU) == recently_usable_bytes(), usable_bytes(META)
    (True, None)
    """
    backend: Any = registry.backend_for(home)
    if _is_of_host(backend):
        return recently_usable_bytes()
    limit: int | None = backend.memory(home).limit if hasattr(backend, "memory") else None
    return limit


def _is_of_host(backend: object) -> bool:
    return hasattr(backend, "lend")


def lacking(home: Placement, needed: int, /) -> tuple[int, str, str] | None:
    """What is usable at a placement, where more is needed: bytes, in words, and how there could be more of it.

    >>> from tensor_runtime.placement import CPU
    >>> lacking(CPU, 1) is None, lacking(CPU, 1 << 60)[2]
    (True, 'raise the limit of the process')
    """
    usable = usable_bytes(home)
    if usable is None or needed <= usable:
        return None
    told = readable_bytes(usable)
    if _is_of_host(registry.backend_for(home)):
        return usable, f"this process may use {told} in all", "raise the limit of the process"
    return usable, f"{home} has {told} in all", "raise the limit of its pool where one is set"


class CheckedKernel:
    """A kernel of a whole plan which asks at every call whether the memory may suffice.

    Args:
        kernel: of native arrays.
        plan, needed, home: as for :func:`check_fits`.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime.placement import CPU
    >>> CheckedKernel(len, plan("i->", (2,)), 16, CPU)("ab")
    2
    """

    __slots__ = ("_home", "_needed", "_plan", "kernel")

    def __init__(self, kernel: Kernel, plan: Plan, needed: int, home: Placement) -> None:
        self.kernel = kernel
        self._plan, self._needed, self._home = plan, needed, home

    def check(self) -> None:
        """What each call asks first; errors as for :func:`check_fits`."""
        check_fits(self._plan, self._needed, self._home)

    def __call__(self, *arrays: Any) -> Any:
        """Run on native arrays."""
        self.check()
        return self.kernel(*arrays)


class ThreadedKernel:
    """A kernel of a whole plan that is for the threads that were set when it was bound: others get another one.

    What kernels take besides their results depends on the threads among which they share work, and so may what is
    chosen to keep within a limit. One comparison is all that a call pays for it.

    Args:
        kernel: of native arrays.
        threads: ``threads_in_force.value`` before it was bound.
        again: binds the same for the threads that are set now, or finds what it has bound.

    >>> from tensor_runtime.backends.workspaces import threads_in_force
    >>> ThreadedKernel(len, threads_in_force.value, lambda: max)("ab"), ThreadedKernel(len, "none", lambda: max)("ab")
    (2, 'b')
    """

    __slots__ = ("_again", "_kernel", "_threads")

    def __init__(self, kernel: Kernel, threads: object, again: Callable[[], Kernel]) -> None:
        self._kernel, self._threads, self._again = kernel, threads, again

    @property
    def in_slices(self) -> bool:
        """Whether the result is of several kernels."""
        return getattr(self._kernel, "in_slices", False)

    def current(self) -> Kernel:
        """The kernel for the threads that are set now."""
        kernel = self._kernel if threads_in_force.value is self._threads else self._again()
        return kernel.current() if isinstance(kernel, ThreadedKernel) else kernel

    def __call__(self, *arrays: Any) -> Any:
        """Run on native arrays."""
        if threads_in_force.value is self._threads:
            return self._kernel(*arrays)
        return self.current()(*arrays)


def check_fits(plan: Plan, needed: int, home: Placement, /) -> None:
    """Refuse a plan that needs more than there may be in all, whatever is taken at the moment.

    Args:
        plan: what is asked about.
        needed: bytes that it takes at once: its peak, or more where kernels take workspaces.
        home: where it runs.

    Raises:
        OutOfMemoryError: with the fields ``needed`` and ``usable``, in bytes.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime.placement import CPU
    >>> small, large = plan("i,j->ij", (3,), (4,)), plan("i,j->ij", (10**9,), (10**9,))
    >>> check_fits(small, small.peak_bytes, CPU)
    >>> check_fits(large, large.peak_bytes, CPU)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.OutOfMemoryError: einsum: the plan needs 6.9 EiB at its peak beside the operands, but this ...
    """
    found = lacking(home, needed)
    if found is None:
        return
    usable, told, remedy = found
    copies = needed - plan.intermediate_bytes
    of_which = f" ({readable_bytes(copies)} of it for workspaces, such as copies of operands)" if copies else ""
    raise OutOfMemoryError(
        f"einsum: the plan needs {readable_bytes(needed)} at its peak beside the operands{of_which}, but {told}; "
        f"choose another order with optimize=, contract in slices with memory_limit=, {remedy}, or start it all the "
        "same with force=True",
        operation="einsum",
        needed=needed,
        usable=usable,
    )
