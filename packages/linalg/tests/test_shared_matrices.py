"""One matrix for many right-hand sides: these are columns of one system, and nothing is copied for each of them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import ShapeError

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64", "complex64", "complex128")
BATCHES = [((), (5,)), ((4,), (3, 4)), ((1, 4), (3, 4)), ((3, 1), (3, 4)), ((3, 1), (1, 4)), ((2, 1, 3), (2, 4, 3))]
Solver = Callable[..., Any]


def wholes(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, shape) + (1j * rng.integers(-2, 3, shape) if np.dtype(dtype).kind == "c" else 0)
    return x.astype(dtype)


def triangle(rows: int, batch: tuple[int, ...], dtype: str) -> Array:
    """Lower ones of whole numbers; their inverses are, too."""
    ones = np.eye(rows).reshape(rows, rows, *[1] * len(batch))
    below = (
        np.tril(np.ones((rows, rows)), -1).reshape(ones.shape) * (np.arange(rows) < 2)[:, *[None] * (1 + len(batch))]
    )
    return (wholes((rows, rows, *batch), dtype, 0) * below + ones).astype(dtype)


def lu_solved(a: tr.Tensor, b: tr.Tensor, **options: Any) -> Any:
    size, batch = a.shape[0], a.shape[2:]
    backwards = np.arange(size)[::-1].reshape(size, *[1] * len(batch)) + np.zeros((size, *batch), int)
    return tl.lu_solve(tl.LUFactors(tl.mT(a), tr.asarray(np.asfortranarray(backwards))), b, **options)


SOLVERS: dict[str, Solver] = {
    "triangular_solve": lambda a, b, **options: tl.triangular_solve(a, b, lower=True, **options),
    "adjoint": lambda a, b, **options: tl.triangular_solve(a, b, lower=True, adjoint=True, **options),
    "unit diagonal": lambda a, b, **options: tl.triangular_solve(a, b, lower=True, unit_diagonal=True, **options),
    "cho_solve": tl.cho_solve,
    "lu_solve": lu_solved,
    "transposed lu_solve": lambda a, b, **options: lu_solved(a, b, transpose=True, conjugate=True, **options),
}


def tensor(array: Array) -> tr.Tensor:
    return tr.asarray(np.asfortranarray(array))


def at(array: Array, index: tuple[int, ...]) -> tr.Tensor:
    """What is broadcast to an index of the batch."""
    own = array.shape[2:]
    last = index[len(index) - len(own) :]
    places: tuple[Any, ...] = (..., *(0 if extent == 1 else i for i, extent in zip(last, own, strict=True)))
    return tensor(array[places])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SOLVERS)
def test_the_bits_are_those_of_the_columns_of_one_system(name: str, dtype: str) -> None:
    for rows, columns in product((1, 5, 24, 70), (1, 3)):
        a, b = tensor(triangle(rows, (), dtype)), tensor(wholes((rows, columns, 4, 5), dtype, 1))
        found = SOLVERS[name](a, b)
        merged = SOLVERS[name](a, b.reshape((rows, columns * 20)))
        assert found.layout.is_compact
        assert found.to_numpy().tobytes("F") == merged.to_numpy().tobytes("F")


@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize("name", SOLVERS)
def test_each_right_hand_side_is_solved_with_the_matrix_of_its_place(
    name: str, batches: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    common = np.broadcast_shapes(*batches)
    for dtype, rows, columns in product(("float64", "complex64"), (3, 20), (0, 1, 4)):
        a, b = triangle(rows, batches[0], dtype), wholes((rows, columns, *batches[1]), dtype, 1)
        options: list[dict[str, Any]] = [{}, {"check": False}, {"check": "mask"}, {"overwrite": True}]
        for one in options:
            given = tr.copy(tensor(b)) if "overwrite" in one else tensor(b)
            found = SOLVERS[name](tensor(a), given, **one)
            if one.get("check") == "mask":
                assert found.status.shape == common
                assert not found.status.to_numpy().any()
                found = found.result
            target = tr.zeros((rows, columns, *common), dtype=found.dtype)
            assert SOLVERS[name](tensor(a), tensor(b), out=target) is target
            for index in np.ndindex(common):
                alone = SOLVERS[name](at(a, index), at(b, index)).to_numpy()
                np.testing.assert_array_equal(found.to_numpy()[(..., *index)], alone)
                np.testing.assert_array_equal(target.to_numpy()[(..., *index)], alone)


@pytest.mark.parametrize("options", [{}, {"check": False}, {"check": "mask"}, {"overwrite": True}])
@pytest.mark.parametrize("batches", [((), (64,)), ((1, 2), (32, 2)), ((2, 1), (2, 32))])
@pytest.mark.parametrize("name", SOLVERS)
def test_no_matrix_is_copied_for_each_right_hand_side(
    name: str, batches: tuple[tuple[int, ...], tuple[int, ...]], options: dict[str, Any]
) -> None:
    a, b = tensor(triangle(100, batches[0], "float64")), tr.zeros((100, 1, *batches[1]))
    SOLVERS[name](a, tr.copy(b), **options)
    given = tr.copy(b)
    tracemalloc.start()
    try:
        SOLVERS[name](a, given, **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * 100 * 100 * 8 / 4


def test_a_matrix_that_a_view_repeats_is_read_once() -> None:
    a = tr.broadcast_to(tensor(triangle(80, (1,), "float64")), (80, 80, 50))
    b = tensor(wholes((80, 1, 50), "float64", 1))
    tracemalloc.start()
    try:
        found = tl.triangular_solve(a, b, lower=True)
        by_primitive = tr.primitives.triangular_solve(
            a, b, lower=True, transpose=False, conjugate=False, unit_diagonal=False
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50 * 80 * 80 * 8 / 4
    expected = tl.triangular_solve(a[:, :, 0], b[:, 0], lower=True).to_numpy()
    np.testing.assert_array_equal(found.to_numpy()[:, 0], expected)
    np.testing.assert_array_equal(by_primitive.to_numpy()[:, 0], expected)


@pytest.mark.parametrize("name", ["triangular_solve", "cho_solve", "lu_solve"])
def test_errors_name_places_and_shapes_as_they_were_given(name: str) -> None:
    a, b = triangle(4, (1, 3), "float64"), wholes((4, 2, 5, 3), "float64", 1)
    b[2, 1, 4, 1] = np.nan
    with pytest.raises(tl.NonFiniteError, match=rf"{name}: operand b holds .* at element \(2, 1\) of the") as told:
        SOLVERS[name](tensor(a), tensor(b))
    assert told.value.batch_index == (4, 1)
    masked = SOLVERS[name](tensor(a), tensor(b), check="mask")
    assert np.argwhere(masked.status.to_numpy()).tolist() == [[4, 1]]
    b[2, 1, 4, 1] = 0
    a[1, 1, 0, 2] = 0
    with pytest.raises(tl.SingularMatrixError) as singular:
        SOLVERS[name](tensor(a), tensor(b))
    assert singular.value.batch_index == (0, 2)
    with pytest.raises(ShapeError, match=r"\(4, 4, 1, 3\) .*\(4, 2, 5, 2\)|\(1, 3\) of .* and \(5, 2\) of b"):
        SOLVERS[name](tensor(a), tr.zeros((4, 2, 5, 2)))


def test_least_squares_with_one_matrix_have_the_bits_of_the_columns() -> None:
    a, b = wholes((30, 20), "float64", 0), tensor(wholes((30, 1, 40), "float64", 1))
    a[:20] += 30 * np.eye(20)
    for driver in ("qr", "svd"):
        found = tl.lstsq(tensor(a), b, driver=driver).solution.to_numpy()
        merged = tl.lstsq(tensor(a), b.reshape((30, 40)), driver=driver).solution.to_numpy()
        np.testing.assert_allclose(found[:, 0], merged, rtol=1e-12, atol=1e-14)
