"""Tensors in files, by the ending of the name: a table of those that hold one tensor, or several by name.

A format that `tensor_runtime` reads and writes by itself needs no row here: where it has ``load_all``, every other
ending goes to that function, and what it does not know is its error. A tensor without a name is called "".
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

import tensor_runtime as tr
from tensor_core.errors import FormatError, LoadError, TensorError, shortened
from tensor_runtime.io.npy import load_stream

HEADER_BYTES: Final = 1 << 10  # of a member, in which its header says the order
COLUMN_MAJOR, ROW_MAJOR, EITHER = "column-major", "row-major", "either"


class FormatNameError(TensorError, ValueError):
    """An ending of a file that is no format of tensors."""


class MissingNameError(TensorError, KeyError):
    """A tensor that is not in a file, or none named where there are several."""

    def __str__(self) -> str:
        return str(self.args[0])


class Found(NamedTuple):
    """A tensor of a file, and the order of its elements there."""

    tensor: tr.Tensor
    order: str


def read_all(file: Path) -> dict[str, Found]:
    """Every tensor of a file by its name; elements stay in the file until they are used, where its format allows that.

    Raises:
        FormatNameError: no format has this ending.
        TensorError: the file cannot be read.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.npy"
    >>> tr.save(file, tr.ones((2, 3)))
    >>> {name: (found.tensor.shape, found.order) for name, found in read_all(file).items()}
    {'': ((2, 3), 'column-major')}
    """
    reader = _READERS.get(file.suffix.lower()) or _every()
    if reader is None:
        raise FormatNameError(f"the ending is {file.suffix!r}; accepted: {', '.join(sorted(_READERS))}")
    return reader(file)


def choose(found: Mapping[str, Found], name: str | None) -> tr.Tensor:
    """The tensor of this name; without one the only tensor there is.

    Raises:
        MissingNameError: with the names in the file.

    >>> choose({"a": Found(tr.ones(2), "either")}, None).shape
    (2,)
    """
    if name is None and len(found) == 1:
        return next(iter(found.values())).tensor
    if name is None or name not in found:
        names = ", ".join(map(shortened, found)) or "none"
        wanted = "several tensors, and no --name" if name is None else f"no tensor {shortened(name)}"
        raise MissingNameError(f"the file holds {wanted}; its tensors: {names}")
    return found[name].tensor


def check_writable(option: str, file: Path) -> None:
    """Refuse an ending that no format has, before any work is done.

    >>> check_writable("B", Path("x.doc"))
    Traceback (most recent call last):
    ironstride.program.commands.tensor_files.FormatNameError: B x.doc: the ending is '.doc'; accepted: .npy
    """
    if file.suffix.lower() not in _WRITTEN and _every() is None:
        raise FormatNameError(f"{option} {file}: the ending is {file.suffix!r}; accepted: {', '.join(_WRITTEN)}")


def write_all(file: Path, tensors: Mapping[str, tr.Tensor]) -> None:
    """Write one tensor, or several by name where the format has names.

    Raises:
        MissingNameError: several tensors for a format that holds one.
        TensorError: the file cannot be written.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.npy"
    >>> write_all(file, {"": tr.ones((2, 3))})
    >>> tr.load(file).shape
    (2, 3)
    """
    content: Any = next(iter(tensors.values())) if len(tensors) == 1 and "" in tensors else tensors
    if file.suffix.lower() in _WRITTEN:
        if len(tensors) != 1:
            names = ", ".join(map(shortened, tensors)) or "none"
            raise MissingNameError(f"{file} holds one tensor; choose it by --name: {names}")
        content = next(iter(tensors.values()))
    elif content is not tensors:
        content = {"tensor": content}  # which has no name of its own
    tr.save(file, content)


def order_of(x: tr.Tensor) -> str:
    """The order in which the elements lie; of vectors it is either.

    >>> order_of(tr.ones((2, 3)).T), order_of(tr.ones(3))
    ('row-major', 'either')
    """
    if sum(extent > 1 for extent in x.shape) < 2:
        return EITHER
    return COLUMN_MAJOR if x.is_compact else ROW_MAJOR


def _every() -> Callable[[Path], dict[str, Found]] | None:
    """What reads every format with names, in a `tensor_runtime` that has it."""
    load_all: Callable[..., dict[str, tr.Tensor]] | None = getattr(tr, "load_all", None)
    if load_all is None:
        return None

    return partial(_read_named, load_all)


def _read_named(load_all: Callable[..., dict[str, tr.Tensor]], file: Path) -> dict[str, Found]:
    try:
        loaded = load_all(file, mmap=True)
    except LoadError:  # what is compressed cannot be mapped
        loaded = load_all(file)
    return {name: Found(x, order_of(x)) for name, x in loaded.items()}


def _read_one(file: Path) -> dict[str, Found]:
    x = tr.load(file, mmap=True)
    return {"": Found(x, order_of(x))}


def _read_archive(file: Path) -> dict[str, Found]:
    """The members of an ``.npz``, each read whole."""
    found = {}
    try:
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                with archive.open(entry) as stream:
                    column_major = b"'fortran_order': True" in stream.read(HEADER_BYTES)
                with archive.open(entry) as stream:
                    x = load_stream(cast(BinaryIO, stream), name=entry.filename)
                either = order_of(x) == EITHER
                order = EITHER if either else COLUMN_MAJOR if column_major else ROW_MAJOR
                found[entry.filename.removesuffix(".npy")] = Found(x, order)
    except OSError as error:
        raise LoadError(f"{error.strerror or error}", path=str(file), errno=error.errno) from error
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, NotImplementedError) as error:
        raise FormatError(f"no .npz file, or a damaged one: {error}") from error
    return found


_READERS: Final[dict[str, Callable[[Path], dict[str, Found]]]] = {".npy": _read_one, ".npz": _read_archive}
_WRITTEN: Final = (".npy",)
"""Endings of formats that hold one tensor without a name."""
