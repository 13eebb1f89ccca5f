"""Checks of the files to be written, made before any work is done, so that an hour's contraction is not lost to a typo.

Nothing is written here, not even a folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
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
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise OutputPathError(f"{option} {file}: {folder} cannot be written")


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
