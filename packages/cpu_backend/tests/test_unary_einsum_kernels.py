"""The kernel "unary_einsum" and what it is made of: diagonals, sums, permutations, embeddings."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core.dtypes import as_dtype
from tensor_cpu.kernels.contraction import native_unary_einsum
from tensor_cpu.kernels.contraction.choice import bind_unary_einsum
from tensor_cpu.kernels.copy.permute import bind_fill, bind_tiles, fuse
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

Array = np.ndarray[Any, Any]
Labels = tuple[int, ...]


def form(transposed: Array) -> Form:
    strides = tuple(stride // transposed.itemsize for stride in transposed.strides[::-1])
    return form_of(as_dtype(transposed.dtype), transposed.shape[::-1], CPU, strides)


def unary_einsum(x: Array, labels: Labels, out: Labels) -> Array:
    extents = dict(zip(labels, x.shape, strict=True))
    result = form_of(as_dtype(x.dtype), tuple(extents[label] for label in out[::-1]), CPU)
    made: Array = bind_unary_einsum((form(x),), result, (labels[::-1], out[::-1]))(x)
    assert type(made) is np.ndarray
    assert made.dtype == x.dtype
    assert made.flags.c_contiguous
    assert made.flags.owndata
    assert made.flags.writeable
    assert not np.shares_memory(made, x)
    return made


def naive(x: Array, labels: Labels, out: Labels) -> Array:
    extents = dict(zip(labels, x.shape, strict=True))
    made = np.zeros([extents[label] for label in out], x.dtype)
    for values in itertools.product(*map(range, extents.values())):
        index = dict(zip(extents, values, strict=True))
        place = tuple(index[label] for label in out)
        made[place] = made[place] + x[tuple(index[label] for label in labels)]
    return made


@st.composite
def cases(draw: st.DrawFn) -> tuple[Array, Labels, Labels]:
    labels = tuple(draw(st.lists(st.integers(0, 3), max_size=5)))
    kept = [label for label in sorted(set(labels)) if draw(st.booleans())]
    repeated = draw(st.lists(st.sampled_from(kept), max_size=2)) if kept else []
    out = tuple(draw(st.permutations(kept + repeated)))
    extents = {label: draw(st.integers(0, 3)) for label in labels}
    dtype = draw(st.sampled_from(["float32", "float64", "int32", "int64", "bool", "complex64", "complex128"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    order = draw(st.permutations(range(len(labels))))
    shape = [extents[labels[axis]] for axis in order]
    x = np.asarray(rng.integers(-3, 4, shape) > 0 if dtype == "bool" else rng.integers(-3, 4, shape)).astype(dtype)
    x = np.asarray(x).transpose(np.argsort(order).tolist())
    return np.asarray(np.flip(x) if draw(st.booleans()) else x), labels, out


@given(cases())
def test_every_unary_einsum_equals_the_naive_loop(case: tuple[Array, Labels, Labels]) -> None:
    with np.errstate(all="raise"):
        assert np.array_equal(unary_einsum(*case), naive(*case))


@pytest.mark.parametrize("out", [(0,), (2, 0), (1,), (0, 0), (3, 1), ()])
@pytest.mark.parametrize("shape", [(50, 40, 3, 2), (2, 3, 50, 40), (40, 2, 50, 3), (3, 50, 2, 40)])
def test_sums_over_short_and_long_axes_equal_numpys(shape: tuple[int, ...], out: Labels) -> None:
    x = np.arange(float(np.prod(shape))).reshape(shape)
    kept = tuple(dict.fromkeys(out))
    total = np.einsum(x, (0, 1, 2, 3), kept)  # type: ignore[arg-type]
    made = unary_einsum(x, (0, 1, 2, 3), out)
    assert np.array_equal(np.diag(made) if out == (0, 0) else made, total)


@pytest.mark.skipif(not AVAILABLE, reason="the extension is absent")
@pytest.mark.parametrize("notation", ["abca->b", "abca->cb", "abac->bc", "aabb->", "abcab->c", "abcb->ca", "aab->b"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool", "complex128"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_native_sums_read_diagonals_of_any_strides(notation: str, dtype: str, step: int) -> None:
    extents = {"a": 17, "b": 5, "c": 4}
    text, out = notation.split("->")
    rng = np.random.default_rng(len(notation))
    x = rng.integers(-9, 10, [2 * extents[letter] for letter in text]).astype(dtype)
    if dtype == "bool":
        x &= rng.random(x.shape) < 0.01
    elif dtype == "int32":
        x *= 1 << 28  # sums wrap
    x = x[tuple(slice(None, extents[letter] * step if step > 0 else extents[letter] - 1, step) for letter in text)]
    labels, kept = tuple(map(ord, text[::-1])), tuple(map(ord, out[::-1]))
    summed = form_of(as_dtype(x.dtype), tuple(extents[letter] for letter in out[::-1]), CPU)
    kernel = native_unary_einsum.bind_unary_einsum((form(x),), summed, (labels, kept))
    assert (kernel is None) == (dtype == "bool" and out == "")  # whether any of all is true, NumPy says
    if kernel is not None:
        np.testing.assert_array_equal(kernel(x), np.einsum(notation, x))


def test_trace_diagonal_and_embedding_of_a_matrix() -> None:
    x = np.arange(9.0).reshape(3, 3)
    assert unary_einsum(x, (0, 0), ()).tolist() == 12.0
    assert unary_einsum(x, (0, 0), (0,)).tolist() == [0.0, 4.0, 8.0]
    assert unary_einsum(np.array([1.0, 2.0]), (0,), (0, 0)).tolist() == [[1.0, 0.0], [0.0, 2.0]]


@pytest.mark.parametrize("shape", [(3,) * 10, (2,) * 17, (300, 200), (17, 130, 90), (5000, 7)])
def test_large_permutations_equal_numpys(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    for order in (tuple(range(len(shape)))[::-1], tuple(int(axis) for axis in rng.permutation(len(shape)))):
        assert np.array_equal(unary_einsum(x, tuple(range(len(shape))), order), x.transpose(order))
        assert np.array_equal(unary_einsum(x[::-1], tuple(range(len(shape))), order), x[::-1].transpose(order))


def test_a_tiled_copy_reads_sources_with_gaps_and_repeats() -> None:
    x = np.broadcast_to(np.arange(600.0)[:, None, None], (600, 3, 40))[::2]
    source = x.transpose(2, 0, 1)
    strides = tuple(stride // 8 for stride in source.strides)
    assert fuse(source.shape, strides) == (source.shape, strides)
    for bind in (bind_fill, bind_tiles):
        target = np.empty(source.shape)
        bind(source.shape, strides)(target, source)
        assert np.array_equal(target, source)


def test_infinities_cancel_without_a_warning() -> None:
    with np.errstate(all="raise"):
        assert np.isnan(unary_einsum(np.array([np.inf, -np.inf] * 20), (0,), ()))


def test_a_call_that_ignores_fp_errors_overrides_the_callers_errstate() -> None:
    big = np.array([1e308])
    with np.errstate(all="raise"):
        assert ignoring_fp_errors(np.exp)(big).tolist() == [np.inf]
        assert ignoring_fp_errors(np.multiply)(big, big).tolist() == [np.inf]
        assert ignoring_fp_errors(lambda *arrays: sum(arrays))(big, big, big).tolist() == [np.inf]
        with pytest.raises(FloatingPointError, match="overflow"):
            np.multiply(big, big)
