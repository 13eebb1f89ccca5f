"""HDF5 and MAT files: round trips, what h5py and SciPy read, and what ITensors.jl and MATLAB write."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from file_samples import KINDS, elements, same, sample
from tensor_core import DTYPES
from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, DTypeError, FormatError, LoadError, TensorError
from tensor_runtime.errors import MissingExtraError


def matlab(a: Any) -> Any:
    """An array as files of MATLAB have it: no rank below 2."""
    return a.reshape(a.shape + (1,) * (2 - a.ndim))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("reverse_dims", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_hdf5_both_ways(dtype: DType, kind: str, reverse_dims: bool, compressed: bool, tmp_path: Path) -> None:
    x, a = sample(kind, dtype)
    path = tmp_path / "x.h5"
    tr.save(path, {"x": x, "of/them": x}, reverse_dims=reverse_dims, compressed=compressed)
    with h5py.File(path) as theirs:
        assert theirs["x"].dtype == a.dtype
        assert np.array_equal(theirs["x"][()].T if reverse_dims else theirs["x"][()], a)
    assert tr.load_all(path).keys() == {"x", "of/them"}
    assert same(tr.load(path, "of/them"), a)
    if compressed and a.size > 1:
        with pytest.raises(LoadError, match="cannot be mapped"):
            tr.load(path, "x", mmap=True)
    else:
        mapped = tr.load(path, "x", mmap=True)
        assert same(mapped, a)
        assert mapped.is_compact or not reverse_dims


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_files_of_h5py(dtype: DType, tmp_path: Path) -> None:
    a = elements((3, 4, 2), dtype)
    big = a.astype(a.dtype.newbyteorder(">")) if dtype.kind != "complex" else a
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["plain"] = a
        file["big"] = big
        file.create_dataset("chunked", data=a, chunks=(2, 2, 1))
        file["text"] = "no tensor"
        file["link"] = h5py.SoftLink("/plain")
        file["short"] = np.arange(3, dtype="u2")
    found = tr.load_all(tmp_path / "x.h5", dtype=tr.C64)
    assert found.keys() == {"plain", "link", "big", "chunked", "short"}
    assert same(tr.load(tmp_path / "x.h5", "link"), a)
    assert same(tr.load(tmp_path / "x.h5", "big"), a)
    assert same(tr.load(tmp_path / "x.h5", "chunked"), a)
    assert same(tr.load(tmp_path / "x.h5", "plain", reverse_dims=True), a.T)
    with pytest.raises(DTypeError, match="uint16, which is none of our dtypes"):
        tr.load(tmp_path / "x.h5", "short")


def itensor(file: Any, name: str, a: Any, storage: str = "storage", cpp: bool = False) -> None:
    """A group as ITensors.jl writes it: a vector of the elements, the first index fastest."""
    group = file.create_group(name)
    group.attrs["type"] = "ITensor"
    indices = group.create_group("inds")
    indices.attrs["type"] = "IndexSet"
    indices["length"] = a.ndim
    for k, extent in enumerate(a.shape):
        index = indices.create_group(f"index_{k + 1}")
        index.attrs["type"] = "Index"
        index["dim"], index["id"], index["plev"] = extent, np.uint64(7 + k), 0
        index.create_group("tags")["tags"] = "Link"
    made = group.create_group(storage)
    made.attrs["type"] = "Dense{ComplexF64}" if a.dtype.kind == "c" else "Dense{Float64}"
    flat = a.reshape(-1, order="F")
    made["data"] = np.stack([flat.real, flat.imag], 1) if cpp else flat
    if cpp:
        made["data"].attrs["__complex__"] = 1


@pytest.mark.parametrize("mmap", [False, True])
def test_tensors_of_itensors_jl(mmap: bool, tmp_path: Path) -> None:
    a, c = elements((2, 3, 4), tr.F64), elements((3, 2), tr.C64)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        itensor(file, "T", a)
        itensor(file, "old", c, "store")
        itensor(file, "cpp", c, cpp=True)
        itensor(file, "MPS/MPS[1]", a[:, :, 0])
    found = tr.load_all(tmp_path / "x.h5", mmap=mmap)
    assert found.keys() == {"T", "old", "cpp", "MPS/MPS[1]"}
    assert same(found["T"], a)
    assert same(found["old"], c)
    assert same(found["cpp"], c)
    assert same(found["MPS/MPS[1]"], a[:, :, 0])


@pytest.mark.parametrize("kind", ["BlockSparse{Float64}", "Diag{Float64}", "EmptyStorage{Float64}", None])
def test_an_itensor_that_is_not_dense_is_refused_by_its_name_and_storage(kind: str | None, tmp_path: Path) -> None:
    a = elements((2, 3), tr.F64)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        itensor(file, "sparse", a)
        itensor(file, "T", a)
        storage = file["sparse"]["storage"]
        del storage.attrs["type"]
        if kind == "BlockSparse{Float64}":
            storage["offsets"], storage["ndims"] = np.array([1, 1, 0]), 2
        elif kind != "Diag{Float64}":
            del storage["data"]
        if kind:
            storage.attrs["type"] = kind
    said = rf"ITensor 'sparse' is stored as {kind or 'storage of no name'}; accepted: Dense; in Julia, write dense\(T\)"
    for read in (lambda path: tr.load(path, "sparse"), tr.load_all):
        with pytest.raises(FormatError, match=said):
            read(tmp_path / "x.h5")
    assert same(tr.load(tmp_path / "x.h5", "T"), a)  # the others are read


def test_elements_in_other_files_and_claims_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (2,), "f8", external=[("/etc/passwd", 0, 16)])
    with pytest.raises(FormatError, match="lies in other files"):
        tr.load(path)
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (10**9, 10**9), "f8", chunks=(1, 1))
    with pytest.raises(FormatError, match="claims 8000000000000000000 bytes"):
        tr.load(path)
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (1000,), "f8")  # its elements were never written
    assert tr.load(path).tolist() == [0.0] * 1000
    path.write_bytes(b"no HDF5 file")
    with pytest.raises(FormatError, match=r"x\.h5'.*no HDF5 file that h5py reads: OSError"):
        tr.load(path)
    for name in ("/x", "a//b", "a/..", ""):
        with pytest.raises(ArgumentError, match="is no name"):
            tr.save(path, {name: tr.zeros(2)})
    with pytest.raises(ArgumentError, match="cannot be made"):
        tr.save(path, {"a": tr.zeros(2), "a/b": tr.zeros(2)})
    assert path.read_bytes() == b"no HDF5 file"


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("format", ["mat", "mat73"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_mat_both_ways(dtype: DType, kind: str, format: str, compressed: bool, tmp_path: Path) -> None:
    x, a = sample(kind, dtype)
    path = tmp_path / "x.mat"
    tr.save(path, {"x": x, "y_2": tr.arange(3)}, format=format, compressed=compressed)
    found = tr.load_all(path)
    assert same(found["x"], matlab(a))
    assert same(found["y_2"], np.arange(3).reshape(3, 1))
    if format == "mat":
        theirs = scipy.io.loadmat(path)["x"]
        assert theirs.dtype == (np.dtype("u1") if dtype is tr.Bool else a.dtype)
        assert np.array_equal(theirs, matlab(a))
        if not compressed and dtype.kind != "complex":
            assert same(tr.load(path, "x", mmap=True), matlab(a))
        elif a.size:
            with pytest.raises(LoadError, match="cannot be mapped"):
                tr.load(path, "x", mmap=True)
    else:
        with h5py.File(path) as theirs:
            node = theirs["x"]
            single = {"float32": "single", "complex64": "single", "float64": "double", "complex128": "double"}
            kinds = {**single, "bool": "logical", "int32": "int32", "int64": "int64"}
            assert node.attrs["MATLAB_class"] == kinds[dtype.numpy_name].encode()
            if a.size:
                stored = node[...].T
                if dtype.kind == "complex":
                    stored = stored["real"] + 1j * stored["imag"]
                assert np.array_equal(stored, matlab(a))
            else:
                assert node[...].tolist() == list(a.shape)
                assert node.attrs["MATLAB_empty"] == 1
                assert ("ironstride_complex" in node.attrs) == (dtype.kind == "complex")
        start = path.read_bytes()[:128]
        assert start.startswith(b"MATLAB 7.3 MAT-file")
        assert start[124:] == b"\x00\x02IM"
        if not compressed:
            assert same(tr.load(path, "x", mmap=True), matlab(a))


def test_variables_of_matlab(tmp_path: Path) -> None:
    """MATLAB stores doubles that are small integers as bytes; the class says what they are."""
    path = tmp_path / "x.mat"
    scipy.io.savemat(path, {"x": np.array([[1.0, 2.0]]), "s": {"a": 1}, "t": "text", "u": np.array([[7]], "u1")})
    assert tr.load_all(path, dtype=tr.F64).keys() == {"x", "u"}
    with pytest.raises(DTypeError, match="uint8, which is none"):
        tr.load(path, "u")
    assert tr.load(path, "u", dtype=tr.I32).tolist() == [[7]]
    for content in (
        b"",
        b"MATLAB 5.0 MAT-file".ljust(128) + b"broken",
        path.read_bytes()[:150],
        b"MATLAB 7.3" + bytes(900),
    ):
        path.write_bytes(content)
        with pytest.raises(FormatError):
            tr.load(path)
    for name in ("1x", "a b", "_x", "x" * 64, "é", "end"):
        with pytest.raises(ArgumentError, match="is no name of a variable in MATLAB"):
            tr.save(path, {name: tr.zeros(2)})


def test_a_compressed_variable_that_ends_early_is_refused(tmp_path: Path) -> None:
    tr.save(tmp_path / "x.mat", {"w": tr.ones((2, 3))})
    whole = (tmp_path / "x.mat").read_bytes()
    for length in range(8, len(whole) - 128):
        packed = zlib.compress(whole[128 : 128 + length])
        (tmp_path / "x.mat").write_bytes(whole[:128] + struct.pack("=2I", 15, len(packed)) + packed)
        with pytest.raises(FormatError):
            tr.load(tmp_path / "x.mat")


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_a_broken_mat_file_is_refused_or_read(data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    tr.save(path, {"w": tr.asarray(elements((2, 3), tr.F32))}, compressed=data.draw(st.booleans()))
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(120, len(content) - 1))
    content[at : at + 4] = data.draw(st.binary(max_size=4))
    path.write_bytes(content)
    try:
        found = tr.load_all(path)
    except TensorError:
        return
    assert sum(x.nbytes for x in found.values()) <= 1032 * len(content)


@pytest.mark.parametrize(("library", "name", "extra"), [("h5py", "x.h5", "hdf5"), ("h5py", "x.mat", "mat")])
def test_a_missing_library_is_named_with_its_extra(library: str, name: str, extra: str, tmp_path: Path) -> None:
    program = f"""
import sys
import tensor_runtime as tr
from tensor_runtime.errors import MissingExtraError
x = tr.zeros(2)
for found in [name for name in sys.modules if name.partition(".")[0] == {library!r}]:
    del sys.modules[found]
sys.modules[{library!r}] = None
try:
    tr.save({str(tmp_path / name)!r}, {{"x": x}}, format={"mat73" if extra == "mat" else "hdf5"!r})
except MissingExtraError as error:
    assert error.extra == {extra!r} and isinstance(error, ImportError)
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert f"needs {library}, which cannot be imported" in found.stdout
    assert f"pip install 'ironstride-tensor-runtime[{extra}]'" in found.stdout
    assert list(tmp_path.iterdir()) == []
    assert issubclass(MissingExtraError, TensorError)


@pytest.mark.parametrize("name", ["x.npz", "x.safetensors", "x.h5", "x.mat"])
def test_a_killed_save_leaves_the_old_file_or_the_new_one(name: str, tmp_path: Path) -> None:
    program = """
import sys
import tensor_runtime as tr
x = tr.full((1000, 300), 2.0)
tr.save(sys.argv[1], {"x": x})
print("begun", flush=True)
while True:
    tr.save(sys.argv[1], {"x": x})
"""
    path = tmp_path / name
    tr.save(path, {"x": tr.ones((1000, 300))})
    for delay in (0.0, 0.004, 0.011):
        with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as saving:
            assert saving.stdout is not None
            assert saving.stdout.readline() == "begun\n"
            time.sleep(delay)
            saving.kill()
        assert set(np.unique(tr.load(path).to_numpy())) == {2.0}
        tr.save(path, {"x": tr.ones((2, 2))})
        assert [one.name for one in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("suffix", ["h5", "mat"])
def test_a_name_that_is_no_text_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{suffix}"
    tr.save(path, {"called": tr.zeros(2)}, format="mat73" if suffix == "mat" else None)
    path.write_bytes(path.read_bytes().replace(b"called", b"c\xff\xfeled"))
    with pytest.raises(FormatError, match=r"the name b'c\\xff\\xfeled' is no text"):
        tr.load_all(path)
