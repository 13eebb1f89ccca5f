"""Determinants by logarithms, norms, ranks, powers and arrangements beside NumPy's and SciPy's."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ArgumentError, ShapeError, UnsupportedOperationError, promote
from tensor_linalg.functions import powers
from tensor_linalg.functions.powers import cheapest_split

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64", "complex64", "complex128")


def numbers(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else 0)
    return x.astype(dtype)


def leading(x: Array, core: int = 2) -> Array:
    return np.moveaxis(x, range(core), range(-core, 0))


def close(found: tr.Tensor, expected: Any, units: float = 50.0) -> bool:
    array, wanted = found.to_numpy(), np.asarray(expected)
    assert array.dtype == wanted.dtype
    assert array.shape == wanted.shape
    unit = float(np.finfo(wanted.dtype).eps)
    return bool(np.abs(array - wanted).max(initial=0.0) <= units * unit * max(1.0, np.abs(wanted).max(initial=0.0)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (3, 3, 5), (1, 1, 2, 2), (0, 0), (2, 2, 0)])
def test_signs_and_logarithms_of_determinants_are_numpys(dtype: str, shape: tuple[int, ...]) -> None:
    a = numbers(shape, dtype)
    sign, logarithm = tl.slogdet(tr.asarray(a))
    expected = np.linalg.slogdet(leading(a))

    assert close(sign, expected.sign)
    assert close(logarithm, expected.logabsdet)


def test_a_logarithm_of_a_determinant_neither_overflows_nor_underflows() -> None:
    sizes = np.array([1e-200, 1e200])
    found = tl.slogdet(tr.asarray(-np.eye(7)[..., None] * sizes))

    assert found.sign.to_numpy().tolist() == [-1.0, -1.0]
    assert np.allclose(found.logabsdet.to_numpy(), 7 * np.log(sizes), rtol=1e-15)
    singular = tl.slogdet(tr.zeros((3, 3)))
    assert (singular.sign.item(), singular.logabsdet.item()) == (0.0, -np.inf)


def test_a_rule_finds_signs_and_logarithms_as_the_kernel_does() -> None:
    from tensor_linalg.contracts import CheckParams
    from tensor_linalg.rules.lower.functions import slogdet

    for dtype in DTYPES:
        a = tr.asarray(numbers((4, 4, 6), dtype))
        for found, expected in zip(slogdet(a, CheckParams(True)), tl.slogdet(a), strict=True):
            assert close(found, expected.to_numpy())
    sign, logarithm = slogdet(tr.zeros((2, 2)), CheckParams(True))
    assert (sign.item(), logarithm.item()) == (0.0, -np.inf)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4, 2), (1, 1), (2, 2, 2, 2)])
def test_a_matrix_norm_is_numpys(dtype: str, order: Any, shape: tuple[int, ...]) -> None:
    a = numbers(shape, dtype)
    expected = np.asarray(np.linalg.norm(leading(a), order, axis=(-2, -1)))
    tensor = tr.asarray(a)

    assert close(tl.matrix_norm(tensor, order), expected)
    assert tl.norm(tensor, order).to_numpy().tolist() == tl.matrix_norm(tensor, order).to_numpy().tolist()


def test_norms_do_not_overflow_and_know_matrices_without_elements() -> None:
    large = tr.asarray(np.full((2, 2), 1e300))
    assert np.isclose(tl.norm(large).item(), 2e300)
    assert np.isclose(tl.norm(large, 2).item(), 2e300)
    assert tl.vector_norm(tr.asarray(np.full(4, 1e-300))).item() == pytest.approx(2e-300)
    empty = tr.zeros((0, 3, 2), dtype="F32")
    for order in ("fro", "nuc", 1, 2, np.inf):
        assert tl.matrix_norm(empty, order).to_numpy().tolist() == [0.0, 0.0]
    for order in (-1, -2, -np.inf):
        assert tl.matrix_norm(empty, order).to_numpy().tolist() == [np.inf, np.inf]
    for wrong in (0, 3, "l2", True, None, np.nan):
        with pytest.raises(ArgumentError, match="matrix_norm: ord is"):
            tl.matrix_norm(large, wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="norm: ord is 'fro' for a vector"):
        tl.norm(tr.ones(3), "fro")
    with pytest.raises(tl.NonFiniteError, match=r"^norm: operand a holds nan"):
        tl.norm(tr.asarray(np.full((2, 2), np.nan)), "nuc")


@pytest.mark.parametrize("dtype", DTYPES)
def test_ranks_ranges_and_null_spaces_are_those_of_the_matrix(dtype: str) -> None:
    for rows, columns, rank in ((5, 4, 2), (4, 5, 3), (3, 6, 0), (4, 4, 4)):
        a = (numbers((rows, rank), dtype) @ numbers((rank, columns), dtype, seed=1)).astype(dtype)
        tensor = tr.asarray(a)
        q, z = tl.orth(tensor).to_numpy(), tl.null_space(tensor).to_numpy()
        unit = 100 * np.finfo(dtype).eps

        assert tl.matrix_rank(tensor).item() == rank
        assert q.shape == (rows, rank)
        assert z.shape == (columns, columns - rank)
        assert np.abs(q @ (q.conj().T @ a) - a).max() <= unit * max(1, np.abs(a).max())
        assert np.abs(z.conj().T @ z - np.eye(columns - rank)).max(initial=0) <= unit
        assert np.abs(a @ z).max(initial=0) <= unit * max(1, np.abs(a).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 2), (2, 9), (3, 5), (3, 70)])
@pytest.mark.parametrize("rtol", [None, 0.0, 1e-300])
def test_a_wide_matrix_keeps_its_null_space_at_any_tolerance(
    dtype: str, shape: tuple[int, int], rtol: float | None
) -> None:
    a = numbers(shape, dtype)
    tensor = tr.asarray(a)
    z = tl.null_space(tensor, rtol=rtol).to_numpy()
    both = np.hstack([tl.orth(tl.mH(tensor), rtol=rtol).to_numpy(), z])
    unit = 100 * np.finfo(dtype).eps

    assert z.shape == (shape[1], shape[1] - shape[0])
    assert np.abs(a @ z).max() <= unit * np.abs(a).max()
    assert np.abs(both.conj().T @ both - np.eye(shape[1])).max() <= unit


def test_a_null_space_is_that_of_one_matrix() -> None:
    assert tl.null_space(tr.zeros((2, 3)), rtol=0.0).shape == (3, 3)
    with pytest.raises(ShapeError, match=r"null_space: operand of shape \(2, 9, 4\); accepted: one matrix"):
        tl.null_space(tr.ones((2, 9, 4)), rtol=0.0)


def test_ranks_of_a_batch_are_counted_by_each_matrixs_own_tolerance() -> None:
    a = np.stack([np.diag([1.0, -1e-3, 1e-6])] * 3, -1)
    tensor = tr.asarray(a)

    assert tl.matrix_rank(tensor, rtol=tr.tensor([1e-1, 1e-4, 0.0])).to_numpy().tolist() == [1, 2, 3]
    assert tl.matrix_rank(tensor, rtol=1e-4, hermitian=True).to_numpy().tolist() == [2, 2, 2]
    assert tl.matrix_rank(tr.zeros((3, 0, 2))).to_numpy().tolist() == [0, 0]
    assert tl.null_space(tr.zeros((0, 2))).to_numpy().tolist() == np.eye(2).tolist()
    with pytest.raises(ShapeError, match="one matrix"):
        tl.orth(tensor)
    with pytest.raises(UnsupportedOperationError):
        tr.infer(tl.orth, (tr.F64, (3, 3)))


@pytest.mark.parametrize("dtype", [*DTYPES, "int64"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, -1, -3])
def test_a_matrix_power_is_numpys(dtype: str, n: int) -> None:
    a = np.rint(3 * numbers((3, 3, 2), dtype if dtype != "int64" else "float64")).astype(dtype)
    a = a + (5 * np.eye(3)[..., None]).astype(dtype)
    if dtype == "int64" and n < 0:
        with pytest.raises(tr.TensorError, match="matrix_power: operand is I64"):
            tl.matrix_power(tr.asarray(a), n)
        return
    expected = np.ascontiguousarray(np.moveaxis(np.linalg.matrix_power(leading(a), n), (-2, -1), (0, 1)))
    if dtype == "int64":
        assert tl.matrix_power(tr.asarray(a), n).to_numpy().tolist() == expected.tolist()
    else:
        assert close(tl.matrix_power(tr.asarray(a), n), expected, 200)


def brute_force(extents: tuple[int, ...]) -> int:
    """Fewest multiplications by trying every order."""
    if len(extents) <= 2:
        return 0
    return min(
        brute_force(extents[: k + 1]) + brute_force(extents[k:]) + extents[0] * extents[k] * extents[-1]
        for k in range(1, len(extents) - 1)
    )


@given(st.lists(st.integers(0, 9), min_size=3, max_size=7).map(tuple))
@settings(max_examples=50)
def test_a_chain_is_cut_where_it_costs_least(extents: tuple[int, ...]) -> None:
    parts = cheapest_split(extents)

    def cost(start: int, stop: int) -> int:
        if stop - start == 1:
            return 0
        cut = parts[start, stop]
        return cost(start, cut) + cost(cut, stop) + extents[start] * extents[cut] * extents[stop]

    assert cost(0, len(extents) - 1) == brute_force(extents)


@given(st.lists(st.integers(0, 40), min_size=5, max_size=12).map(tuple))
@settings(max_examples=50)
def test_a_long_chain_costs_at_most_a_quarter_more_than_the_least(extents: tuple[int, ...]) -> None:
    shapes = tuple(pairwise(extents))
    exact = powers._chain_of.__wrapped__(shapes).steps
    with pytest.MonkeyPatch.context() as context:
        context.setattr(powers, "_MOST_EXACT", 2)
        found = powers._chain_of.__wrapped__(shapes).steps

    def cost(steps: tuple[tuple[int, int], ...]) -> int:
        known, total = list(shapes), 0
        for left, right in steps:
            assert known[left][1] == known[right][0]
            total += known[left][0] * known[left][1] * known[right][1]
            known.append((known[left][0], known[right][1]))
        assert len(steps) == len(shapes) - 1 and known[-1] == (extents[0], extents[-1])
        return total

    assert 4 * cost(found) <= 5 * cost(exact)


def test_thousands_of_matrices_are_multiplied() -> None:
    rotation = np.array([[0.0, -1.0], [1.0, 0.0]])
    found = tl.multi_dot([tr.asarray(rotation)] * 2001)
    np.testing.assert_array_equal(found.to_numpy(), rotation)
    sides = [1 + k % 3 for k in range(1202)]
    chain = [np.eye(*pair) for pair in pairwise(sides)]
    product = reduce(np.matmul, chain)
    np.testing.assert_array_equal(tl.multi_dot([tr.asarray(one) for one in chain]).to_numpy(), product)


def test_several_products_are_numpys_and_take_vectors_at_the_ends() -> None:
    sides = (2, 7, 3, 5, 1)
    chain = [numbers(pair) for pair in pairwise(sides)]
    tensors = [tr.asarray(one) for one in chain]
    x, y = numbers((2,)), numbers((5,))

    assert close(tl.multi_dot(tensors), np.linalg.multi_dot(chain))
    assert close(tl.multi_dot([tr.asarray(x), *tensors[:3]]), x @ chain[0] @ chain[1] @ chain[2])
    assert close(tl.multi_dot([tr.asarray(x), *tensors[:3], tr.asarray(y)]), x @ chain[0] @ chain[1] @ chain[2] @ y)
    batched = numbers((2, 3, 4))
    found = tl.multi_dot([tr.asarray(batched), tr.ones((3, 2)), tr.ones((2, 1))])
    assert close(found, np.einsum("ikb,kj,jl->ilb", batched, np.ones((3, 2)), np.ones((2, 1))))
    with pytest.raises(ArgumentError, match="1 matrices"):
        tl.multi_dot(tensors[:1])
    with pytest.raises(ShapeError, match=r"matrices 1 and 2 of shapes \(7, 3\) and \(2, 7\) do not fit"):
        tl.multi_dot([*tensors[:2], tensors[0]])


@pytest.mark.parametrize("sides", [(1, 9, 1, 9), (1, 9, 9, 1), (9, 1, 9, 1), (2, 3, 2, 5)])
@pytest.mark.parametrize(
    "dtypes",
    [("bool", "bool", "int64"), ("int32", "int32", "float64"), ("int32", "int32", "int64"), ("bool", "bool", "int32"),
     ("int32", "int32", "complex64"), ("complex64", "int32", "int32"), ("float32", "float32", "float64"),
     ("complex64", "float64", "float32"), ("int64", "bool", "bool"), ("int32", "int32", "int32")],
)  # fmt: skip
def test_factors_of_several_dtypes_are_promoted_before_they_are_multiplied(
    sides: tuple[int, ...], dtypes: tuple[str, ...]
) -> None:
    chain, exact = [], np.eye(sides[0], dtype=object)
    for pair, dtype in zip(pairwise(sides), dtypes, strict=True):
        large = {"bool": 1, "int32": 2**20 - 1 if len(set(dtypes)) > 1 else 7}.get(dtype, 3)
        chain.append(np.full(pair, large).astype(dtype))
        exact = exact @ np.full(pair, large, dtype=object)
    found = tl.multi_dot([tr.asarray(one) for one in chain])
    assert found.dtype is promote(*[tr.asarray(one).dtype for one in chain])
    assert [[int(x.real) for x in row] for row in found.to_numpy()] == exact.tolist()


@pytest.mark.parametrize("dtype", [*DTYPES, "int32"])
def test_arrangements_of_matrices_are_numpys_for_each_batch_index(dtype: str) -> None:
    a, b = (10 * numbers((2, 3, 4))).astype(dtype), (10 * numbers((3, 2, 4), seed=1)).astype(dtype)
    x, y = a[0], (10 * numbers((3, 1))).astype(dtype)
    ta, tb, tx = tr.asarray(a), tr.asarray(b), tr.asarray(x)

    for k in range(4):
        assert np.array_equal(tl.kron(ta, tb).to_numpy()[..., k], np.kron(a[..., k], b[..., k]))
        expected = scipy.linalg.block_diag(a[..., k], b[..., k], a[..., 0])
        assert np.array_equal(tl.block_diag(ta, tb, ta[..., 0]).to_numpy()[..., k], expected)
        assert np.allclose(tl.cross(tx, tr.asarray(y)).to_numpy()[:, k], np.cross(x[:, k], y[:, 0]), rtol=1e-5)
        assert np.allclose(tl.vander(tx, 4).to_numpy()[..., k], np.vander(x[:, k], 4), rtol=1e-5)
        for offset in (0, 1, -1, 3, -5):
            assert np.array_equal(tl.diagonal(ta, offset).to_numpy()[:, k], np.diagonal(a[..., k], offset))
            assert np.isclose(tl.trace(ta, offset).to_numpy()[k], np.trace(a[..., k], offset), rtol=1e-5)
    assert tl.vander(tx, 0).shape == (3, 0, 4)


def test_arrangements_refuse_what_does_not_fit() -> None:
    with pytest.raises(ArgumentError, match="block_diag: no matrices"):
        tl.block_diag()
    with pytest.raises(ShapeError, match="batch shapes"):
        tl.kron(tr.ones((1, 1, 2)), tr.ones((1, 1, 3)))
    with pytest.raises(ShapeError, match=r"cross: operand of shape \(2,\)"):
        tl.cross(tr.ones(2), tr.ones(2))
    with pytest.raises(ArgumentError, match="vander: n is -1"):
        tl.vander(tr.ones(2), -1)
    assert tl.block_diag(tr.ones((0, 2)), tr.ones((1, 0))).to_numpy().tolist() == [[0.0, 0.0]]
