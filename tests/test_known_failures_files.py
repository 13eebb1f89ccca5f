"""Failures of files that other libraries have shipped, each by its number in our list, never to be repeated here.

K15: a file that runs what stands in it (NumPy before 1.16.3, joblib). K16: a header that makes its reader take memory
(mlx, libnpy, cnpy, ClickHouse, stablehlo). K17: half a file, after the disk was full or the process killed (np.save,
among many).
"""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import sys
import tracemalloc
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest

import tensor_core.files
import tensor_runtime as tr
from programs import run
from tensor_core import FormatError, HostTensor, TensorError


class Harm:
    """What makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self._folder),)


def npy(descr: str, body: bytes, shape: tuple[int, ...] = (1,), version: int = 1, length: int | None = None) -> bytes:
    """An ``.npy`` file of which every part may be wrong."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    field = struct.pack("<H" if version == 1 else "<I", len(header) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + field + header + body


def safetensors(body: bytes, length: int | None = None, **facts: object) -> bytes:
    """A safetensors file of which every part may be wrong."""
    described = {"x": {"dtype": "F64", "shape": [8], "data_offsets": [0, 64], **facts}, "__metadata__": {"x": EVIL}}
    text = json.dumps(described).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def mat(shape: tuple[int, int], count: int) -> bytes:
    """A file of MATLAB's version 5 whose variable claims a shape and a number of bytes."""
    variable = struct.pack("<4I", 6, 8, 6, 0) + struct.pack("<2I2i", 5, 8, *shape)
    variable += struct.pack("<2I8s", 1, 1, b"x") + struct.pack("<2I", 9, count) + bytes(64)
    return b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + struct.pack("<2I", 14, len(variable)) + variable


EVIL = "__import__('os').mkdir('harmed')"


def test_k15_nothing_in_a_file_is_ever_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    harm = pickle.dumps(Harm(tmp_path / "harmed"))
    np.save("whole.npy", np.array([Harm(tmp_path / "harmed")], object), allow_pickle=True)
    contents = [
        harm, npy("'|O'", harm), npy(f"'|V{len(harm)}'", harm), npy("'<f8'", harm), npy("'<f8'", bytes(8) + harm),
        npy("[('a', '|O')]", harm), npy(EVIL, bytes(8)), EVIL.encode(), Path("whole.npy").read_bytes(),
        safetensors(harm), safetensors(harm, dtype=EVIL),
    ]  # fmt: skip
    for content in contents:
        with zipfile.ZipFile("member.npz", "w") as archive:
            archive.writestr("x.npy", content)
        for path in ("x.npy", "x.npz", "x.safetensors", "x.h5", "x.mat", "member.npz"):
            if path != "member.npz":
                Path(path).write_bytes(content)
            with pytest.raises(TensorError):
                tr.load(path)
    with h5py.File("x.h5", "w") as file:
        file["x"] = np.void(harm)
        file.attrs["type"] = "pickle"
    with pytest.raises(TensorError):
        tr.load("x.h5")
    assert not Path("harmed").exists()
    pickle.loads(harm)  # what a reader that unpickles would have done
    assert Path("harmed").is_dir()


class Listing(pickle.Unpickler):
    """Notes what a pickle asks for."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self.found: set[str] = set()

    def find_class(self, module: str, name: str) -> object:
        self.found.add(f"{module}.{name}")
        return super().find_class(module, name)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_k15_a_pickled_tensor_asks_for_nothing_but_what_makes_tensors(protocol: int) -> None:
    for x in (tr.tensor([[1.0, 2.0]]), tr.tensor([1, 2])[::-1], HostTensor.from_nested([True]), tr.tensor(1j)):
        listing = Listing(pickle.dumps(x, protocol))
        assert listing.load().shape == x.shape
        others = {name for name in listing.found if not name.startswith(("tensor_core.", "tensor_runtime."))}
        assert listing.found and others <= {"builtins.bytearray", "__builtin__.bytearray", "_codecs.encode"}, others


BOMBS = {
    "many elements": ("npy", npy("'<f8'", bytes(64), (2**40,))),
    "a product beyond int64": ("npy", npy("'<f8'", bytes(64), (2**31, 2**33))),
    "a product that wraps": ("npy", npy("'<f8'", bytes(64), (2**62, 4))),
    "a long header": ("npy", npy("'<f8'", bytes(64), (8,), 2, 2**32 - 1)),
    "a header beyond its cap": ("npy", npy("'<f8'", bytes(64), (8,), 2, 10_001)),
    "an archive's member": ("npz", npy("'<f8'", bytes(64), (2**40,))),
    "a length beyond int64": ("safetensors", safetensors(bytes(64), 2**63)),
    "a length beyond the file": ("safetensors", safetensors(bytes(64), 99_999_999)),
    "offsets beyond the file": ("safetensors", safetensors(bytes(64), shape=[2**40], data_offsets=[0, 2**43])),
    "extents that wrap to 0": ("safetensors", safetensors(bytes(64), shape=[2**32, 2**32], data_offsets=[0, 0])),
    "a variable's extents": ("mat", mat((2**30, 2**30), 64)),
    "a variable's bytes": ("mat", mat((2**20, 2**9), 2**32 - 8)),
}


@pytest.mark.parametrize(("suffix", "content"), BOMBS.values(), ids=BOMBS)
def test_k16_what_a_header_claims_takes_no_memory(suffix: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(content)
    if suffix == "npz":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.npy", content)
    for load in (tr.load, tensor_core.files.load) if suffix != "mat" else (tr.load,):
        for counted in (False, True):  # the first call imports what it needs
            if counted:
                tracemalloc.start()
            try:
                with pytest.raises(FormatError):
                    load(path)
                assert not counted or tracemalloc.get_traced_memory()[1] < 2**20
            finally:
                tracemalloc.stop()


SAVES = """
import os, resource, shutil, signal
import tensor_runtime as tr
from tensor_core import SaveError

SAVES = {
    "npy": lambda x: tr.save("x.npy", x),
    "npz": lambda x: tr.save("x.npz", {"x": x}),
    "deflated": lambda x: tr.save("x.npz", {"x": x}, compressed=True),
    "safetensors": lambda x: tr.save("x.safetensors", {"x": x}),
    "raw": lambda x: tr.save_raw("x.bin", x, order="C"),
    "hdf5": lambda x: tr.save("x.h5", {"x": x}),
    "mat": lambda x: tr.save("x.mat", {"x": x}),
    "mat73": lambda x: tr.save("x.mat", {"x": x}, format="mat73"),
    "zarr": lambda x: tr.save("x.zarr", {"x": x}),
}
small, large = tr.zeros(2), tr.uniform((2000,), seed=0)

def there():
    return {name: open(name, "rb").read() for name in os.listdir() if os.path.isfile(name)}

def folders(name):
    os.makedirs(name)
    os.chdir(name)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits no file's length, and has no fork")
def test_k17_no_half_file_is_left_where_a_file_cannot_grow(tmp_path: Path) -> None:
    printed = run(
        SAVES
        + f"""
for name, save in SAVES.items():
    folders({str(tmp_path)!r} + "/" + name)
    if name != "zarr":  # a Zarr folder is never replaced
        save(small)
    before = there()
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    try:
        save(large)
    except SaveError as error:
        print("refused", end=" ")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    assert there() == before and sorted(os.listdir()) == sorted(before), (name, os.listdir())
    save(large)
print(len(SAVES))
"""
    )
    *refused, count = printed.split()
    assert refused == ["refused"] * int(count)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits no file's length, and has no fork")
def test_k17_a_killed_process_leaves_the_old_file_and_the_next_one_is_saved(tmp_path: Path) -> None:
    printed = run(
        SAVES
        + f"""
for name, save in SAVES.items():
    for at in ("fsync", "rename" if name == "zarr" else "replace"):
        folders({str(tmp_path)!r} + "/" + name + at)
        if name != "zarr":
            save(small)
        before = there()
        child = os.fork()
        if not child:
            setattr(os, at, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
            save(large)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, (name, at, status)
        shown = {{one: content for one, content in there().items() if not one.startswith(".")}}
        assert shown == before and not os.path.exists("x.zarr"), (name, at, os.listdir())
        save(large)
        left = [one for one in os.listdir() if one.startswith(".")]
        assert left == [] or name == "zarr", (name, at, left)
        print("killed", end=" ")
print(len(SAVES))
"""
    )
    *killed, count = printed.split()
    assert killed == ["killed"] * (2 * int(count))
