"""An exactly zero pivot is found alike by every instruction set, in every batch, and by a textbook elimination.

Determinants of two and three rows are a formula of exact products: of whole numbers they are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import frexp
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.errors import SingularMatrixError

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("instruction_set")

Array = np.ndarray[Any, np.dtype[Any]]


def singular_matrices(side: int) -> Array:
    """All singular matrices of small whole numbers, shape [side, side, count]; every seventh of the many of side 3."""
    numbers = range(-5, 6) if side == 2 else range(-1, 2)
    rows = np.array(list(product(numbers, repeat=side * side)), dtype=np.float64)
    if side == 3:  # larger numbers too: third rows that are combinations of the others
        rng = np.random.default_rng(0)
        first = rng.integers(-9, 10, (4000, 2, 3))
        factors = rng.integers(-4, 5, (4000, 1, 2))
        rows = np.concatenate([rows[::7], np.concatenate([first, factors @ first], axis=1).reshape(-1, 9)])
    matrices = rows.reshape(-1, side, side)
    whole = matrices.astype(np.int64)
    if side == 2:
        exact = whole[:, 0, 0] * whole[:, 1, 1] - whole[:, 0, 1] * whole[:, 1, 0]
    else:
        exact = np.einsum("ni,ni->n", whole[:, 0], np.cross(whole[:, 1], whole[:, 2]))
    return np.moveaxis(matrices[exact == 0], 0, -1)


def quotient(x: float, y: float) -> float:
    return x / y


def complex_quotient(x: float, y: float) -> float:
    """Of complex numbers that are real: by the conjugate over the square of the size, after scaling."""
    scale = 2.0 ** (1 - frexp(y)[1])
    unit = y * scale
    return x * scale * unit / (unit * unit)


def eliminated(matrix: Array, divide: Callable[[float, float], float] = quotient) -> tuple[bool, float]:
    """Whether a pivot is zero, and the product of the pivots: partial pivoting in Python's floats, nothing fused."""
    a = [[float(x) for x in row] for row in matrix]
    side, determinant, singular = len(a), 1.0, False
    for j in range(side):
        row = max(range(j, side), key=lambda i: abs(a[i][j]))  # the first of several
        a[j], a[row] = a[row], a[j]
        determinant = (-determinant if row != j else determinant) * a[j][j]
        if a[j][j] == 0:
            singular = True
            continue
        for i in range(j + 1, side):
            factor = divide(a[i][j], a[j][j])
            for k in range(j + 1, side):
                product = factor * a[j][k]
                a[i][k] -= product
    return singular, determinant


@lru_cache(maxsize=1)
def verdicts(side: int, dtype: str) -> tuple[Array, list[bool]]:
    """Singular matrices, and whether an elimination finds them so; every instruction set takes its turn with them."""
    matrices = singular_matrices(side)
    divide = complex_quotient if dtype == "C64" else quotient
    return matrices, [eliminated(matrices[..., k], divide)[0] for k in range(matrices.shape[-1])]


def refused(function: Any, *operands: Any) -> bool:
    try:
        function(*operands)
    except SingularMatrixError:
        return True
    return False


@pytest.mark.parametrize("dtype", ["F64", "C64", "F32"])
@pytest.mark.parametrize("side", [2, 3])
def test_the_verdict_is_that_of_an_elimination_without_fused_products(side: int, dtype: str) -> None:
    matrices, expected = verdicts(side, dtype)
    assert sum(expected) > 500  # and of side 3 a few are not found: what is found is a pivot of zero, not the rank
    tensor = tr.cast(tr.asarray(np.asfortranarray(matrices)), dtype)
    assert not tl.det(tensor).to_numpy().any()
    for k in range(0, matrices.shape[-1], 5):
        one = tensor[..., k]
        assert refused(tl.inv, one) is refused(tl.solve, one, one) is expected[k]


@pytest.mark.parametrize("side", [4, 5])
def test_determinants_have_the_bits_of_the_textbook(side: int) -> None:
    rng = np.random.default_rng(side)
    singular = rng.integers(-3, 4, (side, side, 1000)).astype(float)
    singular[-1] = singular[:-1].sum(axis=0)
    matrices = np.concatenate([singular, rng.standard_normal((side, side, 2000))], axis=-1)
    expected = [eliminated(matrices[..., k])[1] for k in range(matrices.shape[-1])]
    np.testing.assert_array_equal(tl.det(tr.asarray(np.asfortranarray(matrices))).to_numpy(), expected)


def places() -> Iterator[tuple[int, int]]:
    for count in (1, 2, 3, 4, 7, 8, 9, 16, 17, 33):
        for position in sorted({0, count // 2, count - 1}):
            yield count, position


@pytest.mark.parametrize("matrix", [[[3, 3], [1, 1]], [[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[0.1, 0.3], [0.2, 0.6]]])
def test_a_singular_matrix_is_found_anywhere_in_batches_of_any_length(matrix: list[list[float]]) -> None:
    singular = np.array(matrix, dtype=np.float64)
    expected, _ = eliminated(singular)
    exact = [Fraction(x) for x in singular.ravel().tolist()]
    determinant = 0.0 if len(matrix) == 3 else float(exact[0] * exact[3] - exact[1] * exact[2])
    for count, position in places():
        batch = np.repeat(np.eye(len(matrix))[..., None], count, axis=-1)
        batch[..., position] = singular
        tensor = tr.asarray(np.asfortranarray(batch))
        assert tl.det(tensor).to_numpy()[position] == determinant
        for name, function, operands in (("inv", tl.inv, (tensor,)), ("solve", tl.solve, (tensor, tensor))):
            if expected:
                with pytest.raises(SingularMatrixError, match=rf"{name}: .*batch index \({position},\)") as info:
                    function(*operands)
                assert info.value.batch_index == (position,)
            else:
                assert not refused(function, *operands)


def test_the_first_of_several_singular_matrices_is_named_by_its_index_in_the_batch() -> None:
    batch = np.zeros((2, 2, 3, 4))
    batch[0, 0] = batch[1, 1] = 1
    batch[:, :, 2, 1] = batch[:, :, 1, 3] = [[3, 3], [1, 1]]
    with pytest.raises(SingularMatrixError, match=r"the matrix at batch index \(2, 1\) is exactly singular"):
        tl.inv(tr.asarray(np.asfortranarray(batch)))


@pytest.mark.parametrize("side", [2, 3, 4])
def test_a_system_is_singular_or_not_whatever_its_right_hand_sides_are(side: int) -> None:
    rng = np.random.default_rng(side)
    for _ in range(60):
        matrix = rng.integers(-3, 4, (side, side)).astype(float)
        matrix[-1] = matrix[:-1].sum(axis=0)
        a = tr.asarray(matrix)
        verdicts = set()
        for shape in ((side,), (side, 1), (side, 40), (side, 1000), (side, 1, 5), (side, 200, 5), (side, 0)):
            for dtype in ("F32", "F64"):
                b = tr.ones(shape, dtype=dtype)
                if b.size:
                    verdicts.add(refused(tl.solve, a, b))
        many = tr.asarray(np.stack([matrix, np.eye(side)], axis=-1))
        verdicts.add(refused(tl.solve, many, tr.ones((side, 3))))
        verdicts.add(refused(tl.solve, many, tr.ones((side, 3, 7, 2))))
        verdicts.add(refused(tl.inv, a))

        assert len(verdicts) == 1


@pytest.mark.parametrize("side", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64"])
def test_small_systems_with_any_right_hand_sides_are_solved(side: int, dtype: str) -> None:
    rng = np.random.default_rng(0)
    numpy_dtype = tr.zeros(1, dtype=dtype).to_numpy().dtype
    matrix = (rng.integers(-3, 4, (side, side, 5)) + 9 * np.eye(side)[:, :, None]).astype(numpy_dtype)
    for a_batch, b_batch, columns in (
        ((), (), 100),
        ((), (), 101),
        ((), (5,), 1),
        ((), (2, 5), 40),
        ((5,), (), 3),
        ((5,), (2, 5), 2),
        ((5,), (1,), 33),
    ):
        a = matrix if a_batch else matrix[:, :, 0]
        b = rng.integers(-9, 10, (side, columns, *b_batch)).astype(numpy_dtype)
        x = tl.solve(tr.asarray(a), tr.asarray(b)).to_numpy()

        batch = np.broadcast_shapes(a_batch, b_batch)
        expected = np.empty((side, columns, *batch), numpy_dtype)
        expected[...] = b.reshape(side, columns, *(1,) * (len(batch) - len(b_batch)), *b_batch)
        aligned = a.reshape(side, side, *(1,) * (len(batch) - len(a_batch)), *a_batch)
        product = np.einsum("ij...,jk...->ik...", aligned, x)
        assert x.shape == expected.shape
        np.testing.assert_allclose(product, expected, rtol=0, atol=1e-4 if "32" in dtype else 1e-12)


def test_the_singular_matrix_and_the_element_are_named_in_the_callers_own_batch() -> None:
    good = np.eye(3)
    many = tr.asarray(np.stack([good, np.zeros((3, 3))], axis=-1))
    with pytest.raises(SingularMatrixError, match=r"batch index \(1,\)"):
        tl.solve(many, tr.ones((3, 40)))
    with pytest.raises(SingularMatrixError, match="the matrix is exactly singular"):
        tl.solve(tr.zeros((3, 3)), tr.ones((3, 40, 7)))
    b = np.ones((3, 40, 2))
    b[1, 30, 1] = np.nan
    with pytest.raises(tl.NonFiniteError, match=r"\(1, 30\).*|.*batch index \(1,\)"):
        tl.solve(tr.asarray(good), tr.asarray(b))


@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64"])
def test_the_logarithm_of_a_determinant_is_that_of_the_determinant_however_large(dtype: str) -> None:
    rng = np.random.default_rng(3)
    given = rng.standard_normal((3, 3, 19)) + (1j * rng.standard_normal((3, 3, 19)) if dtype[0] == "C" else 0)
    given[:, 1, 4] = 0
    given[:, :, 5] *= 1e30  # the determinant leaves the range of F32
    a = tr.cast(tr.asarray(np.asfortranarray(given)), dtype)
    sign, logarithm = (part.to_numpy() for part in tl.slogdet(a))
    expected = np.linalg.slogdet(np.moveaxis(a.to_numpy().astype(complex), 2, 0))
    regular = np.arange(19) != 4
    tolerance = 1e-5 if "32" in dtype else 1e-12
    np.testing.assert_allclose(sign[regular], expected[0][regular], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(logarithm[regular], expected[1][regular], rtol=tolerance, atol=tolerance)
    assert sign[4] == 0
    assert logarithm[4] == -np.inf
