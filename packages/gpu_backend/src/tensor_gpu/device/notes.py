"""Refusals that are noted on devices, until the host reads what may depend on them.

A note is of the stream in which an operation looked at values. Streams that wait for that one have it before them, too,
on whatever device they are: so nobody reads what follows a refusal without hearing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tensor_core.errors import TensorError
from tensor_gpu.device.api import Stream
from tensor_runtime.locks import fork_safe_lock

Found = Callable[[], TensorError | None]
"""Reads what a launch found, and tells no other note: what is to be raised, or None where nothing is refused."""


class Note:
    """What may have been refused in a stream; ``found`` is None once it was told."""

    __slots__ = ("found", "stream")

    def __init__(self, stream: Stream, found: Found) -> None:
        self.stream = stream
        self.found: Found | None = found


class Notes:
    """The notes that are before whatever is submitted to a stream from now on.

    >>> notes = Notes()
    >>> notes.add("first", lambda: TensorError("the index is 7"))
    >>> notes.follow("second", "first")
    >>> notes.tell("second")
    Traceback (most recent call last):
    tensor_core.errors.TensorError: the index is 7
    >>> notes.tell("first")
    """

    def __init__(self) -> None:
        self._before: dict[Stream, dict[Note, None]] = {}  # in the order in which they were noted
        self._lock = fork_safe_lock()

    def add(self, stream: Stream, found: Found, /) -> None:
        """Note a refusal that may have been found in a stream."""
        with self._lock:
            self._before.setdefault(stream, {})[Note(stream, found)] = None

    def count(self, stream: Stream, /) -> int:
        """How many are before what comes next in a stream."""
        return len(self._before.get(stream, ()))

    def streams(self, among: Collection[Stream], /) -> tuple[Stream, ...]:
        """Those among some streams that have notes before them, in the order in which they came to have them."""
        return tuple(stream for stream in tuple(self._before) if stream in among)

    def follow(self, stream: Stream, other: Stream, /) -> None:
        """Have before a stream, too, what is before another one, for which it waits."""
        if other in self._before:
            with self._lock:
                before = self._untold(other)
                if before:
                    self._before[stream] = {**self._untold(stream), **before}

    def tell(self, stream: Stream, /) -> None:
        """Raise the first refusal before a stream, and forget those that were noted after it there or where it was.

        What cannot be read now is told later.
        """
        with self._lock:
            notes = self._before.pop(stream, {})
        try:
            for note in notes:
                error = None if note.found is None else note.found()
                note.found = None
                if error is not None:
                    self._forget(notes, {stream, note.stream})
                    raise error
        finally:
            with self._lock:
                left = {note: None for note in notes if note.found is not None}
                if left:
                    self._before[stream] = {**left, **self._before.get(stream, {})}

    def _untold(self, stream: Stream) -> dict[Note, None]:
        return {note: None for note in self._before.get(stream, ()) if note.found is not None}

    def _forget(self, notes: dict[Note, None], streams: set[Stream]) -> None:
        with self._lock:
            for note in (*notes, *(note for one in streams for note in self._before.get(one, ()))):
                if note.stream in streams:
                    note.found = None
