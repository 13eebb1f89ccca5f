"""The order of an intermediate's labels: what the step that reads it wants, where that costs nothing extra.

A product of matrices gives [free labels of a, free labels of b, batch labels], each group in the order of its
operand. The reader multiplies without a copy when the labels that it sums lie together at one end, so they are moved
there: in front when they come from a alone, at the back when from b alone, and next to each other in the middle when
from both. Moving labels within a group makes the kernel copy that operand, which pays only when the operand is much
smaller than the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from tensor_einsum.extents import Labels
from tensor_einsum.path import Path

_SMALLER: Final = (
    4  # measured on tensor networks: 1 and 16 do worse on some, moving always does worse on chains of bonds
)


class Readers:
    """Which contraction reads each term, and which one sums each label; positions in the path.

    The result of "abx,xcd" is read by a step that sums a and c, so these two are put next to each other:

    >>> terms, path = [(0, 1, 2), (2, 3, 4), (0, 3)], ((0, 1), (3, 2))
    >>> readers = Readers(terms, [2, 2, 2, 2, 2], (4, 4, 1, 4, 4), path)
    >>> readers.arrange(3, terms[0], terms[1], {0, 1, 3, 4})
    (1, 0, 3, 4)
    """

    def __init__(self, terms: Sequence[Labels], bearers: Sequence[int], extents: Sequence[int], path: Path) -> None:
        self.extents = extents
        self.reader: dict[int, int] = {}
        self.summed_by: dict[int, int] = {}
        left = list(bearers)
        known = [set(term) for term in terms]
        for position, entry in enumerate(path):
            for one in entry:
                self.reader[one] = position
            joined = known[entry[0]]
            if len(entry) == 2:
                other = known[entry[1]]
                for label in joined & other:
                    left[label] -= 1
                joined = joined | other
            gone = {label for label in joined if left[label] == 1}  # this term alone bears it
            self.summed_by.update(dict.fromkeys(gone, position))
            known.append(joined - gone)

    def arrange(self, one: int, a: Labels, b: Labels, kept: set[int]) -> Labels:
        """Labels of the result that gets the id given, contracted from distinct labels ``a`` and ``b``."""
        in_a, in_b = set(a), set(b)
        free_a = [label for label in a if label in kept and label not in in_b]
        free_b = [label for label in b if label in kept and label not in in_a]
        batch = [label for label in a if label in kept and label in in_b]
        reader = self.reader.get(one)
        if reader is not None:
            summed = {label for label in kept if self.summed_by.get(label) == reader}
            size = self._size([*free_a, *free_b, *batch])
            from_a, from_b = not summed.isdisjoint(free_a), not summed.isdisjoint(free_b)
            # Sorting is stable, and False comes first.
            if from_a and _SMALLER * self._size(a) <= size:
                free_a.sort(key=lambda label: (label in summed) is from_b)
            if from_b and _SMALLER * self._size(b) <= size:
                free_b.sort(key=lambda label: (label in summed) is not from_a)
        return (*free_a, *free_b, *batch)

    def _size(self, labels: Sequence[int]) -> int:
        return prod([self.extents[label] for label in labels])
