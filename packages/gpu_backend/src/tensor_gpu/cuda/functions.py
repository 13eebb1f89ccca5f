"""Programs that were loaded on devices: the latest used of each device are kept, others are unloaded.

Nothing here reaches a device: whoever makes a :class:`Functions` says how programs are loaded and devices are waited
for. What unloads a program is that nobody holds its function any more.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from tensor_gpu.device.program import Program

F = TypeVar("F")

MOST: Final = 1024
"""Functions of a device: as many as programs that ``tensor_gpu.device.program`` keeps, some 50 kB each."""


class Functions(Generic[F]):
    """What launches programs, by program and device. ``F`` is loaded code.

    >>> from tensor_gpu.device.program import Program
    >>> one, two = (Program(name, name, lambda memory, arguments: None) for name in ("one", "two"))
    >>> functions = Functions(lambda program, ordinal: f"{program.entry} on {ordinal}", print, most=1)
    >>> functions.of(one, 7), functions.of(one, 7)
    ('one on 7', 'one on 7')
    >>> functions.of(two, 7)
    7
    'two on 7'
    """

    def __init__(
        self, load: Callable[[Program, int], F], wait: Callable[[int], object], /, *, most: int = MOST
    ) -> None:
        """What is asked of devices.

        Args:
            load: the code of a program, on a device.
            wait: for all that was submitted to a device, as code must not go while it runs.
            most: functions that are kept for each device.
        """
        self._load, self._wait, self._most = load, wait, most
        self._kept: dict[int, OrderedDict[tuple[str, str], F]] = {}
        self._lock = threading.Lock()

    def of(self, program: Program, ordinal: int, /) -> F:
        """The code of a program on a device, which is the current one: what is unloaded for it is of the same device.

        Raises:
            BackendError: it cannot be compiled for the device.
        """
        key = program.source, program.entry
        with self._lock:
            kept = self._kept.setdefault(ordinal, OrderedDict())
            found = kept.get(key)
            if found is not None:
                kept.move_to_end(key)
                return found
        loaded = self._load(program, ordinal)  # outside of the lock, as compilers take long
        dropped: list[F] = []
        with self._lock:
            loaded = kept.setdefault(key, loaded)
            while len(kept) > self._most:
                dropped.append(kept.popitem(last=False)[1])
        if dropped:
            self._wait(ordinal)
        return loaded
