"""Paths: the order in which operands are contracted, always in pairs.

Two conventions. *Linear*, as opt_einsum, NumPy and cotengra write paths: positions in the list of operands that are
left; those contracted are removed and the result is appended. *Ids*, used inside: operands are 0 to n-1, the k-th
contraction gives n+k, and no id is ever used twice. Entries of more than two are taken as pairs from left to right;
entries of one are allowed and sum what they can.

Sets of labels along a path are bits of ints.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import index as as_index
from typing import Any

from tensor_core.errors import IndexingError, shortened
from tensor_einsum.errors import PathError

Path = tuple[tuple[int, ...], ...]


def to_ids(path: Any, operands: int, operation: str = "einsum", found_by: str = "") -> Path:
    """Check a linear path and write it with ids; ``operation`` and ``found_by`` are for messages.

    Raises:
        PathError: not a sequence of sequences of ints, a position out of range or named twice, operands left over.

    >>> to_ids([(0, 1), (0, 1)], 3)
    ((0, 1), (2, 3))
    """
    live = list(range(operands))
    result = []
    for step, positions in enumerate(path_entries(path, operation, found_by)):
        if len(set(positions)) < len(positions):
            raise PathError(f"{operation}: step {step} of the path, {positions}, names a position twice", step=step)
        for position in positions:
            if not 0 <= position < len(live):
                raise PathError(
                    f"{operation}: step {step} of the path, {positions}, names position {position}; accepted: 0 to "
                    f"{len(live) - 1}, as {len(live)} operands are left there",
                    step=step,
                )
        result.append(tuple(live[position] for position in positions))
        for position in sorted(positions, reverse=True):
            del live[position]
        live.append(operands + step)
    if len(live) > 1:
        raise PathError(
            f"{operation}: the path is incomplete: {len(live)} operands are left after its {len(result)} steps; "
            "accepted: a path that leaves one",
            step=None,
        )
    return tuple(result)


def to_linear(path: Iterable[Sequence[int]], operands: int) -> Path:
    """Write a path of ids as positions in the list of operands that are left.

    >>> to_linear([(1, 2), (0, 3)], 3)
    ((1, 2), (0, 1))
    """
    live = list(range(operands))  # always ascending, because a result has the largest id so far
    result: list[tuple[int, ...]] = []
    for step, ids in enumerate(path):
        if len(ids) == 2:
            first, second = positions = bisect_left(live, ids[0]), bisect_left(live, ids[1])
            result.append(positions)
            del live[max(first, second)], live[min(first, second)]
        else:
            result.append(tuple([bisect_left(live, one) for one in ids]))
            for position in sorted(result[-1], reverse=True):
                del live[position]
        live.append(operands + step)
    return tuple(result)


def in_pairs(path: Iterable[Sequence[int]], operands: int) -> Path:
    """Split entries of more than two ids into pairs, from left to right.

    >>> in_pairs([(0, 1, 2), (3, 4)], 4)
    ((0, 1), (4, 2), (3, 5))
    """
    renamed = list(range(operands))  # id in the given path -> id in the result
    result: list[tuple[int, ...]] = []
    for entry in path:
        first, *rest = [renamed[one] for one in entry]
        if not rest:
            result.append((first,))
            first = operands + len(result) - 1
        for other in rest:
            result.append((first, other))
            first = operands + len(result) - 1
        renamed.append(first)
    return tuple(result)


def path_entries(path: Any, operation: str = "einsum", found_by: str = "") -> Path:
    """A path as it was given, or found by a search, as a tuple of tuples of ints; positions are not checked here.

    >>> path_entries(["einsum_path", [0, 1]])
    ((0, 1),)
    """
    try:
        entries = list(path)
        if entries and isinstance(entries[0], str) and entries[0] == "einsum_path":  # np.einsum_path puts this in front
            del entries[0]
        result = [tuple(as_index(position) for position in entry) for entry in entries]
    except (TypeError, IndexingError):  # the latter of a tensor of rank 0
        what, others = "optimize is", "the name of a search ('auto', 'greedy', 'optimal', ...), a path optimizer, or "
        if found_by:
            what, others = f"the search by {found_by} gave", ""
        raise PathError(
            f"{operation}: {what} {shortened(path)}; accepted: {others}a path such as [(0, 1), (0, 1)]", step=None
        ) from None
    for step, entry in enumerate(result):
        if not entry:
            raise PathError(f"{operation}: step {step} of the path names no operand", step=step)
    return tuple(result)


def bits_of(labels: Iterable[int]) -> int:
    """A set of labels, each of which may be given several times, as bits.

    >>> bits_of((0, 2, 2))
    5
    """
    bits = 0
    for label in labels:
        bits |= 1 << label
    return bits


def labels_of(bits: int) -> Iterator[int]:
    """Numbers of the bits that are set.

    >>> list(labels_of(5))
    [0, 2]
    """
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def holders_of(terms: Iterable[Iterable[int]], labels: int) -> list[int]:
    """How many of the terms have each of so many labels.

    >>> holders_of([(0, 0), (0, 2)], 3)
    [2, 0, 1]
    """
    found = [0] * labels
    for term in terms:
        for label in {*term}:
            found[label] += 1
    return found


def labels_along(
    terms: Iterable[Iterable[int]], holders: Sequence[int], path: Iterable[Sequence[int]]
) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """What every entry of a path sums, as no other term and no output has it, and what it leaves.

    Args:
        terms: labels of the operands.
        holders: how many of the operands have each label, and the output.
        path: ids, one or two per entry.

    >>> terms = (0, 1), (1, 2), (2, 3)
    >>> for gone, left in labels_along(terms, holders_of([*terms, (0, 3)], 4), [(0, 1), (3, 2)]):
    ...     print(*gone, "->", *sorted(left))
    1 -> 0 2
    2 -> 0 3
    """
    left = [*holders]
    known = dict(enumerate(map(frozenset, terms)))
    following = len(known)
    for entry in path:
        joined = known.pop(entry[0])
        if len(entry) == 2:
            other = known.pop(entry[1])
            for label in joined & other:
                left[label] -= 1
            joined |= other
        gone = frozenset([label for label in joined if left[label] == 1])
        known[following] = kept = joined - gone
        following += 1
        yield gone, kept
