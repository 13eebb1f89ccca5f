"""Text of tensors: a line of metadata, then a bounded number of elements.

A tensor on a device shows its metadata only: printing moves nothing and waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tensor_core.errors import BackendError
from tensor_core.formatting import format_tensor, format_tensor_html
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
    header = _header(x, str(x.dtype))
    read = _reader(x)
    return header if read is None else format_tensor(header, x.dtype, x.shape, read)


def html_text(x: Tensor, /) -> str:
    """What notebooks show: the same metadata with NumPy's name of the dtype, and tables of the same elements.

    >>> html_text(tensor([1.0])).partition("<table>")[0]
    '<div><code>Tensor(F64 (float64), (1,), column-major, cpu)</code>'
    """
    header = _header(x, f"{x.dtype} ({x.dtype.numpy_name})")
    read = _reader(x)
    if read is not None:
        return format_tensor_html(header, x.dtype, x.shape, read)
    from html import escape  # only notebooks need it

    return f"<div><code>{escape(header)}</code></div>"


def _reader(x: Tensor) -> Callable[[tuple[int, ...]], Any] | None:
    """What reads an element; None on a device, which is not asked."""
    try:
        backend: Any = registry.backend_for(x.placement)
    except BackendError:  # gone since; printing still works
        return None
    if not hasattr(backend, "lend"):
        return None
    if x.size == 0:
        return _nothing
    return HostTensorView.borrow(lend("repr", backend, x._array, x._form)).__getitem__


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


def _header(x: Tensor, dtype: str) -> str:
    layout = "column-major" if x.is_compact else f"strides {x.strides}"
    size = f", {size_text(x.nbytes)}" if x.nbytes >= _BIG else ""
    return f"Tensor({dtype}, {x.shape}, {layout}, {x.placement}{size})"


def _nothing(index: tuple[int, ...]) -> Any:
    raise AssertionError(f"an empty tensor has no element {index}")
