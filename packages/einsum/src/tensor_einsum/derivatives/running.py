"""Running a sweep: binds its steps to the forms of operands, and calls the kernels on the backend's own arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tensor_core.dtypes import DType
from tensor_core.errors import OutOfMemoryError, TensorError
from tensor_core.formatting import readable_bytes
from tensor_einsum.derivatives.sweep import SweepPlan, result_axes
from tensor_einsum.execution.executor import BINDERS, bind_zeros
from tensor_einsum.execution.memory import lacking, needs_check
from tensor_einsum.execution.scaling import Range, range_of
from tensor_einsum.execution.semirings import binders_in
from tensor_einsum.execution.sequenced import Sequenced, StepError
from tensor_einsum.execution.unary_steps import StepBinder, conversion
from tensor_einsum.steps.steps import VIEWS, Step
from tensor_runtime.algebras import PLUS_TIMES, Semiring
from tensor_runtime.backends.bindings import Binding
from tensor_runtime.backends.error_translation import translated
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.workspaces import with_workspace, workspace_of
from tensor_runtime.contracts.views import BroadcastParams, ReshapeParams
from tensor_runtime.dispatch.spec import common_placement
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import Kernel
from tensor_runtime.tensors.tensor import Tensor, wrap

AfterStep = Callable[[int, Any], Any]
"""Of the number of a step and the array that it gives, the one that is kept."""


class _Instruction(NamedTuple):
    kernel: Kernel
    first: int  # -1 for kernels of no operand
    second: int  # -1 for kernels of one operand
    dropped: tuple[int, ...]  # slots that nothing reads afterwards


class BoundSweep:
    """A sweep bound to forms; slots hold the operands, then the result of every instruction.

    Args:
        operation: the name for messages.
        sweep: whose steps are bound.
        operands: forms of what the first slots hold.
        converts: whether results have the dtype of the plan, also where no sum or product has made it.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> x = ones((2,))
    >>> sweep = plan("i,i->", (2,), (2,)).environments_plan(which=0)
    >>> BoundSweep("environments", sweep, [x._form, x._form])([x._array, x._array])[0].shape
    (2,)
    """

    __slots__ = ("_at_once", "_ranges", "forms", "home", "instructions", "made", "needed_bytes", "operation", "sweep")

    def __init__(self, operation: str, sweep: SweepPlan, operands: Sequence[Form], converts: bool = True) -> None:
        home = operands[0].placement
        for form in operands:
            if form.placement is not home:
                common_placement(operation, operands)  # which tells of all
        self.home = home
        self.operation = operation
        self.sweep = sweep
        slots = list(operands)
        results = {*sweep.results} if converts else ()
        zeros = _sums_of_nothing(sweep) if converts else ()
        dtype = sweep.plan.output_dtype
        binders = _binders(sweep.plan.algebra)
        instructions, workspaces = [], []
        for slot, step in enumerate(sweep.steps, len(slots)):
            if step.kind == "one":
                kernel, form = _bind_one(dtype, home, sweep.plan.algebra)
            else:
                kernel, form = binders[step.kind](step, [slots[operand] for operand in step.operands], dtype)
            if slot in results and form.dtype is not dtype:
                kernel, form = _converted(kernel, form, dtype)
            if slot in zeros:
                kernel = bind_zeros(form, sweep.plan.algebra)
            first, second = (*step.operands, -1, -1)[:2]
            instructions.append(_Instruction(kernel, first, second, sweep.dropped[slot - len(operands)]))
            workspaces.append(workspace_of(kernel))
            slots.append(form)
        self.instructions = tuple(instructions)
        places = [(*instruction[:3], slot) for slot, instruction in enumerate(instructions, len(operands))]
        self._at_once = Sequenced(home, places, sweep.results)
        self.forms = tuple([slots[slot] for slot in sweep.results])
        self.made = tuple(slots[len(operands) :])  # forms of what the steps give
        self.needed_bytes = sweep.peak_with(workspaces)
        self._ranges: tuple[Range | None, ...] | None = None

    def __call__(
        self, arrays: Sequence[Any], done: Callable[[], object] | None = None, after: AfterStep | None = None
    ) -> list[Tensor]:
        """The results, of native arrays of the operands and perhaps the cotangent.

        Args:
            arrays: as the forms say.
            done: called after each step.
            after: gives what takes the place of each step's result, of its number and its array.

        Raises:
            OutOfMemoryError: more than this process may have in all; or memory ran out, and the message says where.
        """
        if needs_check(self.needed_bytes, self.home):
            self._check_fits()
        try:
            found = self._at_once.found(arrays) if done is None and after is None else None
            if found is None:
                slots = [*arrays, *[None] * len(self.instructions)]
                _run_one_by_one(self.instructions, slots, len(arrays), done, after)
                found = [slots[slot] for slot in self.sweep.results]
        except StepError as step:
            if isinstance(step.error, TensorError):
                raise step.error from None
            raise self._failure(step.place - len(arrays), step.error) from step.error
        return list(map(wrap, self.forms, found))

    @property
    def ranges(self) -> tuple[Range | None, ...]:
        """Of what each step gives, the range of magnitudes that is left as it is; None of integers, and of views.

        A view has been brought near with what it shows.
        """
        if self._ranges is None:
            pairs = zip(self.sweep.steps, self.made, strict=True)
            self._ranges = tuple(
                [
                    None if step.kind in VIEWS or form.dtype.kind not in ("float", "complex") else range_of(form)
                    for step, form in pairs
                ]
            )
        return self._ranges

    def _check_fits(self) -> None:
        found = lacking(self.home, self.needed_bytes)
        if found is not None:
            usable, told, remedy = found
            raise OutOfMemoryError(
                f"{self.operation}: the sweep needs {readable_bytes(self.needed_bytes)} at its peak beside the "
                f"operands, but {told}; give memory_limit=, ask for fewer results, or {remedy}",
                operation=self.operation,
                needed=self.needed_bytes,
                usable=usable,
            )

    def _failure(self, number: int, error: Exception) -> TensorError:
        if not isinstance(error, MemoryError):
            return translated(self.operation, error)
        step = self.sweep.steps[number]
        return OutOfMemoryError(
            f"{self.operation}: not enough memory in step {number} of {len(self.sweep.steps)}, {step.subscripts}, "
            f"whose result takes {readable_bytes(step.bytes)}; the sweep needs {readable_bytes(self.needed_bytes)} "
            "beside its operands; memory_limit= makes it take less",
            operation=self.operation,
            step=number,
        )


def _run_one_by_one(
    instructions: Sequence[_Instruction],
    slots: list[Any],
    operands: int,
    done: Callable[[], object] | None,
    after: AfterStep | None,
) -> None:
    for slot, (kernel, first, second, dropped) in enumerate(instructions, operands):
        try:
            if second >= 0:
                array = kernel(slots[first], slots[second])
            elif first >= 0:
                array = kernel(slots[first])
            else:
                array = kernel()
            slots[slot] = array if after is None else after(slot - operands, array)
        except Exception as error:
            raise StepError(slot, error) from error
        del array
        for gone in dropped:
            slots[gone] = None
        if done is not None:
            done()


def _sums_of_nothing(sweep: SweepPlan) -> set[int]:
    """Slots of the results that sum a label of extent 0: they are zeros, also where other factors are infinite."""
    plan, goal = sweep.plan, sweep.goal
    empty = {label for label, extent in enumerate(plan.extents) if extent == 0}
    if not empty or not sweep.results:
        return set()
    axes = [labels for labels, _ in result_axes(plan, goal)] or [plan.output]  # no goal: the plan's own result
    return {slot for slot, labels in zip(sweep.results, axes, strict=True) if not empty.issubset(labels)}


def _binders(algebra: Semiring) -> dict[str, StepBinder]:
    """Those of a plan's steps, and those of what only sweeps do."""
    return {
        **BINDERS,
        **({} if algebra is PLUS_TIMES else binders_in(algebra)),
        "broadcast": _bind_broadcast,
        "reshape": _bind_reshape,
    }


def _bind_one(dtype: DType, home: Placement, algebra: Semiring) -> Binding:
    """The algebra's one, of rank 0."""
    result, one = form_of(dtype, (), home), algebra.one_of(dtype)
    kernel = registry.bind("full", (), result, None)
    return (lambda: kernel(one)), result


def _bind_broadcast(step: Step, forms: Sequence[Form], dtype: DType) -> Binding:
    """A view in which elements repeat along new axes, which come first."""
    (form,) = forms
    strides = (0,) * (len(step.shape) - form.rank) + form.strides
    result = form_of(form.dtype, step.shape, form.placement, strides)
    return registry.bind("broadcast_view", (form,), result, BroadcastParams(step.shape)), result


def _bind_reshape(step: Step, forms: Sequence[Form], dtype: DType) -> Binding:
    """A view with axes of extent 1 besides."""
    (form,) = forms
    result = form_of(form.dtype, step.shape, form.placement)
    return registry.bind("reshape_view", (form,), result, ReshapeParams(step.shape)), result


def _converted(kernel: Kernel, form: Form, dtype: DType) -> Binding:
    """The same result in another dtype."""
    convert, result = conversion(form, dtype)
    takes = max(workspace_of(kernel), form.nbytes + workspace_of(convert))
    return with_workspace(lambda *operands: convert(kernel(*operands)), takes), result
