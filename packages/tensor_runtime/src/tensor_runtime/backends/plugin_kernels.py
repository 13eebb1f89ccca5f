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
from functools import partial
from typing import Any, Final, NamedTuple

from tensor_core.errors import ArgumentError, PluginConflictError, PluginLoadError
from tensor_runtime.backends.discovery import distribution_of, in_one_line, load_entry
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.protocols import Backend, Kernel, Operand, Result

Binder = Callable[[tuple[Operand, ...], Result, Any], Kernel]
"""From the operands' forms, the result's form or forms, and the params to a kernel, as in ``Backend.bind``."""


HERE: Final = "this process"
"""The origin of what :func:`tensor_runtime.register_kernel` brought."""


class Offer(NamedTuple):
    """A kernel that somebody brings, not loaded yet."""

    backend: str
    operation: str
    origin: str
    load: Callable[[], Any]


class KernelTable:
    """Offers by backend and operation.

    >>> table = KernelTable(lambda: [])
    >>> table.register("cpu", "hypot", lambda operands, result, params: max)
    >>> table.register("cpu", "hypot", lambda operands, result, params: min)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tensor_core.errors.PluginConflictError: register_kernel: cpu has a kernel 'hypot' already, from this process; ...
    """

    def __init__(self, discover: Callable[[], Iterable[Offer]] | None = None) -> None:
        self._discover = discover or _installed_offers
        self._registered: dict[tuple[str, str], Offer] = {}
        self._found: dict[tuple[str, str], list[Offer]] | None = None
        self._loaded: dict[tuple[str, str], Binder] = {}
        self._failed: dict[tuple[str, str], str] = {}

    def binder(self, backend: Backend[Any], operation: str, /) -> Binder | None:
        """What was brought for an operation of a backend; None leaves it to the backend.

        Raises:
            PluginConflictError: several bring it, or the backend has it itself.
            PluginLoadError: it did not load.
        """
        key = (backend.name, operation)
        offers = self._offers(key)
        if not offers:
            return None
        trouble = _conflict(offers, operation in call_translated("operations", None, backend.operations))
        if trouble:
            raise PluginConflictError(
                f"{operation}: the kernel for {backend.name} is brought by {trouble}",
                operation=operation,
                backends=(backend.name,),
            )
        known = self._loaded.get(key)
        if known is not None:
            return known
        try:
            loaded = _loaded_from(offers[0])
        except PluginLoadError as failure:
            self._failed[key] = in_one_line(failure.__cause__ or failure)
            raise
        self._failed.pop(key, None)
        return self._loaded.setdefault(key, loaded)

    def troubles(self, own: Mapping[str, Collection[str]], /) -> Iterator[tuple[Offer, str]]:
        """Offers that cannot be used, each with what is wrong as far as it is known; loads none.

        Args:
            own: for each backend that there is, the names of the kernels that it has itself.
        """
        for key, offers in self._listed().items():
            conflict = _conflict(offers, key[1] in own.get(key[0], ()))
            if key[0] not in own:
                trouble = f"no backend is called {key[0]!r}; there are {', '.join(sorted(own)) or 'none'}"
            elif conflict:
                trouble = f"conflict: brought by {conflict}"
            elif key in self._failed:
                trouble = f"broken: {self._failed[key]}"
            else:
                continue
            yield from ((offer, trouble) for offer in offers)

    def offers(self) -> list[Offer]:
        """Every offer, sorted; loads none."""
        return sorted((one for many in self._listed().values() for one in many), key=lambda offer: offer[:3])

    def register(self, backend: str, operation: str, binder: Binder, /) -> None:
        """Bring a kernel without an entry point.

        Raises:
            PluginConflictError: somebody brings it already.
            ArgumentError: the binder cannot be called.
        """
        if not callable(binder):
            raise ArgumentError(
                f"register_kernel: the binder is a {type(binder).__name__}; "
                "accepted: a function of (operands, result, params) that returns a kernel"
            )
        key = (backend, operation)
        before = self._offers(key)
        if before:
            remedy = (
                "take that one back with registry.unregister_kernel() first"
                if before[0].origin == HERE
                else f"an entry point needs no register_kernel(): remove this call, or uninstall {before[0].origin}"
            )
            raise PluginConflictError(
                f"register_kernel: {backend} has a kernel {operation!r} already, from {before[0].origin}; {remedy}",
                operation=operation,
                backends=(backend,),
            )
        self._registered[key] = Offer(backend, operation, HERE, lambda: binder)

    def unregister(self, backend: str, operation: str, /) -> None:
        """Undo :meth:`register`."""
        self._registered.pop((backend, operation), None)
        self._loaded.pop((backend, operation), None)
        self._failed.pop((backend, operation), None)

    def operations(self, backend: str, /) -> frozenset[str]:
        """Names brought for a backend; loads none of them."""
        return frozenset(operation for name, operation in self._listed() if name == backend)

    def refresh(self) -> None:
        """Read the entry points again when asked next."""
        self._found = None
        self._loaded.clear()
        self._failed.clear()

    def _offers(self, key: tuple[str, str]) -> list[Offer]:
        registered = self._registered.get(key)
        return [*self._entries().get(key, ()), *([registered] if registered else ())]

    def _listed(self) -> dict[tuple[str, str], list[Offer]]:
        return {key: self._offers(key) for key in (*self._entries(), *self._registered)}

    def _entries(self) -> dict[tuple[str, str], list[Offer]]:
        if self._found is None:
            found: dict[tuple[str, str], list[Offer]] = {}
            for offer in self._discover():
                found.setdefault((offer.backend, offer.operation), []).append(offer)
            self._found = found
        return self._found


def _conflict(offers: list[Offer], has_itself: bool) -> str:
    """Who brings a kernel, and what to remove; empty where one does."""
    origins = " and ".join(offer.origin for offer in offers)
    if has_itself:
        remedy = "do not register it" if offers[0].origin == HERE else f"uninstall {origins}"
        return f"{origins} and the backend {offers[0].backend!r} itself; {remedy}, or give its operation another name"
    return f"{origins}; uninstall one" if len(offers) > 1 else ""


def _loaded_from(offer: Offer) -> Binder:
    try:
        binder = offer.load()
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # a plug-in may fail in any way
        raise PluginLoadError(
            f"{offer.operation}: the kernel for {offer.backend} of {offer.origin} did not load: "
            f"{type(failure).__name__}: {failure}",
            operation=offer.operation,
        ) from failure
    if not callable(binder):
        raise PluginLoadError(
            f"{offer.operation}: the kernel for {offer.backend} of {offer.origin} is a {type(binder).__name__}; "
            "accepted: a function of (operands, result, params) that returns a kernel",
            operation=offer.operation,
        )
    loaded: Binder = binder
    return loaded


def _installed_offers() -> Iterable[Offer]:
    """Offers of the installed distributions; loads none."""
    from importlib.metadata import entry_points  # costs as much as NumPy to import: never at import time

    for entry in entry_points(group="tensor_runtime.kernels"):
        backend, _, operation = entry.name.rpartition(".")
        yield Offer(backend, operation, distribution_of(entry), partial(load_entry, entry))
