"""The choice among kernels of a contraction: the one that is estimated to be fastest, whatever the device.

A device lists its *ways*, in the order in which they are looked at. What a way cannot be faster than is known without a
look, so one that cannot win is not worked out. Times are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Generic, NamedTuple, Protocol, TypeVar

from tensor_runtime.backends.shared.axes import Axis, Operand, by_occurrence, extent_of, row_major

__all__ = ["Priced", "Way", "after_sums", "cheapest", "may_be_square"]


class Priced(Protocol):
    """A plan of a kernel."""

    @property
    def cost(self) -> float:
        """Estimated nanoseconds."""
        ...


P = TypeVar("P", bound=Priced, covariant=True)


def _whole(axes: Sequence[Axis], x: Operand, y: Operand) -> float:
    return 1.0


class Way(NamedTuple, Generic[P]):
    """One kind of kernel."""

    plan: Callable[[tuple[Axis, ...], Operand, Operand, Operand, float], P | None]
    """The best of its plans from axes and operands; None where it has none. Where none costs less than the last
    argument, any."""
    least: Callable[[int, str], float]
    """What no plan costs less than, of so many multiply-adds in a type."""
    part: Callable[[Sequence[Axis], Operand, Operand], float] = _whole
    """The part of its estimate that counts; less than all where it may turn out to have less to do."""


def cheapest(ways: Sequence[Way[P]], axes: tuple[Axis, ...], x: Operand, y: Operand, result: Operand) -> P:
    """The plan that is estimated to be fastest; the first one of those that take equally long.

    Args:
        ways: at least one of them has a plan for these operands.
        axes: of the contraction, as from ``join``.
        x: the first operand.
        y: the second one.
        result: how it is written.

    >>> from types import SimpleNamespace
    >>> from tensor_runtime.backends.shared.axes import join
    >>> def way(time):
    ...     plan = SimpleNamespace(cost=time)
    ...     return Way(lambda axes, x, y, result, below: print(f"{time} looked at") or plan, lambda terms, dtype: time)
    >>> x, y, result = (row_major(labels, (2, 2), "float64") for labels in ((0, 1), (1, 2), (0, 2)))
    >>> cheapest([way(5.0), way(9.0), way(4.0)], join(x, y, result), x, y, result).cost
    5.0 looked at
    4.0 looked at
    4.0
    """
    terms = extent_of(axes)
    best: P | None = None
    least = inf
    for way in ways:
        if best is not None and way.least(terms, result.dtype) >= least:
            continue
        part = 1.0 if way.part is _whole else way.part(axes, x, y)
        found = way.plan(axes, x, y, result, least / part)
        if found is None:
            continue
        time = found.cost * part
        if best is None or time < least:
            best, least = found, time
    assert best is not None
    return best


def may_be_square(axes: Sequence[Axis], x: Operand, y: Operand, least: int) -> bool:
    """Whether the factors may turn out to be one matrix and its transpose, of more than ``least`` multiply-adds.

    A library may compute half of such a product.

    >>> from tensor_runtime.backends.shared.axes import join
    >>> x, y = row_major((0, 1), (99, 99), "float64"), row_major((2, 1), (99, 99), "float64")
    >>> axes = join(x, y, row_major((0, 2), (99, 99), "float64"))
    >>> may_be_square(axes, x, y, 1000), may_be_square(axes, x, y._replace(strides=(1, 99)), 1000)
    (True, False)
    """
    if x.shape != y.shape or x.strides != y.strides:
        return False
    stack, contracted, free_x, free_y = by_occurrence(axes)
    return extent_of((*contracted, *free_x, *free_y)) > least and all(
        axis.strides[0] == axis.strides[1] for axis in (*stack, *contracted)
    )


def after_sums(operand: Operand, needed: set[int], dtype: str) -> Operand | None:
    """What is left of an operand when labels that nothing else has are summed away first; None where it has none.

    >>> x = row_major((0, 1), (3, 4), "int32")
    >>> after_sums(x, {0}, "float64"), after_sums(x, {0, 1, 2}, "float64")
    (Operand(labels=(0,), shape=(3,), strides=(1,), dtype='float64'), None)
    """
    if needed.issuperset(operand.labels):
        return None
    kept = [(label, extent) for label, extent in zip(operand.labels, operand.shape, strict=True) if label in needed]
    return row_major(tuple(label for label, _ in kept), tuple(extent for _, extent in kept), dtype)
