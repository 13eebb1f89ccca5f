"""What a kernel raises becomes an error of our tree, and names what was called."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

from tensor_core.errors import BackendError, OutOfMemoryError, TensorError
from tensor_core.interrupts import is_of_a_signal

P = ParamSpec("P")
R = TypeVar("R")

MISSES: Final = (KeyError, AttributeError, TypeError)
"""What a look-up on a hot path raises that finds nothing: no binding yet, an operand that is no tensor, a key that
cannot be hashed. The general way then says what it is."""


def call_translated(operation: str, result: Any, kernel: Callable[..., Any], /, *arguments: Any) -> Any:
    """Call a kernel; whatever it raises becomes an error of our tree, as :func:`translated` makes it.

    >>> call_translated("demo", None, lambda x: 1 // x, 0)
    Traceback (most recent call last):
        ...
    tensor_core.errors.BackendError: demo: the backend failed: ZeroDivisionError: integer division or modulo by zero
    """
    try:
        return kernel(*arguments)
    except Exception as error:
        fail(operation, error, result)


def fail(operation: str, error: Exception, result: Any = None, /) -> NoReturn:
    """Raise what a kernel let escape as an error of our tree; for hot paths, in the handler of their own ``try``.

    >>> fail("demo", KeyError("x"))
    Traceback (most recent call last):
        ...
    tensor_core.errors.BackendError: demo: the backend failed: KeyError: 'x'
    """
    if isinstance(error, TensorError):
        raise error
    raise translated(operation, error, result) from error


def translated(operation: str, error: Exception, result: Any = None, /) -> TensorError:
    """The error of our tree that stands for one that a kernel let escape.

    Args:
        operation: whose kernel it was.
        error: what it raised.
        result: form of its result, or a tuple of forms, if it is known; a lack of memory then says what they take.

    Raises:
        Exception: the error itself, where no kernel raised it but a handler of signals that ran meanwhile.

    >>> translated("demo", MemoryError(), zeros((2, 3))._form)
    OutOfMemoryError('demo: not enough memory for the result of 48 bytes or a workspace')
    """
    if is_of_a_signal(error):
        raise error
    if not isinstance(error, MemoryError):
        return BackendError(f"{operation}: the backend failed: {type(error).__name__}: {error}", operation=operation)
    needed = "the result"
    if result is not None:
        needed += f" of {sum(form.nbytes for form in (result if isinstance(result, tuple) else (result,)))} bytes"
    said = f": {error}" if str(error) else ""
    fields = getattr(error, "fields", {})  # of a backend that knows what it holds
    message = f"{operation}: not enough memory for {needed} or a workspace{said}"
    return OutOfMemoryError(message, operation=operation, **fields)


def naming(*others: str, own: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: what an error says of one of the functions named, it says of the decorated one.

    Args:
        others: whose names begin the messages of errors that are raised on the way.
        own: what the decorated function is called, where that is not its name.

    >>> @naming("swapaxes")
    ... def matrix_transpose(x):
    ...     raise TensorError("swapaxes: no", operation="swapaxes")
    >>> matrix_transpose(1)
    Traceback (most recent call last):
        ...
    tensor_core.errors.TensorError: matrix_transpose: no
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        name = own or function.__name__

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except BackendError:  # which names what the backend lacks
                raise
            except TensorError as error:
                other, _, said = str(error).partition(": ")
                if other not in others:
                    raise
                error.args = (f"{name}: {said}", *error.args[1:])
                if "operation" in error.__dict__:
                    error.__dict__["operation"] = name
                raise

        return called

    return decorated
