"""What a reader may do with damaged content: read it, or refuse it by an error of ours, in bounded time and memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Final, TypeVar

from tensor_core import OutOfMemoryError, TensorError

R = TypeVar("R")
_SECONDS: Final = 10.0  # of processor time, after which a reader counts as hanging
_LONGEST: Final = 4_000  # characters of a message


def read_or_refused(read: Callable[[], R], most_bytes: int | None = None, /) -> R | None:
    """What ``read`` gives; None when it refuses by an error of our tree. Anything else that it raises passes.

    Args:
        read: the call.
        most_bytes: of memory that it may take at any moment; None does not count them, which takes time.

    >>> read_or_refused(lambda: 3, 1_000), read_or_refused(lambda: [].fail)
    Traceback (most recent call last):
    AttributeError: 'list' object has no attribute 'fail'
    """
    start = time.thread_time()
    if most_bytes is not None:
        tracemalloc.start()
    try:
        return read()
    except OutOfMemoryError as error:
        raise AssertionError(f"memory was asked for that no file of this size needs: {error}") from error
    except TensorError as error:
        assert len(str(error)) <= _LONGEST, error
        return None
    finally:
        spent = time.thread_time() - start
        if most_bytes is not None:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak <= most_bytes, f"{peak} bytes were taken, and {most_bytes} are enough"
        assert spent < _SECONDS, f"it took {spent:.1f} s"
