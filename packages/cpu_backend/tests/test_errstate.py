from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tensor_cpu.system import errstate as module
from tensor_cpu.system.errstate import ignoring_fp_errors


@pytest.fixture(params=[True, False], ids=["one context", "copies only"])
def one_at_a_time(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ONE_AT_A_TIME", request.param)


def test_a_ufunc_neither_warns_nor_raises_whatever_the_caller_set(one_at_a_time: None) -> None:
    multiply = ignoring_fp_errors(np.multiply)
    big = np.full(3, 1e308)

    with np.errstate(all="raise"):
        assert multiply(big, big).tolist() == [np.inf] * 3
        assert np.geterr()["over"] == "raise"


def test_a_call_may_happen_inside_itself(one_at_a_time: None) -> None:
    depth = 0

    def add_again(x: Any, y: Any) -> Any:
        nonlocal depth
        depth += 1
        return x + y if depth > 3 else call(x, y) + np.float64(1e308) * np.float64(10.0)

    call = ignoring_fp_errors(np.frompyfunc(add_again, 2, 1))

    with np.errstate(all="raise"):
        assert call(1.0, 2.0) == np.inf
    assert depth == 4


def test_an_error_of_the_function_itself_comes_through(one_at_a_time: None) -> None:
    def fail(x: Any, y: Any) -> Any:
        raise RuntimeError("of its own")

    with pytest.raises(RuntimeError, match="of its own"):
        ignoring_fp_errors(np.frompyfunc(fail, 2, 1))(1, 2)


def test_threads_meet_in_one_call(one_at_a_time: None) -> None:
    add = ignoring_fp_errors(np.add)
    x = np.full(200_000, 1e308)  # long enough for NumPy to let other threads run
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                assert add(x, x)[-1] == np.inf
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
