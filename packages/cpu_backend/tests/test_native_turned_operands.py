"""Arithmetic of which one operand lies in another order than the result, turned while it is computed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import C32, C64, F32, F64, I64, DType
from tensor_cpu.kernels.elementwise import native
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

if not AVAILABLE:
    pytest.skip("the native kernels were not built", allow_module_level=True)

ARITHMETIC = ("add", "subtract", "multiply", "divide")
SHAPES = ((128, 128), (129, 143), (700, 25), (25, 700), (16, 1024), (1031, 17), (300, 301))


@pytest.fixture(autouse=True)
def _kernels_of_each_instruction_set(instruction_set: str) -> Iterator[None]:
    tr.binding_cache.clear()  # kernels keep the set that they were made for
    yield
    tr.binding_cache.clear()


def drawn(seed: int, shape: tuple[int, ...], dtype: DType) -> Any:
    """A column-major array of numbers and zeros of both signs, infinities and NaN, off any line of the cache."""
    values = np.random.default_rng(seed).choice(
        [-3.0, -1.5, -0.0, 0.0, 0.25, 2.0, np.inf, np.nan], int(np.prod(shape)) + 3
    )
    return values.astype(NUMPY_DTYPES[dtype])[3:].reshape(shape, order="F")


def require_same_bits(found: tr.Tensor, expected: Any) -> None:
    """But for those of NaN."""
    array = found.to_numpy()
    np.testing.assert_array_equal(array, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(array)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_a_turned_operand_beside_numbers_rows_and_matrices(name: str, dtype: DType) -> None:
    ours, numpys = getattr(tr, name), getattr(np, name)
    for shape in SHAPES:
        x, y = drawn(1, shape[::-1], dtype).T, drawn(2, shape, dtype)
        s, t = tr.asarray(x.T).T, tr.asarray(y)
        with np.errstate(all="ignore"):
            require_same_bits(ours(s, t), numpys(x, y))
            require_same_bits(ours(t, s), numpys(y, x))
            require_same_bits(ours(s, 3), numpys(x, NUMPY_DTYPES[dtype].type(3)))
            require_same_bits(ours(-0.0, s), numpys(NUMPY_DTYPES[dtype].type(-0.0), x))
            for part in ((slice(None), slice(0, 1)), (slice(0, 1), slice(None))):
                require_same_bits(ours(s, t[part]), numpys(x, y[part]))
                require_same_bits(ours(t[part], s), numpys(y[part], x))


def complex_drawn(seed: int, shape: tuple[int, ...], dtype: DType) -> Any:
    """A column-major array whose parts are numbers and zeros of both signs, off any line of the cache."""
    parts = np.random.default_rng(seed).choice([-3.0, -1.5, -0.0, 0.0, 0.25, 2.0, 1e3], (2, int(np.prod(shape)) + 3))
    return (parts[0] + 1j * parts[1]).astype(NUMPY_DTYPES[dtype])[3:].reshape(shape, order="F")


@pytest.mark.parametrize("dtype", [C32, C64])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
def test_a_turned_complex_operand_gives_the_bits_of_a_copy(name: str, dtype: DType) -> None:
    ours, numpys, kind = getattr(tr, name), getattr(np, name), NUMPY_DTYPES[dtype].type
    former = LIBRARY.streamed_bytes()
    for shape, streamed in itertools.product((*SHAPES, (130, 131)), (former, 1 << 16)):
        LIBRARY.set_streamed_bytes(streamed)  # the larger ones go past the cache, unless they are copied
        tr.binding_cache.clear()
        try:
            x, y = complex_drawn(1, shape[::-1], dtype).T, complex_drawn(2, shape, dtype)
            s, t = tr.asarray(x.T).T, tr.asarray(y)
            for other, numpy_other in (
                (t, y),
                (t[:, :1], y[:, :1]),
                (t[:1], y[:1]),
                (2.5, kind(2.5)),
                (1 - 2j, kind(1 - 2j)),
            ):
                copied = tr.copy(other) if isinstance(other, tr.Tensor) else other
                for found, same, expected in (
                    (ours(s, other), ours(tr.copy(s), copied), numpys(x, numpy_other)),
                    (ours(other, s), ours(copied, tr.copy(s)), numpys(numpy_other, x)),
                ):
                    assert found.to_numpy().tobytes() == same.to_numpy().tobytes()
                    np.testing.assert_array_equal(found.to_numpy(), expected)
        finally:
            LIBRARY.set_streamed_bytes(former)


@pytest.mark.parametrize("threads", [1, 2])
def test_permuted_axes_views_and_targets(threads: int) -> None:
    x, y = drawn(3, (40, 50, 60), F64), drawn(4, (400, 340), F64)
    with tr.set_threads(threads), np.errstate(all="ignore"):
        for axes in ((1, 0, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0), (0, 2, 1)):
            turned = np.transpose(x, axes)
            require_same_bits(tr.transpose(tr.asarray(x), axes) * 2, turned * 2)
            require_same_bits(3 - tr.transpose(tr.asarray(x), axes), 3 - turned)
        s: Any = tr.asarray(y)
        require_same_bits(s[:340].T - s[::-1][:340, :].T, y[:340].T - y[::-1][:340, :].T)
        require_same_bits(s[7:300, 5:].T + 1, y[7:300, 5:].T + 1)
        require_same_bits(s[::2, 5:].T + 1, y[::2, 5:].T + 1)
        require_same_bits(s[:340].T + s[:340][::-1], y[:340].T + y[:340][::-1])
        assert (s[:0].T + 1).shape == (340, 0)
        out = tr.zeros((340, 400))
        assert tr.add(s.T, 1, out=out) is out
        require_same_bits(out, y.T + 1)


def test_other_operands_are_copied_first() -> None:
    def turned(name: str, *forms: Any, dtype: DType = F64) -> bool:
        return native.turned_in_place(name, forms, form_of(dtype, (200, 300), CPU))

    form, straight = form_of(F64, (200, 300), CPU, (300, 1)), form_of(F64, (200, 300), CPU)
    assert turned("divide", form, straight) and turned("divide", straight, form) and turned("add", form, float)
    assert not turned("maximum", form, straight) and not turned("add", straight, straight)
    assert not turned("add", form, form_of(F64, (200, 300), CPU, (-1, 200)))
    assert not turned("add", form_of(F64, (200, 300), CPU, (300, -1)), float)
    assert not turned("add", form_of(I64, (200, 300), CPU, (300, 1)), straight)
    assert not turned("add", form_of(I64, (200, 300), CPU, (300, 1)), int, dtype=I64)
    parts = form_of(C64, (200, 300), CPU, (300, 1))
    assert turned("multiply", parts, complex, dtype=C64) and not turned("divide", parts, complex, dtype=C64)
    former = LIBRARY.streamed_bytes()
    LIBRARY.set_streamed_bytes(1)
    try:
        assert not turned("add", form, float)
    finally:
        LIBRARY.set_streamed_bytes(former)
