"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from tensor_core.errors import SaveError

_PIECE: Final = 1 << 26  # bytes handed to the system at once, so that Ctrl-C is heard in between


def write_atomically(path: str, pieces: Iterable[bytes | memoryview], /) -> None:
    """Replace or create a file with the bytes given.

    They go to a new file in the same directory, which is flushed to the disk and then renamed, so that readers see the
    old file or the new one, also after a crash. On any error, Ctrl-C included, the old file stays as it was and the
    new one is removed. A symbolic link is followed, and an existing file's permissions are kept.

    Raises:
        SaveError: the system refused; the fields ``errno`` and ``path`` say what and where.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(folder + "/x", [b"ab", b"c"])
    ...     (os.path.getsize(folder + "/x"), os.listdir(folder))
    (3, ['x'])
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".{os.urandom(8).hex()}.tmp")
    try:
        mode = _mode_of(target, path)
        _write(temporary, mode, pieces)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and not isinstance(error, SaveError):
            raise _refused(path, error) from error
        raise
    _flush_folder(folder)


def _mode_of(target: str, path: str) -> int | None:
    """Permissions of the file to be replaced; None when there is none."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        kind = "a directory" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise SaveError(f"save: {path!r} is {kind}; accepted: a regular file or a new name", path=path)
    return stat.S_IMODE(found.st_mode)


def _write(temporary: str, mode: int | None, pieces: Iterable[bytes | memoryview]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    file = os.open(temporary, flags, 0o666)
    try:
        if mode is not None:
            os.chmod(temporary, mode)
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(file, rest[:_PIECE]) :]
        os.fsync(file)
    finally:
        os.close(file)


def _flush_folder(folder: str) -> None:
    """Make the new name last; where directories cannot be flushed, the system does it in its own time."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _refused(path: str, error: OSError) -> SaveError:
    refused = SaveError(
        f"save: {path!r} cannot be written: {error.strerror or error}; nothing was changed",
        path=path,
        errno=error.errno,
    )
    refused.errno, refused.filename, refused.strerror = error.errno, path, error.strerror
    return refused
