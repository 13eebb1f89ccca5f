"""The cost model and its calibration: what is measured, what a file may hold, and that plans are kept by its digest."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import F32, F64
from tensor_core.errors import ArgumentError, DTypeError, FormatError, LoadError
from tensor_einsum import Calibration, calibrate, plan, read_calibration
from tensor_einsum.search.calibration import default_path, fit
from tensor_einsum.search.cost_model import SHIPPED, Rates, Target

CHAIN = "ij,jk,kl,lm->im"
SHAPES = (20, 3), (3, 40), (40, 5), (5, 6)
FAST_FLOPS = Calibration({F64: Rates(1e15, 1e6, 1e-9)}, "moves slowly")
FAST_MOVES = Calibration({F64: Rates(1e6, 1e15, 1e-9)}, "multiplies slowly")


@given(*[st.floats(low, high) for low, high in ((1e8, 1e13), (1e7, 1e11), (1e-8, 1e-4))])
def test_rates_that_explain_the_times_are_found(flops: float, elements: float, step: float) -> None:
    cases = [(flops * a, elements * b, c) for a, b, c in ((1, 0.01, 1), (0.01, 2, 1), (1e-9, 1e-9, 100), (0.3, 0.2, 7))]
    found = fit((f, e, s, f / flops + e / elements + s * step) for f, e, s in cases)

    assert found == pytest.approx((flops, elements, step), rel=1e-4)


def test_what_no_measurement_depends_on_counts_for_next_to_nothing() -> None:
    found = fit([(f, 1.0, 1.0, f / 1e9) for f in (1e6, 1e7, 1e8)])

    assert found.flop_rate == pytest.approx(1e9, rel=1e-3)
    assert found.element_rate > 1e12 and found.step_seconds < 1e-7


def test_a_calibration_is_read_back_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "rates.json"
    file.write_text(FAST_FLOPS.to_json(), encoding="utf-8")

    for copy in (read_calibration(file), pickle.loads(pickle.dumps(FAST_FLOPS))):
        assert copy == FAST_FLOPS and hash(copy) == hash(FAST_FLOPS)
        assert copy.machine == "moves slowly" and copy.digest == FAST_FLOPS.digest


def test_the_digest_is_of_the_rates_alone() -> None:
    assert Calibration({F64: Rates(1e15, 1e6, 1e-9)}, "elsewhere").digest == FAST_FLOPS.digest
    assert Calibration({F32: Rates(1e15, 1e6, 1e-9)}).digest != FAST_FLOPS.digest
    assert FAST_MOVES.digest != FAST_FLOPS.digest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "tensor_einsum.search.calibration/9"}, "no text of format"),
        ({"digest": "0" * 16}, "the digest is '0000000000000000', but that of its rates is"),
        ({"rates": {}}, "it has no rates"),
        ({"rates": {"F99": {"flop_rate": 1.0, "element_rate": 1.0, "step_seconds": 1.0}}}, "F99"),
        ({"rates": {"F64": {"flop_rate": 0.0, "element_rate": 1.0, "step_seconds": 1.0}}}, "accepted: numbers above 0"),
        ({"rates": {"F64": {"flop_rate": 10**400, "element_rate": 1.0, "step_seconds": 1.0}}}, "numbers above 0"),
        ({"rates": {"F64": {"flop_rate": 1.0}}}, "KeyError"),
        ({"rates": 3}, "AttributeError"),
    ],
)
def test_a_file_that_is_no_calibration_is_refused(changes: dict[str, Any], message: str) -> None:
    text = json.dumps({**json.loads(FAST_FLOPS.to_json()), **changes})

    with pytest.raises(FormatError, match=message):
        Calibration.from_json(text)


@pytest.mark.parametrize("path", [3, "", "a\0b", "\ud800", b"bytes", ()])
def test_what_names_no_file_is_refused(path: Any) -> None:
    with pytest.raises(ArgumentError, match=r"read_calibration: path is .*; accepted: the name of a file"):
        read_calibration(path)


def test_a_file_that_is_not_there_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_path() == str(tmp_path / "ironstride" / "calibration.json")

    with pytest.raises(LoadError, match="`ironstride calibrate` writes one") as caught:
        read_calibration()
    assert caught.value.path == default_path()  # type: ignore[attr-defined]
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LoadError, match=r"it is no regular file; .*; `ironstride calibrate` writes one"):
        read_calibration(tmp_path / "pipe")


def test_plans_are_kept_apart_by_the_digest() -> None:
    first, second = (plan(CHAIN, *SHAPES, objective=objective) for objective in (FAST_FLOPS, FAST_MOVES))

    assert first is not second
    assert plan(CHAIN, *SHAPES, objective=Calibration.from_json(FAST_FLOPS.to_json())) is first
    assert plan(CHAIN, *SHAPES) is not first


def test_orders_follow_the_calibration() -> None:
    # Where flops are free, the order that moves least wins; where moving is free, the one with the fewest flops.
    few_flops, few_elements = (plan(CHAIN, *SHAPES, objective=objective) for objective in (FAST_MOVES, FAST_FLOPS))

    assert few_flops.flops == plan(CHAIN, *SHAPES, objective="flops").flops
    moved = [sum(step.size for step in found.steps) for found in (few_elements, few_flops)]
    assert moved[0] <= moved[1]
    assert few_flops.search is not None and few_elements.search is not None


def test_a_dtype_that_was_not_measured_counts_as_f64() -> None:
    assert Target(model=FAST_FLOPS.cost_model).objective(F32) == Target(model=FAST_FLOPS.cost_model).objective(F64)
    assert SHIPPED.of(F32) != SHIPPED.of(F64)
    assert Calibration({F32: SHIPPED.of(F32)}).cost_model.of(F64) == SHIPPED.of(F64)


def test_the_machine_is_measured() -> None:
    done: list[tuple[int, int]] = []
    found = calibrate(dtypes=[F32, F64], seconds=0.05, on_case=lambda *counts: done.append(counts))

    assert done[-1][0] == done[-1][1] == len(done)
    assert [name for name, _ in found.cost_model.rates] == ["F32", "F64"]
    assert plan(CHAIN, *SHAPES, objective=found).flops > 0


def test_dtypes_are_named_as_elsewhere() -> None:
    found = calibrate(dtypes=["float32", F64], seconds=0.01)

    assert [name for name, _ in found.cost_model.rates] == ["F32", "F64"]
    with pytest.raises(DTypeError, match="'F16' is none of ours"):
        calibrate(dtypes=["F16"], seconds=0.01)


@pytest.mark.parametrize(
    "options",
    [{"dtypes": []}, {"dtypes": F64}, {"dtypes": "F64"}, {"seconds": 0}, {"seconds": "1"}, {"seconds": float("inf")}],
)
def test_nothing_to_measure_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="accepted: a list of one dtype or more, and a positive number"):
        calibrate(**options)


@pytest.mark.parametrize(
    "objective", ["speed", 3, None, {"flops": 1}, {"flops": 0, "elements": 1}, {"flops": 1, "elements": float("nan")}]
)
def test_an_unknown_objective_is_refused(objective: Any) -> None:
    with pytest.raises(ArgumentError, match="accepted: 'time', 'flops', 'size', a calibration, or weights such as"):
        plan(CHAIN, *SHAPES, objective=objective)
