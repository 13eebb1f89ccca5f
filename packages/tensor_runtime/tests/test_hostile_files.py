"""Files that are damaged or hostile, in the formats that need no other library: refused by our own errors, or read."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from file_samples import NAMED, elements
from tensor_core.errors import DTypeError, FormatError, LoadError


def header_of(name: str = "w", **facts: Any) -> bytes:
    text = json.dumps({name: {"dtype": "F64", "shape": [2], "data_offsets": [0, 16], **facts}}).encode()
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"\(at byte 0\): the length of the header should be bytes 0 to 8 of a file of 0 bytes"),
        (struct.pack("<Q", 2**63) + b"{}", r"\(at byte 0\): the header claims 9223372036854775808 bytes"),
        (struct.pack("<Q", 10**7) + b"{}", r"\(at byte 8\): the header should be bytes 8 to 10000008 of a file of 10"),
        (struct.pack("<Q", 2) + b"[]", r"the header starts with b'\[\]'"),
        (struct.pack("<Q", 60_000) + b"{" + b'"a":{' * 11_999 + b"    ", "not JSON"),
        (header_of(shape=[10**18], data_offsets=[0, 8 * 10**18]), "16 bytes follow the header, and its tensors take 8"),
        (header_of(shape=[2**62, 2**62]), "has data_offsets"),
        (header_of(shape=[-2]), "has shape"),
        (header_of(shape=[True, 2]), "has shape"),
        (header_of(data_offsets=[8, 24]), "begins at byte 8 behind the header; accepted: 0"),
        (header_of(data_offsets=[0.0, 16]), "has data_offsets"),
        (header_of(dtype=[1]), "has dtype"),
        (header_of(more=1), "accepted: dtype, shape and data_offsets"),
        (header_of(name=""), "a tensor has no name"),
        (header_of(name="\ud800"), "half of a surrogate pair"),
    ],
)
def test_hostile_safetensors(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(content + (bytes(16) if len(content) > 60 else b""))
    with pytest.raises(FormatError, match=message) as caught:
        tr.load(tmp_path / "x.safetensors")
    assert str(tmp_path / "x.safetensors") in str(caught.value)
    assert caught.value.path == str(tmp_path / "x.safetensors")


def test_what_does_not_start_as_an_archive_is_none(tmp_path: Path) -> None:
    """zipfile looks at the end alone, and would take this for an archive without members."""
    path = tmp_path / "x.npz"
    tr.save(path, {"x": tr.zeros(2)})
    path.write_bytes(b"no archive" + path.read_bytes()[10:-22] + b"PK\x05\x06" + bytes(18))
    with pytest.raises(FormatError, match=r"no ZIP archive: it starts with b'no a'"):
        tr.load_all(path)
    tr.save(path, {})
    assert tr.load_all(path) == {}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(".npy", b"")
    with pytest.raises(FormatError, match=r"a member has no name but '\.npy'"):
        tr.load_all(path)


def test_hostile_archives(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    claims = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        claims,
        {
            "descr": "<f8",
            "fortran_order": False,
            "shape": (10**18,),
        },
    )
    for write, message in [
        (lambda z: z.writestr("x.npy", b"no header"), "does not start as an .npy file does"),
        (lambda z: z.writestr("x.npy", claims.getvalue() + bytes(8)), "says 8000000000000000000"),
        (lambda z: z.writestr("x.npy", b"", compress_type=zipfile.ZIP_BZIP2), "compressed otherwise"),
        (lambda z: (z.writestr("x.npy", b""), z.writestr("x", b"")), "two members are called|ends within its header"),
    ]:
        with zipfile.ZipFile(path, "w") as archive:
            write(archive)  # type: ignore[no-untyped-call]
        with pytest.raises(FormatError, match=message):
            tr.load_all(path)
    path.write_bytes(b"PK\x03\x04 is none")
    with pytest.raises(FormatError, match="no ZIP archive"):
        tr.load_all(path)


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """One member listed a thousand times would take a thousand times the memory of the file."""
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        content = io.BytesIO()
        np.save(content, np.zeros(10**5))
        archive.writestr("x.npy", content.getvalue())
        for k in range(1000):
            copy = zipfile.ZipInfo(f"{k}.npy")
            first = archive.filelist[0]
            copy.header_offset, copy.CRC = first.header_offset, first.CRC
            copy.compress_size, copy.file_size = first.compress_size, first.file_size
            archive.filelist.append(copy)
    with pytest.raises(FormatError, match="claim more bytes than it has, or share them"):
        tr.load_all(tmp_path / "x.npz")


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_mutation_is_refused_by_our_own_errors_or_read(data: st.DataObject, tmp_path: Path) -> None:
    format = data.draw(st.sampled_from(["npy", *NAMED]))
    path = tmp_path / f"x.{format}"
    tensors = {"w": tr.asarray(elements((2, 3), tr.F32)), "b": tr.ones(3, tr.Bool)}
    compressed = format == "npz" and data.draw(st.booleans())
    tr.save(path, tensors["w"] if format == "npy" else tensors, compressed=compressed)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path.write_bytes(content)
    for mmap in (False, True):
        try:
            found = [tr.load(path, mmap=mmap)] if format == "npy" else list(tr.load_all(path, mmap=mmap).values())
        except (FormatError, LoadError, DTypeError):
            continue
        assert sum(x.nbytes for x in found) <= 1032 * len(content)


@given(format=st.sampled_from(["npy", *NAMED]), content=st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_bytes_are_refused(format: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / f"x.{format}").write_bytes(content)
    with pytest.raises((FormatError, LoadError)):
        tr.load(tmp_path / f"x.{format}")
