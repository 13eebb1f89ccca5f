"""What a caller's own handler of signals raises, such as one that bounds the time of a call, comes out as it is."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import BackendError
from tensor_core.files.atomic_write import write_atomically
from tensor_einsum import einsum, plan
from tensor_runtime.backends.error_translation import call_translated

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")


class OutOfTimeError(Exception):
    pass


def raising(*_: object) -> None:
    raise OutOfTimeError


class Bound:
    def method(self, *_: object) -> None:
        raise OutOfTimeError

    def __call__(self, *_: object) -> None:
        raise OutOfTimeError


HANDLERS: list[Callable[..., None]] = [raising, Bound().method, Bound(), partial(raising)]
X = tr.ones((300, 300))
CHAIN = plan("ij,jk,kl->il", X, X, X)
SLICED = CHAIN.with_slices("j")
CLOSED = plan("ij,jk,ki->", X, X, X)
CALLS: dict[str, Callable[[], object]] = {
    "a plan": lambda: CHAIN(X, X, X),
    "slices": lambda: SLICED(X, X, X),
    "einsum": lambda: einsum("ij,jk->ik", X, X),
    "environments": lambda: CLOSED.environments(X, X, X),
    "an elementwise function": lambda: tr.exp(X),
}


@pytest.fixture(params=HANDLERS, ids=["function", "method", "object", "partial"])
def _handler(request: Any) -> Iterator[None]:
    former = signal.signal(signal.SIGALRM, request.param)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, former)


def ends_in_time(call: Callable[[], object], seconds: float) -> bool:
    """Whether the handler's error comes out; Python itself drops one that is raised while something is deleted."""
    end = monotonic() + 1
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while monotonic() < end:
            call()
    except OutOfTimeError:
        return True
    return False


@pytest.mark.usefixtures("_handler")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("call", CALLS)
def test_it_is_no_failure_of_a_backend(call: str) -> None:
    CALLS[call]()  # which imports and binds what it needs
    ended = [ends_in_time(CALLS[call], 1e-3 + number * 1e-4) for number in range(20)]
    assert sum(ended) > 15


@pytest.mark.parametrize("where", ["sweep", "marginals", "map", "slices"])
def test_what_ends_an_iteration_comes_out_of_progress_as_it_is(where: str) -> None:
    def ending(_: object) -> None:
        next(iter(()))

    x, closed = tr.ones((3, 3)), plan("ij,jk,ki->", *[tr.ones((3, 3))] * 3)
    calls: dict[str, Callable[[], object]] = {
        "sweep": lambda: closed.with_slices("j").environments(x, x, x, progress=ending),
        "marginals": lambda: closed.with_slices("j").marginals(x, x, x, progress=ending),
        "map": lambda: closed.map([x, x, tr.ones((3, 3, 2))], axis={2: -1}, progress=ending),
        "slices": lambda: closed.with_slices("j")(x, x, x, progress=ending),
    }
    with pytest.raises(StopIteration):
        calls[where]()


def test_a_file_is_not_blamed_for_the_error_of_a_handler(tmp_path: Path) -> None:
    def late(*_: object) -> None:
        raise TimeoutError("too late")  # an OSError, too

    def pieces() -> Iterator[bytes]:
        yield b"first"
        signal.raise_signal(signal.SIGALRM)

    former = signal.signal(signal.SIGALRM, late)
    try:
        with pytest.raises(TimeoutError, match="too late"):
            write_atomically(str(tmp_path / "sum"), pieces())
    finally:
        signal.signal(signal.SIGALRM, former)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_a_kernel_is_one_though_there_are_handlers() -> None:
    former = signal.signal(signal.SIGALRM, raising)
    try:
        with pytest.raises(BackendError, match="demo: the backend failed: ZeroDivisionError"):
            call_translated("demo", None, lambda x: 1 // x, 0)
    finally:
        signal.signal(signal.SIGALRM, former)
