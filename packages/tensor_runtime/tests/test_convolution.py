"""``conv`` against a loop over every index, against SciPy, and its errors."""

from __future__ import annotations

import tracemalloc
from itertools import product
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DType, promote
from tensor_core.dtypes import COMPLEX, INTEGER, NUMERIC
from tensor_core.errors import ArgumentError, DTypeError, PlacementError, ShapeError, SizeLimitError
from tensor_runtime.testing.simulated_device import SimulatedBackend

Array = np.ndarray[Any, Any]
DTYPES = sorted(NUMERIC, key=str)


def whole_numbers(seed: int, shape: tuple[int, ...], dtype: DType) -> Array:
    rng = np.random.default_rng(seed)
    array = rng.integers(-4, 5, shape)
    if dtype in COMPLEX:
        array = array + 1j * rng.integers(-4, 5, shape)
    return np.array(array.astype(dtype.numpy_name), order="F" if seed % 2 else "C")


def same_pairs(spatial: Any, kernel: Any, strides: Any, dilation: Any) -> list[tuple[int, int]]:
    """TensorFlow's rule, as its documentation states it."""
    pairs = []
    for extent, k, s, d in zip(spatial, kernel, strides, dilation, strict=True):
        total = max((ceil(extent / s) - 1) * s + (k - 1) * d + 1 - extent, 0) if extent else 0
        pairs.append((total // 2, total - total // 2))
    return pairs


def by_loops(x: Array, w: Array, strides: Any, pairs: Any, dilation: Any, groups: int) -> Array:
    """The definition, one product at a time; elements outside the operand count as zero."""
    spatial, kernel = x.shape[1:-1], w.shape[:-2]
    counts = [
        max(0, (extent + before + after - (k - 1) * d - 1) // s + 1)
        for extent, (before, after), k, d, s in zip(spatial, pairs, kernel, dilation, strides, strict=True)
    ]
    dtype = np.result_type(x, w)
    out = np.zeros((x.shape[0], *counts, w.shape[-1]), dtype)
    per_in, per_out = x.shape[-1] // groups, w.shape[-1] // groups
    for place in product(*map(range, counts)):
        for tap in product(*map(range, kernel)):
            where = [o * s + k * d - b for o, s, k, d, (b, _) in zip(place, strides, tap, dilation, pairs, strict=True)]
            if not all(0 <= i < n for i, n in zip(where, spatial, strict=True)):
                continue
            for g in range(groups):
                ins = slice(g * per_in, (g + 1) * per_in)
                outs = slice(g * per_out, (g + 1) * per_out)
                terms = x[(slice(None), *where, ins)].astype(dtype)[:, :, None] * w[tap][None, :, outs].astype(dtype)
                index: tuple[Any, ...] = (slice(None), *place, outs)
                out[index] += terms.sum(1, dtype=dtype)
    return out


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[Array, Array, dict[str, Any], list[tuple[int, int]]]:
    rank = draw(st.integers(1, 3))
    small = 4 if rank == 3 else 7
    spatial = tuple(draw(st.integers(0, small)) for _ in range(rank))
    kernel = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    groups = draw(st.integers(1, 3))
    channels, filters = groups * draw(st.integers(0, 2)), groups * draw(st.integers(0, 2))
    strides = [draw(st.integers(1, 4)) for _ in range(rank)]
    dilation = [draw(st.integers(1, 3)) for _ in range(rank)]
    mode = draw(st.sampled_from(["VALID", "SAME", "pairs"]))
    pairs = {"VALID": [(0, 0)] * rank, "SAME": same_pairs(spatial, kernel, strides, dilation)}.get(mode)
    if pairs is None:
        pairs = [(draw(st.integers(-1, 3)), draw(st.integers(-1, 3))) for _ in range(rank)]
        pairs = [pair if extent >= 2 else (abs(pair[0]), abs(pair[1])) for pair, extent in zip(pairs, spatial)]  # noqa: B905
    one, two = draw(st.sampled_from(DTYPES)), draw(st.sampled_from(DTYPES))
    seed = draw(st.integers(0, 99))
    x = whole_numbers(seed, (draw(st.integers(0, 3)), *spatial, channels), one)
    w = whole_numbers(seed + 1, (*kernel, channels // groups, filters), two)
    padding = pairs if mode == "pairs" else mode
    return x, w, {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}, pairs


@given(convolutions())
def test_every_convolution_equals_the_loop(case: tuple[Array, Array, dict[str, Any], list[tuple[int, int]]]) -> None:
    x, w, options, pairs = case
    found = tr.conv(tr.asarray(x), tr.asarray(w), **options)
    expected = by_loops(x, w, options["strides"], pairs, options["dilation"], options["groups"])
    assert found.is_compact
    assert found.dtype is promote(tr.asarray(x).dtype, tr.asarray(w).dtype)
    np.testing.assert_array_equal(found.to_numpy(), expected, strict=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("groups", "blocks"), [(1, True), (2, True), (2, False)])
def test_blocks_leave_no_seam(dtype: DType, groups: int, blocks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    import tensor_cpu.kernels.convolution as kernels

    if blocks:
        monkeypatch.setattr(kernels, "_bind_contraction", lambda *parts: None)
    monkeypatch.setattr(kernels, "_BLOCK", 4000)
    monkeypatch.setattr(kernels, "_FEWEST", 1)
    tr.binding_cache.clear()
    for shape in ((3, 7, 9, 4), (40, 5, 6, 4), (1, 30, 4, 4)):
        x, w = whole_numbers(2, shape, dtype), whole_numbers(3, (3, 2, 4 // groups, 6), dtype)
        found = tr.conv(tr.asarray(x), tr.asarray(w), padding="SAME", groups=groups)
        pairs = same_pairs(shape[1:3], (3, 2), (1, 1), (1, 1))
        np.testing.assert_array_equal(found.to_numpy(), by_loops(x, w, (1, 1), pairs, (1, 1), groups))
    tr.binding_cache.clear()


def test_one_dimension_equals_scipys_correlation() -> None:
    from scipy.signal import correlate

    x, w = whole_numbers(1, (50,), tr.F64), whole_numbers(2, (7,), tr.F64)
    found = tr.conv(tr.asarray(x).reshape(1, 50, 1), tr.asarray(w).reshape(7, 1, 1))
    np.testing.assert_array_equal(found.to_numpy().ravel(), correlate(x, w, mode="valid", method="direct"))


def test_two_dimensions_equal_scipys_correlation() -> None:
    from scipy.signal import correlate2d

    x, w = whole_numbers(1, (9, 8), tr.I64), whole_numbers(2, (3, 5), tr.I64)
    found = tr.conv(tr.asarray(x).reshape(1, 9, 8, 1), tr.asarray(w).reshape(3, 5, 1, 1), padding="SAME")
    np.testing.assert_array_equal(found.reshape(9, 8).to_numpy(), correlate2d(x, w, mode="same"))


def test_reversed_filters_give_the_convolution_of_mathematics() -> None:
    x, w = whole_numbers(1, (6,), tr.I64), whole_numbers(2, (3,), tr.I64)
    filters = tr.reverse_view(tr.asarray(w).reshape(3, 1, 1), 0)
    found = tr.conv(tr.asarray(x).reshape(1, 6, 1), filters, padding=[(2, 2)])
    np.testing.assert_array_equal(found.to_numpy().ravel(), np.convolve(x, w))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_views_are_convolved_as_they_are(dtype: DType) -> None:
    x, w = whole_numbers(1, (4, 9, 8, 6), dtype), whole_numbers(3, (3, 3, 6, 4), dtype)
    a, b = tr.asarray(x), tr.asarray(w)
    views = [
        (a[::2, ::-1, 1:, ::3], x[::2, ::-1, 1:, ::3], b[:, :, :2], w[:, :, :2]),
        (a.T, x.T, tr.permute_axes(b, (0, 1, 3, 2))[:, :, :, ::-1], w.transpose(0, 1, 3, 2)[:, :, :, ::-1]),
        (tr.broadcast_to(a[:1, :, :1], x.shape), np.broadcast_to(x[:1, :, :1], x.shape), b[::2, ::-1], w[::2, ::-1]),
    ]
    for one, array, two, kernel in views:
        if one.shape[-1] != two.shape[-2]:
            two, kernel = two[:, :, : one.shape[-1]], kernel[:, :, : one.shape[-1]]
        for padding, pairs in (("VALID", [(0, 0)] * 2), ([(-1, 1), (2, -2)], [(-1, 1), (2, -2)])):
            found = tr.conv(one, two, padding=padding)
            np.testing.assert_array_equal(found.to_numpy(), by_loops(array, kernel, (1, 1), pairs, (1, 1), 1))


@pytest.mark.parametrize("padding", ["VALID", "SAME", ((-1, 2), (3, -2))])
def test_the_order_in_memory_changes_nothing(padding: Any) -> None:
    x, w = whole_numbers(2, (8, 20, 21, 12), tr.F64), tr.asarray(whole_numbers(3, (3, 2, 12, 5), tr.F64))
    compact = tr.asarray(x)
    expected = tr.conv(compact, w, padding=padding).to_numpy()
    row_major = tr.transpose(tr.copy(tr.transpose(compact)))
    backwards = tr.reverse_view(tr.copy(tr.reverse_view(compact, (0, 2))), (0, 2))
    for view in (row_major, backwards):
        assert not view.is_compact
        np.testing.assert_array_equal(tr.conv(view, w, padding=padding).to_numpy(), expected)


@pytest.mark.parametrize("dtype", ["F64", "I64"])
def test_the_workspace_is_small_however_large_the_operands(dtype: str) -> None:
    x, w = tr.ones((4, 200, 100, 8), dtype=dtype), tr.ones((3, 3, 8, 2), dtype=dtype)
    tr.conv(x, w)
    tracemalloc.start()
    found = tr.conv(x, w)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < found.nbytes + 4 * 2**20 < 2 * x.nbytes  # all columns at once would take nine times the operand


@pytest.mark.parametrize(
    ("spatial", "kernel", "options", "windows"),
    [
        ((5, 6), (3, 3), {"strides": 2, "padding": "SAME"}, (3, 3)),
        ((5, 6), (3, 3), {}, (3, 4)),
        ((5, 6), (3, 3), {"strides": (1, 3)}, (3, 2)),
        ((5, 6), (3, 3), {"strides": 7}, (1, 1)),
        ((5, 6), (3, 3), {"dilation": 2}, (1, 2)),
        ((2, 6), (3, 3), {}, (0, 4)),
        ((2, 6), (3, 3), {"padding": "SAME"}, (2, 6)),
        ((0, 6), (1, 3), {"padding": "SAME"}, (0, 6)),
        ((0, 6), (1, 3), {"padding": ((2, 1), (0, 0))}, (3, 4)),
        ((5, 6), (3, 3), {"padding": ((-1, -1), (0, -3))}, (1, 1)),
        ((5, 6), (3, 3), {"strides": 2**80, "dilation": (2**80, 1)}, (0, 1)),
    ],
)
def test_windows_are_counted(spatial: Any, kernel: Any, options: Any, windows: Any) -> None:
    found = tr.conv(tr.ones((2, *spatial, 3)), tr.ones((*kernel, 3, 4)), **options)
    assert found.shape == (2, *windows, 4)


def test_a_depthwise_filter_meets_its_channel_alone() -> None:
    x = whole_numbers(1, (2, 5, 5, 3), tr.F32)
    w = whole_numbers(2, (3, 3, 1, 6), tr.F32)
    found = tr.conv(tr.asarray(x), tr.asarray(w), groups=3).to_numpy()
    for f in range(6):
        alone = tr.conv(tr.asarray(x)[..., f // 2 : f // 2 + 1], tr.asarray(w)[..., f : f + 1]).to_numpy()
        np.testing.assert_array_equal(found[..., f : f + 1], alone)


def test_complex_filters_are_not_conjugated() -> None:
    x, w = tr.tensor([[[1j]]]), tr.tensor([[[1j]]])
    assert tr.conv(x, w).item() == -1


@pytest.mark.parametrize("dtype", sorted(INTEGER, key=str), ids=str)
def test_integers_wrap(dtype: DType) -> None:
    bits = 8 * dtype.itemsize
    x = tr.full((1, 2, 1), 2 ** (bits - 2), dtype=dtype)
    assert tr.conv(x, tr.full((2, 1, 1), 1, dtype=dtype)).item() == -(2 ** (bits - 1))
    assert tr.conv(x, tr.full((2, 1, 1), 2, dtype=dtype)).item() == 0


def test_padding_takes_part_as_zeros() -> None:
    x, w = tr.ones((1, 1, 1)), tr.tensor([np.inf, 1.0]).reshape(2, 1, 1)
    assert np.isnan(tr.conv(x, w, padding=[(1, 0)]).item())


def test_nothing_warns_about_overflow_or_nan() -> None:
    x = tr.full((1, 3, 1), 1e308)
    with np.errstate(all="raise"):
        assert tr.conv(x, tr.full((3, 1, 1), 1e308)).item() == np.inf
        assert np.isnan(tr.conv(x * np.inf, tr.zeros((3, 1, 1))).item())


X, W = (2, 5, 6, 3), (3, 3, 3, 4)


@pytest.mark.parametrize(
    ("x", "w", "options", "error", "message"),
    [
        ((5, 3), W, {}, ShapeError, r"x has shape \(5, 3\); accepted: \[N, spatial..., C_in\], rank 3 or more"),
        (X, (3, 3, 4), {}, ShapeError, r"2 spatial axes, and filters have shape \(3, 3, 4\); accepted: .* of rank 4"),
        (X, (3, 3, 4, 4), {}, ShapeError, "axis 3 of x has 3 channels but axis 2 of filters has 4; accepted: equal"),
        ((2, 5, 6, 4), (3, 3, 1, 4), {"groups": 2}, ShapeError, "4 channels, 2 in each of 2 groups, but axis 2 .* 1"),
        (X, W, {"groups": 2}, ShapeError, "axis 3 of x has 3 channels, which 2 groups do not divide"),
        (X, (3, 3, 1, 4), {"groups": 3}, ShapeError, "axis 3 of filters has 4 channels, which 3 groups do not divide"),
        (X, W, {"groups": 0}, ArgumentError, "groups is 0; accepted: an int of 1 or more"),
        (X, W, {"groups": 1.0}, ArgumentError, "groups is 1.0; accepted"),
        (X, (0, 3, 3, 4), {}, ShapeError, "axis 0 of filters has extent 0"),
        (X, W, {"strides": 0}, ArgumentError, "strides is 0; accepted: an int of 1 or more, or 2 of them"),
        (X, W, {"strides": (1, -1)}, ArgumentError, r"strides is \(1, -1\)"),
        (X, W, {"strides": (1, 1, 1)}, ArgumentError, "or 2 of them, one per spatial axis"),
        (X, W, {"strides": 1.5}, ArgumentError, "strides is 1.5; accepted: an int"),
        (X, W, {"dilation": 0}, ArgumentError, "dilation is 0"),
        (X, W, {"padding": "FULL"}, ArgumentError, "padding is 'FULL'; accepted: 'VALID', 'SAME', or one pair"),
        (X, W, {"padding": "same"}, ArgumentError, "padding is 'same'"),
        (X, W, {"padding": 1}, ArgumentError, "padding is 1"),
        (X, W, {"padding": (1, 1)}, ArgumentError, r"padding is \(1, 1\)"),
        (X, W, {"padding": [(1, 1)]}, ArgumentError, "padding has 1 pairs for 2 spatial axes"),
        (X, W, {"padding": [(-3, -3), (0, 0)]}, ShapeError, r"axis 1 .* extent 5 and padding \(-3, -3\) removes more"),
        (X, W, {"padding": [(-6, 9), (0, 0)]}, ShapeError, r"axis 1 .* removes more"),
        (X, W, {"padding": [(2**40, 0), (2**40, 0)], "strides": 2**50}, SizeLimitError, "more than 2"),
    ],
)
def test_what_does_not_fit_is_named(x: Any, w: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        tr.conv(tr.ones(x), tr.ones(w), **options)


def test_bool_alone_and_what_is_no_tensor_are_refused() -> None:
    mask = tr.ones((1, 3, 1), dtype="Bool")
    with pytest.raises(DTypeError, match="conv: operands are Bool, Bool; accepted: C32, C64, F32, F64, I32, I64"):
        tr.conv(mask, tr.ones((1, 1, 1), dtype="Bool"))
    assert tr.conv(mask, tr.ones((3, 1, 1))).item() == 3.0
    with pytest.raises(DTypeError, match="conv: found ndarray; accepted: a tensor"):
        tr.conv(mask, np.ones((1, 1, 1)))  # type: ignore[arg-type]


def test_more_axes_than_an_array_has_are_refused_by_name() -> None:
    with pytest.raises(tr.TensorError, match="conv: the operand has 40 axes; the cpu backend takes at most 32"):
        tr.conv(tr.ones((1,) * 40), tr.ones((1,) * 40))


def test_operands_in_different_places_are_listed() -> None:
    device = SimulatedBackend(tr.backend("cpu"), "simulated")
    tr.register_backend("simulated", device)
    try:
        there = tr.to(tr.ones((1, 1, 1)), device.placement())
        with pytest.raises(PlacementError, match="conv: operands live in different places"):
            tr.conv(tr.ones((1, 3, 1)), there)
    finally:
        from tensor_runtime.backends.registry import registry

        registry.unregister("simulated")


def test_convolution_wants_rank_3() -> None:
    with pytest.raises(ShapeError):
        tr.conv(tr.tensor(1.0), tr.zeros((2, 2)))
    with pytest.raises(ShapeError):
        tr.infer(tr.conv, (tr.F64, ()), (tr.F64, ()))
