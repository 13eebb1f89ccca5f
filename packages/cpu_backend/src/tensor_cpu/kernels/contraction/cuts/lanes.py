"""Lanes of the pair kernel (csrc/contraction/pair.c): elements along the result that are computed in one go."""

from __future__ import annotations

from typing import Final, NamedTuple

from tensor_cpu.kernels.memory_costs import ITEMSIZE
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import FIRST, SECOND, Axis, extent_of, line

Group = tuple[Axis, ...]

_PAIR_TABLE: Final = LIBRARY.PAIR_TABLE if AVAILABLE else 0  # lanes of the loop over tables
_FEWEST_LANES: Final = LIBRARY.FEWEST_LANES if AVAILABLE else 0  # that are loaded as vectors rather than gathered
_SHORTEST_RUN: Final = LIBRARY.SHORTEST_RUN if AVAILABLE else 0  # of products in a sum that is made in vectors
_FEWEST_PACKED: Final = LIBRARY.FEWEST_PACKED if AVAILABLE else 0  # sums whose factors are packed,
_PACKED_BYTES: Final = LIBRARY.PACKED_BYTES if AVAILABLE else 0  # and bytes of these


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


class Runs(NamedTuple):
    """How the factors of sums lie."""

    length: int
    """Products that are neighbours in both operands, if vectors are made of them, or 1."""
    shared: bool
    """Whether one operand has the same factors for all sums."""
    packed: int
    """Factors of that operand which are packed first, as they are no run."""


def runs_of_sums(kept: Group, contracted: Group, dtype: str) -> Runs:
    """In which runs the pair kernel makes sums.

    >>> kept, sums = (Axis((0,), 9, (5, None, 1)),), (Axis((1,), 4, (45, 1, None)), Axis((2,), 5, (1, 4, None)))
    >>> tuple(runs_of_sums(kept, sums, "float64")) if AVAILABLE else (5, True, 20)
    (5, True, 20)
    >>> runs_of_sums((Axis((0,), 9, (5, 20, 1)),), sums, "float64").length
    1
    """
    lacking = [role for role in (FIRST, SECOND) if all(axis.strides[role] is None for axis in kept)]
    run, depth, packed = min(run_along(contracted, FIRST), run_along(contracted, SECOND)), extent_of(contracted), 0
    fits = run < depth <= _PACKED_BYTES // ITEMSIZE[dtype] and extent_of(kept) >= _FEWEST_PACKED
    if lacking and fits:
        longer = run_along(contracted, SECOND if lacking[0] == FIRST else FIRST)
        run, packed = (longer, depth) if longer >= _SHORTEST_RUN else (run, 0)
    return Runs(run if AVAILABLE and run >= _SHORTEST_RUN else 1, bool(lacking), packed)


def run_along(axes: Group, role: int) -> int:
    """How many elements lie next to each other along the innermost of these axes.

    >>> run_along((Axis((0,), 3, (40, 1, None)), Axis((1,), 4, (5, 3, None)), Axis((2,), 5, (1, 12, None))), FIRST)
    20
    """
    run = 1
    for axis in reversed(axes):
        if axis.strides[role] != run:
            break
        run *= axis.extent
    return run


def _needs_table(lanes: Group, role: int) -> bool:
    """Whether the factors of these lanes are neither neighbours nor all the same."""
    run = line(lanes, role)
    return run is None or run.stride not in (0, 1)
