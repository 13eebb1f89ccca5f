"""What is printed while there are files to be made, which must not be lost with the reader of the output."""

from __future__ import annotations


class Printer:
    """Prints at once.

    Args:
        goes_on: whether work goes on where nobody reads any more (``| head``); the error is then raised at the end.

    >>> with Printer(goes_on=True) as printer:
    ...     printer("read")
    read
    """

    def __init__(self, goes_on: bool) -> None:
        self._goes_on = goes_on
        self._error: BrokenPipeError | None = None

    def __call__(self, text: str) -> None:
        if self._error is not None:
            return
        try:
            print(text, flush=True)
        except BrokenPipeError as error:
            if not self._goes_on:
                raise
            self._error = error

    def __enter__(self) -> Printer:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._error is not None and error is None:
            raise self._error
