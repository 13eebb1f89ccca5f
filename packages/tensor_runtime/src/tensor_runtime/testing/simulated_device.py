"""A simulated device: another placement that computes with the arrays of a real backend.

Its arrays are opaque wrappers, so whatever reaches into an array without asking the backend fails, as it
would on a GPU.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from tensor_core.errors import UnsupportedOperationError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.discovery import AnyBackend
from tensor_runtime.contracts.elementwise import STEP_PARAMS
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement
from tensor_runtime.protocols import Counted, Kernel, Operand, Result


class DeviceArray:
    """An array that only :class:`SimulatedBackend` may open."""

    __slots__ = ("inside",)

    def __init__(self, inside: Any) -> None:
        self.inside = inside


def _opened(value: Any) -> Any:
    return value.inside if isinstance(value, DeviceArray) else value


class SimulatedBackend:
    """A device of kind ``other(name)`` whose kernels are those of ``inner`` on wrapped arrays.

    Args:
        inner: a backend whose kernels do not depend on the placement.
        name: name of the backend and of its device kind.
        unsupported: operations that it pretends to lack, each with the reason.
        devices: how many devices of its kind there are.

    >>> from tensor_runtime import backend
    >>> SimulatedBackend(backend("cpu"), "simulated").placement()
    simulated:0
    """

    def __init__(
        self, inner: AnyBackend, name: str, unsupported: Mapping[str, str] | None = None, *, devices: int = 1
    ) -> None:
        self.name = name
        self.device_kind = DeviceKind.other(name)
        self._inner = inner
        self._devices = devices
        self._unsupported = dict(unsupported or {})

    def placement(self, ordinal: int = 0, /) -> Placement:
        """One of its devices."""
        return Placement(MemoryKind.Device, DeviceId(self.device_kind, ordinal))

    def placements(self) -> tuple[Placement, ...]:
        """All its devices."""
        return tuple(map(self.placement, range(self._devices)))

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """The inner kernel between unwrapping and wrapping."""
        if name in self._unsupported:
            raise UnsupportedOperationError(f"{name}: {self._unsupported[name]}", operation=name)
        kernel = self._inner.bind(name, operands, result, params)

        def wrapped(*arguments: Any) -> Any:
            found = kernel(*[_opened(argument) for argument in arguments])
            if isinstance(found, Counted):
                return Counted(tuple(map(DeviceArray, found.arrays)), found.count)
            if found is None:
                return found
            return tuple(map(DeviceArray, found)) if isinstance(found, tuple) else DeviceArray(found)

        return wrapped

    def operations(self) -> frozenset[str]:
        """Those of the real backend, without what it pretends to lack."""
        return self._inner.operations() - self._unsupported.keys()

    def unsupported(self) -> Mapping[str, str]:
        """What it pretends to lack."""
        return self._unsupported

    def offset_of(self, array: DeviceArray, /) -> int:
        """Offset of the first element in its allocation, in elements."""
        return self._inner.offset_of(array.inside)

    def location_of(self, array: DeviceArray, /) -> tuple[Hashable, int]:
        """Where the real backend says it is."""
        return self._inner.location_of(array.inside)

    def examine(self, array: Any, form: Form, /) -> str | None:
        """What is wrong with an array, as the real backend says; nothing where it does not look."""
        if not isinstance(array, DeviceArray):
            return f"a {type(array).__name__}"
        inner: Any = self._inner
        found: str | None = inner.examine(array.inside, form) if hasattr(inner, "examine") else None
        return found

    def upload(self, source: HostTensor[Any], form: Form, /) -> DeviceArray:
        """A copy of a host tensor."""
        return DeviceArray(self._inner.upload(source, form))

    def download(self, array: DeviceArray, form: Form, /) -> HostTensor[Any]:
        """A copy on the host."""
        return self._inner.download(array.inside, form)

    def synchronize(self) -> None:
        """Nothing runs in the background."""

    def describe(self) -> Mapping[str, str]:
        """What it wraps."""
        return {"simulates": self.name, "computes with": self._inner.name}


class ProgramBackend(SimulatedBackend):
    """A simulated device that has programs as one kernel: it runs their steps with kernels of ``inner``.

    ``programs`` lists the programs that were bound, ``runs`` counts their calls, and ``failure``, when it is set, is
    what such a call raises.

    >>> from tensor_runtime import backend
    >>> "elementwise_program" in ProgramBackend(backend("cpu"), "machine").operations()
    True
    """

    def __init__(self, inner: AnyBackend, name: str) -> None:
        super().__init__(inner, name)
        self.programs: list[Any] = []
        self.runs = 0
        self.failure: Exception | None = None

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """The steps of a program, one after the other; other kernels as :class:`SimulatedBackend` has them."""
        if name != "elementwise_program":
            return super().bind(name, operands, result, params)
        hash(params)
        steps = params.steps
        assert isinstance(result, Form) and result.is_compact and steps[-1].form is result
        self.programs.append(steps)
        forms: list[Any] = [*operands]
        kernels = []
        for step, references, form in steps:
            assert form.is_compact and form.placement is result.placement
            kinds = tuple(forms[one] if type(one) is int else type(one[1]) for one in references)
            kernels.append((super().bind(step, kinds, form, STEP_PARAMS.get(step)), references))
            forms.append(form)

        def run(*arrays: Any) -> Any:
            self.runs += 1
            if self.failure is not None:
                raise self.failure
            values = [*arrays]
            for kernel, references in kernels:
                values.append(kernel(*[values[one] if type(one) is int else one[1] for one in references]))
            assert isinstance(values[-1], DeviceArray)
            return values[-1]

        return run

    def operations(self) -> frozenset[str]:
        """Those of ``inner``, and programs."""
        return super().operations() | {"elementwise_program"}
