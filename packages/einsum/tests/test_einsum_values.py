"""Values of einsum, exact: small integers in every dtype, against the definition and against NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import LAYOUTS, NUMPY_NAMES, Case, cases, laid_out, naive, same, small_integers
from tensor_einsum import einsum, plan
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES, MIN_PLUS, PLUS_TIMES, Semiring

OPTIMIZERS = [
    "auto",
    "auto-hq",
    "greedy",
    "optimal",
    "branch-all",
    "branch-2",
    "branch-1",
    "dp",
    "random-greedy",
    False,
]


@given(cases())
def test_einsum_is_the_sum_over_all_indices(case: Case) -> None:
    assert same(einsum(case.notation, *map(tr.tensor, case.arrays)), naive(case))


@given(cases(max_operands=4), st.data())
def test_layouts_of_operands_do_not_matter(case: Case, data: st.DataObject) -> None:
    operands = [laid_out(array, data.draw(st.sampled_from(LAYOUTS))) for array in case.arrays]

    assert same(einsum(case.notation, *operands), naive(case))


@given(cases(), st.data())
def test_paths_do_not_matter(case: Case, data: st.DataObject) -> None:
    left, path = len(case.arrays), []
    while left > 1:
        size = data.draw(st.integers(2, min(3, left)))
        path.append(tuple(data.draw(st.permutations(range(left)))[:size]))
        left -= size - 1
    operands = [tr.tensor(array) for array in case.arrays]

    assert same(einsum(case.notation, *operands, optimize=path), naive(case))


@pytest.mark.parametrize("optimize", OPTIMIZERS)
@settings(max_examples=20, deadline=None)
@given(case=cases(dtypes=("float64", "int32")))
def test_searches_do_not_matter(optimize: Any, case: Case) -> None:
    assert same(einsum(case.notation, *map(tr.tensor, case.arrays), optimize=optimize), naive(case))


@given(cases(max_operands=4))
def test_numpy_agrees_where_it_accepts(case: Case) -> None:
    assume(len(set(case.output)) == len(case.output))
    try:
        expected = np.asarray(np.einsum(case.notation, *case.arrays))
    except ValueError:  # NumPy stretches no extent of 1 against 0, for one
        assume(False)
    assert same(einsum(case.notation, *map(tr.tensor, case.arrays)), expected)


@given(cases(max_operands=3))
def test_a_plan_gives_what_einsum_gives(case: Case) -> None:
    operands = [tr.tensor(array) for array in case.arrays]
    found = plan(case.notation, *operands)
    result = found(*operands)

    assert same(result, naive(case))
    assert (result.shape, result.dtype) == (found.output_shape, found.output_dtype)


@given(cases(max_operands=4), st.data())
def test_interleaved_labels_mean_the_same(case: Case, data: st.DataObject) -> None:
    naming: list[Callable[[str], Any]] = [ord, lambda label: ("axis", label), str]
    name = data.draw(st.sampled_from(naming))
    arguments: list[Any] = []
    for term, array in zip(case.inputs, case.arrays, strict=True):
        arguments += [tr.tensor(array), [name(label) for label in term]]

    assert same(einsum(*arguments, [name(label) for label in case.output]), naive(case))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", NUMPY_NAMES)
@pytest.mark.parametrize("notation", ["ii->", "ii->i", "i->ii", "ij->ji", "ij->", "ij->j", "iji->ij", "i->iii", "->"])
def test_one_operand_is_traced_cut_embedded_and_summed(notation: str, dtype: str, layout: str) -> None:
    terms, output = notation.split("->")
    array = small_integers(np.random.default_rng(7), [{"i": 3, "j": 4}[label] for label in terms], dtype)

    assert same(einsum(notation, laid_out(array, layout)), naive(Case((terms,), output, (array,))))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", NUMPY_NAMES)
@pytest.mark.parametrize(
    "notation",
    [
        "ik,k,kj->ij",
        "ij,jk->ik",
        "ij,jk->ki",
        "bij,bjk->bik",
        "ijb,jkb->ikb",
        "i,j->ij",
        "i,i->",
        ",ij->ij",
        "ij,ij->ij",
    ],
)
def test_common_contractions_are_exact_in_every_dtype_and_layout(notation: str, dtype: str, layout: str) -> None:
    terms, output = notation.split("->")
    generator = np.random.default_rng(3)
    extents = {"i": 3, "j": 4, "k": 5, "b": 2}
    arrays = tuple(small_integers(generator, [extents[label] for label in term], dtype) for term in terms.split(","))

    result = einsum(notation, *[laid_out(array, layout) for array in arrays])
    assert same(result, naive(Case(tuple(terms.split(",")), output, arrays)))


@pytest.mark.parametrize(
    "dtypes", [("bool", "float64"), ("int32", "int64", "bool"), ("float32", "int32"), ("complex64", "float64")]
)
@pytest.mark.parametrize("optimize", ["auto", False, "greedy"])
def test_mixed_dtypes_are_promoted_before_anything_is_summed(dtypes: tuple[str, ...], optimize: Any) -> None:
    generator = np.random.default_rng(5)
    arrays = [small_integers(generator, (3, 3, 4), name) for name in dtypes]
    notation = ",".join(["iij", "jji", "kkj"][: len(arrays)]).replace("jji", "iij") + "->j"
    common = np.result_type(*arrays)
    expected = naive(
        Case(tuple(notation.split("->")[0].split(",")), "j", tuple(array.astype(common) for array in arrays))
    )

    assert same(einsum(notation, *map(tr.tensor, arrays), optimize=optimize), expected)


def test_products_of_bool_sum_in_the_promoted_dtype_along_any_path() -> None:
    a = np.ones((3, 4), bool)
    x = np.full(4, 2.0)
    for path in ([(0, 1), (0, 1)], [(1, 2), (0, 1)], [(0, 2), (0, 1)]):
        result = einsum("ij,ik,j->", tr.tensor(a), tr.tensor(a), tr.tensor(x), optimize=path)
        assert result.item() == 96.0


def test_integers_wrap_along_any_path() -> None:
    big = np.array([2**30, 2**30, 5], dtype="int32")
    expected = np.einsum("i,i,i->", big, big, big, dtype="int32")
    for path in ([(0, 1), (0, 1)], [(1, 2), (0, 1)]):
        assert einsum("i,i,i->", *[tr.tensor(big)] * 3, optimize=path).to_numpy() == expected


def test_python_numbers_stand_for_rank_0() -> None:
    a = tr.tensor([[1.0, 2.0], [3.0, 4.0]], dtype="F32")

    assert same(einsum(",ij->ji", 2, a), np.array([[2, 6], [4, 8]], dtype="float32"))
    assert einsum("ij,->", a, 1j).dtype.name == "C32"
    assert einsum(",,ii->", True, 3.0, a).item() == 15.0


NOTHING_SUMMED = [
    ("ij,jk->", [(1, 1), (1, 0)]),
    ("ij,jk->i", [(2, 3), (3, 0)]),
    ("i,j,k->ii", [(2,), (0,), (3,)]),
    ("ij,kl,mn->im", [(2, 2), (2, 0), (2, 2)]),
    ("ij,k->ij", [(2, 1), (0,)]),
    ("ij,ij,k->k", [(2, 1), (2, 0), (2,)]),
    ("ij->i", [(2, 0)]),
    ("ab,bc,cd,e->ad", [(2, 2), (2, 2), (2, 2), (0,)]),
]
"""Notations in which a label of extent 0 is summed."""


@pytest.mark.parametrize("algebra", [PLUS_TIMES, MIN_PLUS, MAX_PLUS, MAX_TIMES], ids=str)
@pytest.mark.parametrize(("notation", "shapes"), NOTHING_SUMMED)
@pytest.mark.parametrize("special", [math.inf, -math.inf, math.nan])
def test_a_sum_over_no_elements_is_zero_whatever_the_other_factors_are(
    notation: str, shapes: list[tuple[int, ...]], special: float, algebra: Semiring
) -> None:
    operands = [tr.full(shape, special) for shape in shapes]
    found = plan(notation, *operands, algebra=algebra)
    expected = np.full(found.output_shape, algebra.zero_of("F64"))
    seen: list[int] = []

    for _ in range(2):  # bound, then found
        assert np.array_equal(einsum(notation, *operands, algebra=algebra).to_numpy(), expected)
    assert np.array_equal(found(*operands, on_step=lambda done, total: seen.append(done)).to_numpy(), expected)
    assert len(seen) == len(found.steps)
    for labels in found.names:
        assert np.array_equal(found.with_slices([labels])(*operands).to_numpy(), expected)
    if algebra.multiplication == "multiply":
        assert np.array_equal(found(*operands, strip_exponent=True)[0].to_numpy(), expected)
    batch = found.map([tr.full((*shapes[0], 3), special), *operands[1:]])
    assert np.array_equal(batch.to_numpy(), np.stack([expected] * 3, axis=-1))


def test_parts_of_a_batch_that_sum_nothing_are_zeros() -> None:
    x, nothing, y = tr.full((40, 200), math.inf), tr.zeros((0,)), tr.full((40, 30), math.inf)
    found = plan("i,j,ik->k", (40,), (0,), (40, 30), optimize=[(0, 2), (0, 1)])

    batch = found.map([x, nothing, y], memory_limit=80_000)
    assert np.array_equal(batch.to_numpy(), np.zeros((30, 200)))


def test_extents_of_1_and_0_meet_in_0() -> None:
    one, none = tr.ones((1, 2)), tr.zeros((0, 2))

    assert einsum("ij,ij->ij", one, none).shape == (0, 2)
    assert einsum("ij,ij->j", one, none).to_numpy().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("notation", ["ij->ij", "...->...", "i...->i..."])
def test_the_result_never_shares_memory_with_an_operand(notation: str) -> None:
    a = tr.ones((2, 3))

    assert not np.shares_memory(einsum(notation, a).to_numpy(), a.to_numpy())


@given(st.lists(st.lists(st.sampled_from((1, 2, 3)), max_size=3), min_size=1, max_size=3), st.booleans())
def test_an_ellipsis_is_numpys(shapes: list[list[int]], explicit: bool) -> None:
    terms = ["...ij", "j...k", "..."][: len(shapes)]
    tails = [(4, 2), (2, 5), ()]
    arrays = []
    for shape, term, tail in zip(shapes, terms, tails, strict=False):
        whole = (tail[0], *shape, tail[1]) if term == "j...k" else (*shape, *tail)
        arrays.append(small_integers(np.random.default_rng(1), whole, "float64"))
    outputs = ["->...ji", "->i...k", "->...ik"]
    notation = ",".join(terms) + (outputs[len(shapes) - 1] if explicit else "")
    try:
        expected = np.asarray(np.einsum(notation, *arrays))
    except ValueError:
        assume(False)
    assert same(einsum(notation, *map(tr.tensor, arrays)), expected)


def test_hundreds_of_labels_are_contracted() -> None:
    labels = [chr(192 + k) for k in range(300)]
    operands = [tr.tensor(np.array([[1, 1], [0, 1]], dtype="int64"))] * 299
    notation = ",".join(a + b for a, b in itertools.pairwise(labels))

    assert einsum(notation, *operands).to_numpy().tolist() == [[1, 299], [0, 1]]


def test_a_chain_of_two_thousand_operands_is_contracted() -> None:
    labels = range(2001)
    arguments: list[Any] = []
    matrix = tr.tensor(np.array([[1, 1], [0, 1]], dtype="int64"))
    for a, b in itertools.pairwise(labels):
        arguments += [matrix, (a, b)]

    assert einsum(*arguments, (0, 2000)).to_numpy().tolist() == [[1, 2000], [0, 1]]
    assert einsum(*arguments, (0, 2000), optimize=False).to_numpy().tolist() == [[1, 2000], [0, 1]]


@pytest.mark.parametrize("notation", ["i,i,i->i", "i,j,i->ij", "i,i,i->", "ij,ij,i->i"])
@pytest.mark.parametrize(("narrow", "wide", "value"), [("i4", "i8", 2**20), ("f4", "f8", 1e30), ("c8", "c16", 1e30)])
def test_every_step_computes_in_the_dtype_of_the_whole_contraction(
    notation: str, narrow: str, wide: str, value: float
) -> None:
    arrays = [
        np.full((2, 3)[: len(term)], value if place < 2 else 1, narrow if place < 2 else wide)
        for place, term in enumerate(notation.split("->")[0].split(","))
    ]
    if notation == "i,j,i->ij":
        arrays[1] = np.full(3, value, narrow)
    expected = np.einsum(notation, *[array.astype(wide) for array in arrays])

    result = einsum(notation, *map(tr.asarray, arrays), optimize=False)

    assert result.to_numpy().dtype == wide
    assert np.allclose(result.to_numpy(), expected, rtol=1e-12)


def test_intermediates_have_no_axes_of_extent_one_where_there_are_many() -> None:
    ones = [chr(0x100 + number) for number in range(90)]
    first, second, third = "".join(ones[:45]), "".join(ones[45:]), "".join(ones[:40])
    fourth = "".join(ones[40:])
    terms = [f"i{first}j", f"k{second}j", f"{third}l", f"{fourth}l"]
    drawn = np.random.default_rng(0)
    arrays = [drawn.uniform(size=[{"i": 2, "j": 3, "k": 4, "l": 5}.get(label, 1) for label in term]) for term in terms]
    tensors = [tr.asarray(array) for array in arrays]
    notation = f"{','.join(terms)}->ki{ones[7]}"
    i_j, k_j, one, other = (array.reshape([extent for extent in array.shape if extent > 1]) for array in arrays)
    expected = (k_j @ i_j.T * (one @ other))[:, :, None]

    made = plan(notation, *tensors, optimize=[(0, 1), (0, 1), (0, 1)])  # the first product has 90 of them, else

    assert max(len(step.output) for step in made.steps) < 10
    np.testing.assert_allclose(np.asarray(made(*tensors)), expected, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(einsum(notation, *tensors)), expected, rtol=1e-12)
    _, environment, *_ = made.environments(*tensors, cotangent=tr.ones(made.output_shape))
    assert environment.shape == arrays[1].shape
    np.testing.assert_allclose(
        np.asarray(environment).ravel(), np.outer(np.ones(4), i_j.sum(0)).ravel() * (one @ other), rtol=1e-12
    )
