"""Contractions that are matrix products: operands as they lie where the library reads them so, else copied once.

An operand whose axes are evenly spaced lines, one of them without gaps, is read where it lies, turned if need be; so is
the result written. Column-major all the way: a product of trailing batches is one call and no copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tensor_core.shapes import compact_strides
from tensor_gpu.device.api import Gemm
from tensor_gpu.device.arrays import DeviceArray
from tensor_gpu.device.executor import Executor
from tensor_gpu.kernels.contraction.choice import Contraction, Matrices, ProviderProduct, lies
from tensor_gpu.kernels.contraction.direct import Labels
from tensor_gpu.kernels.contraction.unary import bind_unary_sum
from tensor_gpu.kernels.expressions import one_step, submitter
from tensor_runtime.backends.shared.axes import FIRST, RESULT, SECOND, Axis, Operand, extent_of
from tensor_runtime.backends.shared.products import MatrixProduct
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel


class Summed(NamedTuple):
    """An operand without the labels that nothing else has."""

    form: Form
    labels: Labels
    make: Callable[[Any], DeviceArray]


def summed(executor: Executor, form: Form, labels: Labels, rest: Operand, result: Form, *, sums: bool) -> Summed:
    """What makes an operand that is left after its own sums.

    Args:
        executor: of the device.
        form: of the operand.
        labels: of its axes.
        rest: what is left.
        result: of the contraction, in whose type sums are made.
        sums: whether there are any; else the operand is used as it is.

    >>> from tensor_gpu.sim.bench import Bench
    >>> from tensor_runtime.backends.shared.axes import row_major
    >>> bench = Bench()
    >>> x = bench.put([[1.0, 2.0], [3.0, 4.0]])
    >>> found = summed(bench.executor, x.form, (0, 1), row_major((0,), (2,), "float64"), x.form, sums=True)
    >>> bench.get((found.make(x.array), found.form))
    [3.0, 7.0]
    """
    if not sums:
        return Summed(form, labels, lambda array: array)
    kept = rest.labels[::-1]
    left = form_of(result.dtype, rest.shape[::-1], form.placement)
    return Summed(left, kept, bind_unary_sum(executor, form, labels, left, kept))


def bind_product(
    executor: Executor,
    plan: MatrixProduct,
    found: Contraction,
    operands: Sequence[Form],
    labels: Sequence[Labels],
    result: Form,
    /,
    *,
    conjugated: bool = False,
) -> Kernel | None:
    """The kernel of a decision; None where the first operand is to be read conjugated, and the library reads it as is.

    >>> from tensor_gpu.kernels.contraction.choice import contraction_of, plan_contraction
    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> form, stack = bench.form((64, 64, 10)), ((0, 1, 3), (1, 2, 3))
    >>> found = contraction_of((form, form), stack, form, (0, 2, 3))
    >>> plan = plan_contraction(bench.executor, found, form)
    >>> bind_product(bench.executor, plan, found, (form, form), stack, form) is None
    False
    """
    readers = [
        _reader(
            executor,
            summed(executor, form, own, rest, result, sums=sums),
            groups,
            result,
            lies(plan, role),
            copied=copied,
        )
        for form, own, rest, sums, role, groups, copied in zip(
            operands,
            labels,
            found.summed,
            found.sums,
            (FIRST, SECOND),
            ((plan.stack, plan.inner, plan.columns), (plan.stack, plan.rows, plan.inner)),
            (plan.copies_first, plan.copies_second),
            strict=True,
        )
    ]
    written = lies(plan, RESULT)
    swapped = written.turned == "T"  # Cᵀ = Bᵀ Aᵀ
    turned = [_turned(reader.matrices, swapped) for reader in readers]
    if conjugated:
        if turned[0] == "N":
            return None  # the library conjugates only what it transposes
        turned[0] = "C"
    return _kernel(executor, plan, readers, turned, written, result)


def bind_by_provider(
    executor: Executor,
    plan: ProviderProduct,
    found: Contraction,
    operands: Sequence[Form],
    labels: Sequence[Labels],
    result: Form,
    /,
) -> Kernel:
    """The kernel of a contraction by a provider, of operands where they lie.

    >>> from tensor_gpu.kernels.contraction.choice import contraction_of, plan_contraction
    >>> from tensor_gpu.sim.api import SimulatedApi
    >>> from tensor_gpu.sim.bench import Bench
    >>> from tensor_gpu.sim.faults import Limits
    >>> bench = Bench(SimulatedApi(devices=1, memory_bytes=1 << 20))
    >>> x = bench.put([[1.0, 2.0], [3.0, 4.0]])
    >>> given = (x.form, x.form), ((0, 1), (1, 2)), x.form
    >>> with bench.api.under(Limits(devices=1, memory_bytes=1 << 20, providers=("one",))):
    ...     with bench.backend.providers.use("one"):
    ...         found = contraction_of(*given, (0, 2))
    ...         plan = plan_contraction(bench.executor, found, x.form)
    ...         bench.get((bind_by_provider(bench.executor, plan, found, *given)(x.array, x.array), x.form))
    [[7.0, 10.0], [15.0, 22.0]]
    """
    make_a, make_b = (
        summed(executor, form, own, rest, result, sums=sums).make
        for form, own, rest, sums in zip(operands, labels, found.summed, found.sums, strict=True)
    )
    provider, call = plan.provider, plan.call

    def kernel(first: Any, second: Any) -> DeviceArray:
        a, b, c = make_a(first), make_b(second), executor.empty(result)
        executor.contract(provider, call, a, b, c)
        return c

    return kernel


class _Reader(NamedTuple):
    """What makes the library's operand of a tensor, and how it lies."""

    read: Callable[[Any], DeviceArray]
    matrices: Matrices


def _reader(
    executor: Executor,
    one: Summed,
    groups: Sequence[Sequence[Axis]],
    result: Form,
    matrices: Matrices,
    *,
    copied: bool,
) -> _Reader:
    """Groups of axes are outermost first: a copy has them in this order."""
    if not copied:
        return _Reader(one.make, matrices)
    order = [label for group in groups for axis in group for label in axis.labels if label in one.labels]
    rest = [label for label in one.labels if label not in order]  # of extent 1
    axes = [one.labels.index(label) for label in (*reversed(order), *rest)]
    shape = tuple(one.form.shape[axis] for axis in axes)
    seen = form_of(one.form.dtype, shape, one.form.placement, tuple(one.form.strides[axis] for axis in axes))
    made = form_of(result.dtype, shape, one.form.placement)
    expression = one_step("convert", (seen.dtype,), result.dtype, ("error",))
    submit = submitter(executor, expression, (seen,), shape, compact_strides(shape), "contract")
    make = one.make

    def read(array: Any) -> DeviceArray:
        copy = executor.empty(made)
        submit(copy, [make(array)])
        return copy

    return _Reader(read, matrices)


def _turned(matrices: Matrices, swapped: bool) -> str:
    """How the library turns an operand that takes the other side where the product is transposed."""
    return matrices.turned if not swapped else "T" if matrices.turned == "N" else "N"


def _kernel(
    executor: Executor,
    plan: MatrixProduct,
    readers: Sequence[_Reader],
    turned: Sequence[str],
    written: Matrices,
    result: Form,
) -> Kernel:
    m, n, k, count = (extent_of(group) for group in (plan.columns, plan.rows, plan.inner, plan.stack))
    (read_x, x), (read_y, y) = readers
    of_x, of_y = turned
    swapped = written.turned == "T"
    spread = _spread(executor, plan, result) if plan.permutes_result else None
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


def _spread(executor: Executor, plan: MatrixProduct, result: Form) -> Callable[[DeviceArray], DeviceArray]:
    """From matrices [columns, rows, stack] of the plan, the first fastest, to the result's order of axes."""
    step, strides = 1, {}
    for group in (plan.columns, plan.rows, plan.stack):
        for axis in reversed(group):
            strides[axis.labels] = step
            step *= axis.extent
    axes = sorted((axis for group in (plan.columns, plan.rows, plan.stack) for axis in group), key=_place)
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
