"""Discovery: which backends are installed, and what is known of each before it is loaded.

Only entry points are listed here, and the info modules imported that go with them; an info module that takes long
delays whoever asks first, so it imports nothing heavy. What ``TENSOR_RUNTIME_BACKENDS`` leaves out is listed by name
alone: nothing of it is imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from tensor_core.errors import BackendContractError, BackendUnavailableError, PluginLoadError
from tensor_runtime.placement import DeviceKind
from tensor_runtime.protocols import PROTOCOL_VERSION, Backend

AnyBackend = Backend[Any]
VARIABLE: Final = "TENSOR_RUNTIME_BACKENDS"
READY: Final = "ready"
NOT_LOADED: Final = "not loaded"
_ENTRY: Final = re.compile(r"[\w.]+\s*(:\s*[\w.]+\s*)?(\[.*\]\s*)?")


class Candidate:
    """An entry found but perhaps not loaded yet: where it comes from, and what became of it.

    >>> candidate = Candidate("npu", "npu-plugin 1.0", lambda: None, {"status": "no driver", "device_kinds": ("npu",)})
    >>> candidate.status
    'no driver'
    >>> Candidate("npu", "npu-plugin 1.0", lambda: None, {"status": "ready", "device_kinds": ("npu",)}).status
    'not loaded'
    """

    def __init__(self, name: str, distribution: str, load: Callable[[], object], info: Mapping[str, Any]) -> None:
        self.name = name
        self.distribution = distribution
        self.load = load
        self.declared: tuple[str, ...] = tuple(info.get("device_kinds", ()))
        self.excluded = False  # by the environment variable
        said = () if info.get("status") == READY else ("status", "reason")
        self.unavailable = ": ".join(str(info[part]) for part in said if info.get(part))
        self.failure: BaseException | None = None
        self.instance: AnyBackend | None = None
        protocol = info.get("protocol_version", PROTOCOL_VERSION)
        if protocol != PROTOCOL_VERSION and not self.unavailable:
            self.unavailable = f"written for backend protocol {protocol}; this runtime speaks {PROTOCOL_VERSION}"

    @property
    def device_kinds(self) -> tuple[str, ...]:
        """Devices that its info claims; without one, those of the backend once it is loaded."""
        return self.declared or (() if self.instance is None else (self.instance.device_kind.short,))

    @property
    def status(self) -> str:
        """One word or one reason, as :func:`backends` shows it."""
        if self.instance is not None:
            return READY
        if self.failure is not None:
            return f"broken: {in_one_line(self.failure)}"
        return self.unavailable or NOT_LOADED

    def resolve(self) -> AnyBackend:
        """The backend itself; loads it the first time."""
        if self.instance is not None:
            return self.instance
        if self.failure is None and not self.unavailable:
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
            except BackendUnavailableError as refusal:  # nothing is broken: it says itself what it lacks here
                self.unavailable = str(refusal)
            except KeyboardInterrupt:
                raise
            except BaseException as failure:  # a plug-in may even call sys.exit() or recurse without end
                self.failure = failure
        if self.unavailable:
            raise BackendUnavailableError(f"backend {self.name!r}: {self.unavailable}", backend=self.name)
        remedy = "mend or uninstall it, then call refresh_backends()"
        if variable := getattr(self.failure, "variable", None):  # an error of our tree that says what it accepts
            remedy = f"set or unset {variable}, then start again"
        raise PluginLoadError(
            f"backend {self.name!r} of {self.distribution} did not load: {in_one_line(self.failure)}; {remedy}",
            backend=self.name,
        ) from self.failure


def installed_candidates() -> Iterable[Candidate]:
    """Candidates of the installed distributions, after the two of the runtime itself.

    >>> [candidate.name for candidate in installed_candidates()][:2]
    ['meta', 'tracing']
    """
    from importlib.metadata import entry_points  # costs as much as NumPy to import: never at import time

    yield Candidate("meta", "tensor_runtime itself", _load_meta, {"device_kinds": ("meta",)})
    yield Candidate("tracing", "tensor_runtime itself", _load_tracing, {"device_kinds": ("tracing",)})
    allowed = os.environ.get(VARIABLE)
    names = None if allowed is None else {name.strip() for name in allowed.split(",")}
    infos = {(entry.name, distribution_of(entry)): entry for entry in entry_points(group="tensor_runtime.backend_info")}
    entries = {(entry.name, distribution_of(entry)): entry for entry in entry_points(group="tensor_runtime.backends")}
    for (name, distribution), entry in (infos | entries).items():
        backend = entries.get((name, distribution))
        if names is not None and name not in names:
            left_out = {"status": f"left out by {VARIABLE}={allowed}"}
            candidate = Candidate(name, distribution, lambda: None, left_out)
            candidate.excluded = True
            yield candidate
            continue
        info, failure = _read_info(infos.get((name, distribution)))
        if backend is None:
            info = {"status": "lists no backend", **info}
        candidate = Candidate(name, distribution, partial(load_entry, entry), info)
        candidate.failure = failure
        yield candidate


def load_entry(entry: Any) -> Any:
    """The object that an entry point names.

    Raises:
        PluginLoadError: its text names no object. Whatever the import raises passes.

    >>> from importlib.metadata import EntryPoint
    >>> load_entry(EntryPoint("npu", "math:pi", "tensor_runtime.backends"))
    3.141592653589793
    """
    check_entry(entry)
    return entry.load()


def check_entry(entry: Any) -> None:
    """Refuse an entry point whose text names no object.

    >>> from importlib.metadata import EntryPoint
    >>> check_entry(EntryPoint("npu", "3 + 4", "tensor_runtime.backends"))
    Traceback (most recent call last):
        ...
    tensor_core.errors.PluginLoadError: the entry point 'npu' reads '3 + 4'; accepted: 'module:attribute'
    """
    if not _ENTRY.fullmatch(entry.value):
        raise PluginLoadError(f"the entry point {entry.name!r} reads {entry.value!r}; accepted: 'module:attribute'")


def distribution_of(entry: Any) -> str:
    """Name and version of the distribution that an entry point belongs to."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "unknown distribution"


def in_one_line(failure: BaseException | None) -> str:
    r"""An error as one line of a table.

    >>> in_one_line(ValueError("two\nlines"))
    'ValueError: two lines'
    """
    return f"{type(failure).__name__}: {' '.join(str(failure).split())}"


def _read_info(entry: Any) -> tuple[Mapping[str, Any], BaseException | None]:
    if entry is None:
        return {}, None
    try:
        info = load_entry(entry)
        info = dict(info() if callable(info) else info)
        kinds = info.get("device_kinds", ())
        if isinstance(kinds, str) or not all(type(kind) is str for kind in kinds):
            raise BackendContractError(
                f"its info has the device_kinds {kinds!r}; accepted: a tuple of names, as ('npu',)"
            )
        return info, None
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # reported in backends(), fatal to nobody
        return {}, failure


def _load_meta() -> AnyBackend:
    from tensor_runtime.backends.meta import MetaBackend  # found like any other backend, and imported by nobody else

    return MetaBackend()


def _load_tracing() -> AnyBackend:
    from tensor_runtime.backends.tracing import TracingBackend  # only fuse() needs it

    return TracingBackend()
