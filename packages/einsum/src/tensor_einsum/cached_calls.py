"""Calls whose kernel is bound already: natively, where the extension was built."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, Final, TypeVar, cast

from tensor_einsum import native
from tensor_runtime.backends.bindings import Binding
from tensor_runtime.backends.bounded_cache import CacheTable
from tensor_runtime.backends.error_translation import fail
from tensor_runtime.tensors.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])

_fail: Final = partial(fail, "einsum")


def cached_call(bindings: CacheTable[Binding], /) -> Callable[[F], F]:
    """Decorate a function of something and of tensors so that calls whose kernel is known take no step of Python.

    A call finds its binding by the key (first argument, *forms of the others), behind which stand, of a call with
    keywords, the tuple of their names and their values. Kernel and result are all there is to it then. Every other call
    goes to the function, which does the same and more, and puts the bindings there: keywords that ask for more than
    another kernel, values that are neither text nor ints, operands that are no tensors, mistakes.

    Without the extension it gives the function itself.

    >>> from tensor_runtime import ones
    >>> from tensor_runtime.backends.bounded_cache import BoundedCache
    >>> table = CacheTable(BoundedCache("demo"))
    >>> @cached_call(table)
    ... def doubled(name, x):
    ...     return "not bound yet"
    >>> x = ones((2,))
    >>> doubled("a", x), table.insert(("a", x._form), (lambda array: array + array, x._form))[1]
    ('not bound yet', Form(F64, (2,), cpu))
    >>> doubled("a", x).to_numpy().tolist() if native.AVAILABLE else [2.0, 2.0]
    [2.0, 2.0]
    """

    def decorate(function: F) -> F:
        if not native.AVAILABLE:
            return function
        call: Any = native.LIBRARY.CachedCall(function, bindings.found, _fail, Tensor)
        update_wrapper(call, function)
        return cast("F", call)

    return decorate
