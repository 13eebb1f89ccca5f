"""Native kernels that put arrays together: NumPy's result for any views, and layouts that do not fit are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_cpu.kernel_table import bind
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the extension was not built")


@settings(max_examples=60)
@given(st.data())
def test_any_views_are_joined_as_numpy_joins_them(data: st.DataObject) -> None:
    draw = data.draw
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    axis = draw(st.integers(0, len(shape) - 1))
    dtype = draw(st.sampled_from(("F32", "F64", "C64", "I32", "Bool")))
    stacked = draw(st.booleans())
    parts = []
    for seed in range(draw(st.integers(1, 4))):
        extents = [n if stacked or k != axis else draw(st.integers(0, 5)) for k, n in enumerate(shape)]
        order = draw(st.permutations(range(len(shape))))
        x = tr.cast(tr.uniform([2 * extents[k] for k in order], seed=seed) * 9.0 - 4.0, dtype)
        x = tr.transpose(x, tuple(int(k) for k in np.argsort(order)))
        parts.append(
            x[
                tuple(
                    slice(None, None, 2) if draw(st.booleans()) else slice(n - 1, None, -1) if n else slice(0)
                    for n in extents
                )
            ]
        )
        assert list(parts[-1].shape) == extents
    arrays = [part.to_numpy() for part in parts]
    found = tr.stack(parts, axis) if stacked else tr.concatenate(parts, axis)
    expected = np.stack(arrays, axis) if stacked else np.concatenate(arrays, axis)
    assert found.is_compact
    np.testing.assert_array_equal(found.to_numpy(), expected, strict=True)


def test_large_parts_and_many_parts_are_joined_too() -> None:
    x = tr.uniform((300, 200), seed=1)
    for axis in (0, 1):
        found = tr.concatenate([x, x[::-1], x[:, ::-1]], axis)
        y = x.to_numpy()
        np.testing.assert_array_equal(found.to_numpy(), np.concatenate([y, y[::-1], y[:, ::-1]], axis))
    for count in (64, 65, 100, 128, 129, 200):
        many = [tr.full((1, 2), float(k)) for k in range(count)]
        assert tr.concatenate(many).to_numpy()[:, 0].tolist() == list(range(count))
        assert tr.concatenate(many, 1).to_numpy().tolist() == [np.repeat(np.arange(count), 2).tolist()]
        assert tr.stack(many, 1).to_numpy()[0, :, 1].tolist() == list(range(count))


def test_parts_of_one_dtype_are_joined_natively_and_others_by_numpy() -> None:
    a, b = tr.zeros((2, 3)), tr.zeros((2, 3), dtype="I64")
    result = tr.zeros((4, 3))._form
    params: Any = (0,)
    assert "native kernel joined" in repr(bind("concatenate", (a._form, a._form), result, params))
    assert "native kernel" not in repr(bind("concatenate", (a._form, b._form), result, params))
    assert tr.concatenate([a, b]).dtype is tr.F64


@pytest.mark.parametrize("dtype", ["Bool", "I32", "F64", "C64"])
def test_views_of_any_order_are_repeated_tiled_and_padded_natively(dtype: str) -> None:
    whole = tr.cast(tr.uniform((40, 33), seed=3) * 9.0 - 4.0, dtype)
    for x in (whole, whole.T, whole[::2], whole[::-1, 1:30], whole[:, ::-3], whole[:1], whole[:0]):
        y = x.to_numpy()
        for axis, times in ((0, 1), (0, 2), (0, 9), (1, 3), (1, 40)):
            np.testing.assert_array_equal(tr.repeat(x, times, axis).to_numpy(), y.repeat(times, axis), strict=True)
        for times in ((2,), (3, 1), (1, 3), (2, 3), (2, 1, 2), (3, 2, 5), (0, 1)):
            np.testing.assert_array_equal(tr.tile(x, times).to_numpy(), np.tile(y, times), strict=True)
        for widths in (1, (0, 3), ((2, 0), (0, 0)), ((0, 0), (70, 1))):
            value = True if dtype == "Bool" else 3
            found = tr.pad(x, widths, constant_values=value)
            expected = np.pad(y, widths, constant_values=value)
            np.testing.assert_array_equal(found.to_numpy(), expected, strict=True)
            assert found.is_compact


@settings(max_examples=60)
@given(st.data())
def test_any_views_are_rolled_and_cut_to_triangles_as_by_numpy(data: st.DataObject) -> None:
    draw = data.draw
    shape = draw(st.lists(st.integers(0, 5), min_size=2, max_size=4))
    order = draw(st.permutations(range(len(shape))))
    x = tr.cast(tr.uniform([2 * n for n in shape], seed=1) * 9.0 - 4.0, draw(st.sampled_from(("F32", "I64", "Bool"))))
    steps = (draw(st.sampled_from((slice(n), slice(0, 2 * n, 2), slice(2 * n, n, -1)))) for n in shape)
    x = tr.transpose(x[tuple(steps)], order)
    y = x.to_numpy()
    axes = draw(st.lists(st.integers(0, x.rank - 1), min_size=1, max_size=x.rank, unique=True))
    shifts = [draw(st.sampled_from((-7, -1, 0, 1, 3, 10**30))) for _ in axes]
    expected = y
    for axis, shift in zip(axes, shifts, strict=True):
        expected = np.roll(expected, shift % max(y.shape[axis], 1), axis)
    np.testing.assert_array_equal(tr.roll(x, shifts, axes).to_numpy(), expected, strict=True)
    k = draw(st.integers(-6, 6))
    pair = draw(st.permutations(range(x.rank)))[:2]
    for ours, numpys in ((tr.tril, np.tril), (tr.triu, np.triu)):
        expected = np.moveaxis(numpys(np.moveaxis(y, pair, (-2, -1)), k), (-2, -1), pair)
        found = ours(x, k, axes=pair)
        np.testing.assert_array_equal(found.to_numpy(), expected, strict=True)
        assert found.is_compact
    np.testing.assert_array_equal(tr.tril(x, 10**30, axes=pair).to_numpy(), y)
    assert not tr.triu(x, 10**30, axes=pair).to_numpy().any()


def test_large_matrices_are_rolled_and_cut_by_several_threads() -> None:
    x = tr.uniform((700, 300), seed=1)
    y = x.to_numpy()
    for view, array in ((x, y), (x.T, y.T), (x[:, ::2], y[:, ::2])):
        for axis in (0, 1):
            np.testing.assert_array_equal(tr.roll(view, 5, axis).to_numpy(), np.roll(array, 5, axis))
        np.testing.assert_array_equal(tr.tril(view, 3).to_numpy(), np.tril(array, 3))
        np.testing.assert_array_equal(tr.triu(view, -3).to_numpy(), np.triu(array, -3))


def test_axes_and_shifts_that_do_not_fit_are_refused() -> None:
    for axes in ((2,), (-1,), (0, 0)):
        with pytest.raises(ValueError, match="bind_rolled: axes that do not fit the shape"):
            LIBRARY.bind_rolled((2, 3), "F64", (3, 1), axes)
    with pytest.raises(ValueError, match="bind_rolled: axes that do not fit the shape"):
        LIBRARY.bind_rolled((2, 0), "F64", (1, 1), (0,))
    for slow, fast, shift in ((1, 0, 0), (0, 0, 0), (0, 2, 0), (-1, 1, 0), (0, 1, 2**62)):
        with pytest.raises(ValueError, match="bind_triangle: axes and shift do not fit the shape"):
            LIBRARY.bind_triangle((2, 3), "F64", (3, 1), slow, fast, shift, True)
    rolled = LIBRARY.bind_rolled((3,), "F64", (1,), (0,))
    wrong: Any
    for wrong in ((), (1, 2), [1], 1, ("x",), (1.0,)):
        with pytest.raises(TypeError):
            rolled(np.ones(3), wrong)


@pytest.mark.parametrize("lows", [(-3, 2), (5, -5), (-5, 0), (4, 4), (50, 0), (0, -60), (-(2**40), 2**40)])
def test_what_padding_crops_is_not_there(lows: tuple[int, int]) -> None:
    x, shape = np.arange(63.0).reshape(7, 9), (6, 8)
    kernel = LIBRARY.bind_padded(shape, "F64", x.shape, (9, 1), lows)
    expected = np.full(shape, -1.0)
    for i, j in np.ndindex(x.shape):
        if 0 <= i + lows[0] < 6 and 0 <= j + lows[1] < 8:
            expected[i + lows[0], j + lows[1]] = x[i, j]
    np.testing.assert_array_equal(kernel(x, np.array(-1.0)), expected)


def test_places_and_shapes_that_do_not_fit_are_refused() -> None:
    for wrong in (((4,), (1, 0)), ((4, 3), (1,)), ((4, 3), (2**62, 0))):
        with pytest.raises(ValueError, match="bind_padded: shape, extents and places do not fit"):
            LIBRARY.bind_padded(wrong[0], "F64", (2, 3), (3, 1), wrong[1])
    with pytest.raises(ValueError, match="bind_copy: the shape has 5 elements, the extents 6"):
        LIBRARY.bind_copy((2, 3), (3, 1), "F64", (5,))


def test_what_does_not_fill_the_result_is_refused() -> None:
    part = ((2, 3), (3, 1))
    LIBRARY.bind_joined((4, 3), "F64", 0, (part, part))
    wrong: Any
    for wrong in (
        ((4, 3), "F64", 0, (part,)),
        ((3, 3), "F64", 0, (part, part)),
        ((4, 3), "F64", 1, (part, part)),
        ((4, 3), "F64", 2, (part, part)),
        ((4, 3), "F64", -1, (part, part)),
        ((4, 3), "F64", 0, (part, ((-2, 3), (3, 1)))),
        ((4, 3), "F64", 0, (part, ((2,), (3,)))),
    ):
        with pytest.raises(ValueError, match="bind_joined"):
            LIBRARY.bind_joined(*wrong)
    for wrong in (((4, 3), "F64", "x", (part, part)), ((4, 3), "F64", 0, 5), ((4, 3), "F64", 0, (5, part))):
        with pytest.raises(TypeError):
            LIBRARY.bind_joined(*wrong)
