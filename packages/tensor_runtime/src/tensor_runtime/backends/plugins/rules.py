"""Rules: what is known of an operation beside its kernels, each under a kind and the operation's name.

A rule is a function that somebody attaches to an operation, be it the operation's own package or another one: at run
time, or by an entry point of the group ``tensor_runtime.rules``, one for each rule and named ``KIND.OPERATION``:

    [project.entry-points."tensor_runtime.rules"]
    "lower.hypot" = "my_family.rules:lower_hypot"

The operation is the name that backends bind. Kinds are open: who applies rules of a kind says how they are called.
``lower`` is applied by the registry: where a backend has no kernel, ``function(*operands, params)`` computes the result
of the operation by public functions (``tensor_runtime.dispatch.lowering``).

A missing rule is an error that names the operation and its family, and two rules of one name are one when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from tensor_core.errors import UnsupportedOperationError
from tensor_runtime.backends.plugins.table import Offer, PluginTable, installed_offers

Rule = Callable[..., Any]
LOWER: Final = "lower"
"""The kind of a rule that computes an operation by other ones."""


class RuleTable(PluginTable):
    """Rules by kind and operation.

    >>> table = RuleTable(lambda: [])
    >>> table.register("lower", "hypot", max)
    >>> table.rule("lower", "hypot")
    <built-in function max>
    >>> table.rule("jvp", "hypot", "geometry")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tensor_core.errors.UnsupportedOperationError: hypot: there is no rule jvp.hypot of the family geometry; a ...
    """

    def __init__(self, discover: Callable[[], Iterable[Offer]] | None = None) -> None:
        super().__init__(
            "register_rule",
            "kind",
            "the rule {!r}",
            "the rule {}.{} is there",
            "a function, which is called as rules of its kind are",
            discover or (lambda: installed_offers("tensor_runtime.rules")),
        )

    def rule(self, kind: str, operation: str, family: str = "", /) -> Rule:
        """The rule of a kind for an operation.

        Raises:
            UnsupportedOperationError: there is none; the message names ``family``, whose operation it is.
            PluginConflictError: several bring it.
            PluginLoadError: it did not load.
        """
        found = self.find(kind, operation)
        if found is None:
            of = f" of the family {family}" if family else ""
            raise UnsupportedOperationError(
                f"{operation}: there is no rule {kind}.{operation}{of}; a package may bring it under the "
                f"entry point {kind}.{operation} of the group tensor_runtime.rules, a process with register_rule()",
                operation=operation,
            )
        return found

    def troubles(self) -> Iterator[tuple[Offer, str]]:
        """Rules that cannot be used, each with what is wrong as far as it is known; loads none."""
        for offer in self.offers():
            if trouble := self.trouble(offer.scope, offer.operation):
                yield offer, trouble
