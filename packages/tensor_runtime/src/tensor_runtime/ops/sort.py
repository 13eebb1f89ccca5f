"""Order: ``sort``, ``argsort``, ``searchsorted`` and ``unique``.

Numbers ascend, False before True, complex numbers by real part and then by imaginary part. NaN comes last; among
complex numbers as in NumPy: first R + R·j, then R + NaN·j, NaN + R·j and NaN + NaN·j, each sorted by the part that is a
number. Zeros of both signs are equal. Sorting is stable: equal elements keep their order, so that every backend gives
the same indices, and the same signs of zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, SupportsIndex

from tensor_core.dtypes import I64, DType
from tensor_core.errors import ShapeError
from tensor_core.shapes import Shape, element_count, normalize_axis
from tensor_runtime.backends.error_translation import naming
from tensor_runtime.dispatch.arguments import choice, flag, whole
from tensor_runtime.dispatch.call import execute_binary, execute_with_params
from tensor_runtime.dispatch.data_dependent import DependentSpec, Results, execute_dependent
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import OpSpec
from tensor_runtime.form import Form
from tensor_runtime.ops.creation import listed
from tensor_runtime.static_types.results import index_dtype, integer_dtype, same_dtype, same_dtype_into
from tensor_runtime.tensors.tensor import Number, Tensor, unwrap


def _indices(dtype: DType) -> DType:
    return I64


def _sorted_shape(operation: str, shape: Shape, params: tuple[int | None, bool]) -> Shape:
    axis, _ = params
    if axis is None:
        return (element_count(shape),)
    normalize_axis(axis, len(shape), operation)
    return shape


def _found_shape(operation: str, line: Shape, values: Shape) -> Shape:
    if len(line) != 1:
        raise ShapeError(
            f"{operation}: the sorted operand has shape {line}; accepted: rank 1",
            operation=operation,
            shapes=(line, values),
        )
    return values


SORT: Final = OpSpec("sort", result_shape=_sorted_shape, takes_params=True)
ARGSORT: Final = OpSpec("argsort", result_dtype=_indices, result_shape=_sorted_shape, takes_params=True)
SEARCH: Final[dict[str, OpSpec]] = {
    side: OpSpec(
        "searchsorted", result_dtype=_indices, result_shape=_found_shape, binary=True, kernel=f"searchsorted_{side}"
    )
    for side in ("left", "right")
}


@same_dtype_into
def sort(x: Tensor, /, axis: SupportsIndex | None = -1, *, descending: bool = False, out: Out = None) -> Tensor:
    """Elements in order along an axis; stable.

    Args:
        x: any dtype and layout.
        axis: the axis along which lines are sorted; None sorts all elements into one line.
        descending: greatest first; equal elements keep their order all the same, and NaN comes last all the same.

    Returns:
        An owned tensor of the dtype and shape of ``x``, of rank 1 with axis None.

    Raises:
        AxisError: an axis out of range; rank 0 has none.

    >>> sort(tensor([3.0, float("nan"), 1.0]), descending=True)
    Tensor(F64, (3,), column-major, cpu)
     3.0  1.0  nan
    """
    return execute_with_params(
        SORT, x, (None if axis is None else whole("sort", "axis", axis), flag("sort", "descending", descending)), out
    )


@index_dtype
def argsort(x: Tensor, /, axis: SupportsIndex | None = -1, *, descending: bool = False, out: Out = None) -> Tensor:
    """Indices that would sort along an axis.

    ``take_along_axis(x, argsort(x, axis), axis)`` is ``sort(x, axis)``.
    Arguments as for :func:`sort`; of equal elements, the first comes first.

    Returns:
        An owned I64 tensor of the shape of ``x``; with axis None of rank 1, counting the elements in row-major order,
        as NumPy does.

    Raises:
        AxisError: an axis out of range; rank 0 has none.

    >>> argsort(tensor([2, 3, 2, 1])).to_numpy().tolist()
    [3, 0, 2, 1]
    """
    return execute_with_params(
        ARGSORT,
        x,
        (None if axis is None else whole("argsort", "axis", axis), flag("argsort", "descending", descending)),
        out,
    )


@integer_dtype
def searchsorted(line: Tensor, values: Tensor | Sequence[Number], /, side: str = "left", *, out: Out = None) -> Tensor:
    """Where values would have to be inserted into a sorted line to keep it sorted.

    Args:
        line: rank 1, ascending as :func:`sort` leaves it; nobody checks that, and the answer means nothing otherwise.
        values: any shape; a list of numbers goes where the line is. Both are compared in their common dtype.
        side: "left" gives the index of the first element that is not less than the value, "right" that of the first
            that is greater; the line's extent if there is none. NaN counts as greater than every number.

    Returns:
        An owned I64 tensor of the shape of ``values``.

    Raises:
        ShapeError: the line has another rank.
        ArgumentError: another side.
        DTypeError: an operand is no tensor.

    >>> line = tensor([1, 2, 2, 3])
    >>> searchsorted(line, tensor([2, 9])).to_numpy().tolist(), searchsorted(line, tensor(2), "right").item()
    ([1, 4], 3)
    """
    side = choice("searchsorted", "side", side, tuple(SEARCH))
    values = values if isinstance(values, Tensor) else listed("searchsorted", values, line)
    unwrap("searchsorted", line), unwrap("searchsorted", values)  # Python numbers have no form to search in
    return execute_binary(SEARCH[side], line, values, out)


class UniqueAll(NamedTuple):
    """What :func:`unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What :func:`unique_counts` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What :func:`unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


Wanted = tuple[bool, bool, bool, bool]  # indices, inverse indices, counts, NaN equals NaN


def _unique_results(operation: str, form: Form, params: Wanted, count: int) -> Results:
    indices, inverse, counts, _ = params
    parts: list[tuple[bool, DType, Shape]] = [
        (True, form.dtype, (count,)),
        (indices, I64, (count,)),
        (inverse, I64, form.shape),
        (counts, I64, (count,)),
    ]
    return tuple((dtype, shape) for wanted, dtype, shape in parts if wanted)


UNIQUE: Final = DependentSpec("unique", results=_unique_results)


def unique(
    x: Tensor,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    equal_nan: bool = True,
) -> Any:
    """Sorted distinct elements; NumPy's function.

    Zeros of both signs are equal; the first one met in row-major order stands for both.

    Args:
        x: any dtype, shape and layout.
        return_index: also the index of each value's first occurrence, counting elements in row-major order.
        return_inverse: also, for each element, the index of its value; of the shape of ``x``.
        return_counts: also how often each value occurs.
        equal_nan: NaN counts once, and so do all complex numbers with a part that is NaN; if False, each one counts
            as another value.

    Returns:
        The values, an owned tensor of shape [count] and the dtype of ``x``; with any of the options, a tuple of it and
        the owned I64 tensors asked for, in the order above. The count is a value: the host waits for it.

    >>> unique(tensor([[3, 1], [1, 2]])).to_numpy().tolist()
    [1, 2, 3]
    >>> values, counts = unique(tensor([3, 1, 1]), return_counts=True)
    >>> counts.to_numpy().tolist()
    [2, 1]
    """
    wanted = (
        flag("unique", "return_index", return_index),
        flag("unique", "return_inverse", return_inverse),
        flag("unique", "return_counts", return_counts),
        flag("unique", "equal_nan", equal_nan),
    )
    found = execute_dependent(UNIQUE, x, wanted)
    return found if any(wanted[:3]) else found[0]


@same_dtype
@naming("unique")
def unique_values(x: Tensor, /) -> Tensor:
    """Sorted distinct elements, of which each NaN is one, as the array API standard has it.

    >>> unique_values(tensor([2.0, float("nan"), 2.0, float("nan")]))
    Tensor(F64, (3,), column-major, cpu)
     2.0  nan  nan
    """
    return execute_dependent(UNIQUE, x, (False, False, False, False))[0]


@naming("unique")
def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Sorted distinct elements and how often each occurs; each NaN is one.

    >>> unique_counts(tensor([3, 1, 1])).counts.to_numpy().tolist()
    [2, 1]
    """
    return UniqueCounts(*execute_dependent(UNIQUE, x, (False, False, True, False)))


@naming("unique")
def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Sorted distinct elements and, for each element of ``x``, the index of its value; each NaN is one.

    >>> unique_inverse(tensor([3, 1, 1])).inverse_indices.to_numpy().tolist()
    [1, 0, 0]
    """
    return UniqueInverse(*execute_dependent(UNIQUE, x, (False, True, False, False)))


@naming("unique")
def unique_all(x: Tensor, /) -> UniqueAll:
    """All that :func:`unique` can give, under the array API standard's names; each NaN is one.

    >>> unique_all(tensor([3, 1, 1])).indices.to_numpy().tolist()
    [1, 0]
    """
    return UniqueAll(*execute_dependent(UNIQUE, x, (True, True, True, False)))
