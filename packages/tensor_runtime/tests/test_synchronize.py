"""Waiting: a backend that computes in the background is waited for wherever elements are read, and on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import BackendError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import Form
from tensor_runtime.testing.simulated_device import DeviceArray, SimulatedBackend


class Background(SimulatedBackend):
    """A device whose arrays are empty until it is waited for."""

    def __init__(self, name: str) -> None:
        super().__init__(tr.backend("cpu"), name)
        self.waiting: list[Callable[[], None]] = []
        self.waits = 0

    def bind(self, name: str, *rest: Any) -> Callable[..., Any]:
        kernel = super().bind(name, *rest)

        def submit(*arguments: Any) -> Any:
            result = DeviceArray(None)

            def compute() -> None:
                result.inside = kernel(*arguments).inside

            self.waiting.append(compute)
            return result

        return submit

    def download(self, array: DeviceArray, form: Form, /) -> HostTensor[Any]:
        assert not self.waiting, "read before it was waited for"
        return super().download(array, form)

    def synchronize(self) -> None:
        self.waits += 1
        waiting, self.waiting = self.waiting, []
        for compute in waiting:
            compute()


class HostBackground(Background):
    """The same, with arrays in host memory that are lent."""

    def lend(self, array: DeviceArray, form: Form, /) -> Any:
        assert not self.waiting, "lent before it was waited for"
        return array.inside.T


@pytest.fixture(params=[Background, HostBackground])
def device(request: pytest.FixtureRequest) -> Iterator[Background]:
    made = request.param("background")
    tr.register_backend("background", made)
    yield made
    registry.unregister("background")


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x[0].item(),
        lambda x: tr.download(x)[0],
        lambda x: tr.to(x, "cpu").to_numpy()[0],
        lambda x: float(x[0]),
        lambda x: 3.0 if x[0] == 3.0 else None,
    ],
    ids=["item", "download", "to", "float", "bool"],
)
def test_whatever_reads_elements_waits_first(device: Background, read: Callable[[tr.Tensor], float]) -> None:
    x = tr.to(tr.ones((2,)), device.placement()) + 2.0

    assert device.waiting
    assert read(x) == 3.0


@pytest.mark.parametrize("device", [HostBackground], indirect=True)
def test_host_memory_is_lent_when_it_is_complete(device: Background, tmp_path: Path) -> None:
    def fresh() -> tr.Tensor:
        return tr.to(tr.ones((2,)), device.placement()) + 2.0

    assert fresh().to_numpy().tolist() == [3.0, 3.0]
    assert fresh().buffer.array.tolist() == [3.0, 3.0]
    assert np.asarray(fresh()).tolist() == [3.0, 3.0]
    assert repr(fresh()).endswith("3.0  3.0")
    tr.save(tmp_path / "x.npy", fresh())
    assert np.load(tmp_path / "x.npy").tolist() == [3.0, 3.0]


def test_synchronize_waits_for_one_device_or_for_all(device: Background) -> None:
    x = tr.to(tr.ones((2,)), device.placement())

    for place in ("background", device.placement(), None):
        y = x + 1.0
        before = device.waits
        tr.synchronize(place)
        assert (device.waits, device.waiting) == (before + 1, [])
        assert y._array.inside.tolist() == [2.0, 2.0]
    before = device.waits
    tr.synchronize("cpu")
    assert device.waits == before


def test_what_fails_in_the_background_is_an_error_of_our_tree(device: Background) -> None:
    def fail() -> None:
        raise RuntimeError("no power")

    device.waiting.append(fail)
    with pytest.raises(BackendError, match="synchronize: the backend failed: RuntimeError: no power"):
        tr.synchronize("background")
    x = tr.to(tr.ones((2,)), device.placement())
    device.waiting.append(fail)
    with pytest.raises(BackendError, match="download: the backend failed: RuntimeError: no power"):
        tr.download(x)


def test_synchronize_loads_no_backend() -> None:
    before = tr.backends()
    tr.synchronize()
    assert tr.backends() == before
