"""The command `info`: what is in a file of tensors."""

from __future__ import annotations

import json
from pathlib import Path

from ironstride.program.commands.tensor_files import Found, read_all
from ironstride.program.network_file import printable
from ironstride.program.units import table
from tensor_core.formatting import readable_bytes


def info(file: Path, as_json: bool) -> bool:
    """Print name, dtype, shape, order and size of every tensor of a file.

    Returns:
        True.

    Raises:
        TensorError: the file cannot be read.

    >>> import tempfile
    >>> import tensor_runtime as tr
    >>> file = Path(tempfile.mkdtemp()) / "x.npy"
    >>> tr.save(file, tr.ones((2, 3)))
    >>> info(file, True)  # doctest: +ELLIPSIS
    {"file": "...x.npy", "bytes": 48, "tensors": [{"name": "", "dtype": "F64", "numpy": "float64", "shape": [2, 3], ...
    True
    """
    found = read_all(file)
    total = sum(one.tensor.nbytes for one in found.values())
    if as_json:
        tensors = [_document(name, one) for name, one in found.items()]
        print(json.dumps({"file": str(file), "bytes": total, "tensors": tensors}))
        return True
    count = f"{len(found)} tensor{'' if len(found) == 1 else 's'}"
    print(f"{printable(str(file))[1:-1]}: {count}, {readable_bytes(total)} of elements")
    if found:
        rows = [_row(name, one) for name, one in found.items()]
        print(table([("name", "dtype", "shape", "order", "bytes"), *rows], "<<<<<"))
    return True


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as the program reads it.

    >>> shape_text((2, 3)), shape_text(())
    ('2x3', '()')
    """
    return "x".join(map(str, shape)) or "()"


def _row(name: str, found: Found) -> tuple[str, ...]:
    x = found.tensor
    dtype = f"{x.dtype.name} ({x.dtype.numpy_name})"
    return printable(name)[1:-1] or "-", dtype, shape_text(x.shape), found.order, readable_bytes(x.nbytes)


def _document(name: str, found: Found) -> dict[str, object]:
    x = found.tensor
    return {
        "name": name,
        "dtype": x.dtype.name,
        "numpy": x.dtype.numpy_name,
        "shape": list(x.shape),
        "order": found.order,
        "bytes": x.nbytes,
    }
