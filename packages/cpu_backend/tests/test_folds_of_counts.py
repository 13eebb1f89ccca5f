"""Folds that take another dtype or order first: of integers and truths, of few columns, of what has gaps."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr

SHAPES = ((1000, 3), (3, 1000), (300, 70), (40, 5, 60), (300, 2, 4), (7,), (5000,))


def drawn(kind: str, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Whole numbers of a dtype, of which sums are exact."""
    match kind:
        case "I64":
            return rng.integers(-(2**40), 2**40, shape)
        case "I32":
            return rng.integers(-(2**31), 2**31, shape).astype(np.int32)
        case "Bool":
            return rng.random(shape) < 0.1
        case "F64":
            return rng.integers(-3, 4, shape).astype(np.float64)
    return rng.integers(-1, 2, shape) + 1j * rng.integers(-1, 2, shape)


def arrays(kind: str) -> Iterator[np.ndarray[Any, Any]]:
    """Of every shape, compact, with gaps, backwards and in another order."""
    rng = np.random.default_rng(3)
    for shape in SHAPES:
        x = drawn(kind, rng, shape)
        yield from (x, x[::2], x[..., ::-1], x[..., ::2], x.T)


def axes_of(x: np.ndarray[Any, Any]) -> list[int | None]:
    return [None, *range(x.ndim)]


@pytest.mark.parametrize("kind", ["I64", "I32", "Bool"])
def test_means_of_whole_numbers_are_exact_but_for_the_last_rounding(kind: str) -> None:
    for x in arrays(kind):
        for axis in axes_of(x):
            found = tr.mean(tr.asarray(x), axis=axis).to_numpy()
            assert found.dtype == np.float64
            sums = np.asarray(x.sum(axis=axis, dtype=np.int64))
            count = x.size // sums.size
            expected = [float(Fraction(int(total), count)) for total in sums.reshape(-1)]
            assert found.shape == sums.shape
            np.testing.assert_allclose(found.reshape(-1), expected, rtol=3e-16)


def test_a_mean_of_integers_whose_sum_leaves_their_range() -> None:
    x = tr.full((3000, 2), 2**62)
    assert tr.mean(x, axis=0).to_numpy().tolist() == [2.0**62, 2.0**62]
    assert tr.mean(tr.full((3000,), 2**31 - 1, dtype="I32")).item() == 2.0**31 - 1


@pytest.mark.parametrize("kind", ["I64", "I32"])
@pytest.mark.parametrize("name", ["var", "std"])
def test_spreads_of_integers_are_those_of_their_doubles(name: str, kind: str) -> None:
    for x in arrays(kind):
        for axis in axes_of(x):
            found = getattr(tr, name)(tr.asarray(x), axis=axis).to_numpy()
            np.testing.assert_allclose(found, getattr(np, name)(x.astype(np.longdouble), axis=axis), rtol=1e-13)


def test_the_spread_of_truths_is_that_of_ones_and_zeros() -> None:
    x = tr.tensor([True, False, True, True])
    assert tr.var(x).item() == 3 / 16 and tr.std(x).item() == sqrt(3) / 4


@pytest.mark.parametrize("kind", ["F64", "I32", "I64", "C64", "Bool"])
def test_what_is_true_along_any_axis(kind: str) -> None:
    for x in arrays(kind):
        for axis in axes_of(x):
            for name in ("any", "all"):
                found = getattr(tr, name)(tr.asarray(x), axis=axis).to_numpy()
                np.testing.assert_array_equal(found, getattr(np, name)(x, axis=axis))
    some = tr.asarray(np.array([[np.nan, 0.0, -0.0], [0.0, 0.0, -0.0]]).repeat(100, axis=0))
    assert tr.any(some, axis=0).to_numpy().tolist() == [True, False, False]


@pytest.mark.parametrize("kind", ["F64", "I32", "I64"])
def test_sums_and_extremes_of_what_has_gaps(kind: str) -> None:
    for x in arrays(kind):
        for axis in axes_of(x):
            for name in ("sum", "max", "min"):
                found = getattr(tr, name)(tr.asarray(x), axis=axis).to_numpy()
                np.testing.assert_array_equal(found, getattr(np, name)(x, axis=axis))


@pytest.mark.parametrize("columns", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_in_a_few_long_columns(name: str, columns: int) -> None:
    rng = np.random.default_rng(columns)
    x = rng.integers(0, 50, (4, 700, columns)).astype(np.float64)
    x[1, 300, 0] = np.nan
    x[2, 0, -1] = x[2, 699, -1] = 99.0
    found = getattr(tr, name)(tr.asarray(np.asfortranarray(x.T)), axis=1).to_numpy()  # columns lie side by side
    np.testing.assert_array_equal(found, getattr(np, name)(x.T, axis=1))
