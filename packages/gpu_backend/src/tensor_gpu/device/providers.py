"""Which provider contracts: what there is, what the user asked for, and what stands against each.

Nothing is imported before a contraction would gain by it. A provider that cannot be opened is told of, and asked no
more in this process; contractions then go the other way, with the same answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Final

from tensor_core.errors import ArgumentError, shortened
from tensor_gpu.device.provider import Contract, Provider
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.locks import fork_safe_lock

VARIABLE: Final = "TENSOR_GPU_PROVIDER"
"""Variable of the environment: what :meth:`Providers.use` takes."""
AUTO: Final = "auto"
"""The first one that can be opened, where that is estimated to be faster than copies and a product of matrices."""
NONE: Final = "gemm"
"""No provider: the device's library of products, and programs of ours."""


class Providers:
    """The providers of devices of one kind.

    >>> providers = Providers(lambda: ())
    >>> providers.use("gemm").close()
    >>> providers.chosen() is None
    True
    """

    def __init__(self, found: Callable[[], Sequence[Provider]], /) -> None:
        """What is chosen among.

        Args:
            found: those that may be there, the best first; opens none. It is asked again at every choice.
        """
        self._found = found
        self._wanted: str | None = None  # None: what the environment says
        self._opened: dict[str, str] = {}  # what was found, by name
        self._against: dict[str, str] = {}
        self._lock = fork_safe_lock()

    @property
    def wanted(self) -> str:
        """What was asked for: "auto", "gemm", or a name."""
        return self._wanted or os.environ.get(VARIABLE) or AUTO

    def use(self, name: str, /) -> AbstractContextManager[object]:
        """Contract by one provider from now on, wherever it takes the contraction; kernels are bound anew.

        Args:
            name: of a provider; "auto" takes one where that is estimated to be faster, and "gemm" takes none.

        Returns:
            What puts back what was asked for before, at the end of a ``with`` block.

        Raises:
            ArgumentError: there is no such provider.

        >>> Providers(lambda: ()).use("cutensr")
        Traceback (most recent call last):
        tensor_core.errors.ArgumentError: use: there is no provider 'cutensr'; accepted: 'auto', 'gemm'
        """
        if name not in (AUTO, NONE, *(one.name for one in self._found())):
            raise ArgumentError(f"use: {self._no(name)}", operation="use")
        restored = ExitStack()
        restored.callback(self._put, self._wanted)
        self._put(name)
        return restored

    def _no(self, name: str) -> str:
        accepted = (AUTO, NONE, *(one.name for one in self._found()))
        return f"there is no provider {shortened(name)}; accepted: {', '.join(map(repr, accepted))}"

    def _put(self, wanted: str | None) -> None:
        self._wanted = wanted
        binding_cache.clear()

    def chosen(self) -> Provider | None:
        """The provider that contracts where it gains; opens it. None where there is none, or none is wanted.

        Raises:
            ArgumentError: the environment names a provider that these devices do not have, but others.
        """
        wanted, found = self.wanted, self._found()
        if wanted == NONE or not found:
            return None
        if wanted not in (AUTO, *(one.name for one in found)):
            raise ArgumentError(f"{VARIABLE}: {self._no(wanted)}", variable=VARIABLE)
        for one in found:
            if wanted in (AUTO, one.name) and self._opens(one):
                return one
        return None

    def refuses(self, provider: Provider, ordinal: int, call: Contract, /) -> str | None:
        """Why it does not take a contraction; whatever it raises is such a reason, too."""
        try:
            return provider.refuses(ordinal, call)
        except Exception as error:
            return _line(error)

    def told(self, ordinal: int, call: Contract, /) -> str:
        """What there is, and why the one that is opened does not take a contraction; opens nothing."""
        for one in self._found():
            if one.name in self._opened and self.wanted in (AUTO, one.name):
                refused = self.refuses(one, ordinal, call)
                if refused:
                    return f"{one.name} does not take this one: {refused}"
        return self.describe()

    def _opens(self, one: Provider) -> bool:
        with self._lock:
            if one.name not in self._opened and one.name not in self._against:
                try:
                    self._opened[one.name] = one.opened()
                except Exception as error:
                    self._against[one.name] = _line(error)
            return one.name in self._opened

    def describe(self) -> str:
        """What there is and what is known of it, in one line; opens nothing.

        >>> Providers(lambda: ()).describe()
        'none; wanted: auto'
        """
        names = [one.name for one in self._found()]
        told = [f"{name} ({self._opened.get(name) or self._against.get(name) or 'not opened yet'})" for name in names]
        return f"{', '.join(told) or 'none'}; wanted: {self.wanted}"


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
