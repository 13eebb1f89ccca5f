"""Cuts: which labels are cut, and what follows for one slice: labels, extents, shapes, steps, memory.

A cut is a label and the extent of a part. A label that is cut into parts of extent 1 is gone from a slice, as its
operands are read at one index; one that is cut into longer parts stays, and its last part may be shorter. The slices of
a plan are numbered with the last cut running fastest. Labels of the output are cut first, so that all slices that are
added to one another follow one another.

Everything is pure data of labels and extents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import prod
from typing import TYPE_CHECKING, Any

from tensor_core.errors import ArgumentError, shortened
from tensor_core.shapes import Shape
from tensor_einsum.notation.label_names import label_number, listed_labels, some_names
from tensor_einsum.notation.network import Labels, Network
from tensor_einsum.search.path import Path
from tensor_einsum.steps.scalings import Decided, with_scalings_moved
from tensor_einsum.steps.steps import Step, build_steps, in_best_orders, peak_bytes, plain_steps
from tensor_runtime.dispatch.arguments import whole

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

Cut = tuple[int, int]
"""A label, and the extent of its parts."""
Cuts = tuple[Cut, ...]


@dataclass(frozen=True, slots=True)
class Slices:
    """How a plan is sliced.

    >>> from tensor_einsum import plan
    >>> plan("ij,jk->ik", (4, 6), (6, 5)).with_slices({"j": 2}).slices
    Slices(count=3, labels=('j',), shape=(3,), extents=(2,))
    """

    count: int
    """Slices in all; 1 for a plan that is not sliced."""
    labels: tuple[str, ...]
    """Labels that are cut, as the user wrote them; those of the output come first."""
    shape: Shape
    """Parts of each of them."""
    extents: Shape
    """Extent of a part of each; the last part may be shorter."""


def slices_of(names: Sequence[str], extents: Sequence[int], cuts: Cuts) -> Slices:
    """The numbers of a plan as its user reads them.

    >>> slices_of(("i", "j"), (4, 6), ((1, 4),))
    Slices(count=2, labels=('j',), shape=(2,), extents=(4,))
    """
    shape = grid(cuts, extents)
    return Slices(prod(shape), tuple(names[label] for label, _ in cuts), shape, tuple(part for _, part in cuts))


def named_cuts(labels: Any, names: Sequence[str]) -> Cuts:
    """Cuts of labels that a user gives, as :func:`label_number` reads them.

    Raises:
        ArgumentError: a label that nothing has, or a part that is no int of 1 or more.

    >>> named_cuts("ji", ("i", "j")), named_cuts({"j": 2}, ("i", "j"))
    (((1, 1), (0, 1)), ((1, 2),))
    """
    wanted = labels.items() if isinstance(labels, Mapping) else [(label, 1) for label in listed_labels(labels, names)]
    cuts = []
    for name, part in wanted:
        label = label_number(name, names)
        if label is None:
            raise ArgumentError(
                f"with_slices: found label {shortened(name)}; accepted: {some_names(names)}", label=name
            )
        try:
            extent = whole("with_slices", "part", part)
        except ArgumentError:
            extent = 0
        if extent < 1:
            raise ArgumentError(
                f"with_slices: parts of label {name!r} have extent {shortened(part)}; accepted: an int of 1 or more",
                label=name,
            )
        cuts.append((label, extent))
    return tuple(cuts)


def ordered_cuts(network: Network, cuts: Sequence[Cut]) -> Cuts:
    """Cuts that change anything, in the order in which slices are numbered: labels of the output first.

    >>> from tensor_einsum.notation.network import resolve
    >>> from tensor_einsum.notation.reading import parse
    >>> ordered_cuts(resolve("plan", parse("ij,jk->ik"), [(4, 6), (6, 1)]), [(1, 2), (2, 1), (0, 9), (0, 3)])
    ((0, 3), (1, 2))
    """
    extents, output = network.extents, {*network.output}
    useful = {label: part for label, part in cuts if part < extents[label]}
    return tuple(sorted(useful.items(), key=lambda cut: cut[0] not in output))  # sorting is stable


def grid(cuts: Cuts, extents: Sequence[int]) -> Shape:
    """Parts of each label that is cut.

    >>> grid(((1, 2),), (9, 5))
    (3,)
    """
    return tuple(-(-extents[label] // part) for label, part in cuts)


class Starts:
    """Where each slice starts along the labels that are cut, and how far it reaches along them, in the order of cuts.

    >>> starts = Starts(((0, 1), (1, 2)), (4, 5))
    >>> starts(3), starts(5)
    (({1: 0, 0: 1}, (1, 2)), ({1: 4, 0: 1}, (1, 1)))
    """

    __slots__ = ("_digits", "_full", "_uneven")

    def __init__(self, cuts: Cuts, extents: Sequence[int]) -> None:
        fastest_first = reversed([*zip(cuts, grid(cuts, extents), strict=True)])
        self._digits = [(label, part, parts) for (label, part), parts in fastest_first]
        self._full = tuple([part for _, part in cuts])
        uneven = any(extents[label] % part for label, part in cuts)
        self._uneven = [(label, part, extents[label]) for label, part in cuts] if uneven else []

    def __call__(self, number: int, /) -> tuple[dict[int, int], Shape]:
        """The starts by label, and the extents."""
        starts = {}
        for label, part, parts in self._digits:
            number, digit = divmod(number, parts)
            starts[label] = digit * part
        if not self._uneven:
            return starts, self._full
        return starts, tuple([min(part, extent - starts[label]) for label, part, extent in self._uneven])


def largest_kinds(cuts: Cuts, extents: Sequence[int]) -> list[Shape]:
    """Extents of a full slice along the labels that are cut, then of those that are shorter along one label alone.

    There are twice as many kinds for each label that is cut unevenly; all others are shorter along several.

    >>> largest_kinds(((0, 2), (1, 3), (2, 4)), (5, 6, 7))
    [(2, 3, 4), (1, 3, 4), (2, 3, 3)]
    """
    full = tuple(part for _, part in cuts)
    rests = [extents[label] % part for label, part in cuts]
    return [full, *[(*full[:place], rest, *full[place + 1 :]) for place, rest in enumerate(rests) if rest]]


def slice_network(network: Network, cuts: Cuts, parts: Sequence[int] | None = None) -> Network:
    """The network of one slice.

    Args:
        network: of the whole contraction.
        cuts: what is cut.
        parts: extents along the labels that are cut; None for those of a full slice.

    >>> from tensor_einsum.notation.network import resolve
    >>> from tensor_einsum.notation.reading import parse
    >>> network = resolve("plan", parse("ij,jk->ik"), [(4, 6), (6, 5)])
    >>> slice_network(network, ((0, 1), (1, 2))).shapes, slice_network(network, ((1, 4),), (2,)).shapes
    (((2,), (2, 5)), ((4, 2), (2, 5)))
    """
    gone = {label for label, part in cuts if part == 1}
    extents = list(network.extents)
    for (label, part), extent in zip(cuts, parts or [part for _, part in cuts], strict=True):
        extents[label] = 1 if part == 1 else extent
    inputs, shapes = [], []
    for term, shape in zip(network.inputs, network.shapes, strict=True):
        kept = [(label, extent) for label, extent in zip(term, shape, strict=True) if label not in gone]
        inputs.append(tuple(label for label, _ in kept))
        shapes.append(tuple(extents[label] if extent == network.extents[label] else extent for label, extent in kept))
    return network._replace(
        inputs=tuple(inputs),
        output=_without(network.output, gone),
        shapes=tuple(shapes),
        extents=tuple(extents),
        terms=tuple(_without(term, gone) for term in network.terms),
    )


def _without(labels: Labels, gone: set[int]) -> Labels:
    return tuple(label for label in labels if label not in gone)


def varying(network: Network, cuts: Cuts, steps: Sequence[Step], shared_bytes: int | None = None) -> tuple[bool, ...]:
    """Of every operand, then of every step: whether each slice has its own.

    Args:
        network: of the whole contraction.
        cuts: what is cut.
        steps: of a slice.
        shared_bytes: the most that is kept of the results that slices share; what is beyond is computed in each slice.
            None keeps all.

    >>> from tensor_einsum.notation.network import resolve
    >>> from tensor_einsum.notation.reading import parse
    >>> network = resolve("plan", parse("ij,jk,kl->il"), [(2, 3), (3, 4), (4, 5)])
    >>> steps = build_steps(slice_network(network, ((0, 1),)), ((1, 2), (0, 3)), 8)
    >>> varying(network, ((0, 1),), steps), varying(network, ((0, 1),), steps, 8)[3:]
    ((True, False, False, False, True), (True, True))
    """
    labels = {label for label, _ in cuts}
    found = [not labels.isdisjoint(term) for term in network.terms]
    for step in steps:
        found.append(any(found[operand] for operand in step.operands))
    if shared_bytes is not None:
        for number in _not_kept(found, steps, shared_bytes):
            found[number] = True
    return tuple(found)


def _not_kept(varies: Sequence[bool], steps: Sequence[Step], room: int) -> Iterator[int]:
    """The steps that slices could share, and whose results have no room.

    What is kept saves most work for each of its bytes; of what is not, what it is made of may be kept.
    """
    operands, work = len(varies) - len(steps), [0] * len(varies)
    for number, step in enumerate(steps, operands):
        work[number] = step.flops + step.size + sum([work[operand] for operand in step.operands])
    waiting: list[tuple[int, int]] = []

    def reads(step: Step) -> None:
        for operand in step.operands:
            if operand >= operands and not varies[operand]:
                heappush(waiting, (-(work[operand] << 32) // max(steps[operand - operands].bytes, 1), operand))

    for number, step in enumerate(steps, operands):
        if varies[number]:
            reads(step)
    while waiting:
        _, number = heappop(waiting)
        step = steps[number - operands]
        if step.bytes <= room:
            room -= step.bytes
        else:
            yield number
            reads(step)


def parted_steps(plan: Plan) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The steps that all slices share, and those of every slice, in the order in which they are executed.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=[(0, 1), (0, 1)]).with_slices("l")
    >>> [[step.subscripts for step in steps] for steps in parted_steps(p)]
    [['ij,jk->ik'], ['k,ik->i']]
    """
    own = varying(plan._network, plan.sliced, plan.steps, plan.shared_bytes)[len(plan.inputs) :]
    parts = [[step for step, varies in zip(plan.steps, own, strict=True) if varies is which] for which in (False, True)]
    return tuple(parts[0]), tuple(parts[1])


def kept_results(plan: Plan) -> list[int]:
    """The steps whose results all slices share and read.

    >>> from tensor_einsum import plan
    >>> kept_results(plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=[(0, 1), (0, 1)]).with_slices("l"))
    [0]
    """
    operands = len(plan.inputs)
    varies = varying(plan._network, plan.sliced, plan.steps, plan.shared_bytes)
    own = [step for step, each in zip(plan.steps, varies[operands:], strict=True) if each]
    read = {operand for step in own for operand in step.operands if operand >= operands}
    return sorted([operand - operands for operand in read if not varies[operand]])


def sliced_steps(
    network: Network,
    cuts: Cuts,
    path: Path,
    itemsize: int,
    conj: Sequence[int] = (),
    shared_bytes: int | None = None,
) -> Decided:
    """Steps of one slice, and costs of all.

    Args:
        network: of the whole contraction.
        cuts: what is cut, in order.
        path: ids.
        itemsize: bytes per element.
        conj: operands that are taken conjugated.
        shared_bytes: as for :func:`varying`.

    >>> from tensor_einsum.notation.network import resolve
    >>> from tensor_einsum.notation.reading import parse
    >>> network = resolve("plan", parse("ij,jk->ik"), [(4, 6), (6, 5)])
    >>> sliced_steps(network, ((1, 4),), ((0, 1),), 8)[2:]
    (240, 240, 320)
    """
    sliced, first = slice_network(network, cuts), len(network.inputs)
    count, cut = prod(grid(cuts, network.extents)), {label for label, _ in cuts}
    result = prod(network.extents[label] for label in network.output) * itemsize

    def made(path: Path) -> Decided:
        steps = plain_steps(sliced, path, itemsize, conj)
        varies = varying(network, cuts, steps, shared_bytes)
        means = _mean_steps(network, cuts, path, conj, steps) or steps
        flops = counted = Fraction(0)
        for step, mean, own in zip(steps, means, varies[first:], strict=True):
            times = count if own else 1
            embedded = _mean_size(step.output, network, cuts) if step.kind == "conj" else None
            flops += times * (mean.flops if embedded is None else embedded)
            counted += times * (mean.opt_einsum_flops if embedded is None else embedded)
        return Decided(path, steps, int(flops), int(counted), sliced_peak(steps, varies, first, result))

    varies = [not cut.isdisjoint(term) for term in network.terms]
    for entry in path:
        varies.append(any(varies[one] for one in entry))
    found = with_scalings_moved(made(path), sliced, [count if own else 1 for own in varies], made)
    return found._replace(steps=in_best_orders(sliced, found.steps))


def _mean_steps(network: Network, cuts: Cuts, path: Path, conj: Sequence[int], full: Sequence[Step]) -> Sequence[Step]:
    """Steps of a slice whose parts have the mean extent along each label; () where all parts are full.

    Flops are sums of products of extents, in which a label occurs once, and each part of a label meets each part of
    every other. So the mean flops of all slices are those of the mean extents, exactly.
    """
    parts = grid(cuts, network.extents)
    means: list[Any] = [Fraction(network.extents[label], count) for (label, _), count in zip(cuts, parts, strict=True)]
    if means == [part for _, part in cuts]:
        return ()
    sliced = slice_network(network, cuts)
    extents = list(sliced.extents)
    for (label, part), mean in zip(cuts, means, strict=True):
        if part > 1:
            extents[label] = mean
    return build_steps(sliced._replace(extents=tuple(extents)), path, 1, conj, full)


def _mean_size(labels: Labels, network: Network, cuts: Cuts) -> Fraction:
    """Elements of a tensor in the mean of all slices; labels may repeat, as in the output ``ii``."""
    cut = {label for label, _ in cuts}
    size = Fraction(prod(network.extents[label] for label in labels if label not in cut))
    for label, part in cuts:
        whole, rest = divmod(network.extents[label], part)
        power = labels.count(label)
        size *= Fraction(whole * part**power + (rest > 0) * rest**power, whole + (rest > 0))
    return size


def sliced_peak(
    steps: Sequence[Step],
    varies: Sequence[bool],
    operands: int,
    result: int,
    workspaces: Sequence[int] | None = None,
) -> int:
    """The most bytes of intermediates, results and workspaces at once; operands are not counted.

    What does not vary is computed first, and what slices read of it stays until the end, beside the result.

    Args:
        steps: of a full slice.
        varies: from :func:`varying`.
        operands: how many.
        result: bytes of the whole result.
        workspaces: of every step, in bytes; None for none.

    >>> from tensor_einsum import plan
    >>> steps = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=[(0, 1), (0, 1)]).with_slices("l").steps
    >>> sliced_peak(steps, [False, False, True, False, True], 3, 80)  # the first step, the result, a part
    160
    """
    own = [varies[number] for number in range(operands, operands + len(steps))]
    read = {operand for step, varied in zip(steps, own, strict=True) if varied for operand in step.operands}
    kept = {number for number in read if number >= operands and not varies[number]}
    before = peak_bytes(steps, operands, workspaces, runs=[not varied for varied in own], keep=kept)
    held = sum(steps[number - operands].bytes for number in kept)
    return max(before, held + result + peak_bytes(steps, operands, workspaces, runs=own))
