"""Ctrl-C held back for a moment, where it would leave something half done; and what handlers of signals raise."""

from __future__ import annotations

import signal
import threading
from functools import partial
from types import CodeType
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


def is_of_a_signal(error: BaseException, /) -> bool:
    """Whether a handler of signals raised it, as one of SIGALRM does where somebody bounds the time of a call.

    Only handlers written in Python are known, that are installed still.

    >>> is_of_a_signal(ValueError())
    False
    """
    handlers = [signal.getsignal(one) for one in signal.valid_signals()]
    codes = {code for code in map(_code_of, filter(callable, handlers)) if code is not None}
    trace = error.__traceback__
    while codes and trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _code_of(handler: Any) -> CodeType | None:
    while isinstance(handler, partial):
        handler = handler.func
    handler = getattr(handler, "__func__", handler)
    code = getattr(handler, "__code__", None) or getattr(type(handler).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None
