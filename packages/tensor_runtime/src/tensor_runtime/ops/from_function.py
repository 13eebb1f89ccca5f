"""Tensors of what a Python function says: ``tabulate`` and ``from_function``.

The function is called once for every element and its numbers are copied one by one: slow, some hundred nanoseconds
each and the function besides. Arithmetic on ``arange`` or ``linspace`` is the fast way where a formula will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, SupportsIndex

from tensor_core.dtypes import Bool, DType, DTypeLike
from tensor_core.errors import ArgumentError, DTypeError
from tensor_core.host.tensor import HostTensor
from tensor_core.shapes import Shape, as_shape, element_count
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.dispatch.spec import plain_operand
from tensor_runtime.ops.creation import natural_dtype
from tensor_runtime.ops.host_data import as_dtype_or_none
from tensor_runtime.placement import CPU, Placement
from tensor_runtime.static_types.creation import typed_from_function, typed_tabulate
from tensor_runtime.tensors.tensor import Number, Tensor
from tensor_runtime.tensors.transfer import upload


@typed_tabulate
def tabulate(
    n: int, f: Callable[[int], Number], /, *, dtype: DTypeLike | None = None, placement: Placement | str = CPU
) -> Tensor:
    """Rank-1 tensor [f(0), f(1), ..., f(n - 1)]; calls ``f`` n times, in that order.

    Args:
        n: how many elements; 0 or more.
        f: from an int to a Python number.
        dtype: None takes Bool, I64, F64 or C64 from the first number, and the others must be of its Python type.
        placement: where it goes.

    Returns:
        An owned tensor.

    Raises:
        ArgumentError: a negative n, no element and no dtype, or no function.
        DTypeError: ``f`` gives what is no Python number, or one of another kind than the dtype or the first number.
        CastRangeError: an integer outside the dtype's range.

    >>> tabulate(4, lambda i: i * i).to_numpy().tolist()
    [0, 1, 4, 9]
    """
    _check_callable("tabulate", f)
    count = whole("tabulate", "n", n)
    if count < 0:
        raise ArgumentError(f"tabulate: n is {count}; accepted: an int of 0 or more", operation="tabulate")
    return _tabulated("tabulate", as_shape(count), map(f, range(count)), as_dtype_or_none(dtype), placement)


@typed_from_function
def from_function(
    shape: SupportsIndex | Sequence[SupportsIndex],
    f: Callable[..., Number],
    /,
    *,
    dtype: DTypeLike | None = None,
    placement: Placement | str = CPU,
) -> Tensor:
    """Tensor whose element (i, j, ...) is f(i, j, ...).

    NumPy's ``fromfunction`` calls once with arrays of indices; this calls once per element, in column-major order:
    the first index runs fastest.

    Args:
        shape: extents; for rank 0, ``f`` is called without arguments.
        f: from one int per axis to a Python number.
        dtype: as for :func:`tabulate`.
        placement: where it goes.

    Returns:
        An owned tensor.

    Raises:
        ArgumentError: no element and no dtype, or no function.
        DTypeError: as for :func:`tabulate`.
        CastRangeError: as for :func:`tabulate`.

    >>> from_function((2, 2), lambda i, j: 10 * i + j).to_numpy().tolist()
    [[0, 1], [10, 11]]
    """
    _check_callable("from_function", f)
    wanted = as_shape(shape)
    return _tabulated("from_function", wanted, _called(f, wanted), as_dtype_or_none(dtype), placement)


def _called(f: Callable[..., Number], shape: Shape) -> Iterator[Any]:
    """f at every index, the first index fastest; nothing is listed before the first number is asked for."""
    if element_count(shape):
        for place in product(*(range(extent) for extent in reversed(shape))):
            yield f(*place[::-1])


def _check_callable(operation: str, f: object) -> None:
    if not callable(f):
        raise ArgumentError(f"{operation}: f is a {type(f).__name__}; accepted: a function", operation=operation)


def _tabulated(
    operation: str, shape: Shape, numbers: Iterator[Any], dtype: DType | None, placement: Placement | str
) -> Tensor:
    call_translated(
        operation, None, HostTensor.zeros, shape, Bool
    )  # refuses what no memory can hold, before the first call
    found = [plain_operand(number) for number in numbers]
    for position, number in enumerate(found):
        natural = natural_dtype(number)
        if natural is None:
            raise DTypeError(
                f"{operation}: call {position} gave a {type(number).__name__}; accepted: Python's bool, int, float and "
                "complex (item() makes one of a tensor)",
                operation=operation,
            )
        if dtype is None and type(number) is not type(found[0]):
            raise DTypeError(
                f"{operation}: call {position} gave a {type(number).__name__} and call 0 a {type(found[0]).__name__}; "
                "let the function give one type, or name a dtype",
                operation=operation,
            )
    if dtype is None:
        if not found:
            raise ArgumentError(
                f"{operation}: shape {shape} has no element to take a dtype from; name one", operation=operation
            )
        dtype = natural_dtype(found[0])
    return upload(HostTensor.from_flat(found, shape, dtype), placement)
