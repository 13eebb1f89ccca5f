"""Sequences of kernels in one call: the bits of their steps, what they hold meanwhile, and how they fail."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from tensor_cpu.backend import CpuBackend
from tensor_cpu.kernels.views.numpy import keeping_address
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_cpu.system.memory import pool

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the native kernels are not built")

Array = np.ndarray[Any, Any]
Step = tuple[Any, int, int]


def as_it_is(number: int, error: Exception) -> Exception:
    return error


def outer(rows: int, columns: int, dtype: str = "F64") -> Any:
    """result[i, j] = x[i] * y[j]."""
    return LIBRARY.bind_pair(dtype, (rows, columns), ((rows, 1, 0, columns), (columns, 0, 1, 1)), ())


def added_up(side: int) -> Any:
    """The element-wise product of two square matrices, as a pair kernel."""
    return LIBRARY.bind_pair("F64", (side, side), ((side * side, 1, 1, 1),), ())


def transposed(side: int) -> Any:
    return LIBRARY.bind_copy((side, side), (1, side), "F64")


def one_by_one(steps: Sequence[Step], arrays: Sequence[Array]) -> list[Any]:
    slots = list(arrays)
    for kernel, first, second in steps:
        slots.append(kernel(slots[first]) if second < 0 else kernel(slots[first], slots[second]))
    return slots


def bound(operands: int, steps: Sequence[Step], results: int | tuple[int, ...], failed: Any = as_it_is) -> Any:
    sequence = LIBRARY.bind_sequence(operands, steps, results, failed)
    assert sequence is not None
    return sequence


@pytest.mark.parametrize("side", [1, 3, 100, 400])  # results in an arena, and in buffers
@pytest.mark.parametrize("seed", range(8))
def test_a_sequence_gives_the_bits_of_its_steps(side: int, seed: int) -> None:
    draw = Random(seed)
    product, turn = added_up(side), transposed(side)
    numbers = np.random.default_rng(seed)
    arrays = [numbers.standard_normal((side, side)) for _ in range(3)]
    same = keeping_address(lambda x: x.reshape(side, side))
    kernels: list[Callable[..., Array]] = [product, product, turn, same, lambda x: -x, lambda x, y: x + y]
    steps: list[Step] = []
    for number in range(3, 23):
        one = draw.choice(kernels)
        count = 2 if one in (product, kernels[-1]) else 1
        steps.append((one, *draw.choices(range(max(0, number - 6), number), k=count), *[-1] * (2 - count)))
    results = tuple(draw.choices(range(23), k=4))
    expected = one_by_one(steps, arrays)

    for asked in (results, 22):
        found = bound(3, steps, asked)(*arrays)
        for one, slot in zip(
            found if asked is results else (found,), results if asked is results else (22,), strict=True
        ):
            assert one.tobytes() == expected[slot].tobytes()
            assert one.shape == (side, side)


def test_results_may_be_operands_and_stand_twice() -> None:
    product = added_up(2)
    x = np.full((2, 2), 3.0)
    before = sys.getrefcount(x)
    one, two, three, four = bound(1, [(product, 0, 0), (product, 1, 0), (product, 1, 1)], (0, 1, 2, 1))(x)

    assert one is x
    assert two is four
    assert (two[0, 0], three[0, 0]) == (9.0, 27.0)
    assert sys.getrefcount(x) == before + 1
    assert sys.getrefcount(two) == 3
    assert bound(1, [(product, 0, 0), (product, 1, 0)], ())(x) == ()


def test_a_sequence_in_which_fewer_than_two_steps_compute_is_no_gain() -> None:
    product = added_up(2)

    assert LIBRARY.bind_sequence(1, [(product, 0, 0), (np.negative, 1, -1)], 2, as_it_is) is None
    assert LIBRARY.bind_sequence(1, [], 0, as_it_is) is None
    assert LIBRARY.bind_sequence(1, [(product, 0, 0), (np.negative, 1, -1), (product, 2, 0)], 3, as_it_is) is not None


@pytest.mark.parametrize(
    ("operands", "steps", "results", "error", "why"),
    [
        (1, [(None, 0)], 1, TypeError, "expected a kernel and 2 slots"),
        (1, [[None, 0, -1]], 1, TypeError, "expected a kernel and 2 slots"),
        (1, 3, 1, TypeError, "expected a sequence of steps"),
        (1, [(len, 1, -1)], 1, ValueError, "step 0 reads a slot that nothing has filled"),
        (1, [(len, 0, -2)], 1, ValueError, "step 0 reads a slot that nothing has filled"),
        (1, [(len, -1, 0)], 1, ValueError, "step 0 has a second operand and no first"),
        (1, [(len, "0", -1)], 1, TypeError, "integer"),
        (1, [(len, 0, -1), (added_up(2) if AVAILABLE else len, 0, -1)], 1, ValueError, "step 1 has another number"),
        (1, [(len, 0, -1)], 2, ValueError, "slot 2 is no result"),
        (1, [(len, 0, -1)], (0, -1), ValueError, "slot -1 is no result"),
        (1, [(len, 0, -1)], [0], TypeError, "expected a slot or a tuple of slots"),
        (1, [(len, 0, -1)], ("a",), TypeError, "integer"),
        (-1, [], 0, ValueError, "there are no -1 operands"),
        ("a", [], 0, TypeError, "integer"),
    ],
)
def test_a_sequence_that_is_none_is_refused(
    operands: Any, steps: Any, results: Any, error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        LIBRARY.bind_sequence(operands, steps, results, as_it_is)


@pytest.mark.parametrize(
    "reader",
    [
        lambda: added_up(3),  # more elements than the step before makes
        lambda: LIBRARY.bind_pair("F32", (2, 2), ((4, 1, 1, 1),), ()),
        lambda: LIBRARY.bind_pair("F64", (4,), ((4, -1, 1, 1),), ()),  # backwards, from the first element on
    ],
)
def test_a_step_must_find_what_it_was_bound_to(reader: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match="step 1 reads another array than it was bound to"):
        LIBRARY.bind_sequence(1, [(added_up(2), 0, 0), (reader(), 1, 1)], 2, as_it_is)


def test_a_call_with_something_else_than_arrays_is_refused() -> None:
    product = added_up(2)
    sequence = bound(2, [(product, 0, 1), (product, 2, 1)], 3)

    for arguments in ((np.ones((2, 2)), 3.0), ([1.0], np.ones((2, 2)))):
        with pytest.raises(TypeError, match=r"a native kernel takes arrays, found (float|list)"):
            sequence(*arguments)
    with pytest.raises(TypeError, match="sequence takes 2 positional arguments"):
        sequence(np.ones((2, 2)))


def test_checked_calls_compare_the_operands_of_a_sequence_too() -> None:
    product = added_up(2)
    sequence = bound(1, [(product, 0, 0), (product, 1, 1)], 2)
    LIBRARY.set_call_checks(True)
    try:
        with pytest.raises(ValueError, match="argument 0 has fewer elements than it was bound to"):
            sequence(np.ones((2, 1)))
        assert sequence(np.full((2, 2), 2.0))[0, 0] == 16.0
    finally:
        LIBRARY.set_call_checks(False)


class Seen(np.ndarray[Any, Any]):
    """An array that can be watched."""


def test_what_no_later_step_reads_is_gone() -> None:
    product = added_up(2)
    made: list[weakref.ref[Any]] = []
    alive: list[list[bool]] = []

    def look(x: Array) -> Any:
        alive.append([ref() is not None for ref in made])
        found = x.copy().view(Seen)
        made.append(weakref.ref(found))
        return found

    steps = [
        *((look, 0, -1), (product, 1, 0), (look, 2, -1), (product, 3, 0), (look, 0, -1)),
        *((product, 4, 4), (look, 6, -1)),
    ]
    result = bound(1, steps, 7)(np.ones((2, 2)))
    assert alive == [[], [False], [False, False], [False, False, False]]
    assert result is made[-1]()


def test_what_a_step_raises_is_handed_over_with_its_number_and_leaves_nothing() -> None:
    product = added_up(300)  # whose results lie in buffers of the pool
    x = np.ones((300, 300))
    seen = []

    def broken(x: Array) -> Array:
        raise ZeroDivisionError("no")

    def failed(number: int, error: Exception) -> Exception:
        seen.append((number, type(error), error.__traceback__ is not None))
        return LookupError(number)

    gc.collect()
    used, references = pool.stats().used_bytes, sys.getrefcount(x)
    sequence = bound(
        1, [(product, 0, 0), (product, 1, 0), (product, 1, 2), (broken, 2, -1), (product, 3, 4)], 5, failed
    )
    for _ in range(3):
        with pytest.raises(LookupError, match="3"):
            sequence(x)
    gc.collect()
    assert seen == [(3, ZeroDivisionError, True)] * 3
    assert (pool.stats().used_bytes, sys.getrefcount(x)) == (used, references)


@pytest.mark.parametrize(("answer", "error"), [(3, TypeError), (None, TypeError), (KeyError, TypeError)])
def test_what_stands_for_an_error_must_be_one(answer: Any, error: type[Exception]) -> None:
    product = added_up(2)

    def broken(x: Array) -> Array:
        raise ZeroDivisionError("no")

    with pytest.raises(error, match="is no exception"):
        bound(1, [(product, 0, 0), (product, 1, 0), (broken, 1, -1)], 3, lambda number, error: answer)(np.ones((2, 2)))


def test_a_step_that_gives_no_array_is_an_error_of_that_step() -> None:
    product = added_up(2)
    numbers = []

    def failed(number: int, error: Exception) -> Exception:
        numbers.append(number)
        return error

    steps = [(product, 0, 0), (lambda x: 3.0, 1, -1), (product, 2, 0)]
    with pytest.raises(TypeError, match="takes arrays, found float"):
        bound(1, steps, 3, failed)(np.ones((2, 2)))
    assert numbers == [1]


@pytest.mark.parametrize("place", [0, 1])
def test_a_step_for_which_memory_is_short_is_told(place: int) -> None:
    """As an intermediate result, and as the result that is returned."""
    large = outer(1 << 24, 1 << 24)
    small = LIBRARY.bind_pair("F64", (1 << 24,), ((1 << 24, 1, 1, 1),), ())
    numbers: list[int] = []

    def failed(number: int, error: Exception) -> Exception:
        numbers.append(number)
        return error

    x = np.ones(1 << 24)
    before = pool.stats().used_bytes
    read = LIBRARY.bind_copy((1 << 24,), (1,), "F64")
    steps = [(small, 0, 0), (large, 1, 0), *([(read, 2, -1)] if place == 0 else [])]
    with pytest.raises(MemoryError):
        bound(1, steps, len(steps), failed)(x)
    assert numbers == [1]
    assert pool.stats().used_bytes == before


def interrupted(signal_after: float, call: Callable[[], object]) -> BaseException | None:
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(signal_after, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    try:
        call()
        time.sleep(1.0)  # the interruption may come late, but not never
    except KeyboardInterrupt as error:
        return error
    finally:
        timer.join()
    return None


@pytest.mark.usefixtures("sigint_interrupts")
def test_a_sequence_can_be_interrupted_while_it_computes() -> None:
    """Steps of some milliseconds each, without Python between; the last one must not run."""
    product = added_up(1500)
    ran = []

    def last(x: Array) -> Array:
        ran.append(1)
        return x

    x = np.ones((1500, 1500))
    steps: list[Step] = [(product, number, 0) for number in range(2000)]
    sequence = bound(1, [*steps, (last, 2000, -1)], 2001)
    used = pool.stats().used_bytes

    assert isinstance(interrupted(0.05, lambda: sequence(x)), KeyboardInterrupt)
    assert not ran
    assert pool.stats().used_bytes == used


def test_an_interruption_by_a_step_is_raised_as_it_is() -> None:
    product = added_up(2)
    stop = KeyboardInterrupt()

    def stopping(x: Array) -> Array:
        raise stop

    def failed(number: int, error: Exception) -> Exception:
        raise AssertionError("this is no error")

    with pytest.raises(KeyboardInterrupt) as caught:
        bound(1, [(product, 0, 0), (product, 1, 0), (stopping, 2, -1)], 3, failed)(np.ones((2, 2)))
    assert caught.value is stop


def test_threads_may_run_one_sequence_at_once() -> None:
    product, turn = added_up(130), transposed(130)
    steps = [(turn, number, -1) if number % 3 == 2 else (product, number, 0) for number in range(60)]
    sequence = bound(1, steps, 60)
    arrays = [np.random.default_rng(seed).uniform(0.9, 1.0, (130, 130)) for seed in range(4)]
    expected = [one_by_one(steps, [x])[60].tobytes() for x in arrays]
    wrong: list[int] = []

    def work(number: int) -> None:
        wrong.extend(number for _ in range(40) if sequence(arrays[number]).tobytes() != expected[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_sequence_holds_its_kernels_and_gives_them_back() -> None:
    product = added_up(2)
    failed = lambda number, error: error  # noqa: E731 - it is counted
    before = sys.getrefcount(product), sys.getrefcount(failed)
    same = keeping_address(lambda x: x.reshape(2, 2))
    gone = weakref.ref(same)
    sequence = bound(1, [(product, 0, 0), (same, 1, -1), (product, 2, 0)], 3, failed)
    assert sys.getrefcount(product) == before[0] + 2
    assert sys.getsizeof(sequence) > 3 * sys.getsizeof(product)
    del same
    sequence(np.ones((2, 2)))
    del sequence
    assert gone() is None
    assert (sys.getrefcount(product), sys.getrefcount(failed)) == before


def test_results_of_steps_share_memory_once_they_are_read() -> None:
    """A thousand results of 32 KiB one after another, of which two are alive at a time."""
    product = added_up(64)
    x = np.ones((64, 64))
    sequence = bound(1, [(product, number, 0) for number in range(1000)], 1000)
    gc.collect()
    pool.clear()
    before = pool.stats().used_bytes
    sequence(x)
    assert pool.stats().peak_bytes - before < 1 << 18


def test_the_arena_leaves_large_memory_to_large_results() -> None:
    """Five hundred results of 32 KiB are alive at once: what does not fit the arena goes when it is read."""
    product = added_up(64)
    x = np.full((64, 64), 1.5)
    first: list[Step] = [(product, 0, 0) for _ in range(500)]
    steps = [*first, *((product, 499 + number, number) for number in range(1, 500))]
    sequence = bound(1, steps, len(steps))
    assert sequence(x).tobytes() == one_by_one(steps, [x])[-1].tobytes()


def test_the_backend_binds_sequences_of_its_kernels() -> None:
    product = added_up(2)
    sequence = CpuBackend().bind_sequence(1, [(product, 0, 0), (product, 1, 1)], 2, as_it_is)
    assert sequence is not None
    assert sequence(np.full((2, 2), 2.0))[0, 0] == 16.0
