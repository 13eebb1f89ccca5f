"""Contractions in the order of an operand, whose blocks are copied to where they lie in the result."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from contraction_cases import DTYPES, Case, named_case, random_case
from tensor_cpu.kernels.contraction import choice
from tensor_cpu.kernels.contraction.loops import reordered
from tensor_cpu.kernels.contraction.loops.reordered import ReorderedProduct, bind_reordered, plan_reordered
from tensor_cpu.kernels.contraction.native import PairProduct
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import Axis, extent_of, join
from tensor_runtime.backends.workspaces import workspace_of

if not AVAILABLE:
    pytest.skip("the extension is absent", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("restored")

TURNED = {
    "vector": ("bdca,d->abc", {"a": 32, "b": 100, "c": 32, "d": 4}),
    "matrix": ("aebdc,bad->ceda", {"a": 10, "b": 8, "c": 10, "d": 10, "e": 50}),
    "second operand": ("d,bdca->abc", {"a": 33, "b": 31, "c": 17, "d": 5}),
    "stack": ("cadb,bc->bcda", {"a": 100, "b": 4, "c": 20, "d": 32}),
    "one block": ("adecb,dc->abe", {"a": 4, "b": 2, "c": 100, "d": 50, "e": 8}),
    "extents of few divisors": ("bdca,d->abc", {"a": 31, "b": 37, "c": 96, "d": 3}),
}


def by_blocks(case: Case) -> ReorderedProduct | None:
    x, y, result = case.operands
    axes = join(x, y, result)
    return plan_reordered(axes, x, y, result, inf)


@pytest.mark.own_threads
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TURNED)
def test_blocks_in_another_order_are_the_result_with_any_number_of_threads(name: str, dtype: str) -> None:
    subscripts, extents = TURNED[name]
    case = named_case(subscripts, dtype, **extents)
    expected = case.expected()
    for threads in (1, 3):
        LIBRARY.set_threads(threads)
        plan = by_blocks(case)
        assert plan is not None
        assert extent_of(plan.outer) * plan.block.size == case.operands[2].size
        kernel = choice._bind_way(plan, *case.operands)
        np.testing.assert_array_equal(np.asarray(kernel(case.x, case.y)), expected)
        assert "contract_scattered" in str(kernel)


@pytest.mark.parametrize("seed", range(150))
def test_blocks_of_drawn_contractions_are_exact(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reordered, "_LEAST_TERMS", 1)
    monkeypatch.setattr(reordered, "_LEAST_BLOCK", int(np.random.default_rng(seed).integers(1, 40)))
    monkeypatch.setattr(reordered, "_BLOCK", 64)
    case = random_case(seed, DTYPES[seed % len(DTYPES)], most=(3, 9, 40)[seed % 3])
    plan = by_blocks(case) if 0 not in (*case.x.shape, *case.y.shape) else None
    if plan is not None:
        kernel = choice._bind_way(plan, *case.operands)
        np.testing.assert_array_equal(np.asarray(kernel(case.x, case.y)), case.expected())


def test_most_drawn_contractions_of_that_test_have_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reordered, "_LEAST_TERMS", 1)
    monkeypatch.setattr(reordered, "_LEAST_BLOCK", 1)
    cases = [random_case(seed, "float64", most=(3, 9, 40)[seed % 3]) for seed in range(150)]
    assert sum(by_blocks(case) is not None for case in cases) > 30


@pytest.mark.parametrize("name", ["vector", "matrix"])
def test_a_tensor_whose_axes_are_turned_is_not_copied_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subscripts, extents = TURNED[name]
    x, y, result = named_case(subscripts, "float64", **extents).operands
    kernel: Any = choice._bind_lean(x, y, result)
    assert "contract_scattered" in str(kernel)
    assert 0 < workspace_of(kernel) <= 1 << 16
    monkeypatch.setattr(reordered, "_SURELY", 0.0)
    assert "contract_scattered" not in str(choice._bind_lean(x, y, result))


def test_blocks_copy_no_operand_however_large_it_is() -> None:
    """What comes of a small result is one block, which must not be made by copying operands."""
    for subscripts, dtype, extents in (
        ("abdc,da->cb", "float32", {"a": 338, "b": 2, "c": 139, "d": 150}),
        ("aebdc,ebcd->ca", "complex128", {"a": 7, "b": 40, "c": 14, "d": 2, "e": 50}),
        ("ecadb,dbca->de", "float64", {"a": 7, "b": 50, "c": 54, "d": 2, "e": 63}),
    ):
        x, y, result = named_case(subscripts, dtype, **extents).operands
        kernel: Any = choice._bind_lean(x, y, result)
        assert kernel is not None
        assert workspace_of(kernel) <= LIBRARY.threads() << 15


@pytest.mark.own_threads
def test_the_number_of_threads_decides_no_block_and_no_bit() -> None:
    for name, (subscripts, extents) in TURNED.items():
        for dtype in ("float32", "complex128"):
            case = named_case(subscripts, dtype, **extents)
            x = case.x * np.random.default_rng(1).standard_normal(case.x.shape).astype(dtype)
            found = set()
            for threads in (1, 2, 3, 8):
                LIBRARY.set_threads(threads)
                found.add(np.asarray(choice._bind(*case.operands)(x, case.y)).tobytes())
            assert len(found) == 1, (name, dtype)


def test_small_contractions_and_those_in_order_are_not_looked_at_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: Any) -> Any:
        raise AssertionError(given)

    monkeypatch.setattr(reordered, "plan_without_copies", never)
    for subscripts, extent in (("bca,b->ac", 12), ("abc,c->ab", 60), ("abc,cd->abd", 30)):
        x, y, result = named_case(subscripts, "float64", **dict.fromkeys("abcd", extent)).operands
        assert plan_reordered(join(x, y, result), x, y, result, inf) is None


def test_blocks_that_do_not_make_the_result_are_refused() -> None:
    block: Any = LIBRARY.bind_pair("F64", (3,), ((3, 0, 1, 1),), ())
    good: tuple[Any, ...] = ("F64", (3, 2), block, ((2, 1, 0, 1),), (3,), (2,))
    first, second = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    np.testing.assert_array_equal(np.asarray(LIBRARY.bind_scattered(*good)(first, second)), np.outer(second, first))
    for place, wrong in (
        (0, "F32"),  # of another type
        (1, (3, 3)),
        (3, ((3, 1, 0, 1),)),
        (3, ((2, 1, 0, 2),)),
        (4, (2,)),
        (5, (1,)),
        (5, (-2,)),
    ):
        arguments = list(good)
        arguments[place] = wrong
        with pytest.raises(ValueError, match=r"."):
            LIBRARY.bind_scattered(*arguments)
    far = (*good[:3], ((2, 1 << 62, 0, 1),), *good[4:])
    with pytest.raises((OverflowError, ValueError)):
        LIBRARY.bind_scattered(*far)
    of_one = (*good[:2], LIBRARY.bind_copy((3,), (1,), "F64"), *good[3:])
    with pytest.raises(TypeError, match="computes from 2 addresses"):
        LIBRARY.bind_scattered(*of_one)
    with pytest.raises(TypeError):
        LIBRARY.bind_scattered(*good[:-1])
    add = (("add", "F32", 2, 0, 1, 2), ("to_F64", "F32", 3, 2, 3, 3))
    widening: Any = LIBRARY.bind_elementwise((3,), "F64", (((1,), "F32"), ((1,), "F32")), add, ())
    with pytest.raises(ValueError, match="of one type"):
        LIBRARY.bind_scattered(*good[:2], widening, ((2, 3, 3, 1),), *good[4:])


def test_an_axis_of_one_operand_is_walked_from_block_to_block() -> None:
    rows, columns = Axis((0,), 2, (1, None, 1)), Axis((1,), 3, (None, 1, 2))
    case = named_case("a,b->ba", "float64", a=2, b=3)
    block = LIBRARY.bind_pair("F64", (3,), ((3, 0, 1, 1),), ())
    x, y, result = case.operands
    plan = ReorderedProduct((rows,), (columns,), x, y, result, PairProduct((rows,), (), 0.0), 0.0)
    kernel = bind_reordered(plan, block, result)
    np.testing.assert_array_equal(np.asarray(kernel(case.x, case.y)), np.outer(case.y, case.x))
