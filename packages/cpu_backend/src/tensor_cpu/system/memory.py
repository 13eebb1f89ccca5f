"""The caching allocator of the CPU backend: buffers of large results that are kept for the next use.

``pool.stats()`` says what is held, ``pool.clear()`` gives the kept buffers back to the operating system, and
``pool.set_limit(bytes)`` bounds them; unless set, the limit is an eighth of what the process may have in all, of the
machine, of its control groups and of its limit on addresses. With ``TENSOR_CPU_POOL_DEBUG=1`` in the environment,
buffers that are given back are overwritten, and the process stops when one was written to before its next use: slow,
for finding errors.

Without the native kernels there is no pool: everything is 0 and nothing has an effect.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from tensor_core.errors import ArgumentError, shortened
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.memory_limits import usable_bytes
from tensor_runtime.dispatch.arguments import whole

VARIABLE: Final = "TENSOR_CPU_POOL_DEBUG"
_SHARE: Final = 8  # of what the process may have, one part is kept at most


class PoolStats(NamedTuple):
    """What the pool holds, and what it has done since the process started.

    What is in use and what is kept of buffers of a mebibyte and more is together at most what was in use at one time,
    a 32nd of that and 16 MiB; of smaller buffers at most 32 MiB are kept.
    """

    used_bytes: int
    """In results and copies that somebody uses."""
    used_buffers: int
    """How many those are, and those of threads."""
    kept_bytes: int
    """In buffers that wait for their next use."""
    kept_buffers: int
    limit_bytes: int
    """Of what is kept."""
    hits: int
    """Requests that a kept buffer served."""
    misses: int
    """Requests that went to the operating system."""
    evictions: int
    """Buffers, or ends of them, that left because of a limit, or to make room for one that they could not hold."""
    peak_bytes: int
    """Most that results and copies took at one time since :meth:`Pool.clear`."""
    thread_peak_bytes: int
    """Most that threads took at one time besides, since then, for the part of an operation that they were at: panels of
    a product, the lines of a reduction; some MiB a thread at most, whatever the size of the operands."""


class Pool:
    """The pool of this process; :data:`pool` is the only one."""

    def stats(self) -> PoolStats:
        """What it holds now.

        >>> pool.stats().used_bytes >= 0
        True
        """
        return PoolStats(**LIBRARY.allocator_stats()) if AVAILABLE else PoolStats(*[0] * len(PoolStats._fields))

    def clear(self) -> None:
        """Give every buffer that nobody uses back to the operating system.

        >>> pool.clear()
        >>> pool.stats().kept_bytes
        0
        """
        if AVAILABLE:
            LIBRARY.allocator_clear()

    def set_limit(self, limit_bytes: int, /) -> None:
        """Keep at most so many bytes for later; what no longer fits leaves at once, the oldest first.

        Args:
            limit_bytes: 0 keeps nothing.

        Raises:
            ArgumentError: no int from 0 to 2^63 - 1.

        >>> former = pool.stats().limit_bytes
        >>> pool.set_limit(2**20)
        >>> pool.set_limit(former)
        """
        limit = whole("pool.set_limit", "limit_bytes", limit_bytes)
        if not 0 <= limit < 2**63:
            raise ArgumentError(
                f"pool.set_limit: limit_bytes is {shortened(limit)}; accepted: 0 to 2**63 - 1",
                operation="pool.set_limit",
            )
        if AVAILABLE:
            LIBRARY.allocator_set_limit(limit)


pool: Final = Pool()
"""The pool of this process."""


def apply_environment() -> None:
    """Set the first limit, and debugging if the environment says so; the backend calls it when it is imported.

    Raises:
        ArgumentError: ``TENSOR_CPU_POOL_DEBUG`` is neither 0 nor 1.

    >>> apply_environment()
    """
    text = os.environ.get(VARIABLE, "0") or "0"
    if text not in ("0", "1"):
        raise ArgumentError(f"{VARIABLE} is {shortened(text)}; accepted: 0, 1, or unset", variable=VARIABLE)
    if AVAILABLE:
        usable = usable_bytes()
        if usable is not None:
            LIBRARY.allocator_set_limit(usable // _SHARE)
        LIBRARY.allocator_set_poisoning(text == "1")
