"""How a file of tensors is to be read: by the ending of its name, by `--format`, or as raw elements, which say nothing.

Raw files hold elements and nothing else, as Fortran, C and Julia write them; `--raw` and the options beside it say what
a header would. What was not said is never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ironstride.program.network_file import printable
from ironstride.program.sources import read_shape
from tensor_core.errors import FormatError, TensorError
from tensor_core.files import raw
from tensor_core.files.blocks import Found
from tensor_core.files.formats import format_of
from tensor_core.files.raw import ByteOrder
from tensor_core.files.source import Source
from tensor_core.shapes import Order
from tensor_runtime.io.formats import FORMATS, read

ENDINGS: Final = ", ".join(filter(None, FORMATS))
_HINT: Final = f"""--format says which it is ({", ".join(dict.fromkeys(FORMATS.values()))}); a raw file, elements and \
nothing else, takes --raw F64 --shape 2x3 --order F"""


class FileOptionsError(TensorError, ValueError):
    """Options that do not say how a file is to be read, or a file of which neither they nor its ending say it."""


@dataclass(frozen=True)
class Reading:
    """What the command line says of a file; for `raw` its element type, and where and how its elements lie."""

    format: str | None = None
    raw: str | None = None
    shape: str | None = None
    order: Order | None = None
    offset: int | None = None
    byteorder: ByteOrder | None = None

    def format_of(self, file: Path) -> str:
        """The name of the format, `raw` for elements and nothing else.

        Raises:
            FileOptionsError: options that contradict each other, or an ending that no format has.
            ArgumentError: no format of this name.

        >>> Reading().format_of(Path("x.npz")), Reading(format="npz").format_of(Path("x.weights"))
        ('npz', 'npz')
        """
        if self.raw is not None:
            if self.format is not None:
                raise FileOptionsError("--raw and --format: a raw file has no format; give one of the two")
            return "raw"
        told = {name: getattr(self, name) for name in ("shape", "order", "offset", "byteorder")}
        for name, value in told.items():
            if value is not None:
                raise FileOptionsError(f"--{name} {value} describes a raw file; --raw F64 says that it is one")
        ending = file.suffix.lower()
        if self.format is None and ending and ending not in FORMATS:
            raise FileOptionsError(f"the ending {printable(ending)} says no format; accepted: {ENDINGS}; {_HINT}")
        return format_of("--format", str(file), self.format, FORMATS)

    @contextmanager
    def opened(self, file: Path) -> Iterator[tuple[Source, dict[str, Found]]]:
        """A file, which is no folder of Zarr, and its tensors by name; they can be read while the block runs.

        Raises:
            FileOptionsError: as for `format_of`; or raw elements without their shape or order.
            TensorError: the file cannot be read, or raw elements take more or fewer bytes than there are.

        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     written = file.write(bytes(48)), file.flush()
        ...     with Reading(raw="F64", shape="2x3", order="F").opened(Path(file.name)) as (_, found):
        ...         found[""].shape
        (2, 3)
        """
        kind = self.format_of(file)
        with ExitStack() as stack:
            if kind == "raw":
                source = stack.enter_context(Source(file))
                yield source, {"": self._entry(source)}
                return
            try:
                entered = stack.enter_context(read(str(file), "info", kind, None))
            except FormatError as error:
                if self.format is not None or file.suffix:
                    raise
                raise FileOptionsError(f"{error}; a name without an ending stands for .npy: {_HINT}") from None
            yield entered

    def _entry(self, source: Source) -> Found:
        assert self.raw is not None
        element = raw.element_of("--raw", self.raw)
        if self.shape is None:
            raise FileOptionsError(f"--raw {self.raw} takes --shape, such as --shape 2x3: a raw file does not say it")
        shape = read_shape(self.shape)
        if self.order is None and len(shape) > 1:
            raise FileOptionsError(
                f"--raw {self.raw} --shape {self.shape} takes --order: F column-major, as Fortran, Julia and MATLAB "
                "write it; C row-major, as C and NumPy do"
            )
        entry = raw.entry_of(source, shape, element, self.order or "F", self.offset or 0, self.byteorder or "little")
        if self.offset is None and entry.nbytes < source.size:
            raise source.malformed(
                f"{element.shown} {shape} takes {entry.nbytes} bytes, and {source.size} are there; --offset says "
                "where they begin (0: with the first, and the rest is left)"
            )
        return entry
