"""Divisions with rounding and their remainders; integers refuse zero divisors, and the host waits to hear of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensor_core.dtypes import FLOATING
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.planning import Binder
from tensor_gpu.kernels.refusing import Refusal, bind_refusing
from tensor_runtime.backends.shared.value_errors import zero_divisor
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def bind_division(
    executor: Executor, name: str, step: str, operands: tuple[Any, ...], result: Form, params: Any, /
) -> Kernel:
    """A division: integers refuse a zero divisor, floats follow IEEE 754.

    >>> from tensor_core import I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> bench.run("floor_divide", bench.put([7.0, 7.0]), bench.put([2.0, 0.0]))
    [3.0, inf]
    >>> bench.run("floor_divide", bench.put([7, 7], I64), bench.put([2, 0], I64))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.DivisionByZeroError: floor_divide: the divisor at index (1,) is 0, and integers have ...
    """
    refusal = Refusal("zero", (), lambda divisor: divisor == 0, lambda index, value: zero_divisor(name, index))
    return bind_refusing(executor, name, step, operands, result, params, refusal)


def _checked(name: str) -> Binder:
    step = f"{name}_unchecked"
    return lambda executor, operands, result, params: bind_division(executor, name, step, operands, result, params)


def _unchecked(name: str) -> Binder:
    step = f"{name}_unchecked"
    return lambda executor, operands, result, params: bind_step(executor, step, operands, result, params, name)


def _strict(name: str, of_floats: str, of_integers: str) -> Binder:
    def bind(executor: Executor, operands: tuple[Any, ...], result: Form, params: Any) -> Kernel:
        step = of_floats if result.dtype in FLOATING else of_integers
        return bind_division(executor, name, step, operands, result, params)

    return bind


_DIVISIONS: Final = ("floor_divide", "remainder", "fmod", "trunc_divide")

BINDERS: Final[Mapping[str, Binder]] = {
    **{name: _checked(name) for name in _DIVISIONS},
    **{f"{name}_unchecked": _unchecked(name) for name in _DIVISIONS},
    "div": _strict("div", "divide", "trunc_divide_unchecked"),
    "rem": _strict("rem", "fmod_unchecked", "fmod_unchecked"),
}
