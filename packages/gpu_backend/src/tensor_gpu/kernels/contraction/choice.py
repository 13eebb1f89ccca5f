"""Which kernel a contraction takes on a device: the library's products, or sums by a program of our own.

Axes are fused, lined up and judged as on the CPU (``tensor_runtime.backends.shared``), by what this device's kernels
are estimated to take (``tensor_gpu.tables.rates``). The planner thinks of arrays with reversed axes: its *columns* are
our rows, the fastest axes of the first operand and of the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod
from typing import NamedTuple

from tensor_core.dtypes import FLOATING, as_dtype
from tensor_gpu.device.executor import Executor
from tensor_gpu.device.provider import Contract, Lying, Provider
from tensor_gpu.device.providers import AUTO, NONE
from tensor_gpu.kernels.contraction.direct import Labels, extents_of, steps_of
from tensor_gpu.tables.rates import PROGRAM_CALL, Costs, costs_of
from tensor_runtime.backends.shared.axes import (
    FIRST,
    RESULT,
    SECOND,
    Axis,
    Line,
    Operand,
    by_occurrence,
    extent_of,
    join,
    line,
    row_major,
)
from tensor_runtime.backends.shared.choice import Way, after_sums, cheapest
from tensor_runtime.backends.shared.products import MatrixProduct, plan_product
from tensor_runtime.form import Form


class DirectSum(NamedTuple):
    """A program sums, one thread for each element of the result."""

    cost: float  # estimated nanoseconds


class OuterProduct(NamedTuple):
    """A program multiplies elements of both operands, each repeated along the other's axes; nothing is added up."""

    cost: float


class ProviderProduct(NamedTuple):
    """A provider contracts the operands as they lie."""

    provider: Provider
    call: Contract
    cost: float


class Contraction(NamedTuple):
    """A contraction of two operands as the planner sees it."""

    extents: Mapping[int, int]  # of labels
    given: tuple[Operand, Operand]  # as they are
    summed: tuple[Operand, Operand]  # without labels that nothing else has
    result: Operand

    @property
    def sums(self) -> tuple[bool, bool]:
        """Which operands are summed over labels of their own before a product."""
        return self.given[0] is not self.summed[0], self.given[1] is not self.summed[1]


Plan = MatrixProduct | DirectSum | OuterProduct | ProviderProduct


def contraction_of(operands: Sequence[Form], labels: Sequence[Labels], result: Form, kept: Labels, /) -> Contraction:
    """What is planned, of forms with labels.

    >>> from tensor_gpu.sim.bench import Bench
    >>> form = Bench().form
    >>> found = contraction_of((form((2, 3)), form((3, 4, 5))), ((0, 1), (1, 2, 3)), form((2, 4)), (0, 2))
    >>> found.sums, found.summed[1].labels
    ((False, True), (2, 1))
    """
    extents = extents_of(operands, labels)
    x, y = (_native(form, own, extents) for form, own in zip(operands, labels, strict=True))
    name = result.dtype.numpy_name
    out = row_major(kept[::-1], result.shape[::-1], name)
    summed = after_sums(x, {*y.labels, *kept}, name) or x, after_sums(y, {*x.labels, *kept}, name) or y
    return Contraction(extents, (x, y), summed, out)


def _native(form: Form, labels: Labels, extents: Mapping[int, int]) -> Operand:
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


def plan_contraction(executor: Executor, found: Contraction, result: Form, /, *, conjugated: bool = False) -> Plan:
    """What the kernel will do; no extent is 0.

    Args:
        executor: of the device; its provider is opened where it is estimated to be fastest, or asked for by name.
        found: what is contracted.
        result: the form of the result.
        conjugated: whether a provider is to read the first operand conjugated.

    >>> from tensor_gpu.sim.bench import Bench
    >>> bench = Bench()
    >>> form = bench.form((64, 64, 100))
    >>> found = contraction_of((form, form), ((0, 1, 3), (1, 2, 3)), form, (0, 2, 3))
    >>> plan = plan_contraction(bench.executor, found, form)
    >>> isinstance(plan, MatrixProduct) and not plan.copies
    True
    """
    library = executor.properties()
    costs = costs_of(library.compute_capability, found.result.dtype)
    direct = _by_program(found, costs)
    if result.dtype not in FLOATING:
        return direct
    before = sum(PROGRAM_CALL for sums in found.sums if sums)

    def products(axes: tuple[Axis, ...], x: Operand, y: Operand, out: Operand, below: float) -> MatrixProduct | None:
        plan = plan_product(axes, x, y, out, costs, below)
        if largest_of(plan) > library.largest_extent:
            return None
        return plan._replace(cost=plan.cost + before) if before else plan

    def by_provider(
        axes: tuple[Axis, ...], x: Operand, y: Operand, out: Operand, below: float
    ) -> ProviderProduct | None:
        time = before + _provider_time(axes, costs)
        if time >= below or not x.dtype == y.dtype == out.dtype:
            return None
        return asked_for(executor, described(axes, out, conjugated=conjugated), time)

    def least(terms: int, dtype: str) -> float:
        return before + costs.least_products(terms)

    x, y = found.summed
    axes, wanted = join(x, y, found.result), executor.providers.wanted
    if wanted not in (AUTO, NONE):
        always = by_provider(axes, x, y, found.result, inf)
        if always is not None:
            return always
    ways: list[Way[Plan]] = [Way(lambda *_: direct, lambda terms, dtype: direct.cost)]
    if "gemm" not in library.missing:
        ways.append(Way(products, least))
    if wanted == AUTO:
        ways.append(Way(by_provider, least))
    return cheapest(ways, axes, x, y, found.result)


def _provider_time(axes: Sequence[Axis], costs: Costs) -> float:
    batch, inner, of_x, of_y = by_occurrence(axes)
    runs = [
        max((axis.extent for axis in axes if axis.strides[role] == 1), default=1)
        for role in (FIRST, SECOND, RESULT)
        if any(axis.strides[role] for axis in axes)
    ]
    extents = extent_of(batch), extent_of(of_x), extent_of(of_y), extent_of(inner)
    return costs.contraction(*extents, min(runs, default=1))


def asked_for(executor: Executor, call: Contract, time: float, /) -> ProviderProduct | None:
    """The contraction by the provider that is chosen; None where there is none, or it does not take this one.

    >>> from tensor_core import F64
    >>> from tensor_gpu.sim.bench import Bench
    >>> lying = Lying((0,), (1,))
    >>> asked_for(Bench().executor, Contract(F64, {0: 4}, lying, lying, Lying((), ())), 1.0) is None
    True
    """
    provider = executor.providers.chosen()
    if provider is None or executor.providers.refuses(provider, executor.ordinal, call):
        return None
    return ProviderProduct(provider, call, time)


def described(axes: Sequence[Axis], out: Operand, /, *, conjugated: bool = False) -> Contract:
    """A contraction for a provider: each fused axis is a mode.

    >>> x, y, out = (row_major(labels, (2, 2), "float64") for labels in ((1, 0), (2, 1), (2, 0)))
    >>> call = described(join(x, y, out), out)
    >>> call.a, call.b, call.c
    (Lying(modes=(1, 2), strides=(1, 2)), Lying(modes=(0, 2), strides=(2, 1)), Lying(modes=(0, 1), strides=(2, 1)))
    """
    lying = []
    for role in (FIRST, SECOND, RESULT):
        steps = [(mode, axis.strides[role]) for mode, axis in enumerate(axes)]
        present = [(mode, step) for mode, step in steps if step is not None]
        lying.append(Lying(tuple(mode for mode, _ in present), tuple(step for _, step in present)))
    extents = {mode: axis.extent for mode, axis in enumerate(axes)}
    a, b, c = lying
    return Contract(as_dtype(out.dtype), extents, a, b, c, conjugated)


def _by_program(found: Contraction, costs: Costs) -> DirectSum | OuterProduct:
    x, y = found.given
    size, terms = found.result.size, prod(found.extents.values())
    moved = x.size + y.size + size
    if terms == size and not any(found.sums):
        return OuterProduct(costs.outer(size, moved))
    return DirectSum(costs.sums(size, terms // size, moved))


class Matrices(NamedTuple):
    """A stack of matrices in memory: how the library is told to read it."""

    turned: str  # "N" as they lie, with rows without gaps; "T" with columns without gaps
    leading: int
    stride: int


def lies(plan: MatrixProduct, role: int, /) -> Matrices:
    """How an array of a product lies, where it is used or where a copy of it is.

    >>> from tensor_runtime.backends.shared.axes import row_major
    >>> x, y, out = (row_major(labels, (2, 2), "float64") for labels in ((1, 0), (2, 1), (2, 0)))
    >>> plan = plan_product(join(x, y, out), x, y, out, costs_of((9, 0), "float64"))
    >>> lies(plan, FIRST), lies(plan, RESULT)
    (Matrices(turned='N', leading=2, stride=0), Matrices(turned='N', leading=2, stride=0))
    """
    near, far = {
        FIRST: (plan.columns, plan.inner),
        SECOND: (plan.inner, plan.rows),
        RESULT: (plan.columns, plan.rows),
    }[role]
    if (plan.copies_first, plan.copies_second, plan.permutes_result)[role]:
        m, n = extent_of(near), extent_of(far)
        repeated = role != RESULT and all(axis.strides[role] is None for axis in plan.stack)
        return Matrices("N", m, 0 if repeated else m * n)
    stack, rows, columns = line(plan.stack, role), line(near, role), line(far, role)
    assert stack is not None and rows is not None and columns is not None
    return _read_as(rows, columns, 0 if stack.extent == 1 else stack.stride)


def _read_as(rows: Line, columns: Line, stride: int) -> Matrices:
    """As they lie if their rows have no gaps, else turned.

    >>> _read_as(Line(2, 1), Line(3, 2), 6), _read_as(Line(2, 5), Line(3, 1), 0)
    (Matrices(turned='N', leading=2, stride=6), Matrices(turned='T', leading=5, stride=0))
    """
    for turned, near, far in (("N", rows, columns), ("T", columns, rows)):
        leading = far.stride if far.extent > 1 else near.extent
        if (near.stride == 1 or near.extent == 1) and leading >= near.extent:
            return Matrices(turned, leading, stride)
    raise AssertionError((rows, columns))


def largest_of(plan: MatrixProduct, /) -> int:
    """The largest number that the library is told of a product, but for how many there are.

    >>> x, y, out = (row_major(labels, (9, 9), "float64") for labels in ((1, 0), (2, 1), (2, 0)))
    >>> largest_of(plan_product(join(x, y, out), x, y, out, costs_of((9, 0), "float64")))
    9
    """
    extents = (extent_of(group) for group in (plan.columns, plan.rows, plan.inner))
    return max(*extents, *(lies(plan, role).leading for role in (FIRST, SECOND, RESULT)))
