"""Which native kernel takes a contraction, and which are left to BLAS or NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from contraction_cases import (
    named_case,
    pair,
    scatter,
)
from tensor_cpu.kernels import blas_costs as cost
from tensor_cpu.kernels.contraction.broadcast_sum import plan_broadcast_sum
from tensor_cpu.kernels.contraction.choice import plan_contraction
from tensor_cpu.kernels.contraction.loops.broadcast import BroadcastProduct
from tensor_cpu.kernels.contraction.loops.stack import StackProduct
from tensor_cpu.kernels.contraction.loops.turned import TurnedProduct
from tensor_cpu.kernels.contraction.native import (
    PairProduct,
    ScatterProduct,
    large_roles,
    plan_native,
    plan_pair,
    plan_scatter,
)
from tensor_cpu.kernels.costs import scatter as scatter_cost
from tensor_cpu.kernels.processor_rates import rates
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import RESULT, Operand, join, row_major
from tensor_runtime.backends.shared.products import MatrixProduct

if not AVAILABLE:
    pytest.skip("the extension is absent", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("restored")


calibrated = pytest.mark.skipif(
    not AVAILABLE or LIBRARY.instruction_set() != "avx512",
    reason="the estimates were measured with AVX-512; narrower vectors choose BLAS earlier",
)


@pytest.fixture
def with_avx2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices as on a processor with AVX2, whatever this one has."""
    monkeypatch.setattr("tensor_cpu.kernels.processor_rates.LIBRARY", SimpleNamespace(instruction_set=lambda: "avx2"))
    monkeypatch.setattr(cost, "blas_slowness", lambda dtype: 1.0)


def planned(subscripts: str, dtype: str = "float64", **extents: int) -> Any:
    x, y, result = named_case(subscripts, dtype, **extents).operands
    return plan_contraction(x, y, result)


def test_hyper_edges_and_outer_products_are_products_of_broadcast_operands() -> None:
    assert isinstance(planned("bi,bj->bij", b=100, i=30, j=30), BroadcastProduct)
    assert isinstance(planned("i,j->ij", i=1000, j=1000), BroadcastProduct)


@calibrated
def test_windows_that_overlap_are_not_taken_for_memory_beyond_the_cache() -> None:
    windows, filters = Operand((1, 2), (9, 9992), (1, 1), "float64"), Operand((1,), (9,), (1,), "float64")
    assert isinstance(plan_contraction(windows, filters, row_major((2,), (9992,), "float64")), PairProduct)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("subscripts", ["ij,j->i", "j,ij->i"])
def test_integers_that_lie_along_their_sums_go_to_the_pair_kernel(subscripts: str, dtype: str) -> None:
    assert isinstance(planned(subscripts, dtype, i=300, j=1000), PairProduct)


@pytest.mark.usefixtures("with_avx2")
@pytest.mark.parametrize("subscripts", ["ij,jk->ki", "ij,kj->ki", "ji,jk->ki", "ji,kj->ki"])
def test_matrices_by_few_columns_are_not_packed_for_blas_where_vectors_are_narrow(subscripts: str) -> None:
    plans = [planned(subscripts, i=i, j=j, k=k) for i, j, k in ((300, 250, 21), (480, 404, 21), (1000, 1000, 24))]
    assert [type(plan) for plan in plans] == [ScatterProduct] * 3


@pytest.mark.usefixtures("with_avx2")
def test_packed_a_vector_costs_more_than_the_columns_that_fill_its_panel() -> None:
    def cost_of(columns: int) -> float:
        shape = {"rows": 1000, "columns": columns, "depth": 300, "stack": 1}
        return scatter_cost(**shape, dtype="float64", packing=("steps", "steps"), in_vectors=True)

    assert cost_of(1) > 1.5 * cost_of(2)


@pytest.mark.usefixtures("with_avx2")
def test_few_rows_that_lie_apart_in_a_large_result_cost_more() -> None:
    def cost_of(subscripts: str, large: tuple[int, ...]) -> float:
        x, y, result = named_case(subscripts, "float64", a=3, b=3, n=4000, k=27, c=27).operands
        return plan_scatter(join(x, y, result), x, y, large).cost

    assert cost_of("abk,nkc->anbc", (RESULT,)) > 1.5 * cost_of("abk,nkc->anbc", ())
    assert cost_of("abk,nkc->ncab", (RESULT,)) == cost_of("abk,nkc->ncab", ())


@calibrated
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
def test_a_stack_of_dot_products_along_memory_goes_to_the_pair_kernel(dtype: str) -> None:
    assert isinstance(planned("bk,bk->b", dtype, b=1000, k=100), PairProduct)


@pytest.mark.usefixtures("with_avx2")
@pytest.mark.parametrize(
    ("subscripts", "dtype", "extents"),
    [
        ("abcn,abdcn->dn", "complex128", {"a": 64, "b": 6, "c": 6, "d": 2, "n": 1000}),
        ("abcn,bacn->n", "float64", {"a": 6, "b": 8, "c": 64, "n": 256}),
        ("abn,cbn->acn", "complex128", {"a": 20, "b": 16, "c": 3, "n": 1000}),
    ],
)
def test_what_has_a_long_batch_innermost_is_not_copied_for_blas_with_avx2(
    subscripts: str, dtype: str, extents: dict[str, int]
) -> None:
    assert not isinstance(planned(subscripts, dtype, **extents), MatrixProduct)


@pytest.mark.usefixtures("with_avx2")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_matrix_whose_rows_crowd_a_place_of_the_cache_goes_to_blas_with_avx2(dtype: str) -> None:
    assert isinstance(planned("ki,k->i", dtype, k=64, i=512), MatrixProduct)
    assert isinstance(planned("kdbi,kb->dbi", dtype, k=64, d=64, b=8, i=2), MatrixProduct)


@pytest.mark.usefixtures("with_avx2")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_a_gate_on_one_of_the_last_axes_of_a_state_goes_to_the_kernel_of_small_products_with_avx2(dtype: str) -> None:
    assert isinstance(planned("sgi,hg->shi", dtype, s=1 << 14, g=2, h=2, i=4), StackProduct)


@pytest.mark.usefixtures("with_avx2")
@pytest.mark.parametrize("subscripts", ["ki,kj->ij", "ki,kj->ji"])
def test_long_sums_of_integers_in_the_order_of_memory_are_not_left_to_numpy_with_avx2(subscripts: str) -> None:
    assert isinstance(planned(subscripts, "int64", k=300_000, i=16, j=4), PairProduct | ScatterProduct)


def test_rates_are_of_the_instruction_set_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name in ("plain", "avx2", "avx512"):
        instructions = SimpleNamespace(instruction_set=lambda name=name: name)
        monkeypatch.setattr("tensor_cpu.kernels.processor_rates.LIBRARY", instructions)
        found.append(rates().vector_bytes)
    assert found == [16, 32, 64]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64", "int32", "int64"])
def test_no_product_of_blas_costs_less_than_the_least(dtype: str, with_avx2: None) -> None:
    sides = (1, 2, 7, 50, 300)
    for count, m, n, k in product((1, 40), sides, sides, sides):
        assert cost.least_products(count * m * n * k, dtype) <= cost.products(count, m, n, k, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "int64"])
def test_no_sum_of_products_by_numpy_costs_less_than_the_least(dtype: str) -> None:
    for extents in product((1, 2, 30), repeat=4):
        x, y = row_major((0, 1, 2), extents[:3], dtype), row_major((1, 3), extents[1::2], dtype)
        plan = plan_broadcast_sum(join(x, y, row_major((0, 2, 3), (*extents[:3:2], extents[3]), dtype)), dtype)
        assert cost.least_accumulation(extents[1]) <= plan.cost


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
    assert isinstance(planned(subscripts, **extents), BroadcastProduct | TurnedProduct)
    case = named_case(subscripts, "float64", **extents)
    np.testing.assert_array_equal(pair(case)(case.x, case.y), np.einsum(subscripts, case.x, case.y))


@calibrated
@pytest.mark.parametrize("subscripts", ["ki,jk->ji", "ik,jk->ji", "ik,kj->ij"])
def test_a_large_matrix_by_few_columns_is_read_as_it_lies(subscripts: str) -> None:
    assert isinstance(planned(subscripts, i=800, k=700, j=16), ScatterProduct)


@pytest.mark.parametrize("subscripts", ["jb,jb->b", "jib,jib->b", "ijb,ijb->ib", "jib,ijb->b"])
def test_rows_of_both_operands_are_summed_side_by_side(subscripts: str) -> None:
    assert isinstance(planned(subscripts, b=100, i=3, j=1000), PairProduct)
    assert not isinstance(planned("ij,jk->ik", i=300, j=300, k=300), PairProduct)


@pytest.mark.usefixtures("with_avx2")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64"])
@pytest.mark.parametrize("subscripts", ["lkji,ki->lj", "lkji,li->kj", "lkji,ik->lj"])
def test_a_tensor_whose_sums_lie_in_pieces_is_no_matrix_that_is_copied_for_blas(subscripts: str, dtype: str) -> None:
    for extent in (8, 20, 40):
        assert isinstance(planned(subscripts, dtype, **dict.fromkeys("ijkl", extent)), PairProduct)
    assert isinstance(planned("lkji,ji->lk", "float64", **dict.fromkeys("ijkl", 20)), MatrixProduct)


@calibrated
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_result_of_short_sums_is_not_written_tile_by_tile_across_columns(dtype: str) -> None:
    assert isinstance(planned("ij,jk->ik", dtype, i=1000, j=5, k=1000), PairProduct | ScatterProduct)


@calibrated
def test_a_large_result_whose_short_rows_end_amid_lines_is_written_in_longer_runs() -> None:
    """Of a layout in which the packed product has long runs, and the pair kernel rows of 81."""
    assert isinstance(planned("bskta,stc->cbka", b=6561, s=3, k=3, t=3, a=81, c=27), ScatterProduct)


@calibrated
def test_a_wide_operand_whose_vectors_are_loaded_once_goes_to_the_pair_kernel() -> None:
    assert isinstance(planned("tbsa,tsbc->bca", t=3, b=27, s=9, a=19683, c=3), PairProduct)


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
        "from types import SimpleNamespace; from tensor_cpu.kernels import blas_costs as costs, processor_rates\n"
        "costs.LIBRARY = SimpleNamespace(instruction_set=lambda: 'avx512', is_amd=lambda: True)\n"
        "processor_rates.LIBRARY = costs.LIBRARY\n"
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


def test_terms_of_a_sum_that_follow_one_another_in_memory_are_not_fetched_again() -> None:
    x, y, result = named_case("abcdf,bdcf->af", "float32", a=32, b=3, c=32, d=128, f=8).operands
    axes, large = join(x, y, result), large_roles((x.size, y.size, result.size), result.dtype)
    plan = plan_native(axes, x, y, result)
    assert large and plan is not None
    assert plan.cost < 4 * plan_pair(axes, result.dtype, large).cost


def test_operands_to_be_converted_stay_with_numpy() -> None:
    x, y, result = named_case("i,j->ij", "float64", i=1000, j=1000).operands
    assert not isinstance(plan_contraction(x._replace(dtype="int64"), y, result), PairProduct | ScatterProduct)
