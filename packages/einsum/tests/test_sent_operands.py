"""What goes to workers that compute slices: operands once, in a file of which nothing is left."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network_cases import LAYOUTS, Case, cases, laid_out, naive, same
from sliced_plans import SLICED, operands_of
from tensor_core.errors import BackendError
from tensor_einsum import plan
from tensor_einsum.slices import sending
from tensor_einsum.slices.sending import Work


def test_only_what_slices_read_goes_to_workers() -> None:
    sent: list[Any] = []

    class Recording:
        def submit(self, function: Any, work: Any, *arguments: Any) -> Any:
            sent.append(work)
            with ThreadPoolExecutor(1) as executor:
                future = executor.submit(function, work, *arguments)
                future.result()
                return future

    operands = operands_of(SLICED)
    SLICED.map_slices(Recording(), *operands)
    assert len({id(work) for work in sent}) == 1
    shapes = [tensor.shape for _, tensor in sent[0].work.slots]
    assert shapes == [(6, 40), (40, 30), (30, 5)]  # operands 0 and 1, and kl,lm->km


class Pickling:
    """An executor in this process that hands tasks over as another process gets them, and notes how long they are."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def submit(self, *task: Any) -> Any:
        message = pickle.dumps(task)
        self.sizes.append(len(message))
        function, *arguments = pickle.loads(message)
        future: Any = Future()
        try:
            future.set_result(pickle.loads(pickle.dumps(function(*arguments))))
        except Exception as error:
            future.set_exception(error)
        return future


LARGE = plan("ij,jk->", (300, 400), (400, 200)).with_slices({"j": 10})


def test_operands_are_written_once_whatever_the_number_of_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Work] = []
    write = sending._write
    monkeypatch.setattr(sending, "_write", lambda file, token, work: (written.append(work), write(file, token, work)))
    operands, tasks = operands_of(LARGE), Pickling()
    found = LARGE.map_slices(tasks, *operands)

    assert found.to_numpy().tobytes() == LARGE(*operands).to_numpy().tobytes()
    assert len(tasks.sizes) == 40 and max(tasks.sizes) < 500
    assert len(written) == 1


def test_a_worker_that_cannot_open_the_file_gets_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(*where: Any) -> Work:
        raise FileNotFoundError

    monkeypatch.setattr(sending, "_read", elsewhere)
    operands, tasks = operands_of(LARGE), Pickling()
    found = LARGE.map_slices(tasks, *operands)

    assert found.to_numpy().tobytes() == LARGE(*operands).to_numpy().tobytes()
    assert max(tasks.sizes) > sum(x.nbytes for x in operands)


def test_another_file_under_the_same_name_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"f" * 1000)
    (tmp_path / "empty").write_bytes(b"")

    for name in ("file", "empty", "none"):
        assert sending.received("0" * 32, str(tmp_path / name)).work is None


def test_where_no_file_can_be_written_the_data_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sending, "_write", full)
    operands = operands_of(LARGE)
    assert LARGE.map_slices(Pickling(), *operands).item() == LARGE(*operands).item()


@pytest.mark.parametrize("named", [False, True])
def test_nothing_is_left_of_what_was_sent(tmp_path: Path, named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if named:  # as where a process's open files have no names
        monkeypatch.setattr(sending.os.path, "isdir", lambda path: False)
    operands = operands_of(LARGE)
    seen: list[int] = []

    def stop(done: int, total: int) -> None:
        seen.append(len(list(tmp_path.iterdir())))
        if done == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        LARGE.map_slices(Pickling(), *operands, on_slice=stop)
    assert LARGE.map_slices(Pickling(), *operands, on_slice=lambda *now: None).item() == LARGE(*operands).item()

    assert seen == [int(named)] * 3
    assert list(tmp_path.iterdir()) == []


@given(cases(max_operands=4), st.data())
def test_anything_can_be_sent(case: Case, data: st.DataObject) -> None:
    operands = [laid_out(array, data.draw(st.sampled_from(LAYOUTS))) for array in case.arrays]
    whole = plan(case.notation, *operands)
    labels = data.draw(st.lists(st.sampled_from(whole.names), unique=True, max_size=3)) if whole.names else []
    assert same(whole.with_slices(labels).map_slices(Pickling(), *operands), naive(case))


MAPPING = """
import os, signal, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import tensor_runtime as tr
from tensor_core.errors import BackendError
from tensor_einsum import plan

if __name__ == "__main__":
    found = plan("ij,jk->", (300, 400), (400, 200)).with_slices({"j": 10})
    def kill(done, total):
        if done == 3:
            print(*[process.pid for process in executor._processes.values()], flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    on_slice = kill if sys.argv[2:] else None
    with ProcessPoolExecutor(2, mp_context=get_context(sys.argv[1])) as executor:
        print(found.map_slices(executor, tr.ones((300, 400)), tr.ones((400, 200)), on_slice=on_slice).item())
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="files without a name need a name of a process's files")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_killed_process_leaves_no_file(tmp_path: Path, start: str) -> None:
    (tmp_path / "temporary").mkdir()
    (tmp_path / "script.py").write_text(MAPPING, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "script.py"), start]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    with subprocess.Popen([*command, "killed"], env=environment, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        workers = list(map(int, running.stdout.readline().split()))
        assert running.wait() == -signal.SIGKILL
        for worker in workers:  # which wait for work until somebody ends them
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
    assert len(workers) == 2
    assert list((tmp_path / "temporary").iterdir()) == []
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert float(done.stdout) == 300.0 * 400 * 200


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert sending.received("0" * 32, str(tmp_path / "pipe")).work is None


@pytest.mark.parametrize("given", [3, None, []])
def test_an_executor_that_gives_something_else_is_told_of(given: Any) -> None:
    class Wrong:
        def submit(self, *arguments: Any, **options: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(given)
            return future

    with pytest.raises(BackendError, match="map_slices: the result of a task is"):
        SLICED.map_slices(Wrong(), *operands_of(SLICED))  # type: ignore[arg-type]
