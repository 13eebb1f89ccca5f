"""``plan.profile``: one line per step, measured on the operands themselves, beside the cost model."""

from __future__ import annotations

import pytest

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, TensorError
from tensor_einsum import plan
from tensor_einsum.search.cost_model import SHIPPED

SHAPES = (2, 30), (30, 40), (40, 5)
OPERANDS = [tr.normal(shape, seed=number) for number, shape in enumerate(SHAPES)]


def test_a_profile_has_the_steps_of_the_plan_and_predicts_by_the_rates_of_its_dtype() -> None:
    found = plan("ij,jk,kl->il", *SHAPES, optimize=[(0, 1), (0, 1)])
    profile = found.profile(*OPERANDS, seconds=0.01)
    rates = SHIPPED.of(tr.F64)
    moved = (2 * 30 + 30 * 40 + 2 * 40, 2 * 40 + 40 * 5 + 2 * 5)
    assert [step.flops for step in profile.steps] == [step.flops for step in found.steps]
    assert [step.shape for step in profile.steps] == [(2, 40), (2, 5)]
    assert [step.predicted for step in profile.steps] == [
        step.flops / rates.flop_rate + elements / rates.element_rate + rates.step_seconds
        for step, elements in zip(found.steps, moved, strict=True)
    ]
    assert all(step.measured > 0 for step in profile.steps) and profile.rounds >= 1
    assert profile.measured == sum(step.measured for step in profile.steps)
    assert "predicted" in str(profile) and str(profile).count("->") == 2


def test_a_profile_of_slices_is_of_the_first_one_and_counts_all() -> None:
    whole = plan("ij,jk,kl->il", *SHAPES)
    for sliced, count in ((whole.with_slices("k"), 40), (whole.with_slices({"k": 16, "j": 1}), 90)):
        profile = sliced.profile(*OPERANDS, seconds=0.01)
        assert profile.slices == sliced.slices.count == count
        assert profile.predicted == pytest.approx(count * sum(step.predicted for step in profile.steps))


def test_a_calibration_says_what_is_predicted() -> None:
    from tensor_einsum import calibrate

    calibration = calibrate(dtypes=[tr.F64], seconds=0.01)
    found = plan("ij,jk->ik", *SHAPES[:2])
    rates = calibration.cost_model.of(tr.F64)
    (step,) = found.profile(*OPERANDS[:2], seconds=0.01, objective=calibration).steps
    assert step.predicted == step.flops / rates.flop_rate + 1340 / rates.element_rate + rates.step_seconds


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), True, "1"])
def test_seconds_are_positive(seconds: object) -> None:
    with pytest.raises(ArgumentError, match="seconds"):
        plan("i->", (2,)).profile(tr.ones(2), seconds=seconds)  # type: ignore[arg-type]


def test_operands_of_other_extents_are_refused() -> None:
    with pytest.raises(TensorError, match="this plan was made for"):
        plan("ij,jk->ik", *SHAPES[:2]).profile(OPERANDS[0], OPERANDS[2])
