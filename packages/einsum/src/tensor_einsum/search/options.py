"""The options of ``einsum`` and ``plan`` that say how an order is searched: read once and checked; part of keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from sys import float_info
from types import NoneType
from typing import Any, Final, NamedTuple, TypedDict

from tensor_core.errors import ArgumentError, shortened
from tensor_core.foreign import number_of
from tensor_einsum.search.cost_model import TIME, Target, read_objective
from tensor_einsum.search.path import path_entries
from tensor_einsum.search.problem import MOST_ROTATIONS
from tensor_runtime.dispatch.arguments import whole

SHARE: Final = 0.1
"""How long "auto" searches, as a part of the estimated time of contracting by the best order so far."""


class SearchKeywords(TypedDict, total=False):
    """The keywords of ``einsum`` and ``plan``, whose docstrings say what they mean."""

    optimize: Any
    seconds: float | None
    objective: Any
    memory_limit: int | str | None


class SearchOptions(NamedTuple):
    """How the order of a contraction is searched."""

    optimize: Any = "auto"  # a name, True, False, a path as a tuple, or an object that is asked for one
    seconds: float | None = None
    target: Target = TIME
    limit: int | None = None  # bytes beside the operands
    share: float = SHARE  # how long "auto" searches
    most_rotations: int = MOST_ROTATIONS  # that it tries

    @property
    def keeps(self) -> bool:
        """Whether plans are kept; an object that searches may answer differently each time, and is asked each time."""
        return isinstance(self.optimize, (str, bool, tuple))


DEFAULT: Final = SearchOptions()


def read_options(operation: str, keywords: Mapping[str, Any]) -> SearchOptions:
    """Options as the user gave them, checked.

    Raises:
        PathError: ``optimize`` is nothing that finds a path.
        ArgumentError: ``seconds`` is no positive number, or nothing searches for so long; an unknown ``objective``.

    >>> read_options("plan", {"seconds": 2}).seconds
    2.0
    """
    optimize = keywords.get("optimize", "auto")
    searches = callable(optimize) or hasattr(optimize, "search") or hasattr(optimize, "get_path")
    if not (isinstance(optimize, (str, bool)) or searches):
        optimize = path_entries(optimize, operation)
    seconds = _seconds(operation, keywords.get("seconds"), optimize)
    limit = keywords.get("memory_limit")
    options = SearchOptions(
        optimize,
        seconds,
        read_objective(operation, keywords.get("objective", "time")),
        None if limit is None else bytes_of(operation, limit),
    )
    return DEFAULT if options == DEFAULT else options  # which is looked for by identity


_UNITS: Final[dict[str, int]] = {
    "": 1, "B": 1, **{f"{letter}iB": 1024 ** (power + 1) for power, letter in enumerate("KMGTPE")},
    **{f"{letter}B": 1000 ** (power + 1) for power, letter in enumerate("kMGTPE")}, "KB": 1000,
}  # fmt: skip


def bytes_of(operation: str, limit: Any, /) -> int:
    """A number of bytes, from an int or from text with a unit: B, kB, MB, ... of 1000, or KiB, MiB, ... of 1024.

    Raises:
        ArgumentError: neither, or less than 0.

    >>> bytes_of("plan", "2GiB") == 2 * 1024**3, bytes_of("plan", "1.5 MB"), bytes_of("plan", 4096)
    (True, 1500000, 4096)
    """
    if isinstance(limit, str):
        found = re.fullmatch(r"\s*(\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})\s*([A-Za-z]*)\s*", limit, re.ASCII)
        if found and found[2] in _UNITS:
            digits, _, rest = found[1].partition(".")
            scale: int = 10 ** len(rest)
            return int(digits + rest) * _UNITS[found[2]] // scale
    else:
        with suppress(ArgumentError):
            count = whole(operation, "memory_limit", limit)
            if count >= 0:
                return count
    raise ArgumentError(
        f"{operation}: memory_limit is {shortened(limit)}; accepted: bytes as an int of 0 or more, or text such as "
        "'2GiB' or '500 MB', of at most 30 digits",
        operation=operation,
    )


def _seconds(operation: str, seconds: Any, optimize: Any) -> float | None:
    if seconds is None:
        return None
    number = number_of(seconds)
    if isinstance(number, (bool, complex, NoneType)) or not 0 < number <= float_info.max:
        raise ArgumentError(f"{operation}: seconds={shortened(seconds)}; accepted: a positive number, or None")
    if optimize is not True and optimize != "auto":
        raise ArgumentError(
            f"{operation}: seconds= is for the search of optimize='auto', found beside optimize={shortened(optimize)}"
        )
    return float(number)
