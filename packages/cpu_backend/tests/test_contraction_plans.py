"""What a contraction decides when it is bound: roles of axes, copies, loops, and tiles."""

from __future__ import annotations

from math import inf
from random import Random
from types import SimpleNamespace

import pytest

from tensor_cpu.kernels import blas_costs as cost
from tensor_cpu.kernels.contraction.broadcast_sum import Accumulation
from tensor_cpu.kernels.contraction.choice import plan_numpy
from tensor_cpu.kernels.contraction.gemm import plan_product
from tensor_cpu.kernels.copy.permute import bind_tiles
from tensor_runtime.backends.shared.axes import Axis, Labels, Operand, join, row_major
from tensor_runtime.backends.shared.choice import Way, cheapest
from tensor_runtime.backends.shared.products import MatrixProduct
from tensor_runtime.backends.shared.products import plan_product as plan_with


def labels(term: str) -> Labels:
    return tuple(map(ord, term))


def operand(
    term: str, extents: dict[str, int], strides: tuple[int, ...] | None = None, dtype: str = "float64"
) -> Operand:
    """In transposed array order; without gaps unless strides are given."""
    shape = tuple(extents[label] for label in term)
    compact = row_major(labels(term), shape, dtype)
    return compact if strides is None else Operand(labels(term), shape, strides, dtype)


Plan = MatrixProduct | Accumulation


def decided(x: Operand, y: Operand, result: Operand) -> Plan:
    return plan_numpy(join(x, y, result), x, y, result)


def plan(subscripts: str, **extents: int) -> Plan:
    inputs, output = subscripts.split("->")
    first, second = inputs.split(",")
    return decided(operand(first, extents), operand(second, extents), operand(output, extents))


def copies(decision: Plan) -> tuple[bool, bool, bool]:
    assert isinstance(decision, MatrixProduct)
    return decision.copies_first, decision.copies_second, decision.permutes_result


@pytest.mark.parametrize("first", ["ij", "ji"])
@pytest.mark.parametrize("second", ["jk", "kj"])
@pytest.mark.parametrize("result", ["ik", "ki"])
def test_a_matrix_product_copies_nothing_whatever_is_transposed(first: str, second: str, result: str) -> None:
    decision = plan(f"{first},{second}->{result}", i=100, j=200, k=300)
    assert copies(decision) == (False, False, False)
    assert isinstance(decision, MatrixProduct)
    assert not decision.stack


def test_a_slice_with_contiguous_rows_goes_to_blas_as_it_is() -> None:
    extents = {"i": 100, "j": 200, "k": 300}
    x, y = operand("ij", extents, (500, 1)), operand("jk", extents, (1, 999))
    assert copies(decided(x, y, operand("ik", extents))) == (False, False, False)


@pytest.mark.parametrize("strides", [(500, 2), (-200, 1), (0, 1), (1, 0), (1, -100)])
def test_what_blas_cannot_take_is_copied(strides: tuple[int, ...]) -> None:
    extents = {"i": 100, "j": 200, "k": 300}
    x, y = operand("ij", extents, strides), operand("jk", extents)
    assert copies(decided(x, y, operand("ik", extents))) == (True, False, False)


def test_an_operand_of_another_dtype_is_converted_by_the_copy() -> None:
    extents = {"i": 100, "j": 200, "k": 300}
    x, y = operand("ij", extents, dtype="int64"), operand("jk", extents)
    assert copies(decided(x, y, operand("ik", extents))) == (True, False, False)


def test_many_axes_become_three() -> None:
    extents = dict.fromkeys("abcdefgh", 2)
    axes = join(operand("abcde", extents), operand("cdefgh", extents), operand("abfgh", extents))
    assert [axis.extent for axis in axes] == [4, 8, 8]


def test_a_short_axis_between_long_ones_leaves_the_large_operand_where_it_is() -> None:
    decision = plan("aib,ij->ajb", a=1000, b=1000, i=2, j=2)
    assert copies(decision) == (False, False, False)
    assert isinstance(decision, MatrixProduct)
    assert [axis.extent for axis in decision.stack] == [1000]
    assert [axis.extent for axis in decision.columns] == [1000]


def test_batches_of_matrices_are_one_stack() -> None:
    decision = plan("abij,abjk->abik", a=10, b=10, i=30, j=30, k=30)
    assert copies(decision) == (False, False, False)
    assert isinstance(decision, MatrixProduct)
    assert [axis.extent for axis in decision.stack] == [100]


def test_the_result_may_have_the_batch_in_the_middle() -> None:
    assert copies(plan("bij,bjk->ibk", b=50, i=30, j=30, k=30)) == (False, False, False)


def test_only_the_operand_in_the_wrong_order_is_copied() -> None:
    assert copies(plan("iajb,abk->ijk", a=30, b=30, i=40, j=30, k=30)) == (True, False, False)


def test_without_a_contracted_label_there_is_one_multiplication() -> None:
    decision = plan("ij,jk->ijk", i=100, j=100, k=100)
    assert isinstance(decision, Accumulation)
    assert not decision.looped
    assert decision.block == (100, 100, 100)


def test_large_batches_of_tiny_matrices_are_accumulated_in_blocks() -> None:
    decision = plan("ijb,jkb->ikb", i=2, j=2, k=2, b=10**6)
    assert isinstance(decision, Accumulation)
    assert decision.block[:2] == (1, 1)
    assert decision.block[2] < 10**5


def test_tiny_matrices_inside_a_large_batch_are_looped_over() -> None:
    decision = plan("bij,bjk->bik", i=2, j=2, k=2, b=10**6)
    assert isinstance(decision, Accumulation)
    assert [axis.extent for axis in decision.looped] == [2, 2]


def test_batches_of_larger_matrices_go_to_blas() -> None:
    assert isinstance(plan("bij,bjk->bik", i=8, j=8, k=8, b=10**5), MatrixProduct)


def test_a_copy_in_the_same_order_is_numpys_own() -> None:
    import numpy as np

    assert bind_tiles((1000, 1000), (2000, 1)) is np.copyto
    assert bind_tiles((1000, 1000), (1, 1000)) is not np.copyto


def test_a_stack_of_small_products_that_sum_along_both_memories_costs_more_than_one_that_does_not() -> None:
    extents = {"b": 2000, "i": 8, "j": 8, "k": 8}
    along = decided(operand("bik", extents), operand("bjk", extents), operand("bji", extents))
    across = decided(operand("bki", extents), operand("bjk", extents), operand("bji", extents))
    assert along.cost > 1.1 * across.cost


def test_a_large_result_is_not_written_in_interleaved_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    extents = {"x": 11, "w": 11, "i": 4, "h": 4, "n": 1900}
    x, y, result = operand("hiwx", extents), operand("nw", extents), operand("nhix", extents)
    axes = join(x, y, result)
    monkeypatch.setattr(cost, "copy", lambda *_: 1e5)  # whatever they cost here
    assert plan_product(axes, x, y, result).copies
    monkeypatch.setattr(cost, "interleaved", lambda *_: 0.0)
    assert not plan_product(axes, x, y, result).copies  # but for runs of 11 elements


@pytest.mark.parametrize(
    "subscripts", ["aij,bjk->abik", "aji,bkj->ikab", "abc,bcd->ad", "abc,dcb->da", "xabc,xcbde->aexbd", "abc,dec->deab"]
)
def test_a_bound_on_the_cost_hides_no_product_that_is_within_it(subscripts: str) -> None:
    inputs, output = subscripts.split("->")
    first, second = inputs.split(",")
    for sizes in [(2, 3, 5, 8, 20, 40, 9, 7)[start:] + (2, 3, 5, 8, 20, 40, 9, 7)[:start] for start in range(8)]:
        extents = dict(zip("xabcdeij", sizes, strict=True)) | {"k": sizes[1]}
        x, y, result = operand(first, extents), operand(second, extents), operand(output, extents)
        axes = join(x, y, result)
        best = plan_product(axes, x, y, result)
        assert plan_product(axes, x, y, result, best.cost * 1.001) == best
        assert plan_product(axes, x, y, result, best.cost / 2).cost >= best.cost


def test_where_half_of_an_estimate_counts_a_plan_may_cost_twice_the_best_one() -> None:
    bounds: list[float] = []

    def way(time: float, part: float) -> Way[SimpleNamespace]:
        def plan(axes: tuple[Axis, ...], x: Operand, y: Operand, result: Operand, below: float) -> SimpleNamespace:
            bounds.append(below)
            return SimpleNamespace(cost=time)

        return Way(plan, lambda terms, dtype: 0.0, lambda axes, x, y: part)

    x = operand("ij", {"i": 2, "j": 2})
    found = cheapest([way(100.0, 1.0), way(150.0, 0.5)], join(x, x, x), x, x, x)
    assert (found.cost, bounds) == (150.0, [inf, 200.0])


@pytest.mark.parametrize("evenly", [False, True])
def test_what_a_bound_hides_is_never_cheaper_whatever_products_and_copies_cost(evenly: bool) -> None:
    for seed in range(400):
        drawn = Random(seed)
        x, y, result = drawn_operands(drawn)
        costs = InventedCosts(seed, drawn.choice((0, 1, 100)), evenly)
        axes = join(x, y, result)
        best = plan_with(axes, x, y, result, costs)
        for bound in (best.cost * 1.001 + 1e-9, drawn.uniform(0, 300)):
            found = plan_with(axes, x, y, result, costs, bound)
            assert found.cost == best.cost or (best.cost >= bound and found.cost >= bound)


def drawn_operands(drawn: Random) -> tuple[Operand, Operand, Operand]:
    """Of one contraction: in any order of axes, with gaps, reversed or constant along some."""
    extents = {label: drawn.choice((1, 2, 2, 3, 4)) for label in range(drawn.randint(1, 6))}
    terms: tuple[list[int], list[int], list[int]] = [], [], []
    for label in extents:
        for role in drawn.choice(((0, 1, 2), (0, 1), (0, 2), (1, 2))):
            terms[role].append(label)
    made = []
    for term in terms:
        drawn.shuffle(term)
        strides, step = [], 1
        for label in term:
            strides.append(step * drawn.choice((1, 1, 1, 1, 1, -1, 0)))
            step *= extents[label] * drawn.choice((1, 1, 1, 2))
        dtype = drawn.choice(("float64", "float64", "float64", "float32"))
        made.append(Operand(tuple(term), tuple(map(extents.__getitem__, term)), tuple(strides), dtype))
    return made[0], made[1], made[2]


class InventedCosts:
    """Any costs at all, the same whenever they are asked."""

    def __init__(self, seed: int, most: float, evenly: bool) -> None:
        self._seed, self._most, self.stacks_evenly = seed, most, evenly

    def _drawn(self, what: str, *given: object) -> float:
        return Random(f"{self._seed} {what} {given}").uniform(0, 100 if what in ("products", "copy") else self._most)

    def products(self, count: int, m: int, n: int, k: int, dtype: str) -> float:
        return self._drawn("products", count, m, n, k)

    def loops(self, count: int, m: int, n: int, k: int) -> float:
        return inf if self.stacks_evenly else 50 + self._drawn("loops", count, m, n, k)

    def along(self, count: int, m: int, n: int, k: int, dtype: str) -> float:
        return self._drawn("along", count, m, n, k)

    def apart(self, count: int, size: int, step: int, dtype: str) -> float:
        return self._drawn("apart", count, size, step)

    def interleaved(self, size: int, run: int, dtype: str) -> float:
        return self._drawn("interleaved", size, run)

    def copy(self, size: int, run: int, dtype: str) -> float:
        return self._drawn("copy", size, run)
