"""A file that is read: opened once, its size known, and nothing taken from beyond its end.

What a file claims is compared with its size before memory is taken. Errors name the file, and the byte where it is
wrong.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Any, Final

from tensor_core.errors import ArgumentError, FormatError, LoadError, OutOfMemoryError, SaveError, shortened
from tensor_core.interrupts import is_of_a_signal

Path = str | os.PathLike[str]
LARGEST: Final = 2**63 - 1
_PIECE: Final = 1 << 24  # bytes taken at once, so that Ctrl-C is heard in between


def name_of(
    path: Path, error: type[ArgumentError | LoadError | SaveError], operation: str, what: str = "the path", /
) -> str:
    """The name of a file that a user wrote.

    Raises:
        ArgumentError, LoadError, SaveError: the one given; it is none.

    >>> name_of("x.npy", LoadError, "load")
    'x.npy'
    """
    try:
        name: object = os.fspath(path)
        if isinstance(name, str) and name and "\0" not in name:
            os.fsencode(name)
            return name
    except (TypeError, UnicodeEncodeError):
        pass
    raise error(
        f"{operation}: {what} is {shortened(path)}; accepted: the name of a file, as a str or a path object"
    ) from None


def check_flag(operation: str, what: str, value: object, /) -> None:
    """Raise an error unless an option is True or False; NumPy's bool counts as one.

    Raises:
        ArgumentError: it is something else.

    >>> check_flag("save", "compressed", True)
    """
    kind = type(value)
    if kind is not bool and not (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")):
        raise ArgumentError(f"{operation}: {what} is {shortened(value)}; accepted: True and False")


def open_regular(path: str, /) -> Any:
    """A regular file, open for reading; what is none, such as a pipe, is refused and not waited for.

    Raises:
        OSError: the system refused, or it is no regular file.

    >>> open_regular(os.getcwd())
    Traceback (most recent call last):
    IsADirectoryError: [Errno 21] it is a directory; accepted: a regular file
    """
    return open(path, "rb", opener=_opened)


def _opened(path: str, flags: int) -> int:
    """The descriptor of a regular file, which the file object closes from now on, whatever happens to it."""
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    # Opening a pipe for reading would wait for a writer; O_NONBLOCK means nothing for a regular file.
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    handle = os.open(path, flags)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "it is a directory; accepted: a regular file")
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no regular file; accepted: a regular file")
    except BaseException:
        os.close(handle)
        raise
    return handle


class Source:
    """A regular file, open for reading; a context.

    Raises:
        LoadError: it cannot be opened, or is no regular file; ``errno`` and ``path`` are fields.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file, Source(file.name) as source:
    ...     source.size
    0
    """

    def __init__(self, path: Path, /) -> None:
        self.path = name_of(path, LoadError, "load")
        self.shown = repr(self.path)
        try:
            self.file = open_regular(self.path)
        except OSError as error:
            raise self.unreadable(error) from error
        self.size = os.fstat(self.file.fileno()).st_size
        self._map: memoryview | None = None

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def malformed(self, text: str, offset: int | None = None, /) -> FormatError:
        """The error that the file is not what its format says."""
        where = "" if offset is None else f" (at byte {offset})"
        return FormatError(f"load: {self.shown}{where}: {text}", path=self.path, offset=offset)

    def unmappable(self, text: str, /) -> LoadError:
        """The error that elements cannot stay in the file."""
        return LoadError(f"load: {text}, so they cannot be mapped; load it without mmap", path=self.path)

    def unreadable(self, error: OSError, /) -> LoadError:
        """The error of the system, as ours.

        Raises:
            OSError: the error itself, where no system raised it but a handler of signals.
        """
        if is_of_a_signal(error):
            raise error
        refused = LoadError(
            f"load: {self.shown} cannot be read: {error.strerror or error}", path=self.path, errno=error.errno
        )
        refused.errno, refused.filename, refused.strerror = error.errno, self.path, error.strerror
        return refused

    def read(self, start: int, count: int, what: str, /) -> bytearray:
        """Bytes from ``start`` on, checked against the size of the file before memory is taken.

        Args:
            start: offset in bytes.
            count: how many.
            what: they are, for messages.

        Raises:
            FormatError: they reach beyond the end.
            LoadError: the system refused.
            OutOfMemoryError: not enough memory.
        """
        if start < 0 or start + count > self.size:
            raise self.malformed(
                f"{what} should be bytes {start} to {start + count} of a file of {self.size} bytes: it was cut short, "
                "or claims too much",
                start,
            )
        try:
            found = bytearray(count)
        except MemoryError as error:
            raise OutOfMemoryError(f"load: not enough memory for the {count} bytes of {self.shown}") from error
        rest = memoryview(found)
        try:
            self.file.seek(start)
            while rest:
                got = self.file.readinto(rest[:_PIECE])
                if not got:
                    raise self.malformed("it became shorter while it was read", start + count - len(rest))
                rest = rest[got:]
        except OSError as error:
            raise self.unreadable(error) from error
        return found

    def mapped(self, start: int, count: int, /) -> memoryview:
        """The same bytes, left in the file, read-only; the system reads those that are used.

        Raises:
            LoadError: the system refused.
        """
        from mmap import ACCESS_READ, mmap

        if self._map is None:
            try:
                self._map = memoryview(mmap(self.file.fileno(), self.size, access=ACCESS_READ))
            except (OSError, ValueError, OverflowError) as error:  # it became shorter, or exceeds the address space
                raise LoadError(f"load: {self.shown} cannot be mapped: {error}", path=self.path) from error
        return self._map[start : start + count]
