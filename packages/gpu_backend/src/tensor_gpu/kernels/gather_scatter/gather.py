"""Kernels that choose elements by index values; ``scatter`` has ``gather`` and ``scatter``.

Indices are checked first: a launch looks at them, and the host waits for its word; where refusals are deferred, the
launches that follow read the word themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import DType
from tensor_core.errors import IndexingError
from tensor_core.shapes import Shape, compact_strides
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.elementwise import bind_step
from tensor_gpu.kernels.gather_scatter.places import Component, Places, Walked, bind_places, line_of, range_checker
from tensor_gpu.kernels.planning import Binder, compact
from tensor_gpu.kernels.value_checks import Refuse
from tensor_gpu.kernels.walks import broadcast_strides
from tensor_runtime.backends.shared.value_errors import Index, index_out_of_range
from tensor_runtime.contracts.gather_scatter import TakeParams
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def bind_take(executor: Executor, operands: tuple[Form, Form], result: Form, params: TakeParams, /) -> Kernel:
    """Elements or slices at indices, of which negative ones count from the end.

    >>> from tensor_core import I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, at = bench.put([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), bench.put([-1, 0], I64)
    >>> bench.run("take", x, at, result=bench.form((2, 2)), params=TakeParams(1))
    [[3.0, 1.0], [6.0, 4.0]]
    """
    form, index = operands
    if params.axis is None:
        return _bind_flat(executor, "take", form, index, result)
    axis = params.axis % form.rank
    none, extent = (0,) * index.rank, form.shape[axis]
    walked = Walked(
        result.shape,
        (*form.strides[:axis], *none, *form.strides[axis + 1 :]),
        result.strides,
        (*(0,) * axis, *index.strides, *(0,) * (form.rank - 1 - axis)),
    )
    component = Component(0, extent, form.strides[axis])
    places = bind_places(executor, "read", _types(form, index), walked, [component])
    return _bind_reader(executor, Indices("take", index, extent, axis), places, result)


def bind_take_along_axis(
    executor: Executor, operands: tuple[Form, Form], result: Form, params: TakeParams, /
) -> Kernel:
    """Elements at indices of each line's own.

    >>> from tensor_core import I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, at = bench.put([[10.0, 20.0], [30.0, 40.0]]), bench.put([[1, 0], [-1, -1]], I64)
    >>> bench.run("take_along_axis", x, at, params=TakeParams(1))
    [[20.0, 10.0], [40.0, 40.0]]
    """
    form, index = operands
    if params.axis is None:
        return _bind_flat(executor, "take_along_axis", form, index, result)
    axis = params.axis % form.rank
    extent = form.shape[axis]
    walked = Walked(
        result.shape, _without(axis, form.shape, form.strides), result.strides, broadcast_strides(index, result.shape)
    )
    component = Component(0, extent, form.strides[axis])
    places = bind_places(executor, "read", _types(form, index), walked, [component])
    return _bind_reader(executor, Indices("take_along_axis", index, extent, axis), places, result)


def bind_put_along_axis(
    executor: Executor, operands: tuple[Form, Form, Form], result: Any, params: TakeParams, /
) -> Kernel:
    """Writes values at indices of each line's own; the first array is written.

    >>> from tensor_core import I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, at, values = bench.put([0.0] * 4), bench.put([-1, 0, 0], I64), bench.put([5.0, 6.0, 7.0])
    >>> kernel = bind_put_along_axis(bench.executor, (x.form, at.form, values.form), None, TakeParams(0))
    >>> kernel(x.array, at.array, values.array)
    >>> bench.get(x)
    [7.0, 0.0, 0.0, 5.0]
    """
    form, index, values = operands
    axis = None if params.axis is None else params.axis % form.rank
    extent = form.size if axis is None else form.shape[axis]
    check = index_checker(executor, Indices("put_along_axis", index, extent, axis))
    write = _writer(executor, form, index, values, axis)
    copies = [bind_step(executor, "copy", (one,), compact(one), None) for one in (index, values)]
    write_copies = _writer(executor, form, compact(index), compact(values), axis)

    def put(x: DeviceArray, at: DeviceArray, y: DeviceArray) -> None:
        word = check(at)
        if x.allocation is at.allocation or x.allocation is y.allocation:
            write_copies(x, copies[1](y), copies[0](at), word)
        else:
            write(x, y, at, word)

    return put


def _writer(executor: Executor, form: Form, index: Form, values: Form, axis: int | None) -> Places:
    """What writes values at indices that are in range."""
    types = (form.dtype, values.dtype, index.dtype)
    if axis is not None:
        shape = (*form.shape[:axis], index.shape[axis], *form.shape[axis + 1 :])
        numbered = compact_strides(form.shape)
        walked = Walked(
            shape,
            _without(axis, form.shape, form.strides),
            broadcast_strides(values, shape),
            broadcast_strides(index, shape),
            _without(axis, form.shape, numbered),
        )
        component = Component(0, form.shape[axis], form.strides[axis], numbered[axis])
        return bind_places(executor, "replace", types, walked, [component], form.size)
    line, none = line_of(executor, form), (0,) * index.rank
    walked = Walked(index.shape, none, broadcast_strides(values, index.shape), index.strides, none)
    component = Component(0, form.size, line.stride, 1)
    places = bind_places(executor, "replace", types, walked, [component], form.size)
    copy, back = line.copy, line.back
    if copy is None or back is None:
        return places

    def by_copy(x: DeviceArray, y: DeviceArray, at: DeviceArray, word: DeviceArray | None = None, /) -> None:
        copied = copy(x)
        places(copied, y, at, word)
        back(x, copied)

    return by_copy


class Indices(NamedTuple):
    """Indices of one axis, or of all elements in a line where ``axis`` is None, and the operation that takes them."""

    name: str
    form: Form
    extent: int
    axis: int | None

    def out_of_range(self, position: Index, value: int) -> IndexingError:
        """The error of one that is not from -N to N - 1."""
        return index_out_of_range(self.name, position, value, self.extent, self.axis)


def index_checker(executor: Executor, indices: Indices, /) -> Refuse:
    """What refuses indices that are not from -N to N - 1: at once, for which it waits, or late.

    >>> from tensor_core import I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> at = bench.put([7], I64)
    >>> index_checker(bench.executor, Indices("take", at.form, 3, 0))(at.array)
    Traceback (most recent call last):
    tensor_core.errors.IndexingError: take: indices[0] is 7, out of range for axis 0 of extent 3; accepted: -3 to 2
    """
    extent, index = indices.extent, indices.form
    return range_checker(executor, index, index.rank, [(-extent, extent - 1)], indices.out_of_range)


def _bind_flat(executor: Executor, name: str, form: Form, index: Form, result: Form) -> Kernel:
    """Elements in row-major order."""
    line = line_of(executor, form)
    walked = Walked(index.shape, (0,) * index.rank, result.strides, index.strides)
    places = bind_places(executor, "read", _types(form, index), walked, [Component(0, form.size, line.stride)])
    return _bind_reader(executor, Indices(name, index, form.size, None), places, result, line.copy)


def _bind_reader(
    executor: Executor, indices: Indices, places: Places, result: Form, copy: Kernel | None = None, /
) -> Kernel:
    """What reads elements at indices.

    Args:
        executor: of the device.
        indices: what is taken.
        places: reads elements there.
        result: form of the result.
        copy: makes a line of the operand, where it is none.
    """
    check = index_checker(executor, indices)

    def taken(x: DeviceArray, index: DeviceArray) -> DeviceArray:
        word = check(index)
        target = executor.empty(result)
        if result.size:
            places(x if copy is None else copy(x), target, index, word)
        return target

    return taken


def _types(form: Form, index: Form) -> tuple[DType, DType, DType]:
    return form.dtype, form.dtype, index.dtype


def _without(axis: int, shape: Shape, strides: Shape) -> Shape:
    """Strides of an array that is repeated where its extent is 1, and does not move along an axis."""
    return tuple(
        0 if place == axis or extent == 1 else stride
        for place, (extent, stride) in enumerate(zip(shape, strides, strict=True))
    )


BINDERS: Final[Mapping[str, Binder]] = {
    "take": bind_take,
    "take_along_axis": bind_take_along_axis,
    "put_along_axis": bind_put_along_axis,
}
