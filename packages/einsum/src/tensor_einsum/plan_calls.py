"""How a plan is called: with tensors that it was made for, and perhaps with options of this one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from tensor_core.errors import ArgumentError, DTypeError
from tensor_einsum.accumulation import Accumulation
from tensor_einsum.errors import ExtentError
from tensor_einsum.executor import OnStep, bind_plan, check_fits, needs_check
from tensor_einsum.progress import reporting
from tensor_einsum.scaling import run_scaled
from tensor_runtime.backends.bindings import Binding, binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.form import Form
from tensor_runtime.tensors.tensor import Tensor, unwrap, wrap

if TYPE_CHECKING:
    from tensor_einsum.plan import Plan

_executables: Final[CacheTable[Binding]] = CacheTable(binding_cache)


def run_plan(plan: Plan, operands: Sequence[Tensor], on_step: OnStep | None) -> Tensor:
    """Contract tensors by a plan made before.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> run_plan(plan("ij,j->i", (2, 3), (3,)), [ones((2, 3)), ones((3,))], print).to_numpy().tolist()
    1 1
    [3.0, 3.0]
    """
    pairs = [unwrap("einsum", operand) for operand in operands]
    forms = [form for form, _ in pairs]
    key = (plan, *forms)
    binding = _executables.get(key)
    if binding is None:
        check_forms(plan, forms)
        binding = _executables.insert(key, bind_plan(plan, forms))
    executable: Any = binding[0]
    if needs_check(executable.needed_bytes, binding[1].placement):
        check_fits(plan, executable.needed_bytes)
    return wrap(binding[1], executable.run([array for _, array in pairs], on_step))


def call_plan(
    plan: Plan,
    operands: Sequence[Tensor],
    /,
    *,
    on_step: OnStep | None = None,
    progress: Any = None,
    out: Any = None,
    alpha: Any = 1,
    beta: Any = 0,
    strip_exponent: Any = False,
) -> Any:
    """Contract tensors by a plan, with any of the options of ``Plan.__call__``.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> call_plan(plan("ij,j->i", (2, 3), (3,)), [ones((2, 3)), ones((3,))], alpha=2.0).to_numpy().tolist()
    [6.0, 6.0]
    """
    check_forms(plan, [unwrap("einsum", operand)[0] for operand in operands])
    strips = flag("einsum", "strip_exponent", strip_exponent)
    if strips and not (out is None and alpha == 1 and beta == 0):
        raise ArgumentError(
            "einsum: strip_exponent=True together with out, alpha or beta; accepted: either, as a mantissa has an "
            "exponent of its own",
            operation="einsum",
        )
    accumulation = Accumulation(plan, operands, out, alpha, beta)
    with reporting("einsum", plan.steps, progress) as report:
        told = _both(on_step, report)
        if strips:
            return run_scaled(plan, operands, told)
        return accumulation.finish(run_plan(plan, operands, told))


def _both(first: OnStep | None, second: OnStep | None) -> OnStep | None:
    if first is None or second is None:
        return first or second

    def on_step(done: int, total: int) -> None:
        first(done, total)
        second(done, total)

    return on_step


def check_forms(plan: Plan, forms: Sequence[Form]) -> None:
    """Refuse operands that the plan was not made for.

    Raises:
        ExtentError: another number of operands, or another shape.
        DTypeError: another dtype.

    >>> from tensor_core import F64
    >>> from tensor_einsum import plan
    >>> from tensor_runtime.form import form_of
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
