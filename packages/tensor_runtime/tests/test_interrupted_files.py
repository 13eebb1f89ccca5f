"""Ctrl-C while a file is opened or made: it is heard, nothing of others is closed, and no file is left."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.files import atomic_write, source

pytestmark = pytest.mark.usefixtures("sigint_interrupts")


def test_a_file_that_is_being_opened_is_closed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    (tmp_path / "other").write_bytes(b"other")
    opened: list[tuple[int, Any]] = []

    def interrupted(*arguments: Any, **options: Any) -> Any:
        with open(*arguments, **options) as file:
            number = file.fileno()
        # A thread opens another file, which gets the same number.
        opened.append((number, (tmp_path / "other").open("rb")))
        signal.raise_signal(signal.SIGINT)
        return file

    monkeypatch.setattr(source, "open", interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt):
        source.open_regular(str(tmp_path / "x"))
    ((number, other),) = opened
    with other:
        assert other.fileno() == number
        assert other.read() == b"other"


def test_what_is_no_regular_file_is_closed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "unlike").open("wb") as file:
        free = os.dup(file.fileno())
        os.close(free)
        for _ in range(3):
            for path in (tmp_path, tmp_path / "pipe", tmp_path / "none"):
                with pytest.raises(OSError):
                    source.open_regular(str(path))
        again = os.dup(file.fileno())
        os.close(again)
    assert again == free


@pytest.mark.parametrize("taken", [False, True])
def test_a_file_that_was_just_made_is_removed(taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, made = tmp_path / "x.npy", os.open

    def interrupted(name: Any, flags: int, *mode: int) -> int:
        if taken and str(name).endswith(".x.npy.tmp"):
            raise FileExistsError  # another process writes it
        handle = made(name, flags, *mode)
        if flags & os.O_CREAT:
            signal.raise_signal(signal.SIGINT)
        return handle

    with monkeypatch.context() as pressed:
        pressed.setattr(atomic_write, "_removed_if_left", lambda path: False)
        pressed.setattr(atomic_write.os, "open", interrupted)  # type: ignore[attr-defined]
        with pytest.raises(KeyboardInterrupt):
            tr.save(path, tr.ones((3,)))
    assert list(tmp_path.iterdir()) == []
    tr.save(path, tr.ones((3,)))
    assert [one.name for one in tmp_path.iterdir()] == ["x.npy"]
