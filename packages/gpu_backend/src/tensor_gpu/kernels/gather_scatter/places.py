"""What kernels that choose elements by index values have in common: range checks, and launches over places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Final, NamedTuple, Protocol

from tensor_core.dtypes import DType
from tensor_core.errors import IndexingError
from tensor_core.shapes import Shape, compact_strides
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.expressions import copier
from tensor_gpu.kernels.value_checks import Refuse, looker, refuser_by
from tensor_gpu.kernels.walks import walk
from tensor_gpu.programs.places import Arrays, Mode, places_program
from tensor_runtime.backends.shared.value_errors import Index
from tensor_runtime.form import Form, form_of


class Places(Protocol):
    """Submits the launches, given x, y and the indices; see ``tensor_gpu.programs.places``."""

    def __call__(self, x: DeviceArray, y: DeviceArray, index: DeviceArray, word: DeviceArray | None = None, /) -> None:
        """With a status word, nothing is written to x where it holds a refusal, and zeros to y."""
        ...


_REPLACING: Final[tuple[Mode, Mode]] = ("number", "replace")


class Component(NamedTuple):
    """One number of an index."""

    offset: int  # in the indices
    added: int  # to negative values
    stride: int  # in x
    numbered: int = 0  # the stride of x if it were compact


class Walked(NamedTuple):
    """The elements of y, and how x, y and the indices are walked with them; x also as if it were compact."""

    shape: Shape
    x: Shape
    y: Shape
    indices: Shape
    numbered: Shape = ()


def range_checker(
    executor: Executor,
    index: Form,
    vector_axis: int,
    bounds: Sequence[tuple[int, int]],
    error: Callable[[Index, int], IndexingError],
    /,
) -> Refuse:
    """What refuses index values out of range: the first one in column-major order is told, at once or late.

    Args:
        executor: of the device.
        index: of the indices.
        vector_axis: along which the components of one index lie; their rank if each is a whole index.
        bounds: the smallest and the largest value of each component.
        error: from the place of a value among the indices, and the value.

    >>> from tensor_core import I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x = bench.put([0, 3, 5], I64)
    >>> wrong = lambda index, value: IndexingError(f"{value} at {index}")
    >>> range_checker(bench.executor, x.form, 1, [(-3, 2)], wrong)(x.array)
    Traceback (most recent call last):
    tensor_core.errors.IndexingError: 3 at (1,)
    """
    if not index.size:
        return lambda array: None
    shape = (*index.shape[:vector_axis], *index.shape[vector_axis + 1 :])
    strides = (*index.strides[:vector_axis], *index.strides[vector_axis + 1 :])
    counted = compact_strides(index.shape)
    numbers = (*counted[:vector_axis], *counted[vector_axis + 1 :])
    step, count = (index.strides[vector_axis], counted[vector_axis]) if vector_axis < index.rank else (0, 0)
    part = form_of(index.dtype, shape, index.placement, strides)
    looks = [
        looker(executor, part, "outside", limits, numbers, (number * step, number * count))
        for number, limits in enumerate(bounds)
    ]
    return refuser_by(executor, index, looks, error)


def bind_places(
    executor: Executor,
    mode: Mode,
    types: tuple[DType, DType, DType],
    walked: Walked,
    components: Sequence[Component],
    extent: int = 0,
    /,
) -> Places:
    """What reads or writes elements at places.

    Args:
        executor: of the device.
        mode: what becomes of the elements; "replace" lets the last one win, and takes a launch to find out.
        types: of x, y and the indices.
        walked: the elements.
        components: of an index.
        extent: how many elements x has, for "replace".

    >>> from tensor_core import F64, I64
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> x, y, at = bench.put([5.0, 6.0, 7.0]), bench.put([0.0, 0.0]), bench.put([-1, 0], I64)
    >>> taken = Walked((2,), (0,), (1,), (1,))
    >>> bind_places(bench.executor, "read", (F64, F64, I64), taken, [Component(0, 3, 1)])(x.array, y.array, at.array)
    >>> bench.get(y)
    [7.0, 5.0]
    """
    size = prod(walked.shape)
    strides = [walked.x, walked.y, walked.indices, *([walked.numbered] if mode == "replace" else [])]
    axes = walk(walked.shape, strides)
    arrays = Arrays(*types, len(axes.extents), len(components))
    fixed = [size, *axes.extents, *(stride for along in axes.strides for stride in along)]
    for component in components:
        fixed += component if mode == "replace" else component[:3]
    if not size:
        return lambda x, y, index, word=None, /: None
    if mode == "replace":
        return _bind_replace(executor, arrays, fixed, extent)
    submit, reads = _submitter(executor, mode, arrays, size), mode == "read"

    def places(x: DeviceArray, y: DeviceArray, index: DeviceArray, word: DeviceArray | None = None, /) -> None:
        read, written = (x, y) if reads else (y, x)
        submit((x.address, y.address, index.address, *fixed), (read, index), written, word)

    return places


def _submitter(
    executor: Executor, mode: Mode, arrays: Arrays, size: int
) -> Callable[[Sequence[int], Sequence[DeviceArray], DeviceArray, DeviceArray | None], None]:
    """Submits a program given its arguments, and what it reads and writes; a guarded one where there is a word."""
    plain, guarded = (partial(places_program, mode, arrays._replace(guarded=guard)) for guard in (False, True))

    def submit(
        arguments: Sequence[int], reads: Sequence[DeviceArray], written: DeviceArray, word: DeviceArray | None
    ) -> None:
        if word is None:
            executor.launch(plain(), size, arguments, reads=reads, writes=(written,))
        else:
            executor.launch(guarded(), size, (word.address, *arguments), reads=(*reads, word), writes=(written,))

    return submit


def _bind_replace(executor: Executor, arrays: Arrays, fixed: Sequence[int], extent: int) -> Places:
    """The last element that goes to a place wins: a launch numbers them, and another one writes."""
    number, write = (_submitter(executor, mode, arrays, fixed[0]) for mode in _REPLACING)

    def places(x: DeviceArray, y: DeviceArray, index: DeviceArray, word: DeviceArray | None = None, /) -> None:
        winners = executor.scratch(8 * extent, 8)
        executor.fill(winners, 0xFF, 8 * extent)
        arguments = (x.address, y.address, index.address, winners.address, *fixed)
        number(arguments, (index,), winners, word)
        write(arguments, (y, index, winners), x, word)

    return places


class Line(NamedTuple):
    """All elements of an array in row-major order, as a line: where they lie, or how they are copied to one."""

    stride: int
    copy: Callable[[DeviceArray], DeviceArray] | None  # to a line of stride 1
    back: Callable[[DeviceArray, DeviceArray], None] | None  # from that line into the array


def line_of(executor: Executor, form: Form, /) -> Line:
    """The line of all elements of a form in row-major order.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> line_of(bench.executor, bench.form((3,))).stride, line_of(bench.executor, bench.form((2, 3))).copy is None
    (1, False)
    """
    order = walk(form.shape[::-1], [form.strides[::-1]])
    if len(order.extents) <= 1:
        return Line(order.strides[0][0] if order.extents else 0, None, None)
    row_major = compact_strides(form.shape[::-1])[::-1]
    line = form_of(form.dtype, (form.size,), form.placement)
    submit = copier(executor, form.dtype, form.dtype, form.shape, row_major, form.strides)
    back = copier(executor, form.dtype, form.dtype, form.shape, form.strides, row_major)

    def copy(array: DeviceArray) -> DeviceArray:
        made = executor.empty(line)
        submit(made, array)
        return made

    return Line(1, copy, back)
