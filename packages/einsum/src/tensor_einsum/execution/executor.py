"""The executor: binds a plan to the forms of actual operands, and runs it by kernels on the backend's own arrays.

No tensor exists between steps, and an intermediate is dropped as soon as the step that reads it is done. Kernels of
equal steps are shared, within a network and between networks. Where the backend can run all steps as one kernel
(``tensor_runtime.dispatch.sequences``), they are; else, and where somebody wants to be told of each, one by one.

A plan that cannot end for want of memory is refused before its first step. What it needs is its peak, and what the
kernels of its steps say that they take besides (``workspaces`` of the runtime): a backend may have to copy an operand,
such as one that is repeated along an axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tensor_core.dtypes import DType
from tensor_core.errors import DTypeError, OutOfMemoryError, TensorError
from tensor_core.formatting import readable_bytes
from tensor_einsum.errors import ExtentError
from tensor_einsum.execution import semirings
from tensor_einsum.execution.memory import CheckedKernel, ThreadedKernel, needs_check
from tensor_einsum.execution.progress import OnStep
from tensor_einsum.execution.room import UNSEEN, within_room
from tensor_einsum.execution.unary_steps import StepBinder, bind_squeeze, bind_unary_einsum
from tensor_einsum.steps.steps import Step, numbered, peak_bytes
from tensor_runtime.algebras import PLUS_TIMES, Semiring
from tensor_runtime.backends.bindings import Binding, binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.backends.error_translation import translated
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.workspaces import threads_in_force, workspace_of
from tensor_runtime.contracts.contraction import ContractParams
from tensor_runtime.dispatch.sequences import bind_sequence
from tensor_runtime.dispatch.spec import common_placement
from tensor_runtime.form import Form, form_of
from tensor_runtime.ops.contraction import bind_conjugated, conjugated
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import Kernel

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

_INSTRUCTION_BYTES: Final = 400  # with what closures of small kernels hold, and a step of a sequence


class Instruction(NamedTuple):
    """One kernel and the slots it reads; its result goes to the next slot."""

    kernel: Kernel
    first: int
    second: int  # -1 for kernels of one operand


class Executable:
    """A plan bound to forms. Slots hold the operands, then the result of every instruction.

    Args:
        plan: what is executed.
        instructions: one for each step.
        home: where the operands are, so that its backend may run all steps as one kernel; None for one by one.

    >>> from operator import add, mul
    >>> from tensor_einsum import plan
    >>> three = plan(",,", (), (), (), optimize=False)
    >>> Executable(three, (Instruction(add, 0, 1), Instruction(mul, 3, 2)))(1, 2, 5)
    15
    """

    __slots__ = ("_sequence", "follows_threads", "home", "instructions", "needed_bytes", "plan")

    def __init__(self, plan: Plan, instructions: tuple[Instruction, ...], home: Placement | None = None) -> None:
        self.plan = plan
        self.instructions = instructions
        self.home = home
        self._sequence: Kernel | None = None
        self.needed_bytes = plan.intermediate_bytes  # beside the operands
        self.follows_threads = False  # whether kernels take so much that with others set others may be right
        for instruction in instructions:
            if getattr(instruction.kernel, "workspace_bytes", 0):
                workspaces = self.workspaces()
                self.needed_bytes = peak_bytes(plan.steps, len(plan.inputs), workspaces)
                self.follows_threads = max(workspaces) > UNSEEN
                break

    def __sizeof__(self) -> int:
        """Bytes kept alive, kernels included; the plan counts where plans are kept."""
        return sum([getsizeof(instruction.kernel) + _INSTRUCTION_BYTES for instruction in self.instructions])

    def workspaces(self) -> list[int]:
        """What the kernel of each step takes besides, in bytes."""
        return [workspace_of(instruction.kernel) for instruction in self.instructions]

    def __call__(self, *arrays: Any) -> Any:
        """Run on native arrays."""
        return self.run(arrays, None)

    def run(self, arrays: Sequence[Any], on_step: OnStep | None) -> Any:
        """Run every instruction on native arrays; ``on_step(done, total)`` follows each one."""
        sequence = self.sequence() if on_step is None else None
        if sequence is not None:
            return sequence(*arrays)
        slots = list(arrays)
        total = len(self.instructions)
        for done, (kernel, first, second) in enumerate(self.instructions, 1):
            try:
                if second < 0:
                    slots.append(kernel(slots[first]))
                else:
                    slots.append(kernel(slots[first], slots[second]))
                    slots[second] = None
            except Exception as error:
                raise _failure(self.plan, self.needed_bytes, done - 1, error)  # noqa: B904 - it names its cause
            slots[first] = None
            if on_step is not None:
                on_step(done, total)
        return slots[-1]

    def sequence(self) -> Kernel | None:
        """All steps as one kernel, where the backend has one."""
        home = self.home  # read once: another thread may find out meanwhile that there is no such kernel
        if self._sequence is None and home is not None:
            operands, steps = len(self.plan.inputs), self.instructions
            failed = partial(_failure, self.plan, self.needed_bytes)
            self._sequence = bind_sequence(home, operands, steps, operands + len(steps) - 1, failed)
            if self._sequence is None:
                self.home = None  # never ask again
        return self._sequence

    def shortest(self) -> Kernel:
        """The same as one callable: one kernel, if possible, and two nested ones for three operands, if not."""
        if len(self.instructions) == 1:
            kernel, first, second = self.instructions[0]
            if (first, second) in ((0, -1), (0, 1)):
                return kernel
        sequence = self.sequence()
        if sequence is not None:
            return sequence
        if len(self.instructions) == 2 and len(self.plan.inputs) == 3:
            one, two = self.instructions
            nested = _NESTED.get((one.first, one.second))
            if nested and {two.first, two.second} == {3, 3 - one.first - one.second}:
                return nested(one.kernel, two.kernel if two.second == 3 else _swapped(two.kernel))
        return self


def _failure(plan: Plan, needed: int, number: int, error: Exception) -> TensorError:
    """What is raised for what a step raised."""
    if isinstance(error, TensorError):
        return error
    failure: TensorError
    if isinstance(error, MemoryError):
        step = plan.steps[number]
        failure = OutOfMemoryError(
            f"einsum: not enough memory in step {number} of {len(plan.steps)}, {step.subscripts}, whose result "
            f"takes {readable_bytes(step.bytes)}; the plan needs {readable_bytes(needed)} beside its operands",
            operation="einsum",
            step=number,
        )
    else:
        failure = translated("einsum", error)
    failure.__cause__ = error
    return failure


def _swapped(kernel: Kernel) -> Kernel:
    return lambda x, y: kernel(y, x)


_NESTED: Final[dict[tuple[int, int], Callable[[Kernel, Kernel], Kernel]]] = {
    (0, 1): lambda one, two: lambda x, y, z: two(z, one(x, y)),
    (0, 2): lambda one, two: lambda x, y, z: two(y, one(x, z)),
    (1, 2): lambda one, two: lambda x, y, z: two(x, one(y, z)),
}
"""Three operands, by the pair that is contracted first; each has a line of its own, as a list of slots costs more
than the look-up."""


def bind_call(plan: Plan, forms: Sequence[Form], /) -> Binding:
    """One callable for all of a plan, behind a check where memory may not suffice, and the form of its result.

    Where kernels may take much besides it binds anew as soon as other threads are set than now, on which that depends.

    Raises:
        PlacementError, UnsupportedOperationError: as for :func:`bind_plan`.

    >>> from tensor_core import F64
    >>> from tensor_einsum import plan
    >>> from tensor_runtime.placement import CPU
    >>> kernel, result = bind_call(plan("ij,j->i", (2, 3), (3,)), [form_of(F64, (2, 3), CPU), form_of(F64, (3,), CPU)])
    >>> result
    Form(F64, (2,), cpu)
    """
    threads = threads_in_force.value
    executable, result = bind_plan(plan, forms)
    kernel, needed = executable.shortest(), executable.needed_bytes
    if needs_check(needed, result.placement):
        kernel = CheckedKernel(kernel, plan, needed, result.placement)
    if executable.follows_threads:
        kernel = ThreadedKernel(kernel, threads, partial(_bind_again, plan, tuple(forms)))
    return kernel, result


def _bind_again(plan: Plan, forms: tuple[Form, ...]) -> Kernel:
    key = plan, threads_in_force.value, *forms
    known = _calls.get(key)
    return (_calls.insert(key, bind_call(plan, forms)) if known is None else known)[0]


def bind_plan(plan: Plan, forms: Sequence[Form]) -> tuple[Executable, Form]:
    """Bind every step of a plan to the forms of its operands.

    Raises:
        PlacementError: operands in different places; every one is listed.
        UnsupportedOperationError: the backend lacks a kernel.

    >>> from tensor_core import F64
    >>> from tensor_einsum import plan
    >>> from tensor_runtime.placement import CPU
    >>> found = plan("ij,j->i", (2, 3), (3,))
    >>> bind_plan(found, [form_of(F64, (2, 3), CPU), form_of(F64, (3,), CPU)])[1]
    Form(F64, (2,), cpu)
    """
    check_placement(forms)
    executable, slots = bind_in_room(plan, forms)
    return executable, slots[-1]


def bind_in_room(plan: Plan, forms: Sequence[Form]) -> tuple[Executable, list[Form]]:
    """The same with the forms of every slot, for operands in one place: copies have the room that the plan gives them.

    >>> from tensor_core import F64
    >>> from tensor_einsum import plan
    >>> from tensor_runtime.placement import CPU
    >>> bind_in_room(plan("i->", (2,)), [form_of(F64, (2,), CPU)])[1]
    [Form(F64, (2,), cpu), Form(F64, (), cpu)]
    """
    instructions, slots = bind_steps(plan.steps, forms, plan.output_dtype, plan.algebra)
    executable = Executable(plan, instructions, slots[-1].placement)
    if executable.needed_bytes > plan.intermediate_bytes:
        instead = within_room(plan, [instruction.kernel for instruction in instructions], slots)
        if instead:
            chosen = [one._replace(kernel=instead.get(number, one.kernel)) for number, one in enumerate(instructions)]
            executable = Executable(plan, tuple(chosen), slots[-1].placement)
            executable.follows_threads = True
    return executable, slots


def check_placement(forms: Sequence[Form]) -> None:
    """Refuse operands in different places, with an error that lists them all.

    >>> from tensor_core import F64
    >>> from tensor_runtime.placement import CPU
    >>> check_placement([form_of(F64, (2,), CPU)])
    """
    home = forms[0].placement
    for form in forms:
        if form.placement is not home:
            common_placement("einsum", forms)  # which tells of all


def bind_steps(
    steps: Sequence[Step], forms: Sequence[Form], dtype: DType, algebra: Semiring
) -> tuple[tuple[Instruction, ...], list[Form]]:
    """The kernel of every step; then the forms of the operands and of every step's result.

    Args:
        steps: of a plan.
        forms: of the operands.
        dtype: of the result.
        algebra: in which sums and products are taken.

    >>> from tensor_core import F64
    >>> from tensor_einsum import plan
    >>> from tensor_runtime.placement import CPU
    >>> bind_steps(plan("i->", (2,)).steps, [form_of(F64, (2,), CPU)], F64, PLUS_TIMES)[1]
    [Form(F64, (2,), cpu), Form(F64, (), cpu)]
    """
    binders = BINDERS if algebra is PLUS_TIMES else {**BINDERS, **semirings.binders_in(algebra)}
    slots = list(forms)
    instructions = []
    for step in steps:
        first, second = step.operands if len(step.operands) == 2 else (step.operands[0], -1)
        read = (slots[first],) if second < 0 else (slots[first], slots[second])
        kernel, result = binders[step.kind](step, read, dtype)
        instructions.append(Instruction(kernel, first, second))
        slots.append(result)
    for form in forms:
        if 0 in form.shape:
            if _sums_nothing(steps, forms):
                instructions[-1] = instructions[-1]._replace(kernel=bind_zeros(slots[-1], algebra))
            break
    return tuple(instructions), slots


def _sums_nothing(steps: Sequence[Step], forms: Sequence[Form]) -> bool:
    """Whether a label of extent 0 is summed: then the result is zeros, also where other factors are infinite."""
    empty: set[int] = set()
    for step in steps:
        for slot, term in zip(step.operands, step.inputs, strict=True):
            if slot < len(forms):
                empty |= {label for label, extent in zip(term, forms[slot].shape, strict=True) if extent == 0}
    return not empty.issubset(steps[-1].output)


def bind_zeros(form: Form, algebra: Semiring) -> Kernel:
    """A kernel that gives the sum of no terms, whatever it reads.

    >>> from tensor_core import F64
    >>> from tensor_runtime.placement import CPU
    >>> bind_zeros(form_of(F64, (2,), CPU), PLUS_TIMES)("read", "by nobody").tolist()
    [0.0, 0.0]
    """
    kernel, zero = registry.bind("full", (), form, None), algebra.zero_of(form.dtype)
    return lambda *operands: kernel(zero)


def _bind_product(step: Step, forms: Sequence[Form], dtype: DType) -> Binding:
    a, b = forms
    labels = numbered((*step.inputs, step.output))
    key = step.kind, a, b, dtype, labels, threads_in_force.value
    known = _products.get(key)
    if known is not None:
        return known
    result, params = form_of(dtype, step.shape, a.placement), ContractParams(*labels)
    if step.kind == "conj_contract":
        kernel = bind_conjugated(a, b, result, params)
    else:
        kernel = registry.bind("contract", (a, b), result, params)
    return _products.insert(key, (kernel, result))


def _bind_conj(step: Step, forms: Sequence[Form], dtype: DType) -> Binding:
    return conjugated(forms[0])


BINDERS: Final[Mapping[str, StepBinder]] = {
    "contract": _bind_product,
    "unary_einsum": bind_unary_einsum,
    "squeeze": bind_squeeze,
    "conj_contract": _bind_product,
    "conj": _bind_conj,
}
"""By kinds of steps."""


_products: Final[CacheTable[Binding]] = CacheTable(binding_cache)
_calls: Final[CacheTable[Binding]] = CacheTable(binding_cache)
"""What is called with other threads set than at first."""


def check_forms(plan: Plan, forms: Sequence[Form], operation: str = "einsum") -> None:
    """Refuse operands that the plan was not made for; ``operation`` is the name for messages.

    Raises:
        ExtentError: another number of operands, or another shape.
        DTypeError: another dtype.

    >>> from tensor_core import F64
    >>> from tensor_einsum import plan
    >>> from tensor_runtime.placement import CPU
    >>> check_forms(plan("i->", (3,)), [form_of(F64, (2,), CPU)])
    Traceback (most recent call last):
    tensor_einsum.errors.ExtentError: einsum: operands have shapes (2,); this plan was made for (3,); plan again
    """
    found = tuple(form.shape for form in forms)
    if found != plan.shapes:
        listed = ", ".join(map(str, found)) or "none"
        raise ExtentError(
            f"{operation}: operands have shapes {listed}; this plan was made for {', '.join(map(str, plan.shapes))}; "
            "plan again",
            operands=tuple(range(len(found))),
            shapes=found,
        )
    dtypes = tuple(form.dtype for form in forms)
    if dtypes != plan.dtypes:
        raise DTypeError(
            f"{operation}: operands are {', '.join(dtype.name for dtype in dtypes)}; this plan was made for "
            f"{', '.join(dtype.name for dtype in plan.dtypes)}; give dtype= to plan()",
            operation=operation,
        )
