"""What raises in a report on a GPU: of ours it is a failure that is told, of another library it is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from gpu_reporting import benchmark, launches, sizes, transfers
from gpu_reporting.peers import ours
from gpu_reporting.subject import Subject, subject
from gpu_reporting.verdicts import FAILED, HELD, NOT_RUN, OPEN
from gpu_reporting.workloads import CEILINGS

SIM = Subject("sim", gpu=False)
CONTRACTED = next(one for one in CEILINGS if one.equation)


class Small(Subject):
    """As on a GPU, but for the sizes."""

    def size(self, whole: int, small: int) -> int:
        return small


def raises(*given: Any, **named: Any) -> Any:
    raise RuntimeError("out of order")


def test_a_transfer_of_ours_that_raises_fails_in_its_row_and_the_others_are_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = transfers._ours
    fast = lambda values: dict.fromkeys(transfers.ROWS, raises)  # noqa: E731
    monkeypatch.setattr(transfers, "_ours", lambda *given: {**usual(*given), transfers.DOWN: raises})
    monkeypatch.setattr(transfers, "OTHERS", {"PyTorch": fast, "CuPy": raises})
    told = transfers.transfers(Small("sim", gpu=True))

    assert (told.verdicts[FAILED], told.verdicts[OPEN], told.verdicts[NOT_RUN]) == (1, 3, 0)
    assert any(
        line.startswith("| download |") and f"{FAILED}: RuntimeError('out of order')" in line for line in told.lines
    )

    monkeypatch.setattr(transfers, "_ours", raises)
    assert transfers.transfers(SIM).verdicts[FAILED] == len(transfers.ROWS)


def test_another_library_that_raises_at_a_later_call_is_dropped_from_the_row() -> None:
    honest, calls = ours("sim"), iter(range(100))

    def flaky(equation: str, *x: Any) -> Any:
        return raises() if next(calls) else honest.einsum(equation, *x)

    line, verdicts = benchmark._row_or_failure(
        CONTRACTED, SIM, {"ours": honest, "PyTorch": honest._replace(einsum=flaky)}
    )
    assert verdicts[0] == HELD
    assert "| RuntimeError |" in line


@pytest.mark.parametrize("error", [KeyError("a slot"), NotImplementedError("a form"), MemoryError("of 3 bytes")])
@pytest.mark.parametrize("first", [0, 1])
def test_what_our_call_raises_is_told_with_its_message(error: Exception, first: int) -> None:
    honest, calls = ours("sim"), iter(range(100))

    def ill(equation: str, *x: Any) -> Any:
        if next(calls) >= first:
            raise error
        return honest.einsum(equation, *x)

    line, verdicts = benchmark._row_or_failure(CONTRACTED, SIM, {"ours": honest._replace(einsum=ill)})
    assert verdicts == [FAILED]
    assert f"{FAILED}: {type(error).__name__}: {error}" in line


def test_a_library_that_cannot_be_used_is_named_and_the_benchmark_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "PEERS", {"PyTorch": raises, "JAX": lambda: None})
    monkeypatch.setattr(benchmark, "CEILINGS", CEILINGS[:1])
    monkeypatch.setattr(benchmark, "WORKLOADS", ())
    told = benchmark.benchmark(Small("sim", gpu=True))

    assert told.verdicts[HELD] == 1
    assert "PyTorch cannot be used: RuntimeError: out of order." in told.lines


def test_memory_that_another_library_cannot_tell_is_compared_with_nothing() -> None:
    run = benchmark.prepared(CONTRACTED, [np.ones((8, 8))] * 2, {"ours": ours("sim")})[0]["ours"]
    other = run._replace(library=run.library._replace(peak=raises))
    network = CONTRACTED._replace(memory=1.0)
    assert benchmark.judged_memory(network, {"ours": run, "PyTorch": other}) == (OPEN, "512 bytes at most")


@pytest.mark.parametrize(
    "cupy", [raises, lambda: ours("sim")._replace(einsum=raises), lambda: ours("sim")._replace(take=raises)]
)
def test_a_cupy_that_raises_is_told_beside_our_time(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "PEERS", {"CuPy": cupy})
    verdict, said = launches.beside_cupy(Subject("sim", gpu=True), np.eye(16))
    assert verdict == OPEN
    assert "CuPy cannot: RuntimeError" in said
    assert "out of order" in said


def test_our_product_that_raises_fails_and_the_rows_before_it_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "ours", lambda place: ours(place)._replace(einsum=raises))
    told = launches.launches(SIM)
    assert told.verdicts == {HELD: len(launches.CALLS), FAILED: 1}
    assert told.lines[-1].endswith(f"{FAILED}: RuntimeError('out of order').")


def test_memory_that_is_not_given_back_is_a_row_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "ITEMS", sizes.ITEMS[-3:])
    monkeypatch.setattr(tr.backend("sim"), "pool", raises)
    assert sizes.large_sizes(SIM).verdicts == {HELD: 2, FAILED: 1}


def test_whatever_a_driver_raises_at_first_use_a_simulated_device_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tr, "synchronize", raises)
    found, why = subject("cuda")
    assert found[:2] == ("sim", False)
    assert why == "cuda: RuntimeError: out of order"
