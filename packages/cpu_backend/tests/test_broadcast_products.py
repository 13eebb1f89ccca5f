"""Products without sums of operands in any layout: NumPy's numbers, whatever is copied first and what multiplies."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contraction_cases import whole_numbers
from tensor_core.dtypes import F32, F64, I32, I64, DType
from tensor_cpu.kernels.contraction import choice
from tensor_cpu.kernels.contraction.choice import plan_contraction
from tensor_cpu.kernels.contraction.loops import broadcast
from tensor_cpu.kernels.contraction.loops.broadcast import BroadcastProduct, bind_broadcast, plan_broadcast
from tensor_cpu.kernels.contraction.loops.turned import TurnedProduct
from tensor_cpu.kernels.contraction.native_semiring import bind_where_it_pays
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.algebras import MAX_PLUS, MAX_TIMES, MIN_PLUS, Semiring
from tensor_runtime.backends.shared.axes import Operand, join, row_major
from tensor_runtime.backends.workspaces import workspace_of
from tensor_runtime.contracts.contraction import SemiringContractParams
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

if not AVAILABLE:
    pytest.skip("the extension is absent", allow_module_level=True)

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64", "complex64", "complex128", "int32", "int64", "bool"]


def operand(labels: tuple[int, ...], array: Array) -> Operand:
    return Operand(labels, array.shape, tuple(step // array.itemsize for step in array.strides), array.dtype.name)


def spread(array: Array, labels: tuple[int, ...], rank: int) -> Array:
    """The array with its axes in the order of their labels, and new ones for the others."""
    view = array.transpose(np.argsort(labels))
    return view[tuple(slice(None) if label in labels else None for label in range(rank))]


def laid_out(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Whole numbers, of which axes are compact, reversed, of every second or third element, or repeated."""
    kinds = rng.integers(0, 5, len(shape))
    held = [1 if kind == 4 else extent * max(1, kind) for kind, extent in zip(kinds, shape, strict=True)]
    slices = [slice(None, None, (1, -1, 2, 3, 1)[kind]) for kind in kinds]
    return np.broadcast_to(whole_numbers(rng, tuple(map(int, held)), dtype)[tuple(slices)][
        tuple(slice(0, extent) for extent in shape)], shape)  # fmt: skip


def drawn(seed: int, dtype: str) -> tuple[tuple[Operand, Operand, Operand], Array, Array, Array]:
    """Operands and result of a product, the arrays of both, and what NumPy makes of them."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 5))
    extents = [int(rng.integers(1, 20)) for _ in range(rank)]
    extents[-1] = int(rng.choice([1, 3, 20, 300]))
    while np.prod(extents) > 20_000:
        extents[int(np.argmax(extents))] //= 2
    groups = [[label for label in range(rank) if rng.random() < 0.7] for _ in range(2)]
    groups[1] += [label for label in range(rank) if label not in groups[0] + groups[1]]
    for group in groups:
        rng.shuffle(group)
    first, second = (tuple(group) for group in groups)
    a, b = (laid_out(rng, tuple(extents[label] for label in group), dtype) for group in (first, second))
    expected = np.broadcast_to(spread(a, first, rank) * spread(b, second, rank), extents)
    result = row_major(tuple(range(rank)), tuple(extents), dtype)
    return (operand(first, a), operand(second, b), result), a, b, expected


@pytest.mark.parametrize("dtype", DTYPES)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_chosen_product_is_numpys(dtype: str, seed: int) -> None:
    (x, y, result), a, b, expected = drawn(seed, dtype)
    np.testing.assert_array_equal(choice._bind(x, y, result)(a, b), expected)
    lean = choice._bind_lean(x, y, result)
    assert lean is not None
    np.testing.assert_array_equal(lean(a, b), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_loop_with_every_copy_makes_the_product(dtype: str, seed: int) -> None:
    (x, y, result), a, b, expected = drawn(seed, dtype)
    if not join(x, y, result):
        return
    for first, second, by_pairs in product((False, True), repeat=3):
        left = broadcast._copy(x, y, result) if first else x
        right = broadcast._copy(y, left, result) if second else y
        axes = join(left, right, result)
        plan = broadcast._multiplied(axes, (x, y), (left, right), result, 0.0, by_pairs)
        kernel = bind_broadcast(plan, result)
        np.testing.assert_array_equal(kernel(a, b), expected)
        copied = sum(made.size for one, made in ((x, left), (y, right)) if one != made)
        assert workspace_of(kernel) >= copied * a.itemsize


def test_products_with_steps_along_rows_go_to_the_machine_or_are_copied_and_not_turned() -> None:
    result = row_major((2, 1, 0), (1000, 3, 1000), "float64")
    reversed_rows, factor = (
        Operand((2, 0), (1000, 1000), (1000, -1), "float64"),
        row_major((2, 1), (1000, 3), "float64"),
    )
    plan = plan_contraction(reversed_rows, factor, result)
    assert isinstance(plan, BroadcastProduct) and plan.pairs is None
    line = Operand((0,), (3_000_000,), (-1,), "float64")
    plan = plan_contraction(line, line, row_major((0,), (3_000_000,), "float64"))
    assert isinstance(plan, BroadcastProduct) and not plan.copies


def test_a_small_operand_in_another_order_is_copied_where_it_is_read_often() -> None:
    x = Operand((1, 2), (40, 300), (1, 40), "float64")
    result = row_major((0, 1, 2), (200, 40, 300), "float64")
    plan = plan_contraction(x, row_major((0,), (200,), "float64"), result)
    assert isinstance(plan, BroadcastProduct)
    assert [one.strides for one in plan.multiplied] == [(300, 1), (1,)]


def test_sums_and_operands_to_be_converted_are_no_broadcast_products() -> None:
    x, y, total = (
        row_major((0, 1), (9, 8), "float64"),
        row_major((1,), (8,), "float64"),
        row_major((0,), (9,), "float64"),
    )
    assert plan_broadcast(join(x, y, total), x, y, total) is None
    ints = y._replace(dtype="int64")
    assert plan_broadcast(join(x, ints, x), x, ints, x) is None


def test_an_operand_without_neighbours_is_not_turned() -> None:
    x = Operand((0, 1), (1200, 1200), (3600, 3), "float64")
    y = row_major((1, 0), (1200, 1200), "float64")
    result = row_major((0, 1), (1200, 1200), "float64")
    assert not isinstance(plan_contraction(x, y._replace(strides=(2400, 2)), result), TurnedProduct)


@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
@pytest.mark.parametrize("algebra", [MAX_PLUS, MIN_PLUS, MAX_TIMES])
@pytest.mark.parametrize("labels", [((0, 1), (0, 2), (0, 1, 2)), ((0, 1), (1, 0), (1, 0)), ((2,), (0, 1), (2, 1, 0))])
def test_in_other_algebras_sums_or_products_of_broadcast_operands_need_no_sum(
    labels: tuple[tuple[int, ...], ...], algebra: Semiring, dtype: DType
) -> None:
    rng, extents = np.random.default_rng(8), (30, 7, 41)
    first, second, out = labels
    shapes = [tuple([extents[label] for label in group]) for group in labels]
    x, y = (rng.integers(-99, 99, shape[::-1]).astype(NUMPY_DTYPES[dtype]) for shape in shapes[:2])
    compact, other, result = (form_of(dtype, shape, CPU) for shape in shapes)
    backwards = form_of(dtype, shapes[0], CPU, (-1, *compact.strides[1:]))
    operation = np.multiply if algebra is MAX_TIMES else np.add

    for form, array in ((compact, x), (backwards, x[..., ::-1])):
        kernel = bind_where_it_pays((form, other), result, SemiringContractParams(first, second, out, algebra))

        left, right = spread(array, first[::-1], 3), spread(y, second[::-1], 3)
        expected = operation(left, right).transpose(*out[::-1], *(label for label in range(3) if label not in out))
        assert kernel is not None
        np.testing.assert_array_equal(kernel(array, y), expected.reshape(shapes[2][::-1]))
