"""Operations on rows, for each of which one operand is one number, and single operations in long blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import F32, F64, Bool, DType
from tensor_cpu.kernels.elementwise import native
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.contracts.elementwise import ProgramStep
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

if not AVAILABLE:
    pytest.skip("the native kernels were not built", allow_module_level=True)

ARITHMETIC = ("add", "subtract", "multiply", "divide")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
SHAPES = (((70, 130), (1, 130)), ((9, 1), (9, 1031)), ((70, 130), ()), ((3, 40, 5, 64), (1, 40, 1, 64)),
          ((2, 1, 300, 7), (2, 50, 1, 7)), ((1, 9000), (20, 1)), ((40_000,), ()), ((1,), (40_000,)),
          ((300, 1, 9), (1, 37, 9)), ((700, 60), (1, 60)), ((260, 1, 1, 3), (1, 5, 40, 3)))  # fmt: skip


@pytest.fixture(autouse=True)
def _kernels_of_each_instruction_set(instruction_set: str) -> Iterator[None]:
    tr.binding_cache.clear()  # kernels keep the set that they were made for
    yield
    tr.binding_cache.clear()


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Any:
    """Numbers of which some are equal, of both signs, none of them 0; an array that is transposed in the tensor."""
    return rng.choice([-3.0, -1.5, 0.25, 1.0, 2.0, np.inf, np.nan], shape[::-1]).astype(NUMPY_DTYPES[dtype])


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", ARITHMETIC + COMPARISONS)
def test_rows_with_a_number_each_are_numpys(name: str, dtype: DType) -> None:
    rng = np.random.default_rng(3)
    for shapes in SHAPES:
        for first, second in (shapes, shapes[::-1]):
            x, y = drawn(rng, first, dtype), drawn(rng, second, dtype)
            shape = np.broadcast_shapes(first, second)
            forms = (form_of(dtype, first, CPU), form_of(dtype, second, CPU))
            result = form_of(dtype if name in ARITHMETIC else Bool, shape, CPU)
            kernel = native.bind_program(forms, result, (ProgramStep(name, (0, 1), result),))
            assert kernel is not None
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(kernel(x, y).T, getattr(np, name)(x.T, y.T))


@pytest.mark.parametrize("dtype", [F32, F64])
def test_a_number_of_python_is_either_operand(dtype: DType) -> None:
    rng = np.random.default_rng(4)
    for count in (4096, 8191, 8193, 40_001):
        x = drawn(rng, (count,), dtype)
        t = tr.asarray(x)
        with np.errstate(all="ignore"):
            for found, expected in (
                (2.0 - t, 2 - x), (t - 2.0, x - 2), (1.0 / t, 1 / x), (t / 4, x / 4), (t * -3, x * -3), (t + 1, x + 1),
                (t < 0.25, x < 0.25), (t <= 0.25, x <= 0.25), (t == 2, x == 2), (t != 1, x != 1), (t > 1, x > 1),
            ):  # fmt: skip
                np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_views_and_targets_go_by_rows(threads: int) -> None:
    rng = np.random.default_rng(5)
    x, y = np.asfortranarray(rng.integers(1, 99, (300, 401)) / 4), rng.integers(1, 9, 401) / 2
    with tr.set_threads(threads):
        t, column, row = tr.asarray(x), tr.asarray(x[:, 7].copy()), tr.asarray(y)
        out = tr.zeros((300, 401))
        assert tr.multiply(t, row, out=out) is out
        np.testing.assert_array_equal(out.to_numpy(), x * y)
        assert tr.divide(out, row, out=out) is out
        np.testing.assert_array_equal(out.to_numpy(), x)
        np.testing.assert_array_equal((t[::-1, 1:] - row[::-1][1:]).to_numpy(), x[::-1, 1:] - y[::-1][1:])
        np.testing.assert_array_equal((t[:200, ::2] + row[::2]).to_numpy(), x[:200, ::2] + y[::2])
        np.testing.assert_array_equal((column.reshape((300, 1)) * row).to_numpy(), x[:, 7:8] * y)
        np.testing.assert_array_equal(tr.outer(column, row).to_numpy(), np.outer(x[:, 7], y))


def test_products_without_a_sum_go_by_rows() -> None:
    rng = np.random.default_rng(6)
    for first, second in (((40, 40), (40, 40)), ((3, 50), (70, 9)), ((130, 1), (1, 130)), ((2, 3, 20), (30, 2, 9))):
        for kind in (np.float32, np.float64):
            x: Any = rng.integers(-9, 10, first).astype(kind)
            y: Any = rng.integers(-9, 10, second).astype(kind)
            found, expected = tr.kron(tr.asarray(x), tr.asarray(y)), np.kron(x, y)
            np.testing.assert_array_equal(found.to_numpy(), expected)
            out = tr.zeros(found.shape, dtype=found.dtype)
            tr.kron(tr.asarray(x), tr.asarray(y), out=out)
            np.testing.assert_array_equal(out.to_numpy(), expected)
