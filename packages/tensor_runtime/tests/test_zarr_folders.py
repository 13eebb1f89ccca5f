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
from file_samples import KINDS, elements, same, sample
from tensor_core import DTYPES
from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, FormatError, LoadError, SaveError, TensorError


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
        ({"codecs": [{"name": "bytes", "configuration": 3}]}, "a codec is"),
        ({"codecs": [3]}, "a codec is"),
        ({"codecs": [{"name": "transpose", "configuration": {"order": [0, 0]}}, {"name": "bytes"}]}, "a permutation"),
        ({"zarr_format": 2}, "accepted: Zarr version 3"),
        ({"shape": [1, 3], **chunks(1, 3)}, "a chunk of 24 bytes"),
        ({"fill_value": "0x7f"}, "fill_value is '0x7f'"),
        ({"fill_value": [[[0, 0], 0], 0]}, "fill_value is"),
    ],
)  # fmt: skip
def test_metadata_that_lies(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    tr.save(tmp_path / "x.zarr", {"x": tr.asarray(elements((2, 3), tr.F32))})
    file = tmp_path / "x.zarr" / "x" / "zarr.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(FormatError, match=message):
        tr.load(tmp_path / "x.zarr", "x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shards": (4, 4), "compressors": None}, r"have shards \(codec 'sharding_indexed'\), which is not read here"),
        (
            {"compressors": zarr.codecs.BloscCodec()},
            r"have the codec 'blosc' \(codec 'blosc'\), which is not read here",
        ),
        ({"compressors": [zarr.codecs.GzipCodec(), zarr.codecs.Crc32cCodec()]}, "have the codec 'crc32c'"),
    ],
    ids=["shards", "blosc", "crc32c"],
)
def test_codecs_that_are_not_read_are_named_with_two_ways_round_them(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    a = elements((4, 4), tr.F64)
    path = tmp_path / "x.zarr"
    made = zarr.create_array(path, shape=a.shape, dtype=a.dtype, chunks=(2, 2), **options)
    made[...] = a
    with pytest.raises(FormatError, match=message) as caught:
        tr.load(path)
    assert "read it by the zarr package, asarray(zarr.open_array(path)[...]), or write it there without" in str(
        caught.value
    )
    assert same(tr.asarray(zarr.open_array(path)[...]), a)  # the first way
    again = zarr.create_array(tmp_path / "again.zarr", shape=a.shape, dtype=a.dtype, chunks=(2, 2), compressors=None)
    again[...] = a
    assert same(tr.load(tmp_path / "again.zarr"), a)  # the second


@pytest.mark.parametrize(
    ("dtype", "fill", "read"),
    [("int64", 2**53 + 1, 2**53 + 1), ("int64", 2.0, 2), ("int64", 1.5, None), ("int32", 2**31, None),
     ("bool", 2, None), ("bool", 1, True), ("float64", 2**53 + 1, 2.0**53), ("float64", "-Infinity", -np.inf),
     ("int64", "NaN", None), ("float64", [0, 1], None), ("complex64", ["NaN", 10**400], None),
     ("complex64", [1, 2], 1 + 2j)],
)  # fmt: skip
def test_a_fill_value_is_read_as_it_is_written_or_refused(dtype: str, fill: object, read: Any, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "x.zarr", shape=(3,), dtype=dtype, compressors=None, chunks=2)
    file = tmp_path / "x.zarr" / "zarr.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "fill_value": fill}))
    if read is None:
        with pytest.raises(FormatError, match="fill_value"):
            tr.load(tmp_path / "x.zarr")
    else:
        assert tr.load(tmp_path / "x.zarr").tolist() == [read] * 3


def test_an_array_may_claim_chunks_without_number(tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "x.zarr", shape=(2**22,), dtype="bool", compressors=None, chunks=1)
    (tmp_path / "x.zarr" / "c").mkdir(exist_ok=True)
    for name in ("5", "05", "4194304", "-1", "x"):  # a chunk, and what is none
        (tmp_path / "x.zarr" / "c" / name).write_bytes(b"\x01")
    assert tr.sum(tr.load(tmp_path / "x.zarr")).item() == 1


def test_groups_within_groups_have_an_end(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr"
    for _ in range(100):
        path.mkdir()
        (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
        path = path / "g"
    with pytest.raises(FormatError, match="groups within groups; accepted: up to 64"):
        tr.load_all(tmp_path / "x.zarr")


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
