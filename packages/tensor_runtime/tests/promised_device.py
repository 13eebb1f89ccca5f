"""A simulated device whose arrays are promises: what nobody reads is never computed, and nothing can be written."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import tensor_runtime as tr
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.form import Form
from tensor_runtime.protocols import Counted, Kernel, Operand, Result
from tensor_runtime.testing.simulated_device import DeviceArray, SimulatedBackend


class Promise(DeviceArray):
    """An array that is computed when it is read."""

    __slots__ = ("compute",)

    def __init__(self, compute: Callable[[], Any]) -> None:
        super().__init__(None)
        self.compute: Callable[[], Any] | None = compute

    def kept(self) -> Any:
        if self.compute is not None:
            self.inside, self.compute = self.compute(), None
        return self.inside


def _kept(value: Any) -> Any:
    return value.kept() if isinstance(value, Promise) else value


class PromisingBackend(SimulatedBackend):
    """Every kernel gives promises, but for those that tell or refuse something at once."""

    only_pure = True

    def __init__(self, name: str) -> None:
        super().__init__(tr.backend("cpu"), name)
        self.computed: list[str] = []

    def operations(self) -> frozenset[str]:
        pure = {name for name in self._inner.operations() if facts_of(name).effect != "writes"}
        return frozenset(pure - {"mutable_view", "elementwise_program"})

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        assert name != "mutable_view", "nothing can be written"
        assert facts_of(name).effect != "writes", f"{name} writes"
        kernel = self._inner.bind(name, operands, result, params)
        facts = facts_of(name)

        def call(*arguments: Any) -> Any:
            def compute() -> Any:
                self.computed.append(name)
                return kernel(*map(_kept, arguments))

            whole = Promise(compute)
            if facts.effect == "answers":
                found = whole.kept()
                return Counted(tuple(Promise(lambda one=one: one) for one in found.arrays), found.count)
            if facts.checks_values:
                whole.kept()
            if isinstance(result, tuple):
                return tuple(Promise(lambda place=place: whole.kept()[place]) for place in range(len(result)))
            return whole

        return call

    def offset_of(self, array: DeviceArray, /) -> int:
        raise AssertionError("promises lie nowhere")

    def location_of(self, array: DeviceArray, /) -> tuple[Hashable, int]:
        raise AssertionError("promises lie nowhere")

    def upload(self, source: HostTensor[Any], form: Form, /) -> Promise:
        array = self._inner.upload(source, form)
        array.setflags(write=False)
        return Promise(lambda: array)

    def download(self, array: DeviceArray, form: Form, /) -> HostTensor[Any]:
        return self._inner.download(_kept(array), form)
