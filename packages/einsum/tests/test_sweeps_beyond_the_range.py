"""Marginals and environments whose intermediates or sums are beyond the range of floats."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import Case, networks, same
from network_derivatives import environment, marginal
from tensor_core import F64
from tensor_core.errors import ArgumentError, DTypeError
from tensor_einsum import MemoryLimitError, Plan, Progress, einsum, plan
from tensor_einsum.derivatives import marginals as module
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES, PLUS_TIMES, Semiring

Array = np.ndarray[Any, Any]
POWERS = {"float32": 60, "complex64": 60, "float64": 500, "complex128": 500}


def scaled(case: Case, data: st.DataObject, low: int, high: int) -> tuple[list[tr.Tensor], list[int]]:
    """The operands multiplied by powers of two, exactly, and those powers."""
    most = min(POWERS[array.dtype.name] for array in case.arrays)
    powers = [data.draw(st.integers(low * most, high * most)) for _ in case.arrays]
    pairs = zip(case.arrays, powers, strict=True)
    return [tr.asarray(np.asarray(array * array.dtype.type(2.0**power))) for array, power in pairs], powers


def cut(data: st.DataObject, found: Plan) -> Plan:
    return found.with_slices({name: data.draw(st.integers(1, 3)) for name in found.names if data.draw(st.booleans())})


@pytest.mark.parametrize("dtype", list(POWERS))
@pytest.mark.parametrize(("low", "high"), [(-1, 0), (0, 1)])
@given(data=st.data())
def test_quotients_are_those_of_the_network_that_stays_in_range(
    dtype: str, low: int, high: int, data: st.DataObject
) -> None:
    case = data.draw(networks(dtypes=[dtype]))
    found = case.plan if data.draw(st.booleans()) else cut(data, case.plan)
    operands, _ = scaled(case, data, low, high)
    expected = found.marginals(*case.tensors, normalize=True)
    marginals = found.marginals(*operands, normalize=True)

    for label, known in expected.items():
        total = marginal(case, label).sum()
        if total == 0:  # what is divided by zero may have lost its scale
            assert not np.isfinite(marginals[label].to_numpy()).any()
        else:
            assert same(marginals[label], known.to_numpy()), (case.notation, label)


@pytest.mark.parametrize("algebra", [PLUS_TIMES, MAX_TIMES], ids=lambda algebra: algebra.name)
@given(data=st.data())
def test_pairs_are_results_and_their_powers_of_ten(algebra: Semiring, data: st.DataObject) -> None:
    case = data.draw(networks(dtypes=["float64"]))
    case = case.magnitudes if algebra is MAX_TIMES else case
    found = cut(data, case.planned(algebra=algebra))
    operands, powers = scaled(case, data, -1, 1)

    def check(pair: tuple[tr.Tensor, float], expected: Array, power: int) -> None:
        mantissa, exponent = pair
        largest = np.abs(expected).max(initial=0.0)
        assert same(mantissa, expected / largest if largest else expected), case.notation
        assert exponent == pytest.approx(math.log10(largest) + power * math.log10(2) if largest else 0.0, abs=1e-9)

    for operand, pair in enumerate(found.environments(*operands, strip_exponent=True)):
        check(pair, environment(case, operand, algebra=algebra), sum(powers) - powers[operand])
    for label, pair in found.marginals(*operands, strip_exponent=True).items():
        check(pair, marginal(case, label, algebra), sum(powers))


@given(networks(dtypes=("complex128",)), st.data())
def test_a_cotangent_has_a_scale_too(case: Case, data: st.DataObject) -> None:
    operands, powers = scaled(case, data, -1, 1)
    cotangent = tr.full(case.plan.output_shape, 3.0 * 2.0**-700)
    pairs = cut(data, case.plan).environments(*operands, cotangent=cotangent, strip_exponent=True)

    for operand, (mantissa, exponent) in enumerate(pairs):
        expected = environment(case, operand, np.full(case.plan.output_shape, 3.0))
        largest = np.abs(expected).max(initial=0.0)
        if largest:
            power = sum(powers) - powers[operand] - 700
            np.testing.assert_allclose(mantissa.to_numpy(), expected / largest, rtol=1e-14)
            assert exponent == pytest.approx(math.log10(largest) + power * math.log10(2), abs=1e-9)


def arguments(matrices: list[tr.Tensor]) -> list[Any]:
    return [part for number, x in enumerate(matrices) for part in (x, (number, number + 1))]


@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64"])
@pytest.mark.parametrize("element", [1e-4, 1e4])
def test_a_long_chain_of_equal_numbers_has_equal_marginals(dtype: str, element: float) -> None:
    matrices = [tr.cast(tr.full((4, 4), element * (1j if dtype[0] == "C" else 1.0)), dtype)] * 300
    found = plan(*arguments(matrices), ())
    quotients = found.marginals(*matrices, normalize=True)
    (_, exponent), *_ = found.marginals(*matrices, labels=[150], strip_exponent=True).values()

    assert len(quotients) == 301
    for one in quotients.values():
        np.testing.assert_allclose(one.to_numpy(), 0.25, rtol=1e-6)
    assert exponent == pytest.approx(300 * math.log10(element) + 300 * math.log10(4), abs=1e-5)
    (number,) = found.with_slices([150]).marginals(*matrices, labels=[150], normalize=True).values()
    np.testing.assert_allclose(number.to_numpy(), 0.25, rtol=1e-6)


def forward_backward(prior: Array, moves: Array, likelihoods: Array) -> Array:
    """Posteriors of all steps of a hidden Markov model, by messages that each have the sum 1."""
    steps = len(likelihoods)
    ahead, behind = np.empty_like(likelihoods), np.ones_like(likelihoods)
    message = prior
    for step in range(steps):
        message = message * likelihoods[step]
        ahead[step] = message = message / message.sum()
        message = message @ moves
    for step in range(steps - 1, 0, -1):
        message = moves @ (likelihoods[step] * behind[step])
        behind[step - 1] = message / message.sum()
    both = ahead * behind
    return both / both.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("dtype", "rounding"), [("F64", 1e-11), ("F32", 2e-3)])
def test_a_hidden_markov_model_of_500_steps_is_that_of_forward_backward(dtype: str, rounding: float) -> None:
    rng = np.random.default_rng(3)
    prior, moves = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5), size=5)
    likelihoods = rng.random((500, 5)) ** 4 * 0.01
    prior_there, moves_there, *seen = [tr.cast(tr.tensor(one), dtype) for one in (prior, moves, *likelihoods)]
    operands = [prior_there, *[moves_there] * 499, *seen]
    terms: list[tuple[int, ...]] = [(0,), *pairwise(range(500)), *[(step,) for step in range(500)]]
    given_all = [part for pair in zip(operands, terms, strict=True) for part in pair]
    found = plan(*given_all, ()).marginals(*operands, normalize=True)

    together = np.stack([found[step].to_numpy() for step in range(500)])
    np.testing.assert_allclose(together, forward_backward(prior, moves, likelihoods), rtol=rounding, atol=1e-12)


def test_a_tree_and_a_loopy_network_of_small_numbers_have_their_exact_marginals() -> None:
    rng = np.random.default_rng(8)
    tree = [((place - 1) // 2, place) for place in range(1, 64)]
    grid = [(6 * i + j, 6 * i + j + step) for i in range(6) for j in range(6) for step in (1, 6) if j + step != 6]
    for edges in (tree, [(a, b) for a, b in grid if b < 36]):
        whole = [rng.integers(1, 9, (2, 2)).astype(float) for _ in edges]
        exact = [part for x, edge in zip(whole, edges, strict=True) for part in (tr.tensor(x), edge)]
        small = [tr.tensor(x * 2.0**-90) for x in whole]
        found = plan(*exact, ())
        marginals = found.marginals(*small, normalize=True)

        for label in (edges[0][0], edges[-1][1], edges[len(edges) // 2][0]):
            expected = einsum(*exact, (label,)).to_numpy()
            np.testing.assert_allclose(marginals[label].to_numpy(), expected / expected.sum(), rtol=1e-13)


@pytest.mark.parametrize("slices", [(), (1,), (0, 2)])
def test_a_sum_that_is_zero_is_no_underflow(slices: tuple[int, ...]) -> None:
    small = tr.tensor([[1e-200, 0.0], [0.0, 0.0]])
    other = tr.tensor([[0.0, 0.0], [1e-200, 3e-200]])
    against = plan(small, (0, 1), other, (1, 2), small, (2, 3), ()).with_slices(slices)
    for one in against.marginals(small, other, small, normalize=True).values():
        assert np.isnan(one.to_numpy()).all()
    for mantissa, exponent in against.marginals(small, other, small, strip_exponent=True).values():
        assert (mantissa.to_numpy().tolist(), exponent) == ([0.0, 0.0], 0.0)
    holds = plan(small, (0, 1), other, (0, 2), ()).with_slices([label for label in slices if label != 3])
    other = tr.tensor([[1e-200, 3e-200], [0.0, 0.0]])
    found = holds.marginals(small, other, normalize=True)
    assert {label: one.to_numpy().tolist() for label, one in found.items()} == {
        "0": [1.0, 0.0],
        "1": [1.0, 0.0],
        "2": [0.25, 0.75],
    }


def test_what_is_not_finite_stays() -> None:
    for odd in (math.nan, math.inf):
        x, y, nothing = tr.tensor([odd, 1.0]), tr.tensor([1.0, 2.0]), tr.ones((0,))
        assert np.isnan(plan("i,j->", x, y).marginals(x, y, normalize=True)["j"].to_numpy()).all()
        found = plan("i,j->", x, nothing).marginals(x, nothing, normalize=True)
        assert np.isnan(found["i"].to_numpy()).all() and found["j"].shape == (0,)


def test_sums_in_range_are_divided_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "run_scaled_sweep", None)
    rng = np.random.default_rng(4)
    for factor in (1.0, 1e-100, 1e100):
        x, y = tr.tensor(rng.random((3, 4)) * factor), tr.tensor(rng.random((4, 5)))
        found = plan("ij,jk->", x, y)
        for label, one in found.marginals(x, y).items():
            divided = tr.divide(one, tr.sum(one)).to_numpy()
            assert found.marginals(x, y, normalize=True)[label].to_numpy().tobytes() == divided.tobytes()
    a = tr.tensor([1.0, 3.0])
    assert plan("i->", a, algebra=MAX_PLUS).marginals(a, normalize=True)["i"].to_numpy().tolist() == [-2.0, 0.0]


@pytest.mark.parametrize("slices", [(), (1,)])
def test_limits_count_copies_of_operands_that_are_out_of_range(slices: tuple[int, ...]) -> None:
    near, far = [tr.full((30, 30), 1e-20)] * 20, [tr.full((30, 30), 1e-50)] * 20
    found = plan(*arguments(near), ()).with_slices(slices)
    with pytest.raises(MemoryLimitError) as refused:
        found.marginals_plan([3], memory_limit=0)
    smallest = refused.value.__dict__["smallest"]
    quotients = found.marginals(*near, labels=[3], normalize=True, memory_limit=smallest)
    np.testing.assert_allclose(quotients[3].to_numpy(), 1 / 30, rtol=1e-13)

    assert np.isfinite(found.marginals(*near, labels=[3], memory_limit=smallest)[3].to_numpy()).all()
    with pytest.raises(MemoryLimitError, match=r"marginals: the sweep needs .* but the limit is") as refused:
        found.marginals(*far, labels=[3], normalize=True, memory_limit=smallest)
    with_copies = refused.value.__dict__["smallest"]
    assert with_copies == smallest + 20 * 30 * 30 * 8
    for limit in (with_copies, None):
        quotients = found.marginals(*far, labels=[3], normalize=True, memory_limit=limit)
        np.testing.assert_allclose(quotients[3].to_numpy(), 1 / 30, rtol=1e-13)


def test_small_sums_have_to_do_where_a_limit_has_no_room_for_copies() -> None:
    x, y = tr.tensor([1.0, 3.0]), tr.tensor([2.0**-600] * 2)
    found = plan("i,j->", x, y)
    with pytest.raises(MemoryLimitError) as refused:
        found.marginals(x, y, normalize=True, memory_limit=1)
    quotients = found.marginals(x, y, normalize=True, memory_limit=refused.value.__dict__["smallest"])
    assert [one.tolist() for one in quotients.values()] == [[0.25, 0.75], [0.5, 0.5]]


def test_operands_stay_and_each_sweep_reports_its_steps() -> None:
    matrices = [tr.full((400, 400), power) for power in (1e-200, 1e-160, 1e-300)]
    found = plan("ij,jk,kl->", *matrices)
    seen: list[Progress] = []
    marginals = found.marginals(*matrices, normalize=True, progress=seen.append)
    steps = len(found.marginals_plan().steps)

    assert [now.done for now in seen] == [*range(1, steps + 1)] * 2
    assert [one.to_numpy().mean() for one in marginals.values()] == pytest.approx([1 / 400] * 4)
    assert [x.to_numpy().max() for x in matrices] == [1e-200, 1e-160, 1e-300]


def test_what_has_no_exponent_is_refused() -> None:
    whole, real = tr.ones((2, 3), dtype="I64"), tr.ones((2, 3), dtype=F64)
    with pytest.raises(DTypeError, match="environments: strip_exponent=True of operands that promote to I64"):
        plan("ij->", whole).environments(whole, strip_exponent=True)
    with pytest.raises(ArgumentError, match="marginals: strip_exponent=True in the algebra max_plus"):
        plan("ij->", real, algebra=MAX_PLUS).marginals(real, strip_exponent=True)
    with pytest.raises(ArgumentError, match="marginals: normalize=True together with strip_exponent=True"):
        plan("ij->", real).marginals(real, normalize=True, strip_exponent=True)  # type: ignore[call-overload]
