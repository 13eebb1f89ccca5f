"""``.npy`` content from streams: whole, in pieces, too short, too long, or broken."""

from __future__ import annotations

import io

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    FormatError,
    LoadError,
)
from tensor_core.files.npy_header import format_header
from tensor_runtime.io.npy import load_stream


class Trickle(io.RawIOBase):
    """A stream that gives one byte at a time."""

    def __init__(self, content: bytes) -> None:
        self.rest = content

    def read(self, size: int | None = -1) -> bytes:
        piece, self.rest = self.rest[:1], self.rest[1:]
        return piece


def test_a_stream_may_give_its_bytes_in_pieces() -> None:
    content = format_header(tr.I64, (2, 2)) + np.arange(4).tobytes()
    assert load_stream(Trickle(content)).to_numpy().tolist() == [[0, 2], [1, 3]]  # type: ignore[arg-type]


def test_a_stream_is_read_to_its_end_and_within_its_limit() -> None:
    content = format_header(tr.I64, (2,)) + bytes(16)
    with pytest.raises(FormatError, match="a member goes on after the 16 bytes"):
        load_stream(io.BytesIO(content + b"x"), name="a member")
    with pytest.raises(FormatError, match="stream ends after 15 of 16 bytes"):
        load_stream(io.BytesIO(content[:-1]))
    with pytest.raises(FormatError, match=r"I64 \(2,\), 16 bytes; accepted: up to 15"):
        load_stream(io.BytesIO(content), max_bytes=15)
    assert load_stream(io.BytesIO(content), max_bytes=16).shape == (2,)


def test_a_stream_takes_no_more_memory_than_it_brings() -> None:
    with pytest.raises(FormatError, match="ends after 8 of 8796093022208 bytes"):
        load_stream(io.BytesIO(format_header(tr.F64, (2**40,)) + bytes(8)))


def test_the_failure_of_a_stream_is_chained() -> None:
    class Broken:
        def read(self, count: int) -> bytes:
            raise ZeroDivisionError("damaged")

    with pytest.raises(LoadError, match="member cannot be read: ZeroDivisionError: damaged") as caught:
        load_stream(Broken(), name="member")  # type: ignore[arg-type]
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(LoadError, match="gave a str"):
        load_stream(io.StringIO("text"))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="is a NoneType; accepted: an open binary stream"):
        load_stream(None)  # type: ignore[arg-type]
