"""Trailing batch axes: the result for a batch is the result for each matrix, whatever view the operand is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations as permuted
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_linalg as tl
import tensor_runtime as tr

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64", "complex64", "complex128")
OPERATIONS: dict[str, Callable[[tr.Tensor], tuple[tr.Tensor, ...]]] = {
    "svd": tl.svd,
    "qr": tl.qr,
    "eigh": tl.eigh,
    "cholesky": lambda a: (tl.cholesky(a),),
    "solve": lambda a: (tl.solve(a, a),),
    "inv": lambda a: (tl.inv(a),),
    "det": lambda a: (tl.det(a),),
    "svdvals": lambda a: (tl.svdvals(a),),
    "eigvalsh": lambda a: (tl.eigvalsh(a),),
    "lu": tl.lu,
    "lu complete": lambda a: tl.lu(a, pivoting="complete"),
    "ldl": tl.ldl,
    "qr_pivoted": tl.qr_pivoted,
    "rq": lambda a: tl.rq(a, positive=True),
    "ql": lambda a: tl.ql(a, positive=True),
    "eig": tl.eig,
    "schur": tl.schur,
    "hessenberg": tl.hessenberg,
    "polar": tl.polar,
}
HERMITIAN = ("eigh", "cholesky", "eigvalsh", "ldl")
SQUARE = (*HERMITIAN, "solve", "inv", "det", "eig", "schur", "hessenberg")
VIEWS: dict[str, Callable[[Array], tuple[tr.Tensor, Array]]] = {
    "compact": lambda x: (tr.asarray(x, copy=True), x),
    "row-major": lambda x: (tr.asarray(np.ascontiguousarray(x)), x),
    "reversed": lambda x: (tr.asarray(x)[::-1, ::-1], x[::-1, ::-1]),
    "matrix axes exchanged": lambda x: (tr.permute_axes(tr.asarray(x.swapaxes(0, 1)), (1, 0, *range(2, x.ndim))), x),
    "all axes reversed": lambda x: (tr.asarray(x.T).T, x),
    "every second": lambda x: (tr.asarray(np.repeat(np.repeat(x, 2, 0), 2, -1))[::2, ..., ::2], x),
}


def matrices(operation: str, dtype: str, rows: int, columns: int, batch: tuple[int, ...]) -> Array:
    """Random matrices, Hermitian positive definite where the operation wants that."""
    rng = np.random.default_rng(rows + 10 * columns + 100 * len(batch))
    if operation in SQUARE:
        columns = rows
    x = rng.standard_normal((rows, columns, *batch)) + 1j * rng.standard_normal((rows, columns, *batch))
    if np.dtype(dtype).kind != "c":
        x = x.real
    if operation in HERMITIAN:
        x = np.einsum("ij...,kj...->ik...", x, x.conj())
    if operation in SQUARE:
        x = x + (rows * np.eye(rows)).reshape(rows, rows, *[1] * len(batch))
    return np.asfortranarray(x.astype(dtype))


def at(array: Array, batch: tuple[int, ...]) -> Array:
    """What belongs to one batch index."""
    index: tuple[Any, ...] = (..., *batch)
    return np.array(array[index])


def close(found: Array, expected: Array) -> bool:
    if expected.dtype.kind == "i":
        return bool((found == expected).all())
    unit = float(np.finfo(expected.dtype).eps)
    return bool(np.abs(found - expected).max(initial=0.0) <= 16 * unit * max(1.0, np.abs(expected).max(initial=0.0)))


@given(
    st.sampled_from(sorted(OPERATIONS)),
    st.sampled_from(DTYPES),
    st.integers(1, 5),
    st.integers(1, 5),
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
    st.sampled_from(sorted(VIEWS)),
)
def test_each_slice_of_a_batch_is_the_result_for_that_matrix(
    operation: str, dtype: str, rows: int, columns: int, batch: tuple[int, ...], view: str
) -> None:
    tensor, array = VIEWS[view](matrices(operation, dtype, rows, columns, batch))
    results = OPERATIONS[operation](tensor)

    assert tensor.to_numpy().tolist() == array.tolist()  # operands are never written to
    for result in results:
        assert result.shape[result.rank - len(batch) :] == batch
        assert result.layout.is_compact
    for index in product(*map(range, batch)):
        alone = OPERATIONS[operation](tr.asarray(at(array, index)))
        for whole, single in zip(results, alone, strict=True):
            part = at(whole.to_numpy(), index)
            assert part.dtype == single.to_numpy().dtype
            assert close(part, single.to_numpy())


@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_values_and_eigenvalues_agree_with_numpy(dtype: str) -> None:
    x = matrices("svd", dtype, 5, 3, (2, 4))
    h = matrices("eigh", dtype, 4, 4, (2, 4))
    s = tl.svd(tr.asarray(x)).s.to_numpy()
    w = tl.eigh(tr.asarray(h)).eigenvalues.to_numpy()

    for index in np.ndindex(2, 4):
        assert close(at(s, index), np.linalg.svd(at(x, index), compute_uv=False))
        assert close(at(w, index), np.linalg.eigvalsh(at(h, index)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_solve_and_cholesky_agree_with_numpy(dtype: str) -> None:
    a, b = matrices("solve", dtype, 4, 4, (3,)), matrices("svd", dtype, 4, 2, (3,))
    h = matrices("cholesky", dtype, 4, 4, (3,))
    x = tl.solve(tr.asarray(a), tr.asarray(b)).to_numpy()
    lower = tl.cholesky(tr.asarray(h)).to_numpy()

    for i in range(3):
        assert close(x[..., i], np.linalg.solve(a[..., i], b[..., i]))
        assert close(lower[..., i], np.linalg.cholesky(h[..., i]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_inverses_and_determinants_agree_with_numpy(dtype: str) -> None:
    a = matrices("inv", dtype, 4, 4, (2, 3))
    inverses, determinants = tl.inv(tr.asarray(a)).to_numpy(), tl.det(tr.asarray(a)).to_numpy()

    assert inverses.dtype == determinants.dtype == a.dtype
    assert determinants.shape == (2, 3)
    for index in np.ndindex(2, 3):
        assert close(at(inverses, index), np.linalg.inv(at(a, index)))
        assert close(at(determinants, index), np.linalg.det(at(a, index)))


def test_determinants_have_the_sign_of_the_permutation_and_vanish_for_singular_matrices() -> None:
    permutations = np.stack([np.eye(3)[list(p)] for p in permuted(range(3))], axis=-1)
    signs = [round(np.linalg.det(permutations[..., i])) for i in range(6)]

    assert sorted(signs) == [-1, -1, -1, 1, 1, 1]
    assert tl.det(tr.asarray(permutations)).to_numpy().tolist() == signs
    assert tl.det(tr.asarray(1j * permutations)).to_numpy().tolist() == pytest.approx([-1j * sign for sign in signs])
    assert tl.det(tr.ones((3, 3, 2))).to_numpy().tolist() == [0.0, 0.0]
    assert tl.det(tr.zeros((1, 1))).item() == 0.0


def test_the_determinant_of_a_matrix_without_elements_is_one_and_its_inverse_is_empty() -> None:
    for dtype in ("F32", "F64", "C32", "C64"):
        assert tl.det(tr.zeros((0, 0), dtype=dtype)).item() == 1.0
        assert tl.det(tr.zeros((0, 0, 2), dtype=dtype)).to_numpy().tolist() == [1.0, 1.0]
        assert tl.det(tr.zeros((3, 3, 0), dtype=dtype)).shape == (0,)
        assert tl.inv(tr.zeros((0, 0, 2), dtype=dtype)).shape == (0, 0, 2)


def test_a_determinant_is_found_though_products_of_its_pivots_overflow() -> None:
    huge = np.diag([1e200, 1e200, 1e-200, 1e-200])

    assert tl.det(tr.asarray(huge)).item() == pytest.approx(1.0)
    assert tl.det(tr.asarray(huge[::-1, ::-1].copy())).item() == pytest.approx(1.0)
    assert tl.det(tr.asarray(1j * huge)).item() == pytest.approx(1.0)
    assert tl.det(tr.asarray(np.diag([1e200, 1e200]))).item() == np.inf
    assert tl.det(tr.asarray(np.diag([1e-200, 1e-200]))).item() == 0.0


def test_results_are_named() -> None:
    a = tr.asarray(np.eye(2))

    assert tl.svd(a)._fields == ("u", "s", "vh")
    assert tl.qr(a)._fields == ("q", "r")
    assert tl.eigh(a)._fields == ("eigenvalues", "eigenvectors")


@pytest.mark.parametrize(("dtype", "real"), [("F32", "F32"), ("F64", "F64"), ("C32", "F32"), ("C64", "F64")])
def test_singular_values_and_eigenvalues_are_real(dtype: str, real: str) -> None:
    a = tr.eye(2, dtype=dtype)

    assert [part.dtype.name for part in tl.svd(a)] == [dtype, real, dtype]
    assert [part.dtype.name for part in tl.qr(a)] == [dtype, dtype]
    assert [part.dtype.name for part in tl.eigh(a)] == [real, dtype]
    assert tl.cholesky(a).dtype.name == dtype
    assert tl.solve(a, a).dtype.name == dtype
    assert tl.inv(a).dtype.name == dtype
    assert tl.det(a).dtype.name == dtype


def test_only_the_lower_triangle_and_the_real_diagonal_are_read() -> None:
    x = matrices("eigh", "complex128", 4, 4, (3,))
    mask = np.triu(np.ones((4, 4)), 1)[..., None]
    garbage = np.where(mask == 1, 77.0 - 5.0j, x) + 3.0j * np.eye(4)[..., None]
    clean, dirty = tr.asarray(x), tr.asarray(garbage)

    assert tl.eigh(dirty).eigenvalues.to_numpy().tolist() == tl.eigh(clean).eigenvalues.to_numpy().tolist()
    assert tl.cholesky(dirty).to_numpy().tolist() == tl.cholesky(clean).to_numpy().tolist()


def test_a_broadcast_view_is_an_operand_like_any_other() -> None:
    one = matrices("cholesky", "float64", 3, 3, (1,))
    many = tr.broadcast_to(tr.asarray(one), (3, 3, 4))

    factor = tl.cholesky(many)

    assert factor.shape == (3, 3, 4)
    assert factor.to_numpy().tolist() == np.broadcast_to(tl.cholesky(tr.asarray(one)).to_numpy(), (3, 3, 4)).tolist()


@given(
    st.sampled_from(
        [((), (3,)), ((3,), ()), ((2, 1), (1, 3)), ((3,), (2, 3)), ((2, 3), (3,)), ((1,), (0,)), ((), (2, 3))]
    )
)
def test_solve_broadcasts_batch_shapes_aligned_at_the_last_axis(
    batches: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    a, b = (matrices("solve", "float64", 3, 3, batches[0]), matrices("svd", "float64", 3, 2, batches[1]))
    x = tl.solve(tr.asarray(a), tr.asarray(b)).to_numpy()
    common = np.broadcast_shapes(*batches)
    assert x.shape == (3, 2, *common)

    def part(array: Array, index: tuple[int, ...]) -> Array:
        own = array.shape[2:]
        return at(array, tuple(0 if n == 1 else i for i, n in zip(index[len(common) - len(own) :], own, strict=True)))

    for index in np.ndindex(common):
        assert close(part(x, index), np.linalg.solve(part(a, index), part(b, index)))


def test_solve_takes_a_vector_for_a_single_matrix() -> None:
    a = tr.tensor([[2.0, 1.0], [0.0, 4.0]])

    assert tl.solve(a, tr.tensor([4.0, 8.0])).to_numpy().tolist() == [1.0, 2.0]
    assert tl.solve(a, tr.tensor([8.0, 4.0])[::-1]).to_numpy().tolist() == [1.0, 2.0]


def test_solve_promotes_its_operands() -> None:
    a, b = tr.eye(2, dtype="F32"), tr.asarray(np.array([1j, 2.0], "complex64"))

    assert tl.solve(a, b).dtype.name == "C32"
    assert tl.solve(tr.eye(2), b).dtype.name == "C64"
    assert tl.solve(a, b).to_numpy().tolist() == [1j, 2.0]


def test_results_beyond_the_range_of_the_dtype_are_infinite_and_warn_nobody() -> None:
    a = tr.asarray(np.array([[1e-30]], "float32"))

    with np.errstate(all="raise"):
        assert tl.solve(a, tr.asarray(np.array([1e30], "float32"))).to_numpy().tolist() == [np.inf]


@pytest.mark.parametrize("side", [5, 11, 17, 33])
@pytest.mark.parametrize("is_complex", [False, True])
def test_a_matrix_has_the_same_bits_and_signs_of_zeros_in_every_place_of_a_batch(side: int, is_complex: bool) -> None:
    rng = np.random.default_rng(side)
    x = rng.standard_normal((side, side, 19)) + (1j * rng.standard_normal((side, side, 19)) if is_complex else 0)
    x[:, 1, ::2], x[0, :, ::3] = 2 * x[:, 0, ::2], 0  # some have singular values of 0
    order = rng.permutation(19)
    for function, a in ((tl.svd, x), (tl.qr, x), (tl.eigh, x + np.conj(np.swapaxes(x, 0, 1)))):
        here = function(tr.asarray(np.asfortranarray(a)))
        there = function(tr.asarray(np.asfortranarray(a[..., order])))
        for one, other in zip(here, there, strict=True):
            moved = one.to_numpy()[..., order]
            assert moved.tobytes("C") == other.to_numpy().tobytes("C"), function.__name__


def test_columns_without_a_direction_of_their_own_get_one_that_no_place_decides() -> None:
    a = np.zeros((5, 2, 4))
    a[0, 0] = 1.0
    a[:, :, 1] = np.random.default_rng(0).standard_normal((5, 2))
    whole = tl.qr(tr.asarray(np.asfortranarray(a)))
    columns = whole.q[:, :1]  # lies in the space of what is there
    order = [3, 1, 0, 2]
    q, r = (one.to_numpy() for one in tl.qr_append(*whole, columns))
    moved = [tr.asarray(np.asfortranarray(one.to_numpy()[..., order])) for one in (*whole, columns)]
    other_q, other_r = (one.to_numpy() for one in tl.qr_append(*moved))
    assert other_q.tobytes() == q[..., order].tobytes()
    assert other_r.tobytes() == r[..., order].tobytes()


@pytest.mark.parametrize("rank", [32, 34, 60])
def test_factors_of_many_batch_axes_solve_systems(rank: int) -> None:
    batch = (1,) * (rank - 3)
    a = np.array([[0.0, 2.0], [4.0, 0.0]])[..., None] * [1.0, 2.0]
    factors = tl.lu_factor(tr.asarray(a.reshape(2, 2, 2, *batch)))
    found = tl.lu_solve(factors, tr.asarray(np.array([[8.0], [16.0]])[..., None].repeat(2, 2).reshape(2, 1, 2, *batch)))
    assert found.to_numpy().reshape(2, 2).tolist() == [[4.0, 2.0], [4.0, 2.0]]
