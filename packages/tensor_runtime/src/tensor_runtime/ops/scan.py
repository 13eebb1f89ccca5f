"""Scans along one axis: ``cumsum`` and ``cumprod``, and ``fold`` and ``scan`` with a function of your own.

An axis must be named unless the operand has rank 1; NumPy would flatten. ``fold`` and ``scan`` go from the first slice
to the last, one call of the function per slice, so their order is stated and their bits are those of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, SupportsIndex

from tensor_core.dtypes import ALL
from tensor_core.errors import ArgumentError
from tensor_core.promotion import promote_scalar
from tensor_core.shapes import Shape, normalize_axis
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.conversion import as_number
from tensor_runtime.dispatch.dtype_rules import accumulator
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.ops.creation import full, zeros
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.views import copy
from tensor_runtime.static_types.results import accumulator_dtype
from tensor_runtime.tensors.tensor import Number, Tensor, unwrap, wrap

Step = Callable[[Tensor, Tensor], Tensor]


def _along(operation: str, shape: Shape, axis: int | None, /) -> Shape:
    one_axis(operation, len(shape), axis)
    return shape


CUMSUM: Final = OpSpec("cumsum", accepts=ALL, result_dtype=accumulator, result_shape=_along, takes_params=True)
CUMPROD: Final = OpSpec("cumprod", accepts=ALL, result_dtype=accumulator, result_shape=_along, takes_params=True)


def one_axis(operation: str, rank: int, axis: SupportsIndex | None, /) -> int:
    """The axis named, non-negative; None is the only axis of rank 1.

    >>> one_axis("cumsum", 1, None), one_axis("cumsum", 3, -1)
    (0, 2)
    """
    if axis is not None:
        return normalize_axis(axis, rank, operation)
    if rank != 1:
        raise ArgumentError(
            f"{operation}: the operand has rank {rank} and no axis is named; name one (NumPy would flatten: "
            "reshape(-1, order='C') does that)",
            operation=operation,
        )
    return 0


@accumulator_dtype
def cumsum(a: Tensor, /, axis: SupportsIndex | None = None, *, out: Out = None) -> Tensor:
    """Sums of the elements up to each one along an axis. Integers and Bool accumulate in I64, which wraps.

    Args:
        a: any dtype, rank 1 or more.
        axis: may be left out for rank 1 only.

    Returns:
        An owned tensor of the operand's shape. The order of additions of floating elements is the backend's; the CPU's
        adds from the first element to the last.

    Raises:
        ArgumentError: no axis for another rank than 1.
        AxisError: an axis out of range; rank 0 has none.

    >>> cumsum(tensor([[1, 2], [3, 4]]), axis=0)
    Tensor(I64, (2, 2), column-major, cpu)
     1  2
     4  6
    """
    return execute_with_params(CUMSUM, a, None if axis is None else whole("cumsum", "axis", axis), out)


@accumulator_dtype
def cumprod(a: Tensor, /, axis: SupportsIndex | None = None, *, out: Out = None) -> Tensor:
    """Products of the elements up to each one along an axis; dtypes, arguments and errors as for :func:`cumsum`.

    >>> cumprod(tensor([1, 2, 3, 4]))
    Tensor(I64, (4,), column-major, cpu)
      1   2   6  24
    """
    return execute_with_params(CUMPROD, a, None if axis is None else whole("cumprod", "axis", axis), out)


def fold(f: Step, x: Tensor, /, axis: SupportsIndex | None = None, *, initial: Tensor | Number | None = None) -> Tensor:
    """f(... f(f(initial, x₀), x₁) ..., xₙ₋₁) over the slices of ``x`` along an axis, strictly left to right.

    A composition in Python of n calls of ``f``: as fast as those are on whole slices, and slow on single elements.

    Args:
        f: takes what it gave last and the next slice, a read-only view without the axis; gives a tensor of the shape,
            dtype and placement of what it took first.
        x: any dtype and layout, rank 1 or more.
        axis: may be left out for rank 1 only.
        initial: a tensor of any form that suits ``f``, or a Python number, which fills a slice. None starts with the
            first slice.

    Returns:
        An owned tensor: what ``f`` gave last. Over no slices, ``initial``.

    Raises:
        ArgumentError: ``f`` gave something else; no slices and no ``initial``; no axis for another rank than 1.
        AxisError: an axis out of range.

    Source: the reduction of array languages, a left fold (APL itself folds from the right).

    >>> from tensor_runtime.ops.arithmetic import subtract
    >>> fold(subtract, tensor([10, 3, 2])).item(), fold(subtract, tensor([10, 3, 2]), initial=100).item()
    (5, 85)
    """
    last = None
    for step in _accumulated("fold", f, x, axis, initial):
        last = step
    if last is not None:
        return copy(last)  # a view of an operand, perhaps
    if initial is None:
        raise ArgumentError(
            f"fold: shape {x.shape} has no slice along the axis, and a fold of nothing is undefined; give initial=",
            operation="fold",
            shape=x.shape,
        )
    return copy(_first_of("fold", x, one_axis("fold", x.rank, axis), initial))


def scan(f: Step, x: Tensor, /, axis: SupportsIndex | None = None, *, initial: Tensor | Number | None = None) -> Tensor:
    """Every step of :func:`fold`, stacked along the axis: element k is the fold of slices 0 to k, slice k included.

    Args:
        f: as for :func:`fold`.
        x: as for :func:`fold`.
        axis: of ``x``, and of the result: what ``f`` gives must have a rank for which there is such an axis.
        initial: as for :func:`fold`; the result does not hold it.

    Returns:
        An owned tensor: the shape of what ``f`` gives, with the axis and its extent inserted.

    Raises:
        ArgumentError: ``f`` gave something else; no axis for another rank than 1.
        AxisError: an axis out of range of ``x`` or of the result.

    >>> from tensor_runtime.ops.arithmetic import subtract
    >>> scan(subtract, tensor([10, 3, 2])).to_numpy().tolist()
    [10, 7, 5]
    """
    form, _ = unwrap("scan", x)
    place = one_axis("scan", form.rank, axis)
    extent = form.shape[place]
    if extent == 0 and initial is None:
        return zeros(form.shape, dtype=form.dtype, placement=form.placement)
    first = x[(*[slice(None)] * place, 0)] if initial is None else _first_of("scan", x, place, initial)
    normalize_axis(place, first.rank + 1, "scan")
    shape = (*first.shape[:place], extent, *first.shape[place:])
    result = zeros(shape, dtype=first.dtype, placement=first.placement)
    target = mutable_view(result)
    for position, step in enumerate(_accumulated("scan", f, x, axis, None if initial is None else first)):
        target[(*[slice(None)] * place, position)] = step
    return result


def _first_of(operation: str, x: Tensor, axis: int, initial: Tensor | Number) -> Tensor:
    """What a fold begins with; a Python number fills a slice, in the dtype that arithmetic would give it."""
    if isinstance(initial, Tensor):
        return initial
    number = as_number(operation, initial)
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return full(shape, number, dtype=promote_scalar(x.dtype, type(number)), placement=x.placement)


def _accumulated(
    operation: str, f: Step, x: Tensor, axis: SupportsIndex | None, initial: Tensor | Number | None
) -> Iterator[Tensor]:
    """What ``f`` gives, step by step; the first slice itself where nothing comes before it."""
    form, array = unwrap(operation, x)
    if not callable(f):
        raise ArgumentError(f"{operation}: f is a {type(f).__name__}; accepted: a function", operation=operation)
    place = one_axis(operation, form.rank, axis)
    slices = wrap(form, array)  # never a mutable view
    found = None if initial is None else _first_of(operation, x, place, initial)
    for position in range(form.shape[place]):
        here = slices[(*[slice(None)] * place, position)]
        if found is None:
            found = here
        else:
            found = _checked(operation, position, f(found, here), found)
        yield found


def _checked(operation: str, position: int, given: object, before: Tensor) -> Tensor:
    wanted = before._form
    if isinstance(given, Tensor):
        form = given._form
        if (form.dtype, form.shape, form.placement) == (wanted.dtype, wanted.shape, wanted.placement):
            return given
        what = f"{form.dtype} {form.shape} on {form.placement}"
    else:
        what = f"a {type(given).__name__}"
    raise ArgumentError(
        f"{operation}: at slice {position} the function gave {what}; accepted: a tensor like the one it took first, "
        f"{wanted.dtype} {wanted.shape} on {wanted.placement}",
        operation=operation,
        position=position,
    )
