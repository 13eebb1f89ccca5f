"""How a file of tensors is to be written: by the ending of its name, by `--to-format`, or as raw elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import tensor_runtime as tr
from ironstride.program.commands.reading import ENDINGS, FileOptionsError
from ironstride.program.commands.tensor_files import MissingNameError
from ironstride.program.output_paths import OutputPathError
from tensor_core.errors import shortened
from tensor_core.files.formats import format_of
from tensor_core.files.raw import ByteOrder
from tensor_core.shapes import Order
from tensor_runtime.io.formats import FORMATS

UNNAMED: Final = "tensor"
"""The name of a tensor without one, in a format that has names."""


@dataclass(frozen=True)
class Writing:
    """What the command line says of the new file; for raw elements their order, and how their bytes lie."""

    to_format: str | None = None
    to_raw: Order | None = None
    to_byteorder: ByteOrder | None = None

    def format_of(self, option: str, file: Path) -> str:
        """The name of the format, `raw` for elements and nothing else.

        Args:
            option: what the file is, for the message.
            file: the new file.

        Raises:
            FileOptionsError: options that contradict each other.
            OutputPathError: an ending that no format has, with those that there are.
            ArgumentError: no format of this name.

        >>> Writing().format_of("B", Path("x.npz")), Writing(to_raw="F").format_of("B", Path("x.bin"))
        ('npz', 'raw')
        """
        if self.to_raw is not None:
            if self.to_format is not None:
                raise FileOptionsError("--to-raw and --to-format: a raw file has no format; give one of the two")
            return "raw"
        if self.to_byteorder is not None:
            raise FileOptionsError(
                f"--to-byteorder {self.to_byteorder} describes a raw file; --to-raw F or --to-raw C says that it is one"
            )
        if self.to_format is None and file.suffix and file.suffix.lower() not in FORMATS:
            raise OutputPathError(
                f"{option}: {str(file)!r} ends in {file.suffix!r}; accepted: {ENDINGS}; --to-format names one, and "
                "--to-raw F writes elements and nothing else, column-major (C: row-major)"
            )
        return format_of("--to-format", str(file), self.to_format, FORMATS)

    def write(self, file: Path, tensors: Mapping[str, tr.Tensor]) -> None:
        """Write one tensor, or several by name where the format has names; the file appears whole or not at all.

        Raises:
            MissingNameError: several tensors for a file that holds one.
            TensorError: the file cannot be written.

        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "x.bin"
        >>> Writing(to_raw="C").write(file, {"": tr.ones((2, 3))})
        >>> tr.load_raw(file, (2, 3), "F64", order="C").shape
        (2, 3)
        """
        kind = self.format_of("save", file)
        if kind not in ("npy", "raw"):
            tr.save(file, {name or UNNAMED: x for name, x in tensors.items()}, format=kind)
            return
        if len(tensors) != 1:
            names = ", ".join(map(shortened, tensors)) or "none"
            raise MissingNameError(f"{file} holds one tensor; choose it by --name: {names}")
        (tensor,) = tensors.values()
        if self.to_raw is None:
            tr.save(file, tensor, format=kind)
        else:
            tr.save_raw(file, tensor, order=self.to_raw, byteorder=self.to_byteorder or "little")
