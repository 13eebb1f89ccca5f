"""The header of safetensors files: parsed strictly, written canonically. No file is opened here.

A file is the header's length (8 bytes, little-endian), the header, and the elements of all tensors without a gap, each
tensor in **row-major** order and little-endian. The header is a JSON object: for each name the dtype, the shape and the
two offsets of its bytes behind the header; ``__metadata__`` may hold strings.

The format's ``C64`` is NumPy's complex64, which is C32 here; it has nothing for our C64, NumPy's complex128.

Source: the description of the format in the repository of safetensors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import C64, DType
from tensor_core.errors import ArgumentError, DTypeError, shortened
from tensor_core.files.element_types import ELEMENT_TYPES, ElementType
from tensor_core.shapes import element_count

LENGTH_BYTES: Final = 8
HEADER_LIMIT: Final = 100_000_000  # bytes; the limit of the format's own library
RANK_LIMIT: Final = 64
_ALIGNMENT: Final = 8
_METADATA: Final = "__metadata__"
_NAMES: Final = {
    "BOOL": "bool", "I8": "int8", "U8": "uint8", "I16": "int16", "U16": "uint16", "I32": "int32", "U32": "uint32",
    "I64": "int64", "U64": "uint64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64",
}  # fmt: skip
_OWN: Final = {ELEMENT_TYPES[name].own: tag for tag, name in _NAMES.items()}


class Described(NamedTuple):
    """What a header says of one tensor."""

    name: str
    tag: str  # the format's name of the element type
    element: ElementType | None  # None where it is one that we do not read, such as the floats of 8 bits
    shape: tuple[int, ...]
    begin: int  # bytes behind the header
    end: int

    def refusal(self, shown: str, /) -> DTypeError:
        """Why it is not read from a file, where there is no element type."""
        accepted = ", ".join(sorted(_NAMES))
        return DTypeError(
            f"load: {shown}: tensor {self.name!r} has dtype {shortened(self.tag)}; accepted: {accepted}", found=self.tag
        )


def parse_header(text: bytes, data_bytes: int, /) -> list[Described]:
    """What a header says, in the order of the bytes.

    Args:
        text: the JSON.
        data_bytes: how many bytes follow it.

    Raises:
        ValueError: why it is refused, for the caller to say of which file.

    >>> parse_header(b'{"w":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}}', 2)[0].shape
    (2,)
    """
    found = _object(text)
    metadata = found.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError(f"{_METADATA} is {shortened(metadata)}; accepted: an object of strings")
    described = sorted((_described(name, facts) for name, facts in found.items()), key=lambda one: (one.begin, one.end))
    position = 0
    for one in described:
        if one.begin != position:
            raise ValueError(
                f"tensor {one.name!r} begins at byte {one.begin} behind the header; accepted: {position}, where the "
                "one before it ends"
            )
        position = one.end
    if position != data_bytes:
        raise ValueError(f"{data_bytes} bytes follow the header, and its tensors take {position}")
    return described


def format_header(tensors: Mapping[str, tuple[DType, tuple[int, ...]]], /) -> tuple[bytes, list[str]]:
    """The bytes before the elements, and the order in which tensors follow.

    Larger elements come first, so that all are aligned and a file can be mapped.

    Raises:
        DTypeError: a tensor of C64 (complex128), which the format does not have.
        ArgumentError: a name that the format does not have.

    >>> from tensor_core import Bool, F64
    >>> format_header({"b": (Bool, (3,)), "x": (F64, ())})[1]
    ['x', 'b']
    """
    for name, (dtype, _) in tensors.items():
        if dtype is C64:
            raise DTypeError(
                f"save: tensor {name!r} is C64 (complex128), which safetensors does not have (what the format calls "
                "C64 is complex64, our C32); accepted: Bool, I32, I64, F32, F64, C32; save it as .npz or .h5, save "
                "real and imaginary part as two tensors, or cast it to C32",
                operation="save",
            )
        if name == _METADATA or not _is_text(name):
            raise ArgumentError(f"save: {shortened(name)} is no name of a tensor in a safetensors file; take another")
    order = sorted(tensors, key=lambda name: (-tensors[name][0].component.itemsize, name))
    facts: dict[str, object] = {}
    position = 0
    for name in order:
        dtype, shape = tensors[name]
        end = position + element_count(shape) * dtype.itemsize
        facts[name] = {"dtype": _OWN[dtype], "shape": list(shape), "data_offsets": [position, end]}
        position = end
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % _ALIGNMENT)
    if len(text) > HEADER_LIMIT:
        raise ArgumentError(f"save: a header of {len(text)} bytes; accepted: up to {HEADER_LIMIT}; save several files")
    return len(text).to_bytes(LENGTH_BYTES, "little") + text, order


def _object(text: bytes) -> dict[str, Any]:
    if text[:1] != b"{":
        raise ValueError(f"the header starts with {bytes(text[:16])!r}; accepted: a JSON object")
    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the header is not JSON as the format has it: {shortened(str(error))}") from None
    assert isinstance(found, dict)  # it starts as one
    if b"\\u" in text and not _is_text(json.dumps(found, ensure_ascii=False)):
        raise ValueError("half of a surrogate pair stands in it, which is no text")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def _described(name: str, facts: Any) -> Described:
    if not name:
        raise ValueError("a tensor has no name; accepted: text")
    if not isinstance(facts, dict) or facts.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"tensor {shortened(name)} is {shortened(facts)}; accepted: dtype, shape and data_offsets")
    tag, shape, offsets = facts["dtype"], facts["shape"], facts["data_offsets"]
    if not isinstance(tag, str):
        raise ValueError(f"tensor {shortened(name)} has dtype {shortened(tag)}; accepted: text")
    element = ELEMENT_TYPES[_NAMES[tag]] if tag in _NAMES else None
    if not _naturals(shape) or len(shape) > RANK_LIMIT:
        raise ValueError(
            f"tensor {shortened(name)} has shape {shortened(shape)}; accepted: up to {RANK_LIMIT} extents below 2**63"
        )
    wanted = None if element is None else element_count(shape) * element.itemsize
    if (
        not _naturals(offsets)
        or len(offsets) != 2
        or offsets[1] < offsets[0]
        or (wanted is not None and offsets[1] - offsets[0] != wanted)
    ):
        apart = "" if wanted is None else f", {shortened(wanted)} bytes apart for {tag} {shortened(tuple(shape))}"
        raise ValueError(f"tensor {shortened(name)} has data_offsets {shortened(offsets)}; accepted: two{apart}")
    return Described(name, tag, element, tuple(shape), *offsets)


def _naturals(listed: Any) -> bool:
    return isinstance(listed, list) and all(type(one) is int and 0 <= one < 2**63 for one in listed)


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
