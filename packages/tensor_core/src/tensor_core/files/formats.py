"""Which format a file has, by the end of its name or by what the caller says; and which of its tensors is meant."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from tensor_core.errors import ArgumentError, LoadError, SaveError, shortened
from tensor_core.files import npy, npz, safetensors
from tensor_core.files.atomic_write import new_file, write_atomically
from tensor_core.files.blocks import Found, Outgoing, tensors_of
from tensor_core.files.raw import ORDERS, check_choice
from tensor_core.files.source import Path, Source, check_flag, name_of
from tensor_core.shapes import Order

SUFFIXES: Final[Mapping[str, str]] = {".npy": "npy", ".npz": "npz", ".safetensors": "safetensors"}
_SMALL: Final = 1 << 26  # bytes that a file may claim whatever its size: elements that were never written
_RATIO: Final = 1032  # bytes that one deflated byte can stand for
_READERS: Final[Mapping[str, Callable[[Source], Mapping[str, Found]]]] = {
    "npy": npy.entries,
    "npz": npz.entries,
    "safetensors": safetensors.entries,
}


def format_of(operation: str, path: str, format: object, suffixes: Mapping[str, str], /) -> str:
    """The name of a file's format. A name without an ending stands for ``.npy``.

    Args:
        operation: for messages.
        path: of the file.
        format: what the caller says; None leaves it to the end of the name.
        suffixes: the formats of each ending.

    Raises:
        ArgumentError: nobody knows the format.

    >>> format_of("save", "x.npz", None, SUFFIXES), format_of("save", "x", None, SUFFIXES)
    ('npz', 'npy')
    """
    formats = list(dict.fromkeys(suffixes.values()))
    if format is not None:
        if not isinstance(format, str) or format not in formats:
            raise ArgumentError(
                f"{operation}: format is {shortened(format)}; accepted: {', '.join(map(repr, formats))}"
            )
        return format
    suffix = os.path.splitext(path)[1].lower()
    if suffix and suffix not in suffixes:
        raise ArgumentError(
            f"{operation}: {path!r} ends in {suffix!r}; accepted: {', '.join(filter(None, suffixes))}, or format= "
            f"with one of {', '.join(map(repr, formats))}",
            path=path,
        )
    return suffixes[suffix] if suffix else "npy"


def write_file(path: str, format: str, tensors: Mapping[str, Outgoing], /, *, order: Order, compressed: bool) -> None:
    """Write tensors in one of the formats that need no other library, whole or not at all.

    Raises:
        SaveError: the file cannot be written.
        ArgumentError: an option, or a name, that the format does not have.
        DTypeError: an element type that it does not have.

    >>> import tempfile
    >>> from tensor_core import HostTensor
    >>> from tensor_core.files.blocks import HostOutgoing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     x = HostOutgoing(HostTensor.from_nested([1.0]))
    ...     write_file(folder + "/x", "npy", {"": x}, order="F", compressed=False)
    ...     os.path.getsize(folder + "/x")
    136
    """
    check_options(path, format, order=order, compressed=compressed, ordered=("npy", "npz"), packed=("npz",))
    if format == "npy":
        (x,) = tensors.values()
        write_atomically(path, npy.encode(x, order))
    elif format == "npz":
        with new_file(path) as file:
            npz.write(file, tensors, order=order, compressed=compressed)
    else:
        write_atomically(path, safetensors.encode(tensors))


def check_options(
    path: str, format: str, /, *, order: Order, compressed: bool, ordered: tuple[str, ...], packed: tuple[str, ...]
) -> None:
    """Raise an error for an option that a format does not have.

    Raises:
        ArgumentError: it does not.

    >>> check_options("x.npy", "npy", order="C", compressed=False, ordered=("npy",), packed=())
    """
    check_choice("save", "order", order, ORDERS)
    check_flag("save", "compressed", compressed)
    if order != "F" and format not in ordered:
        raise ArgumentError(
            f"save: {path!r} is {format}, whose order is given; accepted: order= for {', '.join(ordered)}"
        )
    if compressed and format not in packed:
        raise ArgumentError(f"save: {path!r} is {format}, without compression; accepted: {', '.join(packed)}")


def entries_of(source: Source, format: str, /) -> dict[str, Found]:
    """What a file holds that is in one of the formats that need no other library.

    Raises:
        FormatError: the file is none of this format.
    """
    return dict(_READERS[format](source))


def chosen(shown: str, found: Mapping[str, object], name: object, /) -> str:
    """The name of the tensor that a caller means; one that is refused is told when it is read.

    Raises:
        LoadError: there is none of that name, or several and none was named.

    >>> from tensor_core.files.blocks import Refused
    >>> text = Refused("text", LoadError("load: no tensor"), is_tensor=False)
    >>> chosen("'x.npz'", {"text": text, "w": None}, None)
    'w'
    """
    if isinstance(name, str) and name in found and name:
        return name
    found = tensors_of(found)
    listed = ", ".join(map(repr, list(found)[:8])) + (", ..." if len(found) > 8 else "")
    if name is None and len(found) == 1:
        return next(iter(found))
    if name is None:
        raise LoadError(
            f"load: {shown} holds {len(found)} tensors ({listed}); name one, or take all with load_all()"
            if found
            else f"load: {shown} holds no tensor"
        )
    raise LoadError(f"load: {shown} has no tensor {shortened(name)}; it holds {listed or 'none'}")


def saved_path(path: Path, /) -> str:
    """The name of the file that is to be written.

    Raises:
        SaveError: it is none, or ends as a folder's does.

    >>> saved_path("x.npy")
    'x.npy'
    """
    name = name_of(path, SaveError, "save")
    if name.endswith((os.sep, os.altsep or os.sep)):
        raise SaveError(f"save: {name!r} ends as the name of a folder does; accepted: the name of a file", path=name)
    return name


def check_size(source: Source, nbytes: int, name: str, /) -> None:
    """Raise an error for a tensor that claims more bytes than a compressed file of this size could hold.

    Raises:
        FormatError: it does.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file, Source(file.name) as source:
    ...     check_size(source, 1000, "x")
    """
    most = _SMALL + _RATIO * source.size
    if nbytes > most:
        raise source.malformed(f"tensor {name!r} claims {nbytes} bytes; a file of {source.size} has at most {most}")


def named(path: str, format: str, x: Any, suffixes: Mapping[str, str] = SUFFIXES, /) -> Mapping[str, Any]:
    """The tensors that are to be written, by name; "" for the one of a format without names.

    Args:
        path: of the file.
        format: its name.
        x: one tensor, or several by name.
        suffixes: the formats of each ending, for messages.

    Raises:
        ArgumentError: one tensor for a format with names, several for one without, or a name that is no text.

    >>> named("x.npz", "npz", {"a": 1})
    {'a': 1}
    """
    if isinstance(x, Mapping):
        if format == "npy":
            several = ", ".join(suffix for suffix, one in suffixes.items() if suffix and one != "npy")
            raise ArgumentError(f"save: {path!r} takes one tensor; accepted for several by name: {several}")
        for name in x:
            if not isinstance(name, str) or not name:
                raise ArgumentError(f"save: {shortened(name)} is no name of a tensor; accepted: text")
        return x
    if format != "npy":
        raise ArgumentError(
            f"save: {path!r} holds tensors by name, and found {shortened(x)}; write save(path, {{'name': x}})"
        )
    return {"": x}
