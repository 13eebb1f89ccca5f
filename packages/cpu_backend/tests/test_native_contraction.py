"""Native contractions: equal to naive sums for any labels, strides, dtypes, instruction sets and thread counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contraction_cases import (
    DTYPES,
    Array,
    Case,
    Kernel,
    letters,
    named_case,
    pair,
    random_case,
    scatter,
)
from tensor_cpu.kernels import costs as cost
from tensor_cpu.kernels.contraction.native import (
    PairProduct,
    bind_scatter,
    plan_native,
    plan_pair,
    plan_scatter,
)
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import extent_of, join, row_major

if not AVAILABLE:
    pytest.skip("the extension is absent", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("restored")

_EVERY = ["plain", "avx2", "avx512"]
INSTRUCTION_SETS = _EVERY[: _EVERY.index(LIBRARY.instruction_set()) + 1]


@pytest.mark.own_threads
@pytest.mark.parametrize("bind", [pair, scatter])
@pytest.mark.parametrize("instructions", INSTRUCTION_SETS)
@pytest.mark.parametrize("dtype", DTYPES)
@given(seed=st.integers(0, 2**32 - 1), threads=st.integers(1, 3), most=st.sampled_from([3, 9, 40, 1500]))
def test_sums_of_broadcast_products_are_exact_for_whole_numbers(
    bind: Callable[[Case], Kernel], instructions: str, dtype: str, seed: int, threads: int, most: int
) -> None:
    LIBRARY.set_instruction_set(instructions)
    LIBRARY.set_threads(threads)
    case = random_case(seed, dtype, most=most)
    out = bind(case)(case.x, case.y)
    expected = case.expected()
    assert out.dtype == expected.dtype
    assert out.shape == expected.shape
    np.testing.assert_array_equal(out, expected)


# Large enough for several blocks and panels, parts of them, several threads, and gathered lanes.
LARGE = {
    "matrices": ("ik,kj->ij", {"i": 205, "k": 261, "j": 530}),
    "matrices of three blocks of sums": ("ik,kj->ij", {"i": 70, "k": 517, "j": 31}),
    "matrices, transposed": ("ki,jk->ji", {"i": 70, "k": 260, "j": 31}),
    "few columns": ("ki,jk->ji", {"k": 70, "i": 501, "j": 21}),
    "few rows": ("ik,jk->ji", {"i": 301, "k": 290, "j": 21}),
    "few rows of a stack": ("bik,kj->bji", {"b": 3, "i": 131, "k": 40, "j": 9}),
    "stack": ("bik,bkj->bij", {"b": 7, "i": 33, "k": 20, "j": 65}),
    "stack innermost": ("ikb,kjb->ijb", {"b": 600, "i": 5, "k": 3, "j": 4}),
    "outer product": ("i,j->ij", {"i": 300, "j": 257}),
    "elementwise, transposed": ("ij,ji->ij", {"i": 300, "j": 257}),
    "hyper-edges": ("abcd,acef->abdfe", {"a": 5, "b": 5, "c": 5, "d": 5, "e": 5, "f": 7}),
    "scattered": ("aibjc,djaci->dbca", {"a": 6, "b": 9, "c": 7, "d": 11, "i": 5, "j": 8}),
    "many short axes": ("abcdefgh,hgfeijkl->lakbjcid", dict.fromkeys("abcdefghijkl", 2)),
    "short sums": ("pka,kj->jpa", {"p": 50, "k": 9, "a": 9, "j": 27}),
    "runs of three": ("pkaqb,kj->jpaqb", {"p": 5, "k": 7, "a": 3, "q": 9, "b": 3, "j": 70}),
    "runs of a large operand": ("dhbk,dafh->afdbk", {"d": 60, "h": 9, "b": 30, "k": 81, "a": 3, "f": 2}),
    "large, in two orders": ("abcde,edcba->abcde", dict.fromkeys("abcde", 17)),
    "long sum": ("k,kj->j", {"k": 3000, "j": 3}),
    "one element": ("ik,ki->", {"k": 60, "i": 7}),
    "sums along memory": ("bck,bck->cb", {"b": 7, "c": 90, "k": 133}),
    "short sums along memory": ("ck,ck->c", {"c": 600, "k": 9}),
    "sums along memory, of two axes": ("bckl,kl->bc", {"b": 3, "c": 131, "k": 5, "l": 17}),
    "sums along the first and the third axis": ("lkji,ki->lj", {"l": 7, "k": 11, "j": 37, "i": 21}),
    "sums along the first and the last axis": ("lkji,li->kj", {"l": 9, "k": 13, "j": 38, "i": 17}),
    "sums along memory of one operand": ("lkji,ik->lj", {"l": 7, "k": 11, "j": 90, "i": 9}),
    "sums along pieces of both": ("blkji,bki->bjl", {"b": 3, "l": 5, "k": 6, "j": 131, "i": 10}),
    "one element, along memory": ("k,k->", {"k": 1000}),
    "rows of a batch, beyond the cache": ("kb,kb->b", {"k": 131, "b": 2057}),
    "rows of two axes, beyond the cache": ("kcb,kcb->cb", {"k": 140, "c": 3, "b": 2501}),
}


@pytest.mark.own_instructions
@pytest.mark.parametrize("bind", [pair, scatter])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LARGE)
def test_large_contractions_are_exact_for_whole_numbers(name: str, dtype: str, bind: Callable[[Case], Kernel]) -> None:
    case, expected = large_case(name, dtype)
    for instructions in INSTRUCTION_SETS:
        LIBRARY.set_instruction_set(instructions)
        np.testing.assert_array_equal(bind(case)(case.x, case.y), expected)


@pytest.mark.own_instructions
@pytest.mark.own_threads
@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("bind", [pair, scatter])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in LARGE if "large" not in name])
def test_results_that_are_written_past_the_cache_are_whole(
    name: str, dtype: str, bind: Callable[[Case], Kernel], threads: int
) -> None:
    LIBRARY.set_threads(threads)
    case, expected = large_case(name, dtype)
    for instructions in INSTRUCTION_SETS:
        LIBRARY.set_instruction_set(instructions)
        np.testing.assert_array_equal(bind(case)(case.x, case.y), expected)


@pytest.fixture
def streaming() -> Iterator[None]:
    """Results of any size are written past the cache meanwhile."""
    former = LIBRARY.streamed_bytes()
    LIBRARY.set_streamed_bytes(1)
    yield
    LIBRARY.set_streamed_bytes(former)


@lru_cache(maxsize=1)
def large_case(name: str, dtype: str) -> tuple[Case, Array]:
    """One of these and its sums; kernels and threads take turns with it."""
    subscripts, extents = LARGE[name]
    case = named_case(subscripts, dtype, **extents)
    expected = case_by_float(subscripts, case)
    for array in (case.x, case.y, expected):
        array.flags.writeable = False
    return case, expected


def case_by_float(subscripts: str, case: Case) -> Array:
    """The sum through NumPy's matrix products in double precision, exact for whole numbers; of Bool, any of ands."""
    wide = np.complex128 if case.x.dtype.kind == "c" else np.float64
    x, y = (array.view(np.uint8) != 0 if array.dtype == bool else array for array in (case.x, case.y))
    out = np.einsum(subscripts, x.astype(wide), y.astype(wide), optimize=True)
    return np.asarray(out).astype(case.x.dtype)


@pytest.mark.own_threads
@pytest.mark.parametrize("bind", [pair, scatter])
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_results_do_not_depend_on_the_number_of_threads(name: str, dtype: str, bind: Callable[[Case], Kernel]) -> None:
    subscripts, extents = LARGE[name]
    case = named_case(subscripts, dtype, **extents)
    rng = np.random.default_rng(1)
    x, y = (array * rng.standard_normal(array.shape).astype(dtype) for array in (case.x, case.y))
    kernel = bind(case)
    results = []
    for threads in (1, 2, 3):
        LIBRARY.set_threads(threads)
        results.append(kernel(x, y).tobytes())
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("bind", [pair, scatter])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_wrap_around(bind: Callable[[Case], Kernel], dtype: str) -> None:
    most = np.iinfo(dtype).max
    case = named_case("ik,kj->ij", dtype, i=9, k=3, j=17)
    case.x[...] = most
    case.y[...] = most
    np.testing.assert_array_equal(bind(case)(case.x, case.y), np.full((9, 17), 3, dtype))


@pytest.mark.parametrize("instructions", INSTRUCTION_SETS)
@pytest.mark.parametrize("bind", [pair, scatter])
def test_infinities_nans_and_signs_of_zero_are_those_of_the_products(
    bind: Callable[[Case], Kernel], instructions: str
) -> None:
    LIBRARY.set_instruction_set(instructions)
    values = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e308, -3.0, 5e-324, 2.0])
    x, y = np.meshgrid(values, values)
    case = Case(x, y, letters("ij"), letters("ij"), letters("ij"))
    out = bind(case)(x, y)
    with np.errstate(all="ignore"):
        expected = x * y
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(np.signbit(out)[~np.isnan(out)], np.signbit(expected)[~np.isnan(expected)])


def test_results_larger_than_the_cache_are_written_whole() -> None:
    case = named_case("i,j->ij", "float64", i=1031, j=2053)  # rows begin at every distance from an aligned address
    np.testing.assert_array_equal(pair(case)(case.x, case.y), np.multiply.outer(case.x, case.y))


@pytest.mark.own_threads  # no kernel runs
@pytest.mark.parametrize("instructions", INSTRUCTION_SETS)
@pytest.mark.parametrize("dtype", DTYPES)
@given(seed=st.integers(0, 2**32 - 1), most=st.sampled_from([3, 9, 40, 1500]))
def test_no_estimate_lies_below_the_least_by_which_they_are_passed_over(
    instructions: str, dtype: str, seed: int, most: int
) -> None:
    LIBRARY.set_instruction_set(instructions)
    x, y, result = random_case(seed, dtype, most=most).operands
    axes = join(x, y, result)
    least = cost.least_native(extent_of(axes), dtype)
    assert least <= plan_pair(axes, dtype).cost
    assert least <= plan_scatter(axes, x, y).cost


@pytest.mark.parametrize("instructions", INSTRUCTION_SETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("subscripts", ["ki,jk->ji", "ik,jk->ji", "ik,kj->ij", "ki,kj->ij", "bik,bkj->ibj"])
def test_skinny_products_that_read_a_factor_as_it_lies_give_what_numpy_gives(
    subscripts: str, dtype: str, instructions: str
) -> None:
    LIBRARY.set_instruction_set(instructions)
    extents = dict(zip("bijk", (3, 131, 7, 70), strict=True))
    for few, many in (("j", "i"), ("i", "j")):
        case = named_case(subscripts, dtype, **{**extents, few: extents["j"], many: extents["i"]})
        np.testing.assert_array_equal(scatter(case)(case.x, case.y), case.expected())


def test_a_kernel_refuses_what_is_no_pair_of_arrays() -> None:
    case = named_case("i,j->ij", "float64", i=3, j=4)
    for bind in (pair, scatter):
        with pytest.raises(TypeError, match="takes 2 positional arguments"):
            bind(case)(case.x)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="takes arrays, found float"):
            bind(case)(case.x, 1.0)


def test_groups_too_long_for_a_table_are_left_to_numpy() -> None:
    long, longest = (1 << 20) + 1, 1 << 20
    for extent, expected in ((long, False), (longest, True)):
        x = row_major(letters("ki"), (extent, 3), "int64")
        y, result = row_major(letters("k"), (extent,), "int64"), row_major(letters("i"), (3,), "int64")
        assert (plan_native(join(x, y, result), x, y, result) is not None) is expected

    case = named_case("ik,kj->ij", "float32", i=long, j=3, k=2)
    assert isinstance(plan_native(join(*case.operands), *case.operands), PairProduct)
    with pytest.raises(ValueError, match="too long for a table"):
        scatter(case)
    with pytest.raises(ValueError, match="sums of 1048577 products"):
        LIBRARY.bind_pair("I64", (), (), ((long, 1, 1, 0),))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("large", [(1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_order_in_which_a_large_result_is_computed_changes_no_bit(
    dtype: str, large: tuple[int, ...], threads: int
) -> None:
    LIBRARY.set_threads(threads)
    for seed in range(40):
        case = random_case(seed, dtype)
        for bind in (pair, scatter):
            found = bind(case, large)(case.x, case.y)
            assert found.tobytes() == bind(case)(case.x, case.y).tobytes()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_stack_that_lies_inside_a_line_is_walked_within_blocks_of_rows_and_columns(threads: int) -> None:
    LIBRARY.set_threads(threads)
    case = named_case("bkms,nks->bnms", "float64", b=3, k=300, m=2, n=700, s=4)
    x, y, result = case.operands
    plan = plan_scatter(join(x, y, result), x, y, (0, 1, 2))

    assert [axis.extent for axis in plan.near] == [4]
    assert np.array_equal(bind_scatter(plan, result)(case.x, case.y), case.expected())


def test_very_many_rows_are_stacked_and_nothing_is_refused() -> None:
    case = named_case("ahk,kj->ahj", "float64", a=9, h=30_000, k=3, j=2)
    x, y, result = case.operands
    x = x._replace(strides=(3 * 30_001, 3, 1))  # so that the axes of rows are two
    stored = np.zeros((9, 30_001, 3))
    stored[:, :30_000] = case.x
    plan = plan_scatter(join(x, y, result), x, y)

    assert [axis.extent for axis in plan.stack] == [9]
    assert np.array_equal(bind_scatter(plan, result)(stored[:, :30_000], case.y), case.expected())


@pytest.mark.own_threads
@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128"])
def test_a_product_in_narrow_blocks_for_several_threads_has_the_bits_of_one(dtype: str) -> None:
    case = named_case("ij,jk->ik", dtype, i=250, j=300, k=260)
    LIBRARY.set_threads(1)
    alone = scatter(case)(case.x, case.y).tobytes()
    for threads in (2, 3, 5):
        LIBRARY.set_threads(threads)
        assert scatter(case)(case.x, case.y).tobytes() == alone


HUGE = 1 << 62


@pytest.mark.parametrize(
    "kept",
    [
        ((3, 1, 0, 1),),
        ((2, 1, 0, 2), (2, 0, 1, 1), (2, 0, 0, 0)),
        ((2, HUGE, 0, 1),),
        ((2, -(2**63), 0, 1),),
        ((HUGE, 0, 0, 1), (4, 0, 0, 0)),
        ((0, 1, 0, 1),),
        ((-2, 1, 0, 1), (-1, 1, 0, 1)),
        ((2, 1, 0),),
        (2, 1, 0, 1),
    ],
)
def test_axes_that_do_not_make_the_result_are_refused(kept: Any) -> None:
    makers: list[Callable[[], Kernel]] = [
        lambda: LIBRARY.bind_pair("F64", (2,), kept, ()),
        lambda: LIBRARY.bind_gemm("F64", (2,), kept, (), (), (), (), False),
        lambda: LIBRARY.bind_gemm("F64", (2,), (), kept, (), (), (), False),
        lambda: LIBRARY.bind_gemm("F64", (2,), (), (), (), (), kept, False),
        lambda: LIBRARY.bind_semiring("max_plus", "F64", (2,), ((), kept, (), ()), False),
        lambda: LIBRARY.bind_semiring("max_plus", "F64", (2,), ((), (), kept, ()), False),
    ]
    for make in makers:
        with pytest.raises((TypeError, ValueError, OverflowError)):
            make()
