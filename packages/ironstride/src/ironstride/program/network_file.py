"""The network file: read, check, and nothing else.

`read_network` turns one JSON file into a `Network`, or says in one line what is wrong with it. No operand is read,
drawn or allocated here, and no path is searched: that is the work of `operands` and of `tensor_einsum`.

`docs/network-file.md` describes the format. Extents count elements; `reference.log_offset` is a natural logarithm.
"""

from __future__ import annotations

import json
import math
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from tensor_core.dtypes import FLOATING, DType, as_dtype
from tensor_core.errors import FormatError, TensorError

MAX_FILE_BYTES: Final = 256 * 2**20  # once parsed, JSON takes some twenty times its size
MAX_RANK: Final = 64  # NumPy's limit
SCHEMA_VERSION: Final = 1  # of the format; a file without the member has it
DISTRIBUTIONS: Final = ("uniform", "signed")


class NetworkFileError(FormatError):
    """A network file that cannot be used; the message names the field and says what is accepted there."""


class NotANetworkError(NetworkFileError):
    """A JSON object without `format_string`: some other kind of file, to be skipped when several are given."""


@dataclass(frozen=True)
class Values:
    """An operand given in the file itself, as nested lists in the order of its axes."""

    nested: object


@dataclass(frozen=True)
class Stored:
    """An operand in a `.npy` file, or in the member of a `.npz` file, beside the network file."""

    file: str
    member: str | None = None


@dataclass(frozen=True)
class Drawn:
    """A random operand: uniform on (0, 1), or `signed` on (-1, 1); every operand has a stream of its own."""

    seed: int
    distribution: str


@dataclass(frozen=True)
class Reference:
    """A known answer: (ln(result) + log_offset) / divide_by should be `value` to within `tolerance`."""

    quantity: str
    value: float
    log_offset: float
    divide_by: float
    tolerance: float
    source: str


@dataclass(frozen=True)
class Network:
    """A checked network file. `operands` has one entry per shape; `drawn_by_default`: the file gave none."""

    name: str
    file: Path
    format_string: str
    shapes: tuple[tuple[int, ...], ...]
    dtype: DType
    paths: Mapping[str, tuple[tuple[int, ...], ...]]
    operands: tuple[Values | Stored | Drawn, ...]
    drawn_by_default: bool
    reference: Reference | None

    @property
    def operand_bytes(self) -> int:
        """Bytes of all operands together."""
        return sum(math.prod(shape) for shape in self.shapes) * self.dtype.itemsize


def read_network(file: Path) -> Network:
    """The network that `file` describes.

    Args:
        file: a JSON file in UTF-8; operands that it names lie beside it.

    Raises:
        NotANetworkError: a JSON object without `format_string`.
        NetworkFileError: anything else that is wrong; nothing has been allocated yet.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "product.json"
    >>> _ = file.write_text('{"format_string": "ij,jk->ik", "shapes": [[2, 3], [3, 4]], "dtype": "float64"}')
    >>> network = read_network(file)
    >>> network.name, network.shapes, network.dtype, network.operand_bytes
    ('product', ((2, 3), (3, 4)), F64, 144)
    """
    document = _parse(read_text(file))
    if not isinstance(document, dict):
        raise NetworkFileError(f"the file holds {_kind(document)}; a network file is one JSON object")
    if "format_string" not in document:
        raise NotANetworkError("the file has no format_string, so it describes no network")
    version = document.get("schema_version", SCHEMA_VERSION)
    if type(version) is not int or version != SCHEMA_VERSION:
        _refuse("schema_version", version, f"{SCHEMA_VERSION}; another version needs another ironstride")
    format_string = _text(document, "format_string", None)
    shapes = _shapes(document.get("shapes"))
    if "num_tensors" in document and document["num_tensors"] != len(shapes):
        _refuse("num_tensors", document["num_tensors"], f"the number of shapes, {len(shapes)}")
    dtype = _dtype(document.get("dtype"))
    return Network(
        name=_text(document, "name", file.stem),
        file=file,
        format_string=format_string,
        shapes=shapes,
        dtype=dtype,
        paths=_paths(document.get("paths", {})),
        operands=_operands(document.get("operands", {"seed": 0}), len(shapes), dtype),
        drawn_by_default="operands" not in document,
        reference=_reference(document.get("reference")),
    )


def printable(value: object, limit: int = 60) -> str:
    r"""`value` as JSON in printable ASCII, cut to `limit` characters: safe to print wherever the file came from.

    >>> printable(["a", "\x1b[2J"]), printable(list(range(100)), 12)
    ('["a", "\\u001b[2J"]', '[0, 1, 2 ...')
    """
    try:
        text = json.dumps(value)
    except (RecursionError, TypeError, ValueError):
        text = _kind(value)
    return text if len(text) <= limit else f"{text[: limit - 4].rstrip(' ,')} ..."


def _refuse(field: str, found: object, accepted: str) -> NoReturn:
    raise NetworkFileError(f"{field}: found {printable(found)}; accepted: {accepted}")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def read_text(file: Path, kind: str = "network file") -> str:
    """The text of a file that is not too large; a `NetworkFileError` if it cannot be read.

    Args:
        file: its name.
        kind: what an error calls it.

    >>> read_text(Path("missing.json"))
    Traceback (most recent call last):
    ironstride.program.network_file.NetworkFileError: cannot be read: No such file or directory
    """
    try:
        status = file.stat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES:
            return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise NetworkFileError(f"the file is not UTF-8 text (byte {error.start}); a {kind} is JSON") from None
    except OSError as error:
        raise NetworkFileError(f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a null character in the name
        raise NetworkFileError(f"cannot be read: {error}") from None
    if stat.S_ISDIR(status.st_mode):
        raise NetworkFileError(f"it is a directory; give the {kind} itself")
    if not stat.S_ISREG(status.st_mode):
        raise NetworkFileError("it is not a regular file")
    remedy = "; put large operands into .npy files" if kind == "network file" else ""
    raise NetworkFileError(f"the file has {status.st_size:,} bytes, more than {MAX_FILE_BYTES:,}{remedy}")


def _parse(text: str) -> object:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(pairs)
        if len(members) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise NetworkFileError(f"the name {printable(twice)} occurs twice in one object")
        return members

    def constant(name: str) -> NoReturn:
        raise NetworkFileError(f"{name} is not a JSON number; give such operands in a .npy file")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise NetworkFileError(f"the file is not JSON: {error.msg} at {where}") from None
    except RecursionError:
        raise NetworkFileError("the file nests its lists or objects too deeply to be a network") from None
    except ValueError as error:
        if isinstance(error, TensorError):
            raise
        raise NetworkFileError("the file holds an integer with thousands of digits") from None


def _text(document: Mapping[str, object], field: str, default: str | None) -> str:
    value = document.get(field, default)
    if not isinstance(value, str):
        _refuse(field, value, "a string")
    return value


def _shapes(value: object) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, list):
        _refuse("shapes", value, "a list with one list of extents per operand, such as [[2, 3], [3, 4]]")
    for number, shape in enumerate(value):
        if not isinstance(shape, list) or not all(type(extent) is int and extent >= 0 for extent in shape):
            _refuse(f"shapes[{number}]", shape, "a list of non-negative integers")
        if len(shape) > MAX_RANK:
            raise NetworkFileError(f"shapes[{number}]: found {len(shape)} axes; accepted: at most {MAX_RANK}")
        if math.prod(extent or 1 for extent in shape) >= 2**63:  # empty tensors have limits too
            _refuse(f"shapes[{number}]", shape, "fewer than 2**63 elements")
    return tuple(map(tuple, value))


def _dtype(value: object) -> DType:
    if not isinstance(value, str):
        _refuse("dtype", value, 'a name such as "float64"')
    try:
        return as_dtype(value)
    except TensorError as error:
        raise NetworkFileError(str(error)) from None


def _paths(value: object) -> dict[str, tuple[tuple[int, ...], ...]]:
    if not isinstance(value, dict):
        _refuse("paths", value, 'an object such as {"mine": {"path": [[0, 1]]}}')
    return {name: _path(f"paths.{name}", entry) for name, entry in value.items()}


def _path(field: str, entry: object) -> tuple[tuple[int, ...], ...]:
    field = printable(field)[1:-1]
    path = entry.get("path") if isinstance(entry, dict) else None
    if not isinstance(path, list):
        _refuse(field, entry, 'an object with a path, such as {"path": [[0, 1]]}')
    for number, step in enumerate(path):
        if not isinstance(step, list) or not all(type(position) is int for position in step):
            _refuse(f"{field}.path[{number}]", step, "a list of operand positions")
    return tuple(map(tuple, path))


def _operands(value: object, count: int, dtype: DType) -> tuple[Values | Stored | Drawn, ...]:
    if isinstance(value, dict) and not value.keys().isdisjoint(("seed", "distribution")):
        return (_drawn("operands", value, dtype),) * count
    if not isinstance(value, list):
        _refuse("operands", value, 'a list with one entry per operand, or {"seed": 0} for random ones')
    if len(value) != count:
        raise NetworkFileError(f"operands: found {len(value)} entries for {count} shapes; give one entry per operand")
    return tuple(_operand(f"operands[{number}]", entry, dtype) for number, entry in enumerate(value))


def _operand(field: str, entry: object, dtype: DType) -> Values | Stored | Drawn:
    if not isinstance(entry, dict):
        return Values(entry)
    if "seed" in entry or "distribution" in entry:
        return _drawn(field, entry, dtype)
    for accepted in ({"npy"}, {"npz", "member"}):
        if entry.keys() == accepted and all(isinstance(name, str) and name for name in entry.values()):
            return Stored(entry["npy"]) if "npy" in entry else Stored(entry["npz"], entry["member"])
    _refuse(field, entry, 'nested lists, {"npy": "a.npy"}, {"npz": "a.npz", "member": "x"} or {"seed": 0}')


def _drawn(field: str, entry: Mapping[str, object], dtype: DType) -> Drawn:
    seed, distribution = entry.get("seed"), entry.get("distribution", "uniform")
    if type(seed) is not int or not 0 <= seed < 2**64:
        _refuse(f"{field}.seed", seed, "an integer from 0 to 2**64 - 1")
    if distribution not in DISTRIBUTIONS:
        _refuse(f"{field}.distribution", distribution, '"uniform" on (0, 1), or "signed" on (-1, 1)')
    if unknown := entry.keys() - {"seed", "distribution"}:
        _refuse(field, sorted(unknown), "seed and distribution, and nothing else")
    if dtype not in FLOATING:
        raise NetworkFileError(f"{field}: {dtype.name} cannot be drawn at random; give values or .npy files")
    return Drawn(seed, str(distribution))


def _reference(value: object) -> Reference | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        _refuse("reference", value, "an object with quantity, value, log_offset, divide_by, tolerance and source")

    def number(field: str, default: float | None) -> float:
        found = _as_float(value.get(field, default))
        if not math.isfinite(found):
            _refuse(f"reference.{field}", value.get(field), "a finite number")
        return found

    divide_by, tolerance = number("divide_by", 1.0), number("tolerance", 1e-10)
    if divide_by == 0 or tolerance < 0:
        _refuse("reference", value, "divide_by other than zero, tolerance not below zero")
    return Reference(
        quantity=_text(value, "quantity", "ln(result)"),
        value=number("value", None),
        log_offset=number("log_offset", 0.0),
        divide_by=divide_by,
        tolerance=tolerance,
        source=_text(value, "source", "the network file"),
    )


def _as_float(value: object) -> float:
    """A number as a float, NaN for anything else, infinity for an integer beyond the range of floats."""
    try:
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.inf
