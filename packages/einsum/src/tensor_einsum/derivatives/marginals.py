"""Marginals: a network with one label as its output, for all labels in one sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeVar

import tensor_runtime as ops
from tensor_core.dtypes import C32, F32
from tensor_core.errors import ArgumentError, DTypeError, shortened
from tensor_einsum.derivatives.environments import run_sweep
from tensor_einsum.derivatives.scaled import run_scaled_sweep
from tensor_einsum.derivatives.sweep import Goal
from tensor_einsum.errors import MemoryLimitError
from tensor_einsum.notation.label_names import label_number, listed_labels, some_names
from tensor_runtime.algebras import MAX_TIMES, PLUS_TIMES, Semiring
from tensor_runtime.placement import is_stand_in
from tensor_runtime.tensors.tensor import Tensor

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

_LEAST: Final = 2.0**-511
_LEAST_NARROW: Final = 2.0**-63
"""Sums from here on are taken as they are: the square root of the smallest normal number, of F32 and C32 in the second.
Elements with as small a share of such a sum are normal numbers still."""


M = TypeVar("M")
"""A tensor, or mantissa and exponent."""


class Marginals(dict[str, M]):
    """What was found by the names of labels, as they are shown; in brackets, by the labels as they were given, too.

    Args:
        names: of all labels of the plan.
        tensors: by name, those that were asked for.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> x = ones((2, 3))
    >>> found = plan(x, ("row", 7), ()).marginals(x)
    >>> list(found), found["row"].shape, found[7] is found["7"]
    (['row', '7'], (2,), True)
    """

    def __init__(self, names: Sequence[str], tensors: Mapping[str, M]) -> None:
        super().__init__(tensors)
        self._names = tuple(names)

    def __getitem__(self, label: Any, /) -> M:
        if label in self:
            return super().__getitem__(label)
        number = label_number(label, self._names)
        if number is None or self._names[number] not in self:
            raise KeyError(label)
        return super().__getitem__(self._names[number])


def marginals_goal(plan: Plan, labels: Any) -> Goal:
    """What :meth:`Plan.marginals` is asked for.

    Raises:
        ArgumentError: ``labels`` are not all labels of the plan, or one is named twice.

    >>> from tensor_einsum import plan
    >>> marginals_goal(plan("ij,jk->", (2, 3), (3, 4)), "kj").labels
    (2, 1)
    """
    listed = (
        range(len(plan.names))
        if labels is None
        else [label_number(label, plan.names) for label in listed_labels(labels, plan.names)]
    )
    found = tuple([label for label in listed if label is not None])
    if len({*found}) < len(listed):
        raise ArgumentError(
            f"marginals: labels are {shortened(labels)}; accepted: each once, of {some_names(plan.names)}",
            operation="marginals",
        )
    return Goal(labels=found)


def normalized_marginals(
    plan: Plan, goal: Goal, operands: Sequence[Any], memory_limit: Any, progress: Any
) -> list[Tensor]:
    """Marginals over their sums, which need no exponent; they are right also where the sums are beyond the range.

    Where one is, and where one is so small that parts of it may have been lost, the sweep is done once more with
    intermediates that are brought near: their scale is gone when they are divided. Sums that are zero then are zero.
    Where a limit has no room for that, small sums have to do.

    Raises:
        DTypeError: integers and Bool have no quotients.

    Other errors are those of ``tensor_einsum.derivatives.scaled.run_scaled_sweep``.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import tensor
    >>> x = tensor([1e-200, 3e-200])
    >>> found = normalized_marginals(plan("i,,->", x, (), ()), Goal(labels=(0,)), [x, x[0], x[0]], None, None)
    >>> found[0].to_numpy().tolist()
    [0.25, 0.75]
    """
    found = run_sweep("marginals", plan, goal, operands, None, memory_limit, progress)
    if found and found[0].dtype.kind not in ("float", "complex"):
        raise DTypeError(
            f"marginals: marginals are {found[0].dtype.name}, which has no quotients; accepted by normalize=True: "
            "F32, F64, C32, C64",
            operation="marginals",
        )
    totals = [total_of(tensor, plan.algebra) for tensor in found]
    if plan.algebra in (PLUS_TIMES, MAX_TIMES) and (sizes := _beyond(totals)):
        found.clear()  # so that these are not alive beside those that are wanted
        try:
            scaled = run_scaled_sweep("marginals", plan, goal, operands, None, memory_limit, progress)
            found = [tensor for tensor, _ in scaled]
        except MemoryLimitError:  # no room for copies of operands
            if not all(0 < size < inf for size in sizes):
                raise
            found = run_sweep("marginals", plan, goal, operands, None, memory_limit, progress)
        totals = [total_of(tensor, plan.algebra) for tensor in found]
    undo = ops.divide if plan.algebra.multiplication == "multiply" else ops.subtract
    return [tensor if total is None else undo(tensor, total) for tensor, total in zip(found, totals, strict=True)]


def total_of(tensor: Tensor, algebra: Semiring) -> Tensor | None:
    """What a marginal is divided by, or what is subtracted: the sum of its elements in the algebra, if there is one.

    >>> from tensor_runtime import tensor
    >>> from tensor_runtime.algebras import MAX_PLUS
    >>> x = tensor([1.0, 3.0])
    >>> total_of(x, PLUS_TIMES).item(), total_of(x, MAX_PLUS).item()
    (4.0, 3.0)
    """
    if algebra.addition == "add":
        return ops.sum(tensor)
    if tensor.size == 0:
        return None
    return ops.max(tensor) if algebra.addition == "maximum" else ops.min(tensor)


def _beyond(totals: Sequence[Tensor | None]) -> list[float]:
    """Magnitudes of the sums if one is beyond the range, or near its lower end; else none.

    Zeros are, as what made them may have been lost.
    """
    there = [total for total in totals if total is not None]
    if not there or is_stand_in(there[0].placement):
        return []
    dtype = there[0].dtype
    least = _LEAST_NARROW if dtype is F32 or dtype is C32 else _LEAST
    # One reading for all: from a device each takes microseconds.
    read: list[Any] = [there[0].item()] if len(there) == 1 else ops.stack(there).tolist()
    if dtype.kind == "complex":  # whose modulus may be beyond the range
        read = [max(abs(x.real), abs(x.imag)) for x in read]
    magnitudes = [*map(abs, read)]
    is_within = min(magnitudes) >= least and sum(magnitudes) < inf  # NaN is in the sum, wherever it is
    return [] if is_within else magnitudes
