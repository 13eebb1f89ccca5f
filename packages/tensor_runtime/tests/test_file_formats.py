"""Formats that need no other library: round trips of everything a tensor can be, and the libraries' own readers."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tensor_core.files
import tensor_runtime as tr
from file_samples import KINDS, NAMED, elements, holds, same, sample
from tensor_core import DTYPES, HostTensor
from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, DTypeError, LoadError, LossyConversionError, ReadOnlyError


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("format", NAMED)
def test_tensors_come_back_as_they_were(format: str, dtype: DType, kind: str, mmap: bool, tmp_path: Path) -> None:
    path = tmp_path / f"x.{format}"
    x, a = sample(kind, dtype)
    if not holds(format, dtype):
        with pytest.raises(
            DTypeError, match=r"C64 \(complex128\), which safetensors does not have .* complex64, our C32"
        ):
            tr.save(path, {"x": x})
        assert list(tmp_path.iterdir()) == []
        return
    tr.save(path, {"x": x, "y": x})
    found = tr.load_all(path, mmap=mmap)
    assert set(found) == {"x", "y"}
    assert all(same(one, a) and one.dtype is dtype for one in found.values())
    assert same(tr.load(path, "y", mmap=mmap), a)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype is not tr.C64], ids=str)
def test_the_library_of_safetensors_reads_what_we_write(dtype: DType, kind: str, tmp_path: Path) -> None:
    x, a = sample(kind, dtype)
    tr.save(tmp_path / "x.safetensors", {"x": x, "first": tr.zeros(3, tr.Bool)})
    theirs = safetensors.numpy.load_file(tmp_path / "x.safetensors")
    assert theirs["x"].dtype == a.dtype
    assert theirs["x"].shape == a.shape
    assert theirs["x"].tobytes() == a.tobytes()


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype is not tr.C64], ids=str)
def test_we_read_what_the_library_of_safetensors_writes(dtype: DType, mmap: bool, tmp_path: Path) -> None:
    a = {"x": elements((3, 4, 2), dtype).astype(dtype.numpy_name), "": elements((), dtype).astype(dtype.numpy_name)}
    safetensors.numpy.save_file({"x": a["x"], "scalar": a[""]}, tmp_path / "x.safetensors", {"made": "by them"})
    found = tr.load_all(tmp_path / "x.safetensors", mmap=mmap)
    assert same(found["x"], a["x"])
    assert same(found["scalar"], a[""])


@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numpy_reads_our_archives(dtype: DType, kind: str, compressed: bool, order: Any, tmp_path: Path) -> None:
    x, a = sample(kind, dtype)
    tr.save(tmp_path / "x.npz", {"x": x, "α/β": x}, compressed=compressed, order=order)
    with np.load(tmp_path / "x.npz") as theirs:
        assert set(theirs) == {"x", "α/β"}
        for one in theirs.values():
            assert one.dtype == a.dtype
            assert one.tobytes() == a.tobytes()
            assert one.flags.c_contiguous if order == "C" else one.flags.f_contiguous


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_we_read_archives_of_numpy(dtype: DType, order: Any, write: Any, tmp_path: Path) -> None:
    a = np.array(elements((3, 4, 2), dtype).astype(dtype.numpy_name), order=order)
    write(tmp_path / "x.npz", x=a, s=a[0, 0, 0])
    assert same(tr.load(tmp_path / "x.npz", "x"), a)
    assert same(tr.load_all(tmp_path / "x.npz")["s"], a[0, 0, 0])


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_raw_elements(dtype: DType, kind: str, order: Any, byteorder: Any, mmap: bool, tmp_path: Path) -> None:
    x, a = sample(kind, dtype)
    tr.save_raw(tmp_path / "x.bin", x, order=order, byteorder=byteorder)
    marked = a.dtype.newbyteorder("<" if byteorder == "little" else ">")
    assert (tmp_path / "x.bin").read_bytes() == a.astype(marked).tobytes(order)
    (tmp_path / "x.bin").write_bytes(bytes(16) + a.astype(marked).tobytes(order) + b"more")
    if mmap and byteorder != sys.byteorder and dtype is not tr.Bool and a.size:
        with pytest.raises(LoadError, match="cannot be mapped"):
            tr.load_raw(tmp_path / "x.bin", a.shape, dtype, order=order, offset=16, byteorder=byteorder, mmap=True)
        return
    found = tr.load_raw(tmp_path / "x.bin", a.shape, dtype, order=order, offset=16, byteorder=byteorder, mmap=mmap)
    assert same(found, a)


@pytest.mark.parametrize("format", ["npy", *NAMED])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_host_tensors_write_and_read_the_same_files(format: str, dtype: DType, tmp_path: Path) -> None:
    if not holds(format, dtype):
        return
    x, a = sample("reversed view", dtype)
    host = tr.download(x)
    tensor_core.files.save(tmp_path / f"host.{format}", host if format == "npy" else {"x": host})
    tr.save(tmp_path / f"placed.{format}", x if format == "npy" else {"x": x})
    assert (tmp_path / f"host.{format}").read_bytes() == (tmp_path / f"placed.{format}").read_bytes()
    for mmap in (False, True):
        assert tensor_core.files.load(tmp_path / f"placed.{format}", mmap=mmap).to_nested() == a.tolist()
    if format != "npy":
        assert tensor_core.files.load_all(tmp_path / f"placed.{format}")["x"].equals(host)


def test_host_tensors_in_raw_files(tmp_path: Path) -> None:
    x = HostTensor.from_nested([[1, 2, 3], [4, 5, 6]])
    for order, flat in (("F", [1, 4, 2, 5, 3, 6]), ("C", [1, 2, 3, 4, 5, 6])):
        tensor_core.files.save_raw(tmp_path / "x.bin", x, order=order, byteorder="big")  # type: ignore[arg-type]
        assert list(struct.unpack(">6q", (tmp_path / "x.bin").read_bytes())) == flat
        found = tensor_core.files.load_raw(tmp_path / "x.bin", (2, 3), "I64", order=order, byteorder="big", dtype="F64")  # type: ignore[arg-type]
        assert found.to_nested() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(DTypeError, match="accepted: a HostTensor"):
        tensor_core.files.save_raw(tmp_path / "y.bin", [1], order="F")  # type: ignore[arg-type]


def safetensors_file(path: Path, tag: str, a: bytes, shape: list[int]) -> None:
    header = json.dumps({"w": {"dtype": tag, "shape": shape, "data_offsets": [0, len(a)]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + a)


@pytest.mark.parametrize(
    ("tag", "name"),
    [("F16", "float16"), ("I8", "int8"), ("U8", "uint8"), ("I16", "int16"), ("U16", "uint16"), ("U32", "uint32"),
     ("U64", "uint64")],
)  # fmt: skip
@pytest.mark.parametrize("target", [tr.I64, tr.F64, tr.C64], ids=str)
def test_other_types_are_converted_on_request(tag: str, name: str, target: DType, tmp_path: Path) -> None:
    a = np.array([[0, 1, 100], [7, 50, 127]]).astype(name)
    if a.dtype.kind in "if":
        a[0, 0] = -3
    safetensors_file(tmp_path / "x.safetensors", tag, a.astype(a.dtype.newbyteorder("<")).tobytes(), [2, 3])
    with pytest.raises(DTypeError, match=rf"tensor 'w': the elements are {name}, .*; dtype='"):
        tr.load(tmp_path / "x.safetensors")
    if target is tr.I64 and name in ("float16", "uint64"):
        with pytest.raises(LossyConversionError, match=r"I64 \(int64\) does not hold them"):
            tr.load(tmp_path / "x.safetensors", dtype=target)
        return
    assert same(tr.load(tmp_path / "x.safetensors", dtype=target), a.astype(target.numpy_name))


def test_every_half_and_every_bfloat16_is_read_exactly(tmp_path: Path) -> None:
    every = np.arange(2**16, dtype="<u2")
    safetensors_file(tmp_path / "x.safetensors", "F16", every.tobytes(), [2**16])
    with np.errstate(invalid="ignore"):
        wide = every.view("<f2").astype(np.float32)
    found = tr.load(tmp_path / "x.safetensors", dtype=tr.F32).to_numpy()
    assert np.array_equal(found, wide, equal_nan=True)
    safetensors_file(tmp_path / "x.safetensors", "BF16", every.tobytes(), [2**16])
    expected = (every.astype("<u4") << 16).view("<f4")
    assert tr.load(tmp_path / "x.safetensors", dtype=tr.F32).to_numpy().tobytes() == expected.tobytes()
    with np.errstate(invalid="ignore"):  # of signalling NaNs
        wide = expected.astype(np.float64)
    assert np.array_equal(tr.load(tmp_path / "x.safetensors", dtype=tr.F64).to_numpy(), wide, equal_nan=True)


def test_our_own_types_are_converted_as_by_convert(tmp_path: Path) -> None:
    tr.save(tmp_path / "x.npz", {"x": tr.tensor([1.5])})
    assert tr.load(tmp_path / "x.npz", dtype=tr.C64).dtype is tr.C64
    with pytest.raises(LossyConversionError):
        tr.load(tmp_path / "x.npz", dtype=tr.I64)


def test_mapped_tensors_are_read_only_and_aligned(tmp_path: Path) -> None:
    tensors = {"b": tr.ones(3, tr.Bool), "x": tr.asarray(elements((3, 4), tr.C32)), "i": tr.ones((5,), tr.I32)}
    for format in NAMED:
        tr.save(tmp_path / f"x.{format}", tensors)
        for name, x in tr.load_all(tmp_path / f"x.{format}", mmap=True).items():
            assert x.to_numpy().flags.aligned
            assert same(x, tensors[name].to_numpy())
            with pytest.raises(ReadOnlyError):
                tr.mutable_view(x)
    assert tr.load(tmp_path / "x.safetensors", "x", mmap=True).strides == (4, 1)
    assert tr.load(tmp_path / "x.npz", "x", mmap=True).strides == (1, 3)
    tr.save(tmp_path / "x.npz", tensors, compressed=True)
    with pytest.raises(
        LoadError, match=r"tensor 'x': the elements are not in one piece of .*, so they cannot be mapped; load it w"
    ):
        tr.load(tmp_path / "x.npz", "x", mmap=True)


def test_which_tensor_and_which_format_is_said(tmp_path: Path) -> None:
    tr.save(tmp_path / "x.npz", {"a": tr.zeros(2), "b": tr.zeros(3)})
    with pytest.raises(LoadError, match=r"holds 2 tensors \('a', 'b'\); name one, or take all with load_all\(\)"):
        tr.load(tmp_path / "x.npz")
    with pytest.raises(LoadError, match="has no tensor 'c'; it holds 'a', 'b'"):
        tr.load(tmp_path / "x.npz", "c")
    with pytest.raises(ArgumentError, match=r"ends in '\.nyp'; accepted: \.npy, \.npz, \.safetensors"):
        tr.save(tmp_path / "x.nyp", tr.zeros(2))
    with pytest.raises(ArgumentError, match=r"y\.npz' holds tensors by name"):
        tr.save(tmp_path / "y.npz", tr.zeros(2))
    with pytest.raises(ArgumentError, match=r"takes one tensor; .* by name: .npz, .*, .h5, .hdf5, .mat, .zarr$"):
        tr.save(tmp_path / "y.npy", {"a": tr.zeros(2)})
    with pytest.raises(ArgumentError, match="without compression; accepted: npz"):
        tr.save(tmp_path / "y.npy", tr.zeros(2), compressed=True)
    with pytest.raises(ArgumentError, match="whose order is given"):
        tr.save(tmp_path / "y.safetensors", {"x": tr.zeros(2)}, order="C")
    tr.save(tmp_path / "y.npy", tr.zeros(2))
    with pytest.raises(ArgumentError, match="holds one tensor without a name"):
        tr.load_all(tmp_path / "y.npy")
    tr.save(tmp_path / "data.bin", {"x": tr.ones(2)}, format="safetensors")
    assert tr.load(tmp_path / "data.bin", format="safetensors").tolist() == [1.0, 1.0]
    for name in ("__metadata__", "\ud800"):
        with pytest.raises(ArgumentError, match="is no name of a tensor"):
            tr.save(tmp_path / "z.safetensors", {name: tr.zeros(2)})
    for name in ("", "/etc", "a\\b", "x.npy"):
        with pytest.raises(ArgumentError, match="is no name of a tensor"):
            tr.save(tmp_path / "z.npz", {name: tr.zeros(2)})
    assert sorted(one.name for one in tmp_path.iterdir()) == ["data.bin", "x.npz", "y.npy"]


@given(
    names=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5), st.sampled_from(KINDS), max_size=4
    ),
    dtype=st.sampled_from(DTYPES),
    mmap=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_names_are_kept(names: dict[str, str], dtype: DType, mmap: bool, tmp_path: Path) -> None:
    for format in NAMED:
        if not holds(format, dtype):
            continue
        wanted = {name: sample(kind, dtype) for name, kind in names.items()}
        try:
            tr.save(tmp_path / f"x.{format}", {name: x for name, (x, _) in wanted.items()})
        except ArgumentError:
            assert any(name[0] == "/" or name.endswith(".npy") or set(name) & {"\\", "\0"} for name in names)
            continue
        found = tr.load_all(tmp_path / f"x.{format}", mmap=mmap)
        assert found.keys() == wanted.keys()
        assert all(same(found[name], a) for name, (_, a) in wanted.items())
