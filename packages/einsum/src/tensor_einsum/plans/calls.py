"""How a plan is called: with tensors that it was made for, and perhaps with options of this one call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from tensor_core.errors import ArgumentError
from tensor_einsum.execution.accumulation import Accumulation, read_factor
from tensor_einsum.execution.executor import bind_call, bind_plan, check_forms
from tensor_einsum.execution.filling import fill
from tensor_einsum.execution.memory import check_fits, needs_check
from tensor_einsum.execution.progress import OnStep, check_function, reporting
from tensor_einsum.execution.scaling import run_scaled
from tensor_runtime.backends.bindings import Binding, binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.workspaces import threads_in_force
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.form import Form, form_of
from tensor_runtime.tensors.tensor import Tensor, unwrap, wrap

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

_MINUTE: Final = 60.0
plan_calls: Final[CacheTable[Binding]] = CacheTable(binding_cache)
"""Kernels of calls without options, by (plan, *forms of the operands)."""
_executables: Final[CacheTable[Binding]] = CacheTable(binding_cache)


def run_plan(plan: Plan, operands: Sequence[Tensor], on_step: OnStep | None, force: bool = False) -> Tensor:
    """Contract tensors by a plan made before.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> run_plan(plan("ij,j->i", (2, 3), (3,)), [ones((2, 3)), ones((3,))], print).to_numpy().tolist()
    1 1
    [3.0, 3.0]
    """
    pairs = [unwrap("einsum", operand) for operand in operands]
    forms = [form for form, _ in pairs]
    if on_step is None and not force:
        kernel, form = _bound(plan, forms)
        return wrap(form, call_translated("einsum", form, kernel, *[array for _, array in pairs]))
    if plan.sliced:
        from tensor_einsum.slices.running import run_sliced

        return run_sliced(plan, operands, on_step, force)
    key = (plan, threads_in_force.value, *forms)
    binding = _executables.get(key)
    if binding is None:
        check_forms(plan, forms)
        binding = _executables.insert(key, bind_plan(plan, forms))
    executable: Any = binding[0]
    if not force and needs_check(executable.needed_bytes, binding[1].placement):
        check_fits(plan, executable.needed_bytes, binding[1].placement)
    return wrap(binding[1], executable.run([array for _, array in pairs], on_step))


def _bound(plan: Plan, forms: Sequence[Form]) -> Binding:
    """The kernel of calls without options."""
    key = (plan, *forms)
    binding = plan_calls.get(key)
    if binding is not None:
        return binding
    check_forms(plan, forms)
    return plan_calls.insert(key, bind_any(plan, forms))


def bind_any(plan: Plan, forms: Sequence[Form]) -> Binding:
    """The kernel of a plan, in slices or not, and the form of its result.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> x = ones((3,))
    >>> bind_any(plan("i->", x).with_slices("i"), [x._form])[0](x._array).tolist()
    3.0
    """
    if plan.sliced:
        from tensor_einsum.slices.running import bind_sliced

        return bind_sliced(plan, forms)
    return bind_call(plan, forms)


def check_known(names: Collection[str]) -> None:
    """Refuse keywords that a plan's call has not.

    >>> check_known(["out", "optimize"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: Plan.__call__() got an unexpected keyword argument 'optimize'; accepted: alpha, beta, ...
    """
    known: dict[str, object] = call_plan.__kwdefaults__ or {}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise TypeError(
            f"Plan.__call__() got an unexpected keyword argument {unknown[0]!r}; accepted: {', '.join(sorted(known))}"
        )


def call_plan(
    plan: Plan,
    operands: Sequence[Tensor],
    /,
    *,
    on_step: OnStep | None = None,
    progress: Any = None,
    out: Any = None,
    alpha: Any = True,
    beta: Any = 0,
    strip_exponent: Any = False,
    force: Any = False,
    checkpoint: Any = None,
    checkpoint_seconds: Any = _MINUTE,
) -> Any:
    """Contract tensors by a plan, with any of the options of ``Plan.__call__``.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> call_plan(plan("ij,j->i", (2, 3), (3,)), [ones((2, 3)), ones((3,))], alpha=2.0).to_numpy().tolist()
    [6.0, 6.0]
    """
    forms = [unwrap("einsum", operand)[0] for operand in operands]
    plain = on_step is None and progress is None and strip_exponent is False and force is False and checkpoint is None
    if out is not None and plain and checkpoint_seconds is _MINUTE:
        binding = _bound(plan, forms)
        if fill(binding, operands, out, alpha, beta, plan.algebra):
            return out
    check_forms(plan, forms)
    strips = flag("einsum", "strip_exponent", strip_exponent)
    alpha, beta = read_factor("alpha", alpha), read_factor("beta", beta)
    if strips and not (out is None and alpha == 1 and beta == 0):
        raise ArgumentError(
            "einsum: strip_exponent=True together with out, alpha or beta; accepted: either, as a mantissa has an "
            "exponent of its own",
            operation="einsum",
        )
    forces = flag("einsum", "force", force)
    check_function("einsum", "on_step", on_step)
    if checkpoint is not None or checkpoint_seconds is not _MINUTE:
        from tensor_einsum.slices.checkpoint import check_saving

        check_saving("einsum", checkpoint, checkpoint_seconds)
    result = form_of(plan.output_dtype, plan.output_shape, operands[0].placement)
    accumulation = Accumulation(result, plan.algebra, operands, out, alpha, beta, forces)
    rounds = [(plan.steps, 1)]
    if plan.sliced:
        from tensor_einsum.slices.cutting import parted_steps

        once, repeated = parted_steps(plan)
        rounds = [(once, 1), (repeated, plan.slices.count)]
    with reporting("einsum", rounds, progress) as report:
        told = _both(on_step, report)
        if strips and plan.sliced:
            from tensor_einsum.slices.scaled import run_scaled_slices

            return run_scaled_slices(plan, operands, told, forces, checkpoint, checkpoint_seconds)
        if strips:
            return run_scaled(plan, operands, told, forces)
        if checkpoint is not None and plan.sliced:
            from tensor_einsum.slices.running import run_sliced

            return run_sliced(plan, operands, told, forces, checkpoint, checkpoint_seconds, accumulation.finish)
        return accumulation.finish(run_plan(plan, operands, told, forces))


def _both(first: OnStep | None, second: OnStep | None) -> OnStep | None:
    if first is None or second is None:
        return first or second

    def on_step(done: int, total: int) -> None:
        first(done, total)
        second(done, total)

    return on_step
