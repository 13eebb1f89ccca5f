"""Contracts of kernels that put arrays together, repeat, pad, and keep triangles."""

from __future__ import annotations

from typing import Final, NamedTuple

from tensor_runtime.contracts.contract import Contract, declare


class JoinParams(NamedTuple):
    """Along which axis arrays are put together."""

    axis: int
    """An axis of the result; negative ones count from the end."""


class RepeatParams(NamedTuple):
    """What is known of a repetition before the numbers."""

    axis: int
    """Along which elements are repeated, 0 or more."""
    extent: int
    """Of the result along it: the sum of the numbers."""


class TileParams(NamedTuple):
    """How often the whole array stands side by side."""

    repetitions: tuple[int, ...]
    """One for each axis, 0 or more; the shorter one of it and the shape gets ones in front."""


class RollParams(NamedTuple):
    """Along which axes elements move."""

    axes: tuple[int, ...] | None
    """Negative ones count from the end; None moves the line of all elements in row-major order."""


class PadParams(NamedTuple):
    """How many elements are added, one number for each axis in each field."""

    low: tuple[int, ...]
    """Before the first; a negative number crops."""
    high: tuple[int, ...]
    """After the last; a negative number crops."""
    interior: tuple[int, ...]
    """Between two neighbours, 0 or more; added before ``low`` and ``high`` are looked at."""


class EmbedParams(NamedTuple):
    """On which diagonal the last axis goes."""

    offset: int
    """Above the main diagonal when positive, below it when negative."""
    axes: tuple[int, int]
    """Of rows and of columns, in the result; negative ones count from the end."""


class TriangleParams(NamedTuple):
    """Which triangle is kept."""

    k: int
    """The diagonal that bounds it: 0 the main one, positive above it, negative below."""
    axes: tuple[int, int]
    """Of rows and of columns; negative ones count from the end."""


_X = {"x": "any dtype and layout"}
_SAME = "owned, compact, of the operand's dtype"

KERNELS: Final = declare(
    [
        Contract(
            "concatenate",
            "One after the other along an axis that they have.",
            {"x": "any dtypes and layouts, of extents that are equal along the other axes"},
            "owned, compact, of the promoted dtype",
            JoinParams,
            repeated=True,
        ),
        Contract(
            "stack",
            "Side by side along a new axis.",
            {"x": "any dtypes and layouts, of one shape"},
            "owned, compact, of the promoted dtype, of rank one higher",
            JoinParams,
            repeated=True,
        ),
        Contract(
            "repeat",
            "Each element several times.",
            _X,
            _SAME,
            RepeatParams,
            {"numbers": "a tuple of ints of 0 or more: one for all elements along the axis, or one each"},
        ),
        Contract("tile", "The whole array side by side.", _X, _SAME, TileParams),
        Contract(
            "roll",
            "Elements moved along axes; what leaves at one end comes in at the other.",
            _X,
            f"{_SAME} and shape",
            RollParams,
            {"shifts": "a tuple of ints, one for each axis named, or one for None; negative ones move to the start"},
        ),
        Contract(
            "pad",
            "Elements with one value around them and between them.",
            {**_X, "value": "rank 0, of the dtype of x"},
            _SAME,
            PadParams,
            {"value": "a Python number that the dtype of x can hold"},
            frozenset({"value"}),
        ),
        Contract("pad_edge", "Elements with the nearest one around them; interior is 0.", _X, _SAME, PadParams),
        Contract("embed_diagonal", "Zeros with the last axis on a diagonal of two new ones.", _X, _SAME, EmbedParams),
        Contract("tril", "Elements on a diagonal and below, zeros above.", _X, f"{_SAME} and shape", TriangleParams),
        Contract("triu", "Elements on a diagonal and above, zeros below.", _X, f"{_SAME} and shape", TriangleParams),
    ]
)
"""The contracts of this family, in the order of ``docs/kernels.md``."""
