"""Which kernel a contraction takes, what it copies, and what the others were estimated to cost."""

from __future__ import annotations

from typing import Any

from tensor_cpu.kernels.contraction.choice import Plan, plan_contraction, plan_numpy
from tensor_cpu.kernels.contraction.loops.broadcast import BroadcastProduct
from tensor_cpu.kernels.contraction.loops.reordered import ReorderedProduct
from tensor_cpu.kernels.contraction.loops.stack import StackProduct
from tensor_cpu.kernels.contraction.loops.turned import TurnedProduct
from tensor_cpu.kernels.contraction.native import PairProduct, ScatterProduct, plan_native
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.backends.shared.axes import join, native, row_major
from tensor_runtime.backends.shared.products import MatrixProduct
from tensor_runtime.form import Form

_IN_WORDS = {
    MatrixProduct: "matrix product by BLAS",
    PairProduct: "native loop over pairs",
    ScatterProduct: "native matrix product that gathers",
    StackProduct: "native products of a stack of small matrices",
    BroadcastProduct: "native product of broadcast operands",
    TurnedProduct: "native products, block by block, of operands in another order than the result",
}


def explain_contract(
    operands: tuple[Any, ...], result: Any, params: Any, /
) -> tuple[str, tuple[str, ...], float | None]:
    """The kernel in words, notes, and the estimate by which it was chosen, in seconds.

    Args:
        operands: forms.
        result: the form of the result.
        params: labels of the operands and of the result.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> a, b, c = form_of(F64, (300, 400), CPU), form_of(F64, (400, 500), CPU), form_of(F64, (300, 500), CPU)
    >>> words, notes, seconds = explain_contract((a, b), c, ((0, 1), (1, 2), (0, 2)))
    >>> words in ("matrix product by BLAS", "native matrix product that gathers")  # whichever is faster here
    True
    >>> all("estimated at" in note for note in notes), 0 < seconds < 1
    (True, True)
    """
    labels_a, labels_b, labels_out = params
    out = row_major(labels_out[::-1], result.shape[::-1], result.dtype.numpy_name)
    notes: list[str] = []
    given = []
    for place, (form, labels, others) in enumerate(
        zip(operands, (labels_a, labels_b), (labels_b, labels_a), strict=True)
    ):
        kept = [label for label in labels if label in others or label in labels_out]
        if len(kept) < len(labels):
            notes.append(f"operand {place} is summed over {len(labels) - len(kept)} axes that nothing else has, first")
            sizes = dict(zip(labels, form.shape, strict=True))
            given.append(row_major(tuple(kept), tuple(sizes[label] for label in kept), out.dtype))
        else:
            given.append(native(form, labels))
    x, y = given
    if 0 in (*x.shape, *y.shape):
        return "zeros: there is nothing to add up", tuple(notes), None
    plan = plan_contraction(x, y, out)
    cost = plan.cost
    if isinstance(plan, ReorderedProduct):
        plan = plan.plan
        notes.append("the product is computed in the order of an operand and then permuted")
    axes = join(x, y, out)
    words = _IN_WORDS.get(type(plan), "sum of products by NumPy")
    notes.append(f"estimated at {_microseconds(cost)}")
    if isinstance(plan, BroadcastProduct):
        for place, one, made in zip((0, 1), plan.given, plan.multiplied, strict=True):
            if one != made:
                notes.append(f"operand {place} is copied first, into the order of the result")
    if isinstance(plan, MatrixProduct):
        for place, copied, form in zip((0, 1), (plan.copies_first, plan.copies_second), operands, strict=True):
            if copied:
                notes.append(
                    f"operand {place} is copied first, {_kib(form)}: its axes are no matrix for BLAS as they lie"
                )
        if plan.permutes_result:
            notes.append("the product is computed in another order of axes and then permuted")
        other: Plan | None = plan_native(axes, x, y, out) if AVAILABLE else None
    else:
        other = plan_numpy(axes, x, y, out)
    if other is not None:
        others = _IN_WORDS.get(type(other), "sum of products by NumPy")
        notes.append(f"{others}: estimated at {_microseconds(other.cost)}")
    return words, tuple(notes), cost * 1e-9


def _microseconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1000:.3g} µs"


def _kib(form: Form) -> str:
    return f"{form.nbytes / 1024:.3g} KiB"
