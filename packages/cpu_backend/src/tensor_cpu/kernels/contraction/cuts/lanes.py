"""Lanes of the pair kernel (csrc/contraction/pair.c): elements along the result that are computed in one go."""

from __future__ import annotations

from typing import Final

from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import FIRST, SECOND, Axis, line

Group = tuple[Axis, ...]

_PAIR_TABLE: Final = LIBRARY.PAIR_TABLE if AVAILABLE else 0  # lanes of the loop over tables
_FEWEST_LANES: Final = LIBRARY.FEWEST_LANES if AVAILABLE else 0  # that are loaded as vectors rather than gathered


def in_vectors(lane: Axis) -> bool:
    """Whether the pair kernel loads vectors along this axis: of one operand, or of both, beside numbers of the other.

    >>> in_vectors(Axis((0,), 64, (1, None, 1))) or not AVAILABLE, in_vectors(Axis((0,), 64, (2, 1, 1)))
    (True, False)
    """
    steps = sorted((lane.strides[FIRST] or 0, lane.strides[SECOND] or 0))
    return AVAILABLE and steps in ([0, 1], [1, 1]) and lane.extent >= _FEWEST_LANES


def tabled(kept: Group) -> tuple[int, int, int]:
    """The lanes of the loop over tables, how many innermost axes they take, and how many operands need a table.

    >>> tabled((Axis((0,), 3, (2, 1, 2)), Axis((1,), 2, (1, 3, 1))))[1:] if AVAILABLE else (2, 1)
    (2, 1)
    """
    lanes, taken = min(kept[-1].extent, _PAIR_TABLE), 1
    while taken < len(kept) and 2 * lanes <= _PAIR_TABLE:
        taken += 1
        lanes *= min(kept[-taken].extent, _PAIR_TABLE // lanes)
    return lanes, taken, sum([_needs_table(kept[-taken:], role) for role in (FIRST, SECOND)])


def _needs_table(lanes: Group, role: int) -> bool:
    """Whether the factors of these lanes are neither neighbours nor all the same."""
    run = line(lanes, role)
    return run is None or run.stride not in (0, 1)
