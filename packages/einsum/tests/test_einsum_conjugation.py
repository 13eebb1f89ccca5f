"""Operands taken conjugated: the same numbers as conjugating them first, and no more work than that."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.errors import ArgumentError
from tensor_einsum import Plan, einsum, plan
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import SimulatedBackend

Array = np.ndarray[Any, Any]


def whole(seed: int, shape: tuple[int, ...], dtype: str = "complex128") -> Array:
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, shape).astype(dtype)
    return (values + 1j * rng.integers(-4, 5, shape)).astype(dtype) if dtype.startswith("complex") else values


NETWORKS = [
    ("i,i->", ((5,), (5,))),
    ("ij,jk->ik", ((4, 5), (5, 3))),
    ("ij,jk->ki", ((4, 5), (5, 3))),
    ("ij,jk->ik", ((70, 80), (80, 90))),
    ("ji,kj->ik", ((80, 70), (90, 80))),
    ("ijb,jkb->ikb", ((4, 5, 3), (5, 6, 3))),
    ("ii,ij->j", ((5, 5), (5, 3))),
    ("ij,j->", ((400, 5), (5,))),
    ("ij->ji", ((3, 4),)),
    ("i->ii", ((3,),)),
    ("ij,kl->il", ((3, 4), (1, 5))),
    ("ab,bc,cd,da->", ((3, 4), (4, 5), (5, 2), (2, 3))),
    ("as,asb,bt->t", ((3, 2), (3, 2, 4), (4, 5))),
    ("a,ab,ab->b", ((1,), (3, 4), (3, 4))),
    (",ij->ij", ((), (2, 3))),
    ("ij,jk->ik", ((2, 0), (0, 3))),
]


@pytest.mark.parametrize(("notation", "shapes"), NETWORKS)
@pytest.mark.parametrize("order", [False, "auto"])
def test_conjugated_operands_give_the_same_as_conjugates(
    notation: str, shapes: tuple[tuple[int, ...], ...], order: Any
) -> None:
    arrays = [whole(seed, shape) for seed, shape in enumerate(shapes)]
    operands = [tr.asarray(array) for array in arrays]
    for conj in itertools.chain.from_iterable(
        itertools.combinations(range(len(arrays)), count) for count in range(len(arrays) + 1)
    ):
        first = [tr.conj(x) if number in conj else x for number, x in enumerate(operands)]
        found = einsum(notation, *operands, conj=conj, optimize=order)
        assert found.to_numpy().tolist() == einsum(notation, *first, optimize=order).to_numpy().tolist(), conj


@given(
    st.sampled_from(["complex64", "complex128"]),
    st.sampled_from(["float32", "complex128", "int64"]),
    st.permutations(range(3)),
    st.tuples(*[st.sampled_from([1, -1, 2])] * 3),
    st.tuples(*[st.integers(1, 9)] * 4),
    st.booleans(),
)
def test_every_layout_and_dtype_beside_it_may_be_conjugated(
    dtype: str, other: str, order: list[int], steps: tuple[int, ...], extents: tuple[int, ...], first: bool
) -> None:
    i, j, k, m = extents
    shape = (i, j, k)
    wide = tuple(shape[axis] * abs(steps[axis]) for axis in order)
    x = tr.permute_axes(tr.asarray(whole(1, wide, dtype)), tuple(np.argsort(order).tolist()))
    x = x[tuple(slice(None, None, step) for step in steps)]
    y = tr.asarray(whole(2, (k, j, m), other))
    expected = np.einsum("ijk,kjm->im", x.to_numpy().conj(), y.to_numpy())

    found = einsum("ijk,kjm->im", x, y, conj=0) if first else einsum("kjm,ijk->im", y, x, conj=1)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert found.to_numpy().dtype == expected.dtype


def test_conjugation_is_put_off_while_both_factors_have_it() -> None:
    shapes = [(2, 3), (3, 4), (4, 5)]
    both = plan("ij,jk,kl->il", *shapes, dtype="C64", conj=(0, 1), optimize=False)
    every = plan("ij,jk,kl->il", *shapes, dtype="C64", conj=(0, 1, 2), optimize=False)
    last = plan("ij,jk,kl->il", *shapes, dtype="C64", conj=-1, optimize=False)

    assert [step.kind for step in both.steps] == ["contract", "conj_contract"]
    assert [step.kind for step in every.steps] == ["contract", "contract", "conj"]
    assert [step.kind for step in last.steps] == ["contract", "conj_contract"]
    assert last.steps[-1].operands == (2, 3)  # the one that is read conjugated comes first
    assert last.conj == (2,)


def test_real_operands_are_their_own_conjugates() -> None:
    found = plan("ij,jk->ik", (2, 3), (3, 4), conj=(0, 1))
    assert found.conj == ()
    assert found is plan("ij,jk->ik", (2, 3), (3, 4))
    x = tr.tensor([1, 2])
    assert einsum("i,i->", x, x, conj=(0, 1)).item() == 5


def test_a_plan_of_real_operands_is_reused_without_conjugation() -> None:
    z, x = tr.tensor([1j, 2.0]), tr.tensor([1.0, 2.0])
    first = plan("i,i->", z, z, conj=0)

    assert first.reuse(z, z)(z, z).item() == 5.0
    assert first.reuse(z, x).conj == (0,)
    assert first.reuse(x, z).conj == ()
    assert first.reuse(x, x).reuse(z, z)(z, z).item() == 3.0


def test_a_plan_keeps_which_operands_are_conjugated() -> None:
    found = plan("ij,jk->ik", (2, 3), (3, 4), dtype="C64", conj=1)
    assert found != plan("ij,jk->ik", (2, 3), (3, 4), dtype="C64")
    for again in (Plan.from_json(found.to_json()), pickle.loads(pickle.dumps(found))):
        assert again == found
        assert again.conj == (1,)
        assert again.steps == found.steps


@pytest.mark.parametrize("conj", [2, (-3,), (0, 5)])
def test_positions_out_of_range_are_refused(conj: Any) -> None:
    x = tr.tensor([1j, 2])
    with pytest.raises(ArgumentError, match="accepted: positions of the 2 operands"):
        einsum("i,i->", x, x, conj=conj)


@pytest.mark.parametrize("conj", [True, (True, False), "0", 0.5, None])
def test_what_is_no_position_is_refused(conj: Any) -> None:
    x = tr.tensor([1j, 2])
    with pytest.raises(ArgumentError, match="conj"):
        einsum("i,i->", x, x, conj=conj)


def test_a_backend_without_the_kernel_conjugates_first() -> None:
    lacking = {"conj_contract": "this device multiplies what it is given"}
    device = SimulatedBackend(tr.backend("cpu"), "plain", lacking)
    tr.register_backend("plain", device)
    try:
        x, y = whole(1, (3, 4)), whole(2, (4, 5))
        a, b = (tr.to(tr.asarray(array), device.placement()) for array in (x, y))
        found = tr.to(einsum("ij,jk->ik", a, b, conj=0), "cpu")
        np.testing.assert_array_equal(found.to_numpy(), x.conj() @ y)
    finally:
        registry.unregister("plain")


def test_the_operands_are_left_as_they_are() -> None:
    x, y = whole(1, (300, 4)), whole(2, (4, 2))
    a, b = tr.asarray(x), tr.asarray(y)
    einsum("ij,jk->k", a, b, conj=0)
    einsum("ij,jk->k", a, b, conj=1)
    assert np.array_equal(a.to_numpy(), x)
    assert np.array_equal(b.to_numpy(), y)


def test_positions_may_be_numpys_integers_and_arrays_are_refused_in_words() -> None:
    z = tr.tensor([1.0 + 2.0j, 3.0j])

    assert einsum("i,i->", z, z, conj=np.int64(0)).item() == einsum("i,i->", z, z, conj=0).item()
    assert plan("i,i->", z, z, conj=np.int64(1)) == plan("i,i->", z, z, conj=1)
    with pytest.raises(tr.TensorError, match="conj"):
        einsum("i,i->", z, z, conj=np.array([0]))
