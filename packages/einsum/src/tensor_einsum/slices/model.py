"""What a path takes when labels of it are cut: memory and flops for any cuts, by labels and extents alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from math import prod
from typing import Final

from tensor_einsum import native
from tensor_einsum.notation.network import Network
from tensor_einsum.steps.steps import Step

Parts = dict[int, int]
"""Labels that are cut, each with the extent of its parts."""

_NATIVE: Final = 1 << 62  # bytes that the extension counts
_LEADING: Final = 40  # bits of larger sizes; sums over as many steps as there may be fit 64
_WIDE: Final = 10  # times as long Python takes to look at a step


class Model:
    """Memory and flops of a path for any cuts, by labels and extents alone.

    Args:
        network: of the whole contraction.
        steps: of the whole contraction, along the path.
        itemsize: bytes per element.
        shares: of every step, the workspace of its kernel as a share of the bytes that it reads and writes.
        shared: whether what all slices share is computed once, and kept for them; else each computes everything.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk,kl->il", (8, 8), (8, 8), (8, 8))
    >>> model = Model(p._network, p.steps, 8, [0.0, 0.0])
    >>> model.peak({}), model.peak({0: 1}), model.flops({}) < model.flops({0: 1, 3: 1})
    (1024, 640, True)
    """

    def __init__(
        self, network: Network, steps: Sequence[Step], itemsize: int, shares: list[float], shared: bool = True
    ) -> None:
        self.network = network
        self.shared = shared
        self.steps = steps
        self.shares = shares
        self.itemsize = itemsize
        self.looked = 0
        """Steps that were looked at so far, for memory or flops."""
        self.result = prod(network.extents[label] for label in network.output) * itemsize
        labels = range(len(network.extents))
        below = [{*term} for term in network.terms]
        for step in steps:
            below.append(set().union(*[below[operand] for operand in step.operands]))
        self.written: list[list[int]] = [[] for _ in labels]
        self.touched: list[list[int]] = [[] for _ in labels]
        """By label: the steps whose result has it; those of which an operand has it."""
        under = [bytearray(len(steps)) for _ in labels]
        for place, step in enumerate(steps):
            for label in {*step.output}:
                self.written[label].append(place)
            for label in {label for term in step.inputs for label in term}:
                self.touched[label].append(place)
            for label in below[len(network.inputs) + place]:
                under[label][place] = 1
        self.under = [int.from_bytes(steps_below, "little") for steps_below in under]
        """By label: whether anything below a step has it, a byte for each step, as one number."""
        self._path = (
            len(network.terms),
            tuple([step.operands for step in steps]),
            tuple([step.inputs for step in steps]),
            tuple(self.written),
            tuple(map(bytes, under)),
            itemsize,
            self.result,
            shared,
        )
        """All of that, as the extension reads it."""

    def sizes(self, parts: Parts) -> list[int]:
        """Bytes of every step's result."""
        found = [step.bytes for step in self.steps]
        for label, part in parts.items():
            extent = self.network.extents[label]
            for place in self.written[label]:
                found[place] = found[place] // extent * part
        return found

    def scaled(self, sizes: Sequence[int], label: int, part: int, before: int | None = None) -> list[int]:
        """Sizes, when a label is cut into parts of an extent; ``before`` is that of its parts so far, if it has any."""
        self.looked += len(sizes)
        extent, found = before or self.network.extents[label], [*sizes]
        for place in self.written[label]:
            found[place] = found[place] // extent * part
        return found

    def varies(self, parts: Iterable[int]) -> bytes:
        """Of every step, whether each slice has its own where these labels are cut."""
        return self._each(self._below(parts))

    def _below(self, parts: Iterable[int]) -> int:
        found = 0
        for label in parts:
            found |= self.under[label]
        return found

    def _each(self, below: int) -> bytes:
        return below.to_bytes(len(self.steps), "little") if self.shared else b"\1" * len(self.steps)

    def lives(self, parts: Parts, sizes: list[int], varies: bytes) -> list[int]:
        """Bytes that are alive in every step, beside the operands: of the shared steps, then of those of a slice."""
        self.looked += len(sizes) * (_WIDE if max(self.result, *sizes) >= _NATIVE else 1)
        if native.AVAILABLE:
            extents = self._extents(parts)
            lives = native.LIBRARY.lives(self._path, sizes, varies, extents, self.shares, bool(parts))
            if lives is not None:
                return lives
        operands = len(self.network.inputs)
        read = {operand for step, own in zip(self.steps, varies, strict=True) if own for operand in step.operands}
        found: list[int] = []
        held = now = 0
        for phase in (0, 1):
            alive: dict[int, int] = {}
            if phase:
                now = held + (self.result if parts else 0)
            for place, own in enumerate(varies):
                if own != phase:
                    continue
                size = sizes[place]
                now += size
                found.append(now + self._workspace(place, size, parts) if self.shares[place] else now)
                if not phase and place + operands in read:
                    held += size
                else:
                    alive[place + operands] = size
                for operand in self.steps[place].operands:
                    now -= alive.pop(operand, 0)
        return found

    def excesses(
        self, parts: Parts, sizes: list[int], varies: bytes, labels: Sequence[int], limit: int
    ) -> list[int | None]:
        """Bytes above the limit in all steps together, with one of these labels cut into parts of one besides.

        None where that makes no result smaller. Of sizes beyond 64 bits the leading ones count.
        """
        self.looked += len(sizes) * len(labels)
        widest = max(self.result, *sizes)
        if widest >= _NATIVE:
            bits = widest.bit_length() - _LEADING
            leading = [size >> bits for size in sizes]
            units = self._in_units_of(bits).excesses(parts, leading, varies, labels, limit >> bits)
            return [None if one is None else one << bits for one in units]
        if native.AVAILABLE and limit < 1 << 62:
            extents = self._extents(parts)
            found = native.LIBRARY.excesses(self._path, sizes, varies, extents, self.shares, limit, labels)
            if found is not None:
                return found
        return [self._excess_with(parts, sizes, label, limit) for label in labels]

    def _in_units_of(self, bits: int) -> Model:
        """The same in units of so many bits, without workspaces."""
        model = copy(self)
        model.result, model.shares = self.result >> bits, [0.0] * len(self.steps)
        model._path = (*self._path[:6], model.result, self.shared)
        return model

    def _excess_with(self, parts: Parts, sizes: list[int], label: int, limit: int) -> int | None:
        smaller = self.scaled(sizes, label, 1)
        if smaller == sizes:
            return None
        tried = {**parts, label: 1}
        return excess(self.lives(tried, smaller, self.varies(tried)), limit)

    def _extents(self, parts: Parts) -> list[int]:
        return [parts.get(label, extent) for label, extent in enumerate(self.network.extents)]

    def _workspace(self, place: int, size: int, parts: Parts) -> int:
        extents = self.network.extents
        total = size
        for term in self.steps[place].inputs:
            total += self.itemsize * prod([parts.get(label, extents[label]) for label in term])
        return int(self.shares[place] * total)

    def least(self, sizes: Sequence[int], places: Iterable[int]) -> int:
        """What no peak is below: the most bytes that one of these steps writes and reads, beside the operands."""
        operands, most = len(self.network.inputs), 0
        for place in places:
            size = sizes[place]
            for operand in self.steps[place].operands:
                if operand >= operands:
                    size += sizes[operand - operands]
            most = max(most, size)
        return most

    def peak(self, parts: Parts) -> int:
        """The most bytes at once."""
        return max(self.lives(parts, self.sizes(parts), self.varies(parts)))

    def flops(self, parts: Parts) -> int:
        """Flops of all slices; an int, as floats end at 2^1024."""
        self.looked += len(self.steps)
        return _total(self._slices(parts), self._step_flops(parts), self.varies(parts))

    def flops_with(self, parts: Parts, labels: Iterable[int]) -> dict[int, int]:
        """The same with one more label cut into parts of one, for each of these labels."""
        slices, flops, below = self._slices(parts), self._step_flops(parts), self._below(parts)
        self.looked += len(flops)
        found = {}
        for label in labels:
            extent, own = self.network.extents[label], [*flops]
            for place in self.touched[label]:
                own[place] //= extent
            found[label] = _total(slices * extent, own, self._each(below | self.under[label]))
            self.looked += len(flops)
        return found

    def flops_without(self, parts: Parts) -> dict[int, int]:
        """The same with one cut fewer, for each of them."""
        slices, flops = self._slices(parts), self._step_flops(parts)
        after = [0]  # what has any of the last cuts below it
        for label in reversed(parts):
            after.append(after[-1] | self.under[label])
        found, before = {}, 0
        for place, (label, part) in enumerate(parts.items(), 1):
            extent, own = self.network.extents[label], [*flops]
            for touched in self.touched[label]:
                own[touched] = own[touched] * extent // part
            below = before | after[len(parts) - place]
            found[label] = _total(slices // -(-extent // part), own, self._each(below))
            before |= self.under[label]
        return found

    def _slices(self, parts: Parts) -> int:
        return prod([-(-self.network.extents[label] // part) for label, part in parts.items()])

    def _step_flops(self, parts: Parts) -> list[int]:
        """Of every step, in one slice."""
        found = [step.flops for step in self.steps]
        for label, part in parts.items():
            extent = self.network.extents[label]
            for place in self.touched[label]:
                found[place] = found[place] * part // extent
        return found


def _total(slices: int, flops: Sequence[int], varies: Sequence[int]) -> int:
    shared = sum([one for one, own in zip(flops, varies, strict=True) if not own])
    return shared + slices * (sum(flops) - shared)


def excess(lives: Sequence[int], limit: int) -> int:
    """Bytes above the limit, summed over the steps that are: falls with every step that comes nearer to it.

    >>> excess([3, 5, 9], 4)
    6
    """
    return sum([live - limit for live in lives if live > limit])
