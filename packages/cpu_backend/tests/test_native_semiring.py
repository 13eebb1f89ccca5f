"""Contractions in algebras: NumPy's kernel and the native one, against naive sums over every index.

Maxima, minima, and one rounded operation per term do not depend on an order, so everything is compared exactly; only
the sign of a zero is free.
"""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import F32, F64, I32, Bool, DTypeError, UnsupportedOperationError
from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError
from tensor_cpu.kernels.contraction.choice import bind_contract as bind_numpys_contract
from tensor_cpu.kernels.contraction.native_semiring import bind_contract
from tensor_cpu.kernels.contraction.native_semiring import bind_semiring_contract as bind_native
from tensor_cpu.kernels.contraction.semiring import bind_semiring_contract as bind_numpy
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system import extension
from tensor_runtime.algebras import ALGEBRAS, MAX_PLUS, MAX_TIMES, MIN_PLUS, OR_AND, PLUS_TIMES, Semiring
from tensor_runtime.backends.registry import registry
from tensor_runtime.contracts.contraction import SemiringContractParams
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU
from tensor_runtime.testing.simulated_device import SimulatedBackend

Array = np.ndarray[Any, Any]
Labels = tuple[int, ...]
Params = tuple[Labels, Labels, Labels]

MATRICES: Params = ((0, 1), (1, 2), (0, 2))
OPERATIONS: dict[Semiring, tuple[np.ufunc, np.ufunc]] = {
    MAX_PLUS: (np.maximum, np.add),
    MIN_PLUS: (np.minimum, np.add),
    MAX_TIMES: (np.maximum, np.multiply),
    OR_AND: (np.logical_or, np.logical_and),
}
native_only = pytest.mark.skipif(not extension.AVAILABLE, reason=extension.WHY_NOT)


def naive(x: Array, y: Array, params: Params, algebra: Semiring, dtype: DType) -> Array:
    """The algebra's sum over every index, one scalar term at a time, on transposed arrays."""
    of_x, of_y, of_out = (labels[::-1] for labels in params)
    extents = dict(zip((*of_x, *of_y), (*x.shape, *y.shape), strict=True))
    summed = [label for label in extents if label not in of_out]
    add, multiply = OPERATIONS[algebra]
    out = np.full([extents[label] for label in of_out], algebra.zero_of(dtype), NUMPY_DTYPES[dtype])
    with np.errstate(all="ignore"):
        for index in np.ndindex(*out.shape):
            at = dict(zip(of_out, index, strict=True))
            total = None
            for step in product(*(range(extents[label]) for label in summed)):
                at.update(zip(summed, step, strict=True))
                pair = (a[tuple(at[label] for label in of)] for a, of in ((x, of_x), (y, of_y)))
                term = multiply(*(out.dtype.type(element) for element in pair))
                total = term if total is None else add(total, term)
            if total is not None:
                out[index] = total
    return out


def matrices(x: Array, y: Array, algebra: Semiring) -> Array:
    """The product of transposed arrays (k, m) and (n, k), by broadcasting row by row."""
    add, multiply = OPERATIONS[algebra]
    with np.errstate(all="ignore"):
        return np.stack([add.reduce(multiply(x, row[:, None]), axis=0) for row in y])


def elements(random: np.random.Generator, shape: tuple[int, ...], dtype: DType, wild: float) -> Array:
    if dtype is Bool:
        return random.random(shape) < 0.4
    if dtype is I32:
        return random.integers(-9, 9, shape, np.int32)
    found = random.standard_normal(shape)
    special = random.choice([np.inf, -np.inf, np.nan, 0.0, 1e300, 5e-324], shape)
    with np.errstate(all="ignore"):
        return np.where(random.random(shape) < wild, special, found).astype(NUMPY_DTYPES[dtype])


def strided(random: np.random.Generator, shape: tuple[int, ...], dtype: DType, wild: float) -> tuple[Array, Form]:
    """A transposed array with gaps, strides that are negative or 0, any order of axes, and the form of its tensor."""
    order = random.permutation(len(shape))
    steps = [int(random.choice([-2, -1, 0, 1, 1, 1, 2])) for _ in shape]
    room = tuple(1 if step == 0 else abs(step) * extent for step, extent in zip(steps, shape, strict=True))
    base = elements(random, tuple(room[axis] for axis in order), dtype, wild).transpose(np.argsort(order))
    transposed = base[tuple(slice(None) if step == 0 else slice(None, None, step) for step in steps)]
    transposed = np.broadcast_to(transposed, shape)
    strides = tuple(stride // transposed.itemsize for stride in transposed.strides[::-1])
    return transposed, form_of(dtype, shape[::-1], CPU, strides)


def result_form(x: Form, y: Form, params: Params, dtype: DType) -> Form:
    extents = dict(zip((*params[0], *params[1]), (*x.shape, *y.shape), strict=True))
    return form_of(dtype, tuple(extents[label] for label in params[2]), CPU)


def assert_same(found: Array, expected: Array) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape and found.flags.c_contiguous
    np.testing.assert_array_equal(found, expected)


def check(seed: int) -> None:
    """Random labels, layouts, dtypes and elements: both kernels give the naive sum."""
    random = np.random.default_rng(seed)
    algebra = list(OPERATIONS)[seed % 4]
    dtypes = [Bool, Bool] if algebra is OR_AND else [random.choice([F32, F64, F64, I32]) for _ in range(2)]
    dtype = tr.promote(*dtypes)
    if algebra is not OR_AND and dtype not in algebra.accepts:
        dtypes, dtype = [F64, dtypes[1]], F64
    count = int(random.integers(0, 7))
    roles = [tuple(random.choice(["xyo", "xo", "yo", "xy", "xy", "x", "y"])) for _ in range(count)]
    extents = random.choice([1, 1, 2, 2, 3, 4, 0 if seed % 11 == 0 else 2, 9], count)
    params: Params = tuple(
        tuple(int(label) for label in random.permutation(count) if role in roles[label]) for role in "xyo"
    )  # type: ignore[assignment]
    while np.prod(extents, dtype=float) > 2000:
        extents[np.argmax(extents)] -= 1
    wild = float(random.choice([0, 0, 0.02, 0.3]))
    shapes = [tuple(int(extents[label]) for label in labels[::-1]) for labels in params[:2]]
    (x, form_x), (y, form_y) = (strided(random, s, d, wild) for s, d in zip(shapes, dtypes, strict=True))
    result = result_form(form_x, form_y, params, dtype)
    expected = naive(x, y, params, algebra, dtype)
    assert_same(bind_numpy((form_x, form_y), result, (*params, algebra))(x, y), expected)
    native = bind_native((form_x, form_y), result, (*params, algebra)) if extension.AVAILABLE else None
    if native is not None:
        assert_same(native(x, y), expected)
    elif extension.AVAILABLE:
        assert 0 in (*x.shape, *y.shape)


@given(st.integers(0, 2**63))
def test_both_kernels_give_the_naive_sum_for_any_labels_and_layouts(seed: int) -> None:
    check(seed)


@native_only
@pytest.mark.parametrize("shift", range(0, 120, 4))
def test_every_instruction_set_gives_the_naive_sum(instruction_set: str, shift: int) -> None:
    for seed in range(shift, shift + 4):
        check(seed)


@native_only
@pytest.mark.parametrize("algebra", OPERATIONS)
@pytest.mark.parametrize(
    "shape", [(7, 5, 9), (100, 300, 70), (1, 600, 1500), (1500, 3, 1), (13, 520, 1030), (193, 257, 65)]
)
def test_products_of_several_blocks_are_those_of_broadcasting(
    algebra: Semiring, shape: tuple[int, int, int], instruction_set: str, threads: int
) -> None:
    m, k, n = shape
    dtype = Bool if algebra is OR_AND else F32
    random = np.random.default_rng(5)
    x, y = elements(random, (k, m), dtype, 0), elements(random, (n, k), dtype, 0)
    if algebra is OR_AND:  # few enough that both answers occur
        x, y = x & (random.random(x.shape) < 0.1), y & (random.random(y.shape) < 0.1)
    forms = form_of(dtype, (m, k), CPU), form_of(dtype, (k, n), CPU)
    kernel = bind_native(forms, form_of(dtype, (m, n), CPU), (*MATRICES, algebra))
    assert kernel is not None
    assert_same(kernel(x, y), matrices(x, y, algebra))


@native_only
@pytest.mark.parametrize("dtype", [F32, F64, Bool], ids=str)
@pytest.mark.parametrize("length", [1, 70, 1100])
@pytest.mark.parametrize("wild", [0.0, 0.02])
def test_a_matrix_times_a_vector_is_that_of_broadcasting(
    dtype: DType, length: int, wild: float, instruction_set: str, threads: int
) -> None:
    random = np.random.default_rng(length)
    for algebra in [OR_AND] if dtype is Bool else [MAX_PLUS, MIN_PLUS, MAX_TIMES]:
        for m, k, step in ((length, 37, 1), (37, length, 1), (length, 300, -1), (41, length, 2)):
            x = elements(random, (k, m * abs(step)), dtype, wild)[:, ::step]
            y = elements(random, (1, k), dtype, wild)
            form = form_of(dtype, (m, k), CPU, (step, m * abs(step)))
            for transposed, matrix, params in (
                (x, form, MATRICES),
                (x.T, form_of(dtype, (k, m), CPU, form.strides[::-1]), None),
            ):
                labels = params or ((1, 0), (1, 2), (0, 2))
                kernel = bind_native(
                    (matrix, form_of(dtype, (k, 1), CPU)), form_of(dtype, (m, 1), CPU), (*labels, algebra)
                )
                assert kernel is not None
                assert_same(kernel(transposed, y), matrices(x, y, algebra))


@native_only
@pytest.mark.parametrize("algebra", [MAX_PLUS, MIN_PLUS, MAX_TIMES])
@pytest.mark.parametrize("pair", list(product([np.nan, np.inf, -np.inf, 0.0, 2.0], repeat=2)), ids=str)
def test_one_special_pair_spoils_only_the_sums_that_it_is_in(
    algebra: Semiring, pair: tuple[float, float], instruction_set: str
) -> None:
    random = np.random.default_rng(2)
    x, y = elements(random, (600, 50), F64, 0), elements(random, (20, 600), F64, 0)
    for place in (0, 255, 256, 599):  # in either block of contracted indices
        x[place, 7], y[11, place] = pair
        forms = form_of(F64, (50, 600), CPU), form_of(F64, (600, 20), CPU)
        kernel = bind_native(forms, form_of(F64, (50, 20), CPU), (*MATRICES, algebra))
        assert kernel is not None
        assert_same(kernel(x, y), matrices(x, y, algebra))


@native_only
@pytest.mark.parametrize("batch", [1, 2, 5, 3000])
def test_products_of_a_batch_are_products_of_each(batch: int, threads: int) -> None:
    random = np.random.default_rng(8)
    x, y = elements(random, (batch, 4, 3), F64, 0.01), elements(random, (batch, 5, 4), F64, 0.01)
    a, b = tr.asarray(x.T, copy=False), tr.asarray(y.T, copy=False)
    found = tr.dot_general(a, b, contracting=(1, 0), batch=(2, 2), algebra=MAX_PLUS)
    expected = np.stack([matrices(one, other, MAX_PLUS) for one, other in zip(x, y, strict=True)]).T
    np.testing.assert_array_equal(found.to_numpy(), expected)


@native_only
def test_large_products_of_a_batch_are_shared_among_threads_one_by_one(threads: int) -> None:
    random = np.random.default_rng(9)
    x, y = elements(random, (3, 180, 170), F32, 0), elements(random, (3, 160, 180), F32, 0)
    a, b = tr.asarray(x.T, copy=False), tr.asarray(y.T, copy=False)
    found = tr.dot_general(a, b, contracting=(1, 0), batch=(2, 2), algebra=MIN_PLUS)
    expected = np.stack([matrices(one, other, MIN_PLUS) for one, other in zip(x, y, strict=True)]).T
    np.testing.assert_array_equal(found.to_numpy(), expected)


@native_only
def test_one_kernel_serves_several_callers_at_once() -> None:
    random = np.random.default_rng(10)
    pairs = [(elements(random, (90, 80), F64, 0), elements(random, (70, 90), F64, 0)) for _ in range(8)]
    forms = form_of(F64, (80, 90), CPU), form_of(F64, (90, 70), CPU)
    kernel = bind_native(forms, form_of(F64, (80, 70), CPU), (*MATRICES, MAX_PLUS))
    assert kernel is not None
    with ThreadPoolExecutor(4) as pool:
        for found, (x, y) in zip(pool.map(lambda pair: kernel(*pair), pairs * 4), pairs * 4, strict=True):
            assert_same(found, matrices(x, y, MAX_PLUS))


@native_only
def test_the_kernel_refuses_other_arguments_than_two_arrays() -> None:
    form = form_of(F64, (2, 2), CPU)
    kernel = bind_native((form, form), form, (*MATRICES, MAX_PLUS))
    assert kernel is not None
    with pytest.raises(TypeError, match="takes 2 positional arguments"):
        kernel(np.zeros((2, 2)))
    with pytest.raises(TypeError, match="takes arrays, found int"):
        kernel(np.zeros((2, 2)), 1)


@pytest.mark.parametrize("wild", [0.0, 0.01])
def test_numpys_kernel_halves_kept_and_contracted_axes(wild: float) -> None:
    random = np.random.default_rng(4)
    for m, k, n in ((400, 30, 300), (3, 90_000, 2), (70_000, 1, 2)):
        x, y = elements(random, (k, m), F64, wild), elements(random, (n, k), F64, wild)
        forms = form_of(F64, (m, k), CPU), form_of(F64, (k, n), CPU)
        kernel = bind_numpy(forms, form_of(F64, (m, n), CPU), (*MATRICES, MIN_PLUS))
        assert_same(kernel(x, y), matrices(x, y, MIN_PLUS))


def test_an_empty_sum_is_the_zero_of_the_algebra() -> None:
    a, b = tr.zeros((2, 0)), tr.zeros((0, 3))
    for algebra in (PLUS_TIMES, MAX_PLUS, MIN_PLUS, MAX_TIMES):
        found = tr.dot_general(a, b, contracting=(1, 0), algebra=algebra)
        assert found.to_numpy().tolist() == [[algebra.zero_of(F64)] * 3] * 2
    none = tr.cast(a, Bool), tr.cast(b, Bool)
    assert not tr.dot_general(*none, contracting=(1, 0), algebra=OR_AND).to_numpy().any()


def test_or_and_is_the_contraction_of_truth_values() -> None:
    random = np.random.default_rng(3)
    a, b = (tr.asarray(random.random((90, 90)) < 0.1) for _ in range(2))
    found = tr.dot_general(a, b, contracting=(1, 0), algebra=OR_AND)
    np.testing.assert_array_equal(found.to_numpy(), (a @ b).to_numpy())


@native_only
def test_contractions_of_truth_values_are_numpys(instruction_set: str) -> None:
    random = np.random.default_rng(6)
    x, y = random.random((3, 40, 30)) < 0.1, random.random((50, 3, 40)) < 0.1
    forms = form_of(Bool, (30, 40, 3), CPU), form_of(Bool, (40, 3, 50), CPU)
    for params in (
        ((0, 1, 2), (1, 2, 3), (0, 3)),
        ((0, 1, 2), (1, 2, 3), (3, 2, 0)),
        ((0, 1, 2), (1, 2, 3), (2, 0, 3)),
    ):
        result = result_form(*forms, params, Bool)
        kernel = bind_native(forms, result, SemiringContractParams(*params, OR_AND))
        assert kernel is not None
        assert_same(kernel(x, y), bind_numpys_contract(forms, result, params)(x, y))
    alone: Params = ((0, 1, 2), (1, 4, 3), (0, 3))  # label 2, and 4, of one operand only
    assert bind_contract(forms, result_form(*forms, alone, Bool), alone) is None
    numbers = form_of(F64, (2, 2), CPU)
    assert bind_contract((numbers, numbers), numbers, MATRICES) is None


def test_an_output_receives_the_result() -> None:
    out = tr.zeros((2, 2))
    x = tr.tensor([[1.0, 5.0], [2.0, 3.0]])
    tr.dot_general(x, x, contracting=(1, 0), algebra=MAX_PLUS, out=out.mutable_view())
    assert out.to_numpy().tolist() == [[7.0, 8.0], [5.0, 7.0]]


def test_dtypes_that_the_algebra_lacks_are_refused_by_name() -> None:
    x = tr.tensor([[1, 2], [3, 4]])
    with pytest.raises(DTypeError, match=r"dot_general: operands are I64, I64; accepted by .* max_plus: F32, F64"):
        tr.dot_general(x, x, contracting=(1, 0), algebra=MAX_PLUS)
    with pytest.raises(DTypeError, match=r"or_and: Bool"):
        tr.dot_general(x, x, contracting=(1, 0), algebra=OR_AND)
    with pytest.raises(ArgumentError, match=r"algebra is 'max'; accepted: PLUS_TIMES, MAX_PLUS"):
        tr.dot_general(x, x, algebra="max")  # type: ignore[arg-type]


def test_a_backend_without_the_kernel_says_so() -> None:
    lacking = {"semiring_contract": "this device has no other algebra than plus-times"}
    device = SimulatedBackend(tr.backend("cpu"), "plus-times-only", lacking)
    tr.register_backend("plus-times-only", device)
    try:
        x = tr.upload(tr.HostTensor.from_nested([[1.0, 2.0]]), device.placement())
        assert tr.dot_general(x, x, contracting=(1, 1), algebra=PLUS_TIMES).shape == (1, 1)
        with pytest.raises(UnsupportedOperationError, match=lacking["semiring_contract"]):
            tr.dot_general(x, x, contracting=(1, 1), algebra=MAX_PLUS)
    finally:
        registry.unregister("plus-times-only")


def test_algebras_exist_once() -> None:
    for algebra in ALGEBRAS:
        assert pickle.loads(pickle.dumps(algebra)) is copy(algebra) is deepcopy(algebra) is algebra
    assert len(set(ALGEBRAS)) == len(ALGEBRAS) == len({repr(algebra) for algebra in ALGEBRAS})
    with pytest.raises(ArgumentError, match="making one is not offered"):
        Semiring("mine")
    with pytest.raises(AttributeError, match="immutable"):
        MAX_PLUS.name = "other"


def test_zero_and_one_are_neutral_elements() -> None:
    for algebra, dtype, value in (
        (MAX_PLUS, F64, -3.5),
        (MIN_PLUS, F32, 2.5),
        (MAX_TIMES, F64, 4.0),
        (OR_AND, Bool, True),
    ):
        add, multiply = OPERATIONS[algebra]
        assert add(algebra.zero_of(dtype), value) == value == multiply(algebra.one_of(dtype), value)
    assert PLUS_TIMES.zero_of("C32") == 0 and PLUS_TIMES.one_of("I64") == 1 and PLUS_TIMES.one_of(Bool) is True
    with pytest.raises(DTypeError, match="max_plus: dtype is I64; accepted: F32, F64"):
        MAX_PLUS.zero_of("I64")


def test_inference_needs_no_data() -> None:
    form = tr.infer(tr.dot_general, (F32, (2, 3)), (F64, (3, 4)), contracting=(1, 0), algebra=MAX_PLUS)
    assert form is form_of(F64, (2, 4), CPU)
    with pytest.raises(DTypeError):
        tr.infer(tr.dot_general, (I32, (2, 3)), (I32, (3, 4)), contracting=(1, 0), algebra=MAX_PLUS)


@native_only
def test_large_products_of_truth_values_go_by_the_loops_of_algebras() -> None:
    x = np.random.default_rng(7).random((170, 170)) < 0.01
    form = form_of(Bool, x.shape, CPU)
    kernel = bind_contract((form, form), form, MATRICES)
    assert kernel is not None
    assert_same(kernel(x, x), matrices(x, x, OR_AND))


@pytest.mark.parametrize("algebra", [MAX_PLUS, MIN_PLUS, MAX_TIMES, OR_AND])
@pytest.mark.parametrize("inner", [1, 2, 40, 3000])
@pytest.mark.parametrize(
    ("products", "rows", "columns"), [(1, 1, 1), (130, 1, 1), (130, 3, 2), (9, 1, 70), (120, 16, 17)]
)
def test_many_small_products_and_inner_ones_whoever_computes_them(
    algebra: Semiring, products: int, rows: int, columns: int, inner: int
) -> None:
    """Around the numbers from which on one kernel or another takes less time."""
    random = np.random.default_rng(8)
    inner = min(inner, 400_000 // (products * rows * columns))
    dtype = Bool if algebra is OR_AND else F32
    x = elements(random, (inner, rows, products), dtype, 0.01)
    y = elements(random, (columns, inner, products), dtype, 0.01)
    add, multiply = OPERATIONS[algebra]
    with np.errstate(all="ignore"):
        terms = multiply(x.transpose(1, 0, 2)[:, None], y[None])
        expected = add.reduce(terms, axis=2)  # rows, columns, products
    found = tr.dot_general(tr.asarray(x), tr.asarray(y), contracting=(0, 1), batch=(2, 2), algebra=algebra)
    np.testing.assert_array_equal(found.to_numpy(), expected)
