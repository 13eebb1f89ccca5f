"""Steps: what is executed, one or two operands at a time, and what each costs.

A label that only one remaining operand bears and the output does not is summed in the step that first reads it.
Diagonals are taken only where a label is repeated. The last step writes the order that was asked for.

Costs. ``flops`` counts a multiplication and an addition as one each, whatever the dtype: 2 per product that is
summed, 1 per product that is not, and 1 per element of an operand that is summed by itself. Bytes count results only;
the operands belong to the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from tensor_einsum.extents import Labels, Network, Shape
from tensor_einsum.notation import single_characters
from tensor_einsum.ordering import Readers
from tensor_einsum.path import Path


class Step(NamedTuple):
    """One kernel call.

    ``kind`` is "contract" (two operands), "unary_einsum" (one: diagonals, sums, another order, embedding) or "squeeze"
    (a view without the axes of extent 1 that broadcast; nothing is computed).
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


def build_steps(network: Network, path: Path, itemsize: int) -> tuple[Step, ...]:
    """Steps of a path.

    Args:
        network: labels and extents.
        path: ids, one or two per contraction (``tensor_einsum.path``).
        itemsize: bytes per element of every result.

    >>> from tensor_einsum.notation import parse
    >>> from tensor_einsum.extents import resolve
    >>> network = resolve("einsum", parse("iij,jk->k"), [(2, 2, 3), (3, 4)])
    >>> [step.subscripts for step in build_steps(network, ((0, 1),), 8)]
    ['iij->j', 'j,jk->k']
    """
    return _Builder(network, itemsize).build(path)


class _Builder:
    """The terms that are left, and how many of them bear each label."""

    def __init__(self, network: Network, itemsize: int) -> None:
        self.network = network
        self.itemsize = itemsize
        self.single = single_characters(network.names)
        self.steps: list[Step] = []
        self.terms: list[Labels] = list(network.inputs)  # by id of the path
        self.slots: list[int] = list(range(len(network.inputs)))  # id of the path -> operand or step
        self.bearers = [0] * len(network.names)  # terms left with this label, and the output
        for operand, term in enumerate(network.inputs):
            axes = network.kept_axes(operand)
            if len(axes) < len(term):
                self.terms[operand] = kept = tuple(term[axis] for axis in axes)
                self.slots[operand] = self._emit("squeeze", (operand,), (term,), kept, 0, 0)
        for term in self.terms:
            self._bear(term, 1)
        self._bear(network.output, 1)

    def build(self, path: Path) -> tuple[Step, ...]:
        output = self.network.output
        pairs = [position for position, entry in enumerate(path) if len(entry) == 2]
        last = pairs[-1] if pairs else -1
        distinct = len(set(output)) == len(output)
        readers = Readers(self.terms, self.bearers, self.network.extents, path)
        for position, entry in enumerate(path):
            if len(entry) == 2:
                self._contract(*entry, output if distinct and position == last else None, readers)
            else:
                self._reduce_one(entry[0], alone=not pairs)
        term = self.terms[-1]
        if not pairs or term != output:
            self._unary_einsum(len(self.terms) - 1, output)
        return tuple(self.steps)

    def _reduce_one(self, one: int, alone: bool) -> None:
        """An entry of one id: sum what nobody else bears, take diagonals; nothing if there is neither."""
        term = self.terms[one]
        kept = self._kept(term)
        if alone or kept == term:  # a single operand gets its one step at the end, with the output's order
            self._append(term, self.slots[one])
        else:
            self._unary_einsum(one, kept)

    def _contract(self, first: int, second: int, output: Labels | None, readers: Readers) -> None:
        a, b = self._distinct(first), self._distinct(second)
        terms = self.terms[a], self.terms[b]
        self._bear(terms[0], -1)
        self._bear(terms[1], -1)
        in_a, in_b = set(terms[0]), set(terms[1])
        bearers, extents = self.bearers, self.network.extents
        if output is None:
            kept = {label for label in in_a | in_b if bearers[label]}
            output = readers.arrange(len(self.terms), terms[0], terms[1], kept)
        self._bear(output, 1)
        kept = set(output)
        shared = in_a & in_b
        summed = shared - kept
        alone_a, alone_b = in_a - shared - kept, in_b - shared - kept
        space = prod([extents[label] for label in kept | summed])
        flops = space * (2 if summed else 1)
        whole = space
        for term, alone in ((terms[0], alone_a), (terms[1], alone_b)):
            if alone:
                flops += prod([extents[label] for label in term])
                whole *= prod([extents[label] for label in alone])
        slots = self.slots[a], self.slots[b]
        counted = whole * (2 if summed or alone_a or alone_b else 1)
        self._append(output, self._emit("contract", slots, terms, output, flops, counted))

    def _distinct(self, one: int) -> int:
        """The id of a term without repeated labels: itself, or its diagonal, with what only it bears summed."""
        term = self.terms[one]
        if len(set(term)) == len(term):
            return one
        self._unary_einsum(one, self._kept(term))
        # Not an id of the path: take it off the end again, in place of the term it came from.
        self.terms[one], self.slots[one] = self.terms.pop(), self.slots.pop()
        return one

    def _kept(self, term: Labels) -> Labels:
        """Distinct labels that another term or the output bears too."""
        return tuple(label for label in dict.fromkeys(term) if self.bearers[label] > 1)

    def _unary_einsum(self, one: int, output: Labels) -> None:
        term, extents = self.terms[one], self.network.extents
        diagonal = prod([extents[label] for label in set(term)])
        summed = set(term) - set(output)
        flops = diagonal if summed else 0
        self._bear(term, -1)
        self._bear(output, 1)
        self._append(
            output,
            self._emit("unary_einsum", (self.slots[one],), (term,), output, flops, diagonal * (2 if summed else 1)),
        )

    def _append(self, term: Labels, slot: int) -> None:
        self.terms.append(term)
        self.slots.append(slot)

    def _bear(self, term: Labels, change: int) -> None:
        for label in set(term):
            self.bearers[label] += change

    def _emit(
        self, kind: str, slots: tuple[int, ...], inputs: tuple[Labels, ...], output: Labels, flops: int, counted: int
    ) -> int:
        extents = self.network.extents
        shape = tuple([extents[label] for label in output])
        size = 0 if kind == "squeeze" else prod(shape) * self.itemsize
        shown = f"{','.join([self._written(term) for term in inputs])}->{self._written(output)}"
        self.steps.append(Step(kind, slots, inputs, output, shown, shape, flops, counted, size))
        return len(self.network.inputs) + len(self.steps) - 1

    def _written(self, labels: Labels) -> str:
        names = self.network.names
        shown = [names[label] for label in labels]
        return "".join(shown) if self.single else f"[{' '.join(shown)}]"


def peak_bytes(steps: Sequence[Step], operands: int, workspaces: Sequence[int] | None = None) -> int:
    """The most bytes of intermediates and result alive at once; the caller's operands are not counted.

    A step holds its inputs and its result; its inputs are freed as soon as it is done. ``workspaces`` has what each
    step takes besides, in bytes, while it runs.

    >>> from tensor_einsum import plan
    >>> peak_bytes(plan("ij,jk,kl", (2, 3), (3, 4), (4, 5), optimize=False).steps, 3)  # (2 * 4 + 2 * 5) * 8
    144
    """
    live: dict[int, int] = {}
    now = peak = 0
    for number, step in enumerate(steps, operands):
        live[number] = step.bytes
        now += step.bytes
        peak = max(peak, now + (workspaces[number - operands] if workspaces else 0))
        for slot in step.operands:
            now -= live.pop(slot, 0)
    return peak
