"""Tensors in files, as the commands list and read them: every format of `tensor_runtime`, by ending or by option.

The one tensor of a file without names is called "".
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import tensor_runtime as tr
from ironstride.program.commands.reading import Reading
from tensor_core.dtypes import Bool, DType
from tensor_core.errors import LoadError, TensorError, shortened
from tensor_core.files.blocks import Entry, Found, Refused, block_of, tensors_of
from tensor_core.files.element_types import ElementType
from tensor_core.files.source import Source
from tensor_core.shapes import element_count
from tensor_runtime.io import zarr
from tensor_runtime.io.blocks import tensor_of
from tensor_runtime.io.zarr_metadata import ArrayFacts

COLUMN_MAJOR: Final = "column-major"
ROW_MAJOR: Final = "row-major"
EITHER: Final = "either"


class MissingNameError(TensorError, KeyError):
    """A tensor that is not in a file, or none named where there are several."""

    def __str__(self) -> str:
        return str(self.args[0])


class Listed(NamedTuple):
    """What a file says of one tensor: element type, ours and NumPy's name of it, order of the elements, bytes.

    Of a tensor that cannot be read only ``error`` says something.
    """

    element: str
    numpy: str
    shape: tuple[int, ...]
    order: str
    nbytes: int
    error: TensorError | None = None


def listed(file: Path, reading: Reading) -> dict[str, Listed]:
    """What is in a file, by name; no element is read.

    Raises:
        TensorError: the file cannot be read.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.npy"
    >>> tr.save(file, tr.ones((2, 3)))
    >>> listed(file, Reading())[""].order
    'column-major'
    """
    if reading.format_of(file) == "zarr":
        return {name: _of_folder(facts) for name, facts in zarr.listed(str(file)).items()}
    with reading.opened(file) as (_, found):
        return {name: _of_file(one) for name, one in tensors_of(found).items()}


def read_one(file: Path, reading: Reading, name: str | None, dtype: DType | None = None) -> tuple[str, tr.Tensor]:
    """The tensor of this name, without one the only tensor there is, and its name; others are not looked into.

    Raises:
        MissingNameError: with the names in the file.
        TensorError: the file or the tensor cannot be read.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.npz"
    >>> tr.save(file, {"a": tr.ones(2)})
    >>> read_one(file, Reading(), None)[0]
    'a'
    """
    if reading.format_of(file) == "zarr":
        facts = zarr.listed(str(file))
        key = _chosen(facts, name)
        return key, _from_folder(str(file), key, _if_foreign(facts[key], dtype))
    with reading.opened(file) as (source, found):
        key = _chosen(found, name)
        return key, _tensor(source, found[key], dtype)


def read_all(file: Path, reading: Reading, dtype: DType | None = None) -> dict[str, tr.Tensor]:
    """Every tensor of a file by its name; elements stay in the file until they are used, where its format allows that.

    Args:
        file: in any format.
        reading: which one, where its ending does not say it.
        dtype: what elements that are none of the seven types are converted to; of no effect on the others.

    Raises:
        TensorError: the file cannot be read.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.npy"
    >>> tr.save(file, tr.ones((2, 3)))
    >>> read_all(file, Reading())[""].shape
    (2, 3)
    """
    if reading.format_of(file) == "zarr":
        return {
            name: _from_folder(str(file), name, _if_foreign(facts, dtype))
            for name, facts in zarr.listed(str(file)).items()
        }
    with reading.opened(file) as (source, found):
        return {name: _tensor(source, entry, dtype) for name, entry in tensors_of(found).items()}


def _chosen(found: Mapping[str, object], name: str | None) -> str:
    if name is not None and name in found:
        return name
    tensors = tensors_of(found)
    if name is None and len(tensors) == 1:
        return next(iter(tensors))
    wanted = f"no tensor {shortened(name)}" if name is not None else f"{len(tensors) or 'no'} tensors, and no --name"
    raise MissingNameError(f"the file holds {wanted}; its tensors: {', '.join(map(shortened, tensors)) or 'none'}")


def _if_foreign(facts: ArrayFacts | Refused, dtype: DType | None) -> DType | None:
    return dtype if isinstance(facts, ArrayFacts) and facts.element.own is None else None


def _of_file(one: Found) -> Listed:
    if isinstance(one, Refused):
        return _refused(one)
    return _described(one.element, one.shape, one.order)


def _refused(one: Refused) -> Listed:
    return Listed("", "", (), "", 0, one.error)


def _described(element: ElementType, shape: tuple[int, ...], order: str) -> Listed:
    ours, numpy = (element.name,) * 2 if element.own is None else (element.own.name, element.own.numpy_name)
    several = sum(extent > 1 for extent in shape) > 1
    said = {"F": COLUMN_MAJOR, "C": ROW_MAJOR}.get(order, order) if several else EITHER
    return Listed(ours, numpy, shape, said, element_count(shape) * element.itemsize)


def _of_folder(facts: ArrayFacts | Refused) -> Listed:
    """Of an array of Zarr, whose chunks may have any order of the axes."""
    if isinstance(facts, Refused):
        return _refused(facts)
    axes = tuple(range(len(facts.shape)))
    order = {axes: "C", axes[::-1]: "F"}.get(facts.permutation, f"axes {facts.permutation}")
    return _described(facts.element, facts.shape, order)


def _from_folder(folder: str, name: str, dtype: DType | None) -> tr.Tensor:
    try:
        return zarr.load_folder(folder, name, dtype, True)[name]
    except LoadError:  # what is compressed, converted or in several chunks cannot be mapped
        return zarr.load_folder(folder, name, dtype, False)[name]


def _tensor(source: Source, entry: Found, dtype: DType | None) -> tr.Tensor:
    checked = isinstance(entry, Entry) and entry.element.own is Bool  # a mapped one is not
    try:
        return tensor_of(block_of(source, entry, dtype=dtype, mmap=not checked), shared=not checked)
    except LoadError:  # what is compressed or converted cannot be mapped
        return tensor_of(block_of(source, entry, dtype=dtype))
