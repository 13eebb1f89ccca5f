"""Stacks of small products in C: equal to NumPy's for any layout, type, instruction set and number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contraction_cases import whole_numbers
from tensor_cpu.kernels.contraction.choice import plan_contraction
from tensor_cpu.kernels.contraction.loops.stack import StackProduct, bind_stack, plan_stack
from tensor_cpu.kernels.contraction.native import PairProduct, ScatterProduct
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import Operand, join, row_major
from tensor_runtime.backends.shared.products import MatrixProduct

if not AVAILABLE:
    pytest.skip("the extension is absent", allow_module_level=True)

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64", "complex64", "complex128"]
_EVERY = ["plain", "avx2", "avx512"]
INSTRUCTION_SETS = _EVERY[: _EVERY.index(LIBRARY.instruction_set()) + 1]
pytestmark = pytest.mark.usefixtures("restored")


def strided(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """An array whose axes lie in any order, forwards or backwards, with gaps, or repeated."""
    order, steps = rng.permutation(len(shape)), [int(rng.choice([1, 1, 1, 2, -1, 0])) for _ in shape]
    stored = whole_numbers(rng, tuple(1 if steps[i] == 0 else shape[i] * abs(steps[i]) for i in order), dtype)
    array = stored.transpose(np.argsort(order))
    return np.broadcast_to(array[tuple(slice(None, None, step) if step else slice(None) for step in steps)], shape)


def form_of(array: Array, labels: str) -> Operand:
    strides = tuple(step // array.itemsize for step in array.strides)
    return Operand(tuple(map(ord, labels)), array.shape, strides, array.dtype.name)


def planned(x: Array, y: Array, subscripts: str) -> tuple[Any, Operand]:
    inputs, output = subscripts.split("->")
    of_x, of_y = inputs.split(",")
    forms = form_of(x, of_x), form_of(y, of_y)
    extents = {chr(label): extent for form in forms for label, extent in zip(form.labels, form.shape, strict=True)}
    result = row_major(tuple(map(ord, output)), tuple(extents[label] for label in output), x.dtype.name)
    return plan_stack(join(*forms, result), *forms, result), result


@pytest.mark.parametrize("instructions", INSTRUCTION_SETS)
@pytest.mark.parametrize("dtype", DTYPES)
@given(seed=st.integers(0, 2**32 - 1), threads=st.integers(1, 3), most=st.sampled_from([4, 9, 40]))
def test_stacks_of_products_of_whole_numbers_are_exact(
    instructions: str, dtype: str, seed: int, threads: int, most: int
) -> None:
    LIBRARY.set_instruction_set(instructions)
    LIBRARY.set_threads(threads)
    rng = np.random.default_rng(seed)
    extents = {label: int(rng.integers(1, 1 + most)) for label in "ijk"} | {"b": int(rng.integers(1, 40)), "e": 2}
    of_x, of_y, out = ("".join(rng.permutation(list(labels))) for labels in ("ijbe", "jkbe", "ikbe"))
    x, y = (strided(rng, tuple(extents[label] for label in labels), dtype) for labels in (of_x, of_y))
    subscripts = f"{of_x},{of_y}->{out}"
    plan, result = planned(x, y, subscripts)
    if plan is not None:
        np.testing.assert_array_equal(bind_stack(plan, result)(x, y), np.einsum(subscripts, x, y))


# Large enough for several blocks, packed panels, parts of vectors, staging past the cache, and threads.
LARGE = {
    "one after the other": ("bkj,bji->bki", {"b": 700, "i": 6, "j": 5, "k": 9}),
    "past the cache": ("bkj,bji->bki", {"b": 3_000, "i": 11, "j": 2, "k": 6}),
    "transposed rows": ("bkj,bij->bki", {"b": 300, "i": 13, "j": 7, "k": 4}),
    "one matrix of rows": ("bkj,ij->bki", {"b": 300, "i": 13, "j": 7, "k": 4}),
    "side by side": ("jib,kjb->kib", {"b": 203, "i": 5, "j": 7, "k": 6}),
    "side by side, many": ("jib,kjb->kib", {"b": 4100, "i": 13, "j": 12, "k": 9}),
    "side by side, past the cache": ("jib,kjb->kib", {"b": 2_008, "i": 11, "j": 2, "k": 10}),
    "side by side, a few": ("sjib,skjb->skib", {"s": 30, "b": 4, "i": 50, "j": 2, "k": 3}),
    "inner products": ("bj,bj->b", {"b": 1001, "j": 6}),
    "outer products": ("bi,bk->bki", {"b": 1001, "i": 5, "k": 4}),
    "many columns": ("kj,ji->ki", {"i": 9, "j": 8, "k": 5000}),
    "many rows": ("kj,ji->ki", {"i": 5003, "j": 8, "k": 8}),
    "long sums": ("kj,ji->ki", {"i": 1501, "j": 203, "k": 3}),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LARGE)
def test_large_stacks_are_exact_for_whole_numbers_in_any_number_of_threads(name: str, dtype: str) -> None:
    subscripts, extents = LARGE[name]
    LIBRARY.set_streamed_bytes(1 << 17 if "past the cache" in name else 1 << 24)
    rng = np.random.default_rng(1)
    of_x, of_y = subscripts.split("->")[0].split(",")
    x, y = (whole_numbers(rng, tuple(extents[label] for label in labels), dtype) for labels in (of_x, of_y))
    plan, result = planned(x, y, subscripts)
    assert plan is not None
    expected = np.einsum(subscripts, x, y, optimize=True)
    for instructions in INSTRUCTION_SETS[-1:] if x.nbytes > 1 << 18 else INSTRUCTION_SETS:
        LIBRARY.set_instruction_set(instructions)
        for threads in (1, 3):
            LIBRARY.set_threads(threads)
            np.testing.assert_array_equal(bind_stack(plan, result)(x, y), expected)


@pytest.mark.parametrize("subscripts", ["bkj,bji->bki", "jib,kjb->kib"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_product_has_the_same_bits_in_every_place_of_every_stack(dtype: str, subscripts: str) -> None:
    rng = np.random.default_rng(2)
    inputs, output = subscripts.split("->")
    shapes = [tuple({"b": 67, "i": 5, "j": 6, "k": 3}[label] for label in labels) for labels in inputs.split(",")]
    x, y = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    plan, result = planned(x, y, subscripts)
    whole = bind_stack(plan, result)(x, y)
    axes = [labels.index("b") for labels in (*inputs.split(","), output)]
    for first, last in ((3, 20), (60, 67), (1, 3)):
        few = [np.ascontiguousarray(a.take(range(first, last), axis)) for a, axis in zip((x, y), axes, strict=False)]
        plan, result = planned(few[0], few[1], subscripts)
        assert bind_stack(plan, result)(few[0], few[1]).tobytes() == whole.take(range(first, last), axes[2]).tobytes()


def test_infinities_nans_and_signs_of_zero_are_those_of_the_products() -> None:
    values = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e308, -3.0, 5e-324])
    for instructions in INSTRUCTION_SETS:
        LIBRARY.set_instruction_set(instructions)
        x, y = np.repeat(values, 8).reshape(-1, 1, 1), np.tile(values, 8).reshape(-1, 1, 1)
        x, y = np.repeat(x, 2, 1), np.repeat(y, 2, 2)
        plan, result = planned(x, y, "bkj,bji->bki")
        with np.errstate(all="ignore"):
            expected = x * y
        out = bind_stack(plan, result)(x, y)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(np.signbit(out)[~np.isnan(out)], np.signbit(expected)[~np.isnan(expected)])


@pytest.mark.skipif(LIBRARY.instruction_set() != "avx512", reason="the estimates were measured with AVX-512")
def test_stacks_of_small_products_go_to_the_kernel_and_large_products_do_not() -> None:
    def chosen(subscripts: str, **extents: int) -> Any:
        inputs, output = subscripts.split("->")
        x, y, result = (
            row_major(tuple(map(ord, labels)), tuple(extents[label] for label in labels), "float64")
            for labels in (*inputs.split(","), output)
        )
        return plan_contraction(x, y, result)

    for side in (2, 3, 4, 6, 8, 16):
        assert isinstance(chosen("bkj,bji->bki", b=1000, i=side, j=side, k=side), StackProduct)
        assert isinstance(chosen("jib,kjb->kib", b=1000, i=side, j=side, k=side), StackProduct)
    assert isinstance(chosen("kj,ji->ki", i=100_000, j=8, k=8), StackProduct)
    assert isinstance(chosen("kj,ji->ki", i=8, j=8, k=100_000), StackProduct)
    # of these two several kernels take the same time
    assert isinstance(chosen("kj,ji->ki", i=2000, j=2000, k=4), StackProduct | PairProduct)
    assert isinstance(chosen("kj,ji->ki", i=2000, j=2000, k=1), MatrixProduct | PairProduct)
    assert isinstance(chosen("kj,ji->ki", i=1, j=2000, k=2000), MatrixProduct)
    assert isinstance(chosen("kj,ji->ki", i=500, j=500, k=500), MatrixProduct | ScatterProduct)


def test_arrays_beyond_the_cache_are_walked_where_their_neighbours_are() -> None:
    """Each of these was read a line for one element by the kernel that is cheapest for small arrays."""

    def chosen(subscripts: str) -> object:
        of_x, of_y, out = subscripts.replace("->", ",").split(",")
        x, y, result = (
            row_major(tuple(map(ord, term[::-1])), (2,) * len(term), "float64") for term in (of_x, of_y, out)
        )
        return plan_contraction(x, y, result)

    terms = "ab", "cdefghbijklmnopqrstuv", "acdefghijklmnopqrstuv"
    forms = [row_major(tuple(map(ord, term[::-1])), (2,) * len(term), "float64") for term in terms]
    near = plan_stack(join(*forms), *forms)
    assert near is not None
    assert [axis.strides[1] for axis in near.columns] == [1]
    sums = chosen("abcdefghijklmnopqrstuv,hkplmognrabcdefvswjqt->iklpqvruw")
    assert isinstance(sums, MatrixProduct)
    assert isinstance(chosen("abcdefghijklmnopqrstu,lvab->abcdefghijkvmnopqrstu"), PairProduct | MatrixProduct)


@pytest.mark.parametrize(
    ("shape", "groups", "why"),
    [
        ((4, 3), ((), (), ((4, 1, 0, 3),), ((3, 0, 1, 1),), ((2, 4, 4, 0),)), "rows of the result are no neighbours"),
        ((4, 3), ((), (), ((4, 1, 0, 1), (3, 4, 0, 4)), (), ((2, 4, 4, 0),)), "one axis each"),
        ((4, 3), ((), (), ((4, 1, 0, 1),), ((3, 0, 1, 5),), ((2, 4, 4, 0),)), "do not lead to its 12 elements"),
        ((4,), ((), (), ((4, 2, 0, 1),), (), ((1 << 40, 4, 4, 0),)), "too large to be packed|than can be addressed"),
        ((4,), ((), ((4, 1, 2, 1),), (), (), ((1 << 40, 4, 4, 0),)), "too large to be packed|than can be addressed"),
    ],
)
def test_what_the_kernel_cannot_walk_is_refused(shape: tuple[int, ...], groups: Any, why: str) -> None:
    bind: Any = LIBRARY.bind_stack
    with pytest.raises((ValueError, OverflowError), match=why):
        bind("F64", shape, *groups, False)
    with pytest.raises(ValueError, match="no loops for 'I64'"):
        LIBRARY.bind_stack("I64", (4,), (), (), ((4, 1, 0, 1),), (), (), False)
