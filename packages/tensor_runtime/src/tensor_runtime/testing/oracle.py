"""Oracles in plain Python for the conformance cases: slow, obvious, and without any array library.

Elements are Python numbers as ``tensor_core.HostTensor`` gives them, and results are rounded to their dtype by
``tensor_core.scalar_conversion.to_element``. Integer results wrap modulo 2**n.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Any, Final

from tensor_core.dtypes import I32, I64, Bool, DType
from tensor_core.host.tensor import HostTensor
from tensor_core.scalar_conversion import convert_scalar, to_element
from tensor_core.shapes import broadcast_shapes, element_count
from tensor_runtime.algebras import PLUS_TIMES, Semiring

Host = HostTensor[Any]
Index = tuple[int, ...]
_BITS = {I32: 32, I64: 64}


def indices(shape: Sequence[int], /) -> Iterator[Index]:
    """Every index of a shape in column-major order.

    >>> list(indices((2, 2)))
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    """
    return (index[::-1] for index in product(*(range(extent) for extent in reversed(shape))))


def tabulated(shape: Sequence[int], dtype: DType, rule: Callable[[Index], Any], /) -> Host:
    """The tensor whose element at each index is ``rule(index)``.

    >>> from tensor_core import I64
    >>> tabulated((2, 2), I64, lambda index: 10 * index[0] + index[1]).to_nested()
    [[0, 1], [10, 11]]
    """
    return HostTensor.from_flat([stored(rule(index), dtype) for index in indices(shape)], tuple(shape), dtype)


def stored(value: Any, dtype: DType, /) -> Any:
    """A number as an element of the dtype; integers wrap, and Bool asks whether it differs from 0.

    >>> stored(2**31, I32), stored(2, Bool)
    (-2147483648, True)
    """
    if dtype is Bool:
        return value != 0
    if dtype in _BITS:
        half = 1 << (_BITS[dtype] - 1)
        value = (int(value) + half) % (2 * half) - half
    return to_element(value, dtype)


def whole_numbers(shape: Sequence[int], dtype: DType, /, start: int = -3, modulus: int = 8) -> Host:
    """Small whole numbers that differ from element to element; complex ones have both parts, Bool alternates.

    >>> whole_numbers((3,), I64).to_nested()
    [-3, 2, -1]
    """
    count = element_count(tuple(shape))
    numbers: list[Any] = [start + (5 * position) % modulus for position in range(count)]
    if dtype is Bool:
        numbers = [number % 2 == 0 for number in numbers]
    elif dtype.kind == "complex":
        numbers = [complex(number, (number * 3) % 5 - 2) for number in numbers]
    return HostTensor.from_flat(numbers, tuple(shape), dtype)


def broadcast_index(index: Index, shape: Sequence[int], /) -> Index:
    """The element of an operand that a broadcast result reads at ``index``.

    >>> broadcast_index((4, 5, 6), (1, 7))
    (0, 6)
    """
    kept = index[len(index) - len(shape) :]
    return tuple(0 if extent == 1 else position for position, extent in zip(kept, shape, strict=True))


def elementwise(function: Callable[..., Any], dtype: DType, /, *operands: Host, computed: DType | None = None) -> Host:
    """``function`` of every tuple of elements, with right-aligned broadcasting.

    Args:
        function: Python numbers in, a Python number out.
        dtype: of the result.
        operands: any shapes that broadcast.
        computed: dtype to which the elements are converted first; None leaves them as they are.

    >>> from operator import add
    >>> x, y = HostTensor.from_nested([1, 2]), HostTensor.from_nested([10])
    >>> elementwise(add, I64, x, y).to_nested()
    [11, 12]
    """

    def rule(index: Index) -> Any:
        elements = [operand[broadcast_index(index, operand.shape)] for operand in operands]
        if computed is not None:
            pairs = zip(elements, operands, strict=True)
            elements = [convert_scalar(element, operand.dtype, computed) for element, operand in pairs]
        return function(*elements)

    return tabulated(broadcast_shapes(*[operand.shape for operand in operands]), dtype, rule)


def reduced(
    function: Callable[[list[Any]], Any], dtype: DType, operand: Host, axes: Sequence[int], keepdims: bool = False, /
) -> Host:
    """``function`` of the list of elements along the axes, in column-major order.

    >>> reduced(sum, I64, HostTensor.from_nested([[1, 2], [3, 4]]), (0,)).to_nested()
    [4, 6]
    """
    shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(operand.shape))
    along = tuple(extent if axis in axes else 1 for axis, extent in enumerate(operand.shape))

    def rule(index: Index) -> Any:
        return function([operand[tuple(i + j for i, j in zip(index, step, strict=True))] for step in indices(along)])

    kept = tabulated(shape, dtype, rule)
    if keepdims:
        return kept
    left = tuple(extent for axis, extent in enumerate(operand.shape) if axis not in axes)
    return HostTensor.from_flat(kept.to_flat(), left, dtype)


def contracted(
    dtype: DType,
    a: Host,
    b: Host,
    labels: tuple[Sequence[int], Sequence[int], Sequence[int]],
    /,
    algebra: Semiring = PLUS_TIMES,
) -> Host:
    """An algebra's sum of products over labelled axes; a label of extent 1 stretches.

    >>> x = HostTensor.from_nested([[1, 2], [3, 4]])
    >>> contracted(I64, x, x, ((0, 1), (1, 2), (0, 2))).to_nested()
    [[7, 10], [15, 22]]
    """
    of_a, of_b, out = labels
    extents: dict[int, int] = {}
    for label, extent in zip((*of_a, *of_b), (*a.shape, *b.shape), strict=True):
        extents[label] = extent if extents.get(label, 1) == 1 else extents[label]
    summed = [label for label in extents if label not in out]
    names = ("logical_or", "logical_and") if dtype is Bool else (algebra.addition, algebra.multiplication)
    combine, multiply = (_OPERATIONS[name] for name in names)

    def at(host: Host, of: Sequence[int], place: dict[int, int]) -> Any:
        element = host[tuple(0 if n == 1 else place[label] for label, n in zip(of, host.shape, strict=True))]
        return convert_scalar(element, host.dtype, dtype)

    def rule(index: Index) -> Any:
        place = dict(zip(out, index, strict=True))
        terms = []
        for step in indices([extents[label] for label in summed]):
            place.update(zip(summed, step, strict=True))
            terms.append(multiply(at(a, of_a, place), at(b, of_b, place)))
        return reduce(combine, terms) if terms else algebra.zero_of(dtype)

    return tabulated([extents[label] for label in out], dtype, rule)


def _extreme(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: x if x != x else y if y != y else choose(x, y)  # NaN wins


_OPERATIONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add,
    "multiply": operator.mul,
    "maximum": _extreme(max),
    "minimum": _extreme(min),
    "logical_or": lambda x, y: bool(x or y),
    "logical_and": lambda x, y: bool(x and y),
}
