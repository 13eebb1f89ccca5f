"""Large matrices of floats by LAPACK: computed in floats, and in doubles where floats fail."""

from __future__ import annotations

import numpy as np
import pytest

from lapack_cases import NAMES, SIDE, UNIQUE, Array, kernels, matrices, numbers, reconstructed, run
from tensor_core import C32, C64, F32, DType
from tensor_cpu.system.extension import AVAILABLE, WHY_NOT

pytestmark = [pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT), pytest.mark.usefixtures("threads")]

IN_FLOATS = pytest.mark.parametrize("dtype", [F32, C32])


def precise(x: Array) -> Array:
    return x.astype(np.result_type(x, np.float64))


@IN_FLOATS
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("power", [0, -100, 90])
def test_large_matrices_of_floats_are_as_good_as_floats_can_be(name: str, dtype: DType, power: int) -> None:
    """Numbers near the ends of the range of floats are computed in doubles."""
    shape = (SIDE, SIDE - 5) if name in ("svd", "svdvals", "qr") else (SIDE, SIDE)
    x = np.ldexp(1.0, power) * precise(matrices(name, dtype, *shape, (), power + 100))
    x = np.asfortranarray(x.astype(dtype.numpy_name))
    operands = (x, np.asfortranarray(x[:, :3])) if name == "solve" else (x,)
    numpy, native = kernels(name, *operands)
    found = native(*[one.T for one in operands])
    with np.errstate(over="ignore"):
        expected = numpy(*[one.T for one in operands])

    if name not in UNIQUE:
        size = np.abs(x).max()
        assert np.abs(reconstructed(name, tuple(map(precise, found))) - x).max() < SIDE * 2.0**-22 * size
    elif name != "det":
        size = np.abs(expected).max()
        assert np.abs(precise(found) - expected).max() < SIDE * 2.0**-22 * size
    elif np.isfinite(expected):
        assert abs(found - expected) <= SIDE * 2.0**-22 * abs(expected)
    else:
        assert not np.isfinite(found)


@IN_FLOATS
def test_large_matrices_are_computed_in_floats_and_those_of_lanes_in_doubles(dtype: DType) -> None:
    """Floats lose the 2**-30 that the second pivot has beside 1, and which the third one should keep."""
    a = np.asfortranarray(np.eye(SIDE, dtype=dtype.numpy_name))
    a[:3, :3] = [[1, -1, 0], [1, 2.0**-30, 1], [0, 1, 1 + 2.0**-20]]
    b = np.asfortranarray(np.eye(SIDE, 1, -2, dtype=dtype.numpy_name))

    assert run("solve", a, b)[0, 2] == 2.0**20
    small = np.asfortranarray(a[:-6, :-6])
    assert run("solve", small, np.asfortranarray(b[:-6]))[0, 2] == np.float32(2.0**20 / (1 + 2.0**-10))


@IN_FLOATS
@pytest.mark.parametrize("name", NAMES)
def test_a_matrix_that_needs_doubles_changes_nothing_for_its_neighbours(name: str, dtype: DType, threads: int) -> None:
    x = matrices(name, dtype, SIDE, SIDE, (7,), 5)
    x[..., 2] *= 2.0**-100
    x[..., 5] *= 2.0**100
    stack = (x, np.asfortranarray(x[:, :2])) if name == "solve" else (x,)
    found = run(name, *stack)
    found = found if isinstance(found, tuple) else (found,)

    for number in range(7):
        alone = run(name, *[np.asfortranarray(one[..., number]) for one in stack])
        for one, other in zip(found, alone if isinstance(alone, tuple) else (alone,), strict=True):
            assert one[number].tobytes() == other.tobytes()


@IN_FLOATS
def test_what_floats_refuse_may_be_fine_in_doubles(dtype: DType) -> None:
    """A matrix of whole numbers whose condition is 4e14."""
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61]
    lower = np.eye(SIDE)
    lower[:18, :18] -= np.tril(np.ones((18, 18)), -1)
    lower[:18] *= np.array(primes)[:, None]
    a = np.asfortranarray((lower @ lower.T).astype(dtype.numpy_name))

    assert np.abs(run("cholesky", a).T - lower).max() < 2.0**-10


@IN_FLOATS
@pytest.mark.parametrize("scale", [1.0, 2.0**-110])
def test_one_matrix_for_many_right_hand_sides_is_computed_in_floats_or_doubles(dtype: DType, scale: float) -> None:
    a, b = matrices("solve", dtype, SIDE, SIDE, (), 1), numbers(dtype, (SIDE, 2, 4), 2)
    a = np.asfortranarray(a * np.float32(scale))
    found = run("solve", a, b)

    assert found.shape == (4, 2, SIDE)
    expected = np.linalg.solve(precise(a), precise(b).transpose(2, 0, 1))
    assert np.abs(found.transpose(0, 2, 1) - expected).max() < SIDE * 2.0**-22 * np.abs(expected).max()


@pytest.mark.parametrize("dtype", [C32, C64])
@pytest.mark.parametrize("kind", ["dense", "of degree one", "diagonal", "zero", "scaled up", "scaled down"])
def test_complex_eigenvectors_made_of_real_ones_are_orthonormal_and_reconstruct(dtype: DType, kind: str) -> None:
    n = SIDE
    factor = precise(numbers(dtype, (n, n), 7))
    power = {"scaled up": 100, "scaled down": -100}.get(kind, 0) * (1 if dtype is C32 else 8)
    x = {"of degree one": np.outer(factor[0], factor[0].conj()), "diagonal": np.eye(n), "zero": np.zeros((n, n))}.get(
        kind, factor + factor.conj().T
    )
    a = np.asfortranarray((x * 2.0**power).astype(dtype.numpy_name))
    values, vectors = (precise(part.T) for part in run("eigh", a))
    unit = n * 4 * float(np.finfo(a.dtype).eps)

    assert (np.diff(values) >= 0).all()
    assert np.abs(vectors.conj().T @ vectors - np.eye(n)).max() < unit
    assert np.abs((vectors * values) @ vectors.conj().T - a).max() <= unit * np.abs(a).max()
    assert np.abs(values - np.linalg.eigvalsh(precise(a))).max() <= unit * np.abs(values).max()
