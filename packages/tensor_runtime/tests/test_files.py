"""``.npy`` files: NumPy reads ours, we read NumPy's, and nothing else happens to anybody's file."""

from __future__ import annotations

import errno
import io
import os
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES, HostTensor
from tensor_core.dtypes import DType
from tensor_core.errors import (
    ArgumentError,
    FormatError,
    LoadError,
    PlacementError,
    ReadOnlyError,
    SaveError,
    TensorError,
)
from tensor_core.files import atomic_write
from tensor_core.files.npy_header import format_header
from tensor_runtime.backends.registry import registry
from tensor_runtime.io.npy import load_stream
from tensor_runtime.testing.simulated_device import SimulatedBackend

Array = np.ndarray[Any, Any]
SHAPES = [(), (1,), (5,), (0,), (2, 3), (3, 1), (1, 4), (0, 3), (3, 0), (2, 3, 4), (2, 1, 3, 2), (2, 3, 1, 2, 2)]


def numbers(shape: tuple[int, ...], dtype: DType) -> Array:
    """Distinct elements where the dtype has that many, and some that need every byte."""
    count = int(np.prod(shape))
    values = (
        np.arange(count) % 2
        if dtype.kind == "bool"
        else np.arange(count) * 1.3 + (0.7j if dtype.kind == "complex" else 0)
    )
    made: Array = np.asarray(values).astype(dtype.numpy_name).reshape(shape)
    return made


def same(x: tr.Tensor, a: Array) -> bool:
    found = x.to_numpy()
    return found.dtype == a.dtype and found.shape == a.shape and found.tobytes() == a.tobytes()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_saved_file_is_the_one_that_numpy_writes(dtype: DType, shape: tuple[int, ...], tmp_path: Path) -> None:
    a = numbers(shape, dtype)
    np.save(tmp_path / "theirs.npy", np.array(a, order="F"))

    tr.save(tmp_path / "ours.npy", tr.asarray(a))

    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()
    assert np.load(tmp_path / "ours.npy").tobytes() == a.tobytes()


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_files_of_numpy_in_either_order_keep_the_meaning_of_every_index(
    dtype: DType, shape: tuple[int, ...], order: Any, mmap: bool, tmp_path: Path
) -> None:
    a = np.array(numbers(shape, dtype), order=order)
    np.save(tmp_path / "x.npy", a)

    x = tr.load(tmp_path / "x.npy", mmap=mmap)

    assert x.dtype is dtype
    assert same(x, a)
    assert x.is_compact or mmap


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[::-1, 1::2],
        lambda x: x[1],
        lambda x: tr.broadcast_to(x[:1], (3, 4)),
        lambda x: x[2, 1],
        lambda x: x[:0],
    ],
)
def test_views_are_saved_as_what_they_show(view: Any, tmp_path: Path) -> None:
    a = numbers((3, 4), tr.F64)
    shown = view(tr.asarray(a))
    tr.save(tmp_path / "x.npy", shown)
    assert np.load(tmp_path / "x.npy").tolist() == shown.to_numpy().tolist()
    assert same(tr.load(tmp_path / "x.npy"), shown.to_numpy())


def test_a_loaded_tensor_is_owned_and_writable(tmp_path: Path) -> None:
    tr.save(tmp_path / "x.npy", tr.zeros((2, 2)))
    x = tr.load(tmp_path / "x.npy")
    tr.mutable_view(x)[...] = 1.0
    assert tr.load(tmp_path / "x.npy").to_numpy().sum() == 0


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_mapped_tensor_shares_the_file_and_is_read_only(order: Any, tmp_path: Path) -> None:
    a = np.array(numbers((3, 4), tr.F64), order=order)
    np.save(tmp_path / "x.npy", a)
    x = tr.load(tmp_path / "x.npy", mmap=True)
    assert x.strides == ((1, 3) if order == "F" else (4, 1))
    with pytest.raises(ReadOnlyError):
        tr.mutable_view(x)
    with (tmp_path / "x.npy").open("r+b") as file:
        file.seek(-8, os.SEEK_END)
        file.write(struct.pack("=d", 99.0))
    assert x[2, 3].item() == 99.0
    assert tr.add(x, 1.0).to_numpy()[2, 3] == 100.0


def test_a_file_that_is_too_short_or_too_long_is_refused(tmp_path: Path) -> None:
    tr.save(tmp_path / "x.npy", tr.zeros((2, 3)))
    whole = (tmp_path / "x.npy").read_bytes()
    for content, message in [
        (whole[:-1], r"47 bytes of elements; its header, F64 \(2, 3\), says 48: the file was cut short"),
        (whole + b"x", "49 bytes of elements.*something follows"),
        (whole[:100], "ends within its header"),
        (b"", "ends within its header"),
        (b"PK\x03\x04" + bytes(100), "does not start as an .npy file does"),
        (whole[:6] + b"\x04\x00" + whole[8:], "format version 4.0; accepted: 1.0, 2.0, 3.0"),
    ]:
        (tmp_path / "x.npy").write_bytes(content)
        for mmap in (False, True):
            with pytest.raises(FormatError, match=message):
                tr.load(tmp_path / "x.npy", mmap=mmap)


def test_a_bool_that_is_neither_0_nor_1_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(format_header(tr.Bool, (2,)) + b"\x01\x02")
    with pytest.raises(FormatError, match="neither 0 nor 1"):
        tr.load(tmp_path / "x.npy")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_gives_a_tensor_or_an_error_of_ours(data: st.DataObject, tmp_path: Path) -> None:
    content = bytearray(format_header(tr.I32, (2, 3)) + bytes(range(24)))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] ^= 1 << data.draw(st.integers(0, 7))
    content = content[: data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))]
    (tmp_path / "x.npy").write_bytes(content)
    attempts: list[Callable[[], tr.Tensor]] = [
        lambda: tr.load(tmp_path / "x.npy"),
        lambda: tr.load(tmp_path / "x.npy", mmap=True),
        lambda: load_stream(io.BytesIO(content), max_bytes=1 << 20),
    ]
    for attempt in attempts:
        try:
            assert attempt().nbytes <= 24
        except TensorError:
            pass


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    cases: list[tuple[Any, str]] = [
        (tmp_path, "is a directory; accepted: a regular file"),
        (tmp_path / "pipe", "is no regular file"),
        ("/dev/null", "is no regular file"),
    ]
    for path, message in cases:
        with pytest.raises(LoadError, match=message):
            tr.load(path)
        with pytest.raises(SaveError, match=r"is a directory|is no regular file"):
            tr.save(path, tr.zeros(2))
    assert sorted(os.listdir(tmp_path)) == ["pipe"]


def test_a_missing_file_is_named_with_the_systems_reason(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"missing\.npy' cannot be read: No such file or directory") as caught:
        tr.load(tmp_path / "missing.npy")
    assert isinstance(caught.value, OSError)
    assert caught.value.errno == errno.ENOENT
    assert caught.value.path == str(tmp_path / "missing.npy")
    assert pickle.loads(pickle.dumps(caught.value)).errno == errno.ENOENT


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800", 3, None, b"x.npy"])
def test_what_names_no_file_is_refused(path: Any) -> None:
    with pytest.raises(LoadError, match=r"load: the path is .*; accepted: the name of a file"):
        tr.load(path)
    with pytest.raises(SaveError, match=r"save: the path is .*; accepted: the name of a file"):
        tr.save(path, tr.zeros(2))


def test_a_missing_folder_is_an_error_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(SaveError, match="cannot be written: No such file or directory; nothing was changed") as caught:
        tr.save(tmp_path / "no" / "x.npy", tr.zeros(2))
    assert caught.value.errno == errno.ENOENT
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("step", ["write_pieces", "fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_no_other(
    step: str, failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tr.save(tmp_path / "x.npy", tr.zeros(2))

    def fail(*arguments: Any) -> Any:
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(atomic_write if step == "write_pieces" else os, step, fail)
        with pytest.raises(SaveError if isinstance(failure, OSError) else KeyboardInterrupt) as caught:
            tr.save(tmp_path / "x.npy", tr.ones(3))

    if isinstance(caught.value, SaveError):
        assert caught.value.errno == errno.ENOSPC
        assert "No space left on device; nothing was changed" in str(caught.value)
    assert os.listdir(tmp_path) == ["x.npy"]
    assert tr.load(tmp_path / "x.npy").to_numpy().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("separator", sorted({os.sep, os.altsep or os.sep}))
def test_a_name_that_ends_as_a_folders_does_is_refused_by_both(separator: str, tmp_path: Path) -> None:
    tr.save(tmp_path / "x.npy", tr.zeros(2))
    with pytest.raises(SaveError, match="ends as the name of a folder does; accepted: the name of a file"):
        tr.save(str(tmp_path / "x.npy") + separator, tr.ones(2))
    with pytest.raises(SaveError, match="ends as the name of a folder does"):
        tr.save(str(tmp_path / "new") + separator, tr.ones(2))
    with pytest.raises(LoadError):
        tr.load(str(tmp_path / "x.npy") + separator)
    assert os.listdir(tmp_path) == ["x.npy"]
    assert tr.load(tmp_path / "x.npy").to_numpy().tolist() == [0.0, 0.0]


KILLED = """
import os, signal, sys, tensor_runtime as tr
replace = os.replace
def killed(*names):
    os.kill(os.getpid(), signal.SIGKILL)
os.replace = killed
tr.save(sys.argv[1], tr.zeros(1000))
"""


def test_what_a_killed_process_left_is_removed_by_the_next_save_under_that_name(tmp_path: Path) -> None:
    tr.save(tmp_path / "x.npy", tr.ones(3))
    for name in ("x.npy", "y.npy"):
        ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / name)], check=False)
        assert ended.returncode == -signal.SIGKILL
    assert sorted(os.listdir(tmp_path)) == [".x.npy.tmp", ".y.npy.tmp", "x.npy"]
    assert tr.load(tmp_path / "x.npy").to_numpy().tolist() == [1.0, 1.0, 1.0]

    tr.save(tmp_path / "x.npy", tr.zeros(2))
    tr.save(tmp_path / "y.npy", tr.zeros(2))

    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.npy"]


def test_a_file_that_is_being_written_is_left_to_its_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace

    def meanwhile(*names: Any) -> None:
        monkeypatch.setattr(os, "replace", replace)
        tr.save(tmp_path / "x.npy", tr.ones(3))  # from within, as another thread or process would
        assert tr.load(tmp_path / "x.npy").shape == (3,)
        replace(*names)

    monkeypatch.setattr(os, "replace", meanwhile)
    tr.save(tmp_path / "x.npy", tr.zeros(2))

    assert tr.load(tmp_path / "x.npy").to_numpy().tolist() == [0.0, 0.0]
    assert os.listdir(tmp_path) == ["x.npy"]


def test_what_is_no_file_of_ours_is_left_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("keep")
    (tmp_path / ".x.npy.tmp").symlink_to("precious")
    (tmp_path / ".y.npy.tmp").mkdir()
    for name in ("x.npy", "y.npy"):
        tr.save(tmp_path / name, tr.zeros(2))
    assert (tmp_path / "precious").read_text() == "keep"
    assert sorted(os.listdir(tmp_path)) == [".x.npy.tmp", ".y.npy.tmp", "precious", "x.npy", "y.npy"]


def test_a_name_as_long_as_the_system_allows_can_be_saved(tmp_path: Path) -> None:
    for length in (250, 251, 255):
        tr.save(tmp_path / ("x" * length), tr.zeros(2))
    assert len(os.listdir(tmp_path)) == 3


def test_another_hard_link_keeps_the_old_content(tmp_path: Path) -> None:
    tr.save(tmp_path / "x.npy", tr.zeros(2))
    os.link(tmp_path / "x.npy", tmp_path / "y.npy")
    tr.save(tmp_path / "x.npy", tr.ones(2))
    assert tr.load(tmp_path / "y.npy").to_numpy().tolist() == [0.0, 0.0]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:7]))
    tr.save(tmp_path / "x.npy", tr.arange(100))
    monkeypatch.undo()
    assert np.load(tmp_path / "x.npy").tolist() == list(range(100))


def test_a_link_is_followed_and_permissions_are_kept(tmp_path: Path) -> None:
    tr.save(tmp_path / "x.npy", tr.zeros(2))
    (tmp_path / "x.npy").chmod(0o600)
    (tmp_path / "link.npy").symlink_to("x.npy")
    tr.save(tmp_path / "link.npy", tr.ones(2))
    assert (tmp_path / "link.npy").is_symlink()
    assert (tmp_path / "x.npy").stat().st_mode & 0o777 == 0o600
    assert tr.load(tmp_path / "x.npy").to_numpy().tolist() == [1.0, 1.0]


def test_a_new_file_has_the_permissions_that_any_new_file_gets(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    tr.save(tmp_path / "x.npy", tr.zeros(2))
    assert (tmp_path / "x.npy").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_is_no_tensor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TensorError, match="save: found ndarray; accepted: a tensor"):
        tr.save(tmp_path / "x.npy", np.zeros(2))  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []


def test_a_tensor_on_a_device_is_not_moved_silently(tmp_path: Path) -> None:
    device = SimulatedBackend(tr.backend("cpu"), "device-for-files")
    tr.register_backend(device.name, device)
    try:
        x = tr.upload(HostTensor.from_nested([1.0]), device.placement())
        with (
            tr.trace_transfers() as log,
            pytest.raises(PlacementError, match=r"on device-for-files:0.*nothing is moved"),
        ):
            tr.save(tmp_path / "x.npy", x)
        assert log == []
        assert os.listdir(tmp_path) == []
    finally:
        registry.unregister(device.name)


def test_a_path_that_is_none_is_told_of_in_short() -> None:
    with pytest.raises(LoadError, match=r"load: the path is .*; accepted: the name of a file") as caught:
        tr.load("\0" * 100_000)

    assert len(str(caught.value)) < 300


JUNK = [np.array([1, 2]), np.array(["F", "C"]), 5, [], {}, object(), float("nan"), ("F",), tr.ones((2, 2))]


@pytest.mark.parametrize(
    "call",
    [
        lambda folder, junk: tr.save(folder / "new.npy", tr.ones(2), order=junk),
        lambda folder, junk: tr.save(folder / "new.npy", tr.ones(2), format=junk),
        lambda folder, junk: tr.save(folder / "new.npz", {"a": tr.ones(2)}, compressed=junk),
        lambda folder, junk: tr.save(folder / "new.h5", {"a": tr.ones(2)}, reverse_dims=junk),
        lambda folder, junk: tr.load(folder / "old.npz", junk),
        lambda folder, junk: tr.load(folder / "old.npz", "a", mmap=junk),
        lambda folder, junk: tr.load(folder / "old.npz", "a", format=junk),
        lambda folder, junk: tr.load_all(folder / "old.h5", reverse_dims=junk),
        lambda folder, junk: tr.load_raw(folder / "raw", 2, "F64", order=junk),
        lambda folder, junk: tr.load_raw(folder / "raw", 2, "F64", order="F", byteorder=junk),
        lambda folder, junk: tr.save_raw(folder / "new", tr.ones(2), order=junk),
    ],
)
def test_options_that_are_none_are_refused_by_errors_of_ours(tmp_path: Path, call: Any) -> None:
    tr.save(tmp_path / "old.npz", {"a": tr.ones(2)})
    tr.save(tmp_path / "old.h5", {"a": tr.ones(2)})
    tr.save_raw(tmp_path / "raw", tr.ones(2), order="F")
    before = sorted(path.name for path in tmp_path.iterdir())
    for junk in JUNK:
        with pytest.raises((ArgumentError, LoadError)):
            call(tmp_path, junk)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
