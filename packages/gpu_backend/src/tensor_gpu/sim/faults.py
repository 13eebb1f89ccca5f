"""What simulated devices have, and what goes wrong on them: values, which ``SimulatedApi.under`` puts in force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tensor_core.errors import ArgumentError, DeviceLostError, shortened
from tensor_gpu.device.api import LARGEST_INT, ROUTINES
from tensor_gpu.sim.errors import CallFailedError
from tensor_runtime.placement import MemoryKind

KINDS: Final = (
    "allocations", "launches", "gemms", "contractions", "solvers", "uploads", "downloads", "copies", "fills", "waits",
)  # fmt: skip
"""Kinds of calls that can be made to fail; ``waits`` are those in which the host waits for a stream."""
_LIBRARIES: Final = ("gemm", "solver")
_MEMORY: Final = (MemoryKind.Device, MemoryKind.PinnedHost, MemoryKind.Managed)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What simulated devices have; all of them are alike.

    >>> Limits(memory_bytes=1 << 20, devices=1).peer_access
    True
    """

    devices: int = 2
    memory_bytes: int = 1 << 30
    """Of each device, but for pinned and managed memory, which are the host's."""
    compute_capability: tuple[int, int] = (9, 0)
    peer_access: bool = True
    """Whether memory is copied from device to device; else it goes over the host."""
    largest_extent: int = LARGEST_INT
    """Of matrices of the library of products, leading dimensions included."""
    largest_batch: int = LARGEST_INT
    """Matrices of one call of a library."""
    missing: Collection[str] = ()
    """Libraries that are not there: ``gemm``, ``solver``."""
    providers: Collection[str] = ()
    """Names of libraries that contract tensors as they lie; there is one such library under each."""
    memory_kinds: tuple[MemoryKind, ...] = (MemoryKind.Device,)
    """There may be ``PinnedHost`` and ``Managed`` as well, which ``sim`` has. Of others no tensor can be made."""

    def __post_init__(self) -> None:
        for name in ("devices", "memory_bytes", "largest_extent", "largest_batch"):
            _accept(f"Limits: {name}", getattr(self, name), _is_count, "ints of 1 or more")
        _accept("Limits: compute_capability", self.compute_capability, _is_capability, "a tuple of two ints")
        _accept("Limits: peer_access", self.peer_access, lambda value: type(value) is bool, "True and False")
        _accept("Limits: missing", self.missing, _are_libraries, "a collection of 'gemm' and 'solver'")
        _accept("Limits: providers", self.providers, _are_names, "a collection of str")
        kinds = "a tuple of MemoryKind.Device and, as wanted, PinnedHost and Managed"
        _accept("Limits: memory_kinds", self.memory_kinds, _are_kinds, kinds)


@dataclass(frozen=True, kw_only=True)
class Faults:
    """What goes wrong; calls are counted from 1, from where it is put in force.

    >>> Faults(fail={"launches": 3}), Faults(lost_after=10, device=1)  # doctest: +ELLIPSIS
    (Faults(fail={'launches': 3}, ...), Faults(fail={}, lost_after=10, info={}, device=1))
    >>> Faults(fail={"lunches": 3})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: Faults: fail has no calls of kind 'lunches'; accepted: allocations, ...
    """

    fail: Mapping[str, int | Collection[int]] = field(default_factory=dict)
    """By :data:`KINDS`, which call of the kind fails, or which ones. An allocation that fails lacks memory."""
    lost_after: int | None = None
    """How many calls of any kind succeed; all that come later raise ``DeviceLostError``."""
    info: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """By routines, such as ``potrf``: what they report of a matrix, by its number in the call, whatever is true."""
    device: int | None = None
    """The number of the device whose calls are counted and fail; None: of them all together."""

    def __post_init__(self) -> None:
        _accept_mapping("Faults: fail", self.fail, "calls of kind", KINDS)
        for kind, calls in self.fail.items():
            _accept(f"Faults: fail[{kind!r}]", calls, _are_calls, "an int of 1 or more, and a collection of such ints")
        _accept_mapping("Faults: info", self.info, "routine", tuple(ROUTINES))
        for routine, infos in self.info.items():
            _accept(f"Faults: info[{routine!r}]", infos, _are_infos, "ints by numbers of matrices, from 0 on")
        for name in ("lost_after", "device"):
            _accept(f"Faults: {name}", getattr(self, name), _is_number_or_none, "None, and ints of 0 or more")


def _accept(what: str, value: Any, accepts: Callable[[Any], bool], accepted: str) -> None:
    if not accepts(value):
        raise ArgumentError(f"{what} is {shortened(value)}; accepted: {accepted}")


def _accept_mapping(what: str, value: Any, noun: str, accepted: tuple[str, ...]) -> None:
    _accept(what, value, lambda given: isinstance(given, Mapping), "a dict")
    for key in value:
        if key not in accepted:
            raise ArgumentError(f"{what} has no {noun} {shortened(key)}; accepted: {', '.join(accepted)}")


def _is_number(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number_or_none(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_capability(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value))


def _are_libraries(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str) and all(one in _LIBRARIES for one in value)


def _are_names(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str) and all(isinstance(one, str) for one in value)


def _are_kinds(value: Any) -> bool:
    return isinstance(value, tuple) and MemoryKind.Device in value and all(one in _MEMORY for one in value)


def _are_calls(value: Any) -> bool:
    if isinstance(value, range):  # which may be long
        return not value or min(value[0], value[-1]) > 0
    return _is_count(value) or (isinstance(value, Collection) and all(map(_is_count, value)))


def _are_infos(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_is_number(key) and type(info) is int for key, info in value.items())


class Watch:
    """Counts calls, and fails those that are to fail.

    >>> watch = Watch(Faults(fail={"gemms": 2}))
    >>> watch.call("gemms", 0)
    >>> watch.call("gemms", 0)
    Traceback (most recent call last):
    tensor_gpu.sim.errors.CallFailedError: sim:0: call 2 of kind gemms fails, as its faults say
    """

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self._calls: Counter[str] = Counter()
        self.lost = False

    def alive(self, ordinal: int, /) -> None:
        """Refuse whatever comes after the device was lost.

        Raises:
            DeviceLostError: it was.
        """
        if self.lost and self.faults.device in (None, ordinal):
            raise DeviceLostError(
                f"sim:{ordinal}: the device is lost; tensors on it are gone, and this process cannot use it again",
                device=f"sim:{ordinal}",
            )

    def call(self, kind: str, ordinal: int, /) -> None:
        """Count one call.

        Raises:
            DeviceLostError: the device is lost.
            MemoryError: an allocation that is to fail.
            CallFailedError: another call that is to fail.
        """
        faults = self.faults
        if faults.device not in (None, ordinal):
            return
        if faults.lost_after is not None and self._calls.total() >= faults.lost_after:
            self.lost = True
        self.alive(ordinal)
        self._calls[kind] += 1
        number, failing = self._calls[kind], faults.fail.get(kind, ())
        if number == failing if isinstance(failing, int) else number in failing:
            said = f"sim:{ordinal}: call {number} of kind {kind} fails, as its faults say"
            raise MemoryError(said) if kind == "allocations" else CallFailedError(said)
