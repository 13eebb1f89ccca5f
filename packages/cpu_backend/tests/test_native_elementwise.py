"""The elementwise machine against NumPy's kernels and the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from native_programs import SPECIAL, bound
from tensor_core.dtypes import C32, C64, DTYPES, F32, F64, I32, I64, Bool, DType
from tensor_core.errors import CastRangeError
from tensor_core.promotion import promote
from tensor_cpu.backend import CpuBackend
from tensor_cpu.kernel_table import bind_numpy
from tensor_cpu.storage import NUMPY_DTYPES, restride
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.contracts.elementwise import STEP_PARAMS, ProgramParams
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

if not AVAILABLE:
    pytest.skip("the native kernels were not built", allow_module_level=True)

from tensor_cpu.kernels.elementwise import native as native
from tensor_cpu.kernels.elementwise.registers import OPERATIONS

ARITHMETIC = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def elements(rng: np.random.Generator, dtype: DType, count: int) -> np.ndarray[Any, Any]:
    """Whole numbers and, for floating types, fractions."""
    if dtype is Bool:
        return rng.integers(0, 2, count).astype(bool)
    whole = rng.integers(-9, 10, count)
    if dtype.kind == "int":
        return whole.astype(NUMPY_DTYPES[dtype])
    values = whole + rng.integers(0, 8, count) / 8
    if dtype.kind == "complex":
        values = values + 1j * rng.integers(-9, 10, count)
    return values.astype(NUMPY_DTYPES[dtype])


def operand(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> tuple[Form, np.ndarray[Any, Any]]:
    """A tensor of this shape, or one that broadcasts to it, with strides of any sign and order."""
    rank = int(rng.integers(0, len(shape) + 1)) if rng.random() < 0.3 else len(shape)
    extents = [extent if rng.random() < 0.85 else 1 for extent in shape[len(shape) - rank :]]
    order, step = list(rng.permutation(rank)), 1 if rng.random() < 0.7 else int(rng.integers(1, 4))
    strides, first = [0] * rank, 0
    for axis in order:
        strides[axis] = step
        step *= max(extents[axis], 1)
        if rng.random() < 0.1:
            strides[axis] = 0
        elif rng.random() < 0.2:
            strides[axis] *= -1
            first += -strides[axis] * max(extents[axis] - 1, 0)
    form = form_of(dtype, tuple(extents), CPU, tuple(strides))
    memory = elements(rng, dtype, step + first + 1)
    return form, restride(memory[first:], form)


def shape_of(rng: np.random.Generator) -> tuple[int, ...]:
    """Small shapes of rank 0 to 8, and some with long axes."""
    if rng.random() < 0.3:
        return tuple(
            int(extent) for extent in rng.permutation([int(rng.integers(1, 3000)), int(rng.integers(1, 40)), 1])
        )
    most = 9 if rng.random() < 0.7 else 3
    rank = int(rng.integers(0, 9)) if most == 3 else int(rng.integers(0, 5))
    return tuple(int(extent) for extent in rng.integers(1 if rng.random() < 0.9 else 0, most + 1, rank))


def check(seed: int) -> None:
    """One random operation on random layouts against NumPy's kernel."""
    rng = np.random.default_rng(seed)
    shape = shape_of(rng)
    name = str(rng.choice([*ARITHMETIC, *COMPARISONS, "where", "logical_and", "convert", "negative", "abs"]))
    dtypes: list[DType] = [DTYPES[k] for k in rng.integers(0, len(DTYPES), 2)]
    if rng.random() < 0.5:
        dtypes[1] = dtypes[0]
    common = promote(*dtypes)
    if name in ("subtract", "negative", "abs") and common is Bool:
        return
    if name in ("maximum", "minimum", "less", "less_equal", "greater", "greater_equal") and common.kind == "complex":
        return
    result = {"divide": F64 if common.kind in ("int", "bool") else common, "convert": common}.get(name, common)
    if name in COMPARISONS or name == "logical_and":
        result = Bool
    unary = name in ("convert", "negative", "abs")
    if name in ("negative", "abs"):
        dtypes[0] = common
    if name == "abs":
        result = common.component
    pairs = [operand(rng, dtype, shape) for dtype in (dtypes[:1] if unary else dtypes)]
    if name == "where":
        pairs.insert(0, operand(rng, Bool, shape))
    forms = tuple(form for form, _ in pairs)
    full = form_of(result, np.broadcast_shapes(*[form.shape for form in forms]), CPU)
    kernel = bound(name, forms, full)
    assert kernel is not None
    arrays = [array for _, array in pairs]
    found, expected = kernel(*arrays), bind_numpy(name, forms, full, STEP_PARAMS.get(name))(*arrays)
    assert found.shape == expected.shape and found.dtype == expected.dtype and found.flags.c_contiguous
    if common.kind == "complex" and name in ("multiply", "divide", "abs"):
        limit = 4 * np.finfo(found.dtype).eps
        with np.errstate(invalid="ignore"):
            close = np.abs(found - expected) <= limit * np.abs(expected)
        assert np.all(close | (np.isnan(found) & np.isnan(expected)) | (found == expected))
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("block", range(8))
def test_random_layouts_give_what_numpy_gives(block: int, instruction_set: str) -> None:
    for seed in range(100 * block, 100 * block + 100):
        check(seed)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("block", range(2))
def test_random_layouts_past_the_cache_do_too(block: int, instruction_set: str) -> None:
    LIBRARY.set_streamed_bytes(0)
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        check(seed)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("columns", [1, 3, 27, 81, 129, 257])
@pytest.mark.parametrize("dtype", [F32, F64, C64, Bool])
def test_rows_that_are_no_whole_lines_go_past_the_cache(
    columns: int, dtype: DType, instruction_set: str, threads: int
) -> None:
    """Each line of the cache that two blocks have a part of is written whole, or by two threads, a part each."""
    LIBRARY.set_streamed_bytes(0)
    rng, rows, planes = np.random.default_rng(columns), 1 + 2000 // columns, 37
    name, numpy_operation = ("logical_and", np.logical_and) if dtype is Bool else ("add", np.add)
    result = form_of(dtype, (columns, rows, planes), CPU)
    x, y = elements(rng, dtype, planes * columns), elements(rng, dtype, planes * rows)
    forms = (
        form_of(dtype, result.shape, CPU, (1, 0, columns)),
        form_of(dtype, result.shape, CPU, (0, 1, rows)),
    )
    found = bound(name, forms, result)(*[restride(memory, form) for memory, form in zip((x, y), forms, strict=True)])
    expected = numpy_operation(x.reshape(planes, 1, columns), y.reshape(planes, rows, 1))
    np.testing.assert_array_equal(found, expected)


def test_any_number_of_threads_gives_the_same(threads: int) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((300, 700)), rng.standard_normal((700, 300))
    form = form_of(F64, (700, 300), CPU)
    turned = form_of(F64, (700, 300), CPU, (300, 1))
    kernel = bound("subtract", (form, turned), form)
    np.testing.assert_array_equal(kernel(x, y.T), x - y.T)


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64, I32, I64, Bool])
@pytest.mark.parametrize("shape", [(64, 50), (50, 64), (9, 17, 33), (4, 5, 6, 7, 16), (2000, 3), (3, 2000)])
def test_every_order_of_axes_is_read(dtype: DType, shape: tuple[int, ...], instruction_set: str) -> None:
    rng = np.random.default_rng(2)
    result = form_of(dtype, shape, CPU)
    for _ in range(4):
        order = rng.permutation(len(shape))
        step, strides = 1, [0] * len(shape)
        for axis in order:
            strides[axis], step = step, step * shape[axis]
        turned = form_of(dtype, shape, CPU, tuple(strides))
        x, y = elements(rng, dtype, result.size).reshape(shape[::-1]), restride(elements(rng, dtype, step), turned)
        found = bound("add", (result, turned), result)(x, y)
        np.testing.assert_array_equal(found, x + y)


def steps_of(form: Form) -> tuple[Any, ...]:
    """exp(-x*x) * sin(y) + 2*z, with operands 0, 1 and 2."""
    return (
        ("multiply", (0, 0), form),
        ("negative", (3,), form),
        ("exp", (4,), form),
        ("sin", (1,), form),
        ("multiply", (5, 6), form),
        ("multiply", (("constant", 2), 2), form),
        ("add", (7, 8), form),
    )


@pytest.mark.parametrize("size", [1, 7, 1000, 4099, 70001])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_a_chain_is_one_kernel_with_the_same_values(size: int, dtype: DType, instruction_set: str) -> None:
    form = form_of(dtype, (size,), CPU)
    rng = np.random.default_rng(3)
    x, y, z = (rng.standard_normal(size).astype(NUMPY_DTYPES[dtype]) for _ in range(3))
    kernel = CpuBackend().bind("elementwise_program", (form, form, form), form, ProgramParams(steps_of(form)))
    assert "native kernel" in repr(kernel)
    expected = bind_numpy("elementwise_program", (form, form, form), form, ProgramParams(steps_of(form)))(x, y, z)
    assert np.max(np.abs(kernel(x, y, z) - expected)) <= 16 * np.finfo(expected.dtype).eps


def test_small_steps_of_a_chain_are_computed_once_and_broadcast() -> None:
    row, matrix = form_of(F64, (30,), CPU), form_of(F64, (20, 30), CPU)
    steps = (("exp", (0,), row), ("multiply", (1, 1), matrix), ("add", (3, 2), matrix))
    x, y = np.linspace(0, 1, 30), np.arange(600.0).reshape(30, 20)
    found = CpuBackend().bind("elementwise_program", (row, matrix), matrix, ProgramParams(steps))(x, y)
    np.testing.assert_allclose(found, y * y + np.exp(x)[:, None], rtol=1e-15)


def test_a_chain_without_instructions_is_computed_step_by_step() -> None:
    form = form_of(I64, (5,), CPU)
    steps = (("floor_divide", (0, 1), form), ("add", (2, 0), form))
    found = CpuBackend().bind("elementwise_program", (form, int), form, ProgramParams(steps))(np.arange(5), 2)
    assert found.tolist() == [0, 1, 3, 4, 6]


def test_python_numbers_are_converted_as_numpy_kernels_do() -> None:
    size = 20000
    whole, real, single = (form_of(dtype, (size,), CPU) for dtype in (I64, F64, F32))
    x = np.arange(size)
    assert bound("add", (whole, int), whole)(x, 7).tolist() == (x + 7).tolist()
    np.testing.assert_array_equal(bound("divide", (float, whole), real)(1.0, x + 1), 1.0 / (x + 1))
    np.testing.assert_array_equal(
        bound("multiply", (single, float), single)(x.astype(np.float32), 0.1), x.astype(np.float32) * np.float32(0.1)
    )


def test_numbers_out_of_range_are_refused_or_compared() -> None:
    form, truth = form_of(I32, (20000,), CPU), form_of(Bool, (20000,), CPU)
    x = np.arange(20000, dtype=np.int32)
    with pytest.raises(CastRangeError, match="does not fit I32"):
        bound("add", (form, int), form)(x, 2**40)
    assert bound("less", (form, int), truth)(x, 2**40).all()


def test_powers_two_and_three_are_products() -> None:
    form = form_of(F64, (5000,), CPU)
    x = np.linspace(-3, 3, 5000)
    for exponent, expected in ((2, x * x), (3, x * x * x)):
        steps = (("pow", (0, ("constant", exponent)), form), ("negative", (1,), form))
        np.testing.assert_array_equal(native.bind_program((form,), form, steps)(x), -expected)  # type: ignore[misc]


@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
def test_integers_wrap(name: str, instruction_set: str) -> None:
    for dtype in (I32, I64):
        info = np.iinfo(NUMPY_DTYPES[dtype])
        x = np.array([info.min, info.max, info.min, -1] * 9, NUMPY_DTYPES[dtype])
        y = np.array([-1, 1, info.min, info.min] * 9, NUMPY_DTYPES[dtype])
        form = form_of(dtype, x.shape, CPU)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(bound(name, (form, form), form)(x, y), getattr(np, name)(x, y))
        np.testing.assert_array_equal(bound("negative", (form,), form)(x), -x)
        np.testing.assert_array_equal(bound("abs", (form,), form)(x), abs(x))


@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_infinities_and_nan_are_treated_as_in_numpy(name: str, dtype: DType, instruction_set: str) -> None:
    with np.errstate(all="ignore"):
        values = np.array(SPECIAL).astype(NUMPY_DTYPES[dtype])
        x, y = np.repeat(values, len(values)), np.tile(values, len(values))
        form = form_of(dtype, x.shape, CPU)
        result = form_of(Bool if name in COMPARISONS else dtype, x.shape, CPU)
        expected = getattr(np, name)(x, y)
        found = bound(name, (form, form), result)(x, y)
    np.testing.assert_array_equal(found, expected)
    if name not in (*COMPARISONS, "maximum", "minimum"):
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


@pytest.mark.parametrize(
    "name", ["abs", "sign", "sqrt", "floor", "ceil", "trunc", "round", "isnan", "isinf", "isfinite"]
)
@pytest.mark.parametrize("dtype", [F32, F64])
def test_exact_functions_of_special_values_are_numpys(name: str, dtype: DType, instruction_set: str) -> None:
    with np.errstate(all="ignore"):
        x = np.array([*SPECIAL, 0.5, 1.5, 2.5, -0.5, -0.4, -2.7]).astype(NUMPY_DTYPES[dtype])
        form = form_of(dtype, x.shape, CPU)
        result = form_of(Bool if name.startswith("is") else dtype, x.shape, CPU)
        found, expected = bound(name, (form,), result)(x), bind_numpy(name, (form,), result, None)(x)
    np.testing.assert_array_equal(found, expected)
    if result.dtype is dtype:
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("size", [1, 3, 1000, 5000])
@pytest.mark.parametrize("dtype", [F32, F64, C64, I64])
def test_squares_and_reciprocals_are_numpys(dtype: DType, size: int) -> None:
    x = np.random.default_rng(size).integers(1, 50, size).astype(NUMPY_DTYPES[dtype])
    if dtype in (F32, F64):
        x[:: size // 2 + 1] = [np.inf, np.nan][: len(x[:: size // 2 + 1])]
        x[-1] = 0.0 if size > 1 else 4.0
    np.testing.assert_array_equal(tr.square(tr.asarray(x)).to_numpy(), x * x)
    if dtype in (F32, F64):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(tr.reciprocal(tr.asarray(x)).to_numpy(), np.reciprocal(x))
            np.testing.assert_array_equal(tr.rsqrt(tr.asarray(x)).to_numpy(), np.reciprocal(np.sqrt(x)))


@pytest.mark.parametrize("count", [-70, -1, 0, 1, 31, 32, 63, 64, 100])
def test_shifts_by_any_count_are_numpys(count: int, instruction_set: str) -> None:
    for dtype in (I32, I64):
        x = np.arange(-40, 40, dtype=NUMPY_DTYPES[dtype])
        form = form_of(dtype, x.shape, CPU)
        for name, ufunc in (("bitwise_left_shift", np.left_shift), ("bitwise_right_shift", np.right_shift)):
            y = np.full_like(x, count)
            np.testing.assert_array_equal(bound(name, (form, form), form)(x, y), ufunc(x, y))


def test_every_instruction_is_named_after_a_kernel() -> None:
    known = CpuBackend().operations()
    variants = {"gelu_tanh", "cube", "half_power", "near"}  # of the kernels gelu and pow, and of programs
    assert {name for name in OPERATIONS if not name.startswith("to_")} - variants <= known


def test_malformed_programs_are_refused() -> None:
    good = ((3,), "F64", (((1,), "F64"),), (("negative", "F64", 1, 0, 0, 0),), ())
    np.testing.assert_array_equal(LIBRARY.bind_elementwise(*good)(np.ones(3)), -np.ones(3))
    for place, value in (
        (2, (((1, 1), "F64"),)),
        (3, ()),
        (3, (("negative", "F64", 0, 0, 0, 0),)),
        (3, (("negative", "F64", 1, 99, 0, 0),)),
        (3, (("negative", "Bool", 1, 0, 0, 0),)),
        (4, (b"abc",)),
    ):
        with pytest.raises(ValueError, match=r"elementwise|expected 1 strides, found 2"):
            LIBRARY.bind_elementwise(*good[:place], value, *good[place + 1 :])


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((150, 140), (1, 0)), ((20, 30, 40), (2, 0, 1)), ((2,) * 15, tuple(range(14, -1, -1))), ((3, 9000), (1, 0))],
)
def test_permuted_operands_are_copied_first_and_give_the_same(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(6)
    for dtype in (F64, C64, I32):
        x = tr.asarray(elements(rng, dtype, int(np.prod(shape))).reshape(shape, order="F"))
        for view in (tr.transpose_view(x, axes), tr.transpose_view(x[::-1], axes)):
            transposed, compact = view.to_numpy(), tr.copy(view)
            assert native.copied_first(view._form, view.shape) and not native.copied_first(compact._form, view.shape)
            np.testing.assert_array_equal(tr.add(view, compact).to_numpy(), transposed + transposed)
            np.testing.assert_array_equal(
                tr.fuse(lambda a, b: (a + b, -a))(view, compact)[0].to_numpy(), transposed + transposed
            )
            np.testing.assert_array_equal(tr.where(view == compact, view, compact).to_numpy(), transposed)
            np.testing.assert_array_equal(tr.conj(view).to_numpy(), transposed.conj())
            np.testing.assert_array_equal(tr.multiply(view, 2).to_numpy(), transposed * 2)
    row = tr.broadcast_to(x[:1], shape)
    assert not native.copied_first(row._form, shape)
