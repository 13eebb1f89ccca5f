"""Contractions that are matrix products: operands as they lie where the library reads them so, else copied once.

The axes fall into batch, rows, columns and contracted ones, each walked as one line. An operand whose lines are evenly
spaced, one of them without gaps, is read where it lies, turned if need be; so is the result written. Column-major all
the way: a product of trailing batches is one call and no copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import FLOATING
from tensor_core.shapes import compact_strides
from tensor_gpu.device.api import Gemm
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.contraction.direct import bind_sum, extents_of, steps_of
from tensor_gpu.kernels.expressions import one_step, submitter
from tensor_runtime.backends.shared.axes import (
    FIRST,
    RESULT,
    SECOND,
    Axis,
    Line,
    Operand,
    by_occurrence,
    by_stride,
    extent_of,
    join,
    line,
    row_major,
)
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel

Labels = tuple[int, ...]
LEAST_TERMS: Final = 4096
"""Products below which a program of our own does without the library; to be measured on devices."""
LEAST_SUMMED: Final = 8
"""Terms of a sum below which a product is bound by memory, which a program of our own reads as fast."""


class Matrices(NamedTuple):
    """A stack of matrices in memory: how the library is told to read it."""

    turned: str  # "N" as they lie, with rows without gaps; "T" with columns without gaps
    leading: int
    stride: int


class Product(NamedTuple):
    """One decision: the axes of each line, and how each array lies; None for one that is copied, or written apart."""

    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    first: Matrices | None
    second: Matrices | None
    result: Matrices | None

    @property
    def copies(self) -> int:
        """How many of the three arrays are not used where they lie."""
        return (self.first, self.second, self.result).count(None)


def plan_product(x: Operand, y: Operand, result: Operand, /) -> Product:
    """The product of two operands of which each label is shared or kept; rows are the result's fastest axis.

    >>> x, y, out = row_major((1, 0), (3, 2), "float64"), row_major((2, 1), (4, 3), "float64"), (2, 0)
    >>> plan = plan_product(x, y, row_major(out, (4, 2), "float64"))
    >>> plan.first, plan.second, plan.result
    (Matrices(turned='N', leading=2, stride=0), Matrices(turned='N', leading=3, stride=0), \
Matrices(turned='N', leading=2, stride=0))
    """
    batch, inner, of_x, of_y = by_occurrence(join(x, y, result))
    inner = by_stride(inner, FIRST if x.size >= y.size else SECOND)
    plan = _laid_out(batch, of_x, of_y, inner)
    if batch or plan.copies == 0:
        return plan
    for axis in (*of_x, *of_y):  # it may be batch that repeats the other operand
        rows, columns = (tuple(one for one in group if one is not axis) for group in (of_x, of_y))
        other = _laid_out((axis,), rows, columns, inner)
        if other.copies < plan.copies:
            plan = other
    return plan


def _laid_out(
    batch: tuple[Axis, ...], rows: tuple[Axis, ...], columns: tuple[Axis, ...], inner: tuple[Axis, ...]
) -> Product:
    batch, rows, columns = (by_stride(group, RESULT) for group in (batch, rows, columns))
    return Product(
        batch,
        rows,
        columns,
        inner,
        matrices(line(batch, FIRST), line(rows, FIRST), line(inner, FIRST)),
        matrices(line(batch, SECOND), line(inner, SECOND), line(columns, SECOND)),
        matrices(line(batch, RESULT), line(rows, RESULT), line(columns, RESULT)),
    )


def matrices(batch: Line | None, rows: Line | None, columns: Line | None, /) -> Matrices | None:
    """How the library reads a stack of matrices; None where it does not.

    >>> matrices(Line(9, 6), Line(2, 1), Line(3, 2)), matrices(Line(9, 1), Line(2, 9), Line(3, 18))
    (Matrices(turned='N', leading=2, stride=6), None)
    >>> matrices(Line(1, 0), Line(2, 5), Line(3, 1))
    Matrices(turned='T', leading=5, stride=0)
    """
    if batch is None or rows is None or columns is None or batch.stride < 0:
        return None
    stride = 0 if batch.extent == 1 else batch.stride
    for turned, near, far in (("N", rows, columns), ("T", columns, rows)):
        leading = far.stride if far.extent > 1 else max(near.extent, 1)
        if (near.stride == 1 or near.extent == 1) and leading >= max(near.extent, 1):
            return Matrices(turned, leading, stride)
    return None


def bind_product(
    executor: Executor,
    operands: Sequence[Form],
    labels: Sequence[Labels],
    result: Form,
    kept: Labels,
    /,
    *,
    conjugated: bool,
) -> Kernel | None:
    """The kernel of a contraction by the library; None where a program of our own is as good, or the only one.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> form = bench.form((64, 64, 10))
    >>> stack = ((0, 1, 3), (1, 2, 3))
    >>> bind_product(bench.executor, (form, form), stack, form, (0, 2, 3), conjugated=False) is None
    False
    """
    library = executor.properties()
    if (
        "gemm" in library.missing
        or result.dtype not in FLOATING
        or 0 in (result.size, *(form.size for form in operands))
    ):
        return None
    extents = extents_of(operands, labels)
    needed = [{*labels[1], *kept}, {*labels[0], *kept}]
    summed = [
        _summed(executor, form, own, wanted, extents, result)
        for form, own, wanted in zip(operands, labels, needed, strict=True)
    ]
    x, y = (_native(one.form, one.labels, extents) for one in summed)
    out = row_major(kept[::-1], result.shape[::-1], result.dtype.numpy_name)
    plan = plan_product(x, y, out)
    terms = extent_of((*plan.batch, *plan.rows, *plan.columns, *plan.inner))
    if terms < LEAST_TERMS or extent_of(plan.inner) < LEAST_SUMMED:
        return None
    readers = [
        _reader(executor, one, groups, result, matrices_of)
        for one, groups, matrices_of in (
            (summed[0], (plan.batch, plan.inner, plan.rows), plan.first),
            (summed[1], (plan.batch, plan.columns, plan.inner), plan.second),
        )
    ]
    lines = (extent_of(group) for group in (plan.rows, plan.columns, plan.inner))
    written = 0 if plan.result is None else plan.result.leading
    if max(*lines, written, *(reader.matrices.leading for reader in readers)) > library.largest_extent:
        return None
    swapped = plan.result is not None and plan.result.turned == "T"  # Cᵀ = Bᵀ Aᵀ
    turned = [_turned(reader.matrices, swapped) for reader in readers]
    if conjugated:
        if turned[0] == "N":
            return None  # the library conjugates only what it transposes
        turned[0] = "C"
    return _kernel(executor, plan, readers, turned, swapped, result)


class _Reader(NamedTuple):
    """What makes the library's operand of a tensor, and how it lies."""

    read: Callable[[Any], DeviceArray]
    matrices: Matrices


class _Summed(NamedTuple):
    """An operand without the labels that nothing else has."""

    form: Form
    labels: Labels
    make: Callable[[Any], DeviceArray]


def _summed(
    executor: Executor, form: Form, labels: Labels, needed: set[int], extents: dict[int, int], result: Form
) -> _Summed:
    repeated = {label for label, extent in zip(labels, form.shape, strict=True) if extent == 1 != extents[label]}
    if needed.issuperset(labels):
        return _Summed(form, labels, lambda array: array)
    rest = tuple(label for label in labels if label in needed)
    shape = tuple(1 if label in repeated else extents[label] for label in rest)
    kept = form_of(result.dtype, shape, form.placement)
    return _Summed(kept, rest, bind_sum(executor, (form,), (labels,), kept, rest))


def _native(form: Form, labels: Labels, extents: dict[int, int]) -> Operand:
    """The operand in reversed order of axes, without those along which it is repeated."""
    own = [
        (label, extent, stride)
        for label, extent, stride in zip(labels, form.shape, steps_of(form, labels, extents), strict=True)
        if extent == extents[label]
    ][::-1]
    return Operand(
        tuple(label for label, _, _ in own),
        tuple(extent for _, extent, _ in own),
        tuple(stride for _, _, stride in own),
        form.dtype.numpy_name,
    )


def _reader(
    executor: Executor, one: _Summed, groups: Sequence[Sequence[Axis]], result: Form, lies: Matrices | None
) -> _Reader:
    """Groups of axes are outermost first: a copy has them in this order."""
    if lies is not None and one.form.dtype is result.dtype:
        return _Reader(one.make, lies)
    order = [label for group in groups for axis in group for label in axis.labels if label in one.labels]
    rest = [label for label in one.labels if label not in order]  # of extent 1
    axes = [one.labels.index(label) for label in (*reversed(order), *rest)]
    shape = tuple(one.form.shape[axis] for axis in axes)
    seen = form_of(one.form.dtype, shape, one.form.placement, tuple(one.form.strides[axis] for axis in axes))
    copied = form_of(result.dtype, shape, one.form.placement)
    expression = one_step("convert", (seen.dtype,), result.dtype, ("error",))
    submit = submitter(executor, expression, (seen,), shape, compact_strides(shape), "contract")
    make = one.make
    repeated = not any(label in one.labels for axis in groups[0] for label in axis.labels)
    across, near = extent_of(groups[1]), extent_of(groups[2])

    def read(array: Any) -> DeviceArray:
        copy = executor.empty(copied)
        submit(copy, [make(array)])
        return copy

    return _Reader(read, Matrices("N", max(near, 1), 0 if repeated else across * near))


def _turned(matrices: Matrices, swapped: bool) -> str:
    """How the library turns an operand that takes the other side where the product is transposed."""
    return matrices.turned if not swapped else "T" if matrices.turned == "N" else "N"


def _kernel(
    executor: Executor, plan: Product, readers: Sequence[_Reader], turned: Sequence[str], swapped: bool, result: Form
) -> Kernel:
    m, n, k, count = (extent_of(group) for group in (plan.rows, plan.columns, plan.inner, plan.batch))
    written = plan.result or Matrices("N", max(m, 1), m * n)
    (read_x, x), (read_y, y) = readers
    of_x, of_y = turned
    spread = None if plan.result else _spread(executor, plan, result)
    dtype, c_lies = result.dtype, (written.leading, written.stride, count)

    def kernel(first: Any, second: Any) -> DeviceArray:
        a, b = read_x(first), read_y(second)
        c = executor.empty(result)
        a_lies, b_lies = (a.address, x.leading, x.stride), (b.address, y.leading, y.stride)
        if swapped:
            call = Gemm(dtype, of_y, of_x, n, m, k, *b_lies, *a_lies, c.address, *c_lies)
        else:
            call = Gemm(dtype, of_x, of_y, m, n, k, *a_lies, *b_lies, c.address, *c_lies)
        executor.gemm(call, reads=(a, b), writes=(c,))
        return c if spread is None else spread(c)

    return kernel


def _spread(executor: Executor, plan: Product, result: Form) -> Callable[[DeviceArray], DeviceArray]:
    """From matrices [rows, columns, batch] to the result's order of axes."""
    step, strides = 1, {}
    for group in (plan.rows, plan.columns, plan.batch):
        for axis in reversed(group):
            strides[axis.labels] = step
            step *= axis.extent
    axes = sorted((axis for group in (plan.rows, plan.columns, plan.batch) for axis in group), key=_place)
    shape = tuple(axis.extent for axis in axes)
    seen = form_of(result.dtype, shape, result.placement, tuple(strides[axis.labels] for axis in axes))
    expression = one_step("copy", (result.dtype,), result.dtype)
    submit = submitter(executor, expression, (seen,), shape, compact_strides(shape), "contract")

    def spread(product: DeviceArray) -> DeviceArray:
        target = executor.empty(result)
        submit(target, [product])
        return target

    return spread


def _place(axis: Axis) -> int:
    return axis.strides[RESULT] or 0
