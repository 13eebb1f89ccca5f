"""Ctrl-C held back for a moment, where it would leave something half done."""

from __future__ import annotations

import signal
import threading
from typing import Any


class InterruptsHeld:
    """A block that Ctrl-C does not stop: it takes effect at the end.

    Only the main thread is ever interrupted, so nothing is done in others; nor is anything where Ctrl-C is ignored.

    >>> former = signal.signal(signal.SIGINT, lambda *_: print("interrupted"))
    >>> with InterruptsHeld():
    ...     signal.raise_signal(signal.SIGINT)
    ...     print("done")
    done
    interrupted
    >>> _ = signal.signal(signal.SIGINT, former)
    """

    __slots__ = ("_former", "_pending")

    def __enter__(self) -> None:
        self._pending: tuple[Any, ...] | None = None
        main = threading.current_thread() is threading.main_thread()
        self._former: Any = signal.getsignal(signal.SIGINT) if main else None
        if callable(self._former):
            signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_: object) -> None:
        if callable(self._former):
            signal.signal(signal.SIGINT, self._former)
            if self._pending is not None:
                self._former(*self._pending)

    def _note(self, *arguments: Any) -> None:
        self._pending = arguments
