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
from tensor_einsum.search.path import Path, holders_of, labels_along
from tensor_einsum.steps.steps import Step, in_best_orders, peak_bytes, plain_steps

WORTH_A_LOOK: Final = 1 << 18
"""Bytes at the peak; below, a whole contraction takes about as long as looking."""
_VISIBLE: Final = 4096
"""Of so many parts of what all contractions write a move saves at least one."""
_LOOKED_AT: Final = 1 << 16
"""Scalings, the dearest ones, times contractions: some hundred milliseconds with all that is tried."""
_TRIED: Final = 8
"""Moves that are tried one by one where all together take more memory."""


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


def decided(network: Network, path: Path, steps: tuple[Step, ...], itemsize: int, conj: Sequence[int] = ()) -> Decided:
    """Steps and costs of a path, without slices, where scalings and orders of labels are chosen.

    Args:
        network: labels and extents.
        path: ids.
        steps: what the path makes as it is (``steps.plain_steps``).
        itemsize: bytes per element of every result.
        conj: operands that are taken conjugated.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk->k", (2, 3), (3, 4))
    >>> decided(p._network, ((0, 1),), p.steps, 8).flops == p.flops
    True
    """

    def made(path: Path, steps: tuple[Step, ...]) -> Decided:
        flops = opt_einsum_flops = 0
        for step in steps:
            flops += step.flops
            opt_einsum_flops += step.opt_einsum_flops
        return Decided(path, steps, flops, opt_einsum_flops, peak_bytes(steps, len(network.inputs)))

    given = made(path, steps)
    found = with_scalings_moved(given, network, (), lambda path: made(path, plain_steps(network, path, itemsize, conj)))
    return found._replace(steps=in_best_orders(network, found.steps))


def with_scalings_moved(
    given: Decided, network: Network, times: Sequence[int], make: Callable[[Path], Decided]
) -> Decided:
    """What a path makes with scalings where they cost least, or as it is, where nothing is gained.

    Args:
        given: what the path makes as it is.
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
    path = given.path
    if given.peak_bytes < WORTH_A_LOOK or 0 in network.extents:
        return given
    tree = _Tree(network, path, times)
    scalings = tree.scalings()[: 1 + _LOOKED_AT // (1 + len(path))]
    for scaling in scalings:
        for move in islice(tree.moves(scaling), 1):
            tree.take(move)
    if not tree.gone:
        return given
    found = _better(given, make(tree.path_with_moves()))
    if found is not given:
        return found
    tree, left = _Tree(network, path, times), _TRIED
    for scaling in scalings:
        for move in islice(tree.moves(scaling), left):
            left -= 1
            tree.take(move)
            tried = _better(given, make(tree.path_with_moves()))
            if tried is not given:
                found = tried
                break
            tree.put_back(move)
    return found


def _better(given: Decided, found: Decided) -> Decided:
    if found.flops > given.flops or found.peak_bytes > given.peak_bytes:
        return given
    return found._replace(opt_einsum_flops=given.opt_einsum_flops)


class _Tree:
    """Operands and contractions by id: labels, elements over all times, and who reads each; and the moves so far."""

    def __init__(self, network: Network, path: Path, times: Sequence[int]) -> None:
        self.path, self.first = path, len(network.terms)
        self.labels = _labels(network, path)
        sizes = [prod([network.extents[label] for label in term]) for term in self.labels]
        self.cost = [size * often for size, often in zip(sizes, times, strict=True)] if times else sizes
        self.visible = sum(self.cost[self.first :]) // _VISIBLE + 1
        self.gone: dict[int, int] = {}  # scalings that go -> what they scaled
        self.factors: dict[int, list[int]] = {}  # by what they multiply instead
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

    def moves(self, scaling: int) -> Iterator[Move]:
        """Where the factor of a scaling pays more, the cheapest first; not where it would wait for itself."""
        factor, scaled = sorted(self.children(scaling), key=lambda one: len(self.labels[one]))
        most = min(self.cost[scaling] // 2, self.cost[scaling] - self.visible)
        for onto in sorted(self._places(scaling, factor, scaled, most), key=self.cost.__getitem__):
            if not self._waits(factor, onto):
                yield Move(scaling, factor, scaled, onto)

    def _places(self, scaling: int, factor: int, scaled: int, most: int) -> list[int]:
        """All of so many elements that have the factor's labels, up to where one of those is summed."""
        asked, labels = self.labels[factor], self.labels
        found, below, one = [], [scaled], scaling
        while (reader := self.reader[one]) >= 0:
            below += [other for other in self.children(reader) if other != one and asked <= labels[other]]
            if not asked <= labels[reader]:
                break
            one = reader
            if self.cost[one] <= most:
                found.append(one)
        while below:
            one = below.pop()
            if self.cost[one] <= most:
                found.append(one)
            below += [other for other in self.children(one) if asked <= labels[other]]
        return found

    def _waits(self, factor: int, onto: int) -> bool:
        """Whether the factor is made from what it would multiply, itself or a factor that was moved there."""
        asked, seen = [factor], {factor}
        while asked:
            for one in self._needs(asked.pop()):
                if one == onto:
                    return True
                if one not in seen:
                    seen.add(one)
                    asked.append(one)
        return False

    def _needs(self, one: int) -> Sequence[int]:
        """What it waits for: its operands, or of a scaling that goes what was scaled, and the factors put there."""
        own = (self.gone[one],) if one in self.gone else self.children(one)
        return (*own, *self.factors[one]) if one in self.factors else own

    def take(self, move: Move) -> None:
        """Move a factor."""
        self.gone[move.scaling] = move.scaled
        self.factors.setdefault(move.onto, []).append(move.factor)

    def put_back(self, move: Move) -> None:
        """Undo the last move."""
        del self.gone[move.scaling]
        self.factors[move.onto].pop()

    def path_with_moves(self) -> Path:
        """The path with factors moved, in its own order as far as they let it."""
        made: dict[int, int] = {}  # ids of the path -> ids of the new one
        path: list[tuple[int, ...]] = []
        for one in self._order():
            found = one
            if one in self.gone:
                found = made[self.gone[one]]
            elif one >= self.first:
                path.append(tuple([made[other] for other in self.children(one)]))
                found = self.first + len(path) - 1
            for factor in self.factors.get(one, ()):
                path.append((made[factor], found))
                found = self.first + len(path) - 1
            made[one] = found
        return tuple(path)

    def _order(self) -> list[int]:
        """All ids, each behind what it waits for; contractions as in the path, where that is so already."""
        order: dict[int, None] = {}
        for wanted in range(self.first, len(self.labels)):
            asked = [wanted]
            while asked:
                missing = [other for other in self._needs(asked[-1]) if other not in order]
                if missing:
                    asked += missing
                else:
                    order[asked.pop()] = None
        return list(order)


def _labels(network: Network, path: Path) -> list[frozenset[int]]:
    """Of operands and contractions by id: the labels that are left, as others or the result have them."""
    terms = [frozenset(term) for term in network.terms]
    holders = holders_of((*terms, network.output), len(network.extents))
    along = labels_along(terms, holders, path)
    return [*terms, *[kept for _, kept in along]]
