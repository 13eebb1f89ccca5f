"""What a path costs, counted step by step with exact numbers; the native engine counts the same in logarithms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, log2, prod
from typing import NamedTuple

from tensor_einsum.search.path import holders_of, labels_along
from tensor_einsum.search.problem import CACHED, UNCACHED, Problem


class Measure(NamedTuple):
    """Costs of one path: log2 of numbers, -inf for none.

    ``products`` and ``elements`` are of all slices together, ``size`` and ``peak`` of one; the peak has the whole
    result besides where there are slices. Elements are those moved, operands read and results written; those of tensors
    larger than ``CACHED`` count ``UNCACHED`` times.
    """

    products: float
    elements: float
    size: float
    peak: float


def measure(problem: Problem, path: Sequence[Sequence[int]], sliced: Iterable[int] = ()) -> Measure:
    """Count a path of pairs of ids.

    A label that only one operand has and the output has not is summed before it is multiplied, so it costs no product.
    The operands themselves are not part of the peak. Extents of 0 count as 1.

    >>> problem = Problem(((0, 1), (1, 2), (2, 3)), (0, 3), (2, 4, 8, 16))
    >>> measure(problem, [(0, 1), (3, 2)])  # 2*4*8 + 2*8*16 products; 2*8 elements live while 2*16 are written
    Measure(products=8.321928094887362, elements=7.857980995127572, size=5.0, peak=5.584962500721156)
    >>> measure(problem, [(0, 1), (3, 2)], sliced=(2,)).peak  # two of 2 and of 2*16 in each slice, and the result
    6.044394119358453
    """
    cut = set(sliced)
    extents = [1 if label in cut else max(extent, 1) for label, extent in enumerate(problem.extents)]
    slices = prod(max(problem.extents[label], 1) for label in cut)
    holders = holders_of((*problem.inputs, problem.output), len(extents))
    terms = [[label for label in {*term} if holders[label] > 1] for term in problem.inputs]
    sizes = [prod(extents[label] for label in term) for term in terms]
    products = elements = size = live = peak = 0
    operands = len(terms)
    for pair, (gone, kept) in zip(path, labels_along(terms, holders, path), strict=True):
        sizes.append(prod(extents[label] for label in kept))
        products += sizes[-1] * prod(extents[label] for label in gone)
        elements += sum(moved(sizes[one]) for one in (*pair, -1))
        size = max(size, sizes[-1])
        live += sizes[-1]
        peak = max(peak, live)
        live -= sum(sizes[one] for one in pair if one >= operands)
    if cut:
        peak += prod(max(problem.extents[label], 1) for label in problem.output)
    return Measure(_log2(products * slices), _log2(elements * slices), _log2(size), _log2(peak))


def moved(size: int) -> int:
    """What moving a tensor counts as, in elements that are in the cache.

    >>> moved(8), moved(2 * CACHED) // CACHED
    (8, 6)
    """
    return size if size <= CACHED else UNCACHED * size


def _log2(number: int) -> float:
    return log2(number) if number else -inf
