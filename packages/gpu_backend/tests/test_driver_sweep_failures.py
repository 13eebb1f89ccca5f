"""A sweep of drivers goes on where one of them raises, and is about the awkward matrices that it says it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import C64, F64
from tensor_core.errors import OutOfMemoryError
from tensor_gpu import sweep as sweeps
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.sim.api import SimulatedApi
from tensor_gpu.sweep import main, matrices, sweep
from tensor_gpu.tables.drivers import read_drivers
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import DeviceKind


@pytest.fixture(autouse=True)
def swept() -> Iterator[None]:
    """Device ``swept:0``."""
    tr.register_backend("swept", DeviceBackend(SimulatedApi(memory_bytes=1 << 24), DeviceKind.other("swept")))
    yield
    registry.unregister("swept")


def raising(error: Exception, usual: Callable[..., Any], driver: str) -> Callable[..., Any]:
    def call(backend: Any, where: Any, case: Any, asked: str, *given: Any) -> Any:
        if asked == driver and case.extent == 4:
            raise error
        return usual(backend, where, case, asked, *given)

    return call


@pytest.mark.parametrize("error", [OutOfMemoryError("no room"), RuntimeError("CUDA error: 700")])
@pytest.mark.parametrize("step", ["_seconds", "_is_right"])
def test_a_driver_that_raises_is_named_and_the_others_are_measured(
    error: Exception, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {"geqrf": 1.0, "reflectors": 2.0}
    monkeypatch.setattr(sweeps, "_seconds", lambda backend, where, case, driver: times[driver])
    monkeypatch.setattr(sweeps, step, raising(error, getattr(sweeps, step), "geqrf"))
    told: list[str] = []

    table = sweep(
        "swept:0", operations=["qr"], dtypes=[F64], sizes=[4, 8], counts=[3], on_failure=told.append
    )  # fmt: skip

    assert [rule.driver for rule in table.rules] == ["reflectors", "geqrf"]
    assert told == [f"qr of 3 matrices of F64, 4 by 4: not by geqrf: {type(error).__name__}: {error}"]


def test_a_sweep_in_which_a_driver_raises_writes_its_table_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweeps, "_seconds", raising(RuntimeError("out of order"), sweeps._seconds, "geqrf"))
    file = tmp_path / "drivers.json"
    assert main(["swept:0", "-o", str(file), "--sizes", "4", "--counts", "3"]) == 0

    assert {rule.driver for rule in read_drivers(file).rules if rule.operation == "qr"} == {"reflectors"}
    assert "qr of 3 matrices of C64, 4 by 4: not by geqrf: RuntimeError: out of order" in capsys.readouterr().out


@pytest.mark.parametrize("dtype", [F64, C64])
@pytest.mark.parametrize("operation", ["svd", "eigh", "qr"])
def test_the_second_matrix_is_of_rank_1(operation: str, dtype: Any) -> None:
    x = matrices(operation, dtype, 6, 3)
    assert [int(np.linalg.matrix_rank(x[:, :, place])) for place in range(3)] == [0, 1, 6]
    if operation == "eigh":
        assert np.array_equal(x, x.conj().swapaxes(0, 1))


def test_a_sweep_ends_when_its_time_is_over_and_has_rules_for_what_was_measured() -> None:
    done: list[int] = []
    given = {"operations": ["qr"], "dtypes": [F64], "sizes": [4, 8, 16], "counts": [3]}
    table = sweep("swept:0", **given, seconds=0.0, on_case=lambda number, total: done.append(number))  # type: ignore[arg-type]

    assert done == [1]
    assert [rule.extents for rule in table.rules] == [(0, 5)]
    assert len(sweep("swept:0", **given, seconds=60.0).rules) == 3  # type: ignore[arg-type]
