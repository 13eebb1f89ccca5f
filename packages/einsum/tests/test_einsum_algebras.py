"""Einsum in every algebra, exact on whole numbers, against a loop over all places of the labels."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, DTypeError, UnsupportedOperationError
from tensor_einsum import Plan, einsum, plan
from tensor_runtime.algebras import ALGEBRAS, MAX_PLUS, MAX_TIMES, MIN_PLUS, OR_AND, PLUS_TIMES, Semiring
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import SimulatedBackend

Array = np.ndarray[Any, Any]

OfMany = Callable[[list[Any]], Any]
SUMS: dict[Semiring, OfMany] = {
    PLUS_TIMES: sum,
    MAX_PLUS: max,
    MIN_PLUS: min,
    MAX_TIMES: max,
    OR_AND: any,
}
PRODUCTS: dict[Semiring, OfMany] = {
    PLUS_TIMES: np.prod,
    MAX_PLUS: sum,
    MIN_PLUS: sum,
    MAX_TIMES: np.prod,
    OR_AND: all,
}
NAMES = {PLUS_TIMES: ("float64", "int64", "complex64"), OR_AND: ("bool",)}
REAL = ("float32", "float64")


class Case(NamedTuple):
    """Labels of operands and output, an algebra, and operands in some layout."""

    algebra: Semiring
    inputs: tuple[str, ...]
    output: str
    operands: tuple[tr.Tensor, ...]

    @property
    def arrays(self) -> list[Array]:
        return [operand.to_numpy() for operand in self.operands]

    @property
    def notation(self) -> str:
        return f"{','.join(self.inputs)}->{self.output}"


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Hyper-edges, repeated labels, rank 0, extents 0 to 3 and 1 against others, views, mixed dtypes."""
    algebra = draw(st.sampled_from(ALGEBRAS))
    extents = {label: draw(st.sampled_from((2, 3, 1, 0, 2))) for label in "abcd"}
    inputs = ["".join(draw(st.lists(st.sampled_from("abcd"), max_size=4))) for _ in range(draw(st.integers(1, 4)))]
    used = sorted(set("".join(inputs)))
    output = "".join(draw(st.lists(st.sampled_from(used), max_size=4))) if used else ""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    operands = []
    for term in inputs:
        stretched = {label for label in set(term) if draw(st.integers(0, 7)) == 0}
        shape = [1 if label in stretched else extents[label] for label in term]
        dtype = draw(st.sampled_from(NAMES.get(algebra, REAL)))
        operands.append(strided(rng, shape, dtype, draw(st.integers(0, 3)), algebra))
    return Case(algebra, tuple(inputs), output, tuple(operands))


def strided(rng: np.random.Generator, shape: Sequence[int], dtype: str, layout: int, algebra: Semiring) -> tr.Tensor:
    """Whole numbers from 0 to 3, or of any sign but in max-times: compact, transposed, reversed, or a part of more."""
    low = 0 if algebra is MAX_TIMES else -2
    order = rng.permutation(len(shape)).tolist() if layout else list(range(len(shape)))
    wide = [2 * shape[axis] + 1 if layout == 3 else shape[axis] for axis in order]
    values = rng.integers(low, 4, size=wide).astype(dtype)
    if dtype.startswith("complex"):
        values = (values + 1j * rng.integers(-2, 3, size=wide)).astype(dtype)
    whole = tr.asarray(values)
    if layout > 1:
        whole = whole[tuple(slice(1, None, 2) if layout == 3 else slice(None, None, -1) for _ in wide)]
    made = tr.permute_axes(whole, tuple(np.argsort(order).tolist()))
    assert made.shape == tuple(shape)
    return made


def by_definition(case: Case) -> Array:
    """For each place of the labels a product of elements, summed where the output's labels point; else zero."""
    extents: dict[str, int] = {}
    arrays = case.arrays
    for term, array in zip(case.inputs, arrays, strict=True):
        for label, extent in zip(term, array.shape, strict=True):
            extents[label] = extent if extents.get(label, 1) == 1 else extents[label]
    dtype = np.result_type(*arrays)
    terms: dict[tuple[int, ...], list[Any]] = {}
    for place in itertools.product(*map(range, extents.values())):
        at = dict(zip(extents, place, strict=True))
        factors = [
            array[tuple(0 if extent == 1 else at[label] for label, extent in zip(term, array.shape, strict=True))]
            for term, array in zip(case.inputs, arrays, strict=True)
        ]
        where = tuple(at[label] for label in case.output)
        terms.setdefault(where, []).append(PRODUCTS[case.algebra](factors))
    made = np.full([extents[label] for label in case.output], case.algebra.zero_of(dtype), dtype)
    for where, summed in terms.items():
        made[where] = SUMS[case.algebra](summed)
    return made


@given(cases(), st.booleans())
def test_every_algebra_gives_what_its_definition_says(case: Case, searched: bool) -> None:
    found = einsum(case.notation, *case.operands, algebra=case.algebra, optimize="auto" if searched else False)
    expected = by_definition(case)

    assert found.to_numpy().dtype == expected.dtype
    np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize("algebra", ALGEBRAS, ids=lambda algebra: algebra.name)
def test_multiplication_commutes_and_zero_and_one_are_neutral_in_every_algebra(algebra: Semiring) -> None:
    dtype = "Bool" if algebra is OR_AND else "F64"
    x, y = tr.cast(tr.tensor([0, 1, 1, 3]), dtype), tr.cast(tr.tensor([1, 0, 2, 5]), dtype)
    zero, one = (tr.full((4,), value, dtype=dtype) for value in (algebra.zero_of(dtype), algebra.one_of(dtype)))

    def product(a: tr.Tensor, b: tr.Tensor) -> list[Any]:
        found: list[Any] = einsum("i,i->i", a, b, algebra=algebra).to_numpy().tolist()
        return found

    assert product(x, y) == product(y, x)
    assert product(x, one) == x.to_numpy().tolist()
    assert product(x, zero) == zero.to_numpy().tolist()


def test_an_embedding_and_an_empty_sum_are_the_algebras_zero() -> None:
    x = tr.tensor([1.0, 2.0])
    assert einsum("i->ii", x, algebra=MIN_PLUS).to_numpy().tolist() == [[1.0, np.inf], [np.inf, 2.0]]
    assert einsum("ij->i", tr.zeros((2, 0)), algebra=MAX_PLUS).to_numpy().tolist() == [-np.inf, -np.inf]
    assert einsum("ij,j->i", tr.zeros((1, 0)), tr.zeros((0,)), algebra=MAX_TIMES).to_numpy().tolist() == [0.0]


def test_an_operand_of_another_dtype_is_promoted_before_its_zeros_are_written() -> None:
    counts, costs = tr.tensor([1, 2]), tr.tensor([0.5, 0.25])
    found = einsum("i,j->iij", counts, costs, algebra=MIN_PLUS)
    assert found.dtype is tr.F64
    assert found.to_numpy()[:, :, 1].tolist() == [[1.25, np.inf], [np.inf, 2.25]]
    assert einsum("ij,j->", tr.tensor([[1, 5], [2, 3]]), costs, algebra=MAX_PLUS).item() == 5.25


def test_long_sums_are_the_extremes_that_numpy_finds() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(-99, 99, (40, 70, 30)).astype(float), rng.integers(-99, 99, (30, 50)).astype(float)
    a, b = tr.asarray(x), tr.asarray(y)
    assert np.array_equal(einsum("ijk->ik", a, algebra=MAX_PLUS).to_numpy(), x.max(1))
    assert np.array_equal(einsum("ijk->", a, algebra=MIN_PLUS).to_numpy(), x.min())
    expected = (x.max(1)[:, :, None] + y[None]).max(1)
    assert np.array_equal(einsum("ijk,kl->il", a, b, algebra=MAX_PLUS).to_numpy(), expected)


def test_a_plan_knows_its_algebra_and_keeps_it() -> None:
    found = plan("ij,jk->ik", (2, 2), (2, 2), algebra=MAX_PLUS)
    plain = plan("ij,jk->ik", (2, 2), (2, 2))
    assert found.algebra is MAX_PLUS
    assert found != plain
    assert hash(found) != hash(plain)
    for again in (Plan.from_json(found.to_json()), pickle.loads(pickle.dumps(found))):
        assert again == found
        assert again.algebra is MAX_PLUS
    x = tr.tensor([[1.0, 5.0], [2.0, 3.0]])
    assert found(x, x).to_numpy().tolist() == [[7.0, 8.0], [5.0, 7.0]]
    assert plan("ij,jk->ik", (2, 2), (2, 2), algebra=PLUS_TIMES) is plain


def test_dtypes_that_the_algebra_lacks_are_refused_by_name() -> None:
    x = tr.tensor([1, 2])
    for call in (
        lambda: einsum("i,i->", x, x, algebra=MAX_PLUS),
        lambda: plan("i,i->", x, x, algebra=MAX_PLUS),
    ):
        with pytest.raises(DTypeError, match=r"operands are I64, I64; accepted by the algebra max_plus: F32, F64"):
            call()
    with pytest.raises(DTypeError, match=r"or_and: Bool \(not_equal\(x, 0\) makes truths\)"):
        einsum("i->", x, algebra=OR_AND)
    assert einsum("i->", tr.not_equal(x, 0), algebra=OR_AND).item() is True
    z = tr.cast(x, "C64")
    with pytest.raises(DTypeError, match=r"I64, C64; .*: F32, F64 \(real\(\), imag\(\) or abs\(\) first\)"):
        einsum("i,i->", x, z, algebra=MAX_PLUS)
    assert einsum("i,i->", tr.convert(x, "F64"), tr.real(z), algebra=MAX_PLUS).item() == 4.0
    with pytest.raises(DTypeError, match=r"plan: 300 operands are I64; accepted by the algebra or_and: Bool"):
        plan(",".join("i" * 300) + "->", *[x] * 300, algebra=OR_AND)
    with pytest.raises(ArgumentError, match=r"algebra is 'max_plus'; accepted: PLUS_TIMES, MAX_PLUS"):
        einsum("i->", x, algebra="max_plus")  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match=r"algebra is \[\]; accepted: PLUS_TIMES, MAX_PLUS"):
        einsum("i->", x, algebra=[])  # type: ignore[call-overload]


def test_a_backend_that_knows_one_algebra_says_so() -> None:
    lacking = {"semiring_unary_einsum": "this device adds and nothing else"}
    device = SimulatedBackend(tr.backend("cpu"), "adds", lacking)
    tr.register_backend("adds", device)
    try:
        x = tr.to(tr.ones((2, 2)), device.placement())
        assert tr.to(einsum("ij->", x, algebra=PLUS_TIMES), "cpu").item() == 4.0
        with pytest.raises(UnsupportedOperationError, match="adds and nothing else"):
            einsum("ij->", x, algebra=MAX_PLUS)
    finally:
        registry.unregister("adds")


@pytest.mark.parametrize(("factors", "told"), [
    ({"alpha": 2.0}, "einsum: alpha is 2.0 in"), ({"beta": 1}, "einsum: beta is 1 in"),
    ({"alpha": 2, "beta": 3}, "einsum: alpha is 2 and beta is 3 in"),
])  # fmt: skip
def test_only_factors_that_were_given_are_refused(factors: dict[str, Any], told: str) -> None:
    x = tr.ones((2, 2))
    with pytest.raises(ArgumentError, match=f"^{told} the algebra max_plus"):
        einsum("ij,jk->ik", x, x, algebra=MAX_PLUS, out=tr.ones((2, 2)), **factors)
