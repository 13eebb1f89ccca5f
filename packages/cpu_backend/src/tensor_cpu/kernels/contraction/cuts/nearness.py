"""How near elements lie that a kernel meets one after another, and how often lines of the cache are fetched for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tensor_cpu.kernels import memory_costs as memory
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import Axis, Operand, fetches

Group = tuple[Axis, ...]

LINE: Final = LIBRARY.CACHE_LINE // 8 if AVAILABLE else 8
"""Elements of 8 bytes in a line of the cache."""
_KEPT: Final = memory.CACHED_BYTES // 64  # elements of 8 bytes whose lines stay, as few of them share a place
_FAR: Final = 1 << 62  # no step in any of some arrays


def again(walk: Sequence[Axis], roles: Sequence[int], *arrays: Operand, crowded: bool = False) -> float:
    """Elements of the arrays of these roles, as often as their line of the cache is fetched after the first time.

    ``crowded`` is as for ``fetches``.

    >>> from tensor_runtime.backends.shared.axes import FIRST, RESULT, join, row_major
    >>> x, result = row_major((0, 1), (64, 8192), "float64"), row_major((1, 0), (8192, 64), "float64")
    >>> again(join(x, x, result), (FIRST, RESULT), x, x, result) == 7 * result.size
    True
    """
    return sum([(fetches(walk, role, _KEPT, LINE, crowded=crowded) - 1) * arrays[role].size for role in roles])


def by_nearness(axes: Group, roles: Sequence[int]) -> Group:
    """The axes by the shortest of their steps in the arrays of these roles, the longest first.

    Walked so, elements that lie in one line of the cache, in whichever array, come soon after one another.

    >>> far, near = Axis((0,), 4, (64, 1, 16)), Axis((1,), 4, (16, 4, 4))
    >>> [[axis.labels for axis in by_nearness((near, far), roles)] for roles in ((0, 2), (1,))]
    [[(0,), (1,)], [(1,), (0,)]]
    """
    if len(axes) < 2 or not roles:
        return axes
    return tuple(sorted(axes, key=lambda axis: -nearness(axis, roles)))


def nearness(axis: Axis, roles: Sequence[int]) -> int:
    """The shortest step of an axis in the arrays of these roles.

    >>> nearness(Axis((0,), 4, (64, 1, 16)), (0, 2))
    16
    """
    return min([abs(stride) for role in roles if (stride := axis.strides[role])], default=_FAR)
