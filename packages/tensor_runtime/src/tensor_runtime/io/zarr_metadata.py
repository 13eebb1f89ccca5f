"""The metadata of Zarr arrays, version 3: parsed strictly, written plainly. No file is opened here.

``zarr.json`` says the shape, the element type, how the array is cut into chunks of one shape, and by which codecs the
elements of a chunk become bytes: perhaps a permutation of axes, then a byte order, then perhaps compression. Elements
follow in row-major order of the permuted axes; so a column-major tensor is one whose axes are permuted in reverse.

Source: the Zarr core specification, version 3.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import Bool, DType
from tensor_core.errors import shortened
from tensor_core.files.element_types import ELEMENT_TYPES, ElementType

RANK_LIMIT: Final = 64
COMPRESSIONS: Final = ("gzip", "zstd")
_CODECS: Final = ("transpose", "bytes", *COMPRESSIONS)
_ACCEPTED: Final = "accepted codecs: at most one transpose, then bytes, then at most one of gzip, zstd"
_NUMBER: Final = re.compile(r"(bool|u?int|b?float|complex)")
_SPECIAL: Final = ("NaN", "Infinity", "-Infinity")


class ArrayFacts(NamedTuple):
    """What is said of an array."""

    element: ElementType
    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    separator: str  # between the numbers in the name of a chunk
    prefix: bool  # names start with "c"
    permutation: tuple[int, ...]  # of the axes of a chunk; its elements follow in row-major order then
    swapped: bool
    compression: str | None
    fill: complex  # or a float or an integer, as it is written; no integer is rounded


def parse_array(facts: dict[str, Any], /) -> ArrayFacts:
    """The facts of an array from its ``zarr.json``.

    Raises:
        ValueError: why it is refused, for the caller to say of which file.

    >>> parse_array(json.loads(format_array(ELEMENT_TYPES["float32"].own, (2, 3), False))).permutation
    (1, 0)
    """
    name = facts.get("data_type")
    element = ELEMENT_TYPES.get(name) if isinstance(name, str) else None
    if element is None:
        raise ValueError(f"data_type is {shortened(name)}; accepted: {', '.join(ELEMENT_TYPES)}")
    shape = _extents(facts.get("shape"), 0)
    grid = _configured(facts.get("chunk_grid"), "chunk_grid", ("regular",))[1]
    chunk = _extents(grid.get("chunk_shape"), 1)
    if len(chunk) != len(shape):
        raise ValueError(f"chunks have shape {chunk}, and the array {shape}")
    encoding, options = _configured(facts.get("chunk_key_encoding"), "chunk_key_encoding", ("default", "v2"))
    separator = options.get("separator", "/" if encoding == "default" else ".")
    if separator not in ("/", "."):
        raise ValueError(f"separator is {shortened(separator)}; accepted: '/', '.'")
    if facts.get("storage_transformers"):
        raise ValueError("found storage_transformers; accepted: none")
    permutation, swapped, compression = _codecs(facts.get("codecs"), element, len(shape))
    return ArrayFacts(
        element, shape, chunk, separator, encoding == "default", permutation, swapped, compression,
        _fill(facts.get("fill_value")),
    )  # fmt: skip


def is_number(data_type: object, /) -> bool:
    """Whether a data type is one of numbers, ours or not: text, bytes and dates are none.

    >>> is_number("float8_e4m3"), is_number("string"), is_number({"name": "numpy.datetime64"})
    (True, False, False)
    """
    return isinstance(data_type, str) and _NUMBER.match(data_type) is not None


def format_array(dtype: DType | None, shape: tuple[int, ...], compressed: bool, /) -> bytes:
    """The ``zarr.json`` of one chunk in column-major order, little-endian.

    >>> json.loads(format_array(Bool, (2, 3), False))["codecs"][0]["configuration"]
    {'order': [1, 0]}
    """
    assert dtype is not None
    codecs: list[dict[str, Any]] = []
    if len(shape) > 1:
        codecs.append({"name": "transpose", "configuration": {"order": list(range(len(shape)))[::-1]}})
    codecs.append({"name": "bytes", "configuration": {"endian": "little"}} if dtype is not Bool else {"name": "bytes"})
    if compressed:
        codecs.append({"name": "gzip", "configuration": {"level": 5}})
    fill: object = False if dtype is Bool else [0.0, 0.0] if dtype.kind == "complex" else 0
    facts = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": dtype.numpy_name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [max(extent, 1) for extent in shape]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0.0 if dtype.kind == "float" else fill,
        "codecs": codecs,
        "attributes": {},
    }
    return json.dumps(facts, indent=1).encode()


def _codecs(listed: Any, element: ElementType, rank: int) -> tuple[tuple[int, ...], bool, str | None]:
    if not isinstance(listed, list):
        raise ValueError(f"codecs are {shortened(listed)}; accepted: a list")
    rest = [_codec(one) for one in listed]
    permutation = tuple(range(rank))
    if rest and rest[0][0] == "transpose":
        order = rest.pop(0)[1].get("order")
        if (
            not isinstance(order, list)
            or not all(type(one) is int for one in order)
            or sorted(order) != list(range(rank))
        ):
            raise ValueError(f"transpose has order {shortened(order)}; accepted: a permutation of {rank} axes")
        permutation = tuple(order)
    if not rest or rest[0][0] != "bytes":
        raise ValueError(_ACCEPTED)
    endian = rest.pop(0)[1].get("endian")
    if endian not in (("little", "big") if element.component > 1 else ("little", "big", None)):
        raise ValueError(f"endian is {shortened(endian)}; accepted: 'little', 'big'")
    swapped = element.component > 1 and endian != sys.byteorder
    if len(rest) > 1 or (rest and rest[0][0] not in COMPRESSIONS):
        raise ValueError(_ACCEPTED)
    return permutation, swapped, rest[0][0] if rest else None


def _codec(found: Any) -> tuple[str, dict[str, Any]]:
    name = found.get("name") if isinstance(found, dict) else found
    if isinstance(name, str) and name not in _CODECS:
        cut = "shards" if name == "sharding_indexed" else f"the codec {shortened(name)}"
        raise ValueError(
            f"its chunks have {cut} (codec {shortened(name)}), which is not read here; {_ACCEPTED}; read it by the "
            f"zarr package, asarray(zarr.open_array(path)[...]), or write it there without {cut}"
        )
    return _configured(found, "a codec", _CODECS)


def _configured(found: Any, what: str, accepted: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    name = found if isinstance(found, str) else found.get("name") if isinstance(found, dict) else None
    options = found.get("configuration", {}) if isinstance(found, dict) else {}
    if name not in accepted or not isinstance(options, dict):
        raise ValueError(f"{what} is {shortened(found)}; accepted: {', '.join(accepted)}")
    return str(name), options


def _extents(found: Any, least: int) -> tuple[int, ...]:
    if (
        not isinstance(found, list)
        or len(found) > RANK_LIMIT
        or not all(type(one) is int and least <= one < 2**63 for one in found)
    ):
        raise ValueError(f"a shape is {shortened(found)}; accepted: up to {RANK_LIMIT} extents from {least}")
    return tuple(found)


def _fill(found: Any) -> complex:
    try:
        if isinstance(found, list) and len(found) == 2:
            return complex(*(float(_real(part)) for part in found))
        return _real(found)
    except (OverflowError, ValueError):
        raise ValueError(
            f"fill_value is {shortened(found)}; accepted: a number, 'NaN', 'Infinity', '-Infinity', or two of them"
        ) from None


def _real(found: Any) -> float:
    if isinstance(found, (bool, int, float)) or (isinstance(found, str) and found in _SPECIAL):
        return float(found) if isinstance(found, str) else found
    raise ValueError
