"""Rows and columns of the packed product (csrc/contraction/gemm.c): as many as its tables of offsets should hold.

Of very many, the outer axes are stacked. An axis that is too long for the tables is divided where its extent allows it,
as axes that are joined of many small ones do: blocks of a few hundred rows cost more than those of thousands, which are
written in long runs.
"""

from __future__ import annotations

from typing import Final

from tensor_runtime.backends.shared.axes import FIRST, RESULT, SECOND, Axis, extent_of

Group = tuple[Axis, ...]

_LONG_TABLE: Final = 1 << 16  # entries of a table that the second-level cache keeps beside blocks
_FULL_BLOCK: Final = 192  # rows or columns: fewer in a product of a stack cost more than a long table
_FULL_BLOCKS: Final = 8192  # rows or columns beyond which more of them gain little


def in_short_tables(axes: Group, stack: Group = ()) -> tuple[Group, Group]:
    """Axes whose table of offsets stays in the cache, if those fill a block, and outer ones, which are stacked.

    ``stack`` has axes that are stacked in any case. One that steps over any of them in the result makes no run longer,
    and is divided only where blocks would not be full: columns of such parts take up to 2.2 times as long. Rows of them
    take 0.6 to 1.2 times as long, and are better off without ``stack``.

    >>> axes = [Axis((label,), 1000, (1000 ** (2 - label), None, 1000 ** (2 - label))) for label in range(3)]
    >>> [[(axis.labels, axis.extent) for axis in group] for group in in_short_tables(tuple(axes))]
    [[((1,), 10), ((2,), 1000)], [((0,), 1000), ((1,), 100)]]
    >>> [[axis.extent for axis in group] for group in in_short_tables(tuple(axes), (Axis((3,), 9, (1, 1, 1)),))]
    [[1000], [1000, 1000]]
    """
    taken = 0
    while extent_of(axes[taken:]) > _LONG_TABLE:
        taken += 1
    rows, outer = axes[taken:], axes[:taken]
    if not outer:
        return rows, outer
    size, last, outer = extent_of(rows), outer[-1], outer[:-1]
    wanted = _FULL_BLOCKS if size < _FULL_BLOCK or _goes_on(last, stack) else size
    part = _part(last.extent, -(-wanted // size), _LONG_TABLE // size) if rows else last.extent
    if size * part < _FULL_BLOCK:
        part = last.extent
    near, far = divided(last, part)
    return (*near, *rows), (*outer, *far)


def _goes_on(axis: Axis, stack: Group) -> bool:
    """Whether none of the stacked axes has shorter steps in the result."""
    return all((axis.strides[RESULT] or 0) < (other.strides[RESULT] or 0) for other in stack)


def divided(axis: Axis, part: int) -> tuple[Group, Group]:
    """So many neighbours along an axis, and the rest of it.

    >>> divided(Axis((0,), 6, (1, None, 4)), 2)
    ((Axis(labels=(0,), extent=2, strides=(1, None, 4)),), (Axis(labels=(0,), extent=3, strides=(2, None, 8)),))
    """
    steps = axis.strides
    far = (
        steps[FIRST] and steps[FIRST] * part,
        steps[SECOND] and steps[SECOND] * part,
        steps[RESULT] and steps[RESULT] * part,
    )
    parts = axis._replace(extent=part), Axis(axis.labels, axis.extent // part, far)
    near, rest = [(one,) if one.extent > 1 else () for one in parts]
    return near, rest


def _part(extent: int, wanted: int, most: int) -> int:
    """The least divisor of an extent that is at least as large as wanted, or the largest one below; 1 if none will do.

    >>> _part(19683, 9, 270), _part(19683, 10, 270), _part(50, 30, 40), _part(97, 3, 60)
    (9, 27, 25, 1)
    """
    parts = _divisors(extent, most)
    return min((part for part in parts if part >= wanted), default=max(parts))


def _divisors(number: int, most: int) -> set[int]:
    """Of a number, as far as a bound, by its prime factors.

    >>> sorted(_divisors(60, 20))
    [1, 2, 3, 4, 5, 6, 10, 12, 15, 20]
    """
    found, prime = {1}, 2
    while number > 1 and prime <= most:
        if prime * prime > number:
            prime = number  # as what is left is one
        elif number % prime:
            prime += 1 + prime % 2
            continue
        number //= prime
        found |= {part * prime for part in found if part * prime <= most}
    return found
