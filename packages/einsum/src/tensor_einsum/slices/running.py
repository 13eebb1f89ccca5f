"""Running sliced plans here: all slices, or one, or parts that somebody else computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tensor_core.errors import ArgumentError, DTypeError, shortened
from tensor_core.foreign import iterator_of
from tensor_core.shapes import Shape
from tensor_einsum.errors import ExtentError
from tensor_einsum.execution.executor import check_forms
from tensor_einsum.execution.memory import ThreadedKernel, check_fits, needs_check
from tensor_einsum.execution.progress import OnStep, check_function, counted
from tensor_einsum.slices.cutting import Starts, grid
from tensor_einsum.slices.executable import SlicedExecutable
from tensor_einsum.slices.gathering import Gathering
from tensor_runtime.backends.bindings import Binding, binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.backends.meta import META
from tensor_runtime.backends.workspaces import threads_in_force
from tensor_runtime.dispatch.arguments import flag, whole
from tensor_runtime.dispatch.spec import common_placement
from tensor_runtime.errors import ForeignOperandError
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel
from tensor_runtime.tensors.tensor import Tensor, unwrap, wrap

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan
    from tensor_einsum.slices.checkpoint import Checkpoint

_bound: Final[CacheTable[tuple[SlicedExecutable, None]]] = CacheTable(binding_cache)


def bound(plan: Plan, forms: Sequence[Form], force: bool) -> SlicedExecutable:
    """The kernels of a plan for operands of these forms, if they fit into memory, or are to run anyhow.

    Raises:
        ExtentError, DTypeError, PlacementError: operands that the plan was not made for.
        OutOfMemoryError: more than this process may have.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> bound(plan("i->", (3,)).with_slices("i"), [ones((3,))._form], False).count
    3
    """
    key = (plan, threads_in_force.value, *forms)
    binding = _bound.get(key)
    if binding is None:
        binding = _bound.insert(key, (SlicedExecutable(plan, forms), None))
    executable = binding[0]
    if not force and needs_check(executable.needed_bytes, executable.home):
        check_fits(plan, executable.needed_bytes, executable.home)
    return executable


def run_sliced(
    plan: Plan,
    operands: Sequence[Tensor],
    on_step: OnStep | None,
    force: bool,
    checkpoint: Any = None,
    seconds: Any = None,  # with a checkpoint, a number
    finish: Callable[[Tensor], Tensor] = lambda result: result,
) -> Tensor:
    """Contract tensors slice by slice; ``finish`` has what becomes of the result before a checkpoint is removed.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> run_sliced(plan("ij,j->i", (2, 3), (3,)).with_slices("j"), [ones((2, 3)), ones((3,))], None, False).to_numpy()
    array([3., 3.])
    """
    pairs = [unwrap("einsum", operand) for operand in operands]
    executable = bound(plan, [form for form, _ in pairs], force)
    making = Gathering(plan, executable.home)
    arrays = [array for _, array in pairs]
    if checkpoint is None or executable.home is META:
        return finish(wrap(making.form, contract(executable, arrays, making, on_step)))
    from tensor_einsum.slices.checkpoint import Checkpoint

    state = Checkpoint(plan, operands, checkpoint, seconds)
    state.restore(making)
    with state.saved_when_stopped(making):
        array = contract(executable, arrays, making, on_step, state)
        with state.completing():
            result = finish(wrap(making.form, array))
    return result


def bind_sliced(plan: Plan, forms: Sequence[Form]) -> Binding:
    """One callable for a sliced plan, which checks memory at every call, and the form of its result.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> x = ones((3,))
    >>> bind_sliced(plan("i->", (3,)).with_slices("i"), [x._form])[0](x._array).tolist()
    3.0
    """
    threads = threads_in_force.value
    kernel = SlicedKernel(plan, bound(plan, forms, False))
    form = Gathering(plan, kernel.executable.home).form
    return ThreadedKernel(kernel, threads, partial(_bound_again, plan, tuple(forms))), form


def _bound_again(plan: Plan, forms: tuple[Form, ...]) -> Kernel:
    return SlicedKernel(plan, bound(plan, forms, True))


class SlicedKernel:
    """A kernel of a sliced plan, which asks at every call whether the memory may suffice.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> p, x = plan("i->", (3,)).with_slices("i"), ones((3,))
    >>> SlicedKernel(p, bound(p, [x._form], False))(x._array).tolist()
    3.0
    """

    __slots__ = ("executable", "plan")
    in_slices: Final = True  # and its result is of several kernels

    def __init__(self, plan: Plan, executable: SlicedExecutable) -> None:
        self.plan, self.executable = plan, executable

    def __call__(self, *arrays: Any) -> Any:
        """Run all slices on native arrays."""
        plan, executable = self.plan, self.executable
        if needs_check(executable.needed_bytes, executable.home):
            check_fits(plan, executable.needed_bytes, executable.home)
        return contract(executable, arrays, Gathering(plan, executable.home), None)


def contract(
    executable: SlicedExecutable,
    arrays: Sequence[Any],
    making: Gathering,
    on_step: OnStep | None,
    state: Checkpoint | None = None,
) -> Any:
    """Run the slices that are not in the result yet, and give the result's array.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> p, x = plan("i->", (3,)).with_slices("i"), ones((3,))
    >>> contract(bound(p, [x._form], False), [x._array], Gathering(p, x.placement), None).tolist()
    3.0
    """
    count = executable.count
    done = counting(executable, on_step, making.taken)
    if executable.home is META:  # nothing is computed there, however many times
        making.taken = count
        return None
    prepared = executable.prepare(arrays, done) if making.taken < count else []
    put = making.put if state is None else partial(state.put, making)
    for number in range(making.taken, count):
        form, part = executable.run(number, prepared, done)
        put(number, form, part, fresh=True)
        del part  # so that it is not alive beside the next one
    return making.finish()


def counting(
    executable: SlicedExecutable, on_step: OnStep | None, taken: int = 0, slices: int | None = None
) -> Callable[[], object] | None:
    """What is to be called after each step, when some slices are in the result already.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> p, x = plan("i->", (3,)).with_slices("i"), ones((3,))
    >>> counting(bound(p, [x._form], False), print, taken=1)()
    2 3
    """
    if on_step is None:
        return None
    each = executable.slice_steps
    total = executable.shared_steps + each * (executable.count if slices is None else slices)
    return counted(on_step, total, taken * each)


def run_slice(plan: Plan, number: int, operands: Sequence[Tensor], on_step: OnStep | None, force: bool) -> Tensor:
    """The part of the result that one slice gives.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import tensor
    >>> p = plan("i,i->", (3,), (3,)).with_slices("i")
    >>> run_slice(p, 2, [tensor([1, 2, 3], dtype="F64"), tensor([5, 6, 7], dtype="F64")], None, False).item()
    21.0
    """
    number = checked_number(plan, number)
    forces = flag("run_slice", "force", force)
    check_function("run_slice", "on_step", on_step)
    pairs = [unwrap("run_slice", operand) for operand in operands]
    forms = [form for form, _ in pairs]
    check_forms(plan, forms, "run_slice")
    executable = bound(plan, forms, forces)
    done = counting(executable, on_step, slices=1)
    prepared = executable.prepare([array for _, array in pairs], done)
    return wrap(*executable.run(number, prepared, done))


def checked_number(plan: Plan, number: Any) -> int:
    """The number of a slice that a user wrote.

    >>> from tensor_einsum import plan
    >>> checked_number(plan("i->", (3,)), 1)
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: run_slice: found slice 1; accepted: 0 to 0, as the plan has 1
    """
    count, found = prod(grid(plan.sliced, plan.extents)), whole("run_slice", "number", number)
    if not 0 <= found < count:
        raise ArgumentError(
            f"run_slice: found slice {shortened(found)}; accepted: 0 to {count - 1}, as the plan has {count}",
            number=found,
        )
    return found


def part_shape(plan: Plan, number: int) -> Shape:
    """The shape of what a slice gives.

    >>> from tensor_einsum import plan
    >>> part_shape(plan("ij->ij", (3, 5)).with_slices({"i": 1, "j": 2}), 2)
    (1,)
    """
    _, parts = Starts(plan.sliced, plan.extents)(number)
    extents = {label: extent for (label, _), extent in zip(plan.sliced, parts, strict=True)}
    gone = {label for label, part in plan.sliced if part == 1}
    return tuple(extents.get(label, plan.extents[label]) for label in plan.output if label not in gone)


def check_part(operation: str, making: Gathering, number: int, form: Form) -> None:
    """Refuse what is no part of a plan, or lies elsewhere than its result.

    Raises:
        ExtentError, DTypeError, PlacementError: it is none.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> making = Gathering(plan("ij->i", (3, 4)).with_slices("j"), ones(())._form.placement)
    >>> check_part("gather", making, 2, ones((5,))._form)
    Traceback (most recent call last):
    tensor_einsum.errors.ExtentError: gather: part 2 has shape (5,); accepted: (3,)
    """
    plan = making.plan
    expected = part_shape(plan, number)
    if form.shape != expected:
        raise ExtentError(
            f"{operation}: part {number} has shape {form.shape}; accepted: {expected}", shapes=(form.shape,)
        )
    if form.dtype is not plan.output_dtype:
        raise DTypeError(
            f"{operation}: part {number} is {form.dtype.name}; accepted: {plan.output_dtype.name}", operation=operation
        )
    if form.placement is not making.form.placement:
        common_placement(operation, (making.form, form))


def gather(plan: Plan, parts: Iterable[Tensor]) -> Tensor:
    """The result, from the parts of all slices in order; they are taken one at a time, and left as they are.

    Raises:
        ExtentError: too few or too many parts, or one of another shape.
        DTypeError: one of another dtype, or no collection.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> gather(plan("i->i", (3,)).with_slices("i"), [ones(()) for _ in range(3)]).to_numpy()
    array([1., 1., 1.])
    """
    given = iterator_of(parts)
    if given is None:
        raise ForeignOperandError(
            f"gather: parts are {shortened(parts)}; accepted: an iterable of tensors", operation="gather"
        )
    making: Gathering | None = None
    count, number = plan.slices.count, 0
    for part in given:  # enumerate() would keep the former part
        number += 1
        form, array = unwrap("gather", part)
        if number > count:
            break
        making = making or Gathering(plan, form.placement)
        check_part("gather", making, number - 1, form)
        making.put(number - 1, form, array, fresh=False)
        del part, array  # so that it is not alive beside the next one
    if making is None or number != count:
        more = "more than " if number > count else ""
        raise ExtentError(
            f"gather: found {more}{min(number, count)} parts; accepted: {count}, one per slice", shapes=()
        )
    return wrap(making.form, making.finish())
