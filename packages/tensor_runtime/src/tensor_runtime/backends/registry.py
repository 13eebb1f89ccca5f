"""The registry: which backend serves which device, found through entry points.

Two groups are read (``tensor_runtime.backends.discovery``), and nothing is read at import:

* ``tensor_runtime.backends``: a backend, or a function without arguments that returns one; loaded on first use.
* ``tensor_runtime.backend_info`` (optional, same name): a mapping in a module that imports nothing heavy, with

  ``protocol_version``  the ``PROTOCOL_VERSION`` the backend was written for,
  ``device_kinds``      the device names it claims, such as ``("cpu",)`` or ``("cuda",)``,
  ``status``, ``reason``  when it cannot be used here: a few words, and why (optional; "ready" means that it can).

All info modules are imported when a backend is looked for the first time or listed. A backend without one is imported
when a device is named that no other backend claims, because only itself can tell.

Kernels that other packages bring for a backend, rules for operations, and families of operations are found in groups
of their own (``tensor_runtime.backends.plugins``). Where a backend has no kernel, a rule ``lower.NAME`` stands in.

A broken entry, and each of two that claim one name or one device, is reported by :func:`backends` and never breaks
another one. ``TENSOR_RUNTIME_BACKENDS=cpu,other`` in the environment limits the search to the names listed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from tensor_core.errors import (
    ArgumentError,
    BackendUnavailableError,
    PlacementError,
    PluginConflictError,
    PluginLoadError,
    UnsupportedOperationError,
    shortened,
)
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.backends.discovery import VARIABLE, AnyBackend, Candidate, in_one_line, installed_candidates
from tensor_runtime.backends.error_translation import call_translated, fail
from tensor_runtime.backends.plugins.families import family_table
from tensor_runtime.backends.plugins.kernels import Binder, KernelTable
from tensor_runtime.backends.plugins.lowering import lowered_kernel, lowered_operations
from tensor_runtime.backends.plugins.pure_arrays import on_cells, writable
from tensor_runtime.backends.plugins.result_checks import CheckedResults, result_checks
from tensor_runtime.backends.plugins.rules import Rule, RuleTable
from tensor_runtime.backends.rows import (
    KERNEL,
    RULE,
    BackendRow,
    BackendTable,
    device_conflict,
    name_conflict,
    own_kernels,
)
from tensor_runtime.locks import fork_safe_lock
from tensor_runtime.placement import DeviceId, DeviceKind, Placement, as_placement, is_stand_in
from tensor_runtime.protocols import Kernel, Operand, Result

_INSTALL: Final = {"cpu": "pip install ironstride-tensor-cpu"}


class Registry:
    """Backends by name and by device kind.

    >>> Registry(lambda: [Candidate("npu", "npu-plugin 1.0", lambda: None, {"device_kinds": ("npu",)})]).backends()
    name  devices  distribution    status
    npu   npu      npu-plugin 1.0  not loaded
    """

    def __init__(self, discover: Callable[[], Iterable[Candidate]]) -> None:
        self._discover = discover
        self._registered: list[Candidate] = []
        self._found: list[Candidate] | None = None
        self._by_placement: dict[Placement, AnyBackend] = {}
        self._lock = fork_safe_lock()
        self.kernels = KernelTable()
        self._left_to_backends: set[tuple[Placement, str]] = set()  # operations for which nobody else brings a kernel
        self.rules = RuleTable()
        self._serving_told: list[Callable[[Placement, AnyBackend | None], None]] = []

    def on_serving(self, told: Callable[[Placement, AnyBackend | None], None], /) -> None:
        """Call a function with every placement and the backend that begins to serve it; with None when it ends."""
        self._serving_told.append(told)

    def bind(self, operation: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """The kernel of an operation where its result will be: the backend's own, or one that a family brought.

        Where there is neither, the rule ``lower.NAME`` computes the operation by kernels that the backend has.

        Raises:
            UnsupportedOperationError: the backend lacks the operation, and no rule can stand in; the message says why.
            PluginConflictError: both have it, or several families, or several bring the rule.
            OutOfMemoryError: so large a result that not even its kernel can be bound.
            BackendError: binding failed otherwise.
        """
        placement = (result[0] if isinstance(result, tuple) else result).placement
        backend = self.backend_for(placement)
        left = (placement, operation)
        binder = None if left in self._left_to_backends else self.kernels.binder(backend, operation)
        if binder is None:
            self._left_to_backends.add(left)
        try:
            arguments = operands, result, params
            kernel = backend.bind(operation, *arguments) if binder is None else binder(*arguments)
            kernel = CheckedResults(backend, operation, result, kernel) if result_checks.wanted else kernel
            return kernel if binder is None else on_cells(backend, kernel, operation, *arguments)
        except UnsupportedOperationError as error:
            if binder is not None:
                raise
            lacking = error
        except Exception as error:
            fail(operation, error, result)
        return lowered_kernel(lacking, self.rules, self.kernels, backend, operation, operands, result, params)

    def backend_for(self, placement: Placement, /) -> AnyBackend:
        """The backend that serves a placement.

        Raises:
            BackendUnavailableError: nobody serves the device; the message names what to install or to unset.
            PlacementError: its backend has no such device or memory; the message names those it has.
            PluginConflictError: several backends claim the device.
            PluginLoadError: its backend did not load.
        """
        known = self._by_placement.get(placement)
        if known is not None:
            return known
        if placement.device is None:
            raise BackendUnavailableError(f"placement {placement} names no device, so no backend can compute there")
        with self._lock:
            backend = writable(self._serving(placement.device.kind), self.rules, self._by_placement.values())
            there = placements_of(backend)
            if placement not in there and not is_stand_in(placement):
                raise PlacementError(
                    f"placement {placement}: the {backend.name} backend has no such device or memory; "
                    f"it has {', '.join(map(repr, there))}",
                    placement=placement,
                    placements=tuple(there),
                )
            self._by_placement[placement] = backend
            for told in self._serving_told:
                told(placement, backend)
            return backend

    def _serving(self, kind: DeviceKind) -> AnyBackend:
        claims = [candidate for candidate in self._candidates() if kind.short in candidate.device_kinds]
        if not claims:
            claims = [candidate for candidate in self._candidates() if self._turns_out_to_serve(candidate, kind)]
        if not claims:
            raise self._nobody(kind)
        usable = [candidate for candidate in claims if not candidate.unavailable] or claims
        if conflict := device_conflict(kind.short, usable):
            raise PluginConflictError(conflict, backends=tuple(candidate.name for candidate in usable))
        return usable[0].resolve()

    def backend(self, name: str, /) -> AnyBackend:
        """The backend listed under a name; errors as for :meth:`backend_for`."""
        if not isinstance(name, str):
            raise ArgumentError(f"backend: the name is {shortened(name)}; accepted: a str, as backends() lists them")
        with self._lock:
            named = [candidate for candidate in self._candidates() if candidate.name == name]
            if not named:
                listed = ", ".join(sorted({candidate.name for candidate in self._candidates()})) or "none"
                raise BackendUnavailableError(f"backend {name!r} is not installed; installed: {listed}", backend=name)
            if conflict := name_conflict(named[0], named):
                raise PluginConflictError(conflict, backends=(name,))
            return named[0].resolve()

    def backends(self) -> BackendTable:
        """Every backend found, with its status, and every kernel brought for one that is in trouble; loads none."""
        with self._lock:
            candidates = sorted(self._candidates(), key=lambda candidate: candidate.name)
            own: dict[str, Collection[str]] = {}
            rows = []
            for one in candidates:
                names, fault = own_kernels(one)
                own[one.name] = names
                if one.instance is not None:
                    own[one.instance.name] = names
                trouble = self._conflict(one) or fault
                devices = ", ".join(one.device_kinds) or "?"
                lowered = (
                    () if one.instance is None or fault else lowered_operations(self.rules, self.kernels, one.instance)
                )
                status = one.status + (f", with rules for {', '.join(lowered)}" if lowered else "")
                rows.append(BackendRow(one.name, devices, one.distribution, trouble or status, bool(trouble)))
            rows += [
                BackendRow(offer.name, KERNEL, offer.origin, trouble, True)
                for offer, trouble in self.kernels.troubles(own)
            ]
            rows += [
                BackendRow(offer.name, RULE, offer.origin, trouble, True) for offer, trouble in self.rules.troubles()
            ]
            return BackendTable(rows)

    def _conflict(self, candidate: Candidate) -> str:
        """What another candidate claims as well; empty where there is nothing to mend."""
        if candidate.excluded or (candidate.failure is not None and candidate.instance is None):
            return ""
        known = self._candidates()
        conflicts = [name_conflict(candidate, known)]
        if not candidate.unavailable:
            conflicts += [device_conflict(kind, known) for kind in sorted(candidate.device_kinds)]
        return next((f"conflict: {one}" for one in conflicts if one), "")

    def loaded(self) -> list[AnyBackend]:
        """Every backend that has been loaded; loads none."""
        with self._lock:
            return [candidate.instance for candidate in self._candidates() if candidate.instance is not None]

    def register(self, name: str, backend: AnyBackend, /) -> None:
        """Make a backend known without an entry point, for notebooks and tests.

        Raises:
            PluginConflictError: the name, or the device kind, is already taken.
        """
        kind = getattr(backend, "device_kind", None)
        if type(name) is not str or type(kind) is not DeviceKind or not hasattr(backend, "bind"):
            raise ArgumentError(
                f"register_backend: found {name!r} and a {type(backend).__name__}; accepted: a name, and an object as "
                "tensor_runtime.protocols.Backend describes"
            )
        fresh = Candidate(name, "this process", lambda: backend, {"device_kinds": (kind.short,)})
        with self._lock:
            for other in self._candidates():
                if not other.excluded and (other.name == name or kind.short in other.device_kinds):
                    raise PluginConflictError(
                        f"register_backend: {name!r} for {backend.device_kind.short!r} meets {other.name!r} of "
                        f"{other.distribution}; each name and each device kind belongs to one backend",
                        backends=(name, other.name),
                    )
            fresh.resolve()
            self._registered.append(fresh)
        self._forget_bindings()

    def unregister(self, name: str, /) -> None:
        """Undo :meth:`register`; tensors of that backend can no longer be used."""
        with self._lock:
            self._registered = [candidate for candidate in self._registered if candidate.name != name]
        self._forget_bindings()

    def refresh(self) -> None:
        """Read the entry points again, after an installation in a running process; clears every binding."""
        with self._lock:
            self._found = None
        self.kernels.refresh()
        self.rules.refresh()
        family_table.refresh()
        self._forget_bindings()

    def register_kernel(self, backend: str, operation: str, binder: Binder, /) -> None:
        """Bring a kernel for a backend without an entry point; errors as for ``KernelTable.register``."""
        self.kernels.register(backend, operation, binder)
        self._forget_bindings()

    def unregister_kernel(self, backend: str, operation: str, /) -> None:
        """Undo :meth:`register_kernel`."""
        self.kernels.unregister(backend, operation)
        self._forget_bindings()

    def register_rule(self, kind: str, operation: str, function: Rule, /) -> None:
        """Attach a rule to an operation without an entry point; errors as for ``RuleTable.register``."""
        self.rules.register(kind, operation, function)
        binding_cache.clear()

    def unregister_rule(self, kind: str, operation: str, /) -> None:
        """Undo :meth:`register_rule`."""
        self.rules.unregister(kind, operation)
        binding_cache.clear()

    def rule(self, kind: str, operation: str, /) -> Rule:
        """The rule of a kind for an operation; errors as for ``RuleTable.rule``."""
        return self.rules.rule(kind, operation, family_table.of_kernel(operation))

    def _forget_bindings(self) -> None:
        with self._lock:
            for placement in self._by_placement:
                for told in self._serving_told:
                    told(placement, None)
            self._by_placement.clear()
            self._left_to_backends.clear()
        binding_cache.clear()

    def _candidates(self) -> list[Candidate]:
        if self._found is None:
            self._found = list(self._discover())
        return self._found + self._registered

    @staticmethod
    def _turns_out_to_serve(candidate: Candidate, kind: DeviceKind) -> bool:
        """Whether a backend without an info entry serves a device that no other claims: it has to be loaded."""
        if not candidate.declared and candidate.failure is None and not candidate.unavailable:
            try:
                return candidate.resolve().device_kind is kind
            except (PluginLoadError, BackendUnavailableError):
                return False
        return False

    def _nobody(self, kind: DeviceKind) -> BackendUnavailableError:
        return BackendUnavailableError(
            f"no backend serves device {kind.short!r}; {'; '.join(self._ways_out(kind))}", device=kind.short
        )

    def _ways_out(self, kind: DeviceKind) -> Iterator[str]:
        """What is installed and may be the reason; else what to install."""
        excluded = sorted({one.name for one in self._candidates() if one.excluded})
        broken = [one for one in self._candidates() if one.failure is not None and not one.declared]
        if excluded:
            yield f"{VARIABLE}={os.environ.get(VARIABLE, '')} leaves out {', '.join(excluded)}: unset it, or add a name"
        yield from (
            f"{one.name!r} of {one.distribution} may, but is broken: {in_one_line(one.failure)}" for one in broken
        )
        if not excluded and not broken:
            yield _INSTALL.get(kind.short, "install a package that serves it, or call register_backend()")


def placements_of(backend: AnyBackend, /) -> Collection[Placement]:
    """The placements that a backend has; without ``placements()`` it has its first device, in the usual memory.

    >>> placements_of(backend("cpu"))
    (cpu,)
    """
    listed = getattr(backend, "placements", None)
    if listed is None:
        return (as_placement(DeviceId(backend.device_kind)),)
    found: Collection[Placement] = call_translated("placements", None, listed)
    return found


registry: Final = Registry(installed_candidates)
"""The registry of this process."""


def backends() -> BackendTable:
    """Every backend found, with its devices, distribution and status; loads none.

    What two claim, a name or a device, both rows say. A kernel that a package brings for a backend has a row, named as
    its entry point, when it is in trouble: it did not load, or somebody else brings it, or there is no such backend.

    >>> "cpu" in [row.name for row in backends()]
    True
    """
    return registry.backends()


def backend(name: str, /) -> AnyBackend:
    """The backend listed under ``name``, loaded if need be.

    Raises:
        BackendUnavailableError: not installed, or unusable here; the message says why.
        PluginLoadError: it is installed but did not load; the cause is chained.
        PluginConflictError: two distributions use the name.

    >>> backend("cpu").name
    'cpu'
    """
    return registry.backend(name)


def register_backend(name: str, backend: AnyBackend, /) -> None:
    """Make a backend known to this process without an entry point.

    Raises:
        PluginConflictError: the name, or the backend's device kind, is already taken.
    """
    registry.register(name, backend)


def register_kernel(backend: str, operation: str, binder: Binder, /) -> None:
    """Bring the kernel of an operation for a backend that lacks it, for this process.

    Args:
        backend: the backend's name, such as "cpu".
        operation: the name that the operation's spec binds.
        binder: from (operands, result, params), as ``protocols.Backend.bind`` describes them, to the kernel.

    Raises:
        PluginConflictError: somebody has brought it already. A kernel that the backend has itself is a conflict at use.
    """
    registry.register_kernel(backend, operation, binder)


def register_rule(kind: str, operation: str, function: Rule, /) -> None:
    """Attach a rule to an operation, for this process; a package does it by an entry point.

    Args:
        kind: what the rule is for, such as "lower"; any word, as long as somebody applies rules of that kind.
        operation: the name that the operation's spec binds.
        function: called as rules of its kind are. A rule "lower" is called with the operands, which are tensors and
            Python numbers, and the params, and computes the result by public functions; see
            ``tensor_runtime.dispatch.lowering``.

    Raises:
        PluginConflictError: somebody has brought it already.
    """
    registry.register_rule(kind, operation, function)


def refresh_backends() -> None:
    """Read the entry points again, after an installation in a running process."""
    registry.refresh()
