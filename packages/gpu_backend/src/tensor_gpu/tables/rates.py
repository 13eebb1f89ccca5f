"""How fast devices are, by their compute capability, and what a contraction's kernels are estimated to take there.

Only ratios matter: an estimate that is wrong costs time, never an answer. Rates are those of makers' data sheets, and
the share of them that libraries reach is from what others published; what a submission takes is from measurements of
CuPy by others. None of it was measured here. Times are nanoseconds, and rates are per nanosecond.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import ceil, inf
from typing import Final, NamedTuple

from tensor_core.dtypes import as_dtype

Capability = tuple[int, int]

PROGRAM_CALL: Final = 6000.0
"""To submit a program of ours: an event, an allocation of the result, a launch."""
LIBRARY_CALL: Final = 8000.0
"""To submit a call of a library."""
PROVIDER_CALL: Final = 10_000.0
"""To submit a contraction by a provider."""
_REACHED: Final = 0.8  # of what data sheets say
_REACHED_ANYHOW: Final = 0.6  # the same by a provider
_LONG_RUN: Final = 32  # neighbours that let a provider reach it, as its maker says
_TILE: Final = 32  # rows and columns of a product that are the work of one processor
_DEPTH: Final = 256  # terms of long sums that libraries split among processors
_LANES: Final = 128  # instructions of a processor at once
_CLOCK: Final = 1.5
_TERM: Final = 40.0  # instructions of one term of a sum by a program of ours, offsets included
_FACTOR: Final = 20.0  # instructions of a product that nothing is added to, in a program for such products
_WAIT: Final = 60.0  # for the factors of a term that follows another one in the same thread


class Rates(NamedTuple):
    """What one kind of device can do."""

    bandwidth: float  # bytes
    single: float  # floating-point operations of F32 and C32, by matrix products
    double: float
    processors: int


RATES: Final[Mapping[Capability, Rates]] = {
    (7, 0): Rates(900, 15_700, 7_800, 80),  # V100
    (7, 5): Rates(320, 8_100, 250, 40),  # T4
    (8, 0): Rates(1_560, 19_500, 19_500, 108),  # A100
    (8, 6): Rates(600, 31_200, 490, 72),  # A10
    (8, 9): Rates(300, 30_300, 470, 58),  # L4
    (9, 0): Rates(3_350, 66_900, 66_900, 132),  # H100
    (10, 0): Rates(8_000, 75_000, 37_000, 148),  # B200
    (12, 0): Rates(1_790, 104_800, 1_640, 170),  # RTX 5090
}
"""By compute capability; a device that is not here counts as the newest one before it."""


def rates_of(capability: Capability, /) -> Rates:
    """The rates of a device; of one that is older than all, those of the oldest.

    >>> rates_of((8, 7)) == RATES[8, 6], rates_of((3, 5)) == RATES[7, 0]
    (True, True)
    """
    return RATES[max((one for one in RATES if one <= capability), default=min(RATES))]


class Costs(NamedTuple):
    """What kernels of contractions in one type take on one device; ``shared.products.ProductCosts`` for the planner."""

    bandwidth: float
    flops: float  # multiplications and additions of numbers of the type, one each
    processors: int
    itemsize: int
    stacks_evenly: bool = True

    def products(self, count: int, m: int, n: int, k: int, dtype: str) -> float:
        """A stack of products by the library.

        >>> costs = costs_of((9, 0), "float64")
        >>> costs.products(1, 8192, 8192, 8192, "float64") / 1e6 < 25
        True
        """
        return LIBRARY_CALL + self.product_time(count, m, n, k)

    def product_time(self, count: int, m: int, n: int, k: int, share: float = _REACHED) -> float:
        """What it takes when it was submitted, by a library that reaches a share of the rates."""
        tiles = count * ceil(m / _TILE) * ceil(n / _TILE) * max(1, k // _DEPTH)
        busy = min(1.0, tiles / self.processors)
        moved = count * (m * k + k * n + m * n) * self.itemsize
        return max(2 * count * m * n * k / (self.flops * share * busy), moved / (self.bandwidth * share))

    def least_products(self, terms: int) -> float:
        """What no stack of so many multiply-adds takes less than."""
        return LIBRARY_CALL + 2 * terms / self.flops

    def loops(self, count: int, m: int, n: int, k: int) -> float:
        """Libraries of devices have no loop for any strides."""
        return inf

    def along(self, count: int, m: int, n: int, k: int, dtype: str) -> float:
        """Nothing: tiles are staged, whatever is turned."""
        return 0.0

    def apart(self, count: int, size: int, step: int, dtype: str) -> float:
        """Nothing: libraries are not asked for vectors with gaps where that counts."""
        return 0.0

    def interleaved(self, size: int, run: int, dtype: str) -> float:
        """Nothing: a result that is not written matrix by matrix is permuted."""
        return 0.0

    def contraction(self, count: int, m: int, n: int, k: int, run: int) -> float:
        """A stack of products by a provider, whose operands lie anyhow, with neighbours in runs of ``run`` at least.

        >>> costs = costs_of((9, 0), "float64")
        >>> costs.products(1, 500, 500, 500, "float64") < costs.contraction(1, 500, 500, 500, 500)
        True
        >>> costs.contraction(1, 500, 500, 500, 4) > costs.contraction(1, 500, 500, 500, 500)
        True
        """
        return PROVIDER_CALL + self.product_time(count, m, n, k, _REACHED_ANYHOW * min(1.0, run / _LONG_RUN))

    def copy(self, size: int, run: int, dtype: str) -> float:
        """A permuted copy by a program, which goes by tiles where neighbours of one array are far apart in the other.

        >>> costs = costs_of((9, 0), "float32")
        >>> given = (1 << 24, 1), (1 << 24, 8), (1 << 23, 8)
        >>> far, near, half = (costs.copy(size, run, "float32") for size, run in given)
        >>> far == near < 2 * half
        True
        """
        return PROGRAM_CALL + 2 * size * self.itemsize / (self.bandwidth * _REACHED)

    def sums(self, size: int, depth: int, moved: int) -> float:
        """Sums of ``depth`` products each by a program, a thread for each of ``size``, which move so many elements.

        >>> costs = costs_of((9, 0), "float64")
        >>> costs.sums(1, 1 << 20, 1 << 21) > costs.sums(1 << 10, 1 << 10, 1 << 21)
        True
        """
        terms = size * depth
        work = max(terms * _TERM / (self.processors * _LANES * _CLOCK), 2 * terms / self.flops)
        return PROGRAM_CALL + max(work, depth * _WAIT, moved * self.itemsize / (self.bandwidth * _REACHED))

    def reduction(self, launches: int, moved: int) -> float:
        """Sums of ``moved`` elements by programs that share them out, in so many launches.

        >>> costs = costs_of((9, 0), "float64")
        >>> costs.reduction(2, 1 << 20) < costs.sums(1, 1 << 20, 1 << 20)
        True
        """
        return launches * PROGRAM_CALL + moved * self.itemsize / (self.bandwidth * _REACHED)

    def outer(self, size: int, moved: int) -> float:
        """As many products that nothing is added to, by a program, which move so many elements.

        >>> costs = costs_of((9, 0), "float64")
        >>> costs.outer(1 << 20, 1 << 10) < costs.sums(1 << 20, 1, 1 << 10)
        True
        """
        work = size * _FACTOR / (self.processors * _LANES * _CLOCK)
        return PROGRAM_CALL + max(work, moved * self.itemsize / (self.bandwidth * _REACHED))


@cache
def costs_of(capability: Capability, dtype: str, /) -> Costs:
    """The costs of a device, for contractions in a type, by NumPy's name; integers count as F32 does.

    >>> costs_of((9, 0), "complex128").flops * 4 == costs_of((9, 0), "float64").flops
    True
    """
    rates, kind = rates_of(capability), as_dtype(dtype)
    parts = 4 if kind.kind == "complex" else 1  # products of real numbers in one of complex ones
    double = dtype in ("float64", "complex128")
    return Costs(rates.bandwidth, (rates.double if double else rates.single) / parts, rates.processors, kind.itemsize)
