"""Kernels that an operation family brings for a backend which is not its own.

A family declares specs and public functions, and backends meet it through kernel names. Where a backend lacks the
name, anybody may bring the kernel: at run time, or by an entry point of the group ``tensor_runtime.kernels``, one for
each kernel and named ``BACKEND.OPERATION``. So all names are known without loading anything:

    [project.entry-points."tensor_runtime.kernels"]
    "cpu.hypot" = "my_family.cpu:bind_hypot"

A backend's own kernel is never replaced silently: two claims of one name are a conflict when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.plugins.table import Offer, PluginTable, installed_offers
from tensor_runtime.protocols import Backend, Kernel, Operand, Result

Binder = Callable[[tuple[Operand, ...], Result, Any], Kernel]
"""From the operands' forms, the result's form or forms, and the params to a kernel, as in ``Backend.bind``."""


class KernelTable(PluginTable):
    """Kernels by backend and operation.

    >>> table = KernelTable(lambda: [])
    >>> table.register("cpu", "hypot", lambda operands, result, params: max)
    >>> table.register("cpu", "hypot", lambda operands, result, params: min)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tensor_core.errors.PluginConflictError: register_kernel: cpu has a kernel 'hypot' already, from this process; ...
    """

    def __init__(self, discover: Callable[[], Iterable[Offer]] | None = None) -> None:
        super().__init__(
            "register_kernel",
            "backend",
            "the kernel for {}",
            "{} has a kernel {!r}",
            "a function of (operands, result, params) that returns a kernel",
            discover or (lambda: installed_offers("tensor_runtime.kernels")),
        )

    def binder(self, backend: Backend[Any], operation: str, /) -> Binder | None:
        """What was brought for an operation of a backend; None leaves it to the backend.

        Raises:
            PluginConflictError: several bring it, or the backend has it itself.
            PluginLoadError: it did not load.
        """
        scope = backend.name
        if not self._offers((scope, operation)):
            return None
        own = call_translated("operations", None, backend.operations)
        return self.find(scope, operation, rival=_rival(scope, operation, own))

    def troubles(self, own: Mapping[str, Collection[str]], /) -> Iterator[tuple[Offer, str]]:
        """Offers that cannot be used, each with what is wrong as far as it is known; loads none.

        Args:
            own: for each backend that there is, the names of the kernels that it has itself.
        """
        for offer in self.offers():
            scope, operation = offer.scope, offer.operation
            if scope and scope not in own:
                yield offer, f"no backend is called {scope!r}; there are {', '.join(sorted(own)) or 'none'}"
            elif trouble := self.trouble(scope, operation, rival=_rival(scope, operation, own.get(scope, ()))):
                yield offer, trouble


def _rival(scope: str, operation: str, own: Collection[str]) -> str:
    return f"the backend {scope!r} itself" if operation in own else ""
