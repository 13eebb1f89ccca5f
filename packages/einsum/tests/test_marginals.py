"""Marginals, exact: every label as the output of the network, against the definition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import Case, networks, same
from network_derivatives import marginal
from tensor_core import F32, I64
from tensor_core.errors import ArgumentError, DTypeError
from tensor_einsum import MemoryLimitError, einsum, plan
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES, MIN_PLUS, OR_AND, Semiring


@given(networks())
def test_every_label_as_the_output_in_one_sweep(case: Case) -> None:
    found = case.plan
    marginals = found.marginals(*case.tensors)

    assert list(marginals) == list(found.names)
    for label, given_back in marginals.items():
        assert same(given_back, marginal(case, label)), (case.notation, label)


@pytest.mark.parametrize("algebra", [MAX_PLUS, MIN_PLUS, MAX_TIMES, OR_AND], ids=lambda algebra: algebra.name)
@given(data=st.data())
def test_every_label_in_any_algebra(algebra: Semiring, data: st.DataObject) -> None:
    case = data.draw(networks(dtypes=[dtype.numpy_name for dtype in algebra.accepts])).magnitudes

    for label, given_back in case.planned(algebra=algebra).marginals(*case.tensors).items():
        assert same(given_back, marginal(case, label, algebra)), (case.notation, label)


@given(networks(dtypes=("complex128",)), st.data())
def test_marginals_of_conjugated_operands(case: Case, data: st.DataObject) -> None:
    conj = data.draw(st.sets(st.integers(0, len(case.inputs) - 1)))
    read = case._replace(arrays=tuple(a.conj() if at in conj else a for at, a in enumerate(case.arrays)))

    for label, given_back in case.planned(conj=sorted(conj)).marginals(*case.tensors).items():
        assert same(given_back, marginal(read, label)), (case.notation, conj, label)


@given(networks(), st.data())
def test_labels_are_given_in_the_order_asked_whatever_the_memory(case: Case, data: st.DataObject) -> None:
    found = case.plan
    labels = data.draw(st.permutations(found.names))[: data.draw(st.integers(0, len(found.names)))]
    try:
        found.marginals_plan(labels, memory_limit=0)
        limit = 0
    except MemoryLimitError as error:
        limit = error.smallest
    marginals = found.marginals(*case.tensors, labels=labels, memory_limit=limit)

    assert list(marginals) == labels
    assert all(same(given_back, marginal(case, label)) for label, given_back in marginals.items())


def chain(count: int, states: int) -> tuple[str, list[np.ndarray[Any, Any]]]:
    """A Markov chain with an observation at every place, hyper-edges all: prior, transitions, likelihoods."""
    generator = np.random.default_rng(5)
    names = [chr(300 + k) for k in range(count)]
    terms = [a + b for a, b in pairwise(names)] + names
    arrays = [generator.random((states,) * len(term)) for term in terms]
    return f"{','.join(terms)}->", arrays


def test_all_marginals_of_a_chain_cost_a_few_contractions() -> None:
    notation, arrays = chain(50, 20)
    found = plan(notation, *[array.shape for array in arrays])

    assert found.marginals_plan().flops < 5 * found.flops


@pytest.mark.parametrize("count", [3, 22, 40])
@pytest.mark.parametrize("conj", [(), (0, 2)])
def test_labels_of_extent_one_have_marginals_however_many_there_are(count: int, conj: tuple[int, ...]) -> None:
    arrays = [np.array([[1.0 + number % 3], [1j * (number % 2) + 1.0]]) for number in range(count)]
    arrays[1] = arrays[1][:1]  # whose other axis broadcasts
    operands = [tr.tensor(array) for array in arrays]
    arguments: list[Any] = [part for number, x in enumerate(operands) for part in (x, ("x", f"e{number}"))]
    found = plan(*arguments, (), conj=conj)
    taken = [array.conj() if number in conj else array for number, array in enumerate(arrays)]
    expected = np.prod(np.broadcast_arrays(*taken), axis=0)[:, 0]

    for labels in (["e1"], ["e0", "x"], None):
        marginals = found.marginals(*operands, labels=labels)
        assert len(marginals) == len(labels or found.names)
        for name, found_one in marginals.items():
            known = expected if name == "x" else expected.sum(keepdims=True)
            assert found_one.shape == known.shape
            np.testing.assert_allclose(found_one.to_numpy(), known, rtol=1e-14)
    assert found.marginals_plan(["e2"]).results


def test_a_slice_with_many_labels_cut_to_one_gives_their_marginals() -> None:
    letters = [f"e{number}" for number in range(24)]
    operands = [tr.tensor([1.0, 0.5 + number]) for number in range(24)]
    whole = plan(*[part for x, name in zip(operands, letters, strict=True) for part in (x, (name,))], ())
    sliced = whole.reuse(*[(2,)] * 2, *[(1,)] * 22).with_slices(["e0", "e1"])
    given = [*operands[:2], *[x[:1] for x in operands[2:]]]

    assert sliced.marginals(*given, labels=["e1"])["e1"].to_numpy().tolist() == [1.5, 2.25]
    assert sliced.marginals(*given, labels=["e5"])["e5"].to_numpy().tolist() == [3.75]


def test_normalized_marginals_are_probabilities() -> None:
    notation, arrays = chain(12, 3)
    tensors = list(map(tr.tensor, arrays))
    found = plan(notation, *tensors)
    for label, given_back in found.marginals(*tensors, normalize=True).items():
        expected = einsum(notation + label, *tensors).to_numpy()

        assert given_back.to_numpy() == pytest.approx(expected / expected.sum(), rel=1e-12)


def test_normalized_max_marginals_have_the_algebras_one_as_their_sum() -> None:
    notation, arrays = chain(6, 3)
    tensors = list(map(tr.tensor, arrays))
    for algebra, extremum, one in ((MAX_PLUS, np.max, 0.0), (MIN_PLUS, np.min, 0.0), (MAX_TIMES, np.max, 1.0)):
        found = plan(notation, *tensors, algebra=algebra).marginals(*tensors, normalize=True)

        assert all(extremum(given_back.to_numpy()) == one for given_back in found.values())


def test_integers_are_not_normalized() -> None:
    a = tr.ones((2, 3), dtype=I64)
    with pytest.raises(DTypeError, match="marginals are I64, which has no quotients"):
        plan("ij->", a).marginals(a, normalize=True)


def test_a_single_label_may_be_named_alone_and_long_names_are_labels() -> None:
    a, b = tr.ones((2, 3), dtype=F32), tr.ones((3, 4), dtype=F32)
    found = plan(a, ("left", "bond"), b, ("bond", "right"), ())

    assert found.marginals(a, b, labels="bond")["bond"].to_numpy().tolist() == [8.0] * 3
    assert list(found.marginals(a, b, labels=["right", "left"])) == ["right", "left"]
    assert list(plan("ij,jk->", a, b).marginals(a, b, labels="ki")) == ["k", "i"]


@pytest.mark.parametrize("labels", ["x", ["i", "i"], 0, [0], ("i", None), np.array(1), tr.tensor(1)])
def test_labels_that_are_not_there_are_refused(labels: Any) -> None:
    with pytest.raises(ArgumentError, match=r"marginals: labels are .* accepted: each once, of 'i', 'j'"):
        plan("ij->", (2, 3)).marginals_plan(labels)


def test_labels_of_marginals_are_named_as_those_of_slices() -> None:
    a, b = tr.ones((2, 3)), tr.ones((3, 4))
    found = plan(a, (0, 1), b, (1, ("x", 2)), ())

    assert [*found.marginals(a, b, labels=[1, ("x", 2)])] == ["1", "('x', 2)"]
    assert [*found.marginals(a, b, labels=("x", 2))] == ["('x', 2)"]
    assert [*found.marginals(a, b, labels=0)] == ["0"]
    with pytest.raises(ArgumentError, match="accepted: each once"):
        found.marginals(a, b, labels=[1, "1"])


def test_marginals_are_found_by_labels_as_they_were_given() -> None:
    x = tr.asarray(np.arange(6.0).reshape(2, 3))
    site, bond = ("site", 0), 3
    found = plan(x, (site, bond), ()).marginals(x)
    assert list(found) == ["('site', 0)", "3"]
    assert found[site] is found["('site', 0)"] and found[bond] is found["3"]
    np.testing.assert_array_equal(found[bond].to_numpy(), [3.0, 5.0, 7.0])
    only = plan(x, (site, bond), ()).marginals(x, labels=[bond])
    for label in (site, "4", 4, None):
        with pytest.raises(KeyError):
            only[label]
    both = plan(x, ("7", 7), ()).marginals(x, labels=["7"])
    assert both["7"].shape == (2,)
    with pytest.raises(KeyError):
        both[7]  # which was not asked for
    same_prints = [type("Label", (), {"__repr__": lambda self: "label"})() for _ in range(2)]
    found = plan(x, tuple(same_prints), ()).marginals(x)
    with pytest.raises(KeyError):
        found[same_prints[0]]  # which of both nothing tells
