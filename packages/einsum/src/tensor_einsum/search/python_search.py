"""The search without the native engine: exact for few operands, several greedy searches for more.

Sets of labels are bits of an int. Slow, and far from the native engine on large networks; every path is valid all the
same, limits are kept, and the result is the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import combinations
from math import exp2, inf, log, log2
from random import Random
from time import perf_counter
from typing import Final

from tensor_einsum.search.measure import Measure, measure
from tensor_einsum.search.path import bits_of, holders_of, labels_along, labels_of
from tensor_einsum.search.problem import (
    Budget,
    Found,
    Objective,
    Pairs,
    Problem,
    Progress,
    Reason,
    SearchRecord,
    Tried,
)

EXACT_MOST: Final = 8
"""Operands up to which every tree is looked at; 3ⁿ steps."""
_STARTS: Final = 16  # greedy searches, unless the budget is shorter
_ROTATIONS_PER_START: Final = 100_000  # as long as the native engine would try so many
_SECONDS_PER_AXIS: Final = 2e-5  # of all operands together, for one greedy search; measured on 90 to 1200 axes
_HOLDERS: Final = 32  # operands of a label that are looked at in pairs
_CUTS_TRIED: Final = 8  # before one is chosen; and bits above the limit for which another is chosen at once


def search_in_python(
    problem: Problem, objective: Objective, budget: Budget, largest: int | None, seed: int, begun: float
) -> Found:
    """Search; ``begun`` is when, by ``perf_counter``.

    >>> problem = Problem(((0, 1), (1, 2), (2, 3)), (0, 3), (2, 3, 4, 5))
    >>> search_in_python(problem, Objective("flops"), Budget(rotations=0), None, 0, 0.0).path
    ((0, 1), (2, 3))
    """
    return _Search(problem, objective, budget, largest, seed, begun).run()


class _Search:
    """One search and the best that it has found."""

    def __init__(
        self, problem: Problem, objective: Objective, budget: Budget, largest: int | None, seed: int, begun: float
    ) -> None:
        self.problem, self.objective, self.budget, self.largest = problem, objective, budget, largest
        self.random, self.begun = Random(seed), begun
        self.masks = _masks(problem)
        self.best: tuple[tuple[float, ...], Pairs, tuple[int, ...], Measure] | None = None
        self.times = {"exact": 0, "greedy": 0}
        self.best_products = {"exact": inf, "greedy": inf}
        self.history: list[Progress] = []

    def run(self) -> Found:
        operands = len(self.problem.inputs)
        stopped: Reason
        if operands <= EXACT_MOST and self.largest is None:
            self._offer("exact", self._exact())
            stopped = "exact"
        else:
            stopped = self._greedy_starts()
        assert self.best is not None  # the first start is never left out
        _, path, sliced, found = self.best
        record = SearchRecord(
            "python",
            tuple(Tried(name, times, self.best_products[name]) for name, times in self.times.items() if times),
            tuple(self.history),
            0,
            perf_counter() - self.begun,
            *(found.products, found.size, found.peak),
            self.objective.log2_seconds(found.products, found.elements, operands - 1),
            stopped,
            stopped != "exact",
        )
        return Found(tuple((min(pair), max(pair)) for pair in path), sliced, record)

    def _greedy_starts(self) -> Reason:
        try:
            for number in range(_STARTS):
                alpha, noise = (
                    (1.0, 0.0) if number == 0 else (self.random.random() * 1.5, 2 * 1e-3 ** self.random.random())
                )
                self._offer("greedy", self._greedy(alpha, noise))
                spent = self._spent(number + 1)
                if spent is not None:
                    return spent
        except KeyboardInterrupt:
            if self.budget.seconds is None or self.best is None:
                raise
            return "interrupted"
        return "settled"

    def _spent(self, starts: int) -> Reason | None:
        """What the budget leaves no further start for, after so many; a count decides it where a clock need not."""
        budget = self.budget
        if budget.seconds is not None:
            return "seconds" if perf_counter() - self.begun > budget.seconds / 2 else None
        if budget.rotations is not None:
            return "rotations" if starts * _ROTATIONS_PER_START > budget.rotations else None
        assert self.best is not None and budget.share is not None
        found = self.best[3]
        allowed = self.objective.log2_seconds(found.products, found.elements, len(self.problem.inputs) - 1)
        axes = sum(map(len, self.problem.inputs))
        return "share" if starts * axes * _SECONDS_PER_AXIS > budget.share * exp2(min(allowed, 1000)) else None

    def _offer(self, method: str, path: Pairs) -> None:
        """Take a path if it is the best one; under a limit, as it is when sliced."""
        sliced: tuple[int, ...] = ()
        found = measure(self.problem, path)
        if self.largest is not None:
            path = self._ordered(path)
            found = measure(self.problem, path)
            sliced, found = self._slices(path, found)
        self.times[method] += 1
        self.best_products[method] = min(self.best_products[method], found.products)
        key = self._key(found)
        if self.best is None or key < self.best[0]:
            self.best = key, path, sliced, found
            self.history.append(Progress(0, found.products, found.size))

    def _key(self, found: Measure) -> tuple[float, ...]:
        """What is compared, the smaller the better: first whether the limit is kept."""
        objective, steps = self.objective, len(self.problem.inputs) - 1
        over = max(0.0, found.peak - log2(self.largest)) if self.largest else 0.0
        if objective.minimize == "seconds":
            return over, objective.log2_seconds(found.products, found.elements, steps)
        if objective.minimize == "mixture":
            weight = objective.element_flops
            return over, _sum(found.products + 1, found.elements + log2(weight) if weight else -inf)
        return (over, found.size, found.products) if objective.minimize == "size" else (over, found.products)

    def _ordered(self, path: Pairs) -> Pairs:
        """The same tree, the branch that needs more room first."""
        operands = len(self.problem.inputs)
        sizes = _sizes(self.problem, path)
        peaks = [0.0] * len(sizes)
        for number, (a, b) in enumerate(path, operands):
            held = [sizes[one] if one >= operands else 0.0 for one in (a, b)]
            both = held[0] + held[1] + sizes[number]
            a_first = max(peaks[a], held[0] + peaks[b])
            b_first = max(peaks[b], held[1] + peaks[a])
            if b_first < a_first:
                path = (*path[: number - operands], (b, a), *path[number - operands + 1 :])
            peaks[number] = max(both, min(a_first, b_first))
        new = dict(zip(range(operands), range(operands), strict=True))
        result: list[tuple[int, int]] = []
        todo = [operands + len(path) - 1] if path else []
        while todo:
            one = todo[-1]
            a, b = path[one - operands]
            waiting = [other for other in (b, a) if other not in new]
            if waiting:
                todo += waiting
                continue
            new[todo.pop()] = operands + len(result)
            result.append((new[a], new[b]))
        return tuple(result)

    def _slices(self, path: Pairs, found: Measure) -> tuple[tuple[int, ...], Measure]:
        """Labels to cut until the limit is kept: those of the largest result that cost least."""
        assert self.largest is not None
        limit = log2(max(self.largest, 1))
        if found.peak <= limit + 1e-9:
            return (), found
        terms = _terms(self.problem, path)
        joined = [terms[a] | terms[b] for a, b in path]
        results = terms[len(self.problem.inputs) :]
        sliced: list[int] = []
        cut = 0

        def products(label: int) -> float:
            left = ~(cut | 1 << label)
            return sum(exp2(min(self._log_size(bits & left), 1000)) for bits in joined) * self.problem.extents[label]

        while found.peak > limit + 1e-9:
            sizes = [self._log_size(bits & ~cut) for bits in results]
            top = max(sizes)
            large = [bits for bits, size in zip(results, sizes, strict=True) if size > min(limit, top - 1)]
            shared = {
                label: sum(bits >> label & 1 for bits in large)
                for label in labels_of(results[sizes.index(top)] & ~cut)
                if self.problem.extents[label] > 1
            }
            if not shared:
                break
            # Far from the limit several at once, as every round counts the whole path.
            at_once = max(1, int(found.peak - limit) // _CUTS_TRIED)
            tried = sorted(shared, key=lambda label: (-shared[label], label))[: max(_CUTS_TRIED, at_once)]
            for label in sorted(tried, key=lambda label: (products(label), label))[:at_once]:
                sliced.append(label)
                cut |= 1 << label
            found = measure(self.problem, path, sliced)
        return tuple(sliced), found

    def _cost(self, joined: int, kept: int) -> float:
        """Log2 of what a contraction adds to a tree, apart from what every tree takes."""
        objective = self.objective
        products, size = self._log_size(joined), self._log_size(kept) + 1
        if objective.minimize == "flops":
            return products
        if objective.minimize == "size":
            return 2 * size
        weight = objective.element_flops
        if objective.minimize == "seconds":
            weight = objective.flop_rate / objective.element_rate
        return _sum(products + 1, size + log2(weight)) if weight > 0 else products + 1

    def _log_size(self, labels: int) -> float:
        return sum([log * (labels & mask).bit_count() for log, mask in self.masks])

    def _exact(self) -> Pairs:
        """The best tree of all, by the best tree of every subset of operands."""
        terms = _terms(self.problem, ())
        operands = len(terms)
        if operands < 2:
            return ()
        output = sum(1 << label for label in self.problem.output)
        whole = (1 << operands) - 1
        joined = [0] * (whole + 1)
        for chosen in range(1, whole + 1):
            joined[chosen] = joined[chosen & (chosen - 1)] | terms[(chosen & -chosen).bit_length() - 1]
        kept = [joined[chosen] & (joined[whole ^ chosen] | output) for chosen in range(whole + 1)]
        best = [0.0 if chosen.bit_count() < 2 else inf for chosen in range(whole + 1)]
        split = [0] * (whole + 1)
        known: dict[tuple[int, int], float] = {}
        for chosen in range(3, whole + 1):
            if not chosen & (chosen - 1):
                continue
            highest = 1 << (chosen.bit_length() - 1)
            rest = part = chosen ^ highest
            while part:
                a, b = part, chosen ^ part
                key = kept[a] | kept[b], kept[chosen]
                if key not in known:
                    known[key] = exp2(self._cost(*key)) if self._cost(*key) < 1000 else inf
                cost = best[a] + best[b] + known[key]
                if cost < best[chosen] or not split[chosen]:
                    best[chosen], split[chosen] = cost, a
                part = (part - 1) & rest
        path: list[tuple[int, int]] = []

        def build(chosen: int) -> int:
            if not chosen & (chosen - 1):
                return chosen.bit_length() - 1
            pair = build(split[chosen]), build(chosen ^ split[chosen])
            path.append(pair)
            return operands + len(path) - 1

        build(whole)
        return tuple(path)

    def _greedy(self, alpha: float, noise: float) -> Pairs:
        """Contract the pair whose result is smallest beside what it replaces, again and again."""
        terms = _terms(self.problem, ())
        operands = len(terms)
        holders: list[set[int]] = [set() for _ in self.problem.extents]
        alive = dict(enumerate(terms))
        for number, term in alive.items():
            for label in labels_of(term):
                holders[label].add(number)
        output = sum(1 << label for label in self.problem.output)
        in_two = sum(1 << label for label, group in enumerate(holders) if len(group) == 2) & ~output
        sizes = {number: self._log_size(term) for number, term in alive.items()}
        heap: list[tuple[float, int, int]] = []
        path: list[tuple[int, int]] = []

        def result(a: int, b: int) -> int:
            return (a | b) & ~(a & b & in_two)

        def push(a: int, b: int) -> None:
            size = self._log_size(result(alive[a], alive[b]))
            top = max(size, sizes[a], sizes[b])
            gain = exp2(size - top) - alpha * (exp2(sizes[a] - top) + exp2(sizes[b] - top))
            score = log2(1 + abs(gain) * exp2(top)) if top < 60 else max(0.0, top + log2(abs(gain) + 1e-18))
            score = score if gain > 0 else -score
            if noise:
                score -= noise * log(-log(max(self.random.random(), 1e-300)))
            heappush(heap, (score, a, b))

        for a, b in sorted({pair for group in holders for pair in combinations(sorted(group)[:_HOLDERS], 2)}):
            push(a, b)
        while len(alive) > 1:
            pair = next(self._waiting(heap, alive), None)
            if pair is None:  # nothing shares a label any more
                pair = tuple(sorted(alive, key=lambda one: (sizes[one], one))[:2])  # type: ignore[assignment]
                assert pair is not None
            a, b = pair
            new = operands + len(path)
            kept = result(alive[a], alive[b])
            for label in labels_of(alive[a] | alive[b]):
                holders[label] -= {a, b}
                if kept >> label & 1:
                    holders[label].add(new)
            for label in labels_of(alive[a] & alive[b] & kept & ~output):
                in_two |= (len(holders[label]) == 2) << label
            del alive[a], alive[b]
            alive[new], sizes[new] = kept, self._log_size(kept)
            path.append((a, b))
            for other in sorted(
                {one for label in labels_of(kept) for one in sorted(holders[label])[:_HOLDERS]} - {new}
            ):
                push(other, new)
        return tuple(path)

    def _waiting(self, heap: list[tuple[float, int, int]], alive: dict[int, int]) -> Iterator[tuple[int, int]]:
        while heap:
            _, a, b = heappop(heap)
            if a in alive and b in alive:
                yield a, b


def _terms(problem: Problem, path: Pairs) -> list[int]:
    """Labels of the operands and of every result as bits; what only one operand has is summed before."""
    holders = holders_of((*problem.inputs, problem.output), len(problem.extents))
    terms = [[label for label in {*term} if holders[label] > 1] for term in problem.inputs]
    return [*map(bits_of, terms), *[bits_of(kept) for _, kept in labels_along(terms, holders, path)]]


def _sizes(problem: Problem, path: Pairs) -> list[float]:
    """Elements of the operands and of every result."""
    masks = _masks(problem)
    return [
        exp2(min(1000.0, sum([log * (term & mask).bit_count() for log, mask in masks])))
        for term in _terms(problem, path)
    ]


def _masks(problem: Problem) -> list[tuple[float, int]]:
    """Log2 of every extent above 1, and the labels that have it."""
    masks: dict[int, int] = {}
    for label, extent in enumerate(problem.extents):
        if extent > 1:
            masks[extent] = masks.get(extent, 0) | 1 << label
    return [(log2(extent), mask) for extent, mask in sorted(masks.items())]


def _sum(a: float, b: float) -> float:
    """Log2 of the sum of two numbers given as log2."""
    low, high = sorted((a, b))
    return high + log2(1 + exp2(low - high)) if low > -inf else high
