"""Native contractions: equal to naive sums for any labels, strides, dtypes, instruction sets and thread counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_cpu.kernels import costs as cost
from tensor_cpu.kernels.contraction.choice import plan_contraction
from tensor_cpu.kernels.contraction.loops.turned import TurnedProduct
from tensor_cpu.kernels.contraction.native import (
    PairProduct,
    ScatterProduct,
    bind_pair,
    bind_scatter,
    plan_native,
    plan_pair,
    plan_scatter,
)
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import Labels, Operand, extent_of, join, row_major
from tensor_runtime.backends.shared.products import MatrixProduct

if not AVAILABLE:
    pytest.skip("the extension is absent", allow_module_level=True)

Array = np.ndarray[Any, Any]
Kernel = Callable[[Any, Any], Any]
DTYPES = ["float32", "float64", "complex64", "complex128", "int32", "int64", "bool"]
pytestmark = pytest.mark.usefixtures("restored")


_EVERY = ["plain", "avx2", "avx512"]
INSTRUCTION_SETS = _EVERY[: _EVERY.index(LIBRARY.instruction_set()) + 1]


@dataclass(frozen=True)
class Case:
    """A contraction: arrays in reversed order of axes, and the labels of their axes."""

    x: Array
    y: Array
    x_labels: Labels
    y_labels: Labels
    labels: Labels

    @property
    def operands(self) -> tuple[Operand, Operand, Operand]:
        first, second = (
            Operand(labels, array.shape, tuple(s // array.itemsize for s in array.strides), array.dtype.name)
            for labels, array in ((self.x_labels, self.x), (self.y_labels, self.y))
        )
        extents = dict(zip((*first.labels, *second.labels), (*first.shape, *second.shape), strict=True))
        shape = tuple(extents[label] for label in self.labels)
        return first, second, row_major(self.labels, shape, self.x.dtype.name)

    def expected(self) -> Array:
        """By NumPy's broadcasting; of Bool, any of ands."""
        every = (*self.labels, *sorted({*self.x_labels, *self.y_labels} - {*self.labels}))

        def spread(array: Array, labels: Labels) -> Array:
            order = sorted(range(len(labels)), key=lambda place: every.index(labels[place]))
            view = array.transpose(order)
            return view[tuple(slice(None) if label in labels else None for label in every)]

        terms = spread(self.x, self.x_labels) * spread(self.y, self.y_labels)
        summed = tuple(range(len(self.labels), len(every)))
        return np.asarray(terms.any(summed) if terms.dtype == bool else terms.sum(summed, dtype=terms.dtype))


def pair(case: Case, large: tuple[int, ...] = ()) -> Kernel:
    x, y, result = case.operands
    return bind_pair(plan_pair(join(x, y, result), result.dtype, large), result)


def scatter(case: Case, large: tuple[int, ...] = ()) -> Kernel:
    x, y, result = case.operands
    return bind_scatter(plan_scatter(join(x, y, result), x, y, large), result)


def whole_numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Small, so that sums of products are exact in every type; of Bool, true is any byte but 0."""
    if dtype == "bool":
        return rng.choice(np.array([0, 0, 0, 0, 1, 2, 4, 255], np.uint8), shape).view(bool)
    values = rng.integers(-4, 5, shape)
    if dtype.startswith("complex"):
        return (values + 1j * rng.integers(-4, 5, shape)).astype(dtype)
    return values.astype(dtype)


def strided(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """An array of this shape whose axes lie in any order, reversed, spread out or repeated."""
    order = rng.permutation(len(shape))
    steps = [int(rng.choice([1, 1, 1, 2, -1, -2, 0])) for _ in shape]
    stored = whole_numbers(
        rng, tuple(1 if steps[axis] == 0 else shape[axis] * abs(steps[axis]) for axis in order), dtype
    )
    array = stored.transpose(np.argsort(order))
    array = array[tuple(slice(None, None, step) if step else slice(None) for step in steps)]
    return np.broadcast_to(array, shape)


def random_case(seed: int, dtype: str, *, most: int = 9) -> Case:
    """Up to six labels, each in any two or more of the three places; extents from 1 on."""
    rng = np.random.default_rng(seed)
    x_labels: list[int] = []
    y_labels: list[int] = []
    labels: list[int] = []
    count = int(rng.integers(0, 7))
    room = 4000.0
    extents = []
    for label in range(count):
        extents.append(int(rng.integers(1, 1 + max(1, min(most, room)))))
        room /= extents[-1]
        places = rng.choice([3, 5, 6, 7])  # bits: first, second, result
        for bit, group in ((1, x_labels), (2, y_labels), (4, labels)):
            if places & bit:
                group.append(label)
    for group in (x_labels, y_labels, labels):
        rng.shuffle(group)
    x, y = (strided(rng, tuple(extents[label] for label in group), dtype) for group in (x_labels, y_labels))
    return Case(x, y, tuple(x_labels), tuple(y_labels), tuple(labels))


def letters(term: str) -> Labels:
    return tuple(map(ord, term))


def named_case(subscripts: str, dtype: str, seed: int = 0, **extents: int) -> Case:
    inputs, output = subscripts.split("->")
    first, second = inputs.split(",")
    rng = np.random.default_rng(seed)
    x, y = (whole_numbers(rng, tuple(extents[label] for label in term), dtype) for term in (first, second))
    return Case(x, y, letters(first), letters(second), letters(output))


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
    "matrices": ("ik,kj->ij", {"i": 205, "k": 517, "j": 530}),
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
    "one element, along memory": ("k,k->", {"k": 1000}),
}


@pytest.mark.parametrize("bind", [pair, scatter])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LARGE)
def test_large_contractions_are_exact_for_whole_numbers(name: str, dtype: str, bind: Callable[[Case], Kernel]) -> None:
    subscripts, extents = LARGE[name]
    case = named_case(subscripts, dtype, **extents)
    expected = np.einsum(subscripts, case.x, case.y) if dtype == "bool" else case_by_float(subscripts, case)
    for instructions in INSTRUCTION_SETS:
        LIBRARY.set_instruction_set(instructions)
        np.testing.assert_array_equal(bind(case)(case.x, case.y), expected)


@pytest.mark.usefixtures("threads", "streaming")
@pytest.mark.parametrize("bind", [pair, scatter])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in LARGE if "large" not in name])
def test_results_that_are_written_past_the_cache_are_whole(
    name: str, dtype: str, bind: Callable[[Case], Kernel]
) -> None:
    subscripts, extents = LARGE[name]
    case = named_case(subscripts, dtype, **extents)
    expected = np.einsum(subscripts, case.x, case.y) if dtype == "bool" else case_by_float(subscripts, case)
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


def case_by_float(subscripts: str, case: Case) -> Array:
    """The sum through NumPy's matrix products in double precision, exact for small whole numbers."""
    wide = np.complex128 if case.x.dtype.kind == "c" else np.float64
    out = np.einsum(subscripts, case.x.astype(wide), case.y.astype(wide), optimize=True)
    return np.asarray(out).astype(case.x.dtype)


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


calibrated = pytest.mark.skipif(
    not AVAILABLE or LIBRARY.instruction_set() != "avx512",
    reason="the estimates were measured with AVX-512; narrower vectors choose BLAS earlier",
)


def planned(subscripts: str, dtype: str = "float64", **extents: int) -> Any:
    x, y, result = named_case(subscripts, dtype, **extents).operands
    return plan_contraction(x, y, result)


@calibrated
def test_hyper_edges_and_outer_products_go_to_the_pair_kernel() -> None:
    assert isinstance(planned("bi,bj->bij", b=100, i=30, j=30), PairProduct)
    assert isinstance(planned("i,j->ij", i=1000, j=1000), PairProduct)


@calibrated
def test_windows_that_overlap_are_not_taken_for_memory_beyond_the_cache() -> None:
    windows, filters = Operand((1, 2), (9, 9992), (1, 1), "float64"), Operand((1,), (9,), (1,), "float64")
    assert isinstance(plan_contraction(windows, filters, row_major((2,), (9992,), "float64")), PairProduct)


@calibrated
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
def test_a_stack_of_dot_products_along_memory_goes_to_the_pair_kernel(dtype: str) -> None:
    assert isinstance(planned("bk,bk->b", dtype, b=1000, k=100), PairProduct)


@calibrated
def test_what_blas_would_need_a_permuted_copy_for_goes_to_the_scatter_gemm() -> None:
    assert isinstance(planned("abcd,dbef->aecf", **dict.fromkeys("abcdef", 9)), ScatterProduct)


@calibrated
@pytest.mark.parametrize(
    ("subscripts", "kind"),
    [
        ("rqponmlkjihgfedcba,uqehdofnatmjlkgs->tupcrsbi", ScatterProduct),
        ("rqponmlkjihgfedcba,kbldgafpnehmicjo->qr", MatrixProduct),  # whose panels would be full of zeros
    ],
)
def test_a_long_sum_over_short_axes_in_two_orders_is_packed_where_it_fills_panels(subscripts: str, kind: type) -> None:
    extents = {label: 2 for label in subscripts if label.isalpha()}
    assert isinstance(planned(subscripts, **extents), kind)
    case = named_case(subscripts, "float64", **extents)
    np.testing.assert_array_equal(scatter(case)(case.x, case.y), np.einsum(subscripts, case.x, case.y, optimize=True))


@calibrated
def test_a_large_product_that_reads_every_third_element_is_not_left_to_numpy() -> None:
    subscripts, extents = "ba,acb->bac", {"a": 3, "b": 3, "c": 3**12}
    assert isinstance(planned(subscripts, **extents), PairProduct | ScatterProduct | TurnedProduct)
    case = named_case(subscripts, "float64", **extents)
    np.testing.assert_array_equal(pair(case)(case.x, case.y), np.einsum(subscripts, case.x, case.y))


@calibrated
@pytest.mark.parametrize("subscripts", ["ki,jk->ji", "ik,jk->ji", "ik,kj->ij"])
def test_a_large_matrix_by_few_columns_is_read_as_it_lies(subscripts: str) -> None:
    assert isinstance(planned(subscripts, i=800, k=700, j=16), ScatterProduct)


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


@calibrated
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_result_of_short_sums_is_not_written_tile_by_tile_across_columns(dtype: str) -> None:
    assert isinstance(planned("ij,jk->ik", dtype, i=1000, j=5, k=1000), PairProduct | ScatterProduct)


@calibrated
def test_a_large_matrix_product_stays_with_blas_and_one_of_integers_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "blas_slowness", lambda dtype: 1.0)
    assert isinstance(planned("ij,jk->ik", i=700, j=700, k=700), MatrixProduct)
    assert isinstance(planned("ij,jk->ik", "int64", i=700, j=700, k=700), ScatterProduct)


@calibrated
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_blas_of_narrower_vectors_leaves_large_matrix_products_to_the_packed_one(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost.blas_slowness.cache_clear()
    monkeypatch.setattr(cost, "asked_vector_bytes", lambda: 32)
    try:
        assert isinstance(planned("ij,jk->ik", dtype, i=700, j=700, k=700), ScatterProduct)
    finally:
        cost.blas_slowness.cache_clear()


@pytest.mark.skipif(not AVAILABLE, reason="without the extension BLAS alone takes products")
def test_what_was_measured_of_openblas_on_a_processor_of_amd_is_not_said_of_mkl(
    output: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "from types import SimpleNamespace; from tensor_cpu.kernels import costs\n"
        "costs.LIBRARY = SimpleNamespace(instruction_set=lambda: 'avx512', is_amd=lambda: True)\n"
        "print(costs.blas_slowness('float64'))"
    )
    assert output(code, TENSOR_CPU_BLAS="mkl") == "1.0"
    assert float(output(code, TENSOR_CPU_BLAS="own", OPENBLAS_CORETYPE="")) > 1.0


@pytest.mark.parametrize(
    ("core", "width"), [("Haswell", 32), ("SKYLAKEX", 64), ("nehalem", 16), ("", None), ("no such processor", None)]
)
def test_the_vectors_of_the_kernels_that_openblas_is_asked_for_are_known(
    core: str, width: int | None, output: Callable[..., str]
) -> None:
    code = "from tensor_cpu.system.blas import asked_vector_bytes; print(asked_vector_bytes())"
    assert output(code, OPENBLAS_CORETYPE=core) == str(width)
    assert output(code, OPENBLAS_CORETYPE=core, TENSOR_CPU_BLAS="mkl") == "None"


def test_operands_to_be_converted_stay_with_numpy() -> None:
    x, y, result = named_case("i,j->ij", "float64", i=1000, j=1000).operands
    assert not isinstance(plan_contraction(x._replace(dtype="int64"), y, result), PairProduct | ScatterProduct)


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
