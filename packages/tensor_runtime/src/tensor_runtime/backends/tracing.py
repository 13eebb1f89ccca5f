"""The built-in backend ``tracing``: kernels that note elementwise steps instead of computing them.

``fuse`` runs a function on it. The tensors there have every form that the real ones have, and in place of an array the
number of an operand or of a step, so the very public functions run, with every check on placement, dtype and shape.
What is no elementwise operation, and what depends on elements, is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tensor_core.errors import ArgumentError, UnsupportedOperationError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement
from tensor_runtime.protocols import Kernel, Operand, Result

TRACING_KIND: Final = DeviceKind.other("tracing")
TRACING: Final = Placement(MemoryKind.Device, DeviceId(TRACING_KIND, 0))
"""Where the operands of a function are while it is traced."""

Reference = int | tuple[str, Any]
"""What a step takes: an operand k, the step k - (number of operands), or ("constant", a Python number)."""


class Step(NamedTuple):
    """One operation of a trace."""

    name: str  # of the kernel
    operands: tuple[Reference, ...]
    form: Form  # of the compact result
    params: Any = None


class Trace:
    """What a function did so far with its operands.

    >>> tracing = Trace(1)
    >>> form = zeros(2)._form
    >>> tracing.note(Step("exp", (0,), form)).number, tracing.steps[0].name
    (1, 'exp')
    """

    __slots__ = ("_operands", "closed", "steps")

    def __init__(self, operands: int) -> None:
        self.steps: list[Step] = []
        self.closed = False
        self._operands = operands

    def note(self, step: Step, /) -> Node:
        """Add a step; return what stands for its result."""
        self.steps.append(step)
        return Node(self, self._operands + len(self.steps) - 1)


class Node:
    """The array of a tensor on ``tracing``: the number of an operand or of a step."""

    __slots__ = ("number", "tracing")

    def __init__(self, tracing: Trace, number: int) -> None:
        self.tracing = tracing
        self.number = number


class TracingBackend:
    """Arrays are nodes, and kernels note what they should compute.

    >>> form = zeros(2)._form
    >>> tracing = Trace(1)
    >>> TracingBackend().bind("exp", (form,), form, None)(Node(tracing, 0)).number
    1
    >>> TracingBackend().bind("sum", (form,), form, None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.UnsupportedOperationError: sum: not in a fused function; accepted there: elementwise ...
    """

    name: Final = "tracing"
    device_kind: Final = TRACING_KIND

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """A kernel that notes one step.

        Raises:
            UnsupportedOperationError: the kernel is not elementwise (``tensor_runtime.backends.kernel_facts``).
        """
        facts = facts_of(name)
        if facts.effect == "answers":
            raise elements_refused(name, "the shape of a result that elements decide")
        if not facts.elementwise or isinstance(result, tuple):
            raise UnsupportedOperationError(
                f"{name}: not in a fused function; accepted there: elementwise operations on the arguments. Take "
                "views, reductions and products of tensors before the call or after it",
                operation=name,
            )

        def note(*arguments: Any) -> Node:
            references = tuple(one.number if type(one) is Node else ("constant", one) for one in arguments)
            return _owner(name, arguments).note(Step(name, references, result, params))

        return note

    def operations(self) -> frozenset[str]:
        """None that it computes; ``bind`` takes the names of elementwise kernels."""
        return frozenset()

    def unsupported(self) -> Mapping[str, str]:
        """Nothing by name; ``bind`` refuses what it does not know."""
        return {}

    def placements(self) -> tuple[Placement, ...]:
        """One."""
        return (TRACING,)

    def offset_of(self, array: Node, /) -> int:
        """Refuse: a kernel bound to forms must not depend on it."""
        raise elements_refused("offset_of", "the offset of a view")

    def location_of(self, array: Node, /) -> tuple[object, int]:
        """Refuse: there are no elements yet."""
        raise elements_refused("location_of", "where elements lie")

    def upload(self, source: HostTensor[Any], form: Form, /) -> Node:
        """Refuse: only arguments are traced."""
        raise UnsupportedOperationError(
            "upload: a fused function makes no tensors; pass the tensor as an argument", operation="upload"
        )

    def download(self, array: Node, form: Form, /) -> HostTensor[Any]:
        """Refuse: there are no elements yet."""
        raise elements_refused("download", "an element")

    def synchronize(self) -> None:
        """Nothing runs."""

    def describe(self) -> Mapping[str, str]:
        """What it is."""
        return {"computes": "nothing; notes the steps of fused functions"}


def backend() -> TracingBackend:
    """The backend of this process.

    >>> backend().name
    'tracing'
    """
    return TracingBackend()


def _owner(name: str, arguments: Sequence[Any]) -> Trace:
    """The one tracing that the nodes among the arguments belong to, which must not be over."""
    owners = {one.tracing for one in arguments if type(one) is Node}
    owner = owners.pop()
    if owners or owner.closed:
        raise ArgumentError(
            f"{name}: an operand was made while another call of a fused function was traced; "
            "such a function keeps no tensors from one call to the next: pass them as arguments",
            operation=name,
        )
    return owner


def elements_refused(operation: str, what: str, /) -> UnsupportedOperationError:
    """The error of a fused function that asks for elements.

    >>> elements_refused("item", "an element").operation
    'item'
    """
    return UnsupportedOperationError(
        f"{operation}: a fused function asks for {what}, but it runs once for many calls, before there are any "
        "elements; choose with where(), or do it before the call",
        operation=operation,
    )
