"""``out``, ``alpha`` and ``beta``: alpha times a contraction plus beta times what ``out`` holds, written into it.

Numbers are weak, as everywhere: a result of the operands' dtype stays what it is unless the number's kind is wider.
With a ``beta`` of 0, what ``out`` held is not read, as in BLAS. The sum is made first and written then, so ``out`` may
be an operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tensor_core.errors import ArgumentError, DTypeError, ShapeError, shortened
from tensor_core.foreign import number_of, refuse_masked
from tensor_core.promotion import promote, promote_scalar
from tensor_runtime.algebras import PLUS_TIMES, Semiring
from tensor_runtime.dispatch.conversion import plain_number
from tensor_runtime.dispatch.out import as_target, check_apart, write
from tensor_runtime.dispatch.spec import check_convertible, common_placement
from tensor_runtime.form import Form, form_of
from tensor_runtime.fusion.fuse import fuse
from tensor_runtime.ops.arithmetic import multiply
from tensor_runtime.tensors.tensor import Number, Tensor, TypedTensorViewMut

_SUM: Final = fuse(lambda result, former, beta: result + beta * former)
_WEIGHTED: Final = fuse(lambda result, former, alpha, beta: alpha * result + beta * former)


class Accumulation:
    """What becomes of a contraction's result; everything is checked before the contraction runs.

    Args:
        result: its form.
        algebra: in which it is made.
        operands: of which ``out`` must not share a part.
        out, alpha, beta: as a user gave them; an alpha of True, which no kind of dtype is narrower than, for none.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> out = ones((2,))
    >>> dot = plan("ij,j->i", (2, 3), (3,))
    >>> operands = ones((2, 3)), ones((3,))
    >>> product = dot(*operands)
    >>> Accumulation(product._form, dot.algebra, operands, out, 2.0, 10.0).finish(product).to_numpy().tolist()
    [16.0, 16.0]
    """

    def __init__(
        self, result: Form, algebra: Semiring, operands: Sequence[Tensor], out: Any, alpha: Any, beta: Any
    ) -> None:
        alpha, beta = self.alpha, self.beta = _factor("alpha", alpha), _factor("beta", beta)
        self.out: Tensor | None = out
        self.target: TypedTensorViewMut[Any] | None = None
        if algebra is not PLUS_TIMES and not (alpha == 1 and beta == 0):
            raise ArgumentError(
                f"einsum: alpha is {shortened(alpha)} and beta {shortened(beta)}, in the algebra {algebra.name}; "
                "accepted: both in plus_times alone",
                operation="einsum",
            )
        if out is None:
            if beta != 0:
                raise ArgumentError(
                    f"einsum: beta is {shortened(beta)}, but there is no out to scale; give out=", operation="einsum"
                )
            return
        refuse_masked("out", out)
        target = self.target = as_target(out)
        form = target._form
        if form.shape != result.shape:
            raise ShapeError(
                f"einsum: out has shape {form.shape} and the result {result.shape}; accepted: equal shapes",
                shapes=(form.shape, result.shape),
            )
        if form.placement is not result.placement:
            common_placement("einsum", (form, *[operand._form for operand in operands]))
        dtype = promote_scalar(result.dtype, type(alpha))
        if beta != 0:
            dtype = promote(dtype, promote_scalar(form.dtype, type(beta)))
        if dtype is not form.dtype:
            check_convertible("out", form_of(dtype, form.shape, form.placement), form.dtype)
        check_apart(target, *operands)

    def finish(self, result: Tensor) -> Tensor:
        """The result, scaled; or ``out``, with the sum written into it."""
        alpha, beta, target = self.alpha, self.beta, self.target
        if target is None or beta == 0:
            result = result if _changes_nothing(alpha, result) else multiply(result, alpha)
        elif _changes_nothing(alpha, result):
            result = _SUM(result, target, beta)
        else:
            result = _WEIGHTED(result, target, alpha, beta)
        if target is None or self.out is None:
            return result
        write(target, result, "out")
        return self.out


def _changes_nothing(alpha: Number, result: Tensor) -> bool:
    return alpha == 1 and promote_scalar(result.dtype, type(alpha)) is result.dtype


def _factor(name: str, value: Any) -> Number:
    number = number_of(value)
    if number is None and isinstance(value, Tensor):
        number = number_of(plain_number("einsum", value))
    if number is None:
        raise DTypeError(
            f"einsum: {name} is {shortened(value)} of type {type(value).__name__}; accepted: Python's bool, int, float "
            "and complex",
            operation="einsum",
        )
    return number
