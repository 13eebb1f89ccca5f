"""Algebras: what a contraction adds and multiplies with, in place of + and ×.

| algebra | sum | product | zero | one | dtypes |
|---|---|---|---|---|---|
| ``PLUS_TIMES`` | a + b; of Bool, or | a × b; of Bool, and | 0 | 1 | all |
| ``MAX_PLUS`` | the larger | a + b | -inf | 0 | F32, F64 |
| ``MIN_PLUS`` | the smaller | a + b | inf | 0 | F32, F64 |
| ``MAX_TIMES`` | the larger | a × b | 0 | 1 | F32, F64 |
| ``OR_AND`` | or | and | False | True | Bool |

Zero is the sum of no terms. A NaN among the terms gives NaN, and so does -inf + inf, or 0 × inf; the sign of a zero
is free. Integers have no infinity, and sums of them wrap, so max-plus and min-plus of them would be no semirings;
convert to F64 first. ``MAX_TIMES`` is a semiring on numbers that are not negative; of others it gives the largest
product, also where that is below its zero.

Contractions of what is no semiring depend on the order in which they are made: negative numbers in ``MAX_TIMES``, and
an algebra's zero beside infinity. A label that one operand alone has is summed first: the larger of 0 and 1 times inf
is inf, where the larger of 0 × inf and 1 × inf, as slices of that label give it, is NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tensor_core.dtypes import ALL, DTYPES, REAL_FLOATING, Bool, DType, Element, as_dtype
from tensor_core.errors import ArgumentError, DTypeError, shortened
from tensor_core.scalar_conversion import to_element


class Semiring:
    """Two operations on elements, with the neutral element of each.

    Immutable, and each exists once, also after a copy or an unpickling: compared and hashed by identity.

    Attributes:
        name: in words.
        accepts: dtypes that it is defined for.
        addition: the elementwise operation that combines terms, by its name in the catalogue.
        multiplication: the one that makes a term of two elements.

    >>> MAX_PLUS, MAX_PLUS.addition, MAX_PLUS.multiplication
    (Semiring('max_plus'), 'maximum', 'add')
    """

    __slots__ = ("_one", "_zero", "accepts", "addition", "multiplication", "name")
    name: str
    accepts: frozenset[DType]
    addition: str
    multiplication: str
    _zero: complex  # in Python's narrowest type
    _one: complex

    def __init__(self, *arguments: object, **options: object) -> None:
        raise ArgumentError(f"Semiring: making one is not offered; accepted: {_names()} of tensor_runtime.algebras")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Semiring is immutable")

    def __repr__(self) -> str:
        return f"Semiring({self.name!r})"

    def __reduce__(self) -> str:
        return self.name.upper()

    def zero_of(self, dtype: object, /) -> Element:
        """The sum of no terms, as a Python number.

        Raises:
            DTypeError: a dtype that the algebra is not defined for.

        >>> MAX_PLUS.zero_of("F64"), PLUS_TIMES.zero_of("C64"), OR_AND.zero_of(bool)
        (-inf, 0j, False)
        """
        return to_element(self._zero, self._accepted(dtype))

    def one_of(self, dtype: object, /) -> Element:
        """The product of no factors, as a Python number.

        Raises:
            DTypeError: a dtype that the algebra is not defined for.

        >>> MAX_PLUS.one_of("F64"), PLUS_TIMES.one_of("I32")
        (0.0, 1)
        """
        return to_element(self._one, self._accepted(dtype))

    def _accepted(self, dtype: object) -> DType:
        found = as_dtype(dtype)
        if found not in self.accepts:
            raise DTypeError(f"{self.name}: dtype is {found.name}; accepted: {dtype_names(self.accepts)}", found=found)
        return found


def _semiring(
    name: str, addition: str, multiplication: str, zero: complex, one: complex, accepts: frozenset[DType]
) -> Semiring:
    made = object.__new__(Semiring)
    fields = {"name": name, "addition": addition, "multiplication": multiplication, "accepts": accepts}
    for field, value in {**fields, "_zero": zero, "_one": one}.items():
        object.__setattr__(made, field, value)
    return made


PLUS_TIMES: Final = _semiring("plus_times", "add", "multiply", False, True, ALL)
"""Ordinary sums of products; of Bool, the or of ands."""
MAX_PLUS: Final = _semiring("max_plus", "maximum", "add", float("-inf"), 0, REAL_FLOATING)
"""The largest sum: longest paths, most probable states from logarithms."""
MIN_PLUS: Final = _semiring("min_plus", "minimum", "add", float("inf"), 0, REAL_FLOATING)
"""The smallest sum: shortest paths."""
MAX_TIMES: Final = _semiring("max_times", "maximum", "multiply", 0, 1, REAL_FLOATING)
"""The largest product: most probable states."""
OR_AND: Final = _semiring("or_and", "logical_or", "logical_and", False, True, frozenset({Bool}))
"""Whether any pair holds: reachability."""

ALGEBRAS: Final = (PLUS_TIMES, MAX_PLUS, MIN_PLUS, MAX_TIMES, OR_AND)
"""Every algebra there is."""


def check_algebra(operation: str, algebra: object, /) -> None:
    """Refuse what is no algebra.

    Raises:
        ArgumentError: it is something else.

    >>> check_algebra("dot_general", MIN_PLUS)
    """
    if not isinstance(algebra, Semiring):
        raise ArgumentError(
            f"{operation}: algebra is {shortened(algebra)}; accepted: {_names()} of tensor_runtime.algebras",
            operation=operation,
        )


def undefined_for(operation: str, algebra: Semiring, dtypes: Sequence[DType], /) -> DTypeError:
    """The error about operands whose elements an algebra does not have.

    >>> from tensor_core import C64, F64, I64
    >>> print(undefined_for("einsum", MAX_PLUS, [I64, I64]))
    einsum: operands are I64, I64; accepted by the algebra max_plus: F32, F64 (convert() first)
    >>> print(undefined_for("einsum", OR_AND, [I64] * 100))
    einsum: 100 operands are I64; accepted by the algebra or_and: Bool (not_equal(x, 0) makes truths)
    >>> print(undefined_for("einsum", MIN_PLUS, [F64, C64]))
    einsum: operands are F64, C64; accepted by the algebra min_plus: F32, F64 (real(), imag() or abs() first)
    """
    kinds = list(dict.fromkeys(dtypes))
    found = f"operands are {', '.join(dtype.name for dtype in dtypes)}"
    if len(dtypes) > 4:
        found = f"{len(dtypes)} operands are {', '.join(dtype.name for dtype in kinds)}"
    if Bool in algebra.accepts:
        remedy = "not_equal(x, 0) makes truths"
    elif any(dtype.kind == "complex" for dtype in kinds):
        remedy = "real(), imag() or abs() first"
    else:
        remedy = "convert() first"
    return DTypeError(
        f"{operation}: {found}; accepted by the algebra {algebra.name}: {dtype_names(algebra.accepts)} ({remedy})",
        operation=operation,
    )


def dtype_names(dtypes: Iterable[DType], /) -> str:
    """Names for a message, in the order of the element types.

    >>> dtype_names(MAX_PLUS.accepts)
    'F32, F64'
    """
    return ", ".join(dtype.name for dtype in DTYPES if dtype in dtypes)


def _names() -> str:
    return ", ".join(algebra.name.upper() for algebra in ALGEBRAS)
