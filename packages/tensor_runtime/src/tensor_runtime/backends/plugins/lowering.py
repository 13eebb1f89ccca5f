"""Where a backend has no kernel, a rule ``lower.NAME`` computes the operation by kernels that it has.

Whether a rule can stand in is decided when it is bound, not when it runs: the kernels that it asks for are found out
without data. What it cannot reach is the error, beside the backend's own reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from tensor_core.errors import UnsupportedOperationError
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.meta import KernelRequest, without_elements
from tensor_runtime.backends.plugins.families import family_table
from tensor_runtime.backends.plugins.kernels import KernelTable
from tensor_runtime.backends.plugins.rules import LOWER, Rule, RuleTable
from tensor_runtime.protocols import Backend, Kernel, Operand, Result

LoweredBinder = Callable[[Rule, KernelRequest], tuple[Kernel, frozenset[KernelRequest]]]
"""From a rule and what its operation's kernel is bound to, to a kernel that runs the rule, and the kernels that it asks
for, on tensors without elements."""
_binder: LoweredBinder | None = None
_DEEPEST: Final = 100  # rules inside rules; what asks for more of them, each with other forms, never ends
_SHOWN: Final = 10  # operations of a circle, in its message


def set_lowered_binder(binder: LoweredBinder, /) -> None:
    """Say how a rule becomes a kernel; ``dispatch`` does, which knows tensors as nothing here does.

    >>> from tensor_runtime.dispatch.lowering import bind_rule
    >>> set_lowered_binder(bind_rule)
    """
    global _binder
    _binder = binder


def bound_rule(rule: Rule, request: KernelRequest, /) -> Kernel:
    """A kernel that runs a rule.

    >>> from tensor_runtime.ops.arithmetic import multiply
    >>> form = zeros(2)._form
    >>> kernel = bound_rule(lambda x, params: multiply(x, x), KernelRequest("square", (form,), form, None))
    >>> kernel(tensor([3.0, 4.0])._array).tolist()
    [9.0, 16.0]
    """
    assert _binder is not None, "tensor_runtime.dispatch.lowering is not imported"
    return _binder(rule, request)[0]


def lowered_kernel(
    lacking: UnsupportedOperationError,
    rules: RuleTable,
    kernels: KernelTable,
    backend: Backend[Any],
    operation: str,
    operands: tuple[Operand, ...],
    result: Result,
    params: Any,
    /,
) -> Kernel:
    """A kernel that runs the rule ``lower.NAME`` of an operation that a backend has refused to bind.

    Args:
        lacking: the backend's refusal.
        rules: where the rule may be.
        kernels: what others bring for the backend.
        backend: where the operands are.
        operation: the name that it was asked for.
        operands: forms, and types of Python numbers.
        result: form or forms of the result.
        params: of the operation.

    Raises:
        UnsupportedOperationError: the refusal itself where the backend does not say what it has, refused for another
            reason, or the runtime's own operation has no rule; else the refusal, and the family that has no rule,
            what the rule lacks as well, or the circle in which rules ask for one another.
        PluginConflictError: several packages bring the rule.
        PluginLoadError: it did not load.

    >>> from tensor_runtime import backend
    >>> from tensor_runtime.testing.simulated_device import SimulatedBackend
    >>> poor, form = SimulatedBackend(backend("cpu"), "poor", {"inv": "no LAPACK"}), zeros((2, 2))._form
    >>> refusal = UnsupportedOperationError("inv: no LAPACK")
    >>> lowered_kernel(refusal, RuleTable(), KernelTable(), poor, "inv", (form,), form, True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tensor_core.errors.UnsupportedOperationError: inv: no LAPACK; no rule lower.inv of the family linalg ...
    """
    own = call_translated("operations", None, backend.operations)
    if not own or operation in own or getattr(lacking, "operation", operation) != operation:
        raise lacking
    rule = rules.find(LOWER, operation)
    if rule is None or _binder is None:
        family = family_table.of_kernel(operation)
        if not family:
            raise lacking
        raise UnsupportedOperationError(
            f"{lacking}; no rule lower.{operation} of the family {family} stands in for it", operation=operation
        ) from lacking
    request = KernelRequest(operation, operands, result, params)
    kernel, called = _binder(rule, request)
    there = own | kernels.operations(backend.name)
    missing = sorted({one.operation for one in called} - there - rules.operations(LOWER))
    if missing:
        raise UnsupportedOperationError(
            f"{lacking}; the rule lower.{operation} would stand in, but asks for {', '.join(missing)}, which "
            f"{backend.name} lacks as well",
            operation=operation,
        ) from lacking
    circle = _circle((without_elements(request),), called, there, rules, _binder, set())
    if circle:
        raise UnsupportedOperationError(
            f"{lacking}; the rule lower.{operation} would stand in, but rules ask for one another in a circle: "
            f"{' -> '.join(circle)}; {backend.name} needs a kernel for one of them",
            operation=operation,
        ) from lacking
    return kernel


def _circle(
    path: tuple[KernelRequest, ...],
    called: frozenset[KernelRequest],
    there: Collection[str],
    rules: RuleTable,
    bind: LoweredBinder,
    ending: set[KernelRequest],
) -> tuple[str, ...]:
    """Operations from the first to the one that comes again, where rules ask for one another; empty where they end.

    One operation may come again with other forms or params, as a rule may take away one axis after the other.

    Args:
        path: requests for which rules stand in, each asked for by the one before.
        called: what the last one's rule asks for.
        there: operations for which there are kernels.
        rules: where the other rules are.
        bind: finds out what a rule asks for.
        ending: requests that are known to lead into no circle; grows.
    """
    for request in sorted(called - ending, key=lambda one: one.operation):
        if request.operation in there:
            continue
        if request in path or len(path) == _DEEPEST:
            return tuple(one.operation for one in (*path[-_SHOWN:], request))
        rule = rules.find(LOWER, request.operation)
        if rule is not None:
            _, deeper = bind(rule, request)
            circle = _circle((*path, request), deeper, there, rules, bind, ending)
            if circle:
                return circle
        ending.add(request)
    return ()


def lowered_operations(rules: RuleTable, kernels: KernelTable, backend: Backend[Any], /) -> tuple[str, ...]:
    """Operations for which a backend has no kernel but there is a rule, sorted; none if it does not say what it has.

    A rule may ask for kernels that the backend lacks as well; a call then says so.

    >>> from tensor_runtime import backend
    >>> from tensor_runtime.testing.simulated_device import SimulatedBackend
    >>> poor = SimulatedBackend(backend("cpu"), "poor", {"softmax": "no such unit"})
    >>> lowered_operations(RuleTable(), KernelTable(), poor)
    ('softmax',)
    """
    own = call_translated("operations", None, backend.operations)
    there = own | kernels.operations(backend.name)
    return tuple(sorted(rules.operations(LOWER) - there)) if own else ()
