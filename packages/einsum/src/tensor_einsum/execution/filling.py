"""``out`` that gets a contraction's result without one on the way, and so in a fraction of the time of a small one.

An ``out`` of just the result's form, which shares nothing with the operands, is written by the last kernel itself where
that can; and a small result is added to it by one more. Nothing is refused here: everything else, mistakes included, is
left to ``accumulation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tensor_core.dtypes import Bool
from tensor_core.promotion import promote_scalar
from tensor_einsum.execution.accumulation import changes_nothing
from tensor_einsum.execution.memory import CheckedKernel, ThreadedKernel
from tensor_runtime.algebras import PLUS_TIMES, Semiring
from tensor_runtime.backends.bindings import Binding
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.meta import kernels_called, note_output
from tensor_runtime.dispatch import call
from tensor_runtime.dispatch.out import as_target, serves_in_pieces
from tensor_runtime.form import Form
from tensor_runtime.ops.arithmetic import add
from tensor_runtime.placement import is_stand_in
from tensor_runtime.tensors.tensor import Tensor, wrap

_KINDS: Final = (int, float, complex, bool)


def fill(
    binding: Binding,
    operands: Sequence[Tensor],
    out: Any,
    alpha: Any = True,
    beta: Any = 0,
    algebra: Semiring = PLUS_TIMES,
) -> bool:
    """Whether ``out`` has the result of a contraction already, so that there is nothing left to do.

    >>> from tensor_einsum.execution.executor import bind_call
    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones, zeros
    >>> operands, out = (ones((2, 3)), ones((3,))), zeros((2,))
    >>> binding = bind_call(plan("ij,j->i", *operands), [operand._form for operand in operands])
    >>> fill(binding, operands, out, 2.0)
    False
    >>> filled = fill(binding, operands, out)  # by a kernel in C, where there is one
    >>> out.tolist() == ([3.0, 3.0] if filled else [0.0, 0.0])
    True
    """
    _, form = binding
    if getattr(out, "_form", None) is not form or form is None or type(beta) not in _KINDS:
        return False
    if alpha is not True and not (type(alpha) in _KINDS and changes_nothing(alpha, form)):
        return False
    if beta == 0:
        return _written(binding, operands, out)
    return beta == 1 and algebra is PLUS_TIMES and _may_be_added(form, beta) and _added(binding, operands, out)


def _written(binding: Binding, operands: Sequence[Tensor], out: Tensor) -> bool:
    """Whether the kernel wrote its result there; without elements, what it may spare is noted."""
    kernel, form = binding
    if is_stand_in(form.placement):
        if getattr(kernel, "in_slices", False) or not _stands_apart(out, operands):
            return False
        _ = _result(binding, operands)
        note_output(form)
        return True
    if isinstance(kernel, ThreadedKernel):
        kernel = kernel.current()
        binding = kernel, form
    if isinstance(kernel, CheckedKernel):
        kernel.check()
        binding = kernel.kernel, form
    there: bool = call_translated("einsum", form, call.bound_into, binding, out, operands)
    return there


def _added(binding: Binding, operands: Sequence[Tensor], out: Tensor) -> bool:
    """Whether the result was added to what is there."""
    stands_in = is_stand_in(binding[1].placement)
    if not (_stands_apart(out, operands) if stands_in else call.is_free(out, operands)):
        return False
    add(_result(binding, operands), out, out=out)
    return True


def _may_be_added(form: Form, beta: Any) -> bool:
    """Whether one kernel adds a result to what has its form, and nothing has to be converted."""
    same = promote_scalar(form.dtype, type(beta)) is form.dtype
    return same and form.dtype is not Bool and not serves_in_pieces(form)


def _stands_apart(out: Tensor, operands: Sequence[Tensor]) -> bool:
    """Whether what stands for an output is no operand; refused, as anywhere, where it may not be written."""
    with kernels_called():  # that it can be written is no step of the call
        as_target("einsum", out)
    return not any(one is out for one in operands)


def _result(binding: Binding, operands: Sequence[Tensor]) -> Tensor:
    kernel, form = binding
    return wrap(form, call_translated("einsum", form, kernel, *[operand._array for operand in operands]))
