"""Arguments of launches, in memory from which the driver takes them.

A launch by CuPy's own functions takes twice as long, as an object is made of each.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from ctypes import addressof, c_int64, c_void_p
from struct import pack_into

from tensor_gpu.device.program import Argument


class Arguments(threading.local):
    """Memory of one thread for the arguments of one launch at a time: the driver copies them before it returns.

    >>> from ctypes import cast, c_double, c_long, POINTER
    >>> arguments = Arguments()
    >>> places = cast(arguments.packed((7, 2.5)), POINTER(c_void_p))
    >>> cast(places[0], POINTER(c_long))[0], cast(places[1], POINTER(c_double))[0]
    (7, 2.5)
    """

    def __init__(self) -> None:
        self._make_room(32)

    def packed(self, arguments: Sequence[Argument], /) -> int:
        """The address of a list of addresses, one of the eight bytes of each argument."""
        if len(arguments) > len(self._values):
            self._make_room(2 * len(arguments))
        kinds = "".join(["d" if isinstance(one, float) else "q" for one in arguments])
        pack_into(kinds, self._values, 0, *arguments)
        return self._address

    def _make_room(self, count: int) -> None:
        self._values = (c_int64 * count)()
        first = addressof(self._values)
        self._places = (c_void_p * count)(*range(first, first + 8 * count, 8))
        self._address = addressof(self._places)
