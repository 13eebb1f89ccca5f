"""Transfers in the background: what ``upload(..., wait=False)`` and ``download(..., wait=False)`` return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tensor_runtime.backends.error_translation import fail
from tensor_runtime.form import Form
from tensor_runtime.protocols import Underway

T = TypeVar("T")


class Pending(Generic[T]):
    """A transfer that was begun, with every buffer that it needs; the source may change at once.

    Args:
        operation: whose it is.
        form: of the tensor, on the device.
        underway: the backend's transfer.
        made: from what was transferred to what :meth:`result` gives.

    >>> from tensor_core import HostTensor
    >>> from tensor_runtime import upload
    >>> pending = upload(HostTensor.from_nested([1.0, 2.0]), "cpu", wait=False)
    >>> pending.done(), pending.result().shape
    (True, (2,))
    """

    __slots__ = ("_form", "_found", "_made", "_operation", "_underway")

    def __init__(self, operation: str, form: Form, underway: Underway[Any], made: Callable[[Any], T], /) -> None:
        self._operation = operation
        self._form = form
        self._underway: Underway[Any] | None = underway
        self._made = made
        self._found: T | None = None

    def done(self) -> bool:
        """Whether :meth:`result` has nothing to wait for."""
        if self._underway is None:
            return True
        try:
            return self._underway.done()
        except Exception as error:
            fail(self._operation, error, self._form)

    def result(self) -> T:
        """What was transferred, complete: always the same object.

        Raises:
            BackendError: the transfer failed. A refusal of values that was put off (``checks("deferred")``) is raised
                as itself.
        """
        if self._underway is not None:
            try:
                self._found = self._made(self._underway.result())
            except Exception as error:
                fail(self._operation, error, self._form)
            self._underway = None
        return self._found  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Pending({self._operation}, {self._form}, {'done' if self.done() else 'under way'})"


class AtOnce(Generic[T]):
    """A transfer that is done, in the place of one in the background.

    >>> AtOnce(3).done(), AtOnce(3).result()
    (True, 3)
    """

    __slots__ = ("_found",)

    def __init__(self, found: T, /) -> None:
        self._found = found

    def done(self) -> bool:
        """Always."""
        return True

    def result(self) -> T:
        """What it was given."""
        return self._found
