"""Marginals: a network with one label as its output, for all labels in one sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tensor_runtime as ops
from tensor_core.errors import ArgumentError, DTypeError, shortened
from tensor_einsum.derivatives.sweep import Goal
from tensor_einsum.notation.label_names import label_number, listed_labels, some_names
from tensor_runtime.algebras import Semiring
from tensor_runtime.tensors.tensor import Tensor

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan


class Marginals(dict[str, Tensor]):
    """Tensors by the names of labels, as they are shown; in brackets, by the labels as they were given, too.

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

    def __init__(self, names: Sequence[str], tensors: Mapping[str, Tensor]) -> None:
        super().__init__(tensors)
        self._names = tuple(names)

    def __getitem__(self, label: Any, /) -> Tensor:
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


def normalized(operation: str, tensor: Tensor, algebra: Semiring) -> Tensor:
    """A marginal over its sum: what the algebra multiplies with is undone, so that it sums to the algebra's one.

    Raises:
        DTypeError: integers and Bool have no quotients.

    >>> from tensor_runtime import tensor
    >>> from tensor_runtime.algebras import MAX_PLUS, PLUS_TIMES
    >>> normalized("marginals", tensor([1.0, 3.0]), PLUS_TIMES).to_numpy().tolist()
    [0.25, 0.75]
    >>> normalized("marginals", tensor([1.0, 3.0]), MAX_PLUS).to_numpy().tolist()
    [-2.0, 0.0]
    """
    if tensor.dtype.kind not in ("float", "complex"):
        raise DTypeError(
            f"{operation}: marginals are {tensor.dtype.name}, which has no quotients; accepted by normalize=True: F32, "
            "F64, C32, C64",
            operation=operation,
        )
    if algebra.addition == "add":
        total = ops.sum(tensor)
    elif tensor.size == 0:
        return tensor
    else:
        total = ops.max(tensor) if algebra.addition == "maximum" else ops.min(tensor)
    return ops.divide(tensor, total) if algebra.multiplication == "multiply" else ops.subtract(tensor, total)
