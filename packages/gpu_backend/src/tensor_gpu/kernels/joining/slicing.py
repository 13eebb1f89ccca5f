"""Kernels of slices whose place is a value.

A place in an array is brought to the host, as a refusal has to be waited for anyway; where refusals are deferred, the
launches read it where it is, and nothing is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import numpy as np

from tensor_core.errors import IndexingError
from tensor_core.shapes import Shape
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.expressions import copier
from tensor_gpu.kernels.gather_scatter.places import Component, Walked, bind_places, range_checker
from tensor_gpu.kernels.planning import Binder, compact
from tensor_runtime.backends.shared.value_errors import Index, start_out_of_range
from tensor_runtime.contracts.gather_scatter import DynamicSliceParams
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def bind_dynamic_slice(
    executor: Executor, operands: tuple[Form, ...], result: Form, params: DynamicSliceParams, /
) -> Kernel:
    """The slice of given sizes; starts come as Python ints or as an array.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, form = bench.put([0.0, 1.0, 2.0, 3.0, 4.0]), bench.form((2,))
    >>> kernel = bind_dynamic_slice(bench.executor, (x.form,), form, DynamicSliceParams((2,)))
    >>> bench.get((kernel(x.array, (3,)), form))
    [3.0, 4.0]
    >>> kernel(x.array, (4,))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.IndexingError: dynamic_slice: starts[0] is 4, ...
    """
    form = operands[0]
    offset = _offset_finder(executor, "dynamic_slice", form.shape, params.sizes, operands[1:], form.strides)
    copy = copier(executor, form.dtype, form.dtype, result.shape, result.strides, form.strides)

    late = _late(executor, "dynamic_slice", "read", form, result, operands[1:], (form.strides, result.strides))

    def sliced(array: DeviceArray, starts: Any) -> DeviceArray:
        if late is not None and executor.defers():
            target = executor.empty(result)
            late(array, target, starts)
            return target
        moved = offset(starts)
        target = executor.empty(result)
        if result.size:
            copy(target, array.moved(moved))
        return target

    return sliced


def bind_dynamic_update_slice(executor: Executor, operands: tuple[Form, ...], result: Form, params: None, /) -> Kernel:
    """A copy with a slice replaced; starts come as Python ints or as an array.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, update = bench.put([0.0] * 4), bench.put([7.0, 8.0])
    >>> kernel = bind_dynamic_update_slice(bench.executor, (x.form, update.form), x.form, None)
    >>> bench.get((kernel(x.array, update.array, (1,)), x.form))
    [0.0, 7.0, 8.0, 0.0]
    """
    form, update = operands[:2]
    name = "dynamic_update_slice"
    offset = _offset_finder(executor, name, form.shape, update.shape, operands[2:], result.strides)
    copy = bind_step(executor, "copy", (form,), result, None)
    write = copier(executor, update.dtype, result.dtype, update.shape, result.strides, update.strides)

    late = _late(executor, name, "write", result, update, operands[2:], (result.strides, update.strides))

    def updated(array: DeviceArray, written: DeviceArray, starts: Any) -> DeviceArray:
        if late is not None and executor.defers():
            target: DeviceArray = copy(array)
            late(target, written, starts)
            return target
        moved = offset(starts)
        target = copy(array)
        if update.size:
            write(target.moved(moved), written)
        return target

    return updated


def _offset_finder(
    executor: Executor, name: str, shape: Shape, sizes: Shape, starts: tuple[Form, ...], strides: Shape
) -> Callable[[Any], int]:
    """From starts, which are checked, to the offset of the slice in an array of these strides."""
    form = starts[0] if starts else None
    copied = None if form is None or form.is_compact else bind_step(executor, "copy", (form,), compact(form), None)

    def offset(given: Any) -> int:
        if form is not None:
            array = given if copied is None else copied(given)
            taken = executor.download(array, form.nbytes) if form.size else b""
            given = np.frombuffer(taken, form.dtype.numpy_name).tolist()
        total = 0
        for axis, (extent, size, start) in enumerate(zip(shape, sizes, given, strict=True)):
            if not 0 <= start <= extent - size:
                raise start_out_of_range(name, axis, int(start), extent, size)
            total += int(start) * strides[axis]
        return total

    return offset


def _late(
    executor: Executor,
    name: str,
    mode: Literal["read", "write"],
    whole: Form,
    part: Form,
    starts: tuple[Form, ...],
    strides: tuple[Shape, Shape],
) -> Callable[[DeviceArray, DeviceArray, DeviceArray], None] | None:
    """What copies between a slice of an array and its part, from starts that nobody has looked at; None without any."""
    if not starts or not starts[0].size:
        return None
    (form,) = starts
    room = [extent - size for extent, size in zip(whole.shape, part.shape, strict=True)]

    def error(index: Index, value: int) -> IndexingError:
        (axis,) = index
        return start_out_of_range(name, axis, value, whole.shape[axis], part.shape[axis])

    refuse = range_checker(executor, form, 0, [(0, most) for most in room], error)
    walked = Walked(part.shape, *strides, (0,) * part.rank)
    components = [Component(axis * form.strides[0], 0, step) for axis, step in enumerate(strides[0])]
    places = bind_places(executor, mode, (whole.dtype, part.dtype, form.dtype), walked, components)

    def copy(array: DeviceArray, of_part: DeviceArray, given: DeviceArray) -> None:
        places(array, of_part, given, refuse(given))

    return copy


BINDERS: Final[Mapping[str, Binder]] = {
    "dynamic_slice": bind_dynamic_slice,
    "dynamic_update_slice": bind_dynamic_update_slice,
}
