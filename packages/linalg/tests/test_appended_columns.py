"""QR decompositions extended by columns that lie in, or near, the space of those before them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr

Array = np.ndarray[Any, np.dtype[Any]]
EACH_DTYPE = pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
ROWS, RANK, COUNT = 70, 10, 24
SHAPES = pytest.mark.parametrize(
    ("rows", "rank", "count"), [(ROWS, RANK, COUNT), (9, 3, 4), (60, 50, 10), (30, 0, 30), (20, 19, 1)]
)


def numbers(dtype: str, *shape: int) -> Array:
    rng = np.random.default_rng(shape)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return np.asarray((x if "complex" in dtype else x.real).astype(dtype))


def factors(dtype: str, rows: int, rank: int) -> tuple[Array, Array]:
    q, r = np.linalg.qr(numbers(dtype, rows, rank))
    return np.asfortranarray(q), np.asfortranarray(r)


def lengths(x: Array) -> Array:
    return np.asarray(np.sqrt((np.abs(x) ** 2).sum(0)))


def appended(q: Array, r: Array, columns: Array) -> tuple[Array, Array]:
    """The factors, which are as accurate as those of columns that are no trouble, and of the form that is promised."""
    found, triangle = (x.to_numpy() for x in tl.qr_append(*map(tr.asarray, (q, r, np.asfortranarray(columns)))))
    rank, before = r.shape
    wide: type[Any] = np.clongdouble if np.iscomplexobj(q) else np.longdouble
    exact_q, exact_r, exact = found.astype(wide), triangle.astype(wide), columns.astype(wide)
    unit = np.finfo(q.dtype).eps
    largest = np.abs(exact).max(0, initial=0) + (exact == 0).all(0)
    error = lengths((exact_q @ exact_r[:, before:] - exact) / largest) / np.maximum(1, lengths(exact / largest))
    diagonal = np.diagonal(triangle, before - rank)[rank:]

    assert (error <= 2 * len(q) * unit).all(), (error / unit).max()
    assert np.abs(exact_q.conj().T @ exact_q - np.eye(found.shape[1])).max() <= 8 * unit
    assert (np.tril(triangle[:, before - rank :], -1) == 0).all()
    assert (diagonal.imag == 0).all()
    assert (diagonal.real >= 0).all()
    assert (found[:, :rank] == q).all()
    assert (triangle[:rank, :before] == r).all()
    return found, triangle


@EACH_DTYPE
@SHAPES
@pytest.mark.parametrize("part", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 1e-16])
def test_columns_at_small_angles_to_the_space_of_q_leave_it_orthonormal(
    dtype: str, rows: int, rank: int, count: int, part: float
) -> None:
    q, r = factors(dtype, rows, rank)
    columns = q @ numbers(dtype, rank, count) + part * numbers(dtype, rows, count)
    appended(q, r, columns.astype(dtype))


@EACH_DTYPE
@SHAPES
@pytest.mark.parametrize("part", [1e-1, 1e-4, 1e-8, 1e-15])
def test_columns_at_small_angles_to_each_other_leave_q_orthonormal(
    dtype: str, rows: int, rank: int, count: int, part: float
) -> None:
    q, r = factors(dtype, rows, rank)
    columns = numbers(dtype, rows, 1) + part * numbers(dtype, rows, count)
    appended(q, r, columns.astype(dtype))
    appended(q, r, (q @ numbers(dtype, rank, count) + part * columns).astype(dtype))


@EACH_DTYPE
@SHAPES
def test_columns_in_the_space_of_others_have_zeros_in_r(dtype: str, rows: int, rank: int, count: int) -> None:
    q, r = factors(dtype, rows, rank)
    inside = q @ numbers(dtype, rank, count)
    for size in (1, 2.0**-14, 2.0**14):
        _, triangle = appended(q, r, inside * np.asarray(size, dtype))
        assert (np.diagonal(triangle)[rank:] == 0).all()

    mixed = numbers(dtype, rows, count)
    mixed[:, 1::5] = inside[:, 1::5]
    mixed[:, 2::5] = mixed[:, :1] * 2
    mixed[:, 3::5] = 0
    _, triangle = appended(q, r, mixed)
    zero = np.zeros(count, bool)
    zero[1::5] = zero[2::5] = zero[3::5] = True
    assert ((np.diagonal(triangle)[rank:] == 0) == zero).all()


@EACH_DTYPE
def test_more_columns_than_there_is_room_for(dtype: str) -> None:
    q, r = factors(dtype, 12, 5)
    columns = numbers(dtype, 12, 20)
    columns[:, 2] = q[:, 1]
    found, triangle = appended(q, r, columns)
    assert found.shape == (12, 12)
    assert triangle.shape == (12, 25)


@EACH_DTYPE
@SHAPES
@pytest.mark.parametrize("part", [1.0, 1e-3])
def test_columns_of_all_sizes_are_as_accurate(dtype: str, rows: int, rank: int, count: int, part: float) -> None:
    decades = 300 if dtype in ("float64", "complex128") else 35
    q, r = factors(dtype, rows, rank)
    columns = q @ numbers(dtype, rank, count) + part * numbers(dtype, rows, count)
    sizes = 10.0 ** np.linspace(decades, -decades, count).astype("longdouble")
    for graded in (sizes, sizes[::-1]):
        _, triangle = appended(q, r, (columns * graded.astype(q.real.dtype)).astype(dtype))
        if rank + count <= rows and (rank == 0 or part == 1):
            assert (np.diagonal(triangle)[rank:] != 0).all()


@EACH_DTYPE
def test_a_column_may_depend_on_what_stands_in_for_another(dtype: str) -> None:
    unit = np.finfo(dtype).eps
    q, r = np.eye(ROWS, 2, dtype=dtype, order="F"), np.eye(2, dtype=dtype)
    columns = np.zeros((ROWS, 4), dtype)
    columns[1, 0], columns[7, 0] = 1, unit / 8  # in the space of q, but for rounding in the direction of the next one
    columns[7, 1] = columns[9, 2] = columns[9, 3] = 1
    _, triangle = appended(q, r, columns)
    assert (np.diagonal(triangle)[2:].astype(bool) == [False, True, True, False]).all()


@EACH_DTYPE
def test_powers_become_dependent_little_by_little(dtype: str) -> None:
    q, r = factors(dtype, ROWS, 2)
    appended(q, r, np.vander(np.linspace(0, 1, ROWS), 40, increasing=True).astype(dtype))


@EACH_DTYPE
@pytest.mark.parametrize(("rows", "rank", "count"), [(8, 3, 3), (ROWS, RANK, COUNT)])
def test_matrices_have_the_bits_that_they_have_beside_others(dtype: str, rows: int, rank: int, count: int) -> None:
    q, r = (np.stack([x] * 6, -1) for x in factors(dtype, rows, rank))
    columns = numbers(dtype, rows, count, 6)
    columns[:, -1, 1] = columns[:, 0, 1]
    columns[:, :, 2] = q[:, :, 2] @ numbers(dtype, rank, count)
    columns[:, 1, 3] = 0
    columns[:, :, 4] = (q[:, :, 4] @ numbers(dtype, rank, count) + 1e-7 * columns[:, :, 4]).astype(dtype)
    columns[:, 0, 5], columns[:, 1, 5] = q[:, 0, 5] * 1e-30 + 1e-38 * columns[:, 1, 5], columns[:, 1, 5] * 1e25
    whole = tl.qr_append(*(tr.asarray(np.asfortranarray(x)) for x in (q, r, columns)))
    for one in range(6):
        others = [one, *[0] * 5]
        alone = tl.qr_append(*(tr.asarray(np.asfortranarray(x[..., others])) for x in (q, r, columns)))
        for here, there in zip(whole, alone, strict=True):
            assert here.to_numpy()[..., one].tobytes() == there.to_numpy()[..., 0].tobytes()


@EACH_DTYPE
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_spoils_no_other_matrix(dtype: str, wrong: float) -> None:
    q, r = (np.asfortranarray(np.stack([x] * 3, -1)) for x in factors(dtype, ROWS, RANK))
    columns = np.asfortranarray(numbers(dtype, ROWS, COUNT, 3))
    good = tl.qr_append(*map(tr.asarray, (q, r, columns)))
    for spoiled in (q, columns):
        kept = spoiled[2, 3, 1]
        spoiled[2, 3, 1] = wrong
        found = tl.qr_append(*map(tr.asarray, (q, r, columns)), check=False)
        for one, expected in zip(found, good, strict=True):
            assert (one.to_numpy()[..., [0, 2]] == expected.to_numpy()[..., [0, 2]]).all()
        spoiled[2, 3, 1] = kept


@EACH_DTYPE
def test_columns_at_once_and_one_by_one_have_nearly_the_same_factors(dtype: str) -> None:
    q, r = factors(dtype, ROWS, RANK)
    columns = np.asfortranarray(numbers(dtype, ROWS, COUNT))
    at_once = appended(q, r, columns)
    for one in range(COUNT):
        q, r = appended(q, r, columns[:, one : one + 1])
    for whole, grown in zip(at_once, (q, r), strict=True):
        assert np.abs(whole - grown).max() <= 500 * np.finfo(dtype).eps
