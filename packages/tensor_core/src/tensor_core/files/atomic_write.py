"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, BinaryIO, Final

from tensor_core.errors import SaveError, TensorError
from tensor_core.interrupts import InterruptsHeld, is_of_a_signal

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_PIECE: Final = 1 << 26  # bytes handed to the system at once, so that Ctrl-C is heard in between
_LONGEST_NAME: Final = 250  # bytes of a name that leave room for ours in the 255 that file systems allow
_ATTEMPTS: Final = 3
_NEW_FILE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def write_atomically(path: str, pieces: Iterable[bytes | bytearray | memoryview], /) -> None:
    """Replace or create a file with the bytes given, whole or not at all; see :func:`new_file`.

    Raises:
        SaveError: the system refused; the fields ``errno`` and ``path`` say what and where.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(folder + "/x", [b"ab", b"c"])
    ...     (os.path.getsize(folder + "/x"), os.listdir(folder))
    (3, ['x'])
    """
    with new_file(path) as file:
        write_pieces(file, pieces)


def write_pieces(file: BinaryIO, pieces: Iterable[bytes | bytearray | memoryview], /) -> None:
    """Write all bytes of each piece; Ctrl-C is heard in between.

    >>> import io
    >>> file = io.BytesIO()
    >>> write_pieces(file, [b"ab", b"c"])
    >>> file.getvalue()
    b'abc'
    """
    for piece in pieces:
        rest = memoryview(piece)
        while rest:
            rest = rest[file.write(rest[:_PIECE]) :]


@contextmanager
def new_file(path: str, /) -> Iterator[BinaryIO]:
    """A new file, open for reading and writing, that takes the place of ``path`` when the block ends.

    It lies in the same directory, is flushed to the disk and then renamed, so that readers see the old file or the new
    one, also after a crash. On any error, Ctrl-C included, the old file stays as it was and the new one is removed;
    what a killed process left of it, ``.NAME.tmp``, is removed by the next one that writes NAME. A symbolic link is
    followed, and an existing file's permissions are kept. Of several hard links only the one named gets the new
    content.

    Raises:
        SaveError: the system refused; the fields ``errno`` and ``path`` say what and where.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with new_file(folder + "/x") as file:
    ...         written = file.write(b"ab"), os.listdir(folder)
    ...     (written, os.listdir(folder))
    ((2, ['.x.tmp']), ['x'])
    """
    if path.endswith((os.sep, os.altsep or os.sep)):
        raise SaveError(f"save: {path!r} ends as the name of a folder does; accepted: the name of a file", path=path)
    target = os.path.realpath(path)
    temporary = ""
    try:
        mode = _mode_of(target, path)
        with ExitStack() as open_files:
            with InterruptsHeld():  # else the file might be there before its name is known here
                temporary, handle = _new_file_beside(target)
                open_files.callback(os.close, handle)
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(handle, mode)
            with open(handle, "w+b", buffering=0, closefd=False) as file:
                yield file
            os.fsync(handle)
            if fcntl is None:
                open_files.close()  # Windows renames closed files only; elsewhere the lock is held until the new name
            os.replace(temporary, target)
    except BaseException as error:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError) and not (isinstance(error, TensorError) or is_of_a_signal(error)):
            raise _refused(path, error) from error
        raise
    _flush_folder(os.path.dirname(target))


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


def _new_file_beside(target: str) -> tuple[str, int]:
    """A new file in the target's folder, locked while it is being written: its name, and its descriptor.

    Its name follows from the target's, so that what a killed process left there is found and removed by the next one
    that saves under that name. While another process writes the same target, any unused name will do.
    """
    folder, name = os.path.split(target)
    wanted = _temporary_of(target)
    if fcntl is not None and len(os.fsencode(name)) <= _LONGEST_NAME:
        for _ in range(_ATTEMPTS):
            with suppress(FileExistsError):
                file = os.open(wanted, _NEW_FILE, 0o666)
                if _lock(file) is not False and _is_at(wanted, file):
                    return wanted, file
                os.close(file)
            if not _removed_if_left(wanted):
                break
    other = os.path.join(folder, f".{os.urandom(8).hex()}.tmp")
    return other, os.open(other, _NEW_FILE, 0o666)


def _temporary_of(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name}.tmp")


def remove_leftover(path: str, /) -> None:
    """Remove what a killed process left of a file that it was writing under this name, if there is anything.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(folder + "/.x.tmp", "wb"):
    ...         remove_leftover(folder + "/x")
    ...     os.listdir(folder)
    []
    """
    target = os.path.realpath(path)
    if fcntl is not None and len(os.fsencode(os.path.basename(target))) <= _LONGEST_NAME:
        try:
            _removed_if_left(_temporary_of(target))
        except OSError as error:
            if is_of_a_signal(error):
                raise


def _removed_if_left(path: str) -> bool:
    """Remove a file of ours that nobody writes any more; whether the name may be free now."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        status = os.fstat(file)
        ours = stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_uid == os.geteuid()
        if not (ours and _lock(file) and _is_at(path, file)):
            return False
        os.unlink(path)
        return True
    finally:
        os.close(file)


def _lock(file: int) -> bool | None:
    """Lock a file until it is closed, or its process is gone: False if another one holds it, None without locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network file systems have none
        return None
    return True


def _is_at(path: str, file: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(file))
    except FileNotFoundError:
        return False


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
