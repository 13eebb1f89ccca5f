"""What a step of a contraction cannot beat: its flops at the rate of a matrix product of its shape, or its bytes.

Labels of both operands and of the result stack products, those of both alone are summed, those of one are rows or
columns. The product is NumPy's, of warm arrays, the copy moves as many bytes into a warm array; both are measured once
per shape. Extents beyond ``LONGEST`` change no rate, and copies of less than ``SMALLEST_COPY`` have its rate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from math import log2, prod
from typing import Any, Final, NamedTuple

from benchmarks.rows import ELEMENT_BYTES

LONGEST: Final = 2048
SMALLEST_COPY: Final = 1 << 16
"""Bytes; so the call of a copy counts for nothing."""
SMALLEST_WORK: Final = 1e6
"""Flops that are timed at least, by a stack of small products, for the same reason."""
Timer = Callable[[str, Mapping[str, Any]], float]
"""Seconds of an operation of ``benchmarks.contenders.limits`` with these arguments."""


class Work(NamedTuple):
    """Extents of a stack of matrix products, bytes that are read and written, and how many steps are like this.

    Of rows and columns ``m`` is the larger number. ``k`` is 1 where nothing is summed over both operands: then bytes
    are the only limit.
    """

    m: int
    n: int
    k: int
    stack: int
    moved: int
    steps: int = 1


def work_of(terms: Sequence[Sequence[Hashable]], output: Collection[Hashable], extents: Mapping[Any, int]) -> Work:
    """The work of a step of one operand or two.

    >>> work_of(["abx", "bcx"], "acx", dict(a=2, b=3, c=4, x=5))
    Work(m=4, n=2, k=3, stack=5, moved=1040, steps=1)
    >>> work_of(["aab"], "b", dict(a=2, b=3))
    Work(m=3, n=1, k=1, stack=1, moved=120, steps=1)
    """

    def size(labels: Iterable[Hashable]) -> int:
        return prod(extents[label] for label in labels)

    moved = sum(map(size, (*terms, output))) * ELEMENT_BYTES["F64"]
    first, second = ({*terms[0]}, {*terms[1]}) if len(terms) == 2 else ({*terms[0]}, set())
    kept, both = {*output}, first & second
    n, m = sorted((size(kept & first - both), size(kept & second - both)))
    return Work(m, n, size(both - kept), size(both & kept), moved)


def path_works(subscripts: str, shapes: Sequence[tuple[int, ...]], path: Sequence[tuple[int, ...]]) -> list[Work]:
    """The steps of a linear path, those of equal work together.

    >>> [work[:4] for work in path_works("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)], [(0, 1), (0, 1)])]
    [(4, 2, 3, 1), (5, 2, 4, 1)]
    """
    import opt_einsum

    _, info = opt_einsum.contract_path(subscripts, *shapes, shapes=True, optimize=path)
    works: dict[Work, int] = {}
    for contraction in info.contraction_list:
        inputs, output = contraction[2].split("->")
        work = work_of(inputs.split(","), output, info.size_dict)
        works[work] = works.get(work, 0) + 1
    return [work._replace(steps=steps) for work, steps in works.items()]


class Limits:
    """Seconds that works cannot beat, by what a timer measures once per shape."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._known: dict[tuple[int, ...], float] = {}

    def seconds(self, work: Work) -> float:
        """The longer of both times, for all steps that are like this."""
        return work.steps * max(self.product_seconds(work), self.copy_seconds(work.moved))

    def product_seconds(self, work: Work) -> float:
        """Of the product; 0 without one."""
        if work.k == 1 or min(work.m, work.n) == 1:  # a matrix times a vector takes as long as reading the matrix
            return 0.0
        m, n, k = (min(extent, LONGEST) for extent in work[:3])
        flops = 2.0 * m * n * k
        stack = max(min(work.stack, int(SMALLEST_WORK / flops)), 1)
        if work.stack == 1 and flops < SMALLEST_WORK:
            stack = int(SMALLEST_WORK / flops)
        seconds = self._measured("product", {"m": m, "n": n, "k": k, "stack": stack})
        return seconds / (flops * stack) * 2.0 * work.m * work.n * work.k * work.stack

    def copy_seconds(self, moved: int) -> float:
        """Of a copy that reads and writes so many bytes, at the rate of the nearest power of two."""
        bytes_copied = max(SMALLEST_COPY, 1 << round(log2(max(1, moved // 2))))
        return self._measured("copy", {"bytes": bytes_copied}) / (2 * bytes_copied) * moved

    def _measured(self, operation: str, arguments: dict[str, int]) -> float:
        key = tuple(arguments.values())
        if key not in self._known:
            self._known[key] = self._timer(operation, arguments)
        return self._known[key]
