"""One row of the conformance suite: operands, a call, and what it must give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tensor_core.errors import TensorError
from tensor_core.host.tensor import HostTensor


class Case(NamedTuple):
    """A call and its result by an oracle in plain Python.

    ``expected`` is a function, so that collecting thousands of cases computes nothing. A case without operands makes
    tensors: its ``call`` takes the placement instead. Where results are not unique, as singular vectors are not,
    ``compared(*operands, *results)`` makes tensors of them that are, such as the product of the factors.
    """

    operation: str  # the public name, such as "add"
    label: str  # what this case shows
    operands: tuple[HostTensor[Any], ...]
    call: Callable[..., Any]  # tensors in; a tensor or a tuple of tensors out
    expected: Callable[[], Any]  # a host tensor or a tuple of them
    ulps: int = 0  # rounding units of the dtype allowed, relative to the largest element; 0 means the same bits
    error: type[TensorError] | None = None  # what the call raises instead
    shares: bool = False  # the result may share the operand's elements: a view, or the operand itself
    reads: bool = False  # the call may bring elements to the host, as what decides by them must
    compared: Callable[..., Any] | None = None  # from operands and results to the tensors expected; None: the results

    @property
    def id(self) -> str:
        """The name of the case in a test report."""
        return f"{self.operation}-{self.label}"


def refused(
    operation: str,
    label: str,
    operands: tuple[HostTensor[Any], ...],
    call: Callable[..., Any],
    error: type[TensorError],
) -> Case:
    """A case whose call raises.

    >>> from tensor_core import ShapeError
    >>> refused("add", "unequal", (), lambda place: None, ShapeError).error.__name__
    'ShapeError'
    """
    return Case(operation, label, operands, call, lambda: None, error=error)
