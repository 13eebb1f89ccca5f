"""Files of what was measured on a machine: JSON text with its format, the machine, the digest, and what was found.

Calibrations of the search for orders and tables of drivers are kept so. The digest is of what was found alone, the same
wherever it was measured, so whatever follows from it can be told apart by it. Nothing is read unasked.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from tensor_core.errors import FormatError, LoadError, TensorError, shortened
from tensor_core.files.source import open_regular
from tensor_runtime.dispatch.arguments import file_name

MOST_BYTES: Final = 1 << 20


class Measured(Protocol):
    """What such a text holds."""

    @property
    def digest(self) -> str:
        """Sixteen characters that stand for what was found."""
        ...


M = TypeVar("M", bound=Measured)


class MeasuredFormat(NamedTuple):
    """Which texts these are, and what messages about them say."""

    name: str  # of the format, with its version
    what: str  # "drivers": how messages begin
    one: str  # "a table": what a text is not that cannot be read
    found: str  # "rules": what the digest is of
    again: str  # "sweep again": how to get another one


def digest_of(found: object, /) -> str:
    """Sixteen characters that stand for plain data, by its ``repr``.

    >>> digest_of([("F64", 1.5)])
    'a207ab33d7724edb'
    """
    from hashlib import sha256

    return sha256(repr(found).encode()).hexdigest()[:16]


def measured_to_json(kind: MeasuredFormat, machine: str, digest: str, found: object, /) -> str:
    """The text that :func:`measured_from_json` reads.

    >>> kind = MeasuredFormat("an_example/1", "speeds", "one", "rates", "measure again")
    >>> print(measured_to_json(kind, "two cores", "0123456789abcdef", 3))
    {
     "format": "an_example/1",
     "machine": "two cores",
     "digest": "0123456789abcdef",
     "rates": 3
    }
    """
    import json

    content = {"format": kind.name, "machine": machine, "digest": digest, kind.found: found}
    return json.dumps(content, indent=1) + "\n"


def measured_from_json(kind: MeasuredFormat, text: str | bytes, read: Callable[[Any, str], M], /) -> M:
    """What such a text holds.

    Args:
        kind: of the text.
        text: JSON.
        read: makes it of what was found, as JSON has it, and the machine.

    Raises:
        FormatError: not such a text, or something found that its digest is not of.

    >>> kind = MeasuredFormat("an_example/1", "speeds", "one", "rates", "measure again")
    >>> measured_from_json(kind, "[]", lambda found, machine: found)
    Traceback (most recent call last):
    tensor_core.errors.FormatError: speeds: no text of format 'an_example/1'; found 'list'
    """
    import json

    try:
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("format") != kind.name:
            found = content.get("format") if isinstance(content, dict) else type(content).__name__
            raise FormatError(f"{kind.what}: no text of format {kind.name!r}; found {shortened(found)}")
        made = read(content[kind.found], str(content.get("machine", "")))
    except FormatError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, TensorError) as error:
        raise FormatError(f"{kind.what}: not {kind.one}: {type(error).__name__}: {error}") from error
    if content.get("digest") not in (None, made.digest):
        raise FormatError(
            f"{kind.what}: the digest is {shortened(content['digest'])}, but that of its {kind.found} is "
            f"{made.digest!r}; {kind.again}, or leave the digest out"
        )
    return made


def read_measured(operation: str, path: str | os.PathLike[str], writer: str, parse: Callable[[bytes], M], /) -> M:
    """What a file holds.

    Args:
        operation: with which messages begin.
        path: of the file.
        writer: the command that writes such a file.
        parse: makes it of the bytes.

    Raises:
        LoadError: the file cannot be read.
        FormatError: it has more than 1 MiB, or ``parse`` refuses it.
        ArgumentError: ``path`` is no name of a file.

    >>> read_measured("read_speeds", "missing.json", "measure", lambda text: text)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.LoadError: read_speeds: missing.json: No such file ...; `measure` writes one
    """
    file = file_name(operation, "path", path)
    try:
        with open_regular(file) as stream:
            text = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise LoadError(
            f"{operation}: {file}: {error.strerror or error}; `{writer}` writes one", errno=error.errno, path=file
        ) from error
    if len(text) > MOST_BYTES:
        raise FormatError(f"{operation}: {file} has more than {MOST_BYTES:,} bytes")
    try:
        return parse(text)
    except FormatError as error:
        raise FormatError(f"{operation}: {file}: {error}") from None
