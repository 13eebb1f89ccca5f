"""``out``, ``alpha`` and ``beta``: alpha times a contraction plus beta times what ``out`` holds, written into it.

Numbers are weak, as everywhere: a result of the operands' dtype stays what it is unless the number's kind is wider.
With a ``beta`` of 0, what ``out`` held is not read, as in BLAS. Here the contraction is made first and written then, so
``out`` may be an operand; ``filling`` has what is simpler.

No second large result is made, so that a limit on memory which the contraction keeps is kept: a large result is scaled
in place, and what goes to a large ``out`` goes there piece by piece. Only where the kind of ``alpha`` makes the dtype
wider, and there is no ``out``, a second tensor is needed; that is refused at the outset where there is no room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final

from tensor_core.dtypes import INTEGER, DType
from tensor_core.errors import (
    ArgumentError,
    CastRangeError,
    DTypeError,
    LossyConversionError,
    OutOfMemoryError,
    ShapeError,
    shortened,
)
from tensor_core.foreign import refuse_masked
from tensor_core.formatting import readable_bytes
from tensor_core.interrupts import InterruptsHeld
from tensor_core.promotion import can_convert, promote_scalar
from tensor_einsum.errors import MemoryLimitError
from tensor_einsum.execution.memory import lacking, needs_check
from tensor_runtime.algebras import PLUS_TIMES, Semiring
from tensor_runtime.dispatch.conversion import number_in
from tensor_runtime.dispatch.out import as_target, check_apart, serves_in_pieces, write_in_pieces, write_result
from tensor_runtime.dispatch.spec import check_convertible, common_placement
from tensor_runtime.form import Form
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
        force: whether it is to start even where the process may not have the memory.

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
        self,
        result: Form,
        algebra: Semiring,
        operands: Sequence[Tensor],
        out: Any,
        alpha: Any,
        beta: Any,
        force: bool = False,
    ) -> None:
        alpha, beta = self.alpha, self.beta = read_factor("alpha", alpha), read_factor("beta", beta)
        self.out: Tensor | None = out
        self.target: TypedTensorViewMut[Any] | None = None
        if algebra is not PLUS_TIMES and not (alpha == 1 and beta == 0):
            found = {"alpha": (alpha, 1), "beta": (beta, 0)}
            given = [f"{name} is {shortened(value)}" for name, (value, usual) in found.items() if value != usual]
            raise ArgumentError(
                f"einsum: {' and '.join(given)} in the algebra {algebra.name}; accepted: factors in plus_times alone",
                operation="einsum",
            )
        if type(alpha) is int:
            _check_range("alpha", alpha, result.dtype)
        if out is None:
            if beta != 0:
                raise ArgumentError(
                    f"einsum: beta is {shortened(beta)}, but there is no out to scale; give out=", operation="einsum"
                )
            if not force:
                _check_fits(result, alpha)
            return
        if not isinstance(out, Tensor):
            refuse_masked("einsum", out)
        target = self.target = as_target("einsum", out)
        form = target._form
        if form.shape != result.shape:
            raise ShapeError(
                f"einsum: out has shape {form.shape} and the result {result.shape}; accepted: equal shapes",
                shapes=(form.shape, result.shape),
            )
        if form.placement is not result.placement:
            common_placement("einsum", (form, *[operand._form for operand in operands]))
        if result.dtype is not form.dtype:
            check_convertible("einsum", result, form.dtype)
        _check_kind("alpha", alpha, result.dtype, form.dtype)
        if beta != 0:
            if type(beta) is int:
                _check_range("beta", beta, form.dtype)
            _check_kind("beta", beta, form.dtype, form.dtype)
        check_apart("einsum", target, *operands)

    def finish(self, result: Tensor) -> Tensor:
        """The result, scaled, in place if it is large; or ``out``, with the sum written into it.

        Ctrl-C that comes while ``out`` is written takes effect when it is complete.
        """
        alpha, beta, target = self.alpha, self.beta, self.target
        same = changes_nothing(alpha, result._form)
        if target is None or self.out is None:
            if same:
                return result
            if _bytes_with_multiple(result._form, alpha) or not serves_in_pieces(result._form):
                return multiply(result, alpha)
            write_in_pieces("einsum", as_target("einsum", result), result._form.nbytes, multiply, result, alpha)
            return result
        with InterruptsHeld() if serves_in_pieces(target._form) else nullcontext():  # else one kernel writes all of it
            if beta != 0 and same:
                _write(target, _SUM, result, target, beta)
            elif beta != 0:
                _write(target, _WEIGHTED, result, target, alpha, beta)
            elif same:
                write_result("einsum", target, result)
            else:
                _write(target, multiply, result, alpha)
        return self.out


def _write(target: TypedTensorViewMut[Any], function: Callable[..., Tensor], *operands: Any) -> None:
    """Write what an elementwise function gives, without room for another large tensor on a host."""
    if serves_in_pieces(target._form):
        write_in_pieces("einsum", target, target._form.nbytes, function, *operands)
    else:
        write_result("einsum", target, function(*operands))


def _check_kind(name: str, factor: Number, dtype: DType, target: DType) -> None:
    """Refuse a number whose multiples of the dtype are of one that ``out`` does not hold."""
    multiple = promote_scalar(dtype, type(factor))
    if multiple is not target and not can_convert(multiple, target):
        raise LossyConversionError(
            f"einsum: {name} is {shortened(factor)}, which makes {dtype.name} {multiple.name}, and that to "
            f"{target.name} can lose values; accepted: a number of the kind of out, or an out of {multiple.name}",
            operation="einsum",
            target=target,
        )


def _check_range(name: str, factor: int, dtype: DType) -> None:
    """Refuse a factor of a tensor of this dtype that kernels would refuse, once the contraction is done."""
    dtype = promote_scalar(dtype, int)
    if dtype in INTEGER:
        bound = 1 << (8 * dtype.itemsize - 1)
        fits = -bound <= factor < bound
    else:
        try:
            float(factor)
            fits = True
        except OverflowError:
            fits = False
    if not fits:
        raise CastRangeError(
            f"einsum: {name} is {shortened(factor)}, which does not fit {dtype.name}; convert the operands to a wider "
            "dtype first, or give a float",
            value=factor,
        )


def check_multiple(result: Form, alpha: Any, limit: int) -> None:
    """Refuse a result that an alpha makes wider, where both together take more than a memory limit.

    Raises:
        MemoryLimitError: they do.

    >>> from tensor_runtime import ones
    >>> check_multiple(ones((100,))._form, 2.0, 800)
    >>> check_multiple(ones((100,))._form, 2j, 800)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    tensor_einsum.errors.MemoryLimitError: einsum: memory_limit is 800 B, but the result in F64 and its multiple in C64
    take 2.3 KiB at once; accepted: memory_limit=2400 or more, an alpha that F64 holds, or out=
    """
    alpha = read_factor("alpha", alpha)
    needed = _bytes_with_multiple(result, alpha)
    if needed > limit:
        raise MemoryLimitError(
            f"einsum: memory_limit is {readable_bytes(limit)}, but {_both(result, alpha)} take "
            f"{readable_bytes(needed)} at once; accepted: memory_limit={needed} or more, an alpha that "
            f"{result.dtype.name} holds, or out=",
            limit=limit,
            smallest=needed,
        )


def _check_fits(result: Form, alpha: Number) -> None:
    needed = _bytes_with_multiple(result, alpha)
    found = lacking(result.placement, needed) if needs_check(needed, result.placement) else None
    if found is None:
        return
    usable, told, remedy = found
    raise OutOfMemoryError(
        f"einsum: {_both(result, alpha)} take {readable_bytes(needed)} at once, but {told}; give an alpha that "
        f"{result.dtype.name} holds, or out=, {remedy}, or start it all the same with force=True",
        operation="einsum",
        needed=needed,
        usable=usable,
    )


def _both(result: Form, alpha: Number) -> str:
    return f"the result in {result.dtype.name} and its multiple in {promote_scalar(result.dtype, type(alpha)).name}"


def _bytes_with_multiple(result: Form, alpha: Number) -> int:
    """Bytes of a result and its multiple together, where that is of a wider dtype; 0 where it takes the same memory."""
    wider = promote_scalar(result.dtype, type(alpha))
    return 0 if wider is result.dtype else result.size * (result.dtype.itemsize + wider.itemsize)


def changes_nothing(alpha: Number, result: Form) -> bool:
    """Whether a result times this number is what it was, in the dtype that it had.

    >>> from tensor_runtime import ones
    >>> changes_nothing(1, ones(2)._form), changes_nothing(1j / 1j, ones(2)._form)
    (True, False)
    """
    return alpha == 1 and promote_scalar(result.dtype, type(alpha)) is result.dtype


def read_factor(name: str, value: Any) -> Number:
    """A factor that a user gives, as a Python number.

    >>> from tensor_runtime import tensor
    >>> read_factor("alpha", tensor(2.0)), read_factor("beta", 0)
    (2.0, 0)
    """
    number = number_in("einsum", value)
    if number is None:
        raise DTypeError(
            f"einsum: {name} is {shortened(value)} of type {type(value).__name__}; accepted: Python's bool, int, float "
            "and complex",
            operation="einsum",
        )
    return number
