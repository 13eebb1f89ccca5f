"""What the program is given: network files, text files with an equation and shapes, or both on the command line.

A text file has the equation in its first line and the shape of one operand in each line after it. Lines that begin with
`#` and empty lines are passed over. A shape is `2x3`, `2,3` or `2 3`; that of rank 0 is `()`. Operands of an equation
are drawn, uniform on (0, 1), as those of a network file without operands are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from ironstride.program.network_file import (
    MAX_RANK,
    Drawn,
    Network,
    NetworkFileError,
    printable,
    read_network,
    read_text,
)
from tensor_core.dtypes import F64, DType, as_dtype
from tensor_core.errors import TensorError

ENDINGS: Final = (".txt", ".einsum")
_SHAPE: Final = re.compile(r"\(?\s*(\d{1,40}(?:(?:\s*[x×,]\s*|\s+)\d{1,40})*)?\s*,?\s*\)?", re.ASCII)
_BEGUN: Final = re.compile(r"\(|\d+\s*[x×,]", re.ASCII)


class SourceError(TensorError, ValueError):
    """An equation, or a shape beside it, that cannot be read."""


def networks_of(arguments: Sequence[str]) -> list[Path | Network]:
    """Files as they are named, still to be read; or the one network that an equation and its shapes describe.

    Raises:
        SourceError: an equation without shapes, or with something that is none; the empty name of a file.

    >>> networks_of(["a.json", "b.txt"])
    [PosixPath('a.json'), PosixPath('b.txt')]
    >>> networks_of(["ij,jk->ik", "2x3", "3x4"])[0].shapes
    ((2, 3), (3, 4))
    """
    first, *rest = arguments
    shapes = bool(rest) and all(_SHAPE.fullmatch(text.strip()) for text in rest)
    # A lone term may be the name of a file; what begins as a shape beside it is meant for one, unless it is a file.
    shapes = shapes or (first.isalpha() and any(_BEGUN.match(text) and not os.path.exists(text) for text in rest))
    # Path.exists fails of an equation that is too long for the name of a file.
    if (shapes or is_equation(first)) and not os.path.exists(first):
        if not rest:
            raise SourceError(
                f"{printable(first)} has no shapes; write the shape of each operand after it, such as 2x3"
            )
        return [_network("equation", Path(), first, rest)]
    if not all(arguments):
        raise SourceError("a SOURCE is empty; accepted: the name of a file, or an equation with shapes")
    return [Path(argument) for argument in arguments]


def is_equation(text: str) -> bool:
    """Whether an argument is an equation: it has an arrow, or commas and no ending of a file.

    >>> is_equation("ij,jk->ik"), is_equation("ij,jk"), is_equation("a,b.json"), is_equation("network.json")
    (True, True, False, False)
    """
    return "->" in text or ("," in text and "." not in text.replace("...", ""))


def read_source(source: Path | Network, dtype: str | None) -> Network:
    """The network of a source, in another dtype where one is given.

    Raises:
        NetworkFileError: a file that cannot be used.
        SourceError: a text file that cannot be read.
        DTypeError: an unknown dtype.

    >>> read_source(networks_of(["i,i->", "3", "3"])[0], "float32").dtype
    F32
    """
    if isinstance(source, Path):
        network = _from_text(source) if source.suffix.lower() in ENDINGS else read_network(source)
    else:
        network = source
    if dtype is None:
        return network
    wanted: DType = as_dtype(dtype)
    return replace(network, dtype=wanted)


def _from_text(file: Path) -> Network:
    lines = [line.strip() for line in read_text(file).splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if not lines:
        raise NetworkFileError("the file has no line with an equation")
    if len(lines) == 1:
        raise NetworkFileError(
            "the file has one line; accepted: an equation, then the shape of one operand in each line"
        )
    return _network(file.stem, file, lines[0], lines[1:])


def _network(name: str, file: Path, equation: str, shapes: Sequence[str]) -> Network:
    read = tuple(read_shape(text) for text in shapes)
    drawn = tuple(Drawn(0, "uniform") for _ in read)
    return Network(name, file, equation, read, F64, {}, drawn, True, None)


def read_shape(text: str) -> tuple[int, ...]:
    """Extents as they are written beside an equation.

    Raises:
        SourceError: no shape.

    >>> read_shape("2x3"), read_shape("(2, 3)"), read_shape("4 5 6"), read_shape("7"), read_shape("()")
    ((2, 3), (2, 3), (4, 5, 6), (7,), ())
    """
    found = _SHAPE.fullmatch(text.strip())
    if found is None or not text.strip():
        raise SourceError(f"found {printable(text)}; accepted: a shape, such as 2x3; () is that of rank 0")
    shape = tuple(map(int, re.findall(r"\d+", found[1] or "")))
    if max(shape, default=0) >= 2**63:
        raise SourceError(f"found the extent {max(shape)}; accepted: up to 2**63 - 1")
    if len(shape) > MAX_RANK:
        raise SourceError(f"found a shape of {len(shape)} axes; accepted: at most {MAX_RANK}")
    return shape
