"""Products of operands in another order than the result: equal to NumPy's, whatever blocks they are computed in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contraction_cases import whole_numbers
from tensor_cpu.kernels.contraction import choice
from tensor_cpu.kernels.contraction.choice import bind_contract
from tensor_cpu.kernels.contraction.loops.reordered import plan_without_copies
from tensor_cpu.kernels.contraction.loops.turned import TurnedProduct, bind_turned, plan_turned
from tensor_cpu.kernels.contraction.native import TYPE_NAMES
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.shared.axes import Operand, join, row_major

if not AVAILABLE:
    pytest.skip("the extension is absent", allow_module_level=True)

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64", "complex64", "complex128", "int32", "int64", "bool"]
_EVERY = ["plain", "avx2", "avx512"]
INSTRUCTION_SETS = _EVERY[: _EVERY.index(LIBRARY.instruction_set()) + 1]
pytestmark = pytest.mark.usefixtures("restored")


def operand(labels: tuple[int, ...], array: Array) -> Operand:
    return Operand(labels, array.shape, tuple(step // array.itemsize for step in array.strides), array.dtype.name)


def spread(array: Array, labels: tuple[int, ...], rank: int) -> Array:
    """The array with its axes in the order of their labels, and new ones for the others."""
    view = array.transpose(np.argsort(labels))
    return view[tuple(slice(None) if label in labels else None for label in range(rank))]


@pytest.mark.parametrize("instructions", INSTRUCTION_SETS)
@pytest.mark.parametrize("dtype", DTYPES)
@given(
    seed=st.integers(0, 2**32 - 1), threads=st.integers(1, 3), streams=st.booleans(), most=st.sampled_from([3, 7, 50])
)
def test_blocks_of_any_size_make_the_product(
    dtype: str, instructions: str, seed: int, threads: int, streams: bool, most: int
) -> None:
    LIBRARY.set_instruction_set(instructions)
    LIBRARY.set_threads(threads)
    LIBRARY.set_streamed_bytes(1 if streams else 1 << 25)
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 6))
    extents = [int(rng.integers(1, most + 1)) for _ in range(rank)]
    while np.prod(extents) > 20_000:
        extents[int(np.argmax(extents))] //= 2
    extents[-1] = max(2, extents[-1])
    groups = [[label for label in range(rank) if rng.random() < 0.8] or [0] for _ in range(2)]
    groups[1] += [label for label in range(rank) if label not in groups[0] + groups[1]]
    for group in groups:
        rng.shuffle(group)
    labels = [tuple(group) for group in groups]
    a, b = (whole_numbers(rng, tuple(extents[label] for label in group), dtype) for group in labels)
    x, y, result = operand(labels[0], a), operand(labels[1], b), row_major(tuple(range(rank)), tuple(extents), dtype)
    steps = [dict(zip(one.labels, one.strides, strict=True)) for one in (x, y, result)]
    axes = tuple((extents[label], *(of.get(label, 0) for of in steps)) for label in range(rank))
    parts = tuple(int(rng.integers(1, extent + 1)) for extent in extents)
    parts = (*parts[:-1], max(2, parts[-1]))

    kernel = LIBRARY.bind_turned(TYPE_NAMES[dtype], result.shape, axes, parts, True, True)

    np.testing.assert_array_equal(kernel(a, b), spread(a, labels[0], rank) * spread(b, labels[1], rank))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(
    ("first", "second", "extents"),
    [
        ((0, 1), (1, 0), (1531, 1123)),
        ((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13), (13, 2, 9, 4, 11, 0, 7, 6, 12, 3, 5, 10, 8, 1), (3,) * 14),
        ((2, 0, 3, 1), (1, 3, 0, 2), (300, 5, 23, 31)),
        ((0, 2), (2, 1, 0), (101, 97, 130)),
        ((1, 0, 2), (3, 0, 2, 1), (300, 41, 47, 3)),  # repeated along the short innermost axis
        ((3, 1, 0), (2, 0, 1), (9500, 13, 3, 3)),  # each along one of the two innermost ones
    ],
)
def test_what_is_planned_is_the_product(
    dtype: str, first: tuple[int, ...], second: tuple[int, ...], extents: tuple[int, ...], threads: int
) -> None:
    LIBRARY.set_threads(threads)
    rng = np.random.default_rng(1)
    a, b = (whole_numbers(rng, tuple(extents[label] for label in group), dtype) for group in (first, second))
    x, y, result = operand(first, a), operand(second, b), row_major(tuple(range(len(extents))), extents, dtype)

    plan = plan_turned(join(x, y, result), x, y, result)

    assert plan is not None and any(plan.turns)
    expected = spread(a, first, len(extents)) * spread(b, second, len(extents))
    np.testing.assert_array_equal(bind_turned(plan, result)(a, b), expected)


def test_large_products_in_two_orders_are_turned_where_nothing_is_copied_and_small_ones_and_sums_are_not() -> None:
    def planned(side: int, kept: tuple[int, ...]) -> Any:
        x, y = row_major((0, 1), (side, side), "float64"), row_major((1, 0), (side, side), "float64")
        result = row_major(kept, (side,) * len(kept), "float64")
        return plan_without_copies(join(x, y, result), x, y, result)

    assert isinstance(planned(3000, (0, 1)), TurnedProduct)
    assert not isinstance(planned(300, (0, 1)), TurnedProduct)
    assert not isinstance(planned(1200, (0,)), TurnedProduct)


def test_an_operand_that_is_repeated_along_the_innermost_axis_is_multiplied_as_it_is() -> None:
    from tensor_core import F64
    from tensor_runtime.form import form_of
    from tensor_runtime.placement import CPU

    rng = np.random.default_rng(2)
    form = form_of(F64, (1100, 900), CPU)
    column, row = rng.integers(-4, 5, (900, 1)).astype(float), rng.integers(-4, 5, (900, 1)).astype(float)
    repeated = np.broadcast_to(column, (900, 1100)), np.broadcast_to(row, (900, 1100))
    forms = tuple(form_of(F64, (1100, 900), CPU, (0, 1)) for _ in repeated)

    kernel = bind_contract((forms[0], forms[1]), form, ((0, 1), (0, 1), (0, 1)))

    np.testing.assert_array_equal(kernel(*repeated), repeated[0] * repeated[1])


@pytest.mark.parametrize("kept", [(0, 1), (1, 0)])
def test_an_outer_product_of_one_element_repeated_is_not_turned(kept: tuple[int, int]) -> None:
    """In whose innermost axis the element would be repeated, or the other operand is not there."""
    extents = 2000, 1500
    x, y = Operand((0,), (2000,), (0,), "float64"), row_major((1,), (1500,), "float64")
    result = row_major(kept, tuple(extents[label] for label in kept), "float64")
    assert plan_turned(join(x, y, result), x, y, result) is None
    made = choice._bind(x, y, result)(np.broadcast_to(np.array(3.0), (2000,)), np.arange(1500.0))
    expected = np.multiply.outer(np.full(2000, 3.0), np.arange(1500.0))
    np.testing.assert_array_equal(made, expected if kept == (0, 1) else expected.T)


@pytest.mark.parametrize(
    ("axes", "parts", "message"),
    [
        (((4, 1, 1, 1),), (5,), "parts are no larger than their axes, and at least 1"),
        (((4, 1, 1, 1),), (0,), "parts are no larger than their axes, and at least 1"),
        (((4, 1, 1, 1),), (4, 1), "there is one part for each axis"),
        (((4, 2, 2, 1),), (4,), "the innermost axis is no vector of the operands"),
        (((3, 1, 1, 1),), (3,), "the axes of the result do not lead to its 4 elements"),
    ],
)
def test_blocks_that_cannot_be_are_refused(axes: Any, parts: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LIBRARY.bind_turned("F64", (4,), axes, parts, False, False)
