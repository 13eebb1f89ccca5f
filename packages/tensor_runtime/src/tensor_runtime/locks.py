"""Locks that are free in a forked process, whoever held them in its parent."""

from __future__ import annotations

import os
from threading import RLock
from typing import Any


def fork_safe_lock(*, awaited: bool = False) -> RLock:
    """A re-entrant lock that a forked process finds free; ``awaited``: no thread forks while another one holds it.

    Only the thread that forks lives on in the child. A lock that another thread held then would be held there for ever,
    so every process-wide lock comes from here. What the lock guards must be whole at every step, because the fork may
    fall between two of them.

    >>> lock = fork_safe_lock()
    >>> with lock, lock:
    ...     pass
    """
    lock: Any = RLock()
    if hasattr(os, "register_at_fork"):  # systems without fork have no such function
        if awaited:  # what holds it must need nothing of a thread that forks
            os.register_at_fork(before=lock.acquire, after_in_parent=lock.release)
        os.register_at_fork(after_in_child=lock._at_fork_reinit)  # as the standard library renews its own locks
    renewed: RLock = lock
    return renewed
