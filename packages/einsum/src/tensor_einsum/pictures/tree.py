"""A plan as the plain numbers that are drawn: nodes, what each step joins, sizes, work. Nothing here draws.

Nodes 0 to n - 1 are the operands, node n + k is the result of step k.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import prod
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from tensor_core.formatting import readable_bytes
from tensor_einsum.slices.cutting import varying
from tensor_einsum.slices.needs import step_workspaces

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

COSTLIEST: Final = 5  # steps that are labelled
MOST_STEPS: Final = 500  # along the axis of steps; of longer plans the largest of neighbours is drawn


@dataclass(frozen=True)
class Tree:
    """A plan as numbers: `steps[k]` lists the nodes joined by step k; `elements` and `nbytes` go by node.

    `flops` of all slices, `workspaces` in bytes and `texts`, what a tooltip says, go by step. `limit` is in bytes. Of a
    sliced plan the steps are those of a full slice; `shared` are done once, before all slices, and `result`, in bytes,
    is that of the whole, which stands beside what a slice takes. `total` is of all flops.
    """

    operands: int
    steps: tuple[tuple[int, ...], ...]
    elements: tuple[int, ...]
    nbytes: tuple[int, ...]
    flops: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    limit: int | None = None
    slices: int = 1
    shared: tuple[int, ...] = ()
    result: int = 0
    workspaces: tuple[int, ...] = ()
    total: int | None = None


def tree_of(plan: Plan, limit: int | None = None) -> Tree:
    """The plan as the plain numbers that are drawn; `limit` is in bytes.

    >>> from tensor_einsum import plan
    >>> tree = tree_of(plan("ij,jk->ik", (2, 3), (3, 4)))
    >>> tree.steps, tree.elements, tree.nbytes, tree.flops, tree.texts
    (((0, 1),), (6, 12, 8), (48, 96, 64), (48,), ('ij,jk->ik',))
    """
    itemsize, operands = plan.output_dtype.itemsize, len(plan.shapes)
    sizes = [prod(shape) for shape in plan.shapes]
    operand_bytes = [size * dtype.itemsize for size, dtype in zip(sizes, plan.dtypes, strict=True)]
    slices = plan.slices.count
    varies = varying(plan._network, plan.sliced, plan.steps, plan.shared_bytes)[operands:] if plan.sliced else ()
    shared = tuple([step for step, own in enumerate(varies) if not own])
    flops = [step.flops * (slices if varies and varies[number] else 1) for number, step in enumerate(plan.steps)]
    return Tree(
        operands=operands,
        steps=tuple([step.operands for step in plan.steps]),
        elements=(*sizes, *[step.size for step in plan.steps]),
        nbytes=(*operand_bytes, *[step.bytes for step in plan.steps]),
        flops=tuple(flops),
        texts=tuple([cut_subscripts(step.subscripts) for step in plan.steps]),
        limit=limit,
        slices=slices,
        shared=shared,
        result=prod(plan.output_shape) * itemsize if plan.sliced else 0,
        workspaces=tuple(step_workspaces(plan)),
        total=plan.flops,
    )


def cut_subscripts(text: str) -> str:
    """Subscripts as they fit into a tooltip, without characters that would break it.

    >>> cut_subscripts("ij,jk->ik")
    'ij,jk->ik'
    """
    text = "".join(c if c.isprintable() else "?" for c in text)
    if len(text) <= 60 and _fitting(text, 120) == text:
        return text
    return f"{_fitting(text[:40], 80)} … {_fitting(text[:-19:-1], 36)[::-1]}"


def _fitting(text: str, most: int) -> str:
    """The text from its start, as far as it takes so many bytes in a file."""
    ends = accumulate(len(escape(c).encode()) for c in text)
    return text[: bisect_right([*ends], most)]


def execution_order(tree: Tree) -> list[int]:
    """The steps, those first that all slices share.

    >>> execution_order(Tree(3, ((0, 1), (2, 3)), (1,) * 5, (8,) * 5, shared=(1,)))
    [1, 0]
    """
    shared = {*tree.shared}
    return [*tree.shared, *[step for step in range(len(tree.steps)) if step not in shared]]


def memory_over_steps(tree: Tree) -> list[int]:
    """Bytes of all intermediates alive while each step runs, its own result included; operands are not counted.

    Steps that slices share come first, whatever their number, and what slices read of them is kept.

    >>> memory_over_steps(Tree(3, ((0, 1), (2, 3)), (4, 4, 4, 8, 1), (32, 32, 32, 64, 8)))
    [64, 72]
    """
    first = tree.operands
    history = [0] * len(tree.steps)
    shared = {*tree.shared}
    own = [step for step in range(len(tree.steps)) if step not in shared]
    kept = {node for step in own for node in tree.steps[step] if node - first in shared}
    held = sum(tree.nbytes[node] for node in kept)
    for alive, steps in ((0, tree.shared), (held + tree.result, own)):
        for step in steps:
            alive += tree.nbytes[first + step]
            history[step] = alive
            alive -= sum(tree.nbytes[node] for node in tree.steps[step] if node >= first and node not in kept)
    return history


def by_steps(values: Sequence[int]) -> tuple[list[int], list[int]]:
    """Edges along the axis of steps and the largest of the values between each two.

    >>> by_steps([3, 1, 2])
    ([0, 1, 2, 3], [3, 1, 2])
    """
    width = max(1, -(-len(values) // MOST_STEPS))
    edges = [*range(0, len(values), width), len(values)]
    return edges, [max(values[low:high]) for low, high in pairwise(edges)]


def with_workspaces(tree: Tree, history: Sequence[int]) -> list[int]:
    """The same with what kernels take besides.

    >>> with_workspaces(Tree(2, ((0, 1),), (1, 1, 1), (8, 8, 8), workspaces=(16,)), [8])
    [24]
    """
    return (
        [alive + more for alive, more in zip(history, tree.workspaces, strict=True)] if tree.workspaces else [*history]
    )


def positions(tree: Tree) -> list[tuple[float, float]]:
    """Where each node is drawn: operands side by side at height 0, a result above the middle of what it joins.

    Heights are distances to the farthest operand below, so time runs upwards. No recursion: a sweep over a lattice
    makes a tree as deep as it has operands.

    >>> positions(Tree(3, ((0, 2), (1, 3)), (1,) * 5, (8,) * 5))
    [(1.0, 0.0), (0.0, 0.0), (2.0, 0.0), (1.5, 1.0), (0.75, 2.0)]
    """
    count = tree.operands + len(tree.steps)
    joined = {node for inputs in tree.steps for node in inputs}
    waiting = [node for node in range(count) if node not in joined]
    place: dict[int, tuple[float, float]] = {}
    while waiting:
        node = waiting.pop()
        if node < tree.operands:
            place[node] = (float(len(place)), 0.0)
        else:
            waiting.extend(reversed(tree.steps[node - tree.operands]))
    for number, inputs in enumerate(tree.steps):
        across = sum(place[node][0] for node in inputs) / len(inputs)
        place[tree.operands + number] = (across, 1.0 + max(place[node][1] for node in inputs))
    return [place[node] for node in range(count)]


def branches(tree: Tree, levels: Sequence[int], kept: set[int]) -> list[tuple[int, int, int, bool]]:
    """The tree that is left of the nodes that are kept, and of those where branches to them meet.

    Args:
        tree: of the plan.
        levels: of each node.
        kept: nodes, to which the last one is added.

    Returns:
        The upper and the lower node of each branch, the highest level from the lower one to below the upper one, and
        whether that is an operand and nothing else.

    >>> chain = Tree(4, ((0, 1), (4, 2), (5, 3)), (1,) * 7, (8,) * 7)
    >>> branches(chain, [0, 0, 0, 0, 5, 2, 0], {0, 3})
    [(6, 0, 5, False), (6, 3, 0, True)]
    """
    last = tree.operands + len(tree.steps) - 1
    highest: dict[int, tuple[int, int, bool]] = {
        node: (node, levels[node], True) for node in kept if node < tree.operands
    }
    found = []
    for node, inputs in enumerate(tree.steps, tree.operands):
        met = [highest[one] for one in inputs if one in highest]
        if node == last or node in kept or len(met) > 1:
            found.extend([(node, *one) for one in met])
            highest[node] = node, levels[node], False
        elif met:
            below, level, _ = met[0]
            highest[node] = below, max(level, levels[node]), False
    return found


def totals(tree: Tree, peak: int) -> str:
    """What the plan costs in all, in one line; the peak is in bytes.

    >>> totals(Tree(2, ((0, 1),), (6, 12, 8), (48, 96, 64), (48,), limit=100), 64)
    '2 operands  ·  1 step  ·  48 flops  ·  largest intermediate 64 B  ·  peak 64 B of 100 B allowed'
    """
    steps = f"{len(tree.steps):,} step{'' if len(tree.steps) == 1 else 's'}"
    shown = f"peak {readable_bytes(peak)}"
    flops = sum(tree.flops) if tree.total is None else tree.total
    parts = [
        f"{tree.operands:,} operand{'' if tree.operands == 1 else 's'}",
        steps if tree.slices == 1 else f"{count_of(tree.slices)} slices of {steps}",
        f"{count_of(flops)} flop{'' if flops == 1 else 's'}",
        f"largest intermediate {readable_bytes(max(tree.nbytes[tree.operands :], default=0))}",
        shown if tree.limit is None else f"{shown} of {readable_bytes(tree.limit)} allowed",
    ]
    return "  ·  ".join(parts)


def count_of(number: int) -> str:
    """A count in full up to a million, and three digits beyond it.

    >>> count_of(999_999), count_of(10**7), count_of(2**4000)
    ('999,999', '1.00e+07', '2^4000')
    """
    return f"{number:,}" if number < 10**6 else f"{number:.2e}" if number < 10**300 else f"2^{number.bit_length() - 1}"


def costliest(tree: Tree) -> list[int]:
    """The steps with the most flops, at most five, each at least a fiftieth of all; the first one first.

    >>> costliest(Tree(4, ((0, 1), (2, 3), (4, 5)), (1,) * 7, (8,) * 7, (10, 1000, 500)))
    [1, 2]
    """
    total = sum(tree.flops)
    order = sorted(range(len(tree.flops)), key=lambda step: (-tree.flops[step], step))
    return [step for step in order[:COSTLIEST] if 50 * tree.flops[step] >= total > 0]


def unit_of(most: int) -> tuple[int, str]:
    """The binary unit in which a number of bytes has one to four digits; beyond names, a power of two.

    >>> unit_of(5000), unit_of(3 << 30), unit_of(3 << 4000)[1]
    ((1024, 'KiB'), (1073741824, 'GiB'), '2⁴⁰⁰⁰ B')
    """
    power = max(most, 1).bit_length() // 10
    while power and most < 1 << (10 * power):
        power -= 1
    names = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    return 1 << (10 * power), names[power] if power < len(names) else f"2{raised(10 * power)} B"


def raised(exponent: int) -> str:
    """An exponent as it is written above the line.

    >>> raised(-12)
    '⁻¹²'
    """
    return str(exponent).translate(_RAISED)


_RAISED: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
