"""Contractions whose result may lie outside the range of its dtype: a mantissa, and an exponent of ten apart from it.

After each step the largest magnitude of the result is looked at, and where a product with another tensor could leave
the range, the result is multiplied by a power of two; operands likewise, before they are read. Small tensors are
brought to 1, which is exact, and large ones no further down than to where products stay in range, so that their small
elements stay too. Exponents are added as whole numbers.

So nothing overflows, and a product underflows, or is rounded as a subnormal number, only where it is more than 2**800
(F32, C32: 2**80) below the product of the largest magnitudes of the two tensors of its step; an element is lost with
its products. Where nothing is lost the mantissa is what the plain contraction gives wherever that stays in range.

Results are rescaled where they lie, piece by piece, so a contraction takes no more memory than without; operands, which
are a user's, are copied where they are out of range.

Looking at a magnitude reads one number back from where the tensor is, after each step.

Source: cotengra's ``strip_exponent``, which returns the same pair, (mantissa, log10 of the scale).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import frexp, inf, isfinite, log10
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tensor_core.dtypes import C32, F32
from tensor_core.errors import ArgumentError, DTypeError, ReadOnlyError, UnsupportedOperationError
from tensor_einsum.execution.executor import Executable, Instruction, bind_in_room
from tensor_einsum.execution.memory import check_fits, needs_check
from tensor_einsum.execution.progress import OnStep
from tensor_runtime.algebras import MAX_TIMES, PLUS_TIMES
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.workspaces import threads_in_force
from tensor_runtime.dispatch.out import as_target, write
from tensor_runtime.form import Form
from tensor_runtime.ops.arithmetic import divide, multiply
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.rounding import isfinite as isfinite_elements
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.statistics import NORM
from tensor_runtime.ops.views import reshape_view, transpose_view
from tensor_runtime.tensors.tensor import Tensor, wrap

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

_KINDS: Final = ("float", "complex")
_LOG10_OF_2: Final = log10(2.0)
_ONE_FACTOR: Final = 120
"""Powers of two up to here are in range in every dtype; larger ones are taken in two steps."""
_LARGEST: Final = (None, False, inf)
"""Of a norm: all axes, none kept, the maximum of magnitudes."""
_NARROW: Final = (-20, 40)
_WIDE: Final = (-100, 480)
"""Binary exponents of largest magnitudes between which a tensor is left as it is. Sums of 2**45 products of two such
(of F64: of 2**61) are below 2**127 (2**1023), also where a complex product is a sum of two; and 2**80 (2**800) below
the smallest product of two largest magnitudes, numbers are normal still."""
_PIECE: Final = 1 << 20
"""Bytes of a result that are rescaled at once, and so the most that it takes besides."""
_BLOCK: Final = _PIECE // 2
"""Bytes of a complex tensor that are looked at, at once; kernels take half of it for magnitudes, or three halves."""


Change = Callable[[Tensor], Tensor]
Look = Callable[[Any], float]
_bound: Final[CacheTable[Any]] = CacheTable(binding_cache)
"""By (plan, threads, *forms of the operands), as they are read: the executable, the forms of all slots, and the range
of each that is floating or complex."""
_ranges: Final[CacheTable[Range]] = CacheTable(binding_cache)


class Range(NamedTuple):
    """Between which magnitudes tensors of a form are left as they are, and what tells the largest one of an array."""

    look: Look
    least: float
    most: float  # left out


def range_of(form: Form) -> Range:
    """The range of floating or complex tensors of a form.

    >>> from tensor_runtime import tensor
    >>> x = tensor([-3.0, 2.0])
    >>> range_of(x._form).look(x._array)
    3.0
    """
    known = _ranges.get(form)
    if known is None:
        least, most = _NARROW if form.dtype in (F32, C32) else _WIDE
        known = _ranges.insert(form, Range(_look_at(form), 2.0 ** (least - 1), 2.0**most))
    return known


class Scale:
    """The scale that tensors of one contraction have lost so far: 2 to the power of ``exponent``.

    >>> from tensor_runtime import tensor
    >>> scale = Scale()
    >>> scale.brought_near(tensor([2.0**-900, 0.0])).to_numpy().tolist(), scale.exponent
    ([0.5, 0.0], -899)
    """

    __slots__ = ("exponent",)

    def __init__(self, exponent: int = 0) -> None:
        self.exponent = exponent

    def brought_near(self, x: Tensor) -> Tensor:
        """The tensor, or a copy multiplied by a power of two where its finite elements are out of range."""
        look, least, most = range_of(x._form)
        largest = call_translated("einsum", x._form, look, x._array)
        return x if least <= largest < most else self._near(x, largest, _copied)

    def bring_near(self, x: Tensor, largest: float) -> Tensor:
        """The same of a result that belongs to nobody else, which is changed where it lies; of its largest magnitude.

        >>> from tensor_runtime import tensor
        >>> scale, x = Scale(), tensor([2.0**-900] * 200_000)
        >>> scale.bring_near(x, 2.0**-900) is x, x[0].item()
        (True, 0.5)
        """
        return self._near(x, largest, in_place)

    def _near(self, x: Tensor, largest: float, changed: Callable[[Tensor, Change], Tensor]) -> Tensor:
        halved = 0
        if not isfinite(largest):
            largest = max([largest_magnitude(_finite(piece)) for piece in _pieces(x)])
        if not isfinite(largest):  # of a complex number, whose parts are finite all the same
            largest, halved = max([largest_magnitude(multiply(_finite(piece), 0.5)) for piece in _pieces(x)]), 1
        if largest == 0.0:
            return x
        exponent = frexp(largest)[1] + halved
        least, most = _NARROW if x.dtype in (F32, C32) else _WIDE
        if least <= exponent <= most:
            return x
        shift = exponent - most if exponent > most else exponent
        self.exponent += shift
        return changed(x, lambda piece: shifted(piece, -shift))


def _finite(x: Tensor) -> Tensor:
    return where(isfinite_elements(x), x, 0.0)


def shifted(x: Tensor, exponent: int) -> Tensor:
    """A copy multiplied by a power of two, which itself may be out of range.

    >>> from tensor_runtime import tensor
    >>> shifted(tensor([2.0**400]), -1300).item() == 2.0**-900
    True
    """
    if abs(exponent) <= _ONE_FACTOR:
        return multiply(x, 2.0**exponent)
    first = exponent // 2
    rest = 2.0 ** (exponent - first)
    return in_place(multiply(x, 2.0**first), lambda piece: multiply(piece, rest))


def _copied(x: Tensor, change: Change) -> Tensor:
    """A changed copy, whose axes have the order in memory that those of the tensor have: kernels read both alike."""
    strides = x._form.strides
    order = sorted(range(len(strides)), key=lambda axis: abs(strides[axis]))
    if order == list(range(len(strides))):
        return change(x)
    copy = change(transpose_view(x, order))
    return transpose_view(copy, sorted(range(len(order)), key=order.__getitem__))


def in_place(x: Tensor, change: Change) -> Tensor:
    """A tensor whose elements are changed one by one; where it lies, if it is large and its memory can be written.

    >>> from tensor_runtime import ones
    >>> x = ones((500, 400))
    >>> in_place(x, lambda piece: multiply(piece, 2.0)) is x, x[499, 399].item()
    (True, 2.0)
    """
    if x._form.nbytes <= _PIECE or not x._form.is_compact:
        return change(x)
    try:
        as_target("einsum", x)
    except (UnsupportedOperationError, ReadOnlyError):  # a backend whose arrays never change
        return change(x)
    for piece in _pieces(x):
        write(mutable_view(piece), change(piece))
    return x


def _pieces(x: Tensor) -> Iterator[Tensor]:
    """Views of all elements, none of them large if the tensor is compact."""
    form = x._form
    if form.nbytes <= _PIECE or not form.is_compact:
        yield x
        return
    flat = reshape_view(x, form.size)
    count = _PIECE // form.dtype.itemsize
    for start in range(0, form.size, count):
        yield flat[start : start + count]


def largest_magnitude(x: Tensor) -> float:
    """The largest magnitude of all elements: 0 of none, NaN where one is.

    >>> from tensor_runtime import tensor
    >>> largest_magnitude(tensor([3j, -4.0]))
    4.0
    """
    largest: float = call_translated("einsum", x._form, range_of(x._form).look, x._array)
    return largest


def _look_at(form: Form) -> Look:
    """What tells the largest magnitude of native arrays of a form."""
    kernel, found = NORM.bindings[form, _LARGEST]
    backend: Any = registry.backend_for(found.placement)
    if hasattr(backend, "lend") and form.dtype.kind == "complex" and form.nbytes > _BLOCK:
        return lambda array: _largest_of_blocks(wrap(form, array))  # as kernels make all magnitudes first
    if hasattr(backend, "lend"):  # reading a number of a tensor takes 30 microseconds, because it may be anywhere
        return lambda array: float(backend.lend(kernel(array), found))
    return lambda array: float(wrap(found, kernel(array)))


def _largest_of_blocks(x: Tensor) -> float:
    largest = 0.0
    for block in _blocks(x):
        found = largest_magnitude(block)
        if found != found:  # NaN, which no comparison would keep
            return found
        largest = max(largest, found)
    return largest


def _blocks(x: Tensor) -> Iterator[Tensor]:
    """Views of all elements, none of them large, however the tensor lies."""
    shape, strides = x._form.shape, x._form.strides
    if x._form.nbytes <= _BLOCK:
        yield x
        return
    axis = max([axis for axis, extent in enumerate(shape) if extent > 1], key=lambda axis: abs(strides[axis]))
    count = max(_BLOCK * shape[axis] // x._form.nbytes, 1)
    for start in range(0, shape[axis], count):
        yield from _blocks(x[(slice(None),) * axis + (slice(start, min(start + count, shape[axis])),)])


def check_scalable(plan: Plan, operation: str = "einsum") -> None:
    """Refuse a plan whose results have no exponent to take off.

    Raises:
        DTypeError: integers or Bool.
        ArgumentError: an algebra in which a scale does not move through sums and products.

    >>> from tensor_einsum import plan
    >>> check_scalable(plan("i->", (3,)))
    """
    if plan.output_dtype.kind not in _KINDS:
        raise DTypeError(
            f"{operation}: strip_exponent=True of operands that promote to {plan.output_dtype.name}; accepted: "
            "floating and complex operands (convert() one first)",
            operation=operation,
        )
    if plan.algebra not in (PLUS_TIMES, MAX_TIMES):
        raise ArgumentError(
            f"{operation}: strip_exponent=True in the algebra {plan.algebra.name}; accepted: plus_times and max_times, "
            "where elements are multiplied",
            operation=operation,
        )


def run_scaled(
    plan: Plan, operands: Sequence[Tensor], on_step: OnStep | None, force: bool = False
) -> tuple[Tensor, float]:
    """Contract tensors that the plan was made for; mantissa and exponent as for :func:`normalised`.

    Raises:
        DTypeError, ArgumentError: as for :func:`check_scalable`.
        OutOfMemoryError: the plan does not fit, with the copies of operands that are out of range.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import tensor
    >>> x = tensor([1e200])
    >>> mantissa, exponent = run_scaled(plan("i,i->", (1,), (1,)), [x, x], None)
    >>> mantissa.item(), round(exponent, 9)
    (1.0, 400.0)
    """
    check_scalable(plan)
    scale = Scale()
    near = [scale.brought_near(x) if x.dtype.kind in _KINDS else x for x in operands]
    copied = copied_bytes(operands, near)
    bound, forms, ranges = _binding(plan, [x._form for x in near])
    first = len(near)
    scaled = [
        instruction
        if within is None or step.kind == "squeeze"
        else Instruction(scaled_kernel(instruction.kernel, form, within, scale), instruction.first, instruction.second)
        for instruction, form, within, step in zip(
            bound.instructions, forms[first:], ranges[first:], plan.steps, strict=True
        )
    ]
    needed = bound.needed_bytes + copied
    if not force and needs_check(needed, forms[-1].placement):
        check_fits(plan, needed, forms[-1].placement)
    executable = Executable(plan, tuple(scaled))
    return normalised(wrap(forms[-1], executable.run([x._array for x in near], on_step)), scale)


def _binding(plan: Plan, forms: Sequence[Form]) -> tuple[Executable, list[Form], list[Range | None]]:
    """The plan for operands of these forms, the forms of all slots, and the range of each of them."""
    key = (plan, threads_in_force.value, *forms)
    known: Any = _bound.get(key)
    if known is None:
        executable, slots = bind_in_room(plan, forms)
        ranges = [range_of(form) if form.dtype.kind in _KINDS else None for form in slots]
        known = _bound.insert(key, (executable, slots, ranges))
    return known  # type: ignore[no-any-return]


def scaled_kernel(kernel: Any, form: Form, within: Range, scale: Scale) -> Callable[..., Any]:
    """A kernel of a step whose result is brought near where it lies; it belongs to nobody else.

    >>> from tensor_runtime import tensor
    >>> x, scale = tensor([2.0**-900]), Scale()
    >>> scaled_kernel(lambda: x._array, x._form, range_of(x._form), scale)().tolist(), scale.exponent
    ([0.5], -899)
    """
    look, least, most = within

    def run(*arrays: Any) -> Any:
        array = kernel(*arrays)
        largest = look(array)
        return array if least <= largest < most else scale.bring_near(wrap(form, array), largest)._array

    return run


def copied_bytes(operands: Sequence[Tensor], near: Sequence[Tensor]) -> int:
    """Bytes of the operands that were copied to be rescaled.

    >>> from tensor_runtime import ones
    >>> x = ones((3,))
    >>> copied_bytes([x, x], [x, multiply(x, 2.0)])
    24
    """
    return sum(copy._form.nbytes for x, copy in zip(operands, near, strict=True) if copy is not x)


def normalised(result: Tensor, scale: Scale) -> tuple[Tensor, float]:
    """A mantissa whose largest magnitude is 1, and log10 of what it has to be multiplied by; changes the result.

    A result of zeros has the exponent 0; one that holds NaN or an infinity keeps the power of two that it has.

    >>> from tensor_runtime import tensor
    >>> mantissa, exponent = normalised(tensor([-100.0, 50.0]), Scale())
    >>> mantissa.to_numpy().tolist(), exponent
    ([-1.0, 0.5], 2.0)
    """
    largest = largest_magnitude(result)
    if largest == 0.0:
        return result, 0.0
    exponent = scale.exponent * _LOG10_OF_2
    if not isfinite(largest):
        return result, exponent
    return in_place(result, lambda piece: divide(piece, largest)), exponent + log10(largest)
