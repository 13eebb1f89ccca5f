"""Values of other libraries: what can be told about them without importing anybody.

Scalars come as NumPy's, as arrays and tensors of rank 0 (ours among them), and as any class with Python's numeric
protocols. Arrays are told by their attributes. An element type that is none of ours is converted when a caller names
one that holds all its values, decided from the types alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import index as as_index

from tensor_core.dtypes import C32, C64, DTYPE_NAMES, DTYPES, F32, F64, I32, I64, Bool, DType, Element, dtype_of_name
from tensor_core.errors import BackendError, DTypeError, LossyConversionError, PlacementError, shortened
from tensor_core.promotion import can_convert
from tensor_core.static_types import Any, Final

_PLAIN: Final = frozenset({bool, int, float, complex})
# In this order: what is an integer says so by __index__, while __int__ would truncate a float; __float__ may drop an
# imaginary part.
_PROTOCOLS: Final[tuple[tuple[str, Callable[[Any], Element]], ...]] = (
    ("__index__", as_index),
    ("__float__", float),
    ("__complex__", complex),
)
_TRUTH: Final[tuple[tuple[str, Callable[[Any], Element]], ...]] = (("__bool__", bool),)
# No word on what the value is: a device that failed or is not read, a traced function that may not, no memory.
_OUR_FAILURES: Final = (BackendError, PlacementError, MemoryError)

_SMALL: Final = (I32, I64, F32, F64, C32, C64)
_HOLDERS: Final[dict[str, tuple[DType, ...]]] = {
    "int8": _SMALL,
    "uint8": _SMALL,
    "int16": _SMALL,
    "uint16": _SMALL,
    "uint32": (I64, F64, C64),
    "uint64": (F64, C64),  # rounds beyond 2**53, as I64 to F64 does
    "float16": (F32, F64, C32, C64),
    "bfloat16": (F32, F64, C32, C64),
}
_KINDS: Final = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}  # of the array interface


def dtypes_that_hold(name: str, /) -> tuple[DType, ...]:
    """Our element types that a type converts to, given by NumPy's name; none for what is no number.

    They hold every value of it, but for integers beyond 2**53 (I64 and uint64) in F64 and C64, which are rounded.

    >>> dtypes_that_hold("uint32"), dtypes_that_hold("float64"), dtypes_that_hold("str")
    ((I64, F64, C64), (F64, C64), ())
    """
    own = dtype_of_name(name)
    return _HOLDERS.get(name, ()) if own is None else tuple(dtype for dtype in DTYPES if can_convert(own, dtype))


def check_holds(operation: str, name: str, found: str, dtype: DType | None, /) -> DType:
    """The type that a caller named for an array whose element type is none of ours, or is ours with its bytes swapped.

    Args:
        operation: for the message.
        name: the array's element type by NumPy's name.
        found: the same as the array spells it, for the message.
        dtype: what the caller named; None for nothing.

    Raises:
        DTypeError: no type was named, or none of ours holds the array's.
        LossyConversionError: the one named does not hold all its values.

    >>> check_holds("asarray", "uint8", "uint8", I32)
    I32
    """
    accepted = dtypes_that_hold(name)
    if dtype is not None and dtype in accepted:
        return dtype
    listed = ", ".join(map(str, accepted))
    if accepted and dtype is not None:
        raise LossyConversionError(
            f"{operation}: {found} to {dtype} could lose values; accepted: {listed}; "
            f"x.astype({dtype.numpy_name!r}) does it explicitly",
            source=found,
            target=dtype,
        )
    remedy = f"dtype={accepted[0].name} converts it (accepted: {listed})" if accepted else "convert it first"
    if accepted and operation == "from_dlpack":  # which takes no dtype
        remedy = f"asarray(x, {accepted[0].name}) converts it (accepted: {listed})"
    raise DTypeError(
        f"{operation}: the element type is {found}; accepted: {DTYPE_NAMES}, in native byte order; {remedy}",
        found=found,
    )


def name_of_typestr(typestr: str, /) -> str:
    """NumPy's name for a type string of the array interface, of either byte order; "" for what is no number.

    >>> name_of_typestr(">u2"), name_of_typestr("|b1"), name_of_typestr("|b2"), name_of_typestr("<M8[s]")
    ('uint16', 'bool', '', '')
    """
    kind, length = _KINDS.get(typestr[1:2], ""), typestr[2:]
    if not kind or not (length.isascii() and length.isdecimal()) or (kind == "bool" and length != "1"):
        return ""
    return kind if kind == "bool" else f"{kind}{8 * int(length)}"


def is_masked_class(kind: type, /) -> bool:
    """Whether a class is NumPy's masked array, or derived from it.

    >>> is_masked_class(list)
    False
    """
    return any(base.__name__ == "MaskedArray" and base.__module__.startswith("numpy.ma") for base in kind.__mro__[:-1])


def refuse_masked(operation: str, value: object, /) -> None:
    """Raise an error for a masked array, or for its class: a tensor has no mask, and what lies under one is no value.

    Decided from the class alone, so that a program does not fail on the day when an element is masked for the first
    time.

    Raises:
        DTypeError: it is one.

    >>> refuse_masked("asarray", [1.0])
    """
    if is_masked_class(value if isinstance(value, type) else type(value)):
        raise DTypeError(
            f"{operation}: found a masked array, and a tensor has no mask; accepted: x.filled(value), which gives the "
            "masked elements a value, or x.data, which ignores the mask",
            operation=operation,
        )


def refuse_nulls(operation: str, value: Any, /) -> None:
    """Raise an error for a column of Arrow or Polars with elements that are missing, which are no value either.

    As arrays of NumPy these libraries give it NaN there, and so round whole numbers beyond 2**53.

    Raises:
        DTypeError: elements are missing.

    >>> refuse_nulls("asarray", [1.0])
    """
    found = getattr(value, "null_count", 0)
    count = found() if callable(found) else found
    if isinstance(count, int) and count > 0:
        raise DTypeError(
            f"{operation}: {type(value).__name__} has nulls ({count}), and a tensor has none; accepted: "
            "x.fill_null(value), which gives them a value",
            operation=operation,
        )


def shape_of(value: object, /) -> tuple[int, ...] | None:
    """The shape that an array or tensor tells; None for anything else.

    >>> shape_of(1.5) is None, shape_of(memoryview(bytes(3)))
    (True, (3,))
    """
    shape = getattr(value, "shape", None)
    return tuple(shape) if isinstance(shape, (tuple, list)) else None


def iterator_of(value: object, /) -> Iterator[Any] | None:
    """An iterator over what a user gives for a collection; None of what cannot be run along, as no array of rank 0 can.

    Classes do not tell: arrays of rank 0 have ``__iter__``, and refuse.

    >>> list(iterator_of("ij")), iterator_of(3)
    (['i', 'j'], None)
    """
    if not isinstance(value, Iterable) or shape_of(value) == ():
        return None
    try:
        return iter(value)
    except TypeError:
        return None


def own_dtype(value: object, /) -> DType | None:
    """The element type that an array or tensor of any library has, if it is one of ours.

    NumPy's scalars have none here: they stand for the Python numbers that they equal.

    >>> own_dtype(1.5) is None
    True
    """
    found = getattr(value, "dtype", None)
    if found is None or _is_numpy_scalar(value):
        return None
    if isinstance(found, DType):
        return found
    # NumPy's and JAX's have a name; PyTorch's are printed as torch.float32.
    name = getattr(found, "name", None)
    return dtype_of_name(name if isinstance(name, str) else str(found).rpartition(".")[2])


def python_number(value: object, /) -> Element:
    """The plain bool, int, float or complex that a number of any library stands for; nothing is ever truncated.

    NumPy's scalars count as numbers, arrays and tensors of rank 0 too, and so does what has ``__index__``,
    ``__float__`` or ``__complex__``.

    Raises:
        DTypeError: it is no number, or a masked one; strings are none, and arrays of rank 1 and more neither.

    >>> from fractions import Fraction
    >>> python_number(True), python_number(Fraction(5, 2))
    (True, 2.5)
    """
    if type(value) in _PLAIN:
        return value  # type: ignore[return-value]
    refuse_masked("element", value)
    shape = shape_of(value)
    if shape:
        raise DTypeError(
            f"element: found {type(value).__name__} of shape {shape}; accepted: bool, int, float, complex, and "
            "tensors or arrays of rank 0; stack() joins tensors of equal shapes along a new axis",
            shape=shape,
        )
    number = number_of(value)  # what no Python number equals is refused there
    if number is not None:
        return number
    failure: Exception | None = None
    if _is_numpy_scalar(value):  # a date, whose item() may be an integer, or text
        shape = None
        value = repr(value)
    elif shape is not None and callable(read := getattr(value, "_among_numbers", getattr(value, "item", None))):
        try:
            value = read()  # of our tensors the former, which reads nothing on a device
        except _OUR_FAILURES:
            raise
        except Exception as error:
            failure = error
        if type(value) in _PLAIN:
            return value  # type: ignore[return-value]
    kind = type(value)
    # A Bool stays one: its __index__ would make it an integer.
    for method, plain in _TRUTH if own_dtype(value) is Bool else _PROTOCOLS:
        if hasattr(kind, method):
            try:
                number = plain(value)
                return number if method != "__float__" else _with_imaginary_part(value, number)
            except _OUR_FAILURES:
                raise
            except Exception as error:  # each library has classes of its own
                failure = error
    found = shortened(value) if shape is None else f"{type(value).__name__} of rank 0"
    raise DTypeError(f"element: found {found}; accepted: bool, int, float, complex", value=value) from failure


def number_of(value: object, /) -> Element | None:
    """The plain bool, int, float or complex that a scalar of Python or NumPy equals; None for anything else.

    Scalars are plain numbers, instances of subclasses of int, float and complex, and NumPy's scalars, of every width:
    all lie on the host by nature, so nothing moves. No array or tensor is one, of whatever rank.

    Raises:
        DTypeError: a NumPy scalar that no Python float or complex equals, as one of extended precision may be.

    >>> class Price(float):
    ...     pass
    >>> number_of(Price(2.5)), number_of(True), number_of("2.5") is None
    (2.5, True, True)
    """
    if type(value) in _PLAIN:
        return value  # type: ignore[return-value]
    if isinstance(value, int):  # by the classes' own methods: a subclass may override them
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, complex):
        return complex.__complex__(value)
    if not _is_numpy_scalar(value):
        return None
    plain: Any = {"b": bool, "i": int, "u": int, "f": float, "c": complex}.get(value.dtype.kind)  # type: ignore[attr-defined]
    if plain is None:  # dates, strings, records
        return None
    found: Element = plain(value)
    if found != value and found == found:
        raise DTypeError(
            f"number: no Python {plain.__name__} equals this {type(value).__name__}; {plain.__name__}() rounds it",
            value=value,
        )
    return found


def _with_imaginary_part(value: Any, number: Element) -> Element:
    """The complex number instead of its real part, where ``__float__`` has dropped the other.

    Whatever ``__complex__`` raises passes: without it nobody knows whether the value is real.
    """
    if getattr(type(value), "__complex__", None) is None:
        return number
    whole = complex(value)
    return whole if whole.imag else number


def _is_numpy_scalar(value: object) -> bool:
    return any(kind.__name__ == "generic" and kind.__module__ == "numpy" for kind in type(value).__mro__[1:-1])
