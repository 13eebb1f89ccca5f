"""What simulated devices have, and what goes wrong on them: values, which ``SimulatedApi.under`` puts in force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from tensor_core.errors import ArgumentError, DeviceLostError
from tensor_gpu.device.api import LARGEST_INT
from tensor_gpu.sim.errors import CallFailedError
from tensor_runtime.placement import MemoryKind

KINDS: Final = (
    "allocations", "launches", "gemms", "solvers", "uploads", "downloads", "copies", "fills", "waits",
)  # fmt: skip
"""Kinds of calls that can be made to fail; ``waits`` are those in which the host waits for a stream."""


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
    memory_kinds: tuple[MemoryKind, ...] = (MemoryKind.Device,)
    """There may be ``PinnedHost`` and ``Managed`` as well, which ``sim`` has."""

    def __post_init__(self) -> None:
        if not {*self.missing} <= {"gemm", "solver"}:
            raise ArgumentError(f"Limits: the libraries missing are {self.missing!r}; accepted: 'gemm', 'solver'")
        if min(self.devices, self.memory_bytes, self.largest_extent, self.largest_batch) < 1:
            raise ArgumentError(f"Limits: {self}; accepted: ints of 1 or more")


@dataclass(frozen=True, kw_only=True)
class Faults:
    """What goes wrong; calls are counted from 1, from where it is put in force.

    >>> Faults(fail={"launches": 3}), Faults(lost_after=10, device=1)  # doctest: +ELLIPSIS
    (Faults(fail={'launches': 3}, ...), Faults(fail={}, lost_after=10, info={}, device=1))
    >>> Faults(fail={"lunches": 3})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: Faults: no calls of kind 'lunches'; accepted: allocations, launches, gemms, ...
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
        for kind in self.fail.keys() - {*KINDS}:
            raise ArgumentError(f"Faults: no calls of kind {kind!r}; accepted: {', '.join(KINDS)}")


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
