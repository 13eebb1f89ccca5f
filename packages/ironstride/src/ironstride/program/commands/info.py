"""The command `info`: what is in a file of tensors."""

from __future__ import annotations

from pathlib import Path

from ironstride.program.commands.reading import Reading
from ironstride.program.commands.tensor_files import Listed, listed
from ironstride.program.json_text import json_text
from ironstride.program.network_file import printable
from ironstride.program.units import table
from tensor_core.formatting import readable_bytes


def info(file: Path, reading: Reading, as_json: bool) -> bool:
    """Print name, dtype, shape, order and size of every tensor of a file.

    Returns:
        True.

    Raises:
        TensorError: the file cannot be read.

    >>> import tempfile
    >>> import tensor_runtime as tr
    >>> file = Path(tempfile.mkdtemp()) / "x.npy"
    >>> tr.save(file, tr.ones((2, 3)))
    >>> info(file, Reading(), True)  # doctest: +ELLIPSIS
    {"file": "...x.npy", "bytes": 48, "tensors": [{"name": "", "dtype": "F64", "numpy": "float64", "shape": [2, 3], ...
    True
    """
    found = listed(file, reading)
    total = sum(one.nbytes for one in found.values())
    if as_json:
        tensors = [_document(name, one) for name, one in found.items()]
        print(json_text({"file": str(file), "bytes": total, "tensors": tensors}))
        return True
    count = f"{len(found)} tensor{'' if len(found) == 1 else 's'}"
    print(f"{printable(str(file))[1:-1]}: {count}, {readable_bytes(total)} of elements")
    if found:
        rows = [_row(name, one) for name, one in found.items()]
        print(table([("name", "dtype", "shape", "order", "bytes"), *rows], "<<<<<"))
    for one in found.values():
        if one.error is not None:
            print(f"not read: {one.error}")
    return True


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as the program reads it.

    >>> shape_text((2, 3)), shape_text(())
    ('2x3', '()')
    """
    return "x".join(map(str, shape)) or "()"


def _row(name: str, found: Listed) -> tuple[str, ...]:
    element = found.element if found.element == found.numpy else f"{found.element} ({found.numpy})"
    if found.error is not None:
        return printable(name)[1:-1] or "-", "not read", "", "", ""
    return printable(name)[1:-1] or "-", element, shape_text(found.shape), found.order, readable_bytes(found.nbytes)


def _document(name: str, found: Listed) -> dict[str, object]:
    if found.error is not None:
        return {"name": name, "error": str(found.error)}
    return {
        "name": name,
        "dtype": found.element,
        "numpy": found.numpy,
        "shape": list(found.shape),
        "order": found.order,
        "bytes": found.nbytes,
    }
