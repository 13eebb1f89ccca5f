"""Decompositions with pivots and of any square matrix, beside SciPy's and by what they promise."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_linalg.solving import factored
from tensor_runtime.backends.bindings import binding_cache

Array = np.ndarray[Any, np.dtype[Any]]
EACH_DTYPE = pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
SHAPES = ((4, 4), (5, 3), (3, 5), (1, 1), (4, 3, 2), (2, 3, 2, 2), (0, 3), (3, 0), (2, 2, 0))
SQUARE = ((4, 4), (1, 1), (3, 3, 2), (2, 2, 2, 2), (0, 0), (2, 2, 0))


def numbers(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    rng = np.random.default_rng([seed, *shape])
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return np.asarray((x if "complex" in dtype else x.real).astype(dtype))


def views(x: Array) -> list[tr.Tensor]:
    """The same matrices as a compact tensor, reversed twice, and with every second element of a larger one."""
    wide = np.repeat(np.repeat(x, 2, 0), 2, 1)
    return [tr.asarray(x, copy=True), tr.asarray(x[::-1, ::-1])[::-1, ::-1], tr.asarray(wide)[::2, ::2]]


def product(*factors: Array) -> Array:
    """Of matrices [M, N, B...], in binary64."""
    found = factors[0].astype(np.result_type(factors[0].dtype, np.float64))
    for factor in factors[1:]:
        found = np.einsum("ij...,jk...->ik...", found, factor)
    return found


def adjoint(x: Array) -> Array:
    return x.swapaxes(0, 1).conj()


def near(found: Array, expected: Array, dtype: str, times: float = 50.0) -> bool:
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    bound = times * float(np.finfo(dtype).eps) * scale
    return found.shape == expected.shape and bool((np.abs(found - expected) <= bound).all())


def identities(shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(np.eye(shape[0]).reshape(shape[0], shape[0], *[1] * (len(shape) - 2)), shape)


def arrays(found: tuple[tr.Tensor, ...]) -> list[Array]:
    assert all(part.is_compact for part in found)
    return [part.to_numpy() for part in found]


@EACH_DTYPE
def test_lu_reorders_rows_and_its_factors_are_triangles(dtype: str) -> None:
    for shape in SHAPES:
        x = numbers(dtype, shape)
        for view in views(x):
            permutation, lower, upper = arrays(tl.lu(view))
            reordered = np.take_along_axis(x, permutation[:, None], 0)

            assert near(product(lower, upper), reordered, dtype)
            assert (np.moveaxis(np.triu(np.moveaxis(lower, (0, 1), (-2, -1)), 1), (-2, -1), (0, 1)) == 0).all()
            assert (np.abs(lower.real) + np.abs(lower.imag) <= 2).all()
            assert np.iscomplexobj(x) or (np.abs(lower) <= 1).all()
            assert sorted({*permutation.ravel().tolist()}) == (list(range(shape[0])) if permutation.size else [])


@EACH_DTYPE
def test_lu_gives_scipys_factors_one_by_one_and_for_many_at_once(dtype: str) -> None:
    for count in (2, 60):  # by LAPACK, and by elimination of all
        x = numbers(dtype, (4, 3, count))
        permutation, lower, upper = arrays(tl.lu(tr.asarray(x)))
        for k in range(count):
            p, expected_lower, expected_upper = sl.lu(x[..., k].astype(np.result_type(dtype, np.float64)))
            assert near(lower[..., k], expected_lower, dtype)
            assert near(upper[..., k], expected_upper, dtype)
            assert (p[permutation[:, k]] == np.eye(4)).all()


@EACH_DTYPE
def test_complete_pivoting_reorders_rows_and_columns_and_its_pivots_do_not_grow(dtype: str) -> None:
    for shape in SHAPES:
        x = numbers(dtype, shape)
        rows, columns, lower, upper = arrays(tl.lu(tr.asarray(x), pivoting="complete"))
        reordered = np.take_along_axis(np.take_along_axis(x, rows[:, None], 0), columns[None], 1)

        assert near(product(lower, upper), reordered, dtype)
        assert (np.abs(upper) <= np.abs(np.einsum("ii...->i...", upper[:, : len(upper)]))[:, None] * (1 + 1e-5)).all()


def test_complete_pivoting_shows_the_rank() -> None:
    x = numbers("float64", (6, 2)) @ numbers("float64", (2, 5))
    upper = tl.lu(tr.asarray(x), pivoting="complete").u.to_numpy()

    assert (np.abs(np.diagonal(upper)) > 1e-13).tolist() == [True, True, False, False, False]


@EACH_DTYPE
@pytest.mark.parametrize(("transpose", "conjugate"), [(False, False), (True, False), (False, True), (True, True)])
def test_lu_solve_solves_with_the_matrix_its_transpose_and_conjugate(
    dtype: str, transpose: bool, conjugate: bool
) -> None:
    x, b = numbers(dtype, (4, 4, 3, 1)) + 4 * np.eye(4, dtype=dtype)[..., None, None], numbers(dtype, (4, 2, 5))
    factors = tl.lu_factor(tr.asarray(x))
    found = tl.lu_solve(factors, tr.asarray(b), transpose=transpose, conjugate=conjugate).to_numpy()
    matrix = x.swapaxes(0, 1) if transpose else x
    matrix = matrix.conj() if conjugate else matrix

    assert found.dtype == dtype
    assert near(product(matrix, found), np.broadcast_to(b[:, :, None], (4, 2, 3, 5)), dtype)


def test_lu_solve_of_a_vector_and_of_nothing() -> None:
    factors = tl.lu_factor(tr.tensor([[0.0, 2.0], [4.0, 0.0]]))

    assert tl.lu_solve(factors, tr.tensor([2.0, 8.0])).to_numpy().tolist() == [2.0, 1.0]
    assert tl.lu_solve(factors, tr.zeros((2, 0))).shape == (2, 0)
    assert tl.lu_solve(tl.lu_factor(tr.zeros((2, 2, 0))), tr.zeros((2, 1))).shape == (2, 1, 0)


def test_lu_solve_names_the_matrix_with_a_pivot_of_zero_unless_it_does_not_look() -> None:
    x = np.zeros((2, 2, 2, 3)) + np.eye(2)[..., None, None]
    x[:, :, 1, 2] = 0
    factors = tl.lu_factor(tr.asarray(x))

    with pytest.raises(
        tl.SingularMatrixError, match=r"lu_solve: the matrix at batch index \(1, 2\) is exactly"
    ) as info:
        tl.lu_solve(factors, tr.ones((2, 1)))
    assert info.value.batch_index == (1, 2)
    unchecked = tl.lu_solve(factors, tr.ones((2, 1)), check=False).to_numpy()
    assert not np.isfinite(unchecked[..., 1, 2]).any()
    assert (unchecked[..., 0, 0] == 1).all()


@pytest.mark.parametrize("options", [{}, {"transpose": True}, {"overwrite": True}], ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_lu_solve_names_what_is_not_finite_unless_it_does_not_look(options: dict[str, Any], value: float) -> None:
    factors, b = tl.lu_factor(tr.asarray(identities((3, 3, 4)) * 2)), np.ones((3, 2, 4))
    b[2, 1, 3] = value
    with pytest.raises(tl.NonFiniteError, match=r"lu_solve: operand b holds .* at element \(2, 1\) of the") as info:
        tl.lu_solve(factors, tr.tensor(b), **options)
    assert (info.value.operand, info.value.element_index, info.value.batch_index) == ("b", (2, 1), (3,))
    with pytest.raises(tl.NonFiniteError, match=r"lu_solve: operand b holds .* at element \(1,\); accepted"):
        tl.lu_solve(tl.lu_factor(tr.eye(2)), tr.tensor([1.0, value]), **options)
    lu = factors.lu.to_numpy().copy()
    lu[0, 0, 1] = value
    broken = tl.LUFactors(tr.asarray(lu), factors.permutation)
    with pytest.raises(tl.NonFiniteError, match=r"lu_solve: operand lu holds .* at element \(0, 0\) of the") as info:
        tl.lu_solve(broken, tr.tensor(b), **options)
    assert (info.value.operand, info.value.element_index, info.value.batch_index) == ("lu", (0, 0), (1,))

    assert tl.lu_solve(broken, tr.tensor(b), check="mask").status.to_numpy().tolist() == [0, 1, 0, 1]
    unchecked = tl.lu_solve(broken, tr.tensor(b), check=False, **options).to_numpy()
    assert (unchecked[..., [0, 2]] == 0.5).all()
    assert not np.isfinite(unchecked[2, 1, 3])


@pytest.mark.parametrize("transpose", [False, True])
def test_lu_solve_looks_at_factors_while_it_reads_them(monkeypatch: pytest.MonkeyPatch, transpose: bool) -> None:
    a = np.array([[1.0, 2.0, 0.0], [4.0, 0.0, 0.0], [0.0, 1.0, 2.0]])
    x = np.array([[1.0, -2.0], [3.0, 0.0], [-1.0, 4.0]])
    factors, b = tl.lu_factor(tr.asarray(a)), tr.asarray((a.T if transpose else a) @ x)

    def refused(*_: Any) -> None:
        raise AssertionError("another look at every element")

    for name in ("require_finite", "require_regular", "take_along_axis"):
        monkeypatch.setattr(factored, name, refused)
    assert tl.lu_solve(factors, b, transpose=transpose).to_numpy().tolist() == x.tolist()
    assert tl.lu_solve(factors, b[:, 0], transpose=transpose).to_numpy().tolist() == x[:, 0].tolist()


def test_lu_solve_goes_on_with_what_is_beyond_the_range_on_the_way() -> None:
    factors = tl.LUFactors(tr.tensor([[1.0, 0.0], [1e200, 1e200]]), tr.tensor([0, 1]))
    assert tl.lu_solve(factors, tr.tensor([1e200, 1.0]))[1].item() == -np.inf


def test_lu_solve_refuses_factors_that_do_not_belong_together() -> None:
    factors = tl.lu_factor(tr.ones((2, 2)))
    with pytest.raises(ShapeError, match="lu_solve: lu of shape"):
        tl.lu_solve(tl.LUFactors(factors.lu, tr.tensor([0, 1, 2])), tr.ones((2, 1)))
    with pytest.raises(DTypeError, match="lu_solve: operand b is I64"):
        tl.lu_solve(factors, tr.tensor([1, 2]))
    with pytest.raises(DTypeError, match="lu_solve: the permutation is F64; accepted: I32 and I64"):
        tl.lu_solve(tl.LUFactors(factors.lu, tr.tensor([0.0, 1.0])), tr.ones((2, 1)))
    with pytest.raises(ArgumentError, match="lu: pivoting is 'rook'"):
        tl.lu(tr.ones((2, 2)), pivoting="rook")  # type: ignore[call-overload]


@EACH_DTYPE
def test_ldl_reads_the_lower_triangle_and_gives_blocks_of_at_most_two(dtype: str) -> None:
    for shape in SQUARE:
        x = numbers(dtype, shape)
        x[(np.arange(shape[0]),) * 2] *= 0.01  # so that some pivots are blocks of two
        lower, d, order = arrays(tl.ldl(tr.asarray(x)))
        below = np.moveaxis(np.tril(np.moveaxis(x, (0, 1), (-2, -1)), -1), (-2, -1), (0, 1))
        full = below + adjoint(below) + identities(shape) * x.real
        reordered = np.take_along_axis(np.take_along_axis(full, order[:, None], 0), order[None], 1)

        assert near(product(lower, d, adjoint(lower)), reordered, dtype)
        assert (d == adjoint(d)).all()
        if len(shape) == 2 and shape[0] > 2:
            beside = np.diagonal(d, -1) != 0
            assert not (beside[1:] & beside[:-1]).any()
            assert (np.tril(d, -2) == 0).all()


@EACH_DTYPE
@pytest.mark.parametrize("size", [7, 33, 65, 130])
def test_ldl_goes_on_where_what_is_left_is_exactly_zero(dtype: str, size: int) -> None:
    rng = np.random.default_rng(1)
    for rank in (0, 1, 3):
        root = rng.integers(-2, 3, (size, rank)).astype(dtype)
        for x in (root @ root.T, np.kron(np.eye(size // 3 + 1), np.ones((3, 3)))[:size, :size].astype(dtype)):
            lower, d, order = arrays(tl.ldl(tr.asarray(x)))

            assert near(product(lower, d, adjoint(lower)), x[np.ix_(order, order)], dtype, times=50.0 * size)


def test_ldl_of_an_indefinite_matrix_has_its_inertia_and_scipys_blocks() -> None:
    x = numbers("complex128", (5, 5))
    x = x + x.conj().T
    lower, d, order = arrays(tl.ldl(tr.asarray(x)))
    expected_lower, expected_d, expected_order = sl.ldl(x, lower=True)

    assert near(d, expected_d, "float64")
    assert order.tolist() == expected_order.tolist()
    assert near(lower, expected_lower[expected_order], "float64")
    assert (np.linalg.eigvalsh(d) < 0).sum() == (np.linalg.eigvalsh(x) < 0).sum()


@EACH_DTYPE
def test_pivoted_qr_takes_the_longest_column_first(dtype: str) -> None:
    for shape in SHAPES:
        x = numbers(dtype, shape)
        for view in views(x):
            q, r, order, rank = arrays(tl.qr_pivoted(view))
            diagonal = np.abs(np.einsum("ii...->i...", r[:, : len(r)]))

            assert near(product(q, r), np.take_along_axis(x, order[None], 1), dtype)
            assert near(product(adjoint(q), q), identities((q.shape[1], *q.shape[1:])), dtype)
            assert (diagonal[1:] <= diagonal[:-1] * (1 + 1e-5)).all()
            assert (rank == min(shape[:2])).all()
            assert rank.shape == shape[2:]


def test_pivoted_qr_tells_the_rank_of_each_matrix_and_takes_a_tolerance() -> None:
    x = np.stack([np.diag([3.0, 1.0, 1e-3]), np.ones((3, 3)), np.zeros((3, 3))], axis=-1)
    assert tl.qr_pivoted(tr.asarray(x)).rank.to_numpy().tolist() == [3, 1, 0]
    assert tl.qr_pivoted(tr.asarray(x), rtol=0.01).rank.to_numpy().tolist() == [2, 1, 0]
    for rtol in (-1, np.nan, True, "0"):
        with pytest.raises(ArgumentError, match="qr_pivoted: rtol is"):
            tl.qr_pivoted(tr.asarray(x), rtol=rtol)  # type: ignore[arg-type]


@EACH_DTYPE
def test_eig_satisfies_its_equation_with_columns_of_norm_one(dtype: str) -> None:
    for shape in SQUARE:
        x = numbers(dtype, shape)
        for view in views(x):
            w, v = arrays(tl.eig(view))
            values = tl.eigvals(view).to_numpy()

            assert w.dtype == v.dtype == values.dtype == np.result_type(dtype, np.complex64)
            assert near(product(x, v), v * w[None], dtype)
            assert near(np.sqrt((np.abs(v) ** 2).sum(0)), np.ones(w.shape), dtype)
            order, other = (
                np.argsort(w.real + 1e-3 * w.imag, axis=0),
                np.argsort(values.real + 1e-3 * values.imag, axis=0),
            )
            assert near(np.take_along_axis(values, other, 0), np.take_along_axis(w, order, 0), dtype, 500)


@EACH_DTYPE
@pytest.mark.parametrize("form", ["real", "complex"])
def test_schur_gives_a_triangle_or_one_with_blocks_of_two(dtype: str, form: str) -> None:
    for shape in SQUARE:
        x = numbers(dtype, shape)
        t, z = arrays(tl.schur(tr.asarray(x), form=form))
        is_complex = form == "complex" or "complex" in dtype

        assert np.iscomplexobj(t) == is_complex
        assert near(product(z, t, adjoint(z)), x, dtype)
        assert near(product(adjoint(z), z), identities(shape), dtype)
        lowest = np.moveaxis(np.tril(np.moveaxis(t, (0, 1), (-2, -1)), -1 if is_complex else -2), (-2, -1), (0, 1))
        assert (lowest == 0).all()


@EACH_DTYPE
def test_hessenberg_leaves_one_diagonal_below(dtype: str) -> None:
    for shape in SQUARE:
        x = numbers(dtype, shape)
        h, q = arrays(tl.hessenberg(tr.asarray(x)))

        assert near(product(q, h, adjoint(q)), x, dtype)
        assert near(product(adjoint(q), q), identities(shape), dtype)
        assert (np.moveaxis(np.tril(np.moveaxis(h, (0, 1), (-2, -1)), -2), (-2, -1), (0, 1)) == 0).all()


@EACH_DTYPE
@pytest.mark.parametrize("side", ["right", "left"])
def test_polar_factors_are_those_of_scipy(dtype: str, side: str) -> None:
    for shape in SHAPES:
        x = numbers(dtype, shape)
        u, p = arrays(tl.polar(tr.asarray(x), side=side))

        assert near(product(u, p) if side == "right" else product(p, u), x, dtype)
        assert (p == adjoint(p)).all()
        if len(shape) == 2 and x.size:
            expected_u, expected_p = sl.polar(x.astype(np.result_type(dtype, np.float64)), side=side)
            assert near(u, expected_u, dtype, 2000)
            assert near(p, expected_p, dtype, 2000)


@pytest.mark.parametrize(
    "call",
    [tl.lu, tl.lu_factor, tl.ldl, tl.qr_pivoted, tl.eig, tl.eigvals, tl.schur, tl.hessenberg, tl.polar, tl.rq, tl.lq,
     tl.ql, tl.svdvals, tl.eigvalsh, lambda a: tl.svd(a, full=True), lambda a: tl.qr(a, mode="complete"),
     lambda a: tl.cholesky(a, upper=True), lambda a: tl.randomized_svd(a, 2, seed=1),
     lambda a: tl.randomized_eigh(a, 2, seed=1), lambda a: tl.lu(a, pivoting="complete"),
     lambda a: tl.svd(a, driver="gesvd"), lambda a: tl.svd(a, driver="jacobi"), lambda a: tl.eigh(a, tr.eye(3))],
)  # fmt: skip
def test_an_element_that_is_not_finite_is_named_by_its_own_indices(call: Callable[..., Any]) -> None:
    x = np.repeat(np.eye(3)[..., None], 4, axis=2)
    x[0, 2, 2] = np.inf

    with pytest.raises(tl.NonFiniteError, match=r"element \(0, 2\) of the matrix at batch index \(2,\)") as info:
        call(tr.asarray(x))
    assert info.value.element_index == (0, 2)
    assert info.value.batch_index == (2,)
    name = getattr(call, "__name__", "<lambda>")
    assert name == "<lambda>" or str(info.value).startswith(f"{name}: operand a holds")


@pytest.mark.parametrize("seed", [1976, 3618])
def test_schur_goes_on_where_lapack_does_not_end(seed: int) -> None:
    """Elements from 1e-300 to 1e300, half of them zero: LAPACK's iteration needs another scale, or the other end."""
    draw = np.random.default_rng(seed)
    sizes = 10.0 ** draw.uniform(-300, 300, (14, 14))
    a = (draw.standard_normal((14, 14)) + 1j * draw.standard_normal((14, 14))) * sizes
    a[draw.random((14, 14)) < 0.5] = 0

    t, z = (part.to_numpy() for part in tl.schur(tr.tensor(a)))

    largest = np.abs(a).max()
    assert np.array_equal(np.triu(t), t)
    assert np.abs(z @ z.conj().T - np.eye(14)).max() < 1e-13
    assert np.abs(z @ (t / largest) @ z.conj().T - a / largest).max() < 1e-13


def test_what_is_known_of_systems_is_let_go_with_the_bindings() -> None:
    factors, b = tl.lu_factor(tr.eye(3)), tr.ones((3, 37))
    form = weakref.ref(b._form)
    tl.lu_solve(factors, b)
    del b
    gc.collect()
    assert form() is not None

    binding_cache.clear()
    gc.collect()
    assert form() is None
