"""Choices, bounds, comparisons and closeness in vectors and parts of them; and what is written past the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.contracts.elementwise import ProgramStep
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

if not AVAILABLE:
    pytest.skip("the native kernels were not built", allow_module_level=True)

from tensor_cpu.kernels.copy.permute import bind_copy
from tensor_cpu.kernels.elementwise import compiled
from tensor_cpu.kernels.elementwise.native import bind_program

Array = np.ndarray[Any, Any]
LENGTHS = (1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 128, 200, 1029)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 1 + 1e-6, 1e-9, 1e308, -1e308, np.inf, -np.inf, np.nan)
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


@pytest.fixture(params=["plain", "avx2", "avx512"])
def instruction_set(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels of one version; nothing where this processor lacks it."""
    former = LIBRARY.instruction_set()
    try:
        LIBRARY.set_instruction_set(request.param)
    except ValueError:
        pytest.skip(f"this processor has no {request.param}")
    tr.binding_cache.clear()
    yield
    LIBRARY.set_instruction_set(former)
    tr.binding_cache.clear()


@pytest.fixture
def past_the_cache() -> Iterator[None]:
    """Results of any size are written past the cache meanwhile."""
    former = LIBRARY.streamed_bytes()
    LIBRARY.set_streamed_bytes(0)
    assert LIBRARY.far_bytes() == 0  # all operands, too, are taken for ones in main memory
    yield
    LIBRARY.set_streamed_bytes(former)


def drawn(rng: np.random.Generator, dtype: DType, count: int) -> Array:
    """Special numbers in any order, or integers."""
    if dtype.kind == "int":
        return rng.integers(-9, 10, count).astype(NUMPY_DTYPES[dtype])
    with np.errstate(over="ignore"):
        parts = rng.choice(SPECIAL, count * (2 if dtype.kind == "complex" else 1))
        return parts.astype(NUMPY_DTYPES[dtype.component]).view(NUMPY_DTYPES[dtype])


def bound(name: str, forms: tuple[Form, ...], result: Form) -> Any:
    """The machine's kernel for one operation, whatever the size."""
    return bind_program(forms, result, (ProgramStep(name, tuple(range(len(forms))), result),))


def same_bits(found: Array, expected: Array) -> None:
    """The same numbers, zeros of the same sign; any NaN is like another."""
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
@pytest.mark.parametrize("count", LENGTHS)
def test_bounds_are_those_of_two_choices_in_numpy(dtype: DType, count: int) -> None:
    rng = np.random.default_rng(count)
    x, low, high = (drawn(rng, dtype, count) for _ in range(3))
    form = form_of(dtype, (count,), CPU)
    same_bits(bound("clip", (form,) * 3, form)(x, low, high), np.minimum(np.maximum(x, low), high))


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", [F32, F64, C32, C64, I32, Bool])
@pytest.mark.parametrize("count", LENGTHS)
def test_any_byte_but_zero_chooses_the_first(dtype: DType, count: int) -> None:
    rng = np.random.default_rng(count)
    x, y = (drawn(rng, I32 if dtype is Bool else dtype, count).astype(NUMPY_DTYPES[dtype]) for _ in range(2))
    chosen = rng.integers(0, 4, count).astype(np.uint8)  # lent memory may hold any byte
    form = form_of(dtype, (count,), CPU)
    kernel = bound("where", (form_of(Bool, (count,), CPU), form, form), form)
    np.testing.assert_array_equal(kernel(chosen.view(bool), x, y), np.where(chosen != 0, x, y))


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_numpys_at_every_length(dtype: DType, name: str) -> None:
    for count in LENGTHS:
        rng = np.random.default_rng(count)
        x, y = drawn(rng, dtype, count), drawn(rng, dtype, count)
        form = form_of(dtype, (count,), CPU)
        found = bound(name, (form, form), form_of(Bool, (count,), CPU))(x, y)
        assert found.view(np.uint8).max() <= 1
        np.testing.assert_array_equal(found, getattr(np, name)(x, y))


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", [F32, F64, C32, C64, I64])
@pytest.mark.parametrize("count", LENGTHS)
def test_closeness_is_numpys_at_every_length(dtype: DType, count: int) -> None:
    rng = np.random.default_rng(count)
    x, y = drawn(rng, dtype, count), drawn(rng, dtype, count)
    for options in ({}, {"rtol": 0.0}, {"atol": 0.0}, {"rtol": 1e300}, {"equal_nan": True}):
        with np.errstate(all="ignore"):
            expected = np.isclose(x, y, **options)
        np.testing.assert_array_equal(tr.isclose(tr.asarray(x), tr.asarray(y), **options).to_numpy(), expected)
        assert tr.allclose(tr.asarray(x), tr.asarray(y), **options) is bool(expected.all())


def test_closeness_is_one_kernel_and_of_real_numbers_one_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = []

    class Watched:
        def __getattr__(self, name: str) -> Any:
            return getattr(LIBRARY, name)

        def bind_elementwise(self, *arguments: Any) -> Any:
            programs.append([instruction[0] for instruction in arguments[3]])
            return LIBRARY.bind_elementwise(*arguments)

    monkeypatch.setattr(compiled, "LIBRARY", Watched())
    tr.binding_cache.clear()
    assert tr.isclose(tr.ones(70), tr.ones(70)).to_numpy().all()
    assert tr.isclose(tr.ones(70, dtype=I32), tr.ones(70)).to_numpy().all()
    assert tr.isclose(tr.ones(70), tr.ones(70), equal_nan=True).to_numpy().all()
    assert programs[0] == ["near"] and len(programs) >= 3
    assert all(program.count("near") == 1 and "less_equal" not in program for program in programs)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", [C32, C64])
@pytest.mark.parametrize("count", LENGTHS)
def test_conjugates_turn_one_sign_whatever_has_it(dtype: DType, count: int) -> None:
    x = drawn(np.random.default_rng(count), dtype, count)
    form = form_of(dtype, (count,), CPU)
    found = bound("conj", (form,), form)(x)
    for part in ("real", "imag"):
        np.testing.assert_array_equal(getattr(found, part), getattr(np.conj(x), part))
    np.testing.assert_array_equal(np.signbit(found.imag), ~np.signbit(x.imag))


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))


@pytest.mark.usefixtures("instruction_set", "past_the_cache")
@pytest.mark.parametrize("dtype", [F32, F64, C64])
def test_what_is_written_past_the_cache_is_whole(dtype: DType) -> None:
    for shape in ((1029,), (50, 33), (3, 40, 70)):
        rng = np.random.default_rng(len(shape))
        x, y = (rng.integers(-9, 10, shape[::-1]).astype(NUMPY_DTYPES[dtype]) for _ in range(2))
        form = form_of(dtype, shape, CPU)
        np.testing.assert_array_equal(bound("add", (form, form), form)(x, y), x + y)
        column, turned = form_of(dtype, (1, *shape[1:]), CPU), form_of(dtype, shape, CPU, _row_major(shape))
        z = np.ascontiguousarray(y.T)  # the same tensor, whose last axis is the fastest
        np.testing.assert_array_equal(bound("add", (form, column), form)(x, y[..., :1].copy()), x + y[..., :1])
        np.testing.assert_array_equal(bound("subtract", (form, turned), form)(x, z.T), x - y)
        for view in (x.T, x[::-1], x):
            strides = tuple(stride // x.itemsize for stride in view.strides)
            copy = LIBRARY.bind_copy(view.shape, strides, dtype.name)
            np.testing.assert_array_equal(copy(view), view)
            np.testing.assert_array_equal(bind_copy(view.shape, strides, x.dtype)(view), view)
