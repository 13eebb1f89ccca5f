"""Which labels are cut so that a contraction along a given path keeps a limit, with the least added work.

Cutting a label divides the size of every tensor that has it, and repeats the work of steps that do not: labels are
taken one by one, each time the one that adds the fewest flops for what it takes off the memory above the limit. A few
tries, of which all but the first look past the best label now and then, end with the cheapest choice; then cuts that
are no longer needed are undone, and parts are made as long as the limit allows.

The same question always has the same answer: random numbers are seeded. Only where a caller says that it is late, there
are no more tries, fewer labels are looked at, and cuts that are not needed stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import log, prod
from random import Random
from typing import Final

from tensor_einsum.notation.network import Network
from tensor_einsum.slices.cutting import Cuts, ordered_cuts
from tensor_einsum.steps.steps import Step

_TRIES: Final = 6
_WORK: Final = 3_000_000  # steps looked at, over all tries: about a second

_LOOKED_AT: Final = 50_000
"""Steps looked at for each cut: of large networks only the labels are tried that take most off the results."""
_LOOKED_AT_LATE: Final = 5_000

_UNEVEN: Final = 3
"""Labels whose last part may be shorter: each doubles the kinds of slices, which all have kernels of their own."""

Parts = dict[int, int]
"""Labels that are cut, each with the extent of its parts."""


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

    def lives(self, parts: Parts, sizes: Sequence[int], varies: Sequence[int]) -> list[int]:
        """Bytes that are alive in every step, beside the operands: of the shared steps, then of those of a slice."""
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
        return _total(self._slices(parts), self._step_flops(parts), self.varies(parts))

    def flops_with(self, parts: Parts, labels: Iterable[int]) -> dict[int, int]:
        """The same with one more label cut into parts of one, for each of these labels."""
        slices, flops, below = self._slices(parts), self._step_flops(parts), self._below(parts)
        found = {}
        for label in labels:
            extent, own = self.network.extents[label], [*flops]
            for place in self.touched[label]:
                own[place] //= extent
            found[label] = _total(slices * extent, own, self._each(below | self.under[label]))
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


def _never() -> bool:
    return False


def find_cuts(model: Model, limit: int, start: Cuts = (), late: Callable[[], bool] = _never) -> Cuts | None:
    """Cuts with which the model keeps a limit in bytes; None where no cuts do.

    Args:
        model: of the whole contraction.
        limit: bytes beside the operands.
        start: cuts to begin with, as a search has found them.
        late: says whether time is up, so that cuts that keep the limit have to do as they are.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk,kl->il", (8, 8), (8, 8), (8, 8))
    >>> find_cuts(Model(p._network, p.steps, 8, [0.0, 0.0]), 850)
    ((0, 2),)
    """
    network = model.network
    candidates = [label for label in dict.fromkeys(_all_labels(network)) if network.extents[label] > 1]
    first = {label: part for label, part in start if part < network.extents[label]}
    if model.peak(first) > limit and model.peak({**dict.fromkeys(candidates, 1), **first}) > limit:
        first = {}
        if model.peak(dict.fromkeys(candidates, 1)) > limit:
            return None
    best: Parts | None = None
    least = work = 0
    known: set[frozenset[tuple[int, int]]] = set()
    for seed in range(_TRIES):
        parts, looked = _descend(model, limit, dict(first), candidates, Random(seed) if seed else None, late)
        work += looked
        chosen = frozenset(parts.items())
        if chosen not in known:  # few cuts behind those to begin with are often the same ones again
            known.add(chosen)
            work += 3 * len(parts) * len(model.steps)
            _relax(model, limit, parts, late)
            flops = model.flops(parts)
            if best is None or flops < least:
                best, least = parts, flops
        if work * _TRIES > _WORK * (seed + 1) or not looked or late():
            break
    assert best is not None  # the first try ends with every label cut, if need be
    return ordered_cuts(network, tuple(best.items()))


def _all_labels(network: Network) -> list[int]:
    return [label for term in network.terms for label in term]


def _descend(
    model: Model,
    limit: int,
    parts: Parts,
    candidates: Sequence[int],
    chance: Random | None,
    late: Callable[[], bool],
) -> tuple[Parts, int]:
    """Cut one label after the other until the limit is kept; also how many steps were looked at."""
    looked = 0
    sizes, varies = model.sizes(parts), model.varies(parts)
    while True:
        lives = model.lives(parts, sizes, varies)
        looked += len(lives)
        over = _excess(lives, limit)
        if over <= 0:
            return parts, looked
        flops = log(max(model.flops(parts), 1))
        scores: list[tuple[float, int]] = []
        uncut = [label for label in candidates if label not in parts]
        labels: Sequence[int]
        if late():
            labels = _in_the_way(model, limit, sizes, lives, varies, uncut)[: max(_LOOKED_AT_LATE // len(sizes), 1)]
        else:
            labels = _heaviest(model, sizes, uncut, max(_LOOKED_AT // len(sizes), 1))
        for label, more in model.flops_with(parts, labels).items():
            tried = {**parts, label: 1}
            smaller = model.scaled(sizes, label, 1)
            if smaller == sizes:
                continue
            then = model.lives(tried, smaller, model.varies(tried))
            gain = log(limit + 1 + over) - log(limit + 1 + _excess(then, limit))
            looked += 2 * len(then)
            if gain > 1e-12:
                scores.append(((max(log(max(more, 1)) - flops, 0.0) + 1e-6) / gain, label))
        scores.sort()
        place = 0
        while chance is not None and place + 1 < len(scores) and chance.random() < 0.3:
            place += 1
        if scores:
            label = scores[place][1]
        else:  # several tensors are as large, or parts are too long
            longer = [label for label in candidates if parts.get(label) != 1]
            label = _in_the_way(model, limit, sizes, lives, varies, longer)[0]
        parts[label] = 1
        sizes, varies = model.sizes(parts), model.varies(parts)


def _heaviest(model: Model, sizes: Sequence[int], labels: Sequence[int], most: int) -> Sequence[int]:
    """The labels whose results have most bytes together, in their order; as many as may be looked at."""
    if len(labels) <= most:
        return labels
    held = {label: sum([sizes[place] for place in model.written[label]]) for label in labels}
    chosen = {*sorted(labels, key=lambda label: -held[label])[:most]}
    return [label for label in labels if label in chosen]


def _in_the_way(
    model: Model, limit: int, sizes: Sequence[int], lives: Sequence[int], varies: Sequence[int], labels: Sequence[int]
) -> list[int]:
    """The labels, those first of which steps above the limit write and read most, then all steps do."""
    operands = len(model.network.inputs)
    near: set[int] = set()
    for place, live in zip(sorted(range(len(varies)), key=varies.__getitem__), lives, strict=True):  # as in lives()
        if live > limit:
            near.update((place, *(one - operands for one in model.steps[place].operands if one >= operands)))

    def held(label: int) -> tuple[int, int]:
        places = model.written[label]
        return sum([sizes[place] for place in places if place in near]), sum([sizes[place] for place in places])

    return sorted(labels, key=held, reverse=True)


def _excess(lives: Sequence[int], limit: int) -> int:
    """Bytes above the limit, summed over the steps that are: falls with every step that comes nearer to it."""
    return sum([live - limit for live in lives if live > limit])


def _relax(model: Model, limit: int, parts: Parts, late: Callable[[], bool]) -> None:
    """Undo cuts that are not needed, the costliest first, then make parts as long as the limit allows."""
    extents, sizes = model.network.extents, model.sizes(parts)
    flops = model.flops_without(parts)
    for label in sorted(parts, key=flops.__getitem__):
        if late():
            break
        larger = model.scaled(sizes, label, extents[label], parts[label])
        rest = {one: part for one, part in parts.items() if one != label}
        if _keeps(model, limit, rest, larger, label):
            del parts[label]
            sizes = larger
    uneven = 0
    for label in sorted(parts, key=lambda label: -extents[label]):
        extent = extents[label]
        fewest, most = 2, extent  # slices along the label
        uncut = model.scaled(sizes, label, extent, parts[label])
        while fewest < most:
            middle = (fewest + most) // 2
            part = -(-extent // middle)
            if _keeps(model, limit, {**parts, label: part}, model.scaled(uncut, label, part), label):
                most = middle
            else:
                fewest = middle + 1
        part = -(-extent // most)
        if extent % part and uneven == _UNEVEN:
            part = next(extent // count for count in range(most, extent + 1) if extent % count == 0)
        uneven += extent % part > 0
        parts[label] = part
        sizes = model.scaled(uncut, label, part)


def _keeps(model: Model, limit: int, parts: Parts, sizes: Sequence[int], grown: int) -> bool:
    """Whether a limit is kept still by cuts and the sizes of what they leave, one label of which has longer parts."""
    if model.least(sizes, model.written[grown]) > limit:  # as a rule
        return False
    return max(model.lives(parts, sizes, model.varies(parts))) <= limit
