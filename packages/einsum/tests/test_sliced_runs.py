"""Slices computed by others, and sums of slices that go on after a kill."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any, ClassVar
from unittest.mock import Mock

import distributed
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import LAYOUTS, Case, cases, laid_out, naive, same
from sliced_plans import SLICED, operands_of
from tensor_core.errors import ArgumentError, BackendError, DTypeError
from tensor_einsum import ExtentError, plan
from tensor_runtime.errors import ForeignOperandError


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        yield executor


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
    with pytest.raises(ArgumentError, match=r"map_slices: found <class .*; accepted: anything with a method"):
        found.map_slices(ThreadPoolExecutor, x)
    with pytest.raises(ExtentError, match=r"map_slices: operands have shapes \(4, 4\); this plan was made for"):
        found.map_slices(processes, tr.ones((4, 4)))
    with pytest.raises(ExtentError, match=r"run_slice: operands have shapes \(4, 4\); this plan was made for"):
        found.run_slice(0, tr.ones((4, 4)))


def test_force_is_a_bool() -> None:
    operands = operands_of(SLICED)
    with pytest.raises(ArgumentError, match="run_slice: force is 1; accepted: True and False"):
        SLICED.run_slice(0, *operands, force=1)  # type: ignore[arg-type]
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ArgumentError, match="map_slices: force is None; accepted: True and False"),
    ):
        SLICED.map_slices(executor, *operands, force=None)  # type: ignore[arg-type]


def test_a_cluster_computes_slices_and_does_those_of_a_killed_worker_again(monkeypatch: pytest.MonkeyPatch) -> None:
    operands = operands_of(SLICED)
    expected = SLICED(*operands).to_numpy()
    with (
        distributed.LocalCluster(2, processes=True, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = client.run(os.getpid)
        killed: list[int] = []
        scattered = Mock(wraps=client.scatter)
        monkeypatch.setattr(client, "scatter", scattered)

        def on_slice(done: int, total: int) -> None:
            if done == 5:
                killed.append(next(iter(workers.values())))
                os.kill(killed[0], signal.SIGKILL)
                time.sleep(0.5)

        result = SLICED.map_slices(client, *operands, on_slice=on_slice)
        assert killed
        assert 1 <= scattered.call_count <= 2  # once, and again after the loss, if a task met it
        assert result.to_numpy().tobytes() == expected.tobytes()


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


@pytest.mark.parametrize(
    ("part", "error", "message"),
    [
        (None, ForeignOperandError, "map_slices: found NoneType; accepted: a tensor"),
        (tr.ones((3,)), ExtentError, r"map_slices: part 0 has shape \(3,\); accepted: \(4,\)"),
        (tr.ones((4,), dtype="F32"), DTypeError, "map_slices: part 0 is F32; accepted: F64"),
    ],
)
def test_what_a_task_gives_is_looked_at(part: Any, error: type[Exception], message: str) -> None:
    class Other:
        """Does something else than what is asked."""

        def submit(self, function: Any, sent: Any, first: int, last: int) -> Any:
            future: Future[Any] = Future()
            future.set_result([part] * (last - first))
            return future

    with pytest.raises(error, match=message):
        plan("ij->j", (3, 4)).with_slices("i").map_slices(Other(), tr.ones((3, 4)))


class Here:
    """Computes at once, in this process."""

    def submit(self, function: Any, *arguments: Any, **options: Any) -> Any:
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future


class NoWorkers(Here):
    _max_workers = 0


class FewerThanNone(Here):
    _max_workers = -3


class OneCore(Here):
    def ncores(self) -> dict[str, int]:
        return {}


@pytest.mark.parametrize("kind", [NoWorkers, FewerThanNone, OneCore])
def test_there_is_one_worker_at_least(kind: type[Here]) -> None:
    a, b = np.arange(12.0).reshape(3, 4), np.arange(8.0).reshape(4, 2)
    found = plan("ij,jk->ik", a.shape, b.shape).with_slices("j")
    assert found.map_slices(kind(), tr.tensor(a), tr.tensor(b)).to_numpy().tolist() == (a @ b).tolist()


class Lost(Here):
    def scatter(self, work: Any, **options: Any) -> Any:
        raise OSError("connection lost")


class LostWhenItIsAskedAgain(Here):
    """The first scattering is lost, with its task; no other goes through."""

    scattered = 0

    def scatter(self, work: Any, **options: Any) -> Any:
        self.scattered += 1
        if self.scattered == 2:
            raise OSError("connection lost")
        return work

    def submit(self, function: Any, *arguments: Any, **options: Any) -> Any:
        future: Future[Any] = Future()
        future.set_exception(RuntimeError("worker lost"))
        return future


class Uncounted(Here):
    def ncores(self) -> Any:
        raise OSError("connection lost")


class Miscounted(Here):
    def ncores(self) -> Any:
        return {"a": float("nan")}


class Scattering(Here):
    async def scatter(self, work: Any, **options: Any) -> Any:
        return work


class Counting(Here):
    async def ncores(self) -> Any:
        return {}


class Submitting(Here):
    async def submit(self, function: Any, *arguments: Any, **options: Any) -> Any:
        return None


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        (Lost, BackendError, "the executor broke after 0 of 28 slices: OSError: connection lost; give checkpoint="),
        (LostWhenItIsAskedAgain, BackendError, "the executor broke after 0 of 28 slices: OSError: connection lost"),
        (Uncounted, BackendError, "the executor broke after 0 of 28 slices: OSError: connection lost"),
        (
            Miscounted,
            ArgumentError,
            r"map_slices: ncores\(\) gave \{'a': nan\}; accepted: a dict, by worker",
        ),
        (Scattering, ArgumentError, r"map_slices: scatter\(\) of .* gave a coroutine; accepted: an executor whose"),
        (Counting, ArgumentError, r"map_slices: ncores\(\) of .* gave a coroutine; .* without asynchronous=True"),
        (Submitting, ArgumentError, r"map_slices: submit\(\) of .* gave a coroutine"),
    ],
)
def test_what_methods_of_an_executor_raise_or_give_is_looked_at(
    kind: type[Here], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        SLICED.map_slices(kind(), *operands_of(SLICED))


def test_an_error_of_a_slice_is_not_hidden_by_tasks_that_cannot_be_cancelled() -> None:
    class Kept(Future[Any]):
        def cancel(self) -> bool:
            raise OSError("connection lost")

    class Keeping:
        def submit(self, function: Any, *arguments: Any) -> Any:
            future = Kept()
            future.set_exception(RuntimeError("worker lost"))
            return future

    with pytest.raises(BackendError, match="slices 0 to 0 failed: RuntimeError: worker lost"):
        SLICED.map_slices(Keeping(), *operands_of(SLICED))


def read_only(part: tr.Tensor) -> tr.Tensor:
    array = np.asfortranarray(part.to_numpy()).copy(order="F")
    array.flags.writeable = False
    return tr.asarray(array)


@pytest.mark.parametrize("labels", ["j", "ij", "k"])
@pytest.mark.parametrize(
    "lying",
    [
        lambda part: tr.tensor(part.to_numpy().T).T,
        lambda part: tr.tensor(np.repeat(part.to_numpy(), 2, axis=0))[::2],
        lambda part: tr.tensor(part.to_numpy()[::-1])[::-1],
        read_only,
    ],
)
def test_parts_lie_in_any_way_and_are_left_as_they_are(labels: str, lying: Callable[[tr.Tensor], tr.Tensor]) -> None:
    a, b = np.arange(12.0).reshape(3, 4), np.arange(8.0).reshape(4, 2)
    found = plan("ij,jk->ik", a.shape, b.shape).with_slices(labels)

    class Remembering:
        """Gives the parts that it knows already."""

        known: ClassVar[dict[tuple[int, int], list[tr.Tensor]]] = {}

        def submit(self, function: Any, work: Any, first: int, last: int) -> Any:
            if (first, last) not in self.known:
                parts = function(work, first, last)
                self.known[first, last] = [lying(part) if part.rank else part for part in parts]
            future: Future[Any] = Future()
            future.set_result(self.known[first, last])
            return future

    Remembering.known.clear()
    results = [found.map_slices(Remembering(), tr.tensor(a), tr.tensor(b)) for _ in range(2)]
    for result in results:
        assert result.to_numpy().tolist() == (a @ b).tolist()
        assert (result * 2.0).to_numpy().tolist() == (2 * (a @ b)).tolist()


def test_options_of_slices_are_checked_before_the_first() -> None:
    operands = operands_of(SLICED)
    with pytest.raises(ArgumentError, match="run_slice: on_step is 3; accepted: a function of two ints"):
        SLICED.run_slice(0, *operands, on_step=3)  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(ArgumentError, match="map_slices: on_slice is 3; accepted: a function of two ints"):
            SLICED.map_slices(threads, *operands, on_slice=3)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="map_slices: checkpoint_seconds is 'x'; accepted: a number"):
            SLICED.map_slices(threads, *operands, checkpoint_seconds="x")  # type: ignore[arg-type]
