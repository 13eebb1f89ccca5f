"""The sweep that measures drivers: a table for every cell, of what is fast and accurate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from driver_results import decomposed, first
from tensor_core.dtypes import F64
from tensor_core.errors import ArgumentError
from tensor_gpu.sim.api import SimulatedApi
from tensor_gpu.sweep import main, matrices, sweep
from tensor_gpu.tables.drivers import DRIVERS, Rule, read_drivers


def test_the_sweep_makes_a_table_for_every_cell_of_what_is_fast_and_accurate(
    driven: SimulatedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {"rotations": 3.0, "gesvd": 2.0, "gesvdj": 4.0, "gesvdjBatched": 1.0, "gesvda": 0.5}
    monkeypatch.setattr("tensor_gpu.sweep._seconds", lambda backend, where, case, driver: times[driver])
    done = []

    table = sweep(
        "driven:0", operations=["svd"], dtypes=[F64], sizes=[4, 36], counts=[1, 3, 9],
        on_case=lambda number, total: done.append((number, total)),
    )  # fmt: skip

    assert table.rules == (  # gesvda makes NaN of zeros, and no other takes less for what gesvdjBatched does not take
        Rule("svd", "gesvdjBatched", ("F64",), (0, 12), (1, None)),
        Rule("svd", "gesvd", ("F64",), (13, None), (1, None)),
    )
    assert done == [(number, 6) for number in range(1, 7)]
    assert table.machine.startswith("simulated device")


def test_what_is_too_large_to_measure_counts_as_the_largest_that_is(
    driven: SimulatedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tensor_gpu.sweep.MOST_BYTES", 4 * 4 * 8 * 3)
    table = sweep("driven:0", operations=["qr"], dtypes=[F64], sizes=[4, 64], counts=[1, 3, 100])

    assert {rule.extents for rule in table.rules} == {(0, 16)}
    assert table.rules[-1].counts[1] is None


def test_the_sweep_runs_to_its_end_and_its_file_is_taken(
    driven: SimulatedApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "drivers.json"
    assert main(["driven:0", "-o", str(file), "--sizes", "5", "3", "--counts", "2", "1"]) == 0

    table = read_drivers(file)
    assert {(rule.operation, *rule.dtypes) for rule in table.rules} == {
        (operation, dtype) for operation in DRIVERS for dtype in ("F32", "F64", "C32", "C64")
    }
    assert f"digest {table.digest}" in capsys.readouterr().out
    with tr.backend("driven").use_drivers(file):  # type: ignore[attr-defined]
        x = tr.to(tr.asarray(np.asfortranarray(matrices("svd", F64, 4, 3))), "driven:0")
        again, _ = decomposed("svd", x)
        assert np.abs(again - first(x)).max() < 1e-13


@pytest.mark.parametrize("wrong", [{"place": "cpu"}, {"sizes": []}, {"operations": ["ldl"]}])
def test_what_cannot_be_swept_is_told(wrong: dict[str, Any], driven: SimulatedApi) -> None:
    given = {"place": "driven:0", **wrong}
    with pytest.raises(ArgumentError, match="accepted: a device of this package"):
        sweep(given.pop("place"), **given)
