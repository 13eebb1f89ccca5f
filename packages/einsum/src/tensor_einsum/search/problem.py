"""What a search is given, and what it gives back: plain data.

A *path* here is written with ids: operands are 0 to n-1, the k-th contraction gives n+k, and no id is used twice.
*Products* are the multiplications of a contraction, one for each choice of values of all labels of its two operands; a
product that is summed is two flops. Sizes count elements. All three are given as logarithms to the base 2, as a search
meets numbers far beyond what can be counted.
"""

from __future__ import annotations

from math import exp2, inf, log2
from typing import Final, Literal, NamedTuple

Pairs = tuple[tuple[int, int], ...]
Method = Literal["seconds", "flops", "size", "mixture"]
CACHED: Final = 1 << 20
"""Elements of the largest tensor that is thought to be in the cache when it is moved."""
UNCACHED: Final = 3
"""How many times as long an element of a larger one takes: measured on twenty networks, from 2 to 4."""
Reason = Literal["exact", "rotations", "share", "seconds", "interrupted", "settled"]


class Problem(NamedTuple):
    """A network of operands. Labels are numbers from 0, distinct within each operand and within the output.

    Every label of the output is in some operand. Extents are by label; 0 and 1 are allowed.
    """

    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    extents: tuple[int, ...]


class Objective(NamedTuple):
    """What is minimised.

    ``seconds``: flops / ``flop_rate`` + elements moved / ``element_rate`` + ``step_seconds`` for each contraction,
    where a contraction moves its two operands and its result, and elements of tensors larger than ``CACHED`` count
    ``UNCACHED`` times. ``flops``: flops alone. ``size``: the largest result of a contraction first, then flops.
    ``mixture``: flops + ``element_flops`` for each element moved.

    The rates also estimate how long a contraction takes, which a share of it as a budget asks for.

    >>> Objective("flops").log2_seconds(products=30.0, elements=20.0, steps=10) > -10
    True
    """

    minimize: Method = "seconds"
    flop_rate: float = 2e10
    element_rate: float = 5e8
    step_seconds: float = 5e-6
    element_flops: float = 64.0

    @property
    def element_products(self) -> float:
        """What moving an element costs, in products.

        >>> Objective("mixture", element_flops=64.0).element_products, Objective("flops").element_products
        (32.0, 0.0)
        """
        if self.minimize == "seconds":
            return self.flop_rate / self.element_rate / 2
        return self.element_flops / 2 if self.minimize == "mixture" else 0.0

    def log2_seconds(self, products: float, elements: float, steps: float) -> float:
        """Estimated time of contracting, from log2 of products and of elements moved, and the number of steps.

        >>> Objective("flops", flop_rate=2.0, element_rate=inf, step_seconds=0.0).log2_seconds(40.0, 0.0, 3)
        40.0
        """
        parts = [products + 1 - log2(self.flop_rate)]
        if self.element_rate < inf:
            parts.append(elements - log2(self.element_rate))
        if steps * self.step_seconds > 0:
            parts.append(log2(steps * self.step_seconds))
        top = max(parts)
        return top if top in (inf, -inf) else top + log2(sum(exp2(part - top) for part in parts))


MOST_ROTATIONS: Final = 200_000_000
"""Changes that a search by share tries on trees at most: some seconds."""


class Budget(NamedTuple):
    """How long to search: exactly one of the first three is given.

    ``rotations`` counts changes tried on trees, and ``share`` is a part of the estimated time of contracting by the
    best tree so far (0.1: a tenth), counted in rotations too; both give the same result in every run, on any number
    of threads. ``seconds`` stops by the clock. ``most_rotations`` ends a share of a contraction that takes forever.
    """

    rotations: int | None = None
    share: float | None = None
    seconds: float | None = None
    most_rotations: int = MOST_ROTATIONS


class Tried(NamedTuple):
    """One way to find trees: how often it was used, and log2 of the cost of the best tree that it gave.

    The cost is what the objective compares: products, and elements as so many products.
    """

    method: str
    times: int
    log2_cost: float


class Progress(NamedTuple):
    """The best tree when so many rotations had been tried; products of all slices together, largest result of one."""

    rotations: int
    log2_products: float
    log2_size: float


class SearchRecord(NamedTuple):
    """How a search went.

    Attributes:
        engine: "native", or "python" where the extension is not there: slower by far, and trees are worse.
        tried: the methods in order.
        history: how the best tree became better.
        rotations: changes of trees tried.
        seconds: how long it took; all but times is the same in every run unless the budget is in seconds.
        log2_products, log2_size, log2_peak: of what was found: all slices together; the largest result of a
            contraction, and the most elements of results alive at once, both in one slice. The peak counts the whole
            result besides where there are slices.
        log2_seconds: the estimated time of contracting all slices.
        stopped: why the search ended; "exact": nothing better exists, though for "seconds" orders of labels decide
            among trees that cost nearly as little; "settled": nothing better came for long.
        would_pay: whether searching as long again is likely to save more time than it takes.
        limit_seconds: how long it took, besides, to choose what keeps a memory limit: cuts, for which kernels are bound
            to ask what they take, and searches for other limits. 0 without a limit.
    """

    engine: Literal["native", "python"]
    tried: tuple[Tried, ...]
    history: tuple[Progress, ...]
    rotations: int
    seconds: float
    log2_products: float
    log2_size: float
    log2_peak: float
    log2_seconds: float
    stopped: Reason
    would_pay: bool
    limit_seconds: float = 0.0


class Found(NamedTuple):
    """What a search found: pairs of ids, the labels to slice in order (none without a limit), and how it went."""

    path: Pairs
    sliced: tuple[int, ...]
    record: SearchRecord
