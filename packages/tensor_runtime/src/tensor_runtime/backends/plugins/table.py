"""A table of what others bring, by scope and operation: kernels for a backend, rules of a kind.

Entry points are named ``SCOPE.OPERATION``, one for each thing brought, so that all names are known without loading
anything. What is in the table is loaded on first use; two claims of one name are a conflict when it is used, and
whatever is wrong is told without being fatal to anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from tensor_core.errors import ArgumentError, PluginConflictError, PluginLoadError
from tensor_runtime.backends.discovery import distribution_of, in_one_line, load_entry

HERE: Final = "this process"
"""The origin of what was registered by a call."""


class Offer(NamedTuple):
    """A function that somebody brings, not loaded yet."""

    scope: str  # of a kernel: the backend's name; of a rule: its kind
    operation: str
    origin: str
    load: Callable[[], Any]

    @property
    def name(self) -> str:
        """SCOPE.OPERATION; what there is of it where the entry point has another name."""
        return f"{self.scope}.{self.operation}" if self.scope else self.operation


class PluginTable:
    """Offers by scope and operation.

    Args:
        call: the function by which a process registers one, for messages.
        scope: what scopes are, such as "kind", for messages.
        what: what stands in the table, such as "the kernel for {}", where the braces are the scope.
        taken: that there is one, such as "{} has a kernel {!r}", where the braces are scope and operation.
        accepted: the function that is asked for.
        discover: offers of the installed packages; asked once, when the table is first used.

    >>> table = PluginTable("register_rule", "kind", "the rule {}", "the rule {}.{} is there", "a function", lambda: [])
    >>> table.register("jvp", "exp", max)
    >>> table.find("jvp", "exp"), table.find("jvp", "log"), table.operations("jvp")
    (<built-in function max>, None, frozenset({'exp'}))
    >>> table.register("jvp", "exp", min)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tensor_core.errors.PluginConflictError: register_rule: the rule jvp.exp is there already, from this process; ...
    """

    def __init__(
        self, call: str, scope: str, what: str, taken: str, accepted: str, discover: Callable[[], Iterable[Offer]]
    ) -> None:
        self._call = call
        self._scope = scope
        self._what = what
        self._taken = taken
        self._accepted = accepted
        self._discover = discover
        self._registered: dict[tuple[str, str], Offer] = {}
        self._found: dict[tuple[str, str], list[Offer]] | None = None
        self._loaded: dict[tuple[str, str], Callable[..., Any]] = {}
        self._failed: dict[tuple[str, str], str] = {}

    def find(self, scope: str, operation: str, /, *, rival: str = "") -> Callable[..., Any] | None:
        """What was brought; None where nobody brings anything.

        Args:
            scope: the backend's name, or the kind of rule.
            operation: the name that backends bind.
            rival: who has it already without an offer here, if anybody.

        Raises:
            PluginConflictError: several bring it, or one brings what the rival has.
            PluginLoadError: it did not load.
        """
        key = (scope, operation)
        offers = self._offers(key)
        if not offers:
            return None
        trouble = _conflict(offers, rival)
        if trouble:
            raise PluginConflictError(
                f"{operation}: {self._what.format(scope)} is brought by {trouble}",
                operation=operation,
                backends=(scope,),
            )
        known = self._loaded.get(key)
        if known is not None:
            return known
        try:
            loaded = self._load(offers[0])
        except PluginLoadError as failure:
            self._failed[key] = in_one_line(failure.__cause__ or failure)
            raise
        self._failed.pop(key, None)
        return self._loaded.setdefault(key, loaded)

    def trouble(self, scope: str, operation: str, /, *, rival: str = "") -> str:
        """What is wrong with what was brought, as far as it is known; empty where nothing is. Loads nothing."""
        if not scope or not operation:
            return (
                f"misnamed: an entry point that names no {'operation' if scope else self._scope}; "
                f"accepted: {self._scope.upper()}.OPERATION; mend or uninstall its package"
            )
        key = (scope, operation)
        conflict = _conflict(self._offers(key), rival)
        if conflict:
            return f"conflict: brought by {conflict}"
        return f"broken: {self._failed[key]}" if key in self._failed else ""

    def offers(self) -> list[Offer]:
        """Every offer, sorted; loads none."""
        return sorted((one for many in self._listed().values() for one in many), key=lambda offer: offer[:3])

    def operations(self, scope: str, /) -> frozenset[str]:
        """Names brought in a scope; loads none of them."""
        return frozenset(operation for name, operation in self._listed() if name == scope)

    def register(self, scope: str, operation: str, function: Callable[..., Any], /) -> None:
        """Bring something without an entry point.

        Raises:
            PluginConflictError: somebody brings it already.
            ArgumentError: it cannot be called, or the names are no names.
        """
        for name in (scope, operation):
            if type(name) is not str or not name:
                raise ArgumentError(f"{self._call}: found the name {name!r}; accepted: a str that is not empty")
        if not callable(function):
            raise ArgumentError(f"{self._call}: found a {type(function).__name__}; accepted: {self._accepted}")
        key = (scope, operation)
        before = self._offers(key)
        if before:
            remedy = (
                f"take that one back with registry.un{self._call}() first"
                if before[0].origin == HERE
                else f"an entry point needs no {self._call}(): remove this call"
            )
            raise PluginConflictError(
                f"{self._call}: {self._taken.format(scope, operation)} already, from {before[0].origin}; {remedy}",
                operation=operation,
                backends=(scope,),
            )
        self._registered[key] = Offer(scope, operation, HERE, lambda: function)

    def unregister(self, scope: str, operation: str, /) -> None:
        """Undo :meth:`register`."""
        self._registered.pop((scope, operation), None)
        self._loaded.pop((scope, operation), None)
        self._failed.pop((scope, operation), None)

    def refresh(self) -> None:
        """Read the entry points again when asked next."""
        self._found = None
        self._loaded.clear()
        self._failed.clear()

    def _load(self, offer: Offer) -> Callable[..., Any]:
        what = f"{offer.operation}: {self._what.format(offer.scope)} of {offer.origin}"
        try:
            loaded = offer.load()
        except KeyboardInterrupt:
            raise
        except BaseException as failure:  # a plug-in may fail in any way
            raise PluginLoadError(
                f"{what} did not load: {type(failure).__name__}: {failure}", operation=offer.operation
            ) from failure
        if not callable(loaded):
            raise PluginLoadError(
                f"{what} is of type {type(loaded).__name__}; accepted: {self._accepted}", operation=offer.operation
            )
        function: Callable[..., Any] = loaded
        return function

    def _offers(self, key: tuple[str, str]) -> list[Offer]:
        registered = self._registered.get(key)
        return [*self._entries().get(key, ()), *([registered] if registered else ())]

    def _listed(self) -> dict[tuple[str, str], list[Offer]]:
        return {key: self._offers(key) for key in (*self._entries(), *self._registered)}

    def _entries(self) -> dict[tuple[str, str], list[Offer]]:
        if self._found is None:
            found: dict[tuple[str, str], list[Offer]] = {}
            for offer in sorted(self._discover(), key=lambda offer: offer[:3]):
                found.setdefault((offer.scope, offer.operation), []).append(offer)
            self._found = found
        return self._found


def installed_offers(group: str, /) -> Iterator[Offer]:
    """Offers of the installed distributions in a group of entry points; loads none.

    >>> list(installed_offers("a group that nobody uses"))
    []
    """
    from importlib.metadata import entry_points  # costs as much as NumPy to import: never at import time

    for entry in entry_points(group=group):
        scope, _, operation = entry.name.rpartition(".")
        yield Offer(scope, operation, distribution_of(entry), partial(load_entry, entry))


def _conflict(offers: list[Offer], rival: str) -> str:
    """Who brings something, and what to remove; empty where one does."""
    origins = " and ".join(offer.origin for offer in offers)
    if offers and rival:
        remedy = "do not register it" if offers[0].origin == HERE else f"uninstall {origins}"
        return f"{origins} and {rival}; {remedy}, or give its operation another name"
    return f"{origins}; uninstall one" if len(offers) > 1 else ""
