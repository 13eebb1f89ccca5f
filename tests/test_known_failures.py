"""Failures that other libraries have shipped, each by its number in our list, never to be repeated here.

What may crash or hang runs in a process of its own, under a limit of time; a negative return code is a crash.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path
from textwrap import dedent

import h5py
import numpy as np
import pytest

import tensor_core.files
import tensor_runtime as tr
from tensor_core import (
    I64,
    FormatError,
    HostTensor,
    HostTensorView,
    OverlappingViewError,
    ReadOnlyError,
    SizeLimitError,
    TensorError,
    TensorLayout,
    broadcast_view,
    validate_layout,
)
from tensor_core.host.storage import Storage


def run(program: str, path: Path | None = None) -> str:
    """What a program prints; it must end by itself, with status 0."""
    paths = [str(path or ""), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


def test_k1_stride_times_step_beyond_int64_is_refused_and_crashes_nobody() -> None:
    # NumPy 2.4 wraps the product and crashes when the element is read.
    printed = run(
        """
        import itertools
        from tensor_core import HostTensorView, I64, SliceSpec, TensorError, TensorLayout, slice_view
        from tensor_core.host.storage import Storage
        import tensor_runtime as tr

        storage = Storage.of(I64, range(4))
        strides = [sign * (2**k + d) for k in (31, 32, 60, 61, 62, 63) for d in (-1, 0, 1) for sign in (1, -1)]
        for stride, step in itertools.product(strides, (2, 3, -2, 2**31, 2**62, -(2**63))):
            for extent in (1, 2, 2**31, 2**62):
                try:
                    layout = TensorLayout((extent,), (stride,), 1)
                    view = HostTensorView(storage, slice_view(layout, [SliceSpec(0, None, step)]))
                    print(view.to_nested() if view.size < 9 else 1 / 0)
                except TensorError as error:
                    assert "2**63" in str(error) or "allocation" in str(error) or "slice" in str(error), error
        x = tr.tensor([1, 2, 3, 4])
        for step in (2**31, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**64)):
            assert x[::step].to_numpy().tolist() == [1 if step > 0 else 4]
            assert tr.broadcast_to(x[:1], (2, 3))[:, ::step].to_numpy().tolist() == [[1], [1]]
        print("survived")
        """
    )
    assert set(printed.split()) == {"[1]", "survived"}


def test_k2_huge_sizes_behind_zero_strides_are_refused_before_anything_is_allocated() -> None:
    one = Storage.of(I64, [7])
    for shape in ((2**63 - 1,), (2**31, 2**31), (2**40, 2**40), (2**62, 2), (2**60,)):
        with pytest.raises(SizeLimitError):
            HostTensorView(one, TensorLayout(shape, [0] * len(shape)))
    with pytest.raises(SizeLimitError):
        HostTensor.from_nested([7]).broadcast_view((2**60, 1))
    with pytest.raises(SizeLimitError):
        tr.broadcast_to(tr.tensor([7]), (2**60, 1))
    with pytest.raises(SizeLimitError):
        tr.zeros((2**31, 2**32))
    with pytest.raises(SizeLimitError):
        broadcast_view(TensorLayout((1,)), (2**63,))


def test_k2_an_empty_tensor_counts_its_other_extents() -> None:
    with pytest.raises(SizeLimitError):
        TensorLayout((0, 2**63 - 1, 2))
    with pytest.raises(SizeLimitError):
        validate_layout(TensorLayout((2**61, 0)), 0, 8)
    validate_layout(TensorLayout((2**59, 0)), 0, 8)
    assert HostTensor.zeros((0, 2**59), I64).size == 0
    assert tr.zeros((0, 2**59), dtype=I64).size == 0


def test_k13_no_write_goes_through_a_view_that_names_an_element_twice() -> None:
    x = HostTensor.from_nested([1, 2, 3])
    for view in (x[None].broadcast_view((2, 3)), x.window_view(2, 0), x[:1].broadcast_view((4,))):
        with pytest.raises(OverlappingViewError):
            view[...] = 9
    assert x.to_list() == [1, 2, 3]
    y = tr.tensor([1, 2, 3])
    for repeated in (tr.broadcast_to(y, (2, 3)), tr.broadcast_to(y[:1], (4,))):
        with pytest.raises(OverlappingViewError):
            tr.mutable_view(repeated)
        with pytest.raises(ReadOnlyError):
            tr.copy_into(repeated, tr.zeros(repeated.shape, dtype=I64))  # type: ignore[arg-type]
    assert y.to_numpy().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "package",
    ["tensor_core", "tensor_runtime", "tensor_cpu", "tensor_gpu", "tensor_einsum", "tensor_linalg", "ironstride"],
)
def test_k14_importing_a_package_leaves_subnormal_numbers_alone(package: str) -> None:
    printed = run(
        f"""
        import {package}
        tiny = float("5e-324")
        print(tiny * 1.0 != 0.0, tiny / 1.0 != 0.0, 2.0**-1022 / 2.0 != 0.0)
        """
    )
    assert printed.split() == ["True"] * 3


def test_k14_computing_leaves_subnormal_numbers_alone() -> None:
    printed = run(
        """
        import numpy as np
        import tensor_runtime as tr

        tiny = tr.tensor([2.0**-1074] * 64)
        ones = tr.ones((64, 64))
        for kept in (tiny + 0.0, tiny * 1.0, tiny @ ones, tr.einsum("i,ij->j", tiny, ones), tr.sum(tiny)):
            assert kept.to_numpy().all(), kept
        small = tr.convert(tr.cast(tr.tensor([2.0**-149] * 64), "F32"), "F64")
        assert (small.to_numpy() == 2.0**-149).all()
        print(np.float64(2.0**-1074) * 1.0 != 0.0, (np.full(64, 2.0**-1022) / 2.0 != 0.0).all())
        """
    )
    assert printed.split() == ["True", "True"]


# --- K15: a file that runs what stands in it (NumPy before 1.16.3, joblib)


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


# --- K16: a header that makes its reader take memory (mlx, libnpy, cnpy, ClickHouse, stablehlo)

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


# --- K17: half a file, after the disk was full or the process killed (np.save, among many)

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


BROKEN = {
    "importing": "import a_module_that_nobody_has",
    "syntax": "def broken(:",
    "exiting": "import sys; sys.exit(3)",
    "recursing": "def f(): return f()\nf()",
    "raising": "raise ValueError('half installed')",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_k18_a_broken_plugin_is_reported_and_breaks_nothing_else(kind: str, tmp_path: Path) -> None:
    (tmp_path / "broken_plugin.py").write_text(BROKEN[kind], encoding="utf-8")
    folder = tmp_path / "broken_plugin-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.0\n", encoding="utf-8")
    groups = "[tensor_runtime.backends]\nbroken = broken_plugin:backend\n"
    if kind != "recursing":  # light information may be broken, too
        groups += "\n[tensor_runtime.backend_info]\nbroken = broken_plugin:info\n"
    groups += "\n[tensor_runtime.families]\nbroken = broken_plugin:FAMILY\n"
    (folder / "entry_points.txt").write_text(groups, encoding="utf-8")
    printed = run(
        """
        import sys
        import tensor_runtime as tr
        from tensor_core import PluginLoadError

        assert "broken_plugin" not in sys.modules
        listed = {row.name: row for row in tr.backends()}
        assert listed["broken"].distribution == "broken-plugin 1.0", listed
        assert (tr.tensor([1.0, 2.0]) + 1.0).to_numpy().tolist() == [2.0, 3.0]
        assert tr.einsum("i,i->", tr.ones(3), tr.ones(3)).item() == 3.0
        try:
            tr.backend("broken")
        except PluginLoadError as error:
            assert "broken-plugin 1.0" in str(error) and error.__cause__ is not None, error
            print("refused")
        print({row.name: row.status for row in tr.backends()}["broken"])
        print({family.name: family.trouble for family in tr.families()}["broken"])
        """,
        tmp_path,
    )
    assert printed.splitlines()[0] == "refused"
    assert printed.splitlines()[1].startswith("broken: ")
    assert printed.splitlines()[2].startswith("broken: ")
