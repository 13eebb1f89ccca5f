"""``max_pool`` and ``mean_pool`` against a loop over every window, and their errors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES, Bool, DType
from tensor_core.dtypes import COMPLEX, FLOATING
from tensor_core.errors import ArgumentError, DTypeError, ShapeError

Array = np.ndarray[Any, Any]


def whole_numbers(seed: int, shape: tuple[int, ...], dtype: DType) -> Array:
    rng = np.random.default_rng(seed)
    array = rng.integers(-9, 10, shape)
    if dtype in COMPLEX:
        array = array + 1j * rng.integers(-9, 10, shape)
    return np.array(array.astype(dtype.numpy_name), order="F" if seed % 2 else "C")


def by_loops(fold: Any, x: Array, window: Any, strides: Any, pairs: Any, dilation: Any) -> Any:
    """The fold of the elements that each window holds; None if one holds none."""
    spatial = x.shape[1:-1]
    counts = [
        max(0, (extent + before + after - (k - 1) * d - 1) // s + 1)
        for extent, (before, after), k, d, s in zip(spatial, pairs, window, dilation, strides, strict=True)
    ]
    results = []
    for place in product(*map(range, counts)):
        axes = [
            [i for k in range(size) if 0 <= (i := o * s + k * d - before) < extent]
            for o, s, size, d, (before, _), extent in zip(place, strides, window, dilation, pairs, spatial, strict=True)
        ]
        held = [x[(slice(None), *where)] for where in product(*axes)]
        if not held:
            return None
        results.append(fold(np.stack(held)))
    if not results:
        return fold(np.ones((1, *x.shape[:1], *counts, *x.shape[-1:]), x.dtype))
    return np.stack(results, 1).reshape(x.shape[0], *counts, x.shape[-1])


def largest(held: Array) -> Any:
    return held.max(0)


def mean(held: Array) -> Any:
    """Whole numbers: their sum is exact, so one rounding is left, as in the kernel."""
    if held.dtype.kind in "fc":
        return held.sum(0, dtype=held.dtype) / held.real.dtype.type(len(held))
    return held.sum(0, dtype=np.float64) / len(held)


@st.composite
def poolings(draw: st.DrawFn) -> tuple[Array, dict[str, Any], Any]:
    rank = draw(st.integers(1, 3))
    spatial = tuple(draw(st.integers(0, 5)) for _ in range(rank))
    window = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    strides = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    dilation = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    pairs: Any = [(0, 0)] * rank
    padding = draw(st.sampled_from(["VALID", "SAME", "pairs"]))
    if padding == "SAME":
        pairs = []
        for extent, k, s, d in zip(spatial, window, strides, dilation, strict=True):
            total = max((-(-extent // s) - 1) * s + (k - 1) * d + 1 - extent, 0) if extent else 0
            pairs.append((total // 2, total - total // 2))
    if padding == "pairs":
        pairs = tuple((draw(st.integers(-1, 4)), draw(st.integers(-1, 4))) for _ in range(rank))
        assume(all(extent + min(b, 0) + min(a, 0) >= 0 for extent, (b, a) in zip(spatial, pairs, strict=True)))
    x = whole_numbers(
        draw(st.integers(0, 99)),
        (draw(st.integers(0, 3)), *spatial, draw(st.integers(0, 3))),
        draw(st.sampled_from(DTYPES)),
    )
    options = {"strides": strides, "dilation": dilation, "padding": pairs if padding == "pairs" else padding}
    return x, {"window": window, **options}, pairs


@given(poolings())
def test_every_pooling_equals_the_loop(case: tuple[Array, dict[str, Any], Any]) -> None:
    x, options, pairs = case
    window, rest = options["window"], {name: options[name] for name in ("strides", "dilation", "padding")}
    for pool, fold in ((tr.max_pool, largest), (tr.mean_pool, mean)):
        if pool is tr.max_pool and x.dtype.kind == "c":
            continue
        expected = by_loops(fold, x, window, rest["strides"], pairs, rest["dilation"])
        if expected is None:
            with pytest.raises(ArgumentError, match="holds padding alone"):
                pool(tr.asarray(x), window, **rest)
            continue
        found = pool(tr.asarray(x), window, **rest)
        assert found.is_compact
        np.testing.assert_array_equal(found.to_numpy(), expected, strict=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_views_are_pooled_as_they_are(dtype: DType) -> None:
    x = whole_numbers(1, (4, 9, 8, 6), dtype)
    a = tr.asarray(x)
    for view, array in (
        (a[::2, ::-1, 1:, ::3], x[::2, ::-1, 1:, ::3]),
        (a.T, x.T),
        (tr.broadcast_to(a[:1, :, :1], x.shape), np.broadcast_to(x[:1, :, :1], x.shape)),
    ):
        found = tr.mean_pool(view, (3, 2), strides=1).to_numpy()
        np.testing.assert_array_equal(found, by_loops(mean, array, (3, 2), (1, 1), [(0, 0)] * 2, (1, 1)))
        if dtype not in COMPLEX:
            found = tr.max_pool(view, (3, 2), strides=1).to_numpy()
            np.testing.assert_array_equal(found, by_loops(largest, array, (3, 2), (1, 1), [(0, 0)] * 2, (1, 1)))


def test_the_order_in_memory_changes_nothing() -> None:
    compact = tr.asarray(whole_numbers(2, (8, 20, 21, 12), tr.F64))
    row_major = tr.transpose(tr.copy(tr.transpose(compact)))
    backwards = tr.reverse_view(tr.copy(tr.reverse_view(compact, (0, 2))), (0, 2))
    for pool in (tr.max_pool, tr.mean_pool):
        expected = pool(compact, 3, strides=2, padding="SAME").to_numpy()
        for view in (row_major, backwards):
            np.testing.assert_array_equal(pool(view, 3, strides=2, padding="SAME").to_numpy(), expected)


def test_strides_are_the_window_unless_given() -> None:
    x = tr.ones((2, 6, 9, 4))
    assert tr.max_pool(x, (2, 3)).shape == (2, 3, 3, 4)
    assert tr.max_pool(x, (2, 3), strides=1).shape == (2, 5, 7, 4)


def test_windows_larger_than_the_operand_give_nothing() -> None:
    assert tr.max_pool(tr.ones((2, 2, 9, 4)), 3).shape == (2, 0, 3, 4)
    assert tr.mean_pool(tr.ones((2, 0, 9, 4)), 3).shape == (2, 0, 3, 4)


def test_a_window_of_one_element_copies() -> None:
    x = tr.asarray(whole_numbers(1, (2, 3, 4, 2), tr.F64))
    for pool in (tr.max_pool, tr.mean_pool):
        found = pool(x, 1)
        np.testing.assert_array_equal(found.to_numpy(), x.to_numpy())
        assert not np.shares_memory(found.to_numpy(), x.to_numpy())


def test_nan_wins_every_maximum_it_is_in() -> None:
    x = tr.tensor([1.0, np.nan, 3.0, -np.inf, -np.inf]).reshape(1, 5, 1)
    found = tr.max_pool(x, 2, strides=1).to_numpy().ravel()
    np.testing.assert_array_equal(found, [np.nan, np.nan, 3.0, -np.inf])
    padded = tr.max_pool(x, 2, strides=2, padding=[(0, 1)]).to_numpy().ravel()
    np.testing.assert_array_equal(padded, [np.nan, 3.0, -np.inf])


def test_padding_never_is_the_maximum_and_is_never_counted() -> None:
    x = tr.tensor([-5, -7, -8]).reshape(1, 3, 1)
    assert tr.max_pool(x, 2, padding=[(1, 0)]).to_numpy().ravel().tolist() == [-5, -7]
    assert tr.mean_pool(x, 2, padding=[(1, 0)]).to_numpy().ravel().tolist() == [-5.0, -7.5]


def test_bool_pools_as_or_and_as_the_share_of_true() -> None:
    x = tr.tensor([True, False, False, False]).reshape(1, 4, 1)
    assert tr.max_pool(x, 2).dtype is Bool
    assert tr.max_pool(x, 2).to_numpy().ravel().tolist() == [True, False]
    assert tr.mean_pool(x, 2).to_numpy().ravel().tolist() == [0.5, 0.0]


@pytest.mark.parametrize("dtype", sorted(FLOATING, key=str), ids=str)
def test_means_of_floating_types_keep_them(dtype: DType) -> None:
    assert tr.mean_pool(tr.ones((1, 4, 1), dtype=dtype), 2).dtype is dtype


def test_the_order_of_axes_is_kept_in_three_dimensions() -> None:
    x = whole_numbers(1, (2, 4, 6, 8, 3), tr.F64)
    expected = x.reshape(2, 2, 2, 2, 3, 4, 2, 3).max((2, 4, 6))
    np.testing.assert_array_equal(tr.max_pool(tr.asarray(x), (2, 3, 2)).to_numpy(), expected)


def test_nothing_warns() -> None:
    with np.errstate(all="raise"):
        assert tr.mean_pool(tr.full((1, 2, 1), 1.7e308), 2).item() == np.inf
        assert np.isnan(tr.max_pool(tr.full((1, 2, 1), float("nan")), 2).item())


@pytest.mark.parametrize(
    ("shape", "window", "options", "error", "message"),
    [
        ((5, 3), 2, {}, ShapeError, r"max_pool: the operand has shape \(5, 3\); accepted: \[N, spatial..., C\]"),
        ((1, 5, 5, 1), 0, {}, ArgumentError, "window is 0; accepted: an int of 1 or more, or 2 of them"),
        ((1, 5, 5, 1), (2, 2, 2), {}, ArgumentError, r"window is \(2, 2, 2\)"),
        ((1, 5, 5, 1), 2.0, {}, ArgumentError, "window is 2.0; accepted: an int"),
        ((1, 5, 5, 1), 2, {"strides": 0}, ArgumentError, "strides is 0"),
        ((1, 5, 5, 1), 2, {"dilation": (1, 0)}, ArgumentError, r"dilation is \(1, 0\)"),
        ((1, 5, 5, 1), 2, {"padding": "same"}, ArgumentError, "padding is 'same'"),
        ((1, 5, 5, 1), 2, {"padding": [(2, 0), (0, 0)]}, ArgumentError, "window 0 along axis 1 .* holds padding alone"),
        ((1, 5, 5, 1), 2, {"padding": [(0, 0), (0, 3)]}, ArgumentError, "window 3 along axis 2 .* holds padding alone"),
        ((1, 2, 1), 2, {"padding": [(3, 2)], "dilation": 4, "strides": 1}, ArgumentError, "window 1 along axis 1"),
        ((1, 5, 1), 2, {"padding": [(-3, -3)]}, ShapeError, r"extent 5 and padding \(-3, -3\) removes more"),
    ],
)
def test_what_does_not_fit_is_named(shape: Any, window: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        tr.max_pool(tr.ones(shape), window, **options)


def test_complex_numbers_have_no_largest() -> None:
    with pytest.raises(
        DTypeError, match=r"max_pool: operand is C64 \(complex128\); accepted: Bool, F32, F64, I32, I64"
    ):
        tr.max_pool(tr.ones((1, 2, 1), dtype="C64"), 2)


@pytest.mark.parametrize("function", [tr.max_pool, tr.mean_pool])
def test_pooling_wants_rank_3_and_takes_windows_of_any_extent(function: Callable[..., tr.Tensor]) -> None:
    with pytest.raises(ShapeError):
        function(tr.tensor(1.0), 1)
    with pytest.raises(ShapeError):
        tr.infer(function, (tr.F64, ()), 1)
    assert function(tr.zeros((1, 3, 3)), 10**7).shape == (1, 0, 3)
    assert function(tr.zeros((1, 3, 3, 3)), 2**62).shape == (1, 0, 0, 3)
