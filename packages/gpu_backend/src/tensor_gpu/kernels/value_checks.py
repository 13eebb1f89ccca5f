"""Checks of values: a launch that looks, and the host that waits for its word, now or when it waits anyway.

Operations that refuse values call these where they may refuse some; what they raise says which element it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensor_core.errors import TensorError
from tensor_core.shapes import Shape, compact_strides, unravel_index
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.walks import walk
from tensor_gpu.programs.checks import Test, noted_program, refused_program
from tensor_runtime.backends.shared.value_errors import Index
from tensor_runtime.form import Form

Refuse = Callable[[DeviceArray], DeviceArray | None]
"""Refuses elements of an array: at once; or late, and then gives the status word, by which launches know of it."""
Look = Callable[[DeviceArray, DeviceArray], None]
"""Submits a look at an array's elements, which writes to a status word."""
Bounds = tuple[()] | tuple[float, float]


def looker(
    executor: Executor,
    form: Form,
    test: Test,
    bounds: Bounds = (),
    numbers: Shape | None = None,
    place: tuple[int, int] = (0, 0),
    /,
) -> Look:
    """What looks for elements that a test refuses.

    Args:
        executor: of the device.
        form: of the elements.
        test: what is refused.
        bounds: of the test.
        numbers: strides of the elements' numbers; without them they count in column-major order.
        place: the offset of the first element in the array, and its number.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, word = bench.put([1, 0, 0]), bench.executor.status()
    >>> looker(bench.executor, x.form, "zero")(word, x.array)
    >>> bench.executor.first_refused(word)
    1
    """
    counted = compact_strides(form.shape) if numbers is None else numbers
    walked = walk(form.shape, [counted, form.strides])
    program = refused_program(form.dtype, test, len(walked.extents))
    offset, first = place
    size = form.size
    rest = (*bounds, first, size, *walked.extents, *(stride for along in walked.strides for stride in along))

    def look(word: DeviceArray, array: DeviceArray) -> None:
        if size:
            moved = array.moved(offset)
            executor.launch(program, size, (word.address, moved.address, *rest), reads=(array,), writes=(word,))

    return look


def refuser(
    executor: Executor, form: Form, test: Test, bounds: Bounds, error: Callable[[Index, Any], TensorError], /
) -> Refuse:
    """What refuses elements of an array: now, or inside ``tensor_runtime.checks("deferred")`` when it is waited for.

    Args:
        executor: of the device.
        form: of the elements.
        test: what is refused.
        bounds: of the test.
        error: from the index of the first element that is refused, in column-major order, and its value.

    >>> from tensor_core.errors import ArgumentError
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([1.0, 9.0, 7.0])
    >>> wrong = lambda index, value: ArgumentError(f"{value} at {index}")
    >>> refuser(bench.executor, x.form, "outside", (0.0, 5.0), wrong)(x.array)
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: 9.0 at (1,)
    """
    return refuser_by(executor, form, [looker(executor, form, test, bounds)], error)


def refuser_by(
    executor: Executor, form: Form, looks: Sequence[Look], error: Callable[[Index, Any], TensorError], /
) -> Refuse:
    """As :func:`refuser`, by several looks, which number the elements in column-major order.

    >>> from tensor_core.errors import ArgumentError
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([1.0, 9.0, 0.0])
    >>> looks = [looker(bench.executor, x.form, "zero"), looker(bench.executor, x.form, "outside", (0.0, 5.0))]
    >>> wrong = lambda index, value: ArgumentError(f"{value} at {index}")
    >>> refuser_by(bench.executor, x.form, looks, wrong)(x.array)
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: 9.0 at (1,)
    """
    keep = noted_program(form.dtype, form.rank)
    lies = (*form.shape, *form.strides)

    def refuse(array: DeviceArray) -> DeviceArray | None:
        word = executor.status()
        for look in looks:
            look(word, array)
        if not executor.defers():
            position = executor.first_refused(word)
            if position is not None:
                index = unravel_index(position, form.shape, order="F")
                raise error(index, element(executor, array, form, index))
            return None
        kept = executor.scratch(form.dtype.itemsize, form.dtype.itemsize)
        arguments = (word.address, kept.address, array.address, *lies)
        executor.launch(keep, 1, arguments, reads=(word, array), writes=(kept,))

        def noted(position: int) -> TensorError:
            return error(unravel_index(position, form.shape, order="F"), _value(executor, kept, form))

        executor.note(word, noted)
        return word

    return refuse if form.size else lambda array: None


def element(executor: Executor, array: DeviceArray, form: Form, index: tuple[int, ...], /) -> Any:
    """One element, as a Python number; waits for it.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([1.0, 2.0])
    >>> element(bench.executor, x.array, x.form, (1,))
    2.0
    """
    offset = sum(map(int.__mul__, index, form.strides))
    return _value(executor, array.moved(offset), form)


def _value(executor: Executor, array: DeviceArray, form: Form) -> Any:
    taken = executor.read(array, form.dtype.itemsize)
    return np.frombuffer(taken, form.dtype.numpy_name)[0].item()
