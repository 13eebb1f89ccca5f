"""Tensors from streams of ``.npy`` content, such as a member of an archive or what a network sends."""

from __future__ import annotations

from typing import BinaryIO

from tensor_core.files.npy import read_stream
from tensor_runtime.io.blocks import tensor_of
from tensor_runtime.tensors.tensor import Tensor


def load_stream(stream: BinaryIO, /, *, name: str = "stream", max_bytes: int | None = None) -> Tensor:
    """Read a tensor from an open binary stream that holds one ``.npy`` file, such as a member of an ``.npz``.

    The stream is read to its end, and is not closed. Memory grows with what arrives, not with what the header claims.

    Args:
        stream: anything with ``read(n)``.
        name: for messages.
        max_bytes: refuse more bytes of elements than this.

    Raises:
        FormatError: as for :func:`tensor_runtime.load`, or more than ``max_bytes``.
        LoadError: the stream failed; its own error is chained.
        DTypeError: an element type that is none of the seven.
        ArgumentError: not a stream.

    >>> import io
    >>> from tensor_core import Bool
    >>> from tensor_core.files.npy_header import format_header
    >>> load_stream(io.BytesIO(format_header(Bool, (2,)) + bytes([1, 0]))).to_numpy().tolist()
    [True, False]
    """
    return tensor_of(read_stream(stream, name=name, max_bytes=max_bytes))
