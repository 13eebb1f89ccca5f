"""Steps: what is executed, one or two operands at a time, and what each costs.

A label that only one remaining operand has and the output has not is summed in the step that first reads it. Diagonals
are taken only where a label is repeated. The last step writes the order that was asked for.

The labels of an intermediate are usually in the order that the step which consumes it wants, where that costs nothing
extra. A product of matrices gives [free labels of a, free labels of b, batch labels], each group in the order of its
operand. The consumer multiplies without a copy when the labels that it sums lie together at one end, so they are moved
there: in front when they come from a alone, at the back when from b alone, and next to each other in the middle when
from both. Moving labels within a group makes the kernel copy that operand, which pays only when the operand is much
smaller than the result. Where a contraction is large, ``layouts`` then looks at the whole tree for better orders.

Costs. ``flops`` counts a multiplication and an addition as one each, whatever the dtype: 2 per product that is
summed, 1 per product that is not, and 1 per element of an operand that is summed by itself. Bytes count results only;
the operands belong to the caller.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from math import prod
from typing import Final, NamedTuple

from tensor_core.shapes import Shape
from tensor_einsum import native
from tensor_einsum.notation.label_names import RESERVED, Texts
from tensor_einsum.notation.network import Labels, Network
from tensor_einsum.search.path import Path, holders_of, labels_along
from tensor_einsum.steps.layouts import chosen_orders, reordered

_SMALLER: Final = (
    4  # measured on tensor networks: 1 and 16 do worse on some, moving always does worse on chains of bonds
)
KEEPS_CONJ: Final = frozenset(("contract", "unary_einsum", "squeeze"))
"""Steps that commute with conjugation."""
VIEWS: Final = frozenset(("squeeze", "broadcast", "reshape"))
"""Steps that take no memory: what they give shows the elements of what they read. Plans have the first alone."""


class Step(NamedTuple):
    """One kernel call.

    ``kind`` is "contract" (two operands), "unary_einsum" (one: diagonals, sums, another order, embedding) or "squeeze"
    (a view without the axes of extent 1 that broadcast; nothing is computed). Where operands are taken conjugated, also
    "conj_contract", which reads its first operand so, and "conj".
    """

    kind: str
    operands: tuple[int, ...]  # operands count from 0; the k-th step gives number n + k
    inputs: tuple[Labels, ...]
    output: Labels
    subscripts: str
    shape: Shape
    flops: int
    opt_einsum_flops: int  # as opt_einsum counts: the whole index space, times 2 if anything is summed
    bytes: int  # of the result

    @property
    def size(self) -> int:
        """Elements of the result."""
        return prod(self.shape)


def build_steps(
    network: Network, path: Path, itemsize: int, conj: Sequence[int] = (), like: Sequence[Step] = ()
) -> tuple[Step, ...]:
    """Steps of a path.

    Args:
        network: labels and extents.
        path: ids, one or two per contraction (``tensor_einsum.search.path``).
        itemsize: bytes per element of every result.
        conj: operands that are taken conjugated. A product of two such is the conjugate of the plain product, so
            conjugation is put off as long as both factors have it.
        like: steps of the same labels and path for other extents, whose orders of labels are taken; () to choose them.

    >>> from tensor_einsum.notation.reading import parse
    >>> from tensor_einsum.notation.network import resolve
    >>> network = resolve("einsum", parse("iij,jk->k"), [(2, 2, 3), (3, 4)])
    >>> [step.subscripts for step in build_steps(network, ((0, 1),), 8)]
    ['iij->j', 'j,jk->k']
    """
    steps = plain_steps(network, path, itemsize, conj)
    return in_orders(network, steps, [step.output for step in like]) if like else in_best_orders(network, steps)


def plain_steps(network: Network, path: Path, itemsize: int, conj: Sequence[int] = ()) -> tuple[Step, ...]:
    """Steps of a path with results in the usual orders of labels.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk->k", (2, 3), (3, 4))
    >>> plain_steps(p._network, ((0, 1),), 8) == p.steps
    True
    """
    steps = None
    if native.AVAILABLE and not conj and network.terms == network.inputs and RESERVED.isdisjoint(network.names):
        _, inputs, output, names, _, extents, _ = network
        steps = native.LIBRARY.build_steps(Step, inputs, output, names, extents, path, itemsize)
    if steps is None:
        steps = _Builder(network, itemsize, conj).build(path)
    return steps


def in_best_orders(network: Network, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The same steps, with results in the orders of labels that serve the whole contraction best.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk->k", (2, 3), (3, 4))
    >>> in_best_orders(p._network, p.steps) == p.steps
    True
    """
    if len(steps) == 1:  # whose result has the order that was asked for
        return steps
    orders = chosen_orders(network, steps)
    return steps if orders is None else in_orders(network, steps, orders)


def in_orders(network: Network, steps: tuple[Step, ...], orders: Sequence[Labels]) -> tuple[Step, ...]:
    """The same steps, with the labels of their results in these orders.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk->ik", (2, 3), (3, 4))
    >>> in_orders(p._network, p.steps, [p.output]) == p.steps
    True
    """
    return reordered(steps, orders, network, Texts(network.names).__getitem__)


class _Builder:
    """The terms that are left, and how many of them have each label."""

    def __init__(self, network: Network, itemsize: int, conj: Sequence[int]) -> None:
        self.network = network
        self.conjugated = {*conj}  # operands and steps whose elements stand for their conjugates
        self.itemsize = itemsize
        self.operands = len(network.inputs)
        self.text = Texts(network.names).__getitem__  # each term is asked for twice, as a result and as an operand
        self.steps: list[Step] = []
        self.terms: list[Labels] = list(network.terms)  # by id of the path
        self.slots: list[int] = list(range(len(network.inputs)))  # id of the path -> operand or step
        self.label_counts = holders_of((*network.terms, network.output), len(network.names))  # of the terms left
        if network.terms != network.inputs:
            for operand, (term, kept) in enumerate(zip(network.inputs, network.terms, strict=True)):
                if len(kept) < len(term):
                    self.slots[operand] = self._emit("squeeze", (operand,), (term,), kept, 0, 0)

    def build(self, path: Path) -> tuple[Step, ...]:
        output = self.network.output
        last = len(path) - 1  # the last contraction of two
        while last >= 0 and len(path[last]) != 2:
            last -= 1
        direct = last if len({*output}) == len(output) else -1  # the contraction that can write the result itself
        # The result of the only entry of a path has no consumer.
        consumers = Consumers(self.terms, self.label_counts, self.network.extents, path if len(path) > 1 else ())
        for position, entry in enumerate(path):
            if len(entry) == 2:
                self._contract(*entry, output if position == direct else None, consumers)
            else:
                self._reduce_one(entry[0], alone=last < 0)
        if last < 0 or self.terms[-1] != output:
            self._unary_einsum(len(self.terms) - 1, output)
        if self.slots[-1] in self.conjugated:
            self._emit("conj", (self.slots[-1],), (output,), output, self._size(output), self._size(output))
        return tuple(self.steps)

    def _reduce_one(self, one: int, alone: bool) -> None:
        """An entry of one id: sum what nothing else has, take diagonals; nothing if there is neither."""
        term = self.terms[one]
        kept = self._kept(term)
        if alone or kept == term:  # a single operand gets its one step at the end, with the output's order
            self._append(term, self.slots[one])
        else:
            self._unary_einsum(one, kept)

    def _contract(self, first: int, second: int, output: Labels | None, consumers: Consumers) -> None:
        terms = a, b = self._distinct(first), self._distinct(second)
        counts, extents = self.label_counts, self.network.extents
        for label in a:
            counts[label] -= 1
        for label in b:
            counts[label] -= 1
        free_a: list[int] = []
        free_b: list[int] = []
        batch: list[int] = []
        size = 1  # of the result
        for label in a:
            if counts[label]:
                (batch if label in b else free_a).append(label)
                size *= extents[label]
        for label in b:
            if counts[label] and label not in a:
                free_b.append(label)
                size *= extents[label]
        if output is None:
            output = consumers.arrange(len(self.terms), a, b, free_a, free_b, batch, size)
        for label in output:
            counts[label] += 1
        flops, counted = flops_of((a, b), output, extents)
        kind, slots = "contract", (self.slots[first], self.slots[second])
        if self.conjugated and (slots[0] in self.conjugated) is not (slots[1] in self.conjugated):
            kind = "conj_contract"
            if slots[1] in self.conjugated:
                slots, terms = slots[::-1], terms[::-1]
        self._append(output, self._emit(kind, slots, terms, output, flops, counted))

    def _distinct(self, one: int) -> Labels:
        """A term without repeated labels: as it is, or its diagonal, with what only it has summed."""
        term = self.terms[one]
        if one < self.operands and len({*term}) < len(term):  # results have no label twice
            self._unary_einsum(one, self._kept(term))
            # Not an id of the path: take it off the end again, in place of the term it came from.
            self.terms[one], self.slots[one] = self.terms.pop(), self.slots.pop()
        return self.terms[one]

    def _kept(self, term: Labels) -> Labels:
        """Distinct labels that another term or the output has too."""
        return tuple(label for label in dict.fromkeys(term) if self.label_counts[label] > 1)

    def _unary_einsum(self, one: int, output: Labels) -> None:
        term, counts, extents = self.terms[one], self.label_counts, self.network.extents
        for label in {*term}:
            counts[label] -= 1
        for label in {*output}:
            counts[label] += 1
        flops, counted = flops_of((term,), output, extents)
        self._append(output, self._emit("unary_einsum", (self.slots[one],), (term,), output, flops, counted))

    def _append(self, term: Labels, slot: int) -> None:
        self.terms.append(term)
        self.slots.append(slot)

    def _emit(
        self, kind: str, slots: tuple[int, ...], inputs: tuple[Labels, ...], output: Labels, flops: int, counted: int
    ) -> int:
        subscripts = f"{','.join(map(self.text, inputs))}->{self.text(output)}"
        shape = tuple(map(self.network.extents.__getitem__, output))
        size = 0 if kind == "squeeze" else prod(shape) * self.itemsize
        self.steps.append(Step(kind, slots, inputs, output, subscripts, shape, flops, counted, size))
        made = len(self.network.inputs) + len(self.steps) - 1
        if kind in KEEPS_CONJ and slots[0] in self.conjugated:
            self.conjugated.add(made)
        return made

    def _size(self, term: Labels) -> int:
        return prod(map(self.network.extents.__getitem__, term))


def flops_of(inputs: Sequence[Labels], output: Labels, extents: Sequence[int]) -> tuple[int, int]:
    """Operations of a step of one or two operands, as a plan counts them, and as opt_einsum does.

    >>> flops_of(((0, 1), (1, 2)), (0, 2), (2, 3, 4)), flops_of(((0, 1), (0, 2)), (0,), (2, 3, 4))
    ((48, 48), (16, 48))
    """
    terms, size = [{*term} for term in inputs], extents.__getitem__
    every = set[int]().union(*terms)
    summed = every.difference(output)
    both = summed.intersection(*terms) if len(terms) > 1 else set[int]()
    alone = [(term & summed) - both for term in terms]  # what each operand sums by itself
    flops = sum([prod(map(size, term)) for term, gone in zip(terms, alone, strict=True) if gone])
    if len(terms) > 1:
        flops += prod(map(size, every.difference(*alone))) * (2 if both else 1)
    return flops, prod(map(size, every)) * (2 if summed else 1)


class Consumers:
    """Which contraction consumes each term, and which one sums each label; positions in the path.

    The result of "abx,xcd" is consumed by a step that sums a and c, so these two are put next to each other:

    >>> terms, path = [(0, 1, 2), (2, 3, 4), (0, 3)], ((0, 1), (3, 2))
    >>> consumers = Consumers(terms, [2, 2, 2, 2, 2], (4, 4, 1, 4, 4), path)
    >>> consumers.arrange(3, terms[0], terms[1], [0, 1], [3, 4], [], 4**4)
    (1, 0, 3, 4)
    """

    def __init__(
        self, terms: Sequence[Labels], label_counts: Sequence[int], extents: Sequence[int], path: Path
    ) -> None:
        self.extents = extents
        self.consumer: dict[int, int] = {}
        self.summed_by: dict[int, int] = {}
        along = labels_along(terms, label_counts, path)
        for position, (entry, (gone, _)) in enumerate(zip(path, along, strict=True)):
            self.consumer.update(dict.fromkeys(entry, position))
            self.summed_by.update(dict.fromkeys(gone, position))

    def arrange(
        self, one: int, a: Labels, b: Labels, free_a: list[int], free_b: list[int], batch: list[int], size: int
    ) -> Labels:
        """Labels of the result that gets the id given, of so many elements, from distinct labels ``a`` and ``b``.

        They are those that only a has, only b, and both, each in the order of its operand; the lists are used up.
        """
        consumer = self.consumer.get(one)
        if consumer is not None:
            summed_by = self.summed_by.get
            of_a = [label for label in free_a if summed_by(label) == consumer]
            of_b = [label for label in free_b if summed_by(label) == consumer]
            # Sorting is stable, and False comes first; where all or none are summed, it changes nothing.
            if 0 < len(of_a) < len(free_a) and _SMALLER * self._size(a) <= size:
                last = bool(of_b)
                free_a.sort(key=lambda label: (label in of_a) is last)
            if 0 < len(of_b) < len(free_b) and _SMALLER * self._size(b) <= size:
                first = not of_a
                free_b.sort(key=lambda label: (label in of_b) is first)
        return (*free_a, *free_b, *batch)

    def _size(self, labels: Sequence[int]) -> int:
        return prod([self.extents[label] for label in labels])


def numbered(terms: tuple[Labels, ...]) -> tuple[Labels, ...]:
    """Labels by number of first occurrence, so that equal steps share a kernel.

    >>> numbered(((7, 3), (3, 9), (7, 9)))
    ((0, 1), (1, 2), (0, 2))
    """
    numbers: dict[int, int] = {}
    for label in chain.from_iterable(terms):
        numbers.setdefault(label, len(numbers))
    number = numbers.__getitem__
    if len(terms) == 3:  # a product; a comprehension would be another call
        a, b, c = terms
        return tuple(map(number, a)), tuple(map(number, b)), tuple(map(number, c))
    return tuple([tuple(map(number, term)) for term in terms])


def peak_bytes(
    steps: Sequence[Step],
    operands: int,
    workspaces: Sequence[int] | None = None,
    *,
    runs: Sequence[bool] | None = None,
    keep: Collection[int] = (),
) -> int:
    """The most bytes of intermediates and result alive at once; the caller's operands are not counted.

    A step holds its inputs and its result; its inputs are freed as soon as it is done. ``workspaces`` has what each
    step takes besides, in bytes, while it runs; ``runs`` says which steps are executed at all, and ``keep`` has the
    numbers of results that stay.

    >>> from tensor_einsum import plan
    >>> peak_bytes(plan("ij,jk,kl", (2, 3), (3, 4), (4, 5), optimize=False).steps, 3)  # (2 * 4 + 2 * 5) * 8
    144
    """
    live: dict[int, int] = {}
    now = peak = 0
    for number, step in enumerate(steps, operands):
        if runs is not None and not runs[number - operands]:
            continue
        live[number] = step.bytes
        now += step.bytes
        peak = max(peak, now + (workspaces[number - operands] if workspaces else 0))
        for slot in step.operands:
            if slot not in keep:
                now -= live.pop(slot, 0)
    return peak
