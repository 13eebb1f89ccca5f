"""The native copies against NumPy's, for random layouts in every dtype, instruction set and number of threads."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from tensor_core import C64, DTYPES, F32, F64, I32, I64, Bool, DType
from tensor_core.errors import CastRangeError
from tensor_cpu.kernels.contraction.unary_einsum import bind_unary_einsum as numpys_unary_einsum
from tensor_cpu.kernels.conversion.numpy import bind_cast
from tensor_cpu.kernels.copy.permute import bind_copy as bind_gapless_copy
from tensor_cpu.kernels.copy.permute import bind_fill
from tensor_cpu.kernels.views.numpy import bind_copy as bind_numpys_copy
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

if not AVAILABLE:
    pytest.skip("the extension was not built", allow_module_level=True)

from tensor_cpu.kernels.contraction.native_unary_einsum import bind_unary_einsum
from tensor_cpu.kernels.conversion.native import BINDERS as CONVERSIONS
from tensor_cpu.kernels.creation.native import bind_full
from tensor_cpu.kernels.elementwise.native import bind_program
from tensor_cpu.kernels.indexing.native import bind_copy_into
from tensor_cpu.kernels.views.native import bind_copy

pytestmark = pytest.mark.usefixtures("restored")


def choose(instruction_set: str, threads: int) -> None:
    LIBRARY.set_threads(threads)
    try:
        LIBRARY.set_instruction_set(instruction_set)
    except ValueError:  # this processor lacks it
        pytest.skip(instruction_set)


def noise(dtype: DType, size: int) -> Any:
    """Elements with any bits, so that nothing but a copy keeps them."""
    rng = np.random.default_rng(size)
    if dtype.name == "Bool":
        return rng.integers(0, 2, size).astype(bool)
    return np.frombuffer(rng.bytes(size * dtype.itemsize), NUMPY_DTYPES[dtype]).copy()


def same_bytes(x: Any, y: Any) -> bool:
    return x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()


def compact(extents: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(extents[axis + 1 :]) for axis in range(len(extents)))


Layout = tuple[tuple[int, ...], tuple[int, ...], int, int]
"""Extents and strides of a transposed array, the first element's place in the memory, and the length of the memory."""


@st.composite
def layouts(draw: Any, extents: tuple[int, ...], repeats: bool) -> Layout:
    """Axes in any order in memory, with gaps, backwards, and (with ``repeats``) with stride 0; else no overlap."""
    strides = [0] * len(extents)
    step, first = 1, 0
    for axis in draw(st.permutations(range(len(extents)))):
        if repeats and draw(st.integers(0, 7)) == 0:
            continue
        step *= draw(st.sampled_from((1, 1, 1, 2, 3)))
        strides[axis] = step * draw(st.sampled_from((1, 1, 1, -1)))
        if strides[axis] < 0:
            first += (extents[axis] - 1) * step if extents[axis] else 0
        step = step * extents[axis] + draw(st.sampled_from((0, 0, 0, 1))) if extents[axis] else step
    return extents, tuple(strides), first, max(1, step + 3)


@st.composite
def shapes(draw: Any) -> tuple[int, ...]:
    kind = draw(st.sampled_from(("small", "tiny extents", "two long", "empty")))
    if kind == "tiny extents":
        return tuple(draw(st.lists(st.sampled_from((2, 2, 2, 3, 4)), min_size=4, max_size=9)))
    if kind == "two long":
        return tuple(
            draw(st.permutations([draw(st.integers(7, 140)), draw(st.integers(7, 140)), draw(st.integers(1, 3))]))
        )
    extents = draw(st.lists(st.integers(1 - (kind == "empty"), 9), max_size=8))
    while prod(extents) > 20_000:
        extents.pop()
    return tuple(extents)


def transposed(memory: Any, layout: Layout) -> Any:
    extents, strides, first, _ = layout
    return as_strided(memory[first:], extents, [stride * memory.itemsize for stride in strides])


def form_like(dtype: DType, layout: Layout) -> Form:
    extents, strides, _, _ = layout
    return form_of(dtype, extents[::-1], CPU, strides[::-1])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("instruction_set", ["plain", "avx2", "avx512"])
@given(st.data(), st.sampled_from(DTYPES))
def test_a_copy_has_every_bit_of_any_view(instruction_set: str, threads: int, data: Any, dtype: DType) -> None:
    choose(instruction_set, threads)
    layout = data.draw(layouts(data.draw(shapes()), True))
    source = transposed(noise(dtype, layout[3]), layout)
    form = form_like(dtype, layout)
    kernel = bind_copy((form,), form_of(dtype, form.shape, CPU), None)
    assert kernel is not None
    copied = kernel(source)
    assert copied.flags.c_contiguous
    assert copied.flags.writeable
    assert same_bytes(copied, source)


@pytest.mark.own_threads
@pytest.mark.parametrize("instruction_set", ["plain", "avx2", "avx512"])
@given(st.data(), st.sampled_from(DTYPES))
def test_writing_into_a_view_touches_nothing_else(instruction_set: str, data: Any, dtype: DType) -> None:
    choose(instruction_set, 2)
    extents = data.draw(shapes())
    source_layout, target_layout = data.draw(layouts(extents, True)), data.draw(layouts(extents, False))
    source = transposed(noise(dtype, source_layout[3]), source_layout)
    memory = noise(dtype, target_layout[3] + 1)
    expected = memory.copy()
    transposed(expected, target_layout)[...] = source
    forms = form_like(dtype, target_layout), form_like(dtype, source_layout)
    kernel = bind_copy_into(forms, forms[0], None)
    if kernel is None:
        assert 0 in forms[0].strides
        return
    kernel(transposed(memory, target_layout), source)
    assert memory.tobytes() == expected.tobytes()


@given(st.data(), st.sampled_from((I64, *DTYPES)), st.integers(0, 20))
def test_overlapping_memory_is_written_as_if_the_source_were_copied_first(data: Any, dtype: DType, shift: int) -> None:
    extents = data.draw(shapes())
    source_layout, target_layout = data.draw(layouts(extents, True)), data.draw(layouts(extents, False))
    memory = noise(dtype, max(source_layout[3], target_layout[3]) + 20)
    expected = memory.copy()
    transposed(expected, target_layout)[...] = transposed(memory[shift:], source_layout).copy()
    forms = form_like(dtype, target_layout), form_like(dtype, source_layout)
    kernel = bind_copy_into(forms, forms[0], None)
    if kernel is not None:
        kernel(transposed(memory, target_layout), transposed(memory[shift:], source_layout))
        assert memory.tobytes() == expected.tobytes()


LARGE = [  # extents and strides of sources of several megabytes, and the method they are for
    ((1 << 20,), (1,), "runs"),
    ((1 << 20,), (0,), "spread"),
    ((1 << 20,), (-1,), "steps"),
    ((1 << 19,), (2,), "steps"),
    ((700, 1100), (1, 700), "transpose"),
    ((1024, 1024), (1, 1024), "transpose"),
    ((1000, 1000), (-1, 1000), "transpose"),
    ((96, 104, 100), (104, 1, 10400), "transpose"),
    ((100, 8, 1000), (8, 1, 800), "transpose"),
    ((2,) * 20, tuple(1 << k for k in range(20)), "transpose"),
    ((3,) * 13, tuple(3**k for k in range(13)), "transpose"),
    *(((few, 300_007), (1, few), "deinterleave") for few in range(2, 8)),
    *(((300_007, few), (1, 300_007), "interleave") for few in range(2, 8)),
    ((40, 3, 5000), (15000, 1, 3), "deinterleave"),
    ((40, 5000, 3), (15000, 1, 5000), "interleave"),
    ((40, 3, 5000), (15000, -1, 3), "steps"),
    ((40, 3, 5000), (20000, 1, 4), "steps"),
    ((1000, 1000), (0, 1), "runs"),
    ((1000, 1000), (1, 0), "spread"),
    ((2,) * 16 + (16,), (*(1 << (k + 4) for k in range(16)), 1), "runs"),
    ((300, 300, 2), (2, 600, 1), "transpose"),
    ((300, 300, 3), (3, 900, 1), "gather"),
]


@pytest.mark.own_threads
@pytest.mark.parametrize("instruction_set", ["plain", "avx2", "avx512"])
@pytest.mark.parametrize(("extents", "strides", "method"), LARGE)
def test_large_copies_keep_every_bit(
    instruction_set: str, extents: tuple[int, ...], strides: tuple[int, ...], method: str
) -> None:
    for dtype in (Bool, F32, F64, C64):  # 1, 4, 8 and 16 bytes
        choose(instruction_set, 2)
        first = sum((n - 1) * -stride for n, stride in zip(extents, strides, strict=True) if stride < 0)
        reach = sum((n - 1) * abs(stride) for n, stride in zip(extents, strides, strict=True)) + 1
        layout = extents, strides, first, reach
        source = transposed(noise(dtype, reach), layout)
        kernel = bind_copy((form_like(dtype, layout),), form_of(dtype, extents[::-1], CPU), None)
        assert kernel is not None
        assert same_bytes(kernel(source), source), dtype
    assert LIBRARY.copy_method(extents, compact(extents), strides, "F64")[0] == method


@pytest.mark.own_threads
@pytest.mark.parametrize("instruction_set", ["plain", "avx2", "avx512"])
def test_steps_of_any_length_keep_every_bit(instruction_set: str) -> None:
    choose(instruction_set, 1)
    lengths = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130, 1030)
    for dtype, step in itertools.product((Bool, F32, F64, C64), (-9, -5, -4, -3, -2, -1, 0, 2, 3, 4, 5)):
        for place, length in enumerate(lengths):
            first = (length - 1) * -step if step < 0 else 0
            memory = noise(dtype, place % 3 + first + abs(step) * length + 2)[place % 3 :]
            layout = (2, length), (1, step), first, 0
            source = transposed(memory, layout)
            assert same_bytes(LIBRARY.bind_copy(*layout[:2], dtype.name)(source), source), (dtype, step, length)
            form = form_like(dtype, layout)
            result = form_of(Bool, form.shape, CPU)
            equal = bind_program((form, form_of(dtype, form.shape, CPU)), result, (("equal", (0, 1), result),))
            assert equal is not None
            with np.errstate(invalid="ignore"):
                assert same_bytes(equal(source, source.copy()), source == source), (dtype, step, length)


@pytest.mark.parametrize("dtype", [Bool, F32, F64])
def test_short_runs_a_step_apart_that_is_no_multiple_of_them_keep_every_bit(dtype: DType) -> None:
    for run, step, rows in itertools.product((2, 4, 8), (2, 3, 5, 6, 9, -2, -3, -5, -9), (15, 16, 40)):
        layout = (rows, run), (step, 1), (rows - 1) * -step if step < 0 else 0, 0
        source = transposed(noise(dtype, rows * abs(step) + run), layout)
        assert same_bytes(LIBRARY.bind_copy(*layout[:2], dtype.name)(source), source), (run, step, rows)


@pytest.mark.parametrize("direction", [1, -1])
def test_loops_go_along_the_target_whatever_the_direction_of_the_source(direction: int) -> None:
    extents, strides = (3000, 3000), (direction, 3000)
    method, loops = LIBRARY.copy_method(extents, compact(extents), strides, "F64")
    assert (method, loops) == ("transpose", (125, 3))  # blocks of 24 columns, then pieces of the rows
    memory = noise(F64, 3000 * 3000)
    source = memory.reshape(3000, 3000).T[::direction]
    assert same_bytes(LIBRARY.bind_copy(extents, strides, "F64")(source), source)


def test_what_fits_in_no_memory_is_refused() -> None:
    for extents, strides in (((-1,), (1,)), ((2, -3), (1, 2)), ((2**62,), (1,)), ((2**40, 2**40), (1, 0))):
        with pytest.raises((ValueError, OverflowError), match=r"negative|larger than any memory"):
            LIBRARY.bind_copy(extents, strides, "F64")
    for strides in ((2**60, 1), (-(2**60), 1), (2**63 - 1, 1)):
        for bind in (
            lambda: LIBRARY.bind_copy((3, 2), strides, "F64"),  # noqa: B023
            lambda: LIBRARY.bind_copy_into((3, 2), strides, (2, 1), "F64"),  # noqa: B023
            lambda: LIBRARY.bind_convert((3, 2), strides, "F64", "F32", None),  # noqa: B023
            lambda: LIBRARY.copy_method((3, 2), (2, 1), strides, "F64"),  # noqa: B023
        ):
            with pytest.raises(OverflowError, match="beyond any memory"):
                bind()
    assert LIBRARY.bind_copy((1, 2), (2**62, 1), "F64")(np.ones((1, 2))).tolist() == [[1.0, 1.0]]
    assert LIBRARY.bind_copy((0, 2), (2**62, 1), "F64")(np.ones((0, 2))).shape == (0, 2)
    for dtype in ("F16", 8, None):
        with pytest.raises(ValueError, match="no name of an element type"):
            LIBRARY.copy_method((2,), (1,), (1,), dtype)  # type: ignore[arg-type]


@pytest.mark.parametrize("shift", range(9))
def test_targets_off_the_cache_lines_are_whole_too(shift: int) -> None:
    extents = (1024, 1032)
    source, memory = noise(F64, prod(extents)).reshape(extents[::-1]).T, noise(F64, prod(extents) + 16)
    expected = memory.copy()
    expected[shift : shift + source.size].reshape(extents)[...] = source
    bind = LIBRARY.bind_copy_into(extents, compact(extents), (1, 1024), "F64")
    bind(memory[shift : shift + source.size].reshape(extents), source)
    assert same_bytes(memory, expected)


def test_rank_64_and_extents_of_1_are_copied() -> None:
    shape = (1,) * 40 + (2,) * 8 + (1,) * 14 + (3, 1)
    source = noise(I64, prod(shape)).reshape(shape).T
    strides = tuple(stride // 8 for stride in source.strides)
    assert same_bytes(LIBRARY.bind_copy(source.shape, strides, "I64")(source), source)


@given(st.data(), st.sampled_from(DTYPES))
def test_unary_einsum_equals_numpys(data: Any, dtype: DType) -> None:
    sizes = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))
    labels_in = tuple(data.draw(st.lists(st.sampled_from(range(len(sizes))), max_size=6)))
    labels_out = tuple(data.draw(st.permutations(sorted({*labels_in}))))
    layout = data.draw(layouts(tuple(sizes[label] for label in reversed(labels_in)), True))
    form, result = form_like(dtype, layout), form_of(dtype, tuple(sizes[label] for label in labels_out), CPU)
    kernel = bind_unary_einsum((form,), result, (labels_in, labels_out))
    assert kernel is not None
    source = transposed(noise(dtype, layout[3]), layout)
    assert same_bytes(kernel(source), numpys_unary_einsum((form,), result, (labels_in, labels_out))(source))


def test_diagonals_of_the_result_are_left_to_numpy() -> None:
    matrix, vector = form_of(F64, (2, 2), CPU), form_of(F64, (2,), CPU)
    assert bind_unary_einsum((vector,), matrix, ((0,), (0, 0))) is None


def test_copies_within_contractions_convert_what_is_of_another_dtype() -> None:
    source = np.arange(40_000, dtype=np.int64).reshape(200, 200).T
    assert same_bytes(
        bind_gapless_copy((200, 200), (1, 200), np.dtype("float64"))(source), source.astype("float64", order="C")
    )
    target = np.empty((200, 200))
    bind_fill((200, 200), (1, 200))(target, source)
    assert same_bytes(target, source.astype("float64", order="C"))


def test_a_fill_writes_targets_with_gaps_and_reads_other_strides_than_promised() -> None:
    fill = bind_fill((200, 200), (1, 200))
    for target in (np.zeros((200, 200)), np.zeros((200, 300))[:, :200]):
        for source in (noise(F64, 40_000).reshape(200, 200).T, noise(F64, 80_000).reshape(200, 400)[:, ::2].T):
            fill(target, source)
            assert np.array_equal(target, source, equal_nan=True)


def test_a_kernel_refuses_what_is_no_array_and_another_number_of_operands() -> None:
    form = form_of(F64, (2,), CPU)
    kernel = bind_copy((form,), form, None)
    assert kernel is not None
    with pytest.raises(TypeError, match="takes arrays, found list"):
        kernel([1.0, 2.0])
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        kernel(np.zeros(2), np.zeros(2))
    with pytest.raises(ValueError, match="expected 1 strides, found 2"):
        LIBRARY.bind_copy((2,), (1, 2), "F64")


def test_numpys_kernels_answer_the_same() -> None:
    form, view = form_of(F64, (3, 4), CPU), form_of(F64, (3, 4), CPU, (4, 1))
    x = noise(F64, 12).reshape(3, 4).T
    kernel = bind_copy((view,), form, None)
    assert kernel is not None
    assert same_bytes(kernel(x), bind_numpys_copy(view, form, None)(x))


@pytest.mark.own_threads
@pytest.mark.parametrize("instruction_set", ["plain", "avx2", "avx512"])
@pytest.mark.parametrize("size", [5, 50_000])
def test_conversions_equal_numpys_bit_for_bit(instruction_set: str, size: int) -> None:
    choose(instruction_set, 2)
    for source, target in itertools.product(DTYPES, DTYPES):
        x = noise(source, 3 * size)
        if source.kind in ("float", "complex"):
            x[:5] = [0.0, -0.0, np.inf, -np.inf, 1e-320]
        for layout in (((3 * size,), (1,), 0, 0), ((size, 3), (1, size), 0, 0), ((size,), (-3,), 3 * size - 1, 0)):
            form = form_like(source, layout)
            result = form_of(target, form.shape, CPU)
            kernel = CONVERSIONS["cast"]((form,), result, ("wrap",))
            assert kernel is not None
            fitting = x if source is Bool else np.clip(x.real, -100, 100).astype(x.dtype)
            for elements in (x, fitting):
                view = transposed(elements, layout)
                assert same_bytes(kernel(view), bind_cast(form, result, "wrap")(view)), (source, target)


@pytest.mark.own_threads
@pytest.mark.parametrize("instruction_set", ["plain", "avx2", "avx512"])
def test_the_last_numbers_that_fit_are_cast_and_the_next_ones_refused(instruction_set: str) -> None:
    choose(instruction_set, 1)
    for source, target, last, beyond in (
        (F64, I32, np.nextafter(2.0**31, 0), 2.0**31),
        (F64, I32, np.nextafter(-(2.0**31) - 1, 0), -(2.0**31) - 1),
        (F64, I64, -(2.0**63), np.nextafter(-(2.0**63), -np.inf)),
        (F32, I32, np.nextafter(np.float32(2.0**31), np.float32(0)), 2.0**31),
        (F32, I64, -(2.0**63), np.nan),
        (I64, I32, 2**31 - 1, 2**31),
    ):
        kernel = CONVERSIONS["cast"]((form_of(source, (40,), CPU),), form_of(target, (40,), CPU), ("error",))
        assert kernel is not None
        x = np.zeros(40, source.numpy_name)
        x[37] = last
        assert kernel(x)[37] == int(last)
        x[38] = beyond
        with pytest.raises(CastRangeError, match="element \\(38,\\)"):
            kernel(x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_filled_array_equals_numpys(dtype: DType) -> None:
    form = form_of(dtype, (129, 131), CPU)
    kernel = bind_full((), form, None)
    assert kernel is not None
    for value in (0, -0.0, 1, True, 7 if dtype.kind == "int" else 1.5):
        assert same_bytes(kernel(value), np.full((131, 129), value, NUMPY_DTYPES[dtype]))
    assert bind_full((), form_of(dtype, (3,), CPU), None) is None
