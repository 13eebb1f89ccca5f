"""Which labels are cut so that a contraction along a given path keeps a limit, with the least added work.

Cutting a label divides the size of every tensor that has it, and repeats the work of steps that do not: labels are
taken one by one, each time the one that adds the fewest flops for what it takes off the memory above the limit. A few
tries, of which all but the first look past the best label now and then, end with the cheapest choice; then cuts that
are no longer needed are undone, and parts are made as long as the limit allows.

The same question always has the same answer: random numbers are seeded, and work is counted. A try that has looked at
many steps looks at fewer labels from then on, and one that has looked at very many cuts several at once. Only where a
caller says that it is late, so does every try, there are no more of them, and cuts that are not needed stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from math import log
from random import Random
from typing import Final

from tensor_einsum.notation.network import Network
from tensor_einsum.slices.cutting import Cuts, ordered_cuts
from tensor_einsum.slices.model import Model, Parts, excess

_TRIES: Final = 6
_WORK: Final = 3_000_000  # steps looked at, over all tries: about a second

_LOOKED_AT: Final = 50_000
"""Steps looked at for each cut: of large networks only the labels are tried that take most off the results."""
_LOOKED_AT_LATE: Final = 5_000
"""The same where a caller is late, and in a try that has looked at many."""
_LOOKED_AT_WELL: Final = 500_000
"""Steps looked at in one try, after which it looks at fewer labels."""
_LOOKED_AT_MOST: Final = 3_000_000
"""The same, after which it looks at no label, but cuts those that are most in the way."""
_AT_ONCE: Final = 6
"""Of the labels that are left then, one in so many is cut at once."""

MOST_WORK: Final = 40
"""Bits of work that slices may add: a limit that takes more is none that a contraction can keep."""

_UNDONE: Final = 1000
"""Bits of work beyond that up to which cuts are followed, as undoing some of them takes off much of it."""

_COUNTED: Final = 1 << 16  # numbers of slices that are tried for even ones
_UNEVEN: Final = 3
"""Labels whose last part may be shorter: each doubles the kinds of slices, which all have kernels of their own."""


def _never() -> bool:
    return False


def find_cuts(
    model: Model,
    limit: int,
    start: Cuts = (),
    late: Callable[[], bool] = _never,
    over: Callable[[], bool] = _never,
    tries: int = _TRIES,
) -> Cuts | None:
    """Cuts with which the model keeps a limit in bytes; None where no cuts do that are worth the work.

    Args:
        model: of the whole contraction.
        limit: bytes beside the operands.
        start: cuts to begin with, as a search has found them.
        late: says whether time is up, so that cuts that keep the limit have to do as they are, if they are worth it.
        over: says whether even one try takes too long, so that several labels are cut at once.
        tries: the most.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk,kl->il", (8, 8), (8, 8), (8, 8))
    >>> find_cuts(Model(p._network, p.steps, 8, [0.0, 0.0]), 850)
    ((0, 2),)
    """
    network = model.network
    candidates = _candidates(network)
    first = {label: part for label, part in start if part < network.extents[label]}
    if model.peak(first) > limit and model.peak({**dict.fromkeys(candidates, 1), **first}) > limit:
        first = {}
        if model.peak(dict.fromkeys(candidates, 1)) > limit:
            return None
    best: Parts | None = None
    least = work = 0
    known: set[frozenset[tuple[int, int]]] = set()
    for seed in range(tries):
        parts, looked = _descend(model, limit, dict(first), candidates, Random(seed) if seed else None, late, over)
        work += looked
        chosen = frozenset(parts.items()) if parts is not None else frozenset()
        if parts is not None and chosen not in known:  # few cuts behind those to begin with are often the same again
            known.add(chosen)
            work += 3 * len(parts) * len(model.steps)
            _relax(model, limit, parts, late)
            flops = model.flops(parts)
            if best is None or flops < least:
                best, least = parts, flops
        if work * _TRIES > _WORK * (seed + 1) or not looked or late():
            break
    if best is not None and is_worth(model.flops({}), least):
        return ordered_cuts(network, tuple(best.items()))
    if not late() or over():
        return None
    return find_cuts(model, limit, start, over, over, tries=1)  # one that takes its time


def find_least(model: Model, over: Callable[[], bool] = _never) -> tuple[Cuts, int]:
    """Cuts that take memory down, one label after the other, as far as they are worth the work.

    Also a number of bytes below which no cuts keep the model.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk,kl->il", (8, 8), (8, 8), (8, 8))
    >>> find_least(Model(p._network, p.steps, 8, [0.0, 0.0]))
    (((0, 1), (3, 1), (2, 1)), 528)
    """
    candidates = _candidates(model.network)
    limit, whole = model.peak(dict.fromkeys(candidates, 1)), model.flops({})
    parts: Parts = {}
    while not over():
        label, _ = _next_cut(model, limit, parts, candidates, None, hurried=True)
        if label is None:
            break
        if not is_worth(whole, model.flops({**parts, label: 1})):
            break
        parts[label] = 1
    return ordered_cuts(model.network, tuple(parts.items())), limit


def is_worth(flops: int, cut: int) -> bool:
    """Whether slices that take ``cut`` flops in place of so many may be run: there are times that nobody waits for.

    >>> is_worth(1000, 10**15), is_worth(1000, 10**16)
    (True, False)
    """
    return cut <= max(flops, 1) << MOST_WORK


def _candidates(network: Network) -> list[int]:
    """The labels that can be cut, in the order of the terms."""
    return [label for label in dict.fromkeys(chain(*network.terms)) if network.extents[label] > 1]


def _descend(
    model: Model,
    limit: int,
    parts: Parts,
    candidates: Sequence[int],
    chance: Random | None,
    late: Callable[[], bool],
    over: Callable[[], bool],
) -> tuple[Parts | None, int]:
    """Cut one label after the other until the limit is kept; also how many steps were looked at.

    None where so much work is added that undoing some cuts does not help.
    """
    looked, most = 0, model.flops({}) << _UNDONE
    while is_worth(most, model.flops(parts)):
        if looked > _LOOKED_AT_MOST or over():
            return _descend_at_once(model, limit, parts, candidates), looked
        label, more = _next_cut(model, limit, parts, candidates, chance, looked > _LOOKED_AT_WELL or late())
        looked += more
        if label is None:
            return parts, looked
        parts[label] = 1
    return None, looked


def _descend_at_once(model: Model, limit: int, parts: Parts, candidates: Sequence[int]) -> Parts:
    """Cut those labels that are most in the way, several at once, until the limit is kept, as it is by all of them."""
    while True:
        sizes, varies = model.sizes(parts), model.varies(parts)
        lives = model.lives(parts, sizes, varies)
        longer = [label for label in candidates if parts.get(label) != 1]
        if not longer or max(lives) <= limit:
            return parts
        first = _in_the_way(model, limit, sizes, lives, varies, longer)[: -(-len(longer) // _AT_ONCE)]
        parts.update(dict.fromkeys(first, 1))


def _next_cut(
    model: Model, limit: int, parts: Parts, candidates: Sequence[int], chance: Random | None, hurried: bool
) -> tuple[int | None, int]:
    """The label to cut besides, None where the limit is kept; and how many steps were looked at."""
    sizes, varies = model.sizes(parts), model.varies(parts)
    lives = model.lives(parts, sizes, varies)
    over = excess(lives, limit)
    if over <= 0:
        return None, len(lives)
    flops = log(max(model.flops(parts), 1))
    scores: list[tuple[float, int]] = []
    uncut = [label for label in candidates if label not in parts]
    labels: Sequence[int]
    if hurried:
        labels = _in_the_way(model, limit, sizes, lives, varies, uncut)[: max(_LOOKED_AT_LATE // len(sizes), 1)]
    else:
        labels = _heaviest(model, sizes, uncut, max(_LOOKED_AT // len(sizes), 1))
    left = model.excesses(parts, sizes, varies, labels, limit)
    for (label, more), then in zip(model.flops_with(parts, labels).items(), left, strict=True):
        gain = 0.0 if then is None else log(limit + 1 + over) - log(limit + 1 + then)
        if gain > 1e-12:
            scores.append(((max(log(max(more, 1)) - flops, 0.0) + 1e-6) / gain, label))
    scores.sort()
    looked, place = (1 + 2 * len(labels)) * len(sizes), 0
    while chance is not None and place + 1 < len(scores) and chance.random() < 0.3:
        place += 1
    if scores:
        return scores[place][1], looked
    # Several tensors are as large, or parts are too long.
    longer = [label for label in candidates if parts.get(label) != 1]
    return _in_the_way(model, limit, sizes, lives, varies, longer)[0], looked


def _heaviest(model: Model, sizes: Sequence[int], labels: Sequence[int], most: int) -> Sequence[int]:
    """The labels whose results have most bytes together, in their order; as many as may be looked at."""
    if len(labels) <= most:
        return labels
    held = {label: sum([sizes[place] for place in model.written[label]]) for label in labels}
    chosen = {*sorted(labels, key=lambda label: -held[label])[:most]}
    return [label for label in labels if label in chosen]


def _in_the_way(
    model: Model, limit: int, sizes: Sequence[int], lives: Sequence[int], varies: bytes, labels: Sequence[int]
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
            counts = range(most, min(extent, most + _COUNTED) + 1)
            part = next((extent // count for count in counts if extent % count == 0), 1)
        uneven += extent % part > 0
        parts[label] = part
        sizes = model.scaled(uncut, label, part)


def _keeps(model: Model, limit: int, parts: Parts, sizes: list[int], grown: int) -> bool:
    """Whether a limit is kept still by cuts and the sizes of what they leave, one label of which has longer parts."""
    if model.least(sizes, model.written[grown]) > limit:  # as a rule
        return False
    return max(model.lives(parts, sizes, model.varies(parts))) <= limit
