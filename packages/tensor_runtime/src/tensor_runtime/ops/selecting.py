"""Questions about elements, composed of others: ``count_nonzero``, ``isin``, ``array_equal``, ``diff``, ``delete``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Final, SupportsIndex

from tensor_core.dtypes import Bool
from tensor_core.errors import ArgumentError, AxisError, ShapeError
from tensor_core.promotion import promote, promote_scalar
from tensor_core.shapes import normalize_axis
from tensor_runtime.dispatch.arguments import as_axes, flag, whole
from tensor_runtime.dispatch.call import execute_mixed, execute_with_params
from tensor_runtime.dispatch.conversion import as_number, convert
from tensor_runtime.dispatch.dtype_rules import Axes, accumulator, reduced
from tensor_runtime.dispatch.out import Out, written
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.ops import native_calls
from tensor_runtime.ops.arithmetic import subtract
from tensor_runtime.ops.comparison import NOT_EQUAL, equal, not_equal
from tensor_runtime.ops.creation import full, ones, tensor
from tensor_runtime.ops.creation_like import empty
from tensor_runtime.ops.gather_scatter import nonzero, take
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.joining import concatenate
from tensor_runtime.ops.logic import logical_not, logical_or
from tensor_runtime.ops.reduction import all as all_of
from tensor_runtime.ops.selection import minimum
from tensor_runtime.ops.sort import searchsorted, sort
from tensor_runtime.ops.views import broadcast_to, copy, reshape
from tensor_runtime.placement import CPU, is_stand_in
from tensor_runtime.static_types.results import index_dtype, same_dtype_into
from tensor_runtime.tensors.tensor import Number, Tensor, unwrap
from tensor_runtime.tensors.transfer import to

_FEW: Final = 8
"""Elements up to which comparing with each one is faster than sorting them."""
_FEW_DELETED: Final = 64
"""Places that are marked one by one, each in a tenth of a microsecond, where a tensor of them takes ten."""
_FIRST_COMPARED: Final = 1 << 12
"""Elements of the first block that ``array_equal`` compares; each later one ends at so many times as many elements."""
_LATER_COMPARED: Final = 64
COUNT_NONZERO: Final = OpSpec(  # of Bool
    "count_nonzero", result_dtype=accumulator, result_shape=reduced, takes_params=True, kernel="sum"
)


@index_dtype
def count_nonzero(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False, out: Out = None) -> Tensor:
    """How many elements differ from 0, over axes, as I64; NaN does. Arguments and errors as for ``sum``.

    >>> count_nonzero(tensor([[0, 7], [8, 9]]), 1)
    Tensor(I64, (2,), column-major, cpu)
     1  2
    """
    if axis is None and keepdims is False and out is None:
        return _count_nonzero(x)
    form = x._form if type(x) is Tensor else unwrap("count_nonzero", x)[0]
    differs = x if form.dtype is Bool else execute_mixed(NOT_EQUAL, x, 0)
    params = as_axes("count_nonzero", axis), flag("count_nonzero", "keepdims", keepdims)
    return execute_with_params(COUNT_NONZERO, differs, params, out)


@native_calls.standing_in(globals())
def _count_nonzero(x: Any) -> Tensor:
    form, _ = unwrap("count_nonzero", x)
    differs = x if form.dtype is Bool else execute_mixed(NOT_EQUAL, x, 0)
    return execute_with_params(COUNT_NONZERO, differs, (None, False))


def isin(
    x: Tensor | Number,
    elements: Tensor | Number | Sequence[Number],
    /,
    *,
    invert: bool = False,
    out: Out = None,
) -> Tensor:
    """For each element of ``x``, whether ``elements`` has it; NumPy's function. NaN is in nothing.

    Many elements are sorted once, and each one of ``x`` is looked up: N log M steps.

    Args:
        x: any dtype, shape and layout, or a number.
        elements: any dtype, shape and layout, a number, or a list of numbers, which goes where ``x`` is; compared in
            the promoted dtype.
        invert: whether it lacks it instead.

    Returns:
        Bool, of the shape of ``x``.

    Raises:
        PlacementError: they live in different places.

    >>> isin(tensor([[1, 2], [3, 4]]), [4, 1, 9]).to_numpy().tolist()
    [[True, False], [False, True]]
    """
    if invert is False and out is None:
        return _isin(x, elements)
    return _isin(x, elements, flag("isin", "invert", invert), out)


@native_calls.standing_in(globals())
def _isin(x: Any, elements: Any, turned: bool = False, out: Out = None) -> Tensor:
    if isinstance(elements, (list, tuple, range)):
        elements = tensor(elements, placement=tensors_of("isin", x, 0)[0].placement)
    a, b = operands = tensors_of("isin", x, elements)
    common = promote(a.dtype, b.dtype)
    a, b = (one if one.dtype is common else convert(one, common) for one in (a, b))
    if not b.size:
        found = not_equal(a, a) if common is Bool else full(a.shape, False, placement=a.placement)
    elif b.size <= _FEW:
        first, *others = reshape(b, -1)
        found = equal(a, first)
        for one in others:
            found = logical_or(found, equal(a, one))
    else:
        line = sort(reshape(b, -1))
        places = minimum(searchsorted(line, a), line.size - 1)
        found = equal(take(line, places, 0), a)
    found = logical_not(found) if turned else found
    return found if out is None else written("isin", out, found, *operands)


def array_equal(a: Tensor, b: Tensor, /) -> bool:
    """Whether two tensors have one shape and equal elements, as a Python bool; NaN equals nothing. The host waits.

    Many elements that lie on the host in one order are compared in blocks, and no more of them behind a difference.

    Raises:
        PlacementError: they live in different places.

    >>> array_equal(tensor([1, 2]), tensor([1.0, 2.0])), array_equal(tensor([1]), tensor([[1]]))
    (True, False)
    """
    return _array_equal_call(a, b)


def _array_equal(a: Tensor, b: Tensor, /) -> bool:
    (form_a, _), (form_b, _) = unwrap("array_equal", a), unwrap("array_equal", b)
    if form_a.shape != form_b.shape:
        return False
    if form_a.size <= _FIRST_COMPARED or not (a.placement == b.placement == CPU and a.is_compact and b.is_compact):
        return bool(all_of(equal(a, b)))
    if form_a.rank > 1:
        a, b = reshape(a, -1), reshape(b, -1)
    begin, end = 0, _FIRST_COMPARED
    while begin < form_a.size and all_of(equal(a[begin:end], b[begin:end])):
        begin, end = end, _LATER_COMPARED * end
    return begin >= form_a.size


_array_equal_call: Callable[[Any, Any], bool] = _array_equal  # or a native one (``ops.native_calls``)
native_calls.place("array_equal", _array_equal, partial(globals().__setitem__, "_array_equal_call"))


@same_dtype_into
def diff(
    x: Tensor,
    /,
    n: int = 1,
    axis: SupportsIndex = -1,
    *,
    prepend: Tensor | Number | None = None,
    append: Tensor | Number | None = None,
    out: Out = None,
) -> Tensor:
    """Differences of neighbours along an axis, taken ``n`` times; NumPy's function. Of Bool, whether they differ.

    Args:
        x: any dtype and layout, rank 1 or more.
        n: how often; 0 gives a copy.
        axis: the axis along which neighbours stand.
        prepend, append: what is put before and after ``x`` along the axis first: tensors, or numbers, which stand for
            one slice.

    Returns:
        An owned tensor; along the axis, ``n`` elements fewer, and at least none. Integers wrap.

    Raises:
        ArgumentError: ``n`` is below 0.
        AxisError: an axis out of range; rank 0 has none.

    >>> diff(tensor([1, 4, 9, 16])).to_numpy().tolist(), diff(tensor([1, 4, 9, 16]), 2).to_numpy().tolist()
    ([3, 5, 7], [2, 2])
    """
    form, _ = unwrap("diff", x)
    times = whole("diff", "n", n)
    if times < 0:
        raise ArgumentError(f"diff: n is {times}; accepted: an int of 0 or more", operation="diff")
    if not form.rank:
        raise AxisError("diff: a tensor of rank 0 has no axis", operation="diff")
    place = normalize_axis(whole("diff", "axis", axis), form.rank, "diff")
    if not times:
        return copy(x) if out is None else written("diff", out, x, x)
    given = x
    if prepend is not None or append is not None:
        parts = [_slices(x, prepend, place), x, _slices(x, append, place)]
        x = concatenate([part for part in parts if part is not None], place)
    later, earlier = _neighbours(place)
    of_both = not_equal if form.dtype is Bool and x.dtype is Bool else subtract
    found = of_both(x[later], x[earlier])
    for _ in range(min(times, x.shape[place]) - 1 if times > 1 else 0):  # then nothing is left
        found = of_both(found[later], found[earlier])
    return found if out is None else written("diff", out, found, given, prepend, append)


@cache
def _neighbours(axis: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The indices of all elements but the first along an axis, and of all but the last."""
    before = (slice(None),) * axis
    return (*before, slice(1, None)), (*before, slice(None, -1))


def _slices(x: Tensor, more: Tensor | Number | None, axis: int) -> Tensor | None:
    """What is put beside a tensor: a number fills one slice."""
    if more is None:
        return None
    if not isinstance(more, Tensor):
        number = as_number("diff", more)
        more = full((), number, dtype=promote_scalar(x.dtype, type(number)), placement=x.placement)
    return more if more.rank else broadcast_to(more, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))


@same_dtype_into
def delete(x: Tensor, where: object, /, axis: SupportsIndex | None = None, *, out: Out = None) -> Tensor:
    """``x`` without some indices along an axis; NumPy's function.

    Args:
        x: any dtype and layout.
        where: an int, a slice, or what ``x[...]`` takes along one axis: a list, an array or tensor of integers, a Bool
            mask. Where it is a tensor, how many it names is a value: the host waits for it.
        axis: the axis; None takes the line of all elements in row-major order.

    Returns:
        An owned tensor.

    Raises:
        IndexingError: an index out of range, or a mask of another length.
        AxisError: an axis out of range.

    >>> delete(tensor([10, 20, 30, 40]), [0, -1]).to_numpy().tolist()
    [20, 30]
    >>> delete(tensor([[1, 2, 3], [4, 5, 6]]), 1, axis=1).to_numpy().tolist()
    [[1, 3], [4, 6]]
    """
    form, _ = unwrap("delete", x)
    if axis is None:
        x, place = x if form.rank == 1 else reshape(x, -1, order="C"), 0
    else:
        place = normalize_axis(whole("delete", "axis", axis), form.rank, "delete")
    if isinstance(where, tuple):
        raise ShapeError("delete: found a tuple; accepted: indices of one axis (a list, a slice, a mask)")
    extent = x.shape[place]
    few = _few_places(where, extent)
    if len(few) == 1 and x.rank > 1 and x.placement == CPU:
        found = _without_slice(x, few[0] % extent, place)
    else:
        # Where there are no elements, as in an explanation, what is named without a tensor is found on the host.
        there = CPU if is_stand_in(x.placement) and not isinstance(where, Tensor) else x.placement
        kept = ones(extent, dtype=Bool, placement=there)
        view = mutable_view(kept)
        for one in few or (where,):
            view[one] = False
        found = x[kept] if x.rank == 1 and there is x.placement else take(x, to(nonzero(kept)[0], x.placement), place)
    return found if out is None else written("delete", out, found, x)


def _few_places(where: object, extent: int) -> Sequence[int]:
    """The ints of an index or of a short list, where all are in range; else none."""
    places: Any = where if type(where) is list else (where,)
    if len(places) > _FEW_DELETED or not all(type(one) is int and -extent <= one < extent for one in places):
        return ()
    return places  # type: ignore[no-any-return]


def _without_slice(x: Tensor, at: int, axis: int) -> Tensor:
    """Two copies, of what lies before one index and behind it."""
    beside = (slice(None),) * axis
    before, behind = slice(None, at), slice(at + 1, None)
    found = empty((*x.shape[:axis], x.shape[axis] - 1, *x.shape[axis + 1 :]), dtype=x.dtype, placement=x.placement)
    view = mutable_view(found)
    view[(*beside, before)] = x[(*beside, before)]
    view[(*beside, slice(at, None))] = x[(*beside, behind)]
    return found


def tensors_of(operation: str, a: Any, b: Any, /) -> tuple[Tensor, Tensor]:
    """Two operands as tensors, of which one at least is; a number becomes one of rank 0 where the other lives.

    >>> tensors_of("isin", tensor([1, 2]), 3)[1].item()
    3
    """
    home = next((one for one in (a, b) if isinstance(one, Tensor)), None)
    if home is None:
        unwrap(operation, a)
        raise AssertionError  # unwrap() has raised
    first, second = (
        one if isinstance(one, Tensor) else full((), as_number(operation, one), placement=home.placement)
        for one in (a, b)
    )
    return first, second
