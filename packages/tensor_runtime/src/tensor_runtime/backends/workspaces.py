"""What a bound kernel allocates while it runs, besides its results: copies of operands, sums that wait for the rest.

A kernel says it in an attribute, ``workspace_bytes``: the most bytes that are taken at once for the length of a call.
It follows from the forms alone, so it is known when the kernel is bound, and whoever runs several kernels in a row can
refuse before the first what cannot fit. What a kernel keeps between calls is another matter (``bounded_cache``).
"""

from __future__ import annotations

from typing import Any

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
