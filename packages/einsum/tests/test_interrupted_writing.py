"""Ctrl-C while the result of a contraction is written: it takes effect when all is written, or before anything is."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from sliced_plans import SLICED, operands_of
from tensor_core.errors import OutOfMemoryError
from tensor_core.files.atomic_write import write_atomically
from tensor_einsum import einsum, plan
from tensor_einsum.slices.checkpoint import Checkpoint
from tensor_einsum.slices.executable import SlicedExecutable
from tensor_einsum.slices.gathering import Gathering
from tensor_runtime.dispatch import out as writing

pytestmark = pytest.mark.usefixtures("sigint_interrupts")
ROWS = 1200  # of a square whose elements are written in some pieces


def counting(rows: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.arange(2.0 * rows).reshape(2, rows) % 7, np.arange(2.0 * rows).reshape(2, rows) % 5


@contextmanager
def pressed_after_a_piece(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Ctrl-C comes when the first piece of a result has been written; gives the pieces."""
    pieces, write = [0], writing.write_result

    def pressing(*arguments: Any) -> None:
        write(*arguments)
        pieces[0] += 1
        if pieces[0] == 1:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as pressed:
        pressed.setattr(writing, "write_result", pressing)
        yield pieces


@pytest.mark.parametrize(("alpha", "beta"), [(2, 10), (1, 10), (2, 0)])
def test_an_output_is_written_as_a_whole(monkeypatch: pytest.MonkeyPatch, alpha: int, beta: int) -> None:
    a, b = counting(ROWS)
    x, y, out = tr.tensor(a), tr.tensor(b), tr.full((ROWS, ROWS), 7.0)
    for call in (einsum, plan("fi,fj->ij", x, y)):
        out.mutable_view()[...] = 7.0
        given = ("fi,fj->ij", x, y) if call is einsum else (x, y)
        with pressed_after_a_piece(monkeypatch) as pieces, pytest.raises(KeyboardInterrupt):
            call(*given, out=out, alpha=alpha, beta=beta)
        assert pieces[0] > 2
        assert np.array_equal(out.to_numpy(), alpha * (a.T @ b) + beta * 7.0)


def test_beta_counts_once_where_a_checkpoint_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = counting(ROWS)
    x, y, out, path = tr.tensor(a), tr.tensor(b), tr.full((ROWS, ROWS), 7.0), tmp_path / "sum"
    found = plan("fi,fj->ij", x, y).with_slices("f")
    for seconds in (0, 1e9):
        out.mutable_view()[...] = 7.0
        with pressed_after_a_piece(monkeypatch) as pieces, pytest.raises(KeyboardInterrupt):
            found(x, y, out=out, alpha=2, beta=10, checkpoint=path, checkpoint_seconds=seconds)
        assert pieces[0] > 2
        assert np.array_equal(out.to_numpy(), 2 * (a.T @ b) + 70.0)
        assert not path.exists()


def test_a_sum_that_is_scaled_where_it_lies_is_not_saved_half_scaled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = counting(ROWS)
    x, y, path = tr.tensor(a), tr.tensor(b), tmp_path / "sum"
    found = plan("fi,fj->ij", x, y).with_slices("f")
    pieces, write = [0], writing.write_result

    def failing(*arguments: Any) -> None:
        if pieces[0] == 1:
            raise OutOfMemoryError("einsum: no memory")
        write(*arguments)
        pieces[0] += 1

    with monkeypatch.context() as failed:
        failed.setattr(writing, "write_result", failing)
        with pytest.raises(OutOfMemoryError):
            found(x, y, alpha=2, checkpoint=path)
    assert pieces[0] == 1
    assert np.array_equal(found(x, y, alpha=2, checkpoint=path).to_numpy(), 2 * (a.T @ b))


def test_a_finished_sum_is_kept_until_its_result_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operands, path, finish = operands_of(SLICED), tmp_path / "sum", Gathering.finish
    whole, stripped = SLICED(*operands), SLICED(*operands, strip_exponent=True)

    def pressed(making: Gathering) -> Any:
        signal.raise_signal(signal.SIGINT)
        return finish(making)

    def computed() -> None:
        """Nothing is computed again by the call that goes on."""
        raise AssertionError

    monkeypatch.setattr(Gathering, "finish", pressed)
    with pytest.raises(KeyboardInterrupt):
        SLICED(*operands, checkpoint=path)
    monkeypatch.setattr(Gathering, "finish", finish)
    result = SLICED(*operands, checkpoint=path, on_step=lambda *_: computed())
    assert result.to_numpy().tobytes() == whole.to_numpy().tobytes()
    assert not path.exists()

    remove = Checkpoint.remove

    def removed(state: Checkpoint) -> None:
        signal.raise_signal(signal.SIGINT)
        remove(state)

    monkeypatch.setattr(Checkpoint, "remove", removed)
    with ThreadPoolExecutor(2) as threads:
        calls: list[Callable[[], Any]] = [
            lambda: SLICED(*operands, checkpoint=path),
            lambda: SLICED(*operands, checkpoint=path, strip_exponent=True),
            lambda: SLICED.map_slices(threads, *operands, checkpoint=path),
        ]
        for call in calls:
            with pytest.raises(KeyboardInterrupt):
                call()
            assert not path.exists()  # the call was complete
    monkeypatch.setattr(Checkpoint, "remove", remove)
    again = SLICED(*operands, checkpoint=path, strip_exponent=True)
    assert (again[0].to_numpy().tobytes(), again[1]) == (stripped[0].to_numpy().tobytes(), stripped[1])


def test_a_sum_is_written_once_when_it_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operands, path, written = operands_of(SLICED), tmp_path / "sum", [0]

    def counted(*arguments: Any) -> None:
        written[0] += 1
        write_atomically(*arguments)

    def stop(done: int, total: int) -> None:
        if done == 11:
            raise ZeroDivisionError

    monkeypatch.setattr("tensor_einsum.slices.checkpoint.write_atomically", counted)
    with pytest.raises(ZeroDivisionError):
        SLICED(*operands, checkpoint=path, on_step=stop)
    assert written == [1]
    monkeypatch.setattr(SlicedExecutable, "prepare", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        SLICED(*operands, checkpoint=path)
    assert written == [1]  # the file has the sum already
