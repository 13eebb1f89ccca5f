"""Checks of the files to be written, made before any work is done, so that an hour's contraction is not lost to a typo.

Nothing stays of them, not even a folder.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from pathlib import Path

from tensor_core.errors import TensorError


class OutputPathError(TensorError, ValueError):
    """A file that could not be written; the message names the option and says why."""


def check_output_path(option: str, file: Path, endings: Sequence[str]) -> None:
    """Refuse an output path that could not be written.

    Args:
        option: as the user typed it, for the message.
        file: the path; folders that do not exist yet are made when it is written.
        endings: the accepted ones, with their dot; none for any.

    Raises:
        OutputPathError: unknown ending, a folder in its place, or a folder that cannot be written or made.

    >>> check_output_path("-o", Path("sum.txt"), [".npy"])
    Traceback (most recent call last):
    ironstride.program.output_paths.OutputPathError: -o sum.txt: the ending must be .npy
    """
    if endings and file.suffix.lower() not in endings:
        raise OutputPathError(f"{option} {file}: the ending must be {' or '.join(endings)}")
    folder = file.absolute().parent
    try:
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        taken = file.is_dir()
    except (OSError, ValueError) as error:
        raise OutputPathError(f"{option} {file}: {error}") from None
    if taken:
        raise OutputPathError(f"{option} {file}: a folder has that name")
    try:
        with tempfile.TemporaryFile(dir=folder):  # permissions do not tell of file systems that take no files
            pass
    except OSError:
        raise OutputPathError(f"{option} {file}: {folder} cannot be written") from None


def check_inputs_kept(outputs: Iterable[tuple[str, Path]], inputs: Collection[Path]) -> None:
    """Refuse an output that would take the place of a file that is read, by whatever name or link.

    Args:
        outputs: option and path of each.
        inputs: files that are read.

    Raises:
        OutputPathError: which output it is.

    >>> check_inputs_kept([("-o", Path(__file__))], [Path("a.json"), Path(__file__)])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ironstride.program.output_paths.OutputPathError: -o ... is a file that is read; give the new one another name
    """
    for option, file in outputs:
        if os.path.exists(file) and any(os.path.exists(other) and os.path.samefile(file, other) for other in inputs):
            raise OutputPathError(f"{option} {file} is a file that is read; give the new one another name")


def check_apart(outputs: Iterable[tuple[str, Path]]) -> None:
    """Refuse two outputs of which one would take the place of the other.

    Raises:
        OutputPathError: which outputs they are.

    >>> check_apart([("-o", Path("a.npy")), ("--checkpoint", Path("./a.npy"))])
    Traceback (most recent call last):
    ironstride.program.output_paths.OutputPathError: -o and --checkpoint name one file, a.npy; give two names
    """
    for (first, file), (second, other) in combinations(outputs, 2):
        if os.path.realpath(file) == os.path.realpath(other):
            raise OutputPathError(f"{first} and {second} name one file, {file}; give two names")


def make_folder(option: str, file: Path) -> None:
    """Make the folder that `file` goes into, if it is not there.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "new" / "sum.npy"
    >>> make_folder("-o", file)
    >>> file.parent.is_dir()
    True
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputPathError(f"{option} {file}: {error.strerror or error}") from None
