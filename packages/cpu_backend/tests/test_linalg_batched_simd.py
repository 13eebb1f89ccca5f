"""Small systems and factors in vector lanes: right for every dtype, side, batch count and instruction set."""

from __future__ import annotations

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from lane_cases import EACH_DTYPE, EACH_SIDE, RIGHT, SQUARE, Array, bound, draw, matrices, product, residuals, run, wide
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

pytestmark = pytest.mark.usefixtures("instruction_set")

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)


@EACH_DTYPE
@EACH_SIDE
@pytest.mark.parametrize("name", ["cholesky", "det", "inv", "solve"])
def test_residuals_are_a_few_rounding_units(name: str, side: int, dtype: str) -> None:
    a, b = matrices(name, dtype, side, 19), draw(dtype, side, RIGHT, 19)
    operands = (a, b) if name == "solve" else (a,)
    before = [x.copy() for x in operands]

    assert residuals(name, a, run(name, *operands), b) <= bound(dtype, side)
    assert all((x == y).all() for x, y in zip(operands, before, strict=True))


def eliminated(a: Array, b: Array) -> tuple[Array, float]:
    """The solution and the determinant that Gaussian elimination of one matrix finds, each product rounded."""
    a, b, product = a.copy(), b.copy(), 1.0
    for j in range(len(a)):
        row = j + int(np.abs(a[j:, j]).argmax())
        a[[j, row]], b[[j, row]] = a[[row, j]], b[[row, j]]
        product *= a[j, j] * (1 if row == j else -1)
        below = a[j + 1 :, j] / a[j, j]
        a[j + 1 :] -= below[:, None] * a[j]
        b[j + 1 :] -= below[:, None] * b[j]
    for j in reversed(range(len(a))):
        b[j] /= a[j, j]
        b[:j] -= a[:j, j, None] * b[j]
    return b, product


@pytest.mark.parametrize("side", [2, 3, 5, 6, 8, 9, 12, 16, 22, 64])
def test_systems_of_every_side_have_the_bits_of_elimination_step_by_step(side: int) -> None:
    a, b = draw("float64", side, side, 9), draw("float64", side, 5, 9)
    unit = np.asfortranarray(np.repeat(np.eye(side)[..., None], 9, axis=2))
    solutions, inverses, (determinants,) = run("solve", a, b)[0], run("inv", a)[0], run("det", a)

    for k in range(9):
        x, product = eliminated(a[..., k], b[..., k])
        assert solutions[..., k].tolist() == x.tolist()
        assert inverses[..., k].tolist() == eliminated(a[..., k], unit[..., k])[0].tolist()
        assert determinants[k] == pytest.approx(product, rel=1e-13)


@EACH_DTYPE
@pytest.mark.parametrize("name", ["cholesky", "det", "inv", "solve"])
def test_the_largest_matrices_have_residuals_of_a_few_rounding_units(name: str, dtype: str) -> None:
    wanted = "cholesky" if name == "det" else name  # whose determinants F32 holds after scaling
    a, b = matrices(wanted, dtype, 64, 9), draw(dtype, 64, 18, 9)
    a = np.asfortranarray((a / np.dtype(dtype).type(64 if name == "det" else 1)).astype(dtype))

    found = run(name, a, b) if name == "solve" else run(name, a)

    assert residuals(name, a, found, b) <= bound(dtype, 64)


@pytest.mark.parametrize("name", SQUARE)
def test_a_matrix_has_the_same_results_in_batches_of_any_length(name: str) -> None:
    a, b = matrices(name, "float64", 3, 35), draw("float64", 3, RIGHT, 35)
    whole = run(name, a, b) if name == "solve" else run(name, a)

    for count in range(1, 35):
        some = (a[..., :count], b[..., :count]) if name == "solve" else (a[..., :count],)
        for part, result in zip(run(name, *some), whole, strict=True):
            assert part.tolist() == result[..., :count].tolist()


@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_share_long_batches(name: str, threads: int) -> None:
    a, b = matrices(name, "float64", 4, 9001), draw("float64", 4, 1, 9001)
    operands = (a, b) if name == "solve" else (a,)
    former = LIBRARY.threads()
    expected = run(name, *operands)
    try:
        LIBRARY.set_threads(threads)
        found = run(name, *operands)
    finally:
        LIBRARY.set_threads(former)
    assert all((x == y).all() for x, y in zip(found, expected, strict=True))


@EACH_DTYPE
@pytest.mark.parametrize("name", SQUARE)
def test_views_give_what_their_copies_give(name: str, dtype: str) -> None:
    a = matrices(name, dtype, 4, 3, 5)
    b = draw(dtype, 4, RIGHT, 3, 5)
    for view in (
        lambda x: x[..., ::-1, :],
        lambda x: x[..., ::2],
        lambda x: x.transpose(0, 1, 3, 2),
        lambda x: np.ascontiguousarray(x),
        lambda x: np.broadcast_to(x[..., :1], x.shape),
        lambda x: x[..., 1, 2],
    ):
        views = [view(a), view(b)][: 2 if name == "solve" else 1]
        copies = [np.array(x, order="F") for x in views]
        for found, expected in zip(run(name, *views), run(name, *copies), strict=True):
            assert found.tolist() == expected.tolist()


@EACH_DTYPE
@EACH_SIDE
def test_cholesky_of_integers_is_exact(side: int, dtype: str) -> None:
    rng = np.random.default_rng(side)
    factor = np.tril(rng.integers(-3, 4, (side, side, 11)).transpose(2, 0, 1)).transpose(1, 2, 0).astype(complex)
    if "complex" in dtype:
        factor += 1j * np.tril(rng.integers(-3, 4, (11, side, side)), -1).transpose(1, 2, 0)
    factor[range(side), range(side)] = rng.integers(1, 5, (side, 11))
    factor = factor if "complex" in dtype else factor.real
    a = product(factor, factor.conj().swapaxes(0, 1))
    a[np.triu_indices(side, 1)] = 77.0
    if "complex" in dtype:
        a[range(side), range(side)] += 5.0j

    assert (run("cholesky", np.asfortranarray(a.astype(dtype)))[0] == factor).all()


@EACH_DTYPE
@EACH_SIDE
def test_permuted_triangles_of_integers_are_solved_inverted_and_measured_exactly(side: int, dtype: str) -> None:
    rng = np.random.default_rng(side)
    upper = np.triu(rng.integers(-2, 3, (13, side, side)), 1) + np.eye(side) * 2.0 ** rng.integers(-1, 2, (13, side, 1))
    orders = [rng.permutation(side) for _ in range(13)]
    a = np.stack([matrix[order] for matrix, order in zip(upper, orders, strict=True)])
    signs = [np.linalg.det(np.eye(side)[order]).round() for order in orders]
    x = rng.integers(-5, 6, (13, side, RIGHT)).astype(float)
    b = a @ x

    def tensor(stack: Array) -> Array:
        return np.asfortranarray(np.moveaxis(stack, 0, -1).astype(dtype))

    assert (run("solve", tensor(a), tensor(b))[0] == np.moveaxis(x, 0, -1)).all()
    assert (run("det", tensor(a))[0] == np.diagonal(upper, 0, 1, 2).prod(axis=1) * signs).all()
    inverse = run("inv", tensor(np.stack([np.eye(side)[order] for order in orders])))[0]
    assert (inverse == np.stack([np.eye(side)[order].T for order in orders], axis=-1)).all()


@pytest.mark.parametrize("columns", [1, 2, 15, 16, 17, 33, 50])
@pytest.mark.parametrize("side", [1, 2, 5, 16])
def test_solve_takes_any_number_of_columns(side: int, columns: int) -> None:
    a, b = matrices("solve", "complex128", side, 19), draw("complex128", side, columns, 19)

    assert residuals("solve", a, run("solve", a, b), b) <= bound("complex128", side)


def test_solve_takes_a_vector_for_a_single_matrix() -> None:
    a = matrices("solve", "float64", 3)
    assert np.abs(a @ run("solve", a, draw("float64", 3))[0] - draw("float64", 3)).max() < 1e-13


@EACH_DTYPE
def test_cholesky_and_solve_bear_any_scale(dtype: str) -> None:
    for scale in (
        (2.0**-1000, 2.0**-600, 2.0**600, 2.0**1000) if dtype in ("float64", "complex128") else (2.0**-90, 2.0**90)
    ):
        a, b = matrices("cholesky", dtype, 4, 9), draw(dtype, 4, RIGHT, 9)
        scale = np.dtype(dtype).type(scale)
        root = np.sqrt(wide(np.array(scale)).real)

        assert (run("cholesky", np.asfortranarray(a * scale))[0] == run("cholesky", a)[0] * root).all()
        scaled = run("solve", np.asfortranarray(a * scale), np.asfortranarray(b * scale))[0]
        assert (scaled == run("solve", a, b)[0]).all()


@pytest.mark.parametrize("side", [1, 3, 5, 8, 16, 20, 64])
def test_systems_of_any_batches_and_dtypes_have_the_bits_of_each(side: int) -> None:
    tr.binding_cache.clear()  # bindings that other instruction sets made
    a = matrices("inv", "float64", side, 6)
    b = draw("float64", side, 3, 6)
    each = [run("solve", a[..., [k]], b[..., [k]])[0][..., 0] for k in range(6)]
    of_first = [run("solve", a[..., [0]], b[..., [k]])[0][..., 0] for k in range(6)]
    of_side = [run("solve", a[..., [k]], b[..., [0]])[0][..., 0] for k in range(6)]
    narrow = [run("solve", a[..., [k]], b[..., [k]].astype(np.float32).astype(float))[0][..., 0] for k in range(6)]

    def solved(x: Array, y: Array) -> list[Array]:
        stack = tl.solve(tr.asarray(np.asfortranarray(x)), tr.asarray(np.asfortranarray(y))).to_numpy()
        return list(np.moveaxis(stack.reshape(side, 3, 6), -1, 0))

    for found, expected in (
        (solved(a, b), each),
        (solved(a[..., 0], b), of_first),
        (solved(a[..., :1], b), of_first),
        (solved(a.reshape(side, side, 2, 3), np.broadcast_to(b[..., :1, None], (side, 3, 2, 3))), of_side),
        (solved(a, b.astype(np.float32)), narrow),
    ):
        assert all((one == other).all() for one, other in zip(found, expected, strict=True))
    tr.binding_cache.clear()
