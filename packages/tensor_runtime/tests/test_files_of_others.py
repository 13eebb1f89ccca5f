"""Files that hold more than tensors of ours: each tensor is read whatever lies beside it, and what is none says why."""

from __future__ import annotations

import itertools
import json
import os
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, Final

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse

import tensor_runtime as tr
from tensor_core import files as host_files
from tensor_core.errors import ArgumentError, DTypeError, FormatError, LoadError, TensorError

A = np.arange(6.0).reshape(2, 3)


def same(x: Any, a: Any = A) -> bool:
    return x.shape == a.shape and bool(np.array_equal(np.asarray(x), a))


def test_of_hdf5_each_tensor_is_read_whatever_is_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["x"] = A
        file["empty"] = h5py.Empty("f8")
        file["type"] = np.dtype("f8")
        file["text"] = "no tensor"
        file["records"] = np.zeros(2, [("a", "f8"), ("b", "i4")])
        file["dates"] = np.array([1, 2]).astype(h5py.opaque_dtype(np.dtype("M8[s]")))
        file["nowhere"] = h5py.SoftLink("/none")
        file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
    assert tr.load_all(path).keys() == {"x"}
    assert same(tr.load(path))
    for name, error, message in [
        ("empty", FormatError, "'empty' has no extents"),
        ("type", FormatError, "'type' has no extents"),
        ("text", DTypeError, "the elements of 'text' are 'object'; accepted: "),
        ("records", DTypeError, "the elements of 'records' are "),
        ("dates", DTypeError, "the elements of 'dates' are 'datetime64"),
        ("nowhere", FormatError, "'nowhere' cannot be read: KeyError"),
        ("elsewhere", FormatError, "'elsewhere' is a link to another file"),
    ]:
        with pytest.raises(error, match=message):
            tr.load(path, name)
    with h5py.File(path, "a") as file:
        file["wide"] = np.longdouble([1, 2])
        file.create_dataset("claims", (2**40, 2**20), "f8")
    assert same(tr.load(path, "x"))
    with pytest.raises(DTypeError, match="the elements of 'wide' are 'float128'"):
        tr.load(path, "wide")
    with pytest.raises(FormatError, match="tensor 'claims' claims 9223372036854775808 bytes"):
        tr.load(path, "claims")
    with pytest.raises(TensorError):  # a tensor that cannot be read is not passed over
        tr.load_all(path)


def test_of_hdf5_every_name_of_a_tensor_is_found(tmp_path: Path) -> None:
    """Hard links as TeNPy writes them for what occurs twice, soft links, and groups that hold themselves."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["a/x"] = A
        file["b"] = file["a"]
        file["c"] = file["a/x"]
        file["soft"] = h5py.SoftLink("/a/x")
        file["a/up"] = h5py.SoftLink("/a")
        file["a/top"] = file["/"]
    found = tr.load_all(path)
    assert found.keys() == {"a/x", "b/x", "c", "soft"}
    assert all(same(x) for x in found.values())
    assert same(tr.load(path, "b/x", mmap=True))


def test_of_hdf5_names_do_not_multiply_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty groups, each with two links to the next, have 2**40 names."""
    monkeypatch.setattr("tensor_runtime.io.hdf5._MOST_REPEATED", 1000)
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        groups = [file.create_group(f"g{k}") for k in range(40)]
        for one, following in itertools.pairwise(groups):
            one["a"] = one["b"] = following
    with pytest.raises(FormatError, match="links give groups more than 1000 further names"):
        tr.load_all(path)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_of_an_npz_archive_each_tensor_is_read_whatever_is_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(
        path,
        x=A,
        text=np.array(["a", "bb"]),
        objects=np.array([None, 1], dtype=object),
        records=np.zeros(2, [("a", "f8")]),
        dates=np.array(["2020-01-01"], "M8[D]"),
    )
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("notes.txt", "no tensor")
    for module in (tr, host_files):
        assert module.load_all(path).keys() == {"x"}
        assert module.load(path).shape == (2, 3)
        for name in ("text", "objects", "records", "dates"):
            with pytest.raises(DTypeError, match=rf"member '{name}.npy' are "):
                module.load(path, name)
        with pytest.raises(FormatError, match=r"member 'notes.txt'"):
            module.load(path, "notes.txt")
    np.savez(path, x=A, wide=np.longdouble([1, 2]))
    assert same(tr.load(path, "x"))
    with pytest.raises(DTypeError, match=r"member 'wide.npy' are '.f16'"):
        tr.load_all(path)


def test_a_damaged_member_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, x=A, y=A)
    content = bytearray(path.read_bytes())
    content[content.rindex(b"\x93NUMPY")] = 0
    path.write_bytes(content)
    assert same(tr.load(path, "x"))
    with pytest.raises(FormatError, match=r"member 'y.npy'"):
        tr.load(path, "y")
    with pytest.raises(FormatError, match=r"member 'y.npy'"):
        tr.load_all(path)


def safetensors(path: Path, facts: dict[str, Any], count: int) -> None:
    header = json.dumps(facts).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(count))


def test_of_safetensors_each_tensor_is_read_whatever_its_neighbours_type(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    facts = {
        "small": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]},
        "x": {"dtype": "F32", "shape": [2], "data_offsets": [2, 10]},
    }
    safetensors(path, facts, 10)
    for module in (tr, host_files):
        assert module.load(path, "x").shape == (2,)
        for read in (lambda: module.load(path, "small"), lambda: module.load_all(path)):  # noqa: B023
            with pytest.raises(DTypeError, match=r"x.safetensors': tensor 'small' has dtype 'F8_E4M3'; accepted: BF16"):
                read()
    safetensors(path, {**facts, "small": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [2, 0]}}, 10)
    with pytest.raises(FormatError, match="'small' has data_offsets"):
        tr.load(path, "x")


def test_a_shape_without_elements_and_beyond_all_counts_is_told_of_the_file(tmp_path: Path) -> None:
    safetensors(
        tmp_path / "x.safetensors", {"x": {"dtype": "F32", "shape": [2**40, 2**40, 0], "data_offsets": [0, 0]}}, 0
    )
    with pytest.raises(FormatError, match=r"x.safetensors': tensor 'x': shape: .* has more than 2\*\*63 - 1 elements"):
        tr.load(tmp_path / "x.safetensors")


@pytest.mark.parametrize("format", ["mat", "mat73"])
@pytest.mark.parametrize("compressed", [False, True])
def test_files_of_matlab_keep_extents_of_1(format: str, compressed: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    x = tr.arange(6).reshape((2, 3, 1, 1))
    tr.save(path, {"x": x, "empty": tr.zeros((2, 0, 1))}, format=format, compressed=compressed)
    assert same(tr.load(path, "x"), x.to_numpy())
    assert tr.load(path, "empty").shape == (2, 0, 1)
    if format == "mat":
        assert same(scipy.io.loadmat(path)["x"], x.to_numpy())


@pytest.mark.parametrize("extent", [1, 100])
def test_version_4_of_matlab_is_named(extent: int, tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "x.mat", {"x": np.ones((2, extent))}, format="4")
    with pytest.raises(FormatError, match=r"a MAT file of version 4; accepted: 5 and 7\.3"):
        tr.load(tmp_path / "x.mat")


def test_version_2_of_zarr_is_named(tmp_path: Path) -> None:
    os.mkdir(tmp_path / "x.zarr")
    (tmp_path / "x.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    with pytest.raises(
        FormatError, match="is a Zarr folder of version 2; accepted: version 3; read it by the zarr pack"
    ):
        tr.load(tmp_path / "x.zarr")


def test_of_a_zarr_folder_each_array_is_read_whatever_is_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr"
    tr.save(path, {"x": tr.asarray(A), "y": tr.asarray(A)})
    metadata = json.loads((path / "y" / "zarr.json").read_text())
    (path / "y" / "zarr.json").write_text(json.dumps({**metadata, "data_type": "string"}))
    assert same(tr.load(path, "x"))
    assert same(tr.load(path))
    assert tr.load_all(path).keys() == {"x"}
    with pytest.raises(FormatError, match="data_type is 'string'"):
        tr.load(path, "y")
    (path / "y" / "zarr.json").write_text(json.dumps({**metadata, "data_type": "float8_e4m3"}))
    assert same(tr.load(path, "x"))
    with pytest.raises(FormatError, match="data_type is 'float8_e4m3'"):  # numbers are not passed over
        tr.load_all(path)


@pytest.mark.parametrize("name", ["arr:0", "zarr.json", "__metadata__", ".", "..", "\ud800", "a/b", "a\\b"])
def test_names_that_zarr_does_not_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="is no name of a Zarr array; accepted: text without"):
        tr.save(tmp_path / "x.zarr", {name: tr.zeros(2)})
    assert not list(tmp_path.iterdir())


def test_what_is_not_mapped_says_why(tmp_path: Path) -> None:
    tr.save(tmp_path / "x.npz", {"x": tr.zeros(100)}, compressed=True)
    np.save(tmp_path / "x.npy", A.astype(">f8"))
    for name, message in [
        ("x.npz", "tensor 'x': the elements are not in one piece of the file as they are in memory, so they cannot"),
        ("x.npy", "the elements are F64 of the other byte order, which are converted when they are read, so they ca"),
    ]:
        with pytest.raises(LoadError, match=message):
            tr.load(tmp_path / name, mmap=True)


def padded(kind: int, content: bytes) -> bytes:
    """An element of a MAT file."""
    return struct.pack("<2I", kind, len(content)) + content + bytes(-len(content) % 8)


def variable(number_class: int, *parts: bytes) -> bytes:
    return padded(14, padded(6, struct.pack("<2I", number_class, 0)) + b"".join(parts))


def numbers(name: bytes, *, extents: int = 5, text: int = 1) -> bytes:
    """The variable with the elements of A, whose extents and name are of these types."""
    shape = padded(extents, struct.pack("<2i", *A.shape))
    return variable(6, shape, padded(text, name), padded(9, A.tobytes("F")))


MAT: Final = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
STRING: Final = variable(17, padded(1, b"s"), padded(1, b"MCOS"), padded(1, b"string"), numbers(b""))
WORKSPACE: Final = variable(9, padded(5, struct.pack("<2i", 1, 4)), padded(1, b""), padded(2, bytes(4)))


def test_of_matlab_each_tensor_is_read_whatever_is_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    beside = {
        "text": ("abc", "is text"),
        "cells": (np.array([1.0, "a"], dtype=object), "is a cell array"),
        "structure": ({"a": 1.0}, "is a structure"),
        "sparse": (scipy.sparse.csc_matrix(np.eye(2)), r"is a sparse matrix, of which full\(x\) in MATLAB"),
    }
    scipy.io.savemat(path, {"x": A, **{name: value for name, (value, _) in beside.items()}})
    assert tr.load_all(path).keys() == {"x"}
    for name, (_, said) in beside.items():
        with pytest.raises(DTypeError, match=f"variable '{name}' {said}"):
            tr.load(path, name)


def test_of_matlab_strings_and_functions_leave_the_numbers(tmp_path: Path) -> None:
    """A string is a variable without extents, and what it refers to one without a name at the end of the file."""
    path = tmp_path / "x.mat"
    path.write_bytes(MAT + numbers(b"x") + STRING + WORKSPACE)
    assert np.array_equal(scipy.io.loadmat(path)["x"], A)  # which has the string, too
    assert tr.load_all(path).keys() == {"x"}
    assert same(tr.load(path, "x"))
    with pytest.raises(DTypeError, match="variable 's' is an object of class 'string'"):
        tr.load(path, "s")


@pytest.mark.parametrize("types", [{"extents": 6}, {"text": 16}])
def test_extents_and_names_may_be_of_the_types_that_other_programs_write(types: dict[str, int], tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    path.write_bytes(MAT + numbers(b"x", **types))
    assert same(tr.load(path))


def test_a_compressed_variable_is_compared_with_its_check_sum_and_its_length(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    packed = zlib.compress(numbers(b"x"))
    wrong = packed[:-1] + bytes([packed[-1] ^ 1])
    for content, said in (
        (packed, ""),
        (wrong, "incorrect data check"),
        (packed[:-4], "cut short"),
        (zlib.compress(numbers(b"x") + bytes(64)), "longer when decompressed"),
    ):
        path.write_bytes(MAT + struct.pack("<2I", 15, len(content)) + content)
        if said:
            with pytest.raises(FormatError, match=said):
                tr.load(path)
        else:
            assert same(tr.load(path))


def test_of_version_7_3_of_matlab_sparse_matrices_and_text_leave_the_numbers(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    tr.save(path, {"x": tr.asarray(A)}, format="mat73")
    with h5py.File(path, "r+") as file:
        for name, kind in (("sparse", "double"), ("structure", "struct")):
            file.create_group(name).attrs["MATLAB_class"] = np.bytes_(kind)
        file["sparse"].attrs["MATLAB_sparse"] = np.uint64(3)
        file["text"] = np.array([[97], [98]], "u2")
        file["text"].attrs["MATLAB_class"] = np.bytes_("char")
    assert tr.load_all(path).keys() == {"x"}
    assert same(tr.load(path, "x"))
    for name, said in (("sparse", "a sparse matrix"), ("structure", "a structure"), ("text", "text")):
        with pytest.raises(DTypeError, match=f"variable '{name}' is {said}"):
            tr.load(path, name)
