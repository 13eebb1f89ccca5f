"""What a program of elementwise steps computes is its last step, whatever the steps before it were."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tensor_core.dtypes import C64, F32, F64
from tensor_cpu.backend import CpuBackend
from tensor_cpu.kernel_table import bind_numpy
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.contracts.elementwise import ProgramParams
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

FORM = form_of(F64, (3,), CPU)


def both(steps: tuple[Any, ...], result: Any = FORM) -> tuple[Any, Any]:
    """By the backend and step by step, of two operands."""
    x, y = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 0.5, 7.0])
    kernel = CpuBackend().bind("elementwise_program", (FORM, FORM), result, ProgramParams(steps))
    return kernel(x, y), bind_numpy("elementwise_program", (FORM, FORM), result, ProgramParams(steps))(x, y)


def test_a_last_step_that_repeats_an_earlier_one_is_the_result() -> None:
    steps = (("negative", (0,), FORM), ("multiply", (0, 0), FORM), ("negative", (0,), FORM))
    found, _ = both(steps)
    assert found.tolist() == [-1.0, -2.0, -3.0]


def test_every_program_of_three_steps_is_what_its_steps_are() -> None:
    names = (("add", 2), ("multiply", 2), ("negative", 1))
    for chosen in product(names, repeat=3):
        for last in product(range(4), repeat=chosen[2][1]):
            steps = (
                (chosen[0][0], (0, 1)[: chosen[0][1]], FORM),
                (chosen[1][0], (0, 1)[: chosen[1][1]], FORM),
                (chosen[2][0], last, FORM),
            )
            found, expected = both(steps)
            assert found.tolist() == expected.tolist(), steps


def test_a_repeated_conversion_is_the_result_too() -> None:
    single = form_of(F32, (3,), CPU)
    steps = (("convert", (0,), single), ("add", (2, 2), single), ("convert", (0,), single))
    found, expected = both(steps, single)
    assert found.dtype == np.float32 and found.tolist() == expected.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.skipif(not AVAILABLE, reason="counts instructions of the native machine")
def test_steps_that_the_result_does_not_need_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensor_cpu.kernels.elementwise import compiled
    from tensor_cpu.kernels.elementwise.native import bind_program

    programs = []

    class Trace:
        MOST_OPERANDS, MOST_INSTRUCTIONS = LIBRARY.MOST_OPERANDS, LIBRARY.MOST_INSTRUCTIONS
        MOST_REGISTERS = LIBRARY.MOST_REGISTERS

        def bind_elementwise(self, *arguments: Any) -> Any:
            programs.append(arguments[3])
            return LIBRARY.bind_elementwise(*arguments)

    monkeypatch.setattr(compiled, "LIBRARY", Trace())
    steps = (("exp", (0,), FORM), ("multiply", (0, 1), FORM), ("sin", (2,), FORM), ("negative", (3,), FORM))
    kernel = bind_program((FORM, FORM), FORM, steps)
    assert kernel is not None
    assert [name for name, *_ in programs[0]] == ["multiply", "negative"]
    assert kernel(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])).tolist() == [-2.0, -4.0, -6.0]


SPECIAL = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("count", [1, 7, 4000, 5000])
def test_complex_products_of_infinities_and_nan_are_written_out_in_real_numbers(count: int) -> None:
    numbers = [complex(a, b) for a, b in product(SPECIAL, repeat=2)]
    pairs = np.array(list(product(numbers, repeat=2)))
    x, y = (np.resize(pairs[:, k], max(count, len(pairs))) for k in (0, 1))
    with np.errstate(all="ignore"):
        real, imaginary = x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real
    for first in range(0, len(x), count):
        part = slice(first, first + count)
        form = form_of(C64, (len(x[part]),), CPU)
        kernel = CpuBackend().bind("multiply", (form, form), form, None)
        found = kernel(np.ascontiguousarray(x[part]), np.ascontiguousarray(y[part]))
        np.testing.assert_array_equal(found.real, real[part])
        np.testing.assert_array_equal(found.imag, imaginary[part])


def test_a_small_product_of_complex_matrices_multiplies_as_their_elements_do() -> None:
    for x, y in product([complex(a, b) for a, b in product(SPECIAL, repeat=2)], repeat=2):
        one = form_of(C64, (1, 1), CPU)
        found = CpuBackend().bind("contract", (one, one), one, ((0, 1), (1, 2), (0, 2)))(
            np.array([[x]]), np.array([[y]])
        )
        with np.errstate(all="ignore"):
            expected = np.array(x) * np.array(y)
        np.testing.assert_array_equal(found[0, 0], expected)
