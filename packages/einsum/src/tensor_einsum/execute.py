"""Execution: a plan bound to the forms of actual operands becomes nested kernels on the backend's own arrays.

No tensor exists between steps, and an intermediate is dropped as soon as the step that reads it is done. Kernels of
equal steps are shared, within a network and between networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import DType
from tensor_core.errors import DTypeError, OutOfMemoryError, TensorError
from tensor_core.formatting import readable_bytes
from tensor_einsum.errors import ExtentError
from tensor_einsum.extents import Labels
from tensor_einsum.fitting import check_fits, needs_check
from tensor_einsum.planned import Planned
from tensor_einsum.steps import Step, peak_bytes
from tensor_runtime.backends.bindings import Binding, BindingTable
from tensor_runtime.backends.error_translation import translated
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.workspaces import with_workspace, workspace_of
from tensor_runtime.dispatch.spec import common_placement
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel
from tensor_runtime.tensors.tensor import Tensor, unwrap, wrap

OnStep = Callable[[int, int], object]


class Instruction(NamedTuple):
    """One kernel and the slots it reads; its result goes to the next slot."""

    kernel: Kernel
    first: int
    second: int  # -1 for kernels of one operand


class Program:
    """A plan bound to forms. Slots hold the operands, then the result of every instruction.

    >>> from operator import add, mul
    >>> from tensor_einsum import plan
    >>> three = plan(",,", (), (), (), optimize=False)
    >>> Program(three, (Instruction(add, 0, 1), Instruction(mul, 3, 2)))(1, 2, 5)
    15
    """

    __slots__ = ("instructions", "needed_bytes", "plan")

    def __init__(self, plan: Planned, instructions: tuple[Instruction, ...]) -> None:
        self.plan = plan
        self.instructions = instructions
        workspaces = [workspace_of(instruction.kernel) for instruction in instructions]
        self.needed_bytes = (
            peak_bytes(plan.steps, len(plan.inputs), workspaces) if any(workspaces) else plan.peak_bytes
        )  # beside the operands

    def __call__(self, *arrays: Any) -> Any:
        """Run on native arrays."""
        return self.run(arrays, None)

    def run(self, arrays: Sequence[Any], on_step: OnStep | None) -> Any:
        """Run every instruction on native arrays; ``on_step(done, total)`` follows each one."""
        slots = list(arrays)
        total = len(self.instructions)
        for done, (kernel, first, second) in enumerate(self.instructions, 1):
            try:
                if second < 0:
                    slots.append(kernel(slots[first]))
                else:
                    slots.append(kernel(slots[first], slots[second]))
                    slots[second] = None
            except TensorError:
                raise
            except Exception as error:
                raise self._failure(done - 1, error) from error
            slots[first] = None
            if on_step is not None:
                on_step(done, total)
        return slots[-1]

    def _failure(self, number: int, error: Exception) -> TensorError:
        if not isinstance(error, MemoryError):
            return translated("einsum", error)
        step = self.plan.steps[number]
        return OutOfMemoryError(
            f"einsum: not enough memory in step {number} of {len(self.plan.steps)}, {step.subscripts}, whose result "
            "takes "
            f"{readable_bytes(step.bytes)}; the plan needs {readable_bytes(self.needed_bytes)} beside its operands",
            operation="einsum",
            step=number,
        )

    def shortest(self) -> Kernel:
        """The same as one callable: the kernel itself for one step, two nested kernels for three operands."""
        if len(self.instructions) == 1:
            kernel, first, second = self.instructions[0]
            if (first, second) in ((0, -1), (0, 1)):
                return kernel
        if len(self.instructions) == 2 and len(self.plan.inputs) == 3:
            one, two = self.instructions
            nested = _NESTED.get((one.first, one.second))
            if nested and {two.first, two.second} == {3, 3 - one.first - one.second}:
                return nested(one.kernel, two.kernel if two.second == 3 else _swapped(two.kernel))
        return self


def _swapped(kernel: Kernel) -> Kernel:
    return lambda x, y: kernel(y, x)


_NESTED: Final[dict[tuple[int, int], Callable[[Kernel, Kernel], Kernel]]] = {
    (0, 1): lambda one, two: lambda x, y, z: two(z, one(x, y)),
    (0, 2): lambda one, two: lambda x, y, z: two(y, one(x, z)),
    (1, 2): lambda one, two: lambda x, y, z: two(x, one(y, z)),
}
"""Three operands, by the pair that is contracted first; each has a line of its own, as a list of slots costs more
than the look-up."""


def bind_plan(plan: Planned, forms: Sequence[Form]) -> tuple[Program, Form]:
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
    common_placement("einsum", forms)
    slots = list(forms)
    instructions = []
    for step in plan.steps:
        kernel, result = _bind_step(step, [slots[slot] for slot in step.operands], plan.output_dtype)
        first, second = step.operands if len(step.operands) == 2 else (step.operands[0], -1)
        instructions.append(Instruction(kernel, first, second))
        slots.append(result)
    return Program(plan, tuple(instructions)), slots[-1]


def _bind_step(step: Step, forms: Sequence[Form], dtype: DType) -> Binding:
    if step.kind == "squeeze":
        kept = _kept_axes(step)
        return _squeezes[forms[0], kept]
    if step.kind == "contract":
        return _contractions[forms[0], forms[1], dtype, _numbered(*step.inputs, step.output)]
    form = forms[0]
    sums = len({*step.inputs[0]}) > len({*step.output})
    if form.dtype is dtype or not sums:
        return _unary_einsums[form, _numbered(*step.inputs, step.output)]
    # Sums of Bool and of narrow ints belong to the dtype of the whole contraction, or the result would show the path.
    convert, converted = _conversions[form, dtype]
    unary_einsum, result = _unary_einsums[converted, _numbered(*step.inputs, step.output)]
    takes = converted.size * dtype.itemsize + workspace_of(unary_einsum)
    return with_workspace(lambda x: unary_einsum(convert(x)), takes), result


def _numbered(*terms: Labels) -> tuple[Labels, ...]:
    """Labels renumbered by first occurrence, so that equal steps share a kernel.

    >>> _numbered((7, 3), (3, 9), (7, 9))
    ((0, 1), (1, 2), (0, 2))
    """
    numbers: dict[int, int] = {}
    return tuple([tuple([numbers.setdefault(label, len(numbers)) for label in term]) for term in terms])


def _kept_axes(step: Step) -> tuple[int, ...]:
    """Axes of a squeeze step that stay: its output is a subsequence of its input, by whole labels."""
    kept = set(step.output)
    return tuple(axis for axis, label in enumerate(step.inputs[0]) if label in kept)


def _build_contraction(key: tuple[Form, Form, DType, tuple[Labels, Labels, Labels]]) -> Binding:
    a, b, dtype, labels = key
    extents = dict(zip((*labels[0], *labels[1]), (*a.shape, *b.shape), strict=True))
    result = form_of(dtype, tuple(extents[label] for label in labels[2]), a.placement)
    return registry.bind("contract", (a, b), result, labels), result


def _build_unary_einsum(key: tuple[Form, tuple[Labels, Labels]]) -> Binding:
    form, labels = key
    extents = dict(zip(labels[0], form.shape, strict=True))
    result = form_of(form.dtype, tuple(extents[label] for label in labels[1]), form.placement)
    return registry.bind("unary_einsum", (form,), result, labels), result


def _build_squeeze(key: tuple[Form, tuple[int, ...]]) -> Binding:
    form, kept = key
    shape, strides = (tuple(values[axis] for axis in kept) for values in (form.shape, form.strides))
    view = form_of(form.dtype, shape, form.placement, strides)
    return registry.bind("reshape_view", (form,), view, shape), view


def _build_conversion(key: tuple[Form, DType]) -> Binding:
    form, dtype = key
    result = form_of(dtype, form.shape, form.placement)
    return registry.bind("convert", (form,), result, "error"), result


_contractions: Final = BindingTable(_build_contraction)
_unary_einsums: Final = BindingTable(_build_unary_einsum)
_squeezes: Final = BindingTable(_build_squeeze)
_conversions: Final = BindingTable(_build_conversion)


def _build_program(key: tuple[Any, ...]) -> Binding:
    plan, *forms = key
    check_forms(plan, forms)
    return bind_plan(plan, forms)


_programs: Final = BindingTable(_build_program)


def run_plan(plan: Planned, operands: Sequence[Tensor], on_step: OnStep | None) -> Tensor:
    """Contract tensors by a plan made before.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> run_plan(plan("ij,j->i", (2, 3), (3,)), [ones((2, 3)), ones((3,))], print).to_numpy().tolist()
    1 1
    [3.0, 3.0]
    """
    pairs = [unwrap("einsum", operand) for operand in operands]
    program: Any
    program, form = _programs[(plan, *[form for form, _ in pairs])]
    if needs_check(program.needed_bytes, form.placement):
        check_fits(plan, program.needed_bytes)
    return wrap(form, program.run([array for _, array in pairs], on_step))


def check_forms(plan: Planned, forms: Sequence[Form]) -> None:
    """Refuse operands that the plan was not made for.

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
            f"einsum: operands have shapes {listed}; this plan was made for {', '.join(map(str, plan.shapes))}; "
            "plan again",
            operands=tuple(range(len(found))),
            shapes=found,
        )
    dtypes = tuple(form.dtype for form in forms)
    if dtypes != plan.dtypes:
        raise DTypeError(
            f"einsum: operands are {', '.join(dtype.name for dtype in dtypes)}; this plan was made for "
            f"{', '.join(dtype.name for dtype in plan.dtypes)}; give dtype= to plan()",
            operation="einsum",
        )
