"""Kernels of integers that refuse values of their second operand: a launch looks, and the host waits for its word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tensor_core.dtypes import INTEGER, Bool
from tensor_core.errors import TensorError
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.expressions import checked_number, one_step
from tensor_gpu.kernels.value_checks import Bounds, refuser
from tensor_gpu.programs.checks import Test
from tensor_gpu.programs.elementwise import Number
from tensor_runtime.backends.shared.value_errors import Index
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


class Refusal(NamedTuple):
    """Which values are refused, of elements and of a Python number, and the error of one at an index, or a number's."""

    test: Test
    bounds: Bounds
    of_number: Callable[[Any], bool]
    error: Callable[[Index | None, Any], TensorError]


def bind_refusing(
    executor: Executor, name: str, step: str, operands: tuple[Any, ...], result: Form, params: Any, refusal: Refusal, /
) -> Kernel:
    """The kernel of two operands, which for integers refuses values of the second one.

    A number that the type does not hold is refused first, as it is where both are compared on the host.

    Args:
        executor: of the device.
        name: what the user called.
        step: the elementwise kernel, which takes every value.
        operands: forms, or types of Python numbers.
        result: form of the result.
        params: of the step.
        refusal: what is refused.

    >>> from tensor_core import I32
    >>> from tensor_core.errors import ArgumentError
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([1, 0], I32)
    >>> none = Refusal("zero", (), lambda b: b == 0, lambda index, value: ArgumentError(f"over: a zero at {index}"))
    >>> kernel = bind_refusing(bench.executor, "over", "floor_divide_unchecked", (int, x.form), x.form, None, none)
    >>> kernel(7, x.array)
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: over: a zero at (1,)
    >>> kernel(2**40, x.array)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.CastRangeError: over: the number 1099511627776 does not fit I32; ...
    """
    kernel = bind_step(executor, step, operands, result, params, name)
    first, second = operands
    if result.dtype not in INTEGER or result.size == 0:
        return kernel
    fits = _number_check(name, step, operands, result)
    if not isinstance(second, Form):

        def by_number(a: Any, b: Any) -> Any:
            fits(b)
            if refusal.of_number(b):
                raise refusal.error(None, b)
            return kernel(a, b)

        return by_number
    if second.dtype not in INTEGER and not (second.dtype is Bool and refusal.test == "zero"):
        return kernel
    refuse = refuser(executor, second, refusal.test, refusal.bounds, refusal.error)
    if isinstance(first, Form):

        def by_elements(a: Any, b: Any) -> Any:
            refuse(b)
            return kernel(a, b)

        return by_elements

    def of_number(a: Any, b: Any) -> Any:
        fits(a)
        refuse(b)
        return kernel(a, b)

    return of_number


def _number_check(name: str, step: str, operands: tuple[Any, ...], result: Form) -> Callable[[Any], object]:
    """What refuses a number, if one operand is one, that the type in which it is computed does not hold."""
    kinds = [operand.dtype if isinstance(operand, Form) else operand for operand in operands]
    numbers = [one for one in one_step(step, kinds, result.dtype).operands if isinstance(one, Number)]
    return checked_number(name, numbers[0]) if numbers else lambda value: None
