"""What a bound kernel allocates while it runs, besides its results: copies of operands, sums that wait for the rest.

A kernel says it in an attribute, ``workspace_bytes``: the most bytes that are taken at once for the length of a call.
It follows from the forms and from the threads that are set, so it is known when the kernel is bound, and whoever runs
several kernels in a row can refuse before the first what cannot fit. With other threads set the same kernel may take
more than it says: who promises what calls take binds anew then, which :data:`threads_in_force` tells. What does
not grow with the operands, as the panels of a block of a product, is not said; and what a kernel keeps between calls is
another matter (``bounded_cache``).
"""

from __future__ import annotations

from collections.abc import Hashable
from operator import itemgetter
from typing import Any, Final

from tensor_core.errors import BackendContractError, shortened
from tensor_runtime.protocols import Kernel


def workspace_of(kernel: Kernel, /) -> int:
    """Bytes that a call of the kernel takes besides its results; 0 for one that says nothing.

    Raises:
        BackendContractError: it says something else than an int of 0 or more.

    >>> workspace_of(max)
    0
    """
    found = getattr(kernel, "workspace_bytes", 0)
    if type(found) is not int or found < 0:
        raise BackendContractError(
            f"a kernel has workspace_bytes {shortened(found)}; accepted: an int of 0 or more, in bytes",
            workspace_bytes=found,
        )
    return found


def with_workspace(kernel: Kernel, workspace_bytes: int, /) -> Kernel:
    """The same kernel, which now says what its calls take; one that takes nothing is left as it is.

    Args:
        kernel: a function or partial that nobody else has, unless ``workspace_bytes`` is 0.
        workspace_bytes: besides the results.

    >>> workspace_of(with_workspace(lambda x: x[::-1] + x, 80))
    80
    """
    if workspace_bytes:
        told: Any = kernel
        told.workspace_bytes = workspace_bytes
    return kernel


def one_after_another(first: Kernel, second: Kernel, between_bytes: int, result_bytes: int, /) -> Kernel:
    """``second(first(x))``, which says what it takes.

    Args:
        first, second: of one array each.
        between_bytes: what ``first`` returns.
        result_bytes: what ``second`` returns; there is nothing of it while ``first`` runs.

    >>> kernel = one_after_another(with_workspace(lambda x: 2 * x, 100), with_workspace(lambda x: x + 1, 60), 16, 8)
    >>> kernel(5), workspace_of(kernel)
    (11, 108)
    """
    workspace = between_bytes + max(workspace_of(second), workspace_of(first) - result_bytes)
    return with_workspace(lambda x: second(first(x)), workspace)


Threads = tuple[tuple[str, Hashable], ...]
"""Of each backend that says something, its name and what it says, in the order of names."""


class ThreadsInForce:
    """What backends say of the threads among which their kernels share work, as one value for keys of bindings.

    Attributes:
        value: what was told last, of every backend; the same object again when the same threads are set again.

    >>> told = ThreadsInForce()
    >>> told.tell("demo", (1, True))
    >>> one = told.value
    >>> told.tell("demo", (2, True))
    >>> told.value is one
    False
    >>> told.tell("demo", (1, True))
    >>> told.value is one
    True
    """

    __slots__ = ("_known", "value")

    def __init__(self) -> None:
        self.value: Threads = ()
        self._known: dict[Threads, Threads] = {(): ()}

    def tell(self, backend: str, threads: Hashable, /) -> None:
        """What a backend has from now on; one whose workspaces depend on it calls this whenever it changes."""
        value = tuple(sorted({**dict(self.value), backend: threads}.items(), key=itemgetter(0)))
        self.value = self._known.setdefault(value, value)


threads_in_force: Final = ThreadsInForce()
"""Of this process."""
