"""Kernels for tiny operands, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES
from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, DType
from tensor_core.errors import CastRangeError
from tensor_cpu.kernels.contraction import choice
from tensor_cpu.kernels.contraction import tiny as small_products
from tensor_cpu.kernels.elementwise import numpy as elementwise
from tensor_cpu.kernels.elementwise import tiny
from tensor_cpu.storage import NUMPY_DTYPES, restride
from tensor_cpu.system import extension
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.backends.xp_tables import elementwise as rows
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.skipif(not extension.AVAILABLE, reason=extension.WHY_NOT)

NUMERIC: list[DType] = [F32, F64, C32, C64, I32, I64]
SHAPES = [(), (1,), (3,), (2, 2), (1, 5), (3, 1, 2), (4, 4), (7, 9), (2,) * 12]
SPECIAL = [0.0, -0.0, 1.0, -1.5, np.nan, np.inf, -np.inf, 1e300, -1e-310]


def elements(form: Form, seed: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    target = NUMPY_DTYPES[form.dtype]
    if form.dtype in (I32, I64):
        limits = np.iinfo(target)
        chosen = random.choice([limits.min, limits.max, -1, 0, 1, 2, 77], form.shape[::-1])
        return np.asarray(chosen, target)
    # NumPy fuses one of the roundings of a complex product: no values that make this visible.
    parts = random.choice(SPECIAL[:-2] if target.kind == "c" else SPECIAL, (2, *form.shape[::-1]))
    with np.errstate(all="ignore"):
        return np.asarray(parts[0] + 1j * parts[1] if target.kind == "c" else parts[0]).astype(target)


def assert_same(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape and found.flags.c_contiguous
    np.testing.assert_array_equal(found, expected)
    if expected.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
@pytest.mark.parametrize("name", [name for name in tiny.BINDERS if name in elementwise.BINARY])
def test_two_operands_give_what_numpy_gives(name: str, dtype: DType, instruction_set: str) -> None:
    bound = 0
    for seed, shape in enumerate(SHAPES):
        form, one = form_of(dtype, shape, CPU), form_of(dtype, (1,) * len(shape), CPU)
        result = form_of(tr.Bool if name in rows.COMPARISONS else dtype, shape, CPU)
        for operands in ((form, form), (form, one), (one, form)):
            kernel = tiny.bind_binary(name, operands, result, None)
            if kernel is None:
                continue
            bound += 1
            x, y = (elements(operand, seed + side) for side, operand in enumerate(operands))
            assert_same(kernel(x, y), np.asarray(ignoring_fp_errors(elementwise.BINARY[name])(x, y)))
    unordered = dtype in (C32, C64) and name not in ("add", "subtract", "multiply", "equal", "not_equal")
    whole = dtype in (I32, I64) and name == "divide"
    assert bool(bound) != (unordered or whole or (dtype in (C32, C64) and name == "divide"))


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
@pytest.mark.parametrize("name", [name for name in tiny.BINDERS if name in elementwise.UNARY])
def test_one_operand_gives_what_numpy_gives(name: str, dtype: DType, instruction_set: str) -> None:
    for seed, shape in enumerate(SHAPES):
        form = form_of(dtype, shape, CPU)
        kernel = tiny.bind_unary(name, (form,), form, None)
        if kernel is None:
            assert name != "negative"
            continue
        x = elements(form, seed)
        assert_same(kernel(x), np.asarray(ignoring_fp_errors(elementwise.UNARY[name])(x)))


@pytest.mark.parametrize("dtype", [F32, F64, C64, I32, I64], ids=str)
def test_a_python_number_becomes_an_element(dtype: DType) -> None:
    x = tr.tensor([1, 2, 3], dtype=dtype)
    assert tr.subtract(x, 1).to_numpy().tolist() == [0, 1, 2]
    assert tr.subtract(1, x).to_numpy().tolist() == [0, -1, -2]
    if dtype in (I32, I64):
        with pytest.raises(CastRangeError, match="does not fit"):
            tr.add(x, 2**70)
        assert tr.less(x, 2**70).to_numpy().tolist() == [True] * 3
    else:
        assert tr.multiply(x, 0.5).to_numpy().tolist() == [0.5, 1.0, 1.5]
        assert tr.add(x, True).to_numpy().tolist() == [2, 3, 4]


@st.composite
def contractions(draw: st.DrawFn) -> tuple[tuple[Form, ...], Form, tuple[tuple[int, ...], ...]]:
    """Two operands with random labels, extents and strides, and the result's form."""
    extents = draw(st.lists(st.integers(1, 5), min_size=5, max_size=5))
    first, second = (draw(st.lists(st.integers(0, 4), unique=True, max_size=4)) for _ in range(2))
    shared = [label for label in dict.fromkeys((*first, *second)) if label in first and label in second]
    alone = [label for label in dict.fromkeys((*first, *second)) if label not in shared]
    out = draw(st.permutations([*alone, *(label for label in shared if draw(st.booleans()))]))
    dtype = draw(st.sampled_from(NUMERIC))
    forms = []
    for labels in (first, second):
        shape = tuple(extents[label] for label in labels)
        order = draw(st.permutations(range(len(labels))))
        strides, step = [0] * len(labels), draw(st.sampled_from([1, 2]))
        for axis in order:
            strides[axis], step = step, step * shape[axis]
        forms.append(form_of(dtype, shape, CPU, tuple(strides)))
    result = form_of(dtype, tuple(extents[label] for label in out), CPU)
    return tuple(forms), result, (tuple(first), tuple(second), tuple(out))


@given(contractions(), st.integers(0, 2**32))
def test_a_small_product_is_the_sum_over_the_labels_it_lacks(case: Any, seed: int) -> None:
    forms, result, labels = case
    kernel = small_products.bind_contract(forms, result, labels)
    if kernel is None:
        return
    random = np.random.default_rng(seed)
    transposed = []
    for form in forms:
        reach = 1 + sum((extent - 1) * stride for extent, stride in zip(form.shape, form.strides, strict=True))
        values = random.integers(-9, 9, reach) + (1j * random.integers(-9, 9, reach) if "C" in form.dtype.name else 0)
        transposed.append(restride(values.astype(NUMPY_DTYPES[form.dtype]), form))
    letters = ["".join("abcde"[label] for label in reversed(term)) for term in labels]
    expected = np.einsum(f"{letters[0]},{letters[1]}->{letters[2]}", *transposed)
    assert_same(kernel(*transposed), np.ascontiguousarray(expected).reshape(result.shape[::-1]))


def test_small_products_cover_matrices_vectors_and_batches(instruction_set: str) -> None:
    matrix, vector = form_of(F64, (4, 4), CPU), form_of(F64, (4,), CPU)
    stack = form_of(F64, (4, 4, 3), CPU)
    cases = [
        ((matrix, matrix), matrix, ((0, 1), (1, 2), (0, 2))),
        ((matrix, vector), vector, ((0, 1), (1,), (0,))),
        ((vector, matrix), vector, ((0,), (0, 1), (1,))),
        ((vector, vector), form_of(F64, (), CPU), ((0,), (0,), ())),
        ((vector, vector), matrix, ((0,), (1,), (0, 1))),
        ((stack, stack), stack, ((0, 1, 3), (1, 2, 3), (0, 2, 3))),
    ]
    for operands, result, labels in cases:
        kernel = small_products.bind_contract(operands, result, labels)
        assert kernel is not None
        transposed = [np.arange(1.0, 1 + form.size).reshape(form.shape[::-1]) for form in operands]
        expected = choice.bind_contract(operands, result, labels)
        assert_same(kernel(*transposed), np.asarray(expected(*transposed)))


def test_a_kernel_refuses_what_is_no_array() -> None:
    form = form_of(F64, (2,), CPU)
    kernel = tiny.bind_unary("negative", (form,), form, None)
    assert kernel is not None and repr(kernel) == "<native kernel negative>"
    with pytest.raises(TypeError, match="takes arrays, found list"):
        kernel([1.0, 2.0])
    with pytest.raises(TypeError, match="takes 1 positional arguments"):
        kernel(np.zeros(2), np.zeros(2))


def test_forms_without_a_small_kernel_are_left_to_numpy() -> None:
    large, narrow = form_of(F64, (tiny.MOST_ELEMENTS + 1,), CPU), form_of(F32, (2,), CPU)
    assert tiny.bind_binary("add", (large, large), large, None) is None
    assert tiny.bind_binary("add", (form_of(F64, (2,), CPU), narrow), form_of(F64, (2,), CPU), None) is None
    assert all(
        tiny.bind_binary("add", (form_of(dtype, (0,), CPU),) * 2, form_of(dtype, (0,), CPU), None) is None
        for dtype in DTYPES
    )


def test_a_product_whose_right_operand_is_not_tiny_is_left_to_others() -> None:
    def bind(inner: int, columns: int) -> Any:
        left, right = ((0, 1), (1, inner), (1, 1)), ((1, 2), (inner, columns), (columns, 1))
        return extension.LIBRARY.bind_tiny_contraction("F64", 4096, *left, *right, (0, 2))

    assert bind(32, 30)(np.ones((32, 1)), np.ones((32, 30))).tolist() == [[32.0]] * 30
    for inner, columns in ((31, 31), (961, 1), (2**32, 2**32), (0, 4)):
        assert bind(inner, columns) is None


def test_a_product_of_too_many_multiplications_is_left_to_others() -> None:
    matrix = ((16, 16), (1, 16))
    for most, found in ((16**3, True), (16**3 - 1, False)):
        kernel = extension.LIBRARY.bind_tiny_contraction("F64", most, (0, 1), *matrix, (1, 2), *matrix, (0, 2))
        assert (kernel is not None) is found
