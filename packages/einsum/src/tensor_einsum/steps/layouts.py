"""Layouts: the order of the labels of each intermediate, chosen over the whole tree of a plan.

A product can be written in any order of its labels. Which one costs least depends on the two that it is made from, as
kernels walk arrays best in the order in which they lie, and on the step that reads it: a matrix product copies what is
no matrix, and elements that are far apart cost several times as much as neighbours. A dynamic programme over the tree
(csrc/layouts.c) weighs the orders that could serve by an estimate of what each step computes and moves
(csrc/layout_cost.c). The estimate is made of what any library of kernels does, matrix products, products that pack, and
sums along the fastest axis, and knows no backend: plans have no place. Operands have the orders that their owner gave
them, without gaps, and the result has the one that was asked for.

Without the extension the orders are those of the builder of steps, which looks at one step and the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from tensor_einsum import native
from tensor_einsum.notation.network import Labels, Network

if TYPE_CHECKING:
    from tensor_einsum.steps.steps import Step

_WORTH_A_LOOK: Final = 1 << 18
"""Bytes of results; below, a whole contraction takes about as long as choosing."""

_WORTH_A_STEP: Final = 400_000.0
"""Estimated nanoseconds of a contraction for which orders of one more step are looked at, in about forty thousand."""


def chosen_orders(network: Network, steps: Sequence[Step]) -> Sequence[Labels] | None:
    """The labels of every step's result in the best order found; None where all are best as they are.

    Args:
        network: labels and extents; its operands are taken to lie in the order of their labels, without gaps.
        steps: of a path, in the usual orders. The result of the last one, and what steps of one operand read, stays.

    >>> from tensor_einsum import plan
    >>> small = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5))
    >>> chosen_orders(small._network, small.steps) is None
    True
    """
    if not native.AVAILABLE or sum([step.bytes for step in steps]) < _WORTH_A_LOOK or 0 in network.extents:
        return None
    read = []
    for step in steps:
        first, second = step.operands if len(step.operands) == 2 else (step.operands[0], -1)
        read.append((first, second, step.output))
    return native.LIBRARY.layouts(network.extents, network.inputs, read, _WORTH_A_STEP)


def reordered(
    steps: Sequence[Step], orders: Sequence[Labels], network: Network, text: Callable[[Labels], str]
) -> tuple[Step, ...]:
    """The same steps with results in other orders.

    Args:
        steps: of a path.
        orders: the labels of each result.
        network: labels and extents.
        text: labels as they are shown.

    >>> from tensor_einsum import plan
    >>> p = plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), optimize=[(0, 1), (0, 1)])
    >>> found = reordered(p.steps, [(2, 0), (0, 3)], p._network, lambda term: "".join("ijkl"[i] for i in term))
    >>> [step.subscripts for step in found]
    ['ij,jk->ki', 'kl,ki->il']
    """
    terms, made = list(network.inputs), []
    for step, order in zip(steps, orders, strict=True):
        inputs = tuple([terms[slot] for slot in step.operands])
        terms.append(order)
        if order != step.output or inputs != step.inputs:
            subscripts = f"{','.join(map(text, inputs))}->{text(order)}"
            shape = tuple(map(network.extents.__getitem__, order))
            step = step._replace(inputs=inputs, output=order, subscripts=subscripts, shape=shape)
        made.append(step)
    return tuple(made)
