"""Products between copies of operands or result as one kernel, and large results whose rows end amid lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensor_cpu.kernels import blas_costs as cost
from tensor_cpu.kernels.contraction.cuts.blocks import blocks_of
from tensor_cpu.kernels.contraction.gemm import bind_product, plan_product
from tensor_cpu.kernels.contraction.native import bind_pair, bind_scatter, large_roles, plan_pair, plan_scatter
from tensor_cpu.kernels.processor_rates import rates
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import Axis, Operand, join, row_major
from tensor_runtime.backends.shared.products import MatrixProduct
from tensor_runtime.backends.workspaces import workspace_of

if not AVAILABLE:
    pytest.skip("the extension is absent", allow_module_level=True)

Array = np.ndarray[Any, Any]


def three(subscripts: str, extents: dict[str, int], dtype: str) -> list[Operand]:
    terms = subscripts.replace("->", ",").split(",")
    return [row_major(tuple(map(ord, term)), tuple(extents[label] for label in term), dtype) for term in terms]


def whole_numbers(seed: int, like: Operand) -> Array:
    return np.random.default_rng(seed).integers(-4, 5, like.shape).astype(like.dtype)


@pytest.fixture
def dear_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans that copy as little as they can, whatever copies cost on the processor that was measured last."""
    found = rates()
    dear = found.blas._replace(copied=0.15, copied_far=0.9, copied_run=1.1)
    monkeypatch.setattr(cost, "rates", lambda: found._replace(blas=dear))


COPIED = {
    "first": "aibj,ijc->abc",
    "second": "ija,bicj->abc",
    "both": "aibj,icjd->abcd",
    "result": "leh,gfl->gefh",
    "result and an operand": "ijeh,gfji->gefh",
}
EXTENTS = dict(zip("abcdijefghl", (12, 20, 14, 18, 13, 16, 64, 4, 64, 4, 256), strict=True))


@pytest.mark.usefixtures("dear_copies")
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("what", COPIED)
def test_products_between_copies_are_exact_and_compute_from_addresses(what: str, dtype: str) -> None:
    subscripts = COPIED[what]
    x, y, result = three(subscripts, EXTENTS, dtype)
    plan = plan_product(join(x, y, result), x, y, result)
    copied = plan.copies_first, plan.copies_second, plan.permutes_result
    assert sum(copied) == 1 + (what in ("both", "result and an operand"))
    kernel = bind_product(plan, x, y, result)
    assert kernel is not None
    first, second = whole_numbers(1, x), whole_numbers(2, y)
    expected = np.einsum(subscripts, first, second)
    assert np.array_equal(kernel(first, second), expected)
    sizes = [one.size if flag else 0 for one, flag in zip((x, y, result), copied, strict=True)]
    assert workspace_of(kernel) == sum(sizes) * np.dtype(dtype).itemsize
    twice = LIBRARY.bind_sequence(2, [(kernel, 0, 1), (kernel, 0, 1)], 3, ValueError)
    assert twice is not None  # as only kernels that compute from addresses are
    assert np.array_equal(twice(first, second), expected)


BLOCKS = {
    "stacks, the result copied": ("abk,akc->acb", "a64 b64 k64 c64", (False, False, True)),
    "stacks, all copied": ("kaib,iakc->acb", "a16 b130 k8 i9 c140", (True, True, True)),
    "rows, the first copied once": ("kaib,ick->cab", "a40 b40 k10 i40 c1040", (True, True, False)),
    "columns, the second copied once": ("aik,kicd->adc", "a1200 i10 k40 c24 d12", (True, True, True)),
}


@pytest.mark.usefixtures("dear_copies")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("what", BLOCKS)
def test_copies_of_large_products_are_made_block_by_block(what: str, dtype: str, threads: int) -> None:
    subscripts, extents, copied = BLOCKS[what]
    x, y, result = three(subscripts, {word[0]: int(word[1:]) for word in extents.split()}, dtype)
    plan = plan_product(join(x, y, result), x, y, result)._replace(
        copies_first=copied[0], copies_second=copied[1], permutes_result=copied[2]
    )
    blocks = blocks_of(plan, dtype)
    first, second = whole_numbers(1, x), whole_numbers(2, y)
    before = LIBRARY.threads()
    LIBRARY.set_threads(threads)
    try:
        kernel = bind_product(plan, x, y, result)
        assert blocks is not None and blocks.number > 1 and kernel is not None
        assert np.array_equal(kernel(first, second), np.einsum(subscripts, first, second, optimize=True))
    finally:
        LIBRARY.set_threads(before)
    sizes = [one.size if flag else 0 for one, flag in zip((x, y, result), copied, strict=True)]
    lacking = (*blocks.whole, False)
    once = sum(size for size, lacks in zip(sizes, lacking, strict=True) if lacks)
    each = sum(size for size, lacks in zip(sizes, lacking, strict=True) if not lacks) // blocks.number
    itemsize = np.dtype(dtype).itemsize
    assert workspace_of(kernel) in {(once + parts * each) * itemsize for parts in (1, threads)}


@pytest.mark.parametrize("seed", range(40))
def test_blocks_of_drawn_products_are_exact(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any operands in any orders, copied or not: all that may be cut is cut, down to blocks of an element."""
    for name in ("_COPIED", "_RUN", "_FEWEST"):
        monkeypatch.setattr(f"tensor_cpu.kernels.contraction.cuts.blocks.{name}", 1)
    draw = np.random.default_rng(seed)
    cut = 0
    for _ in range(25):
        labels = [chr(97 + i) for i in range(int(draw.integers(2, 7)))]
        places = {label: draw.choice(["xy", "xr", "yr", "xyr"]) for label in labels}
        terms = ["".join(label for label in draw.permutation(labels) if role in places[label]) for role in "xyr"]
        extents = {label: int(draw.integers(2, 5)) for label in labels}
        subscripts = f"{terms[0]},{terms[1]}->{terms[2]}"
        x, y, result = three(subscripts, extents, "float64")
        plan = plan_product(join(x, y, result), x, y, result)
        copies = [matrix is None or bool(draw.integers(2)) for matrix in plan.matrices]
        plan = plan._replace(copies_first=copies[0], copies_second=copies[1], permutes_result=copies[2])
        kernel = bind_product(plan, x, y, result)
        assert kernel is not None, plan
        cut += plan.copies and blocks_of(plan, "float64") is not None
        first, second = whole_numbers(1, x), whole_numbers(2, y)
        assert np.array_equal(kernel(first, second), np.einsum(subscripts, first, second)), (subscripts, plan)
    assert cut


def test_an_axis_of_a_large_prime_extent_is_not_divided_for_ever() -> None:
    extent = (1 << 61) - 1
    stack, rows = Axis((0,), extent, (4096, 4096, 4096)), Axis((1,), 64, (None, 64, 1))
    inner, columns = Axis((2,), 64, (1, 1, None)), Axis((3,), 64, (64, None, 64))
    product = MatrixProduct((stack,), (rows,), (inner,), (columns,), True, True, True, (None, None, None), 0.0)
    assert blocks_of(product, "float64") is None


def test_blocks_that_are_not_the_result_are_refused() -> None:
    outer = LIBRARY.bind_pair("F64", (2, 3), ((2, 1, 0, 3), (3, 0, 1, 1)), ())
    twice = LIBRARY.bind_repeated("F64", (4, 3), outer, (2, 2, 0))
    first, second = np.arange(4.0), np.arange(3.0)
    assert np.array_equal(twice(first, second), np.multiply.outer(first, second))
    reversed_outer = LIBRARY.bind_pair("F64", (2, 3), ((2, -1, 0, 3), (3, 0, 1, 1)), ())
    backwards = LIBRARY.bind_repeated("F64", (4, 3), reversed_outer, (2, -2, 0))
    assert np.array_equal(backwards(first[::-1], second), np.multiply.outer(first[::-1], second))
    for dtype, shape, count in [("F32", (4, 3), 2), ("F64", (4, 3), 3), ("F64", (5, 3), 2), ("F64", (0, 3), 2)]:
        with pytest.raises(ValueError, match="the result is not so many blocks"):
            LIBRARY.bind_repeated(dtype, shape, outer, (count, 2, 0))
    for blocks in [(0, 2, 0), (-1, 2, 0), (2, 2)]:
        with pytest.raises(ValueError, match="expected a number of blocks"):
            LIBRARY.bind_repeated("F64", (4, 3), outer, blocks)
    with pytest.raises((OverflowError, ValueError)):
        LIBRARY.bind_repeated("F64", (4, 3), outer, (2, 1 << 62, 0))
    with pytest.raises(TypeError, match="computes from 2 addresses"):
        LIBRARY.bind_repeated("F64", (4, 3), LIBRARY.bind_copy((2,), (1,), "F64"), (2, 2, 0))


def test_a_kernel_between_copies_refuses_what_does_not_fit() -> None:
    outer = LIBRARY.bind_pair("F64", (2, 3), ((2, 1, 0, 3), (3, 0, 1, 1)), ())
    two, three, wrong = (LIBRARY.bind_copy((extent,), (1,), "F64") for extent in (2, 3, 1))
    copied = LIBRARY.bind_copied("F64", (2, 3), outer, two, three, None)
    assert copied(np.ones(2), np.ones(3)).tolist() == [[1.0] * 3] * 2
    six = LIBRARY.bind_copy((3, 2), (1, 3), "F64")
    turned = LIBRARY.bind_copied("F64", (3, 2), outer, None, None, six)
    assert turned(np.array([1.0, 2.0]), np.array([1.0, 3.0, 5.0])).tolist() == [[1.0, 2.0], [3.0, 6.0], [5.0, 10.0]]
    for copies in [(wrong, None, None), (None, wrong, None), (LIBRARY.bind_copy((2,), (1,), "F32"), None, None)]:
        with pytest.raises(ValueError, match="a copy is not what is read"):
            LIBRARY.bind_copied("F64", (2, 3), outer, *copies)
    for shape, dtype in [((2, 2), "F64"), ((2, 3), "F32")]:
        with pytest.raises(ValueError, match="another type or number of elements"):
            LIBRARY.bind_copied(dtype, shape, outer, None, None, None)
    with pytest.raises(TypeError, match="computes from 1 addresses"):
        LIBRARY.bind_copied("F64", (2, 3), outer, outer, None, None)
    with pytest.raises(TypeError, match="computes from 2 addresses"):
        LIBRARY.bind_copied("F64", (2, 3), two, None, None, None)


LARGE = {
    "rows that follow one another": ("ij,k->kij", {"i": 27, "j": 81, "k": 1001}),
    "rows apart": ("ij,kj->jki", {"i": 81, "j": 27, "k": 1001}),
    "rows longer than a rectangle": ("i,k->ki", {"i": 5001, "k": 450}),
    "both vectors": ("kij,jk->kij", {"i": 27, "j": 81, "k": 1001}),
    "sums": ("mij,km->kij", {"i": 27, "j": 81, "k": 1001, "m": 3}),
    "an operand in another order": ("kij,jik->kij", {"i": 27, "j": 81, "k": 1001}),
    "rows that share vectors": ("mij,kml->kilj", {"i": 81, "j": 27, "k": 333, "l": 3, "m": 2}),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("what", LARGE)
def test_large_results_whose_rows_end_amid_lines_are_whole(what: str, threads: int) -> None:
    subscripts, extents = LARGE[what]
    x, y, result = three(subscripts, extents, "float64")
    first, second = whole_numbers(1, x), whole_numbers(2, y)
    before, streamed = LIBRARY.threads(), LIBRARY.streamed_bytes()
    LIBRARY.set_threads(threads)
    LIBRARY.set_streamed_bytes(1 << 24)
    assert result.size * 8 >= LIBRARY.streamed_bytes()
    large = large_roles((x.size, y.size, result.size), "float64")
    kernel = bind_pair(plan_pair(join(x, y, result), "float64", large), result)
    try:
        assert np.array_equal(kernel(first, second), np.einsum(subscripts, first, second))
    finally:
        LIBRARY.set_threads(before)
        LIBRARY.set_streamed_bytes(streamed)


def test_long_groups_of_axes_are_stacked_only_where_full_blocks_are_left() -> None:
    """Else each product of a stack has three rows, and packing them takes ten times as long."""
    for long, last, kept in [(131071, 3, (131071, 3)), (1 << 17, 1 << 14, (1 << 14,))]:
        x, y, result = three("bsa,s->ba", {"b": long, "s": 3, "a": last}, "float64")
        plan = plan_scatter(join(x, y, result), x, y)
        assert tuple(axis.extent for axis in plan.rows) == kept


@pytest.mark.parametrize("last", [3, 81, 243])
def test_a_long_axis_is_divided_where_a_part_of_it_makes_long_runs_of_rows(last: int) -> None:
    long = 3**11
    x, y, result = three("bsa,sc->cba", {"b": long, "s": 3, "a": last, "c": 9}, "float64")
    plan = plan_scatter(join(x, y, result), x, y)
    part = plan.rows[0].extent
    assert [axis.extent for axis in plan.rows] == [part, last]
    assert 8192 <= part * last < 3 * 8192
    assert [axis.extent for axis in plan.stack] == [long // part]


@pytest.mark.parametrize(("subscripts", "kept"), [("cak,kr->acr", (40, 300)), ("asck,skr->ascr", (300,))])
def test_columns_beyond_a_stacked_axis_are_not_divided(subscripts: str, kept: tuple[int, ...]) -> None:
    """They would be no longer run of the result."""
    x, y, result = three(subscripts, {"a": 400, "s": 2, "c": 300, "k": 3, "r": 5}, "float64")
    plan = plan_scatter(join(x, y, result), x, y)
    assert plan.rows_are_second
    assert tuple(axis.extent for axis in plan.columns) == kept
    first, second = whole_numbers(1, x), whole_numbers(2, y)
    assert np.array_equal(bind_scatter(plan, result)(first, second), np.einsum(subscripts, first, second))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("subscripts", ["bsa,sc->cba", "cs,bsa->cba", "bsa,scd->dbca"])
def test_products_whose_long_axis_is_divided_are_exact(subscripts: str, threads: int) -> None:
    x, y, result = three(subscripts, {"b": 3**7, "s": 4, "a": 81, "c": 5, "d": 2}, "float64")
    plan = plan_scatter(join(x, y, result), x, y)
    assert plan.rows[0].extent * plan.stack[-1].extent == 3**7
    first, second = whole_numbers(1, x), whole_numbers(2, y)
    before = LIBRARY.threads()
    LIBRARY.set_threads(threads)
    try:
        assert np.array_equal(bind_scatter(plan, result)(first, second), np.einsum(subscripts, first, second))
    finally:
        LIBRARY.set_threads(before)
