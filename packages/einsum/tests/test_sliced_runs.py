"""Slices computed by others, and sums of slices that go on after a kill."""

from __future__ import annotations

import errno
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import LAYOUTS, Case, cases, laid_out, naive, same
from tensor_core.errors import ArgumentError, BackendError, FormatError, LoadError, SaveError
from tensor_einsum import ExtentError, Plan, Progress, einsum, plan
from tensor_einsum.slices import sending
from tensor_einsum.slices.sending import Work


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        yield executor


def operands_of(found: Plan) -> list[tr.Tensor]:
    generator = np.random.default_rng(7)
    return [tr.tensor(generator.standard_normal(shape)) for shape in found.shapes]


SLICED = plan("ij,jk,kl,lm->im", (6, 40), (40, 30), (30, 20), (20, 5), optimize=[(2, 3), (1, 2), (0, 1)]).with_slices(
    {"j": 3, "i": 4}
)
"""28 slices, with shared intermediates and shorter parts at the ends."""


@settings(max_examples=60, deadline=None)
@given(cases(max_operands=4), st.data())
def test_threads_give_what_a_call_gives(case: Case, data: st.DataObject) -> None:
    operands = [laid_out(array, data.draw(st.sampled_from(LAYOUTS))) for array in case.arrays]
    whole = plan(case.notation, *operands)
    labels = data.draw(st.lists(st.sampled_from(whole.names), unique=True, max_size=3)) if whole.names else []
    with ThreadPoolExecutor(3) as executor:
        assert same(whole.with_slices(labels).map_slices(executor, *operands), naive(case))


def test_two_processes_give_the_bits_of_a_call(processes: Executor) -> None:
    operands = operands_of(SLICED)
    operands[0] = tr.tensor(np.asfortranarray(operands[0].to_numpy().T)).T  # a view
    seen: list[tuple[int, int]] = []
    found = SLICED.map_slices(processes, *operands, on_slice=lambda *now: seen.append(now))

    assert found.to_numpy().tobytes() == SLICED(*map(tr.to_contiguous, operands)).to_numpy().tobytes()
    assert seen == [(number, 28) for number in range(1, 29)]


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


@settings(max_examples=60, deadline=None)
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


def test_an_error_of_a_slice_is_raised_and_nothing_more_is_submitted(processes: Executor) -> None:
    x = tr.ones((4, 3))
    found = plan("ij->j", x).with_slices("i")

    class Failing:
        submitted = 0

        def submit(self, function: Any, work: Any, *arguments: Any) -> Any:
            self.submitted += 1
            return processes.submit(divmod, 1, 0)

    failing = Failing()
    with pytest.raises(BackendError, match="map_slices: slices 0 to 0 failed: ZeroDivisionError"):
        found.map_slices(failing, x)
    assert failing.submitted <= 4
    with pytest.raises(ArgumentError, match=r"map_slices: found 3; accepted: anything with a method submit\(\)"):
        found.map_slices(3, x)
    with pytest.raises(ExtentError):
        found.map_slices(processes, tr.ones((4, 4)))


def die(*arguments: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_broken_executor_leaves_a_checkpoint_that_another_goes_on_from(tmp_path: Path) -> None:
    operands = operands_of(SLICED)
    path = tmp_path / "sum"

    class Dying:
        """Two processes of which one is killed after some slices."""

        def __init__(self, inner: Executor) -> None:
            self.inner, self.submitted = inner, 0

        def submit(self, function: Any, *arguments: Any) -> Any:
            self.submitted += 1
            return self.inner.submit(die if self.submitted == 11 else function, *arguments)

    with (
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor,
        pytest.raises(BackendError, match=r"broke after \d+ of 28 slices: .*; a new call with the same checkpoint"),
    ):
        SLICED.map_slices(Dying(executor), *operands, checkpoint=path)
    left = json.loads(path.read_bytes().partition(b"\n")[0])["taken"]
    assert 1 <= left <= 11

    seen: list[int] = []
    result = SLICED(*operands, checkpoint=path, on_step=lambda done, total: seen.append(done))
    assert result.to_numpy().tobytes() == SLICED(*operands).to_numpy().tobytes()
    assert len(seen) == 1 + 2 * (28 - left)  # the shared step, and two for each slice that was left
    assert not path.exists()


@pytest.mark.parametrize("stop", [1, 2, 13, 28])
def test_a_contraction_that_was_stopped_goes_on_to_the_same_bits(tmp_path: Path, stop: int) -> None:
    operands = operands_of(SLICED)
    expected = SLICED(*operands).to_numpy().tobytes()
    steps = [0]

    def stopping(done: int, total: int) -> None:
        steps[0] += 1
        if steps[0] == 1 + 2 * stop:
            raise KeyboardInterrupt

    path = tmp_path / "sum"
    with pytest.raises(KeyboardInterrupt):
        SLICED(*operands, checkpoint=path, on_step=stopping)
    assert path.exists() is (stop > 1)
    assert SLICED(*operands, checkpoint=path).to_numpy().tobytes() == expected
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, sys
import numpy as np
import tensor_runtime as tr
from tensor_einsum import plan

found = plan("ij,jk->ik", (40, 64), (64, 30)).with_slices("j")
generator = np.random.default_rng(3)
x, y = (tr.tensor(generator.standard_normal(shape)) for shape in found.shapes)
def on_step(done, total):
    if done == int(sys.argv[2]):
        os.kill(os.getpid(), 9)
result = found(x, y, checkpoint=sys.argv[1], checkpoint_seconds=0, on_step=on_step)
print(result.to_numpy().tobytes().hex())
"""


def test_a_killed_process_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    path = tmp_path / "sum"
    command = [sys.executable, "-c", KILLED, str(path)]
    unbroken = subprocess.run([*command, "0"], capture_output=True, text=True, check=True).stdout
    for at in ("20", "50"):
        killed = subprocess.run([*command, at], check=False, capture_output=True, text=True)
        assert killed.returncode == -signal.SIGKILL
        assert json.loads(path.read_bytes().partition(b"\n")[0])["taken"] == int(at) - 1
    resumed = subprocess.run([*command, "0"], capture_output=True, text=True, check=True).stdout

    assert resumed == unbroken
    assert not path.exists()


@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64", "I32", "I64", "Bool"])
@pytest.mark.parametrize("labels", ["j", "i", "ij"])
def test_a_sum_of_any_dtype_goes_on(tmp_path: Path, dtype: str, labels: str) -> None:
    x = tr.tensor([[1, 0, 1], [0, 0, 1]], dtype="I64")
    x = x if dtype == "I64" else tr.cast(x, dtype)
    found = plan("ij,ij->i", x, x).with_slices(labels)
    path = tmp_path / "sum"
    with pytest.raises(ZeroDivisionError):
        found(x, x, checkpoint=path, checkpoint_seconds=0, on_step=lambda done, total: 1 // (total - done))

    assert same(found(x, x, checkpoint=path), plan("ij,ij->i", x, x)(x, x).to_numpy())


def stopped(path: Path, found: Plan, operands: list[tr.Tensor]) -> None:
    def stop(done: int, total: int) -> None:
        if done == 20:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        found(*operands, checkpoint=path, on_step=stop)


def test_a_checkpoint_of_another_plan_or_of_other_operands_is_refused_and_left(tmp_path: Path) -> None:
    path, operands = tmp_path / "sum", operands_of(SLICED)
    stopped(path, SLICED, operands)
    content = path.read_bytes()

    with pytest.raises(FormatError, match=r"checkpoint '.*sum' cannot be gone on from: it is of another plan; remove"):
        SLICED.with_slices("j")(*operands, checkpoint=path)
    other = [operands[0], tr.multiply(operands[1], 2.0), *operands[2:]]
    with pytest.raises(FormatError, match="it is of other operands"):
        SLICED(*other, checkpoint=path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-1], "its elements are not those that were written"),
        (lambda content: content + b"\0", "its elements are not those that were written"),
        (lambda content: content[:-8] + b"\1" * 8, "its elements are not those that were written"),
        (lambda content: b"", "it is no file of format"),
        (lambda content: b"[" * 50_000 + b"\n", "it is no file of format"),
        (lambda content: content.replace(b'"taken": ', b'"taken": 1'), "its elements are not those that were written"),
        (lambda content: b"\x93NUMPY\n", "it is no file of format"),
        (lambda content: content.replace(b'"taken": ', b'"taken": -'), "its first line is not what was written"),
        (lambda content: content.replace(b'"taken"', b'"takes"'), "its first line is not what was written"),
    ],
)
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, damage: Any, message: str) -> None:
    path, operands = tmp_path / "sum", operands_of(SLICED)
    stopped(path, SLICED, operands)
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(FormatError, match=message):
        SLICED(*operands, checkpoint=path)


def test_checkpoints_are_written_at_intervals(tmp_path: Path) -> None:
    path, operands = tmp_path / "sum", operands_of(SLICED)
    seen: list[bool] = []
    SLICED(*operands, checkpoint=path, checkpoint_seconds=1e9, on_step=lambda *step: seen.append(path.exists()))
    assert not any(seen)
    SLICED(*operands, checkpoint=path, checkpoint_seconds=0, on_step=lambda *step: seen.append(path.exists()))
    assert any(seen)


def test_einsum_takes_a_checkpoint_and_a_limit_together(tmp_path: Path) -> None:
    x = tr.ones((50, 50))
    path = tmp_path / "sum"
    for limit in (21_000, "1GiB"):
        result = einsum("ij,jk,kl->il", x, x, x, memory_limit=limit, checkpoint=path, checkpoint_seconds=0.0)
        assert result.to_numpy().tolist() == [[2500.0] * 50] * 50
        assert not path.exists()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"checkpoint": 3}, ArgumentError, "checkpoint is 3; accepted: the name of a file"),
        ({"checkpoint": ""}, ArgumentError, "checkpoint is ''"),
        ({"checkpoint": "\ud800"}, ArgumentError, "checkpoint is .*; accepted: the name of a file"),
        ({"checkpoint": "x", "checkpoint_seconds": -1}, ArgumentError, "checkpoint_seconds is -1; accepted: a number"),
        ({"checkpoint": "x", "checkpoint_seconds": True}, ArgumentError, "checkpoint_seconds is True"),
        ({"checkpoint": "x", "checkpoint_seconds": float("nan")}, ArgumentError, "checkpoint_seconds is nan"),
        ({"checkpoint": "x", "strip_exponent": True}, ArgumentError, "strip_exponent=True together with checkpoint"),
        ({"checkpoint": "."}, LoadError, r"checkpoint '\.' cannot be read"),
        ({"checkpoint": "none/x"}, SaveError, "'none/x' cannot be written: '.*none' is no folder"),
    ],
)
def test_what_is_no_checkpoint_is_refused(
    options: dict[str, Any], error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        SLICED(*operands_of(SLICED), **options)


def test_force_is_a_bool() -> None:
    operands = operands_of(SLICED)
    with pytest.raises(ArgumentError, match="run_slice: force is 1; accepted: True and False"):
        SLICED.run_slice(0, *operands, force=1)  # type: ignore[arg-type]
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ArgumentError, match="map_slices: force is None; accepted: True and False"),
    ):
        SLICED.map_slices(executor, *operands, force=None)  # type: ignore[arg-type]


def test_a_cluster_computes_slices_and_does_those_of_a_killed_worker_again() -> None:
    distributed = pytest.importorskip("distributed")
    operands = operands_of(SLICED)
    expected = SLICED(*operands).to_numpy()
    with (
        distributed.LocalCluster(2, processes=True, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = client.run(os.getpid)
        killed: list[int] = []

        def on_slice(done: int, total: int) -> None:
            if done == 5:
                killed.append(next(iter(workers.values())))
                os.kill(killed[0], signal.SIGKILL)
                time.sleep(0.5)

        result = SLICED.map_slices(client, *operands, on_slice=on_slice)
        assert killed
        assert np.allclose(result.to_numpy(), expected, rtol=1e-12)


def test_an_executor_that_takes_no_task_is_told_of() -> None:
    operands = operands_of(SLICED)
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    with pytest.raises(BackendError, match="executor broke after 0 of 28 slices: RuntimeError: cannot schedule new"):
        SLICED.map_slices(threads, *operands)

    class Deferred:
        def submit(self, *task: Any) -> Any:
            return 3

    with pytest.raises(ArgumentError, match=r"map_slices: submit\(\) gave 3; accepted: a future"):
        SLICED.map_slices(Deferred(), *operands)


def test_a_folder_that_is_not_there_is_refused_before_the_first_slice(tmp_path: Path) -> None:
    seen: list[int] = []
    operands = operands_of(SLICED)
    with pytest.raises(SaveError):
        SLICED(*operands, checkpoint=tmp_path / "none" / "sum", on_step=lambda *now: seen.append(1))
    with ThreadPoolExecutor(1) as threads, pytest.raises(SaveError):
        SLICED.map_slices(threads, *operands, checkpoint=tmp_path / "none" / "sum")
    assert seen == []


def test_progress_of_a_run_that_goes_on_ends_with_all_of_the_work(tmp_path: Path) -> None:
    path, operands = tmp_path / "sum", operands_of(SLICED)
    stopped(path, SLICED, operands)
    seen: list[Progress] = []
    SLICED(*operands, checkpoint=path, progress=seen.append)

    assert seen[0].share > 0.2 and seen[-1].share == 1.0
    assert seen[-1].done == seen[-1].total
    assert all(now.seconds_left >= 0 for now in seen) and seen[-1].seconds_left == 0


def test_options_of_slices_are_checked_before_the_first() -> None:
    operands = operands_of(SLICED)
    with pytest.raises(ArgumentError, match="run_slice: on_step is 3; accepted: a function of two ints"):
        SLICED.run_slice(0, *operands, on_step=3)  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(ArgumentError, match="map_slices: on_slice is 3; accepted: a function of two ints"):
            SLICED.map_slices(threads, *operands, on_slice=3)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="map_slices: checkpoint_seconds is 'x'; accepted: a number"):
            SLICED.map_slices(threads, *operands, checkpoint_seconds="x")  # type: ignore[arg-type]
