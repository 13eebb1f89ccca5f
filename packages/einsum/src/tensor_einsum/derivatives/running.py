"""Running a sweep: binds its steps to the forms of operands, and calls the kernels on the backend's own arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import DType
from tensor_core.errors import OutOfMemoryError, TensorError
from tensor_core.formatting import readable_bytes
from tensor_einsum import executor
from tensor_einsum.derivatives.sweep import SweepPlan
from tensor_einsum.executor import check_fits, needs_check
from tensor_einsum.steps import Step
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


class _Instruction(NamedTuple):
    kernel: Kernel
    operands: tuple[int, ...]
    dropped: tuple[int, ...]  # slots that nothing reads afterwards


class BoundSweep:
    """A sweep bound to forms; slots hold the operands, then the result of every instruction."""

    __slots__ = ("forms", "home", "instructions", "needed_bytes", "operation", "sweep")

    def __init__(self, operation: str, sweep: SweepPlan, operands: Sequence[Form]) -> None:
        home = operands[0].placement
        for form in operands:
            if form.placement is not home:
                common_placement(operation, operands)  # which tells of all
        self.home = home
        self.operation = operation
        self.sweep = sweep
        slots = list(operands)
        results = {*sweep.results}
        dtype = sweep.plan.output_dtype
        instructions, workspaces = [], []
        for slot, step in enumerate(sweep.steps, len(slots)):
            kernel, form = _bind(step, [slots[operand] for operand in step.operands], dtype, home)
            if slot in results and form.dtype is not dtype:
                kernel, form = _converted(kernel, form, dtype)
            instructions.append(_Instruction(kernel, step.operands, sweep.dropped[slot - len(operands)]))
            workspaces.append(workspace_of(kernel))
            slots.append(form)
        self.instructions = tuple(instructions)
        self.forms = tuple([slots[slot] for slot in sweep.results])
        self.needed_bytes = sweep.peak_with(workspaces)

    def __call__(self, arrays: Sequence[Any]) -> list[Tensor]:
        """The results, of native arrays of the operands and perhaps the cotangent.

        Raises:
            OutOfMemoryError: more than this process may have in all; or memory ran out, and the message says where.
        """
        if needs_check(self.needed_bytes, self.home):
            check_fits(self.sweep.plan, self.needed_bytes)
        slots = list(arrays)
        for kernel, operands, dropped in self.instructions:
            try:
                slots.append(kernel(*[slots[operand] for operand in operands]))
            except TensorError:
                raise
            except Exception as error:
                raise self._failure(len(slots) - len(arrays), error) from error
            for slot in dropped:
                slots[slot] = None
        return [wrap(form, slots[slot]) for form, slot in zip(self.forms, self.sweep.results, strict=True)]

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


def _bind(step: Step, forms: Sequence[Form], dtype: DType, home: Placement) -> Binding:
    if step.kind == "contract":
        return executor._bind_contraction(step, forms[0], forms[1], dtype)
    if step.kind == "unary_einsum":
        return executor._bind_unary_einsum(step, forms[0], dtype)
    if step.kind == "squeeze":
        return executor._bind_squeeze(step, forms[0], dtype)
    if step.kind == "one":
        result = form_of(dtype, (), home)
        kernel = registry.bind("full", (), result, None)
        return (lambda: kernel(_ONE)), result
    form = forms[0]
    if step.kind == "broadcast":
        repeated = len(step.shape) - form.rank  # new axes come first
        result = form_of(form.dtype, step.shape, home, (0,) * repeated + form.strides)
        return registry.bind("broadcast_view", (form,), result, BroadcastParams(step.shape)), result
    result = form_of(form.dtype, step.shape, home)
    return registry.bind("reshape_view", (form,), result, ReshapeParams(step.shape)), result


_ONE: Final = 1


def _converted(kernel: Kernel, form: Form, dtype: DType) -> Binding:
    """The same result in another dtype."""
    convert, result = executor._conversion(form, dtype)
    takes = max(workspace_of(kernel), form.nbytes + workspace_of(convert))
    return with_workspace(lambda *operands: convert(kernel(*operands)), takes), result
