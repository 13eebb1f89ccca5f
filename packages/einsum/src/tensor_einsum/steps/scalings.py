"""Scalings: products by a factor whose labels the other operand has all, taken where they cost least.

Such a step sums nothing and makes its operand no larger, so it is a pure pass over it. The factor may as well multiply
any other operand or intermediate that has all its labels: one that the large operand is made from, or one that it is
multiplied by later on; or the result of a later step that still has these labels. No label of any intermediate changes
thereby, so all other steps stay as they are. The path that a plan was given stays what it tells; its steps, flops and
memory are those of the path with scalings moved.

A factor is moved where that saves at least half of the scaling and a visible part of the whole, and where neither flops
nor peak memory grow. Everything is pure data of labels and extents, so the same plan has the same steps everywhere; it
holds in every algebra, as products of several operands are taken in any order anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import prod
from typing import Final, NamedTuple

from tensor_einsum.notation.network import Network
from tensor_einsum.search.path import Path
from tensor_einsum.steps.steps import Step, in_best_orders, peak_bytes, plain_steps

WORTH_A_LOOK: Final = 1 << 18
"""Bytes at the peak; below, a whole contraction takes about as long as looking."""
_VISIBLE: Final = 4096
"""Of so many parts of what all contractions write a move saves at least one."""
_TRIED: Final = 16
"""Scalings that are moved one by one where all together take more memory."""


class Decided(NamedTuple):
    """What is executed for a path, and its costs: those of all slices, where a plan has slices."""

    path: Path  # ids, with scalings moved
    steps: tuple[Step, ...]
    flops: int
    opt_einsum_flops: int  # of the path as it was given
    peak_bytes: int


class Move(NamedTuple):
    """A factor that is taken elsewhere. All are ids of the path."""

    scaling: int  # the contraction that goes
    factor: int
    scaled: int  # the other operand of it
    onto: int  # what the factor multiplies instead, when that is made


def decided(network: Network, path: Path, itemsize: int, conj: Sequence[int] = ()) -> Decided:
    """Steps and costs of a path, without slices.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk->k", (2, 3), (3, 4))
    >>> decided(p._network, ((0, 1),), 8).flops == p.flops
    True
    """

    def made(path: Path) -> Decided:
        steps = plain_steps(network, path, itemsize, conj)
        flops = opt_einsum_flops = 0
        for step in steps:
            flops += step.flops
            opt_einsum_flops += step.opt_einsum_flops
        peak = steps[0].bytes if len(steps) == 1 else peak_bytes(steps, len(network.inputs))
        return Decided(path, steps, flops, opt_einsum_flops, peak)

    found = with_scalings_moved(path, network, (), made)
    return found if len(found.steps) == 1 else found._replace(steps=in_best_orders(network, found.steps))


def with_scalings_moved(path: Path, network: Network, times: Sequence[int], make: Callable[[Path], Decided]) -> Decided:
    """What a path makes with scalings where they cost least, or as it is, where nothing is gained.

    Args:
        path: ids.
        network: labels and extents, of one slice where there are slices.
        times: how often each operand and each contraction is read or done; () for once.
        make: the steps of a path, and their costs.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk,i->ik", (200, 100), (100, 900), (200,), optimize=[(0, 1), (0, 1)])
    >>> [step.subscripts for step in p.steps]  # so the smaller matrix is scaled, and not the result
    ['i,ij->ji', 'ji,jk->ik']
    >>> p.path
    ((0, 1), (0, 1))
    """
    given = make(path)
    if given.peak_bytes < WORTH_A_LOOK or 0 in network.extents:
        return given
    tree = _Tree(network, path, times)
    scalings = tree.scalings()
    moves: list[Move] = []
    for scaling in scalings:
        moves += islice(tree.moves(scaling, moves), 1)
    if not moves:
        return given
    found = _better(given, make(tree.path_with(moves)))
    if found is not given:
        return found
    kept: list[Move] = []
    for scaling in scalings[:_TRIED]:
        for move in tree.moves(scaling, kept):
            tried = _better(given, make(tree.path_with([*kept, move])))
            if tried is not given:
                kept.append(move)
                found = tried
                break
    return found


def _better(given: Decided, found: Decided) -> Decided:
    if found.flops > given.flops or found.peak_bytes > given.peak_bytes:
        return given
    return found._replace(opt_einsum_flops=given.opt_einsum_flops)


class _Tree:
    """Operands and contractions by id: labels, elements over all times, and who reads each."""

    def __init__(self, network: Network, path: Path, times: Sequence[int]) -> None:
        self.path, self.first = path, len(network.terms)
        self.labels = _labels(network, path)
        sizes = [prod([network.extents[label] for label in term]) for term in self.labels]
        self.cost = [size * often for size, often in zip(sizes, times, strict=True)] if times else sizes
        self.visible = sum(self.cost[self.first :]) // _VISIBLE + 1
        self.reader = [-1] * len(self.labels)
        for made, entry in enumerate(path, self.first):
            for one in entry:
                self.reader[one] = made

    def children(self, one: int) -> tuple[int, ...]:
        """What a contraction reads; () of an operand."""
        return self.path[one - self.first] if one >= self.first else ()

    def scalings(self) -> list[int]:
        """Contractions with a factor whose labels the other operand has all, and more; the dearest first."""
        found = []
        for one in range(self.first, len(self.labels)):
            entry = self.children(one)
            if len(entry) == 2 and self.cost[one] >= self.visible:
                factor, scaled = sorted([self.labels[other] for other in entry], key=len)
                if factor < scaled == self.labels[one]:
                    found.append(one)
        return sorted(found, key=lambda one: -self.cost[one])

    def moves(self, scaling: int, before: Sequence[Move]) -> Iterator[Move]:
        """Where the factor of a scaling pays more, the cheapest first; not where it would wait for itself."""
        factor, scaled = sorted(self.children(scaling), key=lambda one: len(self.labels[one]))
        most = min(self.cost[scaling] // 2, self.cost[scaling] - self.visible)
        for onto in sorted(self._places(scaling, factor, scaled), key=self.cost.__getitem__):
            if self.cost[onto] > most:
                return
            if not self._waits(factor, onto, before):
                yield Move(scaling, factor, scaled, onto)

    def _places(self, scaling: int, factor: int, scaled: int) -> list[int]:
        """All that the factor may multiply instead: what has its labels, up to where one of them is summed."""
        asked, found = self.labels[factor], []
        below, one = [scaled], scaling
        while (reader := self.reader[one]) >= 0:
            below += [other for other in self.children(reader) if other != one]
            if not asked <= self.labels[reader]:
                break
            found.append(reader)
            one = reader
        while below:
            one = below.pop()
            if asked <= self.labels[one]:
                found.append(one)
                below += self.children(one)
        return found

    def _waits(self, factor: int, onto: int, before: Sequence[Move]) -> bool:
        """Whether the factor is made from what it would multiply, itself or a factor that was moved there."""
        needs, seen = self._needs(before), {factor}
        asked = [factor]
        while asked:
            for one in needs(asked.pop()):
                if one == onto:
                    return True
                if one not in seen:
                    seen.add(one)
                    asked.append(one)
        return False

    def _needs(self, moves: Sequence[Move]) -> Callable[[int], list[int]]:
        """What each waits for: its operands, or of a scaling that goes what was scaled, and the factors put there."""
        gone = {move.scaling: (move.scaled,) for move in moves}
        factors = _factors(moves)
        return lambda one: [*gone.get(one, self.children(one)), *factors.get(one, ())]

    def path_with(self, moves: Sequence[Move]) -> Path:
        """The path with factors moved, in its own order as far as they let it."""
        gone, factors = {move.scaling: move.scaled for move in moves}, _factors(moves)
        made: dict[int, int] = {}  # ids of the path -> ids of the new one
        path: list[tuple[int, ...]] = []
        for one in self._order(self._needs(moves)):
            found = one
            if one in gone:
                found = made[gone[one]]
            elif one >= self.first:
                path.append(tuple([made[other] for other in self.children(one)]))
                found = self.first + len(path) - 1
            for factor in factors.get(one, ()):
                path.append((made[factor], found))
                found = self.first + len(path) - 1
            made[one] = found
        return tuple(path)

    def _order(self, needs: Callable[[int], list[int]]) -> list[int]:
        """All ids, each behind what it waits for; contractions as in the path, where that is so already."""
        order: dict[int, None] = {}
        for wanted in range(self.first, len(self.labels)):
            asked = [wanted]
            while asked:
                missing = [other for other in needs(asked[-1]) if other not in order]
                if missing:
                    asked += missing
                else:
                    order[asked.pop()] = None
        return list(order)


def _factors(moves: Sequence[Move]) -> dict[int, list[int]]:
    """The factors that are put onto each."""
    found: dict[int, list[int]] = {}
    for move in moves:
        found.setdefault(move.onto, []).append(move.factor)
    return found


def _labels(network: Network, path: Path) -> list[frozenset[int]]:
    """Of operands and contractions by id: the labels that are left, as others or the result have them."""
    left: dict[int, int] = {}
    found = [frozenset(term) for term in network.terms]
    for term in (*found, frozenset(network.output)):
        for label in term:
            left[label] = left.get(label, 0) + 1
    for entry in path:
        joined = found[entry[0]]
        if len(entry) == 2:
            other = found[entry[1]]
            for label in joined & other:
                left[label] -= 1
            joined = joined | other
        found.append(frozenset([label for label in joined if left[label] > 1]))
    return found
