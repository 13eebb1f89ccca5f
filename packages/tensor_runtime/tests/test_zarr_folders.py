"""Zarr folders, version 3: round trips, the library's own reader and writer, and metadata that lies."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES
from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, FormatError, LoadError, SaveError, TensorError
from test_file_formats import KINDS, elements, same, sample


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_folders_both_ways(dtype: DType, kind: str, compressed: bool, tmp_path: Path) -> None:
    x, a = sample(kind, dtype)
    path = tmp_path / "x.zarr"
    tr.save(path, {"x": x, "y": x}, compressed=compressed)
    assert [one.name for one in tmp_path.iterdir()] == ["x.zarr"]
    assert tr.load_all(path).keys() == {"x", "y"}
    assert same(tr.load(path, "x"), a)
    if compressed and a.size:
        with pytest.raises(LoadError, match="cannot be mapped"):
            tr.load(path, "x", mmap=True)
    else:
        assert same(tr.load(path, "x", mmap=True), a)
    theirs: Any = zarr.open_group(path, mode="r")["x"]
    assert theirs.dtype == a.dtype
    assert theirs.shape == a.shape
    assert np.array_equal(theirs[...], a)


@pytest.mark.parametrize("codec", [None, "gzip"])
@pytest.mark.parametrize("chunk", [(3, 4, 2), (2, 3, 1), (1, 1, 1), (5, 5, 5)])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_of_the_library(dtype: DType, chunk: tuple[int, ...], codec: str | None, tmp_path: Path) -> None:
    a = elements((3, 4, 2), dtype)
    compressors: Any = zarr.codecs.GzipCodec() if codec else None
    made = zarr.create_array(
        tmp_path / "x.zarr", name="of/x", shape=a.shape, dtype=a.dtype, chunks=chunk, compressors=compressors,
        filters=zarr.codecs.TransposeCodec(order=(1, 2, 0)),
    )  # fmt: skip
    made[...] = a
    alone = zarr.create_array(tmp_path / "alone.zarr", shape=(4,), dtype="u2", fill_value=7, compressors=None, chunks=3)
    alone[:2] = [1, 2]
    assert same(tr.load_all(tmp_path / "x.zarr")["of/x"], a)
    assert tr.load(tmp_path / "alone.zarr", dtype="I64").tolist() == [1, 2, 7, 7]


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    made = zarr.create_array(tmp_path / "z.zarr", shape=(4,), dtype="f8", compressors=zarr.codecs.ZstdCodec(), chunks=2)
    made[...] = [1.0, 2.0, 3.0, 4.0]
    if sys.version_info >= (3, 14):
        assert tr.load(tmp_path / "z.zarr").tolist() == [1.0, 2.0, 3.0, 4.0]
    else:
        with pytest.raises(LoadError, match=r"compressed by zstd, which Python has from 3\.14 on"):
            tr.load(tmp_path / "z.zarr")
    with pytest.raises(SaveError, match="is there already, and a Zarr folder is not replaced"):
        tr.save(tmp_path / "z.zarr", {"x": tr.zeros(2)})
    with pytest.raises(SaveError, match=r"cannot be written: No such file or directory"):
        tr.save(tmp_path / "no" / "x.zarr", {"x": tr.zeros(2)})
    with pytest.raises(ArgumentError, match="is zarr, whose extents have one order"):
        tr.load(tmp_path / "z.zarr", reverse_dims=True)
    for name in (".", "..", "__x", "a/b", "zarr.json"):
        with pytest.raises(ArgumentError, match="is no name"):
            tr.save(tmp_path / "n.zarr", {name: tr.zeros(2)})
    with pytest.raises(LoadError, match="cannot be read: No such file"):
        tr.load(tmp_path / "missing.zarr")
    assert [one.name for one in tmp_path.iterdir()] == ["z.zarr"]


def chunks(*shape: int) -> dict[str, Any]:
    return {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shape)}}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": [10**9, 10**9], **chunks(10**9, 10**9)}, "claims"),
        ({"shape": [10**9, 10**9]}, r"claims .* chunks"),
        ({"shape": [-1, 3]}, "a shape is"),
        (chunks(0, 3), "a shape is"),
        ({"data_type": "r16"}, "data_type is 'r16'"),
        ({"codecs": []}, "accepted codecs"),
        ({"codecs": [{"name": "sharding_indexed"}]}, "a codec is"),
        ({"codecs": [{"name": "transpose", "configuration": {"order": [0, 0]}}, {"name": "bytes"}]}, "a permutation"),
        ({"zarr_format": 2}, "accepted: Zarr version 3"),
        ({"shape": [1, 3], **chunks(1, 3)}, "a chunk of 24 bytes"),
        ({"fill_value": "0x7f"}, "fill_value is '0x7f'"),
    ],
)  # fmt: skip
def test_metadata_that_lies(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    tr.save(tmp_path / "x.zarr", {"x": tr.asarray(elements((2, 3), tr.F32))})
    file = tmp_path / "x.zarr" / "x" / "zarr.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(FormatError, match=message):
        tr.load(tmp_path / "x.zarr", "x")


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_mutated_metadata_is_refused_or_read(data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.zarr"
    tr.save(path, {"x": tr.asarray(elements((2, 3), tr.F32))}, compressed=data.draw(st.booleans()))
    file = path / "x" / data.draw(st.sampled_from(["zarr.json", "c/0/0"]))
    content = bytearray(file.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    file.write_bytes(content)
    try:
        found = tr.load_all(path)
    except TensorError:
        return
    assert sum(x.nbytes for x in found.values()) <= (1 << 26) + (1 << 15) * len(content)
