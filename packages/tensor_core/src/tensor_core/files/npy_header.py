r"""The header of ``.npy`` files: parsed strictly, written as NumPy writes it. No file is opened here.

A file is ``\x93NUMPY``, two version bytes, the header's length (2 bytes little-endian in version 1.0, 4 in 2.0 and
3.0), and the header: a Python dictionary of ``descr``, ``fortran_order`` and ``shape``, padded with spaces so that the
elements start at a multiple of 64 bytes. The dictionary is read with regular expressions and never evaluated, so
records, objects and whatever else is not one plain dtype are refused.

Source: NumPy Enhancement Proposal 1 and the documentation of ``numpy.lib.format``.
"""

from __future__ import annotations

import re
import sys
from typing import Final, NamedTuple

from tensor_core.dtypes import DTYPES, DType
from tensor_core.errors import DTypeError, FormatError
from tensor_core.files.element_types import ELEMENT_TYPES, ElementType
from tensor_core.foreign import name_of_typestr
from tensor_core.shapes import Order, element_count

MAGIC: Final = b"\x93NUMPY"
PREFIX_BYTES: Final = len(MAGIC) + 2  # magic and version
HEADER_LIMIT: Final = 10_000  # bytes of the dictionary; NumPy's own limit
RANK_LIMIT: Final = 64  # NumPy's
_ALIGNMENT: Final = 64
_GROWTH: Final = 21  # digits for which NumPy leaves room in the extent that grows when data are appended

_ORDER: Final = "<" if sys.byteorder == "little" else ">"
_LETTERS: Final = {"bool": "b", "int": "i", "float": "f", "complex": "c"}
_DESCRIPTIONS: Final[dict[DType, str]] = {
    dtype: f"{'|' if dtype.itemsize == 1 else _ORDER}{_LETTERS[dtype.kind]}{dtype.itemsize}" for dtype in DTYPES
}
_NO_NUMBERS: Final = tuple("OSaUTVMm")
_RECORDS: Final = re.compile(r"""\s*\{\s*(['"])descr\1\s*:\s*\[""")
_BLANKS: Final = " \t\r\n\f"  # Python's; a no-break space is none
_GAP: Final = f"[{_BLANKS}]*"
_KEY: Final = re.compile(rf"{_GAP}(['\"])([a-z_]{{1,20}})\1{_GAP}:{_GAP}")
_VALUES: Final = {
    "descr": re.compile(rf"(['\"])([^'\"\\]{{1,40}})\1{_GAP}"),
    "fortran_order": re.compile(rf"()(True|False){_GAP}"),
    "shape": re.compile(rf"()\(([0-9L,{_BLANKS}]*)\){_GAP}"),
}
_EXTENT: Final = re.compile(rf"{_GAP}(0|[1-9][0-9]{{0,18}})L?{_GAP}")  # files of Python 2 have 3L


class Header(NamedTuple):
    """What a header says."""

    element: ElementType
    swapped: bool  # the bytes of an element are in the other order than this machine's
    shape: tuple[int, ...]
    order: Order

    @property
    def nbytes(self) -> int:
        """Bytes of the elements that follow; unbounded."""
        return element_count(self.shape) * self.element.itemsize


def length_field(prefix: bytes, name: str, /) -> int:
    """Width in bytes of the length that follows the first 8 bytes of a file.

    Raises:
        FormatError: not the start of an ``.npy`` file, or of a version other than 1.0, 2.0 and 3.0.

    >>> length_field(MAGIC + bytes([1, 0]), "a.npy")
    2
    """
    if prefix[: len(MAGIC)] != MAGIC or len(prefix) < PREFIX_BYTES:
        raise FormatError(
            f"load: {name} does not start as an .npy file does: found {prefix!r}; np.save writes such files"
        )
    version = prefix[len(MAGIC)], prefix[len(MAGIC) + 1]
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise FormatError(f"load: {name} has format version {version[0]}.{version[1]}; accepted: 1.0, 2.0, 3.0")
    return 2 if version == (1, 0) else 4


def header_length(field: bytes, name: str, /) -> int:
    """The length of the header, from its field.

    Raises:
        FormatError: longer than the limit.

    >>> header_length(bytes([118, 0]), "a.npy")
    118
    """
    length = int.from_bytes(field, "little")
    if length > HEADER_LIMIT:
        raise FormatError(f"load: the header of {name} is {length} bytes long; accepted: up to {HEADER_LIMIT}")
    return length


def parse_header(text: bytes, name: str, /) -> Header:
    """Dtype, shape and order from the dictionary of a header.

    Raises:
        DTypeError: other elements; ``found`` is their type, "V" that of records.
        FormatError: anything but the three entries with plain values.

    >>> header = parse_header(b"{'descr': '>f8', 'fortran_order': True, 'shape': (3, 4), }   ", "a.npy")
    >>> header.element.name, header.swapped, header.shape, header.order
    ('float64', True, (3, 4), 'F')
    """
    decoded = text.decode("latin-1")  # all that is accepted is ASCII, in any encoding
    if _RECORDS.match(decoded):
        raise DTypeError(f"load: the elements of {name} are records; accepted: numbers of one type", found="V")
    found = _entries(decoded, name)
    text_of_type = found["descr"]
    element = ELEMENT_TYPES.get(name_of_typestr(text_of_type))
    if element is None or (text_of_type[:1] not in ("<", ">") and (text_of_type[:1] != "|" or element.component > 1)):
        accepted = ", ".join(f"{one.name} ({one.numpy_name}, {text!r})" for one, text in _DESCRIPTIONS.items())
        raise DTypeError(f"load: the elements of {name} are {text_of_type!r}; accepted: {accepted}", found=text_of_type)
    swapped = element.component > 1 and text_of_type[:1] != _ORDER
    return Header(
        element, swapped, _shape(found["shape"], text, name), "F" if found["fortran_order"] == "True" else "C"
    )


def is_no_number(typestr: str, /) -> bool:
    """Whether a type string of the array interface is that of text, objects, dates or records.

    >>> is_no_number("<U2"), is_no_number("V"), is_no_number("<f16")
    (True, True, False)
    """
    return typestr.lstrip("<>|=")[:1] in _NO_NUMBERS


def format_header(dtype: DType, shape: tuple[int, ...], order: Order = "F", /) -> bytes:
    """Everything before the elements in the order given, byte for byte as ``np.save`` writes it.

    Where row-major and column-major order agree (rank 0 and 1, no elements, at most one extent above 1), NumPy says
    ``fortran_order: False``.

    >>> from tensor_core import F32
    >>> format_header(F32, (2, 3))[10:70]
    b"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }  "
    """
    same = 0 in shape or sum(extent > 1 for extent in shape) <= 1
    row_major = same or order == "C"
    text = f"{{'descr': {_DESCRIPTIONS[dtype]!r}, 'fortran_order': {not row_major}, 'shape': {shape}, }}"
    if shape:
        text += " " * (_GROWTH - len(str(shape[0 if row_major else -1])))
    used = PREFIX_BYTES + 2 + len(text) + 1
    text += " " * (-used % _ALIGNMENT) + "\n"
    return MAGIC + bytes([1, 0]) + len(text).to_bytes(2, "little") + text.encode("ascii")


def _entries(text: str, name: str) -> dict[str, str]:
    """The three entries as text, each once, in any order."""
    body = text.strip(_BLANKS)
    position, end = 1, len(body) - 1
    found: dict[str, str] = {}
    if len(body) < 2 or body[0] != "{" or body[-1] != "}":
        raise _malformed(text, name)
    while position < end:
        key = _KEY.match(body, position, end)
        value = _VALUES[key[2]].match(body, key.end(), end) if key and key[2] in _VALUES else None
        if key is None or value is None or key[2] in found:
            raise _malformed(text, name)
        found[key[2]] = value[2]
        position = value.end()
        if position < end and body[position] != ",":
            raise _malformed(text, name)
        position += 1
        if not body[position:end].strip(_BLANKS):
            break
    if len(found) != len(_VALUES):
        raise _malformed(text, name)
    return found


def _shape(listed: str, text: bytes, name: str) -> tuple[int, ...]:
    if not listed.strip(_BLANKS):
        return ()
    parts = listed.split(",")
    matches = [_EXTENT.fullmatch(part) for part in (parts if parts[-1].strip(_BLANKS) else parts[:-1])]
    shape = tuple(int(match[1]) for match in matches if match)
    if len(parts) < 2 or not matches or len(shape) != len(matches):
        raise _malformed(text.decode("latin-1"), name)
    if len(shape) > RANK_LIMIT:
        raise FormatError(f"load: {name} has rank {len(shape)}; accepted: up to {RANK_LIMIT}")
    return shape


def _malformed(text: str, name: str) -> FormatError:
    shown = text if len(text) <= 120 else text[:117] + "..."
    return FormatError(
        f"load: the header of {name} is {shown!r}; accepted: a dictionary of 'descr' (one plain dtype), "
        "'fortran_order' and 'shape'"
    )
