"""Placement: which memory a tensor lives in, and which device computes on it.

Every object here exists once: equal content is the same object, also after a copy or an unpickling, so that placements
compare and hash by identity. Nothing here touches a device.
"""

from __future__ import annotations

from types import NoneType
from typing import ClassVar, Final, NamedTuple, TypeVar

from tensor_core.errors import ArgumentError

_Self = TypeVar("_Self", bound="_Interned")
_INTERNED: Final[dict[tuple[object, ...], _Interned]] = {}


class _Interned:
    """Immutable content, one object per content; subclasses name their slots and fields."""

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()  # content, in the order in which it is given

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make another one")

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self), tuple(getattr(self, field) for field in self._fields))

    def __copy__(self: _Self) -> _Self:
        return self

    def __deepcopy__(self: _Self, memo: object) -> _Self:
        return self


def _intern(cls: type[_Self], *content: object) -> _Self:
    key = (cls, *content)
    known = _INTERNED.get(key)
    if known is None:
        fresh = object.__new__(cls)
        for field, value in zip(cls._fields, content, strict=True):
            object.__setattr__(fresh, field, value)
        known = _INTERNED.setdefault(key, fresh)
    assert isinstance(known, cls)
    return known


def _restore(cls: type[_Self], content: tuple[object, ...]) -> _Self:
    return _intern(cls, *content)


def _checked_name(owner: str, name: str) -> str:
    if type(name) is not str or not name or not name.isprintable():
        raise ArgumentError(f"{owner}: the name is {name!r}; accepted: a printable, non-empty string", name=name)
    return name


class _NamedKind(_Interned):
    """Kinds with a name: those that are attributes of their class, and others."""

    __slots__ = ("is_other", "name")
    _fields: ClassVar[tuple[str, ...]] = ("name", "is_other")
    name: str
    is_other: bool

    @classmethod
    def other(cls: type[_Self], name: str, /) -> _Self:
        """A kind beside those named here; only its backend knows it."""
        return _intern(cls, _checked_name(f"{cls.__name__}.other", name), True)

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"{kind}.other({self.name!r})" if self.is_other else f"{kind}.{self.name}"


class MemoryKind(_NamedKind):
    """What sort of memory holds the elements.

    >>> MemoryKind.UnpinnedHost
    MemoryKind.UnpinnedHost
    >>> MemoryKind.other("hbm-cache") is MemoryKind.other("hbm-cache")
    True
    """

    __slots__ = ()
    Device: ClassVar[MemoryKind]
    PinnedHost: ClassVar[MemoryKind]
    UnpinnedHost: ClassVar[MemoryKind]
    Managed: ClassVar[MemoryKind]


class GpuBackendKind(_NamedKind):
    """The programming interface of a GPU.

    >>> GpuBackendKind.Cuda
    GpuBackendKind.Cuda
    """

    __slots__ = ()
    Cuda: ClassVar[GpuBackendKind]
    Rocm: ClassVar[GpuBackendKind]


class DeviceKind(_Interned):
    """What sort of device computes; each kind belongs to exactly one backend.

    A third party's library takes a kind of its own, also when it computes on the host.

    >>> DeviceKind.Cpu, DeviceKind.gpu(GpuBackendKind.Cuda), DeviceKind.other("torch-cpu")
    (DeviceKind.Cpu, DeviceKind.gpu(GpuBackendKind.Cuda), DeviceKind.other('torch-cpu'))
    >>> DeviceKind.gpu(GpuBackendKind.Cuda).short
    'cuda'
    """

    __slots__ = ("family", "params")
    _fields = ("family", "params")
    family: str  # "cpu", "gpu" or "other"
    params: GpuBackendKind | str | None
    Cpu: ClassVar[DeviceKind]

    @classmethod
    def gpu(cls, interface: GpuBackendKind, /) -> DeviceKind:
        """GPUs programmed through ``interface``."""
        return _intern(cls, "gpu", interface)

    @classmethod
    def other(cls, name: str, /) -> DeviceKind:
        """A kind of a third party."""
        return _intern(cls, "other", _checked_name("DeviceKind.other", name))

    @property
    def short(self) -> str:
        """The kind as it is printed and written in device names: ``cpu``, ``cuda``, ``torch-cpu``."""
        if isinstance(self.params, GpuBackendKind):
            return self.params.name.lower()
        return self.params or self.family

    def __repr__(self) -> str:
        return "DeviceKind.Cpu" if self.family == "cpu" else f"DeviceKind.{self.family}({self.params!r})"


class DeviceId(_Interned):
    """One device: its kind and its number among the devices of that kind.

    >>> DeviceId(DeviceKind.Cpu, 0)
    DeviceId(DeviceKind.Cpu, 0)
    """

    __slots__ = ("kind", "ordinal")
    _fields = ("kind", "ordinal")
    kind: DeviceKind
    ordinal: int

    def __new__(cls, kind: DeviceKind, ordinal: int = 0, /) -> DeviceId:
        if type(kind) is not DeviceKind:
            raise ArgumentError(f"DeviceId: the kind is a {type(kind).__name__}; accepted: a DeviceKind")
        if type(ordinal) is not int or ordinal < 0:
            raise ArgumentError(f"DeviceId: the ordinal is {ordinal!r}; accepted: an int of 0 or more", ordinal=ordinal)
        return _intern(cls, kind, ordinal)

    def __repr__(self) -> str:
        return f"DeviceId({self.kind!r}, {self.ordinal})"


class Placement(_Interned):
    """Where a tensor is: a kind of memory, and the device that computes on it.

    >>> Placement(MemoryKind.UnpinnedHost, DeviceId(DeviceKind.Cpu, 0))
    cpu
    >>> Placement(MemoryKind.Device, DeviceId(DeviceKind.gpu(GpuBackendKind.Cuda), 1))
    cuda:1
    """

    __slots__ = ("memory_kind", "device")
    _fields = ("memory_kind", "device")
    memory_kind: MemoryKind
    device: DeviceId | None

    def __new__(cls, memory_kind: MemoryKind, device: DeviceId | None = None, /) -> Placement:
        if type(memory_kind) is not MemoryKind or type(device) not in (DeviceId, NoneType):
            raise ArgumentError(
                f"Placement: found {type(memory_kind).__name__} and {type(device).__name__}; "
                "accepted: a MemoryKind, and a DeviceId or None"
            )
        return _intern(cls, memory_kind, device)

    def __repr__(self) -> str:
        if self.device is None:
            return self.memory_kind.name
        kind = self.device.kind
        name = (
            kind.short if kind is DeviceKind.Cpu and self.device.ordinal == 0 else f"{kind.short}:{self.device.ordinal}"
        )
        usual = MemoryKind.UnpinnedHost if kind is DeviceKind.Cpu else MemoryKind.Device
        return name if self.memory_kind is usual else f"{name} ({self.memory_kind.name})"


class _StandIn(MemoryKind):
    """The memory kind of a placement that stands in for another one; nobody but :func:`stand_in` makes it."""

    __slots__ = ("place",)
    _fields = ("name", "is_other", "place")
    place: Placement

    def __repr__(self) -> str:
        return f"MemoryKind.other({self.name!r})"


def stand_in(place: Placement, device: DeviceId, /) -> Placement:
    """A placement on another device that stands in for this one: no other placement equals it, and no user names it.

    >>> there = DeviceId(DeviceKind.other("meta"), 0)
    >>> stand_in(CPU, there), stand_in(CPU, there) is Placement(MemoryKind.other("cpu"), there)
    (meta:0 (cpu), False)
    """
    return _intern(Placement, _intern(_StandIn, repr(place), True, place), device)


def is_stand_in(place: Placement, /) -> bool:
    """Whether :func:`stand_in` made it.

    >>> is_stand_in(stand_in(CPU, DeviceId(DeviceKind.other("meta"), 0))), is_stand_in(CPU)
    (True, False)
    """
    return type(place.memory_kind) is _StandIn


def stands_for(place: Placement, /) -> Placement:
    """The placement for which another one stands in; any other one itself.

    >>> stands_for(stand_in(CPU, DeviceId(DeviceKind.other("meta"), 0))), stands_for(CPU)
    (cpu, cpu)
    """
    kind = place.memory_kind
    return kind.place if isinstance(kind, _StandIn) else place


for _name in ("Device", "PinnedHost", "UnpinnedHost", "Managed"):
    setattr(MemoryKind, _name, _intern(MemoryKind, _name, False))
for _name in ("Cuda", "Rocm"):
    setattr(GpuBackendKind, _name, _intern(GpuBackendKind, _name, False))
DeviceKind.Cpu = _intern(DeviceKind, "cpu", None)

CPU: Final = Placement(MemoryKind.UnpinnedHost, DeviceId(DeviceKind.Cpu, 0))
"""Where a tensor lives when nothing else is said."""


class MemoryUse(NamedTuple):
    """Bytes of one memory, as its backend counts them."""

    used: int
    """By arrays that are alive."""
    kept: int
    """By none, and kept for the next."""
    limit: int | None
    """The most that both together may be; None where nobody sets one."""
    peak: int | None = None
    """The most that was used at one time; None where nobody counts."""
    allocations: int | None = None
    """How many arrays were given memory, kept or fresh; None where nobody counts."""


def as_placement(place: Placement | DeviceId | str, /) -> Placement:
    """The placement that a user names: a placement, a device, or text such as ``"cpu"`` and ``"cuda:0"``.

    Raises:
        ArgumentError: the text names no device.

    >>> as_placement("cpu"), as_placement("cuda:1")
    (cpu, cuda:1)
    """
    if isinstance(place, Placement):
        return place
    if isinstance(place, str):
        place = _device_named(place)
    if isinstance(place, DeviceId):
        usual = MemoryKind.UnpinnedHost if place.kind is DeviceKind.Cpu else MemoryKind.Device
        return Placement(usual, place)
    raise ArgumentError(
        f"placement: found {type(place).__name__}; accepted: a Placement, a DeviceId, or text such as 'cpu' or 'cuda:0'"
    )


def _device_named(text: str) -> DeviceId:
    name, colon, number = text.partition(":")
    if not name or (colon and not (number.isascii() and number.isdigit() and len(number) < 10)):
        raise ArgumentError(
            f"placement: {text!r} names no device; accepted: 'cpu', 'cuda:0', 'NAME:ORDINAL'", name=text
        )
    known = {
        "cpu": DeviceKind.Cpu,
        "cuda": DeviceKind.gpu(GpuBackendKind.Cuda),
        "rocm": DeviceKind.gpu(GpuBackendKind.Rocm),
    }
    return DeviceId(known.get(name) or DeviceKind.other(name), int(number or 0))
