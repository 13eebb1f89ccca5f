"""What contracts tensors on devices of CUDA besides cuBLAS: cuTENSOR, as CuPy or nvmath-python binds it.

Which packages there are is found without importing them. nvmath-python is imported here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any

from tensor_gpu.cuda.cutensor import Bindings, CutensorProvider, of_cupy, of_nvmath


def found(
    libs: Any,
    on_device: Callable[[int], AbstractContextManager[object]],
    on_stream: Callable[[Any], AbstractContextManager[object]],
    /,
) -> tuple[CutensorProvider, ...]:
    """The providers that may be there, the best first: whether the library is, is seen when it is opened.

    Args:
        libs: CuPy's modules of libraries, each of which opens its library when it is asked for.
        on_device: makes a device the current one.
        on_stream: makes a stream the current one.

    >>> from contextlib import nullcontext
    >>> [one.name for one in found(None, nullcontext, nullcontext)][0]
    'cutensor'
    """
    by_cupy = CutensorProvider("cutensor", lambda: of_cupy(libs.cutensor), on_device, on_stream)
    if find_spec("nvmath") is None:
        return (by_cupy,)
    return by_cupy, CutensorProvider("nvmath", nvmath, on_device, on_stream)


def nvmath() -> Bindings:
    """What nvmath-python binds, imported now; whatever that raises passes.

    >>> try:
    ...     found = nvmath()
    ... except Exception:  # not installed, or without its library
    ...     found = None
    >>> found is None or found.version() > 20000
    True
    """
    from nvmath.bindings import cutensor

    return of_nvmath(cutensor)
