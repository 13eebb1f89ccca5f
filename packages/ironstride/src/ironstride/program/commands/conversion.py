"""The command `convert`: tensors of one file into another, in another format or dtype."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import tensor_runtime as tr
from ironstride.program.commands.reading import Reading
from ironstride.program.commands.tensor_files import read_all, read_one
from ironstride.program.commands.writing import Writing
from ironstride.program.json_text import json_text
from ironstride.program.output_paths import check_inputs_kept, check_output_path, make_folder
from tensor_core.dtypes import as_dtype
from tensor_core.errors import LossyConversionError, TensorError


class OptionLossError(TensorError, ValueError):
    """A dtype in which values could be lost, without ``--cast``."""


@dataclass(frozen=True)
class Conversion:
    """What the command line asks for."""

    source: Path
    target: Path
    name: str | None = None
    dtype: str | None = None
    cast: bool = False
    json: bool = False
    reading: Reading = field(default_factory=Reading)
    writing: Writing = field(default_factory=Writing)


def convert(asked: Conversion) -> bool:
    """Write the tensors of one file to another; the new file appears whole or not at all.

    Returns:
        True.

    Raises:
        TensorError: a file cannot be read or written, or a dtype could lose values and `cast` is not set.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> tr.save(folder / "x.npy", tr.ones((2, 3)))
    >>> convert(Conversion(folder / "x.npy", folder / "y.npy", dtype="C64"))  # doctest: +ELLIPSIS
    saved ...y.npy, 1 tensor
    True
    """
    check_output_path("the new file", asked.target, [])
    asked.writing.format_of("the new file", asked.target)
    check_inputs_kept([("the new file", asked.target)], [asked.source])
    wanted = None if asked.dtype is None else as_dtype(asked.dtype)
    if asked.name is None:
        tensors = read_all(asked.source, asked.reading, wanted)
    else:
        tensors = dict([read_one(asked.source, asked.reading, asked.name, wanted)])
    if asked.dtype is not None:
        tensors = {name: _in_dtype(x, asked.dtype, asked.cast) for name, x in tensors.items()}
    make_folder("the new file", asked.target)
    asked.writing.write(asked.target, tensors)
    if asked.json:
        print(json_text({"saved": str(asked.target), "tensors": len(tensors), "names": list(tensors)}))
    else:
        print(f"saved {asked.target}, {len(tensors)} tensor{'' if len(tensors) == 1 else 's'}")
    return True


def _in_dtype(x: tr.Tensor, dtype: str, may_lose: bool) -> tr.Tensor:
    wanted = as_dtype(dtype)
    if may_lose:
        return tr.cast(x, wanted)
    try:
        return tr.convert(x, wanted)
    except LossyConversionError:
        raise OptionLossError(
            f"--dtype {dtype}: {x.dtype} can lose values there; --cast does it all the same"
        ) from None
