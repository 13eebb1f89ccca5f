"""The registry: which backend serves which device, found through entry points.

Two groups are read, and nothing is read at import:

* ``tensor_runtime.backends``: a backend, or a function without arguments that returns one; loaded on first use.
* ``tensor_runtime.backend_info`` (optional, same name): a mapping in a module that imports nothing heavy, with

  ``protocol_version``  the ``PROTOCOL_VERSION`` the backend was written for,
  ``device_kinds``      the device names it claims, such as ``("cpu",)`` or ``("cuda",)``,
  ``status``, ``reason``  when it cannot be used here: a few words, and why (optional).

Kernels that other packages bring for a backend are found in a third group (``tensor_runtime.family_kernels``).

A broken entry is reported by :func:`backends` and never breaks another one. ``TENSOR_RUNTIME_BACKENDS=cpu,other`` in
the environment limits the search to the names listed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from threading import RLock
from typing import Any, Final, NamedTuple

from tensor_core.errors import (
    ArgumentError,
    BackendContractError,
    BackendUnavailableError,
    PluginConflictError,
    PluginLoadError,
)
from tensor_runtime.bindings import binding_cache
from tensor_runtime.failures import fail
from tensor_runtime.family_kernels import Binder, KernelTable
from tensor_runtime.placement import DeviceKind, Placement
from tensor_runtime.protocols import PROTOCOL_VERSION, Backend, Kernel, Operand, Result

AnyBackend = Backend[Any]
_INSTALL: Final = {
    "cpu": "pip install ironstride-tensor-cpu",
    "cuda": "pip install ironstride-tensor-gpu",
    "rocm": "pip install ironstride-tensor-gpu",
}


class Candidate:
    """An entry found but perhaps not loaded yet: where it comes from, and what became of it.

    >>> candidate = Candidate("npu", "npu-plugin 1.0", lambda: None, {"status": "no driver", "device_kinds": ("npu",)})
    >>> candidate.status
    'no driver'
    """

    def __init__(self, name: str, distribution: str, load: Callable[[], object], info: Mapping[str, Any]) -> None:
        self.name = name
        self.distribution = distribution
        self.load = load
        self.device_kinds: tuple[str, ...] = tuple(info.get("device_kinds", ()))
        self.unavailable = ": ".join(str(info[part]) for part in ("status", "reason") if info.get(part))
        self.failure: BaseException | None = None
        self.instance: AnyBackend | None = None
        protocol = info.get("protocol_version", PROTOCOL_VERSION)
        if protocol != PROTOCOL_VERSION and not self.unavailable:
            self.unavailable = f"written for backend protocol {protocol}; this runtime speaks {PROTOCOL_VERSION}"

    @property
    def status(self) -> str:
        """One word or one reason, as :func:`backends` shows it."""
        if self.instance is not None:
            return "ready"
        if self.failure is not None:
            return f"broken: {type(self.failure).__name__}: {self.failure}"
        return self.unavailable or "not loaded"

    def resolve(self) -> AnyBackend:
        """The backend itself; loads it the first time."""
        if self.instance is not None:
            return self.instance
        if self.unavailable:
            raise BackendUnavailableError(f"backend {self.name!r}: {self.unavailable}", backend=self.name)
        if self.failure is None:
            try:
                loaded = self.load()
                backend: Any = loaded() if not hasattr(loaded, "bind") and callable(loaded) else loaded
                if not (hasattr(backend, "bind") and isinstance(getattr(backend, "device_kind", None), DeviceKind)):
                    raise BackendContractError(
                        f"backend {self.name!r}: {type(backend).__name__} has no bind() or no device_kind; "
                        "accepted: an object as tensor_runtime.protocols.Backend describes"
                    )
                self.instance = backend
                return self.instance
            except KeyboardInterrupt:
                raise
            except BaseException as failure:  # a plug-in may even call sys.exit() or recurse without end
                self.failure = failure
        raise PluginLoadError(
            f"backend {self.name!r} of {self.distribution} did not load: "
            f"{type(self.failure).__name__}: {self.failure}; mend or uninstall it, then call refresh_backends()",
            backend=self.name,
        ) from self.failure


class BackendRow(NamedTuple):
    """One line of :func:`backends`."""

    name: str
    devices: str
    distribution: str
    status: str


class BackendTable(tuple[BackendRow, ...]):
    """Backends known to this process; prints as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [BackendRow("name", "devices", "distribution", "status"), *self]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = (
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
        )
        return "\n".join(line.rstrip() for line in lines)


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
        self._by_kind: dict[DeviceKind, AnyBackend] = {}
        self._lock = RLock()
        self.kernels = KernelTable()
        os.register_at_fork(after_in_child=self._renew_lock)

    def bind(self, operation: str, operands: tuple[Operand, ...], result: Result, detail: Any, /) -> Kernel:
        """The kernel of an operation where its result will be: the backend's own, or one that a family brought.

        Raises:
            UnsupportedOperationError: neither has the operation.
            PluginConflictError: both have it, or several families.
            OutOfMemoryError: so large a result that not even its kernel can be bound.
            BackendError: binding failed otherwise.
        """
        backend = self.backend_for((result[0] if isinstance(result, tuple) else result).placement)
        binder = self.kernels.binder(backend, operation)
        try:
            if binder is not None:
                return binder(operands, result, detail)
            return backend.bind(operation, operands, result, detail)
        except Exception as error:
            fail(operation, error, result)

    def backend_for(self, placement: Placement, /) -> AnyBackend:
        """The backend that serves a placement.

        Raises:
            BackendUnavailableError: nobody serves the device; the message names the install command.
            PluginConflictError: several backends claim it.
            PluginLoadError: its backend did not load.
        """
        if placement.device is None:
            raise BackendUnavailableError(f"placement {placement} names no device, so no backend can compute there")
        kind = placement.device.kind
        known = self._by_kind.get(kind)
        if known is not None:
            return known
        with self._lock:
            claims = [candidate for candidate in self._candidates() if self._claims(candidate, kind)]
            if not claims:
                raise self._nobody(kind)
            usable = [candidate for candidate in claims if not candidate.unavailable] or claims
            if len(usable) > 1:
                raise PluginConflictError(
                    f"device {kind.short!r} is claimed by "
                    + " and ".join(f"{candidate.name!r} of {candidate.distribution}" for candidate in usable)
                    + "; uninstall one, or choose with TENSOR_RUNTIME_BACKENDS",
                    backends=tuple(candidate.name for candidate in usable),
                )
            return self._by_kind.setdefault(kind, usable[0].resolve())

    def backend(self, name: str, /) -> AnyBackend:
        """The backend listed under a name; errors as for :meth:`backend_for`."""
        with self._lock:
            named = [candidate for candidate in self._candidates() if candidate.name == name]
            if not named:
                listed = ", ".join(sorted(candidate.name for candidate in self._candidates())) or "none"
                raise BackendUnavailableError(f"backend {name!r} is not installed; installed: {listed}", backend=name)
            if len(named) > 1:
                raise PluginConflictError(
                    f"backend name {name!r} is taken by "
                    + " and ".join(candidate.distribution for candidate in named)
                    + "; uninstall one",
                    backends=(name,),
                )
            return named[0].resolve()

    def backends(self) -> BackendTable:
        """Every backend found, with its status; loads none."""
        with self._lock:
            return BackendTable(
                BackendRow(
                    candidate.name, ", ".join(candidate.device_kinds) or "?", candidate.distribution, candidate.status
                )
                for candidate in sorted(self._candidates(), key=lambda candidate: candidate.name)
            )

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
                if other.name == name or self._claims(other, backend.device_kind):
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
        self._forget_bindings()

    def register_kernel(self, backend: str, operation: str, binder: Binder, /) -> None:
        """Bring a kernel for a backend without an entry point; errors as for ``KernelTable.register``."""
        self.kernels.register(backend, operation, binder)
        binding_cache.clear()

    def unregister_kernel(self, backend: str, operation: str, /) -> None:
        """Undo :meth:`register_kernel`."""
        self.kernels.unregister(backend, operation)
        binding_cache.clear()

    def _forget_bindings(self) -> None:
        with self._lock:
            self._by_kind.clear()
        binding_cache.clear()

    def _candidates(self) -> list[Candidate]:
        if self._found is None:
            self._found = list(self._discover())
        return self._found + self._registered

    @staticmethod
    def _claims(candidate: Candidate, kind: DeviceKind) -> bool:
        if candidate.device_kinds:
            return kind.short in candidate.device_kinds
        if candidate.instance is None and candidate.failure is None and not candidate.unavailable:
            try:  # without an info entry, only the backend itself can tell
                candidate.resolve()
            except PluginLoadError:
                return False
        return candidate.instance is not None and candidate.instance.device_kind is kind

    def _nobody(self, kind: DeviceKind) -> BackendUnavailableError:
        hint = _INSTALL.get(kind.short, "install the package that serves it, or call register_backend()")
        return BackendUnavailableError(f"no backend serves device {kind.short!r}; {hint}", device=kind.short)

    def _renew_lock(self) -> None:
        self._lock = RLock()


def _installed_candidates() -> Iterable[Candidate]:
    """Candidates of the installed distributions, in the order of their names."""
    from importlib.metadata import entry_points  # costs as much as NumPy to import: never at import time

    yield Candidate("meta", "tensor_runtime itself", _load_meta, {"device_kinds": ("meta",)})
    yield Candidate("recording", "tensor_runtime itself", _load_recording, {"device_kinds": ("recording",)})
    allowed = os.environ.get("TENSOR_RUNTIME_BACKENDS")
    names = None if allowed is None else {name.strip() for name in allowed.split(",")}
    infos = {(entry.name, _distribution(entry)): entry for entry in entry_points(group="tensor_runtime.backend_info")}
    seen = set()
    for entry in entry_points(group="tensor_runtime.backends"):
        seen.add((entry.name, _distribution(entry)))
        if names is None or entry.name in names:
            info, failure = _read_info(infos.get((entry.name, _distribution(entry))))
            candidate = Candidate(entry.name, _distribution(entry), entry.load, info)
            candidate.failure = failure
            yield candidate
    for (name, distribution), entry in infos.items():
        if (name, distribution) not in seen and (names is None or name in names):
            info, failure = _read_info(entry)
            candidate = Candidate(name, distribution, lambda: None, {"status": "lists no backend", **info})
            candidate.failure = failure
            yield candidate


def _load_meta() -> AnyBackend:
    from tensor_runtime.abstract import MetaBackend  # found like any other backend, and imported by nobody else

    return MetaBackend()


def _load_recording() -> AnyBackend:
    from tensor_runtime.recording import RecordingBackend  # only fuse() needs it

    return RecordingBackend()


def _read_info(entry: Any) -> tuple[Mapping[str, Any], BaseException | None]:
    if entry is None:
        return {}, None
    try:
        info = entry.load()
        return (dict(info() if callable(info) else info)), None
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # reported in backends(), fatal to nobody
        return {}, failure


def _distribution(entry: Any) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "unknown distribution"


registry: Final = Registry(_installed_candidates)
"""The registry of this process."""


def backends() -> BackendTable:
    """Every backend found, with its devices, distribution and status; loads none.

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
        binder: from (operands, result, detail), as ``protocols.Backend.bind`` describes them, to the kernel.

    Raises:
        PluginConflictError: somebody has brought it already. A kernel that the backend has itself is a conflict at use.
    """
    registry.register_kernel(backend, operation, binder)


def refresh_backends() -> None:
    """Read the entry points again, after an installation in a running process."""
    registry.refresh()
