"""The conformance suite fails for a backend whose kernels are not what is stated of them."""

from __future__ import annotations

from typing import Any

import pytest

import tensor_runtime as tr
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.conformance_parts.facts import FactsConformance
from tensor_runtime.testing.simulated_device import DeviceArray, SimulatedBackend

SUITE = FactsConformance()


class Wrong(SimulatedBackend):
    """A backend one kernel of which is replaced."""

    wrong = ""

    def bind(self, name: str, operands: Any, result: Any, params: Any, /) -> Any:
        kernel = super().bind(name, operands, result, params)
        return (lambda *arrays: self.instead(kernel, *arrays)) if name == self.wrong else kernel

    def instead(self, kernel: Any, *arrays: Any) -> Any:
        raise NotImplementedError


class WritesItsOperand(Wrong):
    wrong = "negative"

    def instead(self, kernel: Any, *arrays: Any) -> Any:
        found = kernel(*arrays)
        arrays[0].inside[...] = 7
        return found


class GivesItsOperand(Wrong):
    wrong = "positive"

    def instead(self, kernel: Any, *arrays: Any) -> Any:
        return arrays[0]


class CopiesAView(Wrong):
    wrong = "transpose_view"

    def instead(self, kernel: Any, *arrays: Any) -> Any:
        return DeviceArray(kernel(*arrays).inside.copy())


class ForgetsToCount(Wrong):
    wrong = "nonzero"

    def instead(self, kernel: Any, *arrays: Any) -> Any:
        return kernel(*arrays).arrays


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        (WritesItsOperand, "negative: stated as pure, it changed position=0"),
        (GivesItsOperand, "positive: no view is stated, but the result shares the elements of operand 0"),
        (CopiesAView, "transpose_view: stated as a view, it gives elements of its own"),
        (ForgetsToCount, "nonzero: stated as answers, it returned "),
    ],
)
def test_a_kernel_that_is_not_what_is_stated_is_found(backend: type[Wrong], message: str) -> None:
    device = backend(tr.backend("cpu"), "wrong")
    registry.register(device.name, device)
    try:
        with pytest.raises(AssertionError, match=message):
            SUITE.test_kernels_do_what_is_stated_of_them(device.placement())
    finally:
        registry.unregister(device.name)


def test_a_backend_that_keeps_to_the_facts_passes_and_is_as_before() -> None:
    bind = registry.bind

    SUITE.test_kernels_do_what_is_stated_of_them(tr.CPU)

    assert registry.bind == bind
