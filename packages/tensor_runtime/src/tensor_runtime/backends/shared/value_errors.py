"""Errors of values that a kernel refuses: one wording for every backend, which says what it found and where.

A backend looks in its own way for the first offending element in column-major order; its index, or its number in that
order, is all that these need to know.
"""

from __future__ import annotations

from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, CastRangeError, DivisionByZeroError, IndexingError

Index = tuple[int, ...]


def zero_divisor(operation: str, index: Index | None, /) -> DivisionByZeroError:
    """The error of a division of integers by 0.

    Args:
        operation: what the user called.
        index: of the first zero in the divisor; None where the divisor is a Python number.

    >>> print(zero_divisor("remainder", (1,)))
    remainder: the divisor at index (1,) is 0, and integers have no infinity; replace zeros with where(), or convert to
    F64 first
    """
    where = "the divisor is 0" if index is None else f"the divisor at index {index} is 0"
    return DivisionByZeroError(
        f"{operation}: {where}, and integers have no infinity; replace zeros with where(), or convert to F64 first",
        operation=operation,
        index=index,
    )


def negative_exponent(index: Index | None, value: int, /) -> ArgumentError:
    """The error of a power of integers with a negative exponent.

    Args:
        index: of the first one; None where the exponent is a Python number.
        value: the exponent.

    >>> print(negative_exponent(None, -1))
    pow: the exponent is -1, and integers have no negative powers; accepted: 0 or more (convert to F64 first)
    """
    where = "the exponent is" if index is None else f"the exponent at index {index} is"
    return ArgumentError(
        f"pow: {where} {value}, and integers have no negative powers; accepted: 0 or more (convert to F64 first)",
        operation="pow",
        index=index,
        value=value,
    )


def cast_out_of_range(index: Index, value: float, dtype: DType, /) -> CastRangeError:
    """The error of a cast to integers, of a value that they do not hold.

    Args:
        index: of the first such element.
        value: its real part.
        dtype: I32 or I64.

    >>> from tensor_core import I32
    >>> print(cast_out_of_range((2,), 1e10, I32))
    cast: element (2,) is 10000000000.0, out of range for I32; accepted: -2147483648 to 2147483647; or
    overflow='saturate' or 'wrap'
    """
    bits = 8 * dtype.itemsize
    return CastRangeError(
        f"cast: element {index} is {value!r}, out of range for {dtype}; accepted: {-(2 ** (bits - 1))} to "
        f"{2 ** (bits - 1) - 1}; or overflow='saturate' or 'wrap'",
        index=index,
        value=value,
        dtype=dtype,
    )


def number_out_of_range(operation: str, value: complex, dtype: DType, /) -> CastRangeError:
    """The error of a Python number beside a tensor of integers that do not hold it.

    >>> from tensor_core import I32
    >>> print(number_out_of_range("add", 2**31, I32))
    add: the number 2147483648 does not fit I32; convert the tensor to a wider dtype first
    >>> print(number_out_of_range("add", 2**300, I32))
    add: the number of 301 bits does not fit I32; convert the tensor to a wider dtype first
    """
    long = isinstance(value, int) and value.bit_length() > 256
    shown = f"of {value.bit_length()} bits" if long and isinstance(value, int) else str(value)
    return CastRangeError(
        f"{operation}: the number {shown} does not fit {dtype.name}; convert the tensor to a wider dtype first",
        value=value,
    )


def out_of_range(
    operation: str, place: str, value: int, axis: str, low: int, high: int, /, **fields: object
) -> IndexingError:
    """The error of an index value outside ``low`` to ``high``, for kernels that have found one.

    Args:
        operation: what the user called.
        place: where the value stands, such as "indices[0, 2]".
        value: the first such value in column-major order of the indices.
        axis: what it indexes, such as "axis 1 of extent 3".
        low: smallest value accepted.
        high: largest; below ``low`` if none is.
        fields: of the error.

    >>> print(out_of_range("take", "indices[0, 2]", 7, "axis 1 of extent 3", -3, 2))
    take: indices[0, 2] is 7, out of range for axis 1 of extent 3; accepted: -3 to 2
    """
    accepted = f"{low} to {high}" if low <= high else "none"
    return IndexingError(
        f"{operation}: {place} is {value}, out of range for {axis}; accepted: {accepted}",
        operation=operation,
        value=value,
        **fields,
    )


def index_out_of_range(operation: str, index: Index, value: int, extent: int, axis: int | None, /) -> IndexingError:
    """The error of an index from -N to N - 1 that is none.

    Args:
        operation: what the user called.
        index: where the first such one stands among the indices.
        value: what it is.
        extent: N.
        axis: the axis that is indexed; None where all elements are counted.

    >>> print(index_out_of_range("take", (0, 2), 7, 3, 1))
    take: indices[0, 2] is 7, out of range for axis 1 of extent 3; accepted: -3 to 2
    """
    what = f"axis {axis} of extent {extent}" if axis is not None else f"{extent} elements"
    low, high = (-extent, extent - 1) if extent else (0, -1)
    return out_of_range(operation, _named(index), value, what, low, high, axis=axis, position=index)


def slice_out_of_range(
    operation: str, index: Index, value: int, axis: int, extent: int, size: int, from_end: bool, /
) -> IndexingError:
    """The error of a start of a slice that does not lie inside.

    Args:
        operation: what the user called.
        index: where the first such one stands among the indices.
        value: what it is.
        axis: along which the slice starts there.
        extent: of the axis.
        size: of the slice along it.
        from_end: whether negative starts count from the end.

    >>> print(slice_out_of_range("gather", (), 7, 1, 3, 2, False))
    gather: the index is 7, out of range for axis 1 of extent 3 and slice size 2; accepted: 0 to 1
    """
    what = f"axis {axis} of extent {extent}" + (f" and slice size {size}" if size != 1 else "")
    low = -extent if from_end else 0
    return out_of_range(operation, _named(index), value, what, low, extent - size, axis=axis, position=index)


def start_out_of_range(operation: str, axis: int, start: int, extent: int, size: int, /) -> IndexingError:
    """The error of a start of the one slice of a dynamic slice that does not lie inside.

    >>> print(start_out_of_range("dynamic_slice", 0, 4, 5, 2))
    dynamic_slice: starts[0] is 4, out of range for axis 0 of extent 5 and size 2; accepted: 0 to 3
    """
    found = f"axis {axis} of extent {extent} and size {size}"
    return out_of_range(operation, f"starts[{axis}]", start, found, 0, extent - size, axis=axis, position=(axis,))


def _named(index: Index) -> str:
    """An element of the indices, for a message."""
    return f"indices[{', '.join(map(str, index))}]" if index else "the index"
