"""The operands of a network, as tensors: from values in the file, from files beside it, or from a seed.

Nothing outside the folder of the network file is ever opened, nothing is unpickled, and nothing larger than its shape
allows is read.
"""

from __future__ import annotations

import cmath
import lzma
import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import tensor_runtime as tr
from ironstride.program.network_file import Drawn, Network, NetworkFileError, Stored, Values, printable
from tensor_core.dtypes import COMPLEX, FLOATING, Bool, DType, Element
from tensor_core.errors import TensorError
from tensor_core.scalar_conversion import to_element
from tensor_runtime.io.npy import load_stream


def make_operands(network: Network) -> list[tr.Tensor]:
    """The operands in the order of the file, with the shapes and the dtype that the file states.

    Raises:
        NetworkFileError: a value, a file or a member does not hold what the network file says.
    """
    return [
        _operand(network, number, source, shape)
        for number, (source, shape) in enumerate(zip(network.operands, network.shapes, strict=True))
    ]


def operand_files(network: Network) -> list[Path]:
    """The files that operands are read from, whether they are there or not.

    >>> from ironstride.program.sources import networks_of
    >>> operand_files(networks_of(["i,i->", "3", "3"])[0])
    []
    """
    return [network.file.parent / source.file for source in network.operands if isinstance(source, Stored)]


def _operand(network: Network, number: int, source: Values | Stored | Drawn, shape: tuple[int, ...]) -> tr.Tensor:
    field = f"operands[{number}]"
    if isinstance(source, Drawn):
        return draw(source, number, shape, network.dtype)
    if isinstance(source, Values):
        flat = list(_elements(source.nested, shape, network.dtype, field))
        return tr.from_flat(flat, shape, dtype=network.dtype, order="C")
    tensor = _load(network, source, shape, field)
    if tensor.shape != shape or tensor.dtype is not network.dtype:
        raise NetworkFileError(
            f"{field}: {_name(source)} holds {tensor.dtype.name} {list(tensor.shape)}; "
            f"the network file says {network.dtype.name} {list(shape)}"
        )
    return tensor


def draw(source: Drawn, number: int, shape: tuple[int, ...], dtype: DType) -> tr.Tensor:
    """Random elements for operand `number`, the same on every machine.

    Args:
        source: seed and distribution; complex numbers have both parts drawn.
        number: the operand's position; operands of one seed get separate streams.
        shape: of the result.
        dtype: of the elements. Integers are drawn from 0 to 9, or from -9 to 9 where they are signed, so that sums of
            products stay exact for long; of Bool, either is as likely.

    >>> from tensor_core.dtypes import F64
    >>> x = draw(Drawn(3, "signed"), 0, (1000,), F64)
    >>> -1 < tr.sum(x).item() / 1000 < tr.max(x).item() < 1
    True
    """
    if dtype is Bool:
        return tr.cast(tr.integers(shape, 0, 2, seed=source.seed, stream=number), Bool)
    if dtype not in FLOATING:
        low = -9 if source.distribution == "signed" else 0
        return tr.integers(shape, low, 10, seed=source.seed, stream=number, dtype=dtype)
    uniform = tr.uniform(shape, seed=source.seed, stream=number, dtype=dtype)
    if source.distribution == "uniform":
        return uniform
    centre = 0.5 + 0.5j if dtype in COMPLEX else 0.5
    return tr.multiply(tr.subtract(uniform, centre), 2.0)


def values_drawn(source: Drawn, dtype: DType) -> str:
    """Which values :func:`draw` gives.

    >>> from tensor_core.dtypes import F64, I64
    >>> values_drawn(Drawn(3, "signed"), F64), values_drawn(Drawn(3, "uniform"), I64)
    ('uniform on (-1, 1)', 'uniform on 0 to 9')
    """
    if dtype is Bool:
        return "False and True alike"
    signed = source.distribution == "signed"
    if dtype not in FLOATING:
        return f"uniform on {'-9' if signed else '0'} to 9"
    return f"uniform on {'(-1, 1)' if signed else '(0, 1)'}"


def _elements(nested: object, shape: Sequence[int], dtype: DType, field: str) -> Iterator[Element]:
    """The elements of `nested`, last axis fastest."""
    if not shape:
        yield _element(nested, dtype, field)
        return
    if not isinstance(nested, list) or len(nested) != shape[0]:
        found = f"a list of {len(nested)}" if isinstance(nested, list) else printable(nested)
        raise NetworkFileError(f"{field}: found {found}; the shape asks for a list of {shape[0]}")
    for index, part in enumerate(nested):
        yield from _elements(part, shape[1:], dtype, f"{field}[{index}]")


def _element(given: object, dtype: DType, field: str) -> Element:
    value = given
    if dtype in COMPLEX and isinstance(value, list):
        if len(value) != 2 or not all(type(part) in (int, float) for part in value):
            raise NetworkFileError(f"{field}: found {printable(value)}; a complex number is a pair [re, im]")
        value = complex(_finite(value[0], field), _finite(value[1], field))
    accepted = {"bool": (bool,), "int": (int,), "float": (int, float), "complex": (int, float, complex)}[dtype.kind]
    if type(value) not in accepted:
        raise NetworkFileError(f"{field}: found {printable(value)}; an element of {dtype.name} is expected")
    if dtype.kind in ("float", "complex") and not isinstance(value, complex):
        value = _finite(value, field)
    try:
        element = to_element(value, dtype)
    except TensorError as error:
        raise NetworkFileError(f"{field}: {error}") from None
    if not cmath.isfinite(element):  # rounded to F32 or C32
        raise NetworkFileError(f"{field}: found {printable(given)}, beyond the range of {dtype.name}")
    return element


def _finite(value: object, field: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise NetworkFileError(f"{field}: found {printable(value)}, beyond the range of floating point")
    return number


def _name(source: Stored) -> str:
    return printable(source.file if source.member is None else f"{source.file}:{source.member}")


def _load(network: Network, source: Stored, shape: tuple[int, ...], field: str) -> tr.Tensor:
    file = _beside(network.file, source.file, field)
    name, most = _name(source), math.prod(shape) * network.dtype.itemsize
    try:
        with _opened(file, source, field) as stream:
            return load_stream(stream, name=name, max_bytes=most)
    except NetworkFileError:
        raise
    except TensorError as error:
        raise NetworkFileError(f"{field}: {error}") from None
    except (OSError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, EOFError, ValueError) as error:
        # all but the first come from damaged, encrypted or unknown kinds of archives
        raise NetworkFileError(f"{field}: {name} cannot be read: {error}") from None


def _beside(network_file: Path, name: str, field: str) -> Path:
    folder = network_file.parent.resolve()
    try:
        file = (folder / name).resolve()
        found = file.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise NetworkFileError(f"{field}: {printable(name)}: {error}") from None
    if not file.is_relative_to(folder):
        raise NetworkFileError(f"{field}: {printable(name)} lies outside the folder of the network file")
    if not found:
        raise NetworkFileError(f"{field}: there is no file {printable(name)} beside the network file")
    return file


@contextmanager
def _opened(file: Path, source: Stored, field: str) -> Iterator[BinaryIO]:
    """The `.npy` file itself, or the member of the archive, open for reading."""
    if source.member is None:
        with file.open("rb") as stream:
            yield stream
        return
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        if f"{source.member}.npy" not in names:
            members = printable([name.removesuffix(".npy") for name in names], 200)
            raise NetworkFileError(f"{field}: {_name(source)} does not exist; members: {members}")
        with archive.open(f"{source.member}.npy") as stream:
            yield cast(BinaryIO, stream)
