"""Whether two strided arrays share bytes, decided from where they start and how they are laid out.

Nothing is asked of a backend but where an array lies (``protocols.Backend.location_of``), so that no backend can
answer wrongly what its layouts decide. Starts are in bytes, in one address space; strides of forms count elements.

The bytes of an array are start + Σ stride·index + (0 ... itemsize - 1). Two arrays share one exactly when a linear
Diophantine equation with bounded unknowns, one per axis of either, has a solution. Steps that are multiples of one
another, as those of nearly all layouts are, leave one or two candidates per unknown; in general the question is
NP-complete, so the search ends after a number of candidates and then says that they share.

Source: NumPy's ``solve_may_share_memory`` states the same equation; here the largest step is decided first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import Final

from tensor_runtime.form import Form

Equation = tuple[list[tuple[int, int]], list[int], list[int]]

MOST_CANDIDATES: Final = 10_000
"""Values of unknowns that are tried before the answer is "perhaps", which counts as yes."""


def overlap_test(first: Form, second: Form, /) -> Callable[[int, int], bool]:
    """A function of two starts, in bytes, that says whether arrays of these forms share a byte without being the same.

    The same form at the same start is the same array, element for element, which is no overlap here.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> whole, evens = form_of(F64, (4,), CPU), form_of(F64, (4,), CPU, (2,))
    >>> overlaps = overlap_test(whole, whole)
    >>> overlaps(0, 0), overlaps(0, 8), overlaps(0, 32)
    (False, True, False)
    >>> overlap_test(evens, evens)(0, 8), overlap_test(evens, evens)(0, 16)
    (False, True)
    """
    if not (first.size and second.size):
        return lambda start, other: False
    same = first is second
    (low, high), (low_other, high_other) = _reach(first), _reach(second)
    steps = [
        (abs(stride) * form.dtype.itemsize, extent - 1)
        for form in (first, second)
        for stride, extent in zip(form.strides, form.shape, strict=True)
    ]
    sizes = first.dtype.itemsize, second.dtype.itemsize
    within = [(1, size - 1) for size in sizes]  # an element is one more axis, of its bytes
    unit = sizes[0] if sizes[0] == sizes[1] else 1
    steps += within if unit == 1 else []
    whole = equation([(step // unit, most) for step, most in steps])
    fine = whole if unit == 1 else None  # of bytes; only arrays that lie askew to one another need it

    def overlaps(start: int, other: int) -> bool:
        nonlocal fine
        if start + high <= other + low_other or other + high_other <= start + low or (same and start == other):
            return False
        # Counting the unknowns of ``second`` from its far end makes every step of the equation positive.
        distance = (other + high_other - 1) - (start + low)
        if unit > 1 and (start - other) % unit == 0:
            return solved(*whole, (distance - unit + 1) // unit)
        fine = fine or equation([*steps, *within])
        return solved(*fine, distance)

    return overlaps


def _reach(form: Form) -> tuple[int, int]:
    """The first byte of an array and the one behind its last, from its start."""
    spans = [stride * (extent - 1) for stride, extent in zip(form.strides, form.shape, strict=True)]
    itemsize = form.dtype.itemsize
    return sum(span for span in spans if span < 0) * itemsize, (sum(span for span in spans if span > 0) + 1) * itemsize


def equation(terms: Sequence[tuple[int, int]], /) -> Equation:
    """The terms (step, most), both at least 0, that count, as :func:`solved` takes them.

    Returns:
        The terms, largest step first; from each on, what the steps have in common; from each on, their largest sum.

    >>> equation([(4, 5), (6, 5)])
    ([(6, 5), (4, 5)], [2, 4, 0], [50, 20, 0])
    """
    merged: dict[int, int] = {}
    for step, most in terms:
        if step and most:
            merged[step] = merged.get(step, 0) + most
    ordered = sorted(merged.items(), reverse=True)
    divisors, spans = [0], [0]
    for step, most in reversed(ordered):
        divisors.append(gcd(divisors[-1], step))
        spans.append(spans[-1] + step * most)
    return ordered, divisors[::-1], spans[::-1]


def solved(ordered: Sequence[tuple[int, int]], divisors: Sequence[int], spans: Sequence[int], total: int, /) -> bool:
    """Whether Σ stepₖ·xₖ = total for some 0 ≤ xₖ ≤ mostₖ; True as well where too many candidates would be tried.

    >>> solved(*equation([(4, 5), (6, 5)]), 14), solved(*equation([(4, 5), (6, 5)]), 13)
    (True, False)
    >>> solved(*equation([(4, 1), (6, 1)]), 14)
    False
    """
    if total < 0 or total > spans[0] or total % (divisors[0] or total + 1):
        return False
    left = MOST_CANDIDATES
    waiting = [(0, total)]
    while waiting:
        place, rest = waiting.pop()
        if rest == 0:  # the others may be 0
            return True
        if rest % (divisors[place] or rest + 1):
            continue
        step, most = ordered[place]
        divisor, span = divisors[place + 1], spans[place + 1]
        smallest, largest = max(0, -((span - rest) // step)), min(most, rest // step)
        every = 1
        if divisor:  # step·x has to leave a multiple of what the following steps have in common
            every = divisor // gcd(step, divisor)
            common = divisor // every
            fitting = (rest // common) * pow(step // common, -1, every) % every
            smallest += (fitting - smallest) % every
        count = len(range(smallest, largest + 1, every))
        left -= count
        if left < 0:
            return True
        waiting += [(place + 1, rest - step * x) for x in range(smallest, largest + 1, every)]
    return False
