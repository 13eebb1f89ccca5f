"""One count of threads for every backend that has some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import ArgumentError
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import DeviceKind


class Worker:
    """A backend, as far as its threads go."""

    name = "worker"
    device_kind = DeviceKind.other("worker")

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 7

    def bind(self, *arguments: Any) -> Any:
        raise NotImplementedError

    def operations(self) -> frozenset[str]:
        return frozenset()

    def threads(self) -> Mapping[str, int]:
        return {"kernels": self.count, "library": self.count + 1}

    def set_threads(self, count: int, /) -> AbstractContextManager[object]:
        if count > self.most:
            raise ArgumentError(f"set_threads: count is {count}; accepted: 1 to {self.most}")
        former, self.count = self.count, count

        @contextmanager
        def undoing() -> Iterator[None]:
            try:
                yield
            finally:
                self.count = former

        undo = undoing()
        undo.__enter__()
        return undo


@pytest.fixture
def worker() -> Iterator[Worker]:
    backend = Worker(most=5)
    tr.register_backend("worker", backend)  # type: ignore[arg-type]
    yield backend
    registry.unregister("worker")


def test_every_backend_with_threads_gets_the_count_and_tells_it(worker: Worker) -> None:
    before = tr.threads()

    with tr.set_threads(4):
        rows = {(row.backend, row.library): row.threads for row in tr.threads()}
        assert rows["cpu", "kernels"] == 4
        assert (rows["worker", "kernels"], rows["worker", "library"]) == (4, 5)
    assert tr.threads() == before
    assert worker.count == 7


def test_a_count_that_one_backend_refuses_changes_no_other(worker: Worker) -> None:
    before = tr.threads()

    with pytest.raises(ArgumentError, match="accepted: 1 to 5"):
        tr.set_threads(6)
    assert tr.threads() == before


def test_a_backend_without_threads_is_passed_over() -> None:
    class Device:
        name = "device"
        device_kind = DeviceKind.other("device")

        def bind(self, *arguments: Any) -> Any:
            raise NotImplementedError

        def operations(self) -> frozenset[str]:
            return frozenset()

    tr.register_backend("device", Device())  # type: ignore[arg-type]
    try:
        with tr.set_threads(2):
            assert {row.backend for row in tr.threads()} == {"cpu"}
    finally:
        registry.unregister("device")


def test_the_counts_print_as_a_table(worker: Worker) -> None:
    assert repr(tr.threads()).splitlines()[0] == "backend  library  threads"
    assert "worker   library        8" in repr(tr.threads()).splitlines()


def test_a_loaded_backend_counts_whatever_the_table_says_of_it(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "operations", lambda: 1 // 0)

    assert next(row for row in tr.backends() if row.name == "worker").troubled
    with tr.set_threads(2):
        assert worker.count == 2
