"""Sums of slices that are kept in a file, and contractions that go on from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from network_cases import same
from sliced_plans import SLICED, operands_of
from tensor_core.errors import ArgumentError, BackendError, CastRangeError, FormatError, LoadError, SaveError
from tensor_einsum import Plan, Progress, einsum, plan
from tensor_einsum.execution.accumulation import Accumulation
from tensor_einsum.slices.gathering import Gathering


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT is KeyboardInterrupt, also where the process was started in the background, with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_factors_out_of_range_leave_a_checkpoint_as_it_is(tmp_path: Path, name: str) -> None:
    x, path = tr.tensor([1, 2, 3]), tmp_path / "sum"
    found = plan("i,i->", x, x).with_slices("i")

    def stopping(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found(x, x, checkpoint=path, on_step=stopping)
    before = path.read_bytes()
    options: dict[str, Any] = {name: 2**70, "out": tr.tensor(5)}
    with pytest.raises(CastRangeError, match=rf"einsum: {name} is 1180591620717411303424, which does not fit I64"):
        found(x, x, checkpoint=path, **options)
    assert path.read_bytes() == before
    assert found(x, x, checkpoint=path).item() == 14


def test_a_result_that_cannot_be_written_leaves_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operands, path = operands_of(SLICED), tmp_path / "sum"
    with monkeypatch.context() as failing:
        failing.setattr(Accumulation, "finish", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            SLICED(*operands, checkpoint=path, checkpoint_seconds=0, alpha=2)
    assert path.exists()
    expected = 2 * SLICED(*operands).to_numpy()
    assert np.array_equal(SLICED(*operands, checkpoint=path, alpha=2).to_numpy(), expected)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_between_two_slices_or_while_one_is_added_leaves_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operands, put = operands_of(SLICED), Gathering.put
    expected = SLICED(*operands).to_numpy().tobytes()

    def pressed_before(making: Gathering, number: int, *part: Any, fresh: bool) -> None:
        if making.taken == 11:
            signal.raise_signal(signal.SIGINT)
        put(making, number, *part, fresh=fresh)

    def pressed_after(making: Gathering, number: int, *part: Any, fresh: bool) -> None:
        put(making, number, *part, fresh=fresh)
        if making.taken == 12:
            signal.raise_signal(signal.SIGINT)

    path = tmp_path / "sum"
    for pressed in (pressed_before, pressed_after):
        for strips in (False, True):
            monkeypatch.setattr(Gathering, "put", pressed)
            with pytest.raises(KeyboardInterrupt):
                SLICED(*operands, checkpoint=path, strip_exponent=strips)
            assert json.loads(path.read_bytes().partition(b"\n")[0])["taken"] == 12
            monkeypatch.setattr(Gathering, "put", put)
            if not strips:
                assert SLICED(*operands, checkpoint=path).to_numpy().tobytes() == expected
            path.unlink(missing_ok=True)


def test_what_stops_an_addition_half_way_leaves_the_former_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operands, put = operands_of(SLICED), Gathering.put

    def failing(making: Gathering, number: int, *part: Any, fresh: bool) -> None:
        taken = making.taken
        put(making, number, *part, fresh=fresh)
        if taken == 11:
            making.taken = taken  # the part is in the sum, but does not count
            raise SystemExit

    monkeypatch.setattr(Gathering, "put", failing)
    with pytest.raises(SystemExit):
        SLICED(*operands, checkpoint=tmp_path / "sum")
    assert not (tmp_path / "sum").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_mapped_slices_that_are_stopped_leave_a_checkpoint(tmp_path: Path, error: type[BaseException]) -> None:
    operands, path = operands_of(SLICED), tmp_path / "sum"

    def stop(done: int, total: int) -> None:
        if done == 9:
            raise error

    with ThreadPoolExecutor(2) as threads:
        with pytest.raises(error):
            SLICED.map_slices(threads, *operands, checkpoint=path, on_slice=stop)
        assert json.loads(path.read_bytes().partition(b"\n")[0])["taken"] == 9
        result = SLICED.map_slices(threads, *operands, checkpoint=path)
    assert result.to_numpy().tobytes() == SLICED(*operands).to_numpy().tobytes()
    assert not path.exists()


@pytest.mark.parametrize("labels", ["j", "ij", "k"])
def test_a_sum_with_an_exponent_of_its_own_goes_on_to_the_same_bits(tmp_path: Path, labels: str) -> None:
    generator = np.random.default_rng(2)
    matrix = generator.standard_normal((6, 8)) * 10.0 ** generator.integers(-300, 300, (6, 8))
    matrix[:, 0] = 0.0
    x, y = tr.tensor(matrix), tr.tensor(np.where(generator.random((8, 5)) < 0.2, 0.0, 1e200))
    found, path = plan("ij,jk->ik", x, y).with_slices(labels), tmp_path / "sum"
    mantissa, exponent = found(x, y, strip_exponent=True)
    for stop in range(2, found.slices.count * 2, 3):

        def stopping(done: int, total: int, stop: int = stop) -> None:
            if done == stop:
                raise KeyboardInterrupt

        with suppress(KeyboardInterrupt):
            found(x, y, strip_exponent=True, checkpoint=path, on_step=stopping)
        if path.exists():
            with pytest.raises(FormatError, match="it is of a sum with an exponent of its own"):
                found(x, y, checkpoint=path)
        resumed = found(x, y, strip_exponent=True, checkpoint=path)
        assert resumed[0].to_numpy().tobytes() == mantissa.to_numpy().tobytes()
        assert resumed[1] == exponent
        assert not path.exists()


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


def test_a_folder_that_is_not_there_is_refused_before_the_first_slice(tmp_path: Path) -> None:
    seen: list[int] = []
    operands = operands_of(SLICED)
    with pytest.raises(SaveError):
        SLICED(*operands, checkpoint=tmp_path / "none" / "sum", on_step=lambda *now: seen.append(1))
    with ThreadPoolExecutor(1) as threads, pytest.raises(SaveError):
        SLICED.map_slices(threads, *operands, checkpoint=tmp_path / "none" / "sum")
    assert seen == []


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LoadError, match=r"checkpoint '.*pipe' cannot be read: it is no regular file"):
        SLICED(*operands_of(SLICED), checkpoint=tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_behind_a_symbolic_link_the_file_goes_and_the_link_stays(tmp_path: Path) -> None:
    link, file, operands = tmp_path / "link", tmp_path / "sum", operands_of(SLICED)
    link.symlink_to(file)
    stopped(link, SLICED, operands)
    assert file.is_file()

    SLICED(*operands, checkpoint=link)
    assert link.is_symlink() and not file.exists()


def test_a_file_that_the_system_keeps_is_warned_of_and_the_result_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operands, path = operands_of(SLICED), tmp_path / "sum"

    def refuse(name: str) -> None:
        raise PermissionError(13, "Permission denied", name)

    with monkeypatch.context() as kept:
        kept.setattr(os, "unlink", refuse)
        with pytest.warns(RuntimeWarning, match=r"sum' could not be removed: Permission"):
            found = SLICED(*operands, checkpoint=path, checkpoint_seconds=0)
    assert path.exists()
    assert same(found, SLICED(*operands).to_numpy())
    assert same(SLICED(*operands, checkpoint=path), found.to_numpy())


def test_progress_of_a_run_that_goes_on_ends_with_all_of_the_work(tmp_path: Path) -> None:
    path, operands = tmp_path / "sum", operands_of(SLICED)
    stopped(path, SLICED, operands)
    seen: list[Progress] = []
    SLICED(*operands, checkpoint=path, progress=seen.append)

    assert seen[0].share > 0.2 and seen[-1].share == 1.0
    assert seen[-1].done == seen[-1].total
    assert all(now.seconds_left >= 0 for now in seen) and seen[-1].seconds_left == 0
