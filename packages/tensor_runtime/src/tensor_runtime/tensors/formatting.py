"""Text of tensors: a line of metadata, then a bounded number of elements.

A tensor on a device shows its metadata only: printing moves nothing and waits for nothing.
"""

from __future__ import annotations

from typing import Any, Final

from tensor_core.errors import BackendError
from tensor_core.formatting import format_tensor
from tensor_core.host.tensor import HostTensorView
from tensor_runtime.backends.registry import registry
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.tensors.transfer import lend

_BIG: Final = 1 << 20  # bytes from which on the size is shown
_UNITS: Final = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def tensor_text(x: Tensor, /) -> str:
    """What ``repr(x)`` gives: dtype, shape, layout and placement, then elements; at most a few hundred are read.

    >>> tensor_text(tensor([1.0, 2.5])).splitlines()
    ['Tensor(F64, (2,), column-major, cpu)', ' 1.0  2.5']
    """
    header = _header(x)
    try:
        backend: Any = registry.backend_for(x.placement)
    except BackendError:  # gone since; printing still works
        return header
    if not hasattr(backend, "lend"):
        return header
    if x.size == 0:
        return format_tensor(header, x.dtype, x.shape, _nothing)
    view = HostTensorView.borrow(lend("repr", backend, x._array, x._form))
    return format_tensor(header, x.dtype, x.shape, view.__getitem__)


def html_text(x: Tensor, /) -> str:
    r"""What notebooks show: the same text, escaped.

    >>> html_text(tensor([1.0]))
    '<pre>Tensor(F64, (1,), column-major, cpu)\n 1.0</pre>'
    """
    from html import escape  # only notebooks need it

    return f"<pre>{escape(tensor_text(x))}</pre>"


def size_text(nbytes: int, /) -> str:
    """A number of bytes in the largest fitting binary unit.

    >>> size_text(100), size_text(1536), size_text(256 << 20)
    ('100 bytes', '1.5 KiB', '256.0 MiB')
    """
    if nbytes < 1024:
        return f"{nbytes} bytes"
    number, unit = nbytes / 1024, 0
    while number >= 1023.95 and unit < len(_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{number:.1f} {_UNITS[unit]}"


def _header(x: Tensor) -> str:
    layout = "column-major" if x.is_compact else f"strides {x.strides}"
    size = f", {size_text(x.nbytes)}" if x.nbytes >= _BIG else ""
    return f"Tensor({x.dtype}, {x.shape}, {layout}, {x.placement}{size})"


def _nothing(index: tuple[int, ...]) -> Any:
    raise AssertionError(f"an empty tensor has no element {index}")
