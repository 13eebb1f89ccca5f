"""Limits on memory, in bytes, as users write them."""

from __future__ import annotations

from typing import Any

from tensor_core.errors import ArgumentError, shortened


def check_limit(operation: str, limit: Any) -> int | None:
    """A number of bytes, or None.

    Raises:
        ArgumentError: something else.

    >>> check_limit("map", 1 << 20)
    1048576
    """
    if limit is not None and (type(limit) is not int or limit < 0):
        raise ArgumentError(
            f"{operation}: memory_limit is {shortened(limit)}; accepted: an int of 0 or more, in bytes",
            operation=operation,
        )
    return limit
