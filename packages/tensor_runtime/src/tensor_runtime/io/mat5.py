"""MAT files of version 5, on the standard library: variables in column-major order, as tensors have them.

A file is a header of 128 bytes, then elements: a type and a length of 4 bytes each, and the content, which may be
elements again, or compressed. A variable is an element of flags, extents, name, real part and perhaps imaginary part.
MATLAB stores numbers in the smallest type that holds them; the class in the flags says what they are.

Source: MathWorks, "MAT-File Format", version 5.
"""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO, Final, NamedTuple

from tensor_core.dtypes import Bool
from tensor_core.errors import DTypeError, SaveError, shortened
from tensor_core.files.atomic_write import write_pieces
from tensor_core.files.blocks import Bytes, Entry, Found, Outgoing, Refused
from tensor_core.files.element_types import ELEMENT_TYPES, swap_bytes
from tensor_core.files.formats import check_size
from tensor_core.files.source import Source
from tensor_core.shapes import element_count

HEADER_BYTES: Final = 128
_TEXT: Final = b"MATLAB 5.0 MAT-file, created by ironstride"
_MATRIX, _COMPRESSED = 14, 15
_INT8, _INT32, _UINT32, _UTF8 = 1, 5, 6, 16
_STORED: Final = {1: "b", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 7: "f", 9: "d", 12: "q", 13: "Q"}
_CLASSES: Final = {
    6: "float64", 7: "float32", 8: "int8", 9: "uint8", 10: "int16", 11: "uint16", 12: "int32", 13: "uint32",
    14: "int64", 15: "uint64",
}  # fmt: skip
_OPAQUE: Final = 17
_OTHER_CLASSES: Final = {1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 16: "function_handle"}
_OTHERS: Final = {
    "cell": "a cell array", "struct": "a structure", "object": "an object", "char": "text",
    "sparse": "a sparse matrix, of which full(x) in MATLAB makes a matrix", "function_handle": "a function",
}  # fmt: skip
_CODES: Final = {
    "float64": "d", "float32": "f", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i",
    "uint32": "I", "int64": "q", "uint64": "Q", "bool": "B",
}  # fmt: skip
_TYPE_OF: Final = {code: number for number, code in _STORED.items()}
_CLASS_OF: Final = {name: number for number, name in _CLASSES.items()}
_COMPLEX, _LOGICAL = 0x08, 0x02  # flags
_LONGEST: Final = 2**31 - 1  # bytes of a variable
_HEAD: Final = 4096  # bytes that hold flags, extents and name; MATLAB's names have up to 63
_PADDING: Final = 8  # bytes; behind the last number are fewer
_RATIO: Final = 1032  # bytes that one deflated byte can stand for


class _Part(NamedTuple):
    """Numbers within an element."""

    code: str
    start: int
    nbytes: int


def write(
    file: BinaryIO, tensors: Mapping[str, Outgoing], shapes: Mapping[str, tuple[int, ...]], /, *, compressed: bool
) -> None:
    """Write a file.

    Args:
        file: open for writing.
        tensors: by names that MATLAB has.
        shapes: of the variables, of rank 2 and more.
        compressed: deflate each variable.

    Raises:
        SaveError: a variable of 2 GiB or more.

    >>> import io
    >>> from tensor_runtime.io.blocks import TensorOutgoing
    >>> write(file := io.BytesIO(), {"x": TensorOutgoing("save", zeros(3))}, {"x": (3, 1)}, compressed=False)
    >>> len(file.getvalue())
    216
    """
    file.write(_TEXT.ljust(116) + bytes(8) + struct.pack("=H", 0x0100) + struct.pack("=H", 0x4D49))
    for name, x in tensors.items():
        pieces = list(_variable(name, x, shapes[name]))
        length = sum(map(len, pieces))
        if length > _LONGEST:
            raise SaveError(
                f"save: {name!r} takes {length} bytes, and version 5 holds 2 GiB; format='mat73' holds more"
            )
        head = struct.pack("=2I", _MATRIX, length)
        if compressed:
            packer = zlib.compressobj()
            packed = [packer.compress(piece) for piece in (head, *pieces)] + [packer.flush()]
            write_pieces(file, [struct.pack("=2I", _COMPRESSED, sum(map(len, packed))), *packed])
        else:
            write_pieces(file, [head, *pieces])


def entries(source: Source, /) -> dict[str, Found]:
    """The variables of a file, of which structures, cells, text and sparse matrices are no tensors.

    Raises:
        FormatError: it is no file of version 5, or claims other sizes than it has.

    >>> import tempfile
    >>> from tensor_runtime.io.blocks import TensorOutgoing
    >>> with tempfile.NamedTemporaryFile(buffering=0) as file:
    ...     write(file, {"x": TensorOutgoing("save", zeros(3))}, {"x": (3, 1)}, compressed=True)
    ...     with Source(file.name) as source:
    ...         entries(source)["x"].shape
    (3, 1)
    """
    if is_version_4(source.read(0, min(source.size, HEADER_BYTES), "the header")):
        raise source.malformed(
            "a MAT file of version 4; accepted: 5 and 7.3; in MATLAB, load it and save(..., '-v7'), in Python, "
            "asarray(scipy.io.loadmat(path)[name])"
        )
    header = source.read(0, HEADER_BYTES, "the header")
    little = header[126:128] == b"IM"
    if not little and header[126:128] != b"MI":
        raise source.malformed("no MAT file of version 5: the header does not end in IM or MI", 126)
    mark = "<" if little else ">"
    if struct.unpack(mark + "H", header[124:126])[0] != 0x0100:
        raise source.malformed(f"version {header[124:126]!r}; accepted: 5 (0x0100), and 7.3, which is HDF5", 124)
    swapped = little != (sys.byteorder == "little")
    found: dict[str, Found] = {}
    position = HEADER_BYTES
    while position < source.size:
        kind, length = struct.unpack(mark + "2I", source.read(position, 8, "the tag of an element"))
        start = position + 8
        if start + length > source.size:
            raise source.malformed(f"an element claims {length} bytes", position)
        entry: Found | None = None
        if kind == _MATRIX:
            entry = _entry(source, partial(_plain, source, start, length), mark, swapped, length, start)
        elif kind == _COMPRESSED:
            inner = bytes(_inflated(source, start, length, None, 0, 8))
            if len(inner) == 8 and struct.unpack(mark + "I", inner[:4])[0] == _MATRIX:
                claimed = struct.unpack(mark + "I", inner[4:])[0]
                if claimed > _RATIO * length:
                    raise source.malformed(f"a variable claims {claimed} bytes of {length}", position)
                read = partial(_inflated, source, start, length, 8 + claimed)
                entry = _entry(source, _behind_tag(read), mark, swapped, claimed, None)
        if entry is not None:
            if entry.name in found:
                raise source.malformed(f"two variables are called {entry.name!r}", position)
            found[entry.name] = entry
        position = start + length + (-length % 8 if kind != _COMPRESSED else 0)
    return found


def is_version_4(header: Bytes, /) -> bool:
    """Whether a file starts as those of version 4 do: a number MOPT, whose digits stand for machine and type.

    >>> is_version_4(struct.pack("<5i", 0, 2, 3, 0, 2)), is_version_4(b"MATLAB 5.0 MAT-file, made by hand")
    (True, False)
    """
    for mark in "<>" if len(header) >= 20 else "":
        kind, rows, columns, imaginary, length = struct.unpack(mark + "5i", header[:20])
        if 0 <= kind < 5000 and not kind // 100 % 10 and min(rows, columns) >= 0 and imaginary in (0, 1) and length > 0:
            return True
    return False


def _variable(name: str, x: Outgoing, shape: tuple[int, ...]) -> Iterator[Bytes]:
    component = "uint8" if x.dtype is Bool else x.dtype.component.numpy_name
    is_complex = x.dtype.kind == "complex"
    flags = (_COMPLEX if is_complex else 0) | (_LOGICAL if x.dtype is Bool else 0)
    yield struct.pack("=4I", _UINT32, 8, flags << 8 | _CLASS_OF[component], 0)
    yield from _element(
        _INT32, struct.pack(f"={len(shape)}i", *shape) if max(shape) < 2**31 else _too_long(name, shape)
    )
    yield from _element(_INT8, name.encode("ascii"))
    memory = x.in_order("F")
    code = _CODES[component]
    if is_complex:
        numbers = memoryview(memory).cast("B").cast(code) if memory else memoryview(b"")  # type: ignore[call-overload]
        for part in (0, 1):
            yield from _element(_TYPE_OF[code], numbers[part::2].tobytes())
    else:
        yield from _element(_TYPE_OF[code], memory)


def _too_long(name: str, shape: tuple[int, ...]) -> bytes:
    raise SaveError(f"save: {name!r} has shape {shape}, and version 5 holds extents below 2**31; format='mat73' does")


def _element(kind: int, content: Bytes) -> Iterator[Bytes]:
    yield struct.pack("=2I", kind, min(len(content), 2**32 - 1))
    yield content
    yield bytes(-len(content) % 8)


def _plain(source: Source, start: int, length: int, at: int, count: int) -> bytearray:
    return source.read(start + at, max(min(count, length - at), 0), "a variable")


def _inflated(source: Source, start: int, length: int, whole: int | None, at: int, count: int) -> bytearray:
    """Bytes of what a compressed element stands for, of which a variable takes ``whole``; fewer where it ends."""
    to_the_end = whole is not None and at + count > whole - _PADDING
    packed, inflater = source.read(start, length, "a compressed variable"), zlib.decompressobj()
    try:
        found = bytearray(inflater.decompress(packed, at + count)[at:])
        if to_the_end:  # where its check sum is
            inflater.decompress(inflater.unconsumed_tail, _PADDING)
    except zlib.error as error:
        raise source.malformed(f"a variable cannot be decompressed: {error}", start) from None
    if to_the_end and not inflater.eof:
        raise source.malformed(f"a variable of {whole} bytes is cut short, or longer when decompressed", start)
    return found


def _behind_tag(read: Callable[[int, int], bytearray]) -> Callable[[int, int], bytearray]:
    return lambda at, count: read(at + 8, count)


def _part(source: Source, head: bytearray, mark: str, at: int, where: int) -> tuple[int, int, int, int]:
    """Type, first byte and length of the element at an offset, and where the next one is."""
    if at + 8 > len(head):
        raise source.malformed("a variable ends within its header", where)
    first, second = struct.unpack(mark + "2I", head[at : at + 8])
    if first >> 16:  # a short element: both numbers in 4 bytes, the content in the next 4
        return first & 0xFFFF, at + 4, min(first >> 16, 4), at + 8
    return first, at + 8, second, at + 8 + second + -second % 8


def _named(source: Source, head: bytearray, mark: str, at: int, where: int) -> tuple[str, int]:
    """The name at an offset, and where the next element is."""
    kind, start, count, following = _part(source, head, mark, at, where)
    name = bytes(head[start : start + count]).decode("latin-1" if kind == _INT8 else "utf-8", "replace")
    if kind not in (_INT8, _UTF8) or not name.isascii() or start + count > len(head):
        raise source.malformed(f"a variable is called {shortened(name)}", where)
    return name, following


def no_tensor(source: Source, name: str, kind: str, /) -> Refused:
    """A variable of a class without numbers of its own, which is passed over where all tensors are read.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file, Source(file.name) as source:
    ...     str(no_tensor(source, "s", "char").error).partition(": ")[2].partition(": ")[2]
    "variable 's' is text; accepted: numbers and logical values"
    """
    what = _OTHERS.get(kind, f"an object of class {shortened(kind)}")
    error = DTypeError(f"load: {source.shown}: variable {name!r} is {what}; accepted: numbers and logical values")
    return Refused(name, error, is_tensor=False)


def _entry(
    source: Source, read: Callable[[int, int], bytearray], mark: str, swapped: bool, length: int, start: int | None
) -> Found | None:
    """A variable whose content ``read`` gives, by offset and count; None for what belongs to MATLAB itself."""
    head = read(0, _HEAD)
    where = start if start is not None else 0
    kind, at, count, following = _part(source, head, mark, 0, where)
    if kind != _UINT32 or count != 8 or at + count > len(head):
        raise source.malformed("a variable does not start with its flags", where)
    flags = struct.unpack(mark + "I", head[at : at + 4])[0]
    number_class = flags & 0xFF
    if number_class == _OPAQUE:  # without extents: strings, tables, dates
        name, following = _named(source, head, mark, following, where)
        _, following = _named(source, head, mark, following, where)  # of the system of types
        return no_tensor(source, name, _named(source, head, mark, following, where)[0])
    kind, at, count, following = _part(source, head, mark, following, where)
    if kind not in (_INT32, _UINT32) or count % 4 or not 8 <= count <= 256 or at + count > len(head):
        raise source.malformed("a variable has no extents", where)
    shape = struct.unpack(f"{mark}{count // 4}i", head[at : at + count])
    name, following = _named(source, head, mark, following, where)
    if not name:  # what functions and objects of the file refer to
        return None
    if number_class not in _CLASSES:
        return no_tensor(source, name, _OTHER_CLASSES.get(number_class, str(number_class)))
    if min(shape) < 0:
        raise source.malformed(f"variable {name!r} has shape {shape}", where)
    own, is_complex = _CLASSES[number_class], bool(flags >> 8 & _COMPLEX)
    if flags >> 8 & _LOGICAL and own == "uint8":
        own = "bool"
    whole = {"float64": "complex128", "float32": "complex64"}.get(own, "") if is_complex else own
    if not whole:
        return Refused(name, source.malformed(f"variable {name!r} is complex, of class {own}", where))
    parts: list[_Part] = []
    for _ in range(2 if is_complex else 1):
        if following + 8 > len(head):
            head = head.ljust(following) + read(following, 8) if following + 8 <= length else head
        kind, at, count, following = _part(source, head, mark, following, where)
        code = _STORED.get(kind, "")
        if not code or element_count(shape) * array(code).itemsize != count or at + count > length:
            raise source.malformed(f"variable {name!r} of shape {shape} has {count} bytes of type {kind}", where)
        parts.append(_Part(code, at, count))
    check_size(source, element_count(shape) * ELEMENT_TYPES[whole].itemsize, name)
    direct = start is not None and not is_complex and parts[0].code == _CODES[own]
    numbers = partial(_numbers, source, read, parts, _CODES[own], swapped, where)
    if direct and start is not None:
        return Entry(
            name,
            ELEMENT_TYPES[whole],
            swapped and array(parts[0].code).itemsize > 1,
            shape,
            "F",
            start + parts[0].start,
            partial(read, parts[0].start, parts[0].nbytes),
        )
    return Entry(name, ELEMENT_TYPES[whole], False, shape, "F", None, numbers)


def _numbers(
    source: Source, read: Callable[[int, int], bytearray], parts: list[_Part], code: str, swapped: bool, where: int
) -> bytearray | memoryview:
    """Numbers as the class has them; real and imaginary parts side by side."""
    columns = []
    for part in parts:
        content = read(part.start, part.nbytes)
        if len(content) != part.nbytes:
            raise source.malformed(f"a variable ends after {len(content)} of {part.nbytes} bytes", where)
        stored: array[Any] = array(part.code)
        if swapped and stored.itemsize > 1:
            swap_bytes(content, stored.itemsize)
        stored.frombytes(content)
        try:
            columns.append(stored if part.code == code else array(code, stored))
        except (OverflowError, TypeError) as error:
            raise source.malformed(f"a variable has numbers that its class does not hold: {error}", where) from None
    if len(columns) == 1:
        return memoryview(columns[0]).cast("B") if columns[0] else bytearray()
    whole = array(code, bytes(2 * len(columns[0]) * columns[0].itemsize))
    whole[::2], whole[1::2] = columns
    return memoryview(whole).cast("B") if whole else bytearray()
