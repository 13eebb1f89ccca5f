"""Operations and folds of elements that are equally far apart, read where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE

if not AVAILABLE:
    pytest.skip("the native kernels were not built", allow_module_level=True)

ARITHMETIC = ("add", "subtract", "multiply", "divide")
STEPS = ((2, 2), (2, 1), (1, 2), (3, 3), (2, 5), (7, 1), (2, -1), (-2, 2), (-2, -3))


@pytest.fixture(autouse=True)
def _kernels_of_each_instruction_set(instruction_set: str) -> Iterator[None]:
    tr.binding_cache.clear()  # kernels keep the set that they were made for
    yield
    tr.binding_cache.clear()


def drawn(seed: int, shape: int | tuple[int, ...], dtype: DType) -> Any:
    """Numbers of both signs, floats with zeros of both signs, infinities and NaN."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "float":
        return rng.choice([-3.0, -1.5, -0.0, 0.0, 0.25, 2.0, np.inf, np.nan], shape).astype(NUMPY_DTYPES[dtype])
    information = np.iinfo(NUMPY_DTYPES[dtype])
    return rng.integers(information.min, information.max, shape, NUMPY_DTYPES[dtype], endpoint=True)


def require_same_bits(found: tr.Tensor, expected: Any) -> None:
    """But for those of NaN."""
    array = found.to_numpy()
    np.testing.assert_array_equal(array, expected)
    if expected.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(array)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_of_elements_apart_has_the_bits_of_numpys(name: str, dtype: DType) -> None:
    if name == "divide" and dtype.kind != "float":
        pytest.skip("quotients of integers are floats")
    for count in (15, 16, 17, 40, 1000, 20_011):
        for first, second in STEPS:
            x, y = drawn(1, count * abs(first), dtype)[::first], drawn(2, count * abs(second), dtype)[::second]
            with np.errstate(all="ignore"):
                expected = getattr(np, name)(x, y)
            s, t = (tr.asarray(operand.base)[::step] for operand, step in ((x, first), (y, second)))
            require_same_bits(getattr(tr, name)(s, t), expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_matrices_numbers_and_targets(threads: int) -> None:
    rng = np.random.default_rng(3)
    x, y = (np.asfortranarray(rng.integers(-99, 99, (601, 333)) / 4) for _ in range(2))
    with tr.set_threads(threads):
        s, t = tr.asarray(x), tr.asarray(y)
        require_same_bits(s[::2] + t[:301], x[::2] + y[:301])
        require_same_bits(s[::2, ::-2] * t[1:302, ::2], x[::2, ::-2] * y[1:302, ::2])
        require_same_bits(t[5, ::2] - s[::2, ::2], y[5, ::2] - x[::2, ::2])
        require_same_bits(s[::3] + 1, x[::3] + 1)
        require_same_bits(2 - s[::2], 2 - x[::2])
        require_same_bits(s[::2] - s[1:302], x[::2] - x[1:302])
        assert (s[:0:2] + t[:0:2]).shape == (0, 333)
        out = tr.zeros((301, 333))
        assert tr.add(s[::2], t[::2], out=out) is out
        require_same_bits(out, x[::2] + y[::2])
        own = tr.asarray(np.asfortranarray(x), copy=True)
        target: Any = tr.mutable_view(own)[::2]
        assert tr.subtract(target, t[::2], out=target) is target  # an operand itself
        expected = x.copy()
        expected[::2] -= y[::2]
        require_same_bits(own, expected)


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64, I32, I64, Bool])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "norm", "any", "all"])
def test_folds_of_elements_apart_are_exact(name: str, dtype: DType) -> None:
    if dtype.kind == "complex" and name in ("max", "min", "var", "norm"):
        pytest.skip("refused, or two folds of parts")
    if name == "norm" and dtype.kind != "float":
        pytest.skip("refused")
    rng = np.random.default_rng(5)
    for step, count in ((2, 31), (2, 33), (2, 2047), (2, 2049), (3, 200), (-2, 5000), (8, 100), (9, 100), (2, 300_000)):
        few = name == "prod"
        x: Any = rng.choice([1, -1] if few else [-1, 0, 1, 2], (count + 1) * abs(step)).astype(NUMPY_DTYPES[dtype])
        if dtype.kind == "complex":
            x *= rng.choice([1, 1j], x.size)
        gaps = x[::step][:count]
        found = getattr(tr, name)(tr.asarray(x)[::step][:count]).item()
        if name == "var":
            mean = gaps.astype(np.float64).mean()
            assert found == pytest.approx(np.square(gaps - mean).sum() / count, rel=1e-6)
        elif name == "norm":
            assert found == pytest.approx(np.sqrt(np.square(gaps.astype(np.float64)).sum()), rel=1e-6)
        elif name == "mean":
            assert found == pytest.approx(gaps.astype(complex).sum() / count, rel=1e-6)
        else:
            assert found == getattr(np, name)(gaps)


@pytest.mark.parametrize("dtype", [F32, F64, I64])
def test_folds_of_elements_apart_have_the_same_bits_for_any_number_of_threads(dtype: DType) -> None:
    x: Any = np.asfortranarray(
        (np.random.default_rng(6).standard_normal((1001, 600)) * 1000).astype(NUMPY_DTYPES[dtype])
    )
    for view in (x[::2], x[1::3, ::-1], x[::2, :1], x[::-2, 5:9]):
        for name in ("sum", "max", "mean"):
            for axis in (0, None):
                results = []
                for threads in (1, 2):
                    with tr.set_threads(threads):
                        results.append(getattr(tr, name)(tr.asarray(view), axis=axis).to_numpy())
                np.testing.assert_array_equal(*results)
                expected = getattr(view.astype(np.float64), name)(axis=axis)
                unit = max(1e-14, float(np.finfo(results[0].dtype).eps) * 8) if dtype is not I64 else 1e-14
                np.testing.assert_allclose(
                    results[0], expected, rtol=unit, atol=unit * float(np.abs(view).sum(axis=axis).max())
                )
