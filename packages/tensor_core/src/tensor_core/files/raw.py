"""Raw files: elements and nothing else, as Fortran, C and Julia write them. Order and byte order are always said."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any, Final, Literal

from tensor_core.dtypes import DType, as_dtype
from tensor_core.errors import ArgumentError, DTypeError, shortened
from tensor_core.files.blocks import Bytes, Entry, Outgoing
from tensor_core.files.element_types import ELEMENT_TYPES, ElementType, swap_bytes
from tensor_core.files.source import LARGEST, Source
from tensor_core.shapes import Order, element_count

ByteOrder = Literal["little", "big"]
ORDERS: Final = ("F", "C")
BYTE_ORDERS: Final = ("little", "big")


def encode(x: Outgoing, order: Order, byteorder: ByteOrder, /) -> Iterator[Bytes]:
    """The one piece of a file.

    >>> from tensor_core import HostTensor
    >>> from tensor_core.files.blocks import HostOutgoing
    >>> bytes(next(encode(HostOutgoing(HostTensor.from_nested([1, 2], "I32")), "F", "big"))).hex()
    '0000000100000002'
    """
    memory = x.in_order(order)
    if byteorder != sys.byteorder and x.dtype.component.itemsize > 1:
        memory = bytearray(memory)
        swap_bytes(memory, x.dtype.component.itemsize)
    yield memory


def entry_of(
    source: Source, shape: tuple[int, ...], element: ElementType, order: Order, offset: int, byteorder: ByteOrder, /
) -> Entry:
    """The tensor that a caller says is there.

    Raises:
        FormatError: it reaches beyond the end of the file.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file, Source(file.name) as source:
    ...     entry_of(source, (0,), ELEMENT_TYPES["int8"], "F", 0, "little").nbytes
    0
    """
    nbytes = element_count(shape) * element.itemsize
    if nbytes > LARGEST or offset + nbytes > source.size:
        raise source.malformed(
            f"{element.shown} {shape} takes {nbytes} bytes, and {max(source.size - offset, 0)} are there", offset
        )
    swapped = byteorder != sys.byteorder and element.component > 1
    return Entry("", element, swapped, shape, order, offset, partial(source.read, offset, nbytes, "the elements"))


def element_of(operation: str, wanted: Any, /) -> ElementType:
    """The element type that a caller says a file has: one of ours, or a name such as "float16".

    Raises:
        DTypeError: there is none of that name.

    >>> element_of("load_raw", "uint8").itemsize, element_of("load_raw", "C64").name
    (1, 'complex128')
    """
    if isinstance(wanted, str) and wanted in ELEMENT_TYPES:
        return ELEMENT_TYPES[wanted]
    try:
        own: DType = as_dtype(wanted)
    except DTypeError:
        raise DTypeError(
            f"{operation}: found {shortened(wanted)}; accepted: our dtypes, and {', '.join(sorted(ELEMENT_TYPES))}"
        ) from None
    return ELEMENT_TYPES[own.numpy_name]


def check_asked(operation: str, order: object, byteorder: object, offset: object = 0, /) -> None:
    """Raise an error unless elements without a header can lie so.

    Raises:
        ArgumentError: another order or byte order, or no number of bytes.

    >>> check_asked("load_raw", "F", "little", 16)
    """
    check_choice(operation, "order", order, ORDERS)
    check_choice(operation, "byteorder", byteorder, BYTE_ORDERS)
    if type(offset) is not int or offset < 0:
        raise ArgumentError(f"{operation}: offset is {shortened(offset)}; accepted: a number of bytes, 0 or more")


def check_choice(operation: str, what: str, value: object, accepted: tuple[str, ...], /) -> None:
    """Raise an error unless a word is one of those accepted.

    Raises:
        ArgumentError: it is none.

    >>> check_choice("save", "order", "F", ORDERS)
    """
    if not isinstance(value, str) or value not in accepted:
        listed = ", ".join(map(repr, accepted))
        raise ArgumentError(f"{operation}: {what} is {shortened(value)}; accepted: {listed}", operation=operation)
