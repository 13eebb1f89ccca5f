"""``.npz`` archives: named tensors, each a member ``NAME.npy`` of a ZIP file, stored or deflated.

Members that are stored are aligned, so that they can be mapped. Before a member is read, its size is compared with that
of the archive, and with what deflating can make of so many bytes; members that share bytes are refused. A member that
is wrong makes no other unreadable.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import partial
from typing import Any, BinaryIO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from tensor_core.errors import ArgumentError, DTypeError, FormatError, OutOfMemoryError, TensorError, shortened
from tensor_core.files import npy
from tensor_core.files.atomic_write import write_pieces
from tensor_core.files.blocks import Entry, Found, Outgoing, Refused
from tensor_core.files.npy_header import MAGIC, is_no_number
from tensor_core.files.source import Source
from tensor_core.shapes import Order

_SUFFIX: Final = ".npy"
_LOCAL: Final = struct.Struct("<4s5H3L2H")  # the header before each member
_ALIGNMENT: Final = 64
_PADDING: Final = 0xD935  # the extra field by which archives of Android align members
_ZIP64: Final = 20  # bytes of the extra field that zipfile puts first
_MOST: Final = 1032  # bytes that one byte of deflated data can stand for
_ENCRYPTED: Final = 1
_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")  # of an archive, and of one without members
_LONGEST_NAME: Final = 60_000


def write(file: BinaryIO, tensors: Mapping[str, Outgoing], /, *, order: Order = "F", compressed: bool = False) -> None:
    """Write an archive, equal for equal tensors: no time is noted.

    Raises:
        ArgumentError: a name that no member can have.

    >>> import io
    >>> from tensor_core import HostTensor
    >>> from tensor_core.files.blocks import HostOutgoing
    >>> write(archive := io.BytesIO(), {"x": HostOutgoing(HostTensor.from_nested([1.0]))})
    >>> ZipFile(archive).namelist()
    ['x.npy']
    """
    with ZipFile(file, "w", allowZip64=True) as archive:
        for name, x in tensors.items():
            info = ZipInfo(_member_name(name))
            info.compress_type = ZIP_DEFLATED if compressed else ZIP_STORED
            info.external_attr = 0o600 << 16
            before = file.tell() + _LOCAL.size + len(info.filename.encode("utf-8")) + _ZIP64 + 4
            padding = -before % _ALIGNMENT
            if not compressed:
                info.extra = struct.pack("<HH", _PADDING, padding) + bytes(padding)
            with archive.open(info, "w", force_zip64=True) as member:
                write_pieces(member, npy.encode(x, order))  # type: ignore[arg-type]


def entries(source: Source, /) -> dict[str, Found]:
    """What an archive holds, by the names of members without ``.npy``.

    Raises:
        FormatError: it is no such archive, or its members claim more bytes than it has.

    >>> import tempfile
    >>> from tensor_core import HostTensor
    >>> from tensor_core.files.blocks import HostOutgoing
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     write(file, {"x": HostOutgoing(HostTensor.from_nested([1.0]))})
    ...     file.flush()
    ...     with Source(file.name) as source:
    ...         entries(source)["x"].start % 64
    0
    """
    try:
        archive = ZipFile(source.file)
        members = archive.infolist()
    except OSError as error:
        raise source.unreadable(error) from error
    except Exception as error:  # zipfile lets errors of struct, of text and of arithmetic through
        raise source.malformed(f"no ZIP archive: {shortened(str(error))}", 0) from None
    start = bytes(source.read(0, 4, "the start of the archive"))
    if start not in _STARTS:  # zipfile looks at the end alone, and takes what was damaged for an empty archive
        raise source.malformed(f"no ZIP archive: it starts with {start!r}", 0)
    if sum(one.compress_size for one in members) > source.size:
        raise source.malformed("its members claim more bytes than it has, or share them")
    found: dict[str, Found] = {}
    for one in members:
        name = one.filename.removesuffix(_SUFFIX)
        if not name:
            raise source.malformed("a member has no name but '.npy'", one.header_offset)
        if name in found:
            raise source.malformed(f"two members are called {one.filename!r}", one.header_offset)
        try:
            found[name] = _entry(source, archive, one, name)
        except DTypeError as error:
            found[name] = Refused(name, error, is_tensor=not is_no_number(str(error.found)))
        except TensorError as error:
            found[name] = Refused(name, error, is_tensor=not _is_something_else(archive, one))
    return found


def _is_something_else(archive: ZipFile, info: ZipInfo) -> bool:
    """Whether a member is whole, and neither called nor begun as an array is."""
    if info.filename.endswith(_SUFFIX):
        return False
    try:
        with archive.open(info) as member:
            return _read(member, len(MAGIC)) != MAGIC
    except Exception:  # whatever zipfile lets through: it was damaged
        return False


def _entry(source: Source, archive: ZipFile, info: ZipInfo, name: str) -> Entry:
    what = f"{source.shown}, member {info.filename!r}"
    if info.flag_bits & _ENCRYPTED or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise source.malformed(
            f"member {info.filename!r} is {'encrypted' if info.flag_bits & _ENCRYPTED else 'compressed otherwise'}; "
            "accepted: stored or deflated",
            info.header_offset,
        )
    most = info.compress_size * (1 if info.compress_type == ZIP_STORED else _MOST)
    if info.file_size > most:
        raise source.malformed(
            f"member {info.filename!r} claims {info.file_size} bytes of {info.compress_size}", info.header_offset
        )
    try:
        with archive.open(info) as member:
            header, start = npy.read_header(partial(_read, member), what)
    except TensorError:
        raise
    except Exception as error:
        raise _broken(source, info, error) from None
    if info.file_size - start != header.nbytes:
        raise FormatError(
            f"load: {what} has {info.file_size - start} bytes of elements; its header, {header.element.shown} "
            f"{header.shape}, says {header.nbytes}",
            path=source.path,
            offset=info.header_offset,
        )
    position = _position(source, info) + start if info.compress_type == ZIP_STORED else None
    return npy.entry_of(header, name, position, partial(_elements, source, archive, info, start, header.nbytes))


def _elements(source: Source, archive: ZipFile, info: ZipInfo, start: int, wanted: int) -> bytearray:
    try:
        with archive.open(info) as member:
            _read(member, start)
            return npy.stream_elements(partial(_read, member), wanted, f"{source.shown}, member {info.filename!r}")
    except TensorError:
        raise
    except Exception as error:
        raise _broken(source, info, error) from None


def _read(member: Any, count: int) -> bytes:
    found: bytes = member.read(count)
    return found


def _broken(source: Source, info: ZipInfo, error: Exception) -> TensorError:
    if isinstance(error, OSError):
        return source.unreadable(error)
    if isinstance(error, MemoryError):
        return OutOfMemoryError(f"load: not enough memory for member {info.filename!r} of {source.shown}")
    return source.malformed(
        f"member {info.filename!r} cannot be read: {type(error).__name__}: {shortened(str(error))}", info.header_offset
    )


def _position(source: Source, info: ZipInfo) -> int:
    """Where the bytes of a stored member start; the header in front of them has names and fields of its own length."""
    fields = _LOCAL.unpack(bytes(source.read(info.header_offset, _LOCAL.size, "the header of a member")))
    start: int = info.header_offset + _LOCAL.size + fields[-2] + fields[-1]
    if start + info.compress_size > source.size:
        raise source.malformed(f"member {info.filename!r} reaches beyond the end", info.header_offset)
    return start


def _member_name(name: str) -> str:
    try:
        length = len(name.encode("utf-8"))
    except UnicodeEncodeError:
        length = 0
    if (
        not 0 < length <= _LONGEST_NAME
        or name.startswith("/")
        or "\0" in name
        or "\\" in name
        or name.endswith(_SUFFIX)
    ):
        raise ArgumentError(
            f"save: {shortened(name)} is no name of a tensor in an .npz archive; accepted: text without backslash, NUL "
            "or a slash at the start, and without .npy, which is appended"
        )
    return name + _SUFFIX
