"""The kernel "contract": equal to a naive sum for every combination of labels, dtypes and strides."""

from __future__ import annotations

import itertools
import tracemalloc
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import UnsupportedOperationError
from tensor_core.dtypes import as_dtype
from tensor_cpu.kernels.contraction.choice import bind_contract
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

Array = np.ndarray[Any, Any]
Labels = tuple[int, ...]
DTYPES = ["float32", "float64", "int32", "int64", "bool", "complex64", "complex128"]


def form(transposed: Array) -> Form:
    strides = tuple(stride // transposed.itemsize for stride in transposed.strides[::-1])
    return form_of(as_dtype(transposed.dtype), transposed.shape[::-1], CPU, strides)


def contract(x: Array, y: Array, x_labels: Labels, y_labels: Labels, out_labels: Labels) -> Array:
    """Bind and call with labels in reversed order of axes; checks what holds for every result."""
    extents = dict(zip((*x_labels, *y_labels), (*x.shape, *y.shape), strict=True))
    dtype = np.result_type(x, y)
    result = form_of(as_dtype(dtype), tuple(extents[label] for label in out_labels[::-1]), CPU)
    kernel = bind_contract((form(x), form(y)), result, (x_labels[::-1], y_labels[::-1], out_labels[::-1]))
    before = x.tobytes(), y.tobytes()
    out = kernel(x, y)
    assert type(out) is np.ndarray
    assert out.dtype == dtype
    assert out.shape == result.shape[::-1]
    assert out.flags.c_contiguous
    assert out.flags.owndata or type(out.base).__name__ == "PyCapsule"  # of the buffer pool
    assert out.flags.writeable
    assert not np.shares_memory(out, x)
    assert not np.shares_memory(out, y)
    assert (x.tobytes(), y.tobytes()) == before
    return out


def letters(term: str) -> Labels:
    return tuple(ord(letter) - ord("a") for letter in term)


def subscripted(subscripts: str, x: Array, y: Array) -> Array:
    inputs, output = subscripts.split("->")
    first, second = inputs.split(",")
    return contract(x, y, letters(first), letters(second), letters(output))


def naive(x: Array, y: Array, x_labels: Labels, y_labels: Labels, out_labels: Labels) -> Array:
    extents = dict(zip((*x_labels, *y_labels), (*x.shape, *y.shape), strict=True))
    dtype = np.result_type(x, y)
    out = np.zeros([extents[label] for label in out_labels], dtype)
    for values in itertools.product(*map(range, extents.values())):
        index = dict(zip(extents, values, strict=True))
        place, of_x, of_y = (tuple(index[label] for label in term) for term in (out_labels, x_labels, y_labels))
        out[place] = out[place] + x[of_x].astype(dtype) * y[of_y].astype(dtype)  # of Bool: or, and
    return out


def expected(x: Array, y: Array, x_labels: Labels, y_labels: Labels, out_labels: Labels) -> Array:
    dtype = np.result_type(x, y)
    exact = np.dtype(np.int64) if dtype == np.bool_ else dtype  # np.einsum sums Bool only in some cases
    return np.asarray(np.einsum(x.astype(exact), x_labels, y.astype(exact), y_labels, out_labels)).astype(dtype)


def integers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Small whole numbers of any dtype, so that sums are exact in every order."""
    values = np.asarray(rng.integers(-3, 4, shape))
    if dtype == "bool":
        return np.asarray(values > 0)
    if dtype.startswith("complex"):
        values = np.asarray(values + 1j * rng.integers(-3, 4, shape))
    return np.asarray(values.astype(dtype))


def strided(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, style: str) -> Array:
    rank = len(shape)
    if style == "permuted":
        order = rng.permutation(rank)
        return integers(rng, tuple(shape[axis] for axis in order), dtype).transpose(np.argsort(order))
    if style == "sliced":
        big = integers(rng, tuple(2 * extent + 1 for extent in shape), dtype)
        forward = [slice(extent) for extent in shape]
        spaced = [slice(0, 2 * extent, 2) for extent in shape]
        backward = [slice(2 * extent, extent, -1) for extent in shape]
        chosen = tuple(kinds[rng.integers(3)] for kinds in zip(forward, spaced, backward, strict=True))
        return np.asarray(big[chosen])
    if style == "broadcast":
        small = integers(rng, tuple(1 if rng.random() < 0.4 else extent for extent in shape), dtype)
        return np.broadcast_to(small, shape)
    return integers(rng, shape, dtype)


@pytest.fixture(autouse=True)
def _every_floating_point_event_is_an_error() -> Iterator[None]:
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@st.composite
def cases(draw: st.DrawFn, most_labels: int, extents: list[int]) -> tuple[Array, Array, Labels, Labels, Labels]:
    labels = range(draw(st.integers(0, most_labels)))
    x_labels, y_labels = (draw(st.permutations([label for label in labels if draw(st.booleans())])) for _ in "xy")
    known = sorted({*x_labels, *y_labels})
    out_labels = draw(st.permutations([label for label in known if draw(st.booleans())]))
    extent = {label: draw(st.sampled_from(extents)) for label in known}
    dtype = draw(st.sampled_from(DTYPES))
    other = draw(st.one_of(st.just(dtype), st.sampled_from(DTYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    styles = st.sampled_from(["compact", "permuted", "sliced", "broadcast"])
    x = strided(rng, tuple(extent[label] for label in x_labels), dtype, draw(styles))
    y = strided(rng, tuple(extent[label] for label in y_labels), other, draw(styles))
    return x, y, tuple(x_labels), tuple(y_labels), tuple(out_labels)


@given(cases(4, [0, 1, 2, 3]))
def test_every_contraction_equals_the_naive_sum(case: tuple[Array, Array, Labels, Labels, Labels]) -> None:
    assert np.array_equal(contract(*case), naive(*case))


@given(cases(8, [1, 2, 2, 3, 4]))
def test_every_contraction_of_rank_six_equals_einsum(case: tuple[Array, Array, Labels, Labels, Labels]) -> None:
    assert np.array_equal(contract(*case), expected(*case))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "subscripts",
    [
        "ij,jk->ik",  # the four ways to transpose a matrix product, both results
        "ji,jk->ik",
        "ij,kj->ik",
        "ji,kj->ki",
        "ij,jk->ki",
        "ij,j->i",
        "i,ij->j",
        "i,i->",
        "ij,ij->",
        "i,j->ji",
        "ij,ij->ij",
        "ij,ji->ij",
        "bij,bjk->bik",  # batch outermost, innermost, in the middle
        "ijb,jkb->ikb",
        "ibj,jbk->kbi",
        "abij,bajk->abik",
        "aib,ij->ajb",  # a short axis between long ones
        "aib,ij->abj",
        ",i->i",
        ",->",
        "ij,kl->",  # labels of one operand alone are summed
        "ij,kj->k",
    ],
)
def test_named_contractions_equal_einsum_in_every_dtype(subscripts: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    extent = dict(zip("abijkl", (70, 5, 4, 6, 3, 7), strict=True))
    first, second = subscripts.split("->")[0].split(",")
    x, y = (integers(rng, tuple(extent[label] for label in term), dtype) for term in (first, second))
    labels = letters(first), letters(second), letters(subscripts.split("->")[1])
    assert np.array_equal(subscripted(subscripts, x, y), expected(x, y, *labels))


@pytest.mark.parametrize(
    "subscripts", ["aib,ij->ajb", "iab,ij->abj", "abi,jb->ija", "ai,ajb->ijb", "iaj,jbi->ab", "aibj,ji->ba"]
)
@pytest.mark.parametrize("long", [2, 3, 40, 700])
def test_long_and_short_axes_in_any_place_equal_einsum(subscripts: str, long: int) -> None:
    rng = np.random.default_rng(long)
    extent = {"a": long, "b": 2100 // long, "i": 2, "j": 3}
    first, second = subscripts.split("->")[0].split(",")
    x, y = (integers(rng, tuple(extent[label] for label in term), "float64") for term in (first, second))
    labels = letters(first), letters(second), letters(subscripts.split("->")[1])
    assert np.array_equal(subscripted(subscripts, x, y), expected(x, y, *labels))


def test_an_empty_sum_is_zero_and_an_empty_result_stays_empty() -> None:
    assert subscripted("ij,jk->ik", np.ones((2, 0)), np.ones((0, 3))).tolist() == [[0.0] * 3] * 2
    assert subscripted("i,i->", np.ones(0), np.ones(0)).tolist() == 0.0
    assert subscripted("ij,jk->ik", np.ones((0, 2)), np.ones((2, 3))).shape == (0, 3)


def test_integers_wrap_exactly() -> None:
    big = np.full((2, 2), 2**62, np.int64)
    assert subscripted("ij,jk->ik", big, np.full((2, 2), 3, np.int64)).tolist() == [[-(2**63)] * 2] * 2


def test_bool_products_are_ands_and_sums_are_ors() -> None:
    x = np.ones((2, 300), np.bool_)
    assert subscripted("ij,kj->ik", x, x).tolist() == [[True] * 2] * 2
    assert subscripted("ij,->i", x, np.asarray(True)).tolist() == [True] * 2


def test_bool_counts_when_the_other_operand_is_a_number() -> None:
    assert subscripted("ij,->i", np.ones((2, 300), np.bool_), np.asarray(2)).tolist() == [600, 600]


@pytest.mark.parametrize("extent", [2, 40])
@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "ij,ij->ij", "bij,bjk->bik", "ij,ij->j", "ijb,jkb->ikb"])
def test_overflow_and_nan_never_warn(subscripts: str, extent: int) -> None:
    x = np.full((extent,) * len(subscripts.split(",")[0]), 1e308)
    x[0], x[-1] = np.inf, np.nan
    subscripted(subscripts, x, -x)


def test_an_infinity_stays_where_it_is() -> None:
    x = np.ones((64, 2, 2))
    x[5, 0, 1] = np.inf
    out = subscripted("aib,ij->ajb", x, np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert np.argwhere(~np.isfinite(out)).tolist() == [[5, 0, 1], [5, 1, 1]]


def test_many_short_axes_equal_the_product_of_fused_ones() -> None:
    rng = np.random.default_rng(3)
    x, y = integers(rng, (2,) * 20, "float64"), integers(rng, (2,) * 4, "float64")
    out = contract(x, y, tuple(range(20)), (7, 12, 20, 21), (*range(7), *range(8, 12), *range(13, 20), 21, 20))
    fused = np.einsum("aibjc,ijst->abcts", x.reshape(128, 2, 16, 2, 128), y)
    assert np.array_equal(out.ravel(), fused.ravel())


def test_sixty_four_axes_work_and_sixty_five_are_refused() -> None:
    x = np.arange(4.0).reshape((1,) * 62 + (2, 2))
    out = contract(x, np.ones(()), tuple(range(64)), (), tuple(range(63, -1, -1)))
    assert out.ravel().tolist() == [0.0, 2.0, 1.0, 3.0]
    a, b = form_of(as_dtype("F64"), (1,) * 33, CPU), form_of(as_dtype("F64"), (1,) * 32, CPU)
    result = form_of(as_dtype("F64"), (1,) * 65, CPU)
    with pytest.raises(UnsupportedOperationError, match="65 axes; the cpu backend stores at most 64"):
        bind_contract((a, b), result, (tuple(range(33)), tuple(range(33, 65)), tuple(range(65))))


def test_a_hyper_edge_needs_no_workspace_of_the_full_product() -> None:
    batch, inner = 20000, 8
    x, y = np.ones((2, inner, batch)), np.ones((2, inner, batch))
    labels = (0, 1, 2), (3, 1, 2), (0, 3, 2)
    result = form_of(as_dtype("F64"), (batch, 2, 2), CPU)
    kernel = bind_contract((form(x), form(y)), result, tuple(term[::-1] for term in labels))  # type: ignore[arg-type]
    tracemalloc.start()
    try:
        out = kernel(x, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.all(out == inner)
    assert peak < out.nbytes + x.nbytes + y.nbytes + 2**18  # the result, at most one copy of each operand, a block


def test_transposed_operands_of_any_size_are_copied_tile_by_tile() -> None:
    rng = np.random.default_rng(1)
    x = integers(rng, (2,) * 16, "float64")
    order = tuple(int(axis) for axis in rng.permutation(16))
    y = integers(rng, (2, 2), "float64")
    out_labels = (*(label for label in order if label not in (3, 9)), 16)
    out = contract(x, np.stack([y, y]), tuple(range(16)), (9, 3, 16), out_labels)
    assert np.array_equal(out, expected(x, np.stack([y, y]), tuple(range(16)), (9, 3, 16), out_labels))
