"""Calls in another process, which may crash or hang without harm to this one."""

from __future__ import annotations

import atexit
import multiprocessing
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Final

_SECONDS: Final = 20.0  # for one call; the first one imports everything
_MEMORY: Final = 1 << 30  # bytes of addresses that calls may take beside what is loaded
_servants: Final[list[_Servant]] = []


def call(function: Callable[..., str | None], /, *arguments: Any) -> str | None:
    """What a function of a module gives in another process, which serves one call after the other.

    Raises:
        AssertionError: the call raised, or its process crashed or did not answer.

    >>> from properties.exchange.mutations import damaged
    >>> call(repr, 3)
    '3'
    """
    if not _servants:
        _servants.append(_Servant())
        atexit.register(_end)
    return _servants[0].call(function, arguments)


class _Servant:
    """A process and the way to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._mine, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def call(self, function: Callable[..., str | None], arguments: tuple[Any, ...]) -> str | None:
        """One call and its answer."""
        answered = False
        try:
            self._mine.send((function, arguments))
            if not self._mine.poll(_SECONDS):
                raise AssertionError(f"{function.__name__} did not answer within {_SECONDS:.0f} s")
            failed, answer = self._mine.recv()
            answered = True
        except (EOFError, ConnectionError):
            self._process.join(_SECONDS)
            raise AssertionError(
                f"the process of {function.__name__} ended with status {self._process.exitcode}"
            ) from None
        finally:
            if not answered:
                self._process.kill()
                self._process.join()
                _servants.remove(self)
        assert not failed, answer
        return answer  # type: ignore[no-any-return]

    def end(self) -> None:
        """Let the process go."""
        with suppress(OSError):
            self._mine.send(None)
        self._process.join(_SECONDS)


def serve(connection: Connection, /) -> None:
    """Answer calls until None comes."""
    limited = False
    while (asked := connection.recv()) is not None:
        function, arguments = asked
        try:
            answer: tuple[bool, str | None] = False, function(*arguments)
        except BaseException:
            answer = True, traceback.format_exc()
        connection.send(answer)
        if not limited:  # what the first call imported counts as loaded
            limited = True
            _limit_memory()


def _limit_memory() -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm") as file:
            loaded = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (loaded + _MEMORY,) * 2)


def _end() -> None:
    for servant in tuple(_servants):
        servant.end()
