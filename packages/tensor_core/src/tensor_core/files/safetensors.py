"""safetensors files: named tensors, each in row-major order as the format has it.

A column-major tensor is reordered when it is written, and a mapped one has row-major strides, so that every index means
the same before and after. Reading copies nothing with ``mmap``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from tensor_core.files.blocks import Bytes, Entry, Found, Outgoing, Refused
from tensor_core.files.element_types import swap_bytes
from tensor_core.files.safetensors_header import HEADER_LIMIT, LENGTH_BYTES, Described, format_header, parse_header
from tensor_core.files.source import Source

_SWAPPED: Final = sys.byteorder != "little"


def encode(tensors: Mapping[str, Outgoing], /) -> Iterator[Bytes]:
    """The pieces of a file.

    Raises:
        DTypeError: a tensor of C64 (complex128).
        ArgumentError: a name that the format does not have.

    >>> from tensor_core import HostTensor
    >>> from tensor_core.files.blocks import HostOutgoing
    >>> bytes(list(encode({"x": HostOutgoing(HostTensor.from_nested([[1, 2], [3, 4]], "I32"))}))[1])[::4].hex()
    '01020304'
    """
    header, order = format_header({name: (x.dtype, x.shape) for name, x in tensors.items()})
    yield header
    for name in order:
        x = tensors[name]
        yield _little(x.in_order("C"), x.dtype.component.itemsize)


def entries(source: Source, /) -> dict[str, Found]:
    """The tensors of a file, in the order of their bytes.

    Raises:
        FormatError: it is no safetensors file, or claims other sizes than it has.

    >>> import tempfile
    >>> header = b'{"w":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}}'
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     bytes_written = file.write(len(header).to_bytes(8, "little") + header + bytes(2)), file.flush()
    ...     with Source(file.name) as source:
    ...         entries(source)["w"].element.name
    'int8'
    """
    length = int.from_bytes(source.read(0, LENGTH_BYTES, "the length of the header"), "little")
    if length > HEADER_LIMIT:
        raise source.malformed(f"the header claims {length} bytes; accepted: up to {HEADER_LIMIT}", 0)
    text = source.read(LENGTH_BYTES, length, "the header")
    start = LENGTH_BYTES + length
    try:
        described = parse_header(bytes(text), source.size - start)
    except ValueError as error:
        raise source.malformed(str(error), LENGTH_BYTES) from None
    return {one.name: _found(source, one, start) for one in described}


def _found(source: Source, one: Described, start: int) -> Found:
    if one.element is None:
        return Refused(one.name, one.refusal(source.shown))
    return Entry(
        one.name,
        one.element,
        _SWAPPED and one.element.component > 1,
        one.shape,
        "C",
        start + one.begin,
        partial(source.read, start + one.begin, one.end - one.begin, f"tensor {one.name!r}"),
    )


def _little(memory: Bytes, length: int) -> Bytes:
    if _SWAPPED and length > 1:
        memory = bytearray(memory)
        swap_bytes(memory, length)
    return memory
