"""Slices whose parts may lie outside the range of their dtype: each has an exponent of its own.

A part and the sum so far are brought to the larger of their exponents before they are added, by powers of two; zeros
have none. What is lost is what ``tensor_einsum.execution.scaling`` says, of the larger of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from tensor_einsum.execution.memory import check_fits, needs_check
from tensor_einsum.execution.progress import OnStep
from tensor_einsum.execution.scaling import (
    Scale,
    check_scalable,
    copied_bytes,
    in_place,
    largest_magnitude,
    normalised,
    range_of,
    scaled_kernel,
    shifted,
)
from tensor_einsum.slices.checkpoint import Checkpoint
from tensor_einsum.slices.executable import SlicedExecutable
from tensor_einsum.slices.gathering import Gathering
from tensor_einsum.slices.running import counting
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel
from tensor_runtime.tensors.tensor import Tensor, unwrap, wrap

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan


def run_scaled_slices(
    plan: Plan,
    operands: Sequence[Tensor],
    on_step: OnStep | None,
    force: bool,
    checkpoint: Any = None,
    seconds: Any = None,  # with a checkpoint, a number
) -> tuple[Tensor, float]:
    """Mantissa and exponent of a sliced contraction, as ``tensor_einsum.execution.scaling.normalised`` gives them.

    Raises:
        DTypeError, ArgumentError: as for ``tensor_einsum.execution.scaling.check_scalable``.
        OutOfMemoryError: the plan does not fit, with the copies of operands that are out of range.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import tensor
    >>> x = tensor([1e200, 1e200])
    >>> mantissa, exponent = run_scaled_slices(plan("i,i->", (2,), (2,)).with_slices("i"), [x, x], None, False)
    >>> mantissa.item(), round(exponent, 6)
    (1.0, 400.30103)
    """
    check_scalable(plan)
    scale = Scale()
    inexact = ("float", "complex")
    near = [scale.brought_near(x) if x.dtype.kind in inexact else x for x in operands]

    def around(kernel: Kernel, form: Form) -> Kernel:
        return scaled_kernel(kernel, form, range_of(form), scale) if form.dtype.kind in inexact else kernel

    pairs = [unwrap("einsum", x) for x in near]
    executable = SlicedExecutable(plan, [form for form, _ in pairs], around)
    needed = executable.needed_bytes + copied_bytes(operands, near)
    if not force and needs_check(needed, executable.home):
        check_fits(plan, needed, executable.home)
    making = Gathering(plan, executable.home)
    state = None if checkpoint is None else Checkpoint(plan, operands, checkpoint, seconds, scaled=True)
    if state is not None:
        state.restore(making)
    done = counting(executable, on_step, making.taken)
    prepared = executable.prepare([array for _, array in pairs], done) if making.taken < executable.count else []
    shared = scale.exponent  # of what all slices share
    with nullcontext() if state is None else state.saved_when_stopped(making):
        for number in range(making.taken, executable.count):
            scale.exponent = shared
            part: Any = wrap(*executable.run(number, prepared, done))
            with nullcontext() if state is None else state.taking(making):
                _take(making, number, part, scale.exponent)
            del part  # so that it is not alive beside the next one
        scale.exponent = making.exponent or 0
        with nullcontext() if state is None else state.completing():
            result = normalised(wrap(making.form, making.finish()), scale)
    return result


def _take(making: Gathering, number: int, part: Tensor, exponent: int) -> None:
    """Put a part into the sum, both brought to the larger exponent."""
    if largest_magnitude(part) != 0.0:  # the exponent of zeros means nothing

        def is_zero() -> bool:
            return largest_magnitude(wrap(making.form, making.array)) == 0.0

        of_sum, of_part, common = together(making.exponent, is_zero, exponent)
        if of_sum:
            making.array = rescaled(wrap(making.form, making.array), of_sum)._array
        if of_part:
            part = rescaled(part, of_part)
        making.exponent = common
    making.put(number, part._form, part._array, fresh=True)


def together(exponent: int | None, is_zero: Callable[[], bool], other: int) -> tuple[int, int, int]:
    """By which powers of two a sum so far and a part have to be multiplied before they are added.

    Args:
        exponent: of the sum; None where nothing but zeros is in it.
        is_zero: whether nothing but zeros is in it after all.
        other: the exponent of the part, which is not zero.

    Returns:
        The exponent for the sum, that for the part, both 0 or less, and that of what they give.

    >>> together(3, lambda: False, -2), together(None, lambda: True, -2), together(3, lambda: False, 5)
    ((0, -5, 3), (0, 0, -2), (-2, 0, 5))
    """
    common = other if exponent is None else exponent
    if other < common and is_zero():
        common = other
    return min(common - other, 0), min(other - common, 0), max(other, common)


def rescaled(x: Tensor, exponent: int) -> Tensor:
    """A tensor that belongs to nobody else multiplied by a power of two, where it lies if it is large.

    >>> from tensor_runtime import tensor
    >>> rescaled(tensor([3.0]), -1).item()
    1.5
    """
    return in_place(x, lambda piece: shifted(piece, exponent))
