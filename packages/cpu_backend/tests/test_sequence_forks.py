"""Branches of a sequence that run side by side: when, with which bits, in how much memory, and how they fail."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from tensor_core import F64
from tensor_cpu.backend import CpuBackend
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_cpu.system.memory import pool
from tensor_runtime.contracts.contraction import ContractParams
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the native kernels are not built")

Array = np.ndarray[Any, Any]
Step = tuple[Any, int, int]


def as_it_is(number: int, error: Exception) -> Exception:
    return error


def element_wise(side: int) -> Any:
    """The element-wise product of two square matrices."""
    return LIBRARY.bind_pair("F64", (side, side), ((side * side, 1, 1, 1),), ())


def transposed(side: int) -> Any:
    return LIBRARY.bind_copy((side, side), (1, side), "F64")


def matrix_product(side: int) -> Any:
    form = form_of(F64, (side, side), CPU)
    return CpuBackend().bind("contract", (form, form), form, ContractParams((0, 1), (1, 2), (0, 2)))


def row(kernel: Any, first: int, start: int, count: int) -> list[Step]:
    """``count`` steps, each of which reads the one before; the first reads ``start`` and gives slot ``first``."""
    return [(kernel, start if k == 0 else first + k - 1, 0) for k in range(count)]


def two_rows(kernel: Any, count: int, mixed: bool = False) -> list[Step]:
    """Two rows from operands 0 and 1, and the product of both; one after the other, or taking turns."""
    if not mixed:
        steps = [*row(kernel, 2, 0, count), *row(kernel, 2 + count, 1, count)]
        return [*steps, (kernel, 1 + count, 1 + 2 * count)]
    steps = []
    for k in range(count):
        steps += [(kernel, 0 if k == 0 else 2 * k, 0), (kernel, 1 if k == 0 else 2 * k + 1, 0)]
    return [*steps, (kernel, 2 * count, 2 * count + 1)]


def one_by_one(steps: list[Step], arrays: list[Array]) -> list[Array]:
    slots = list(arrays)
    for kernel, first, second in steps:
        slots.append(kernel(slots[first]) if second < 0 else kernel(slots[first], slots[second]))
    return slots


def bound(operands: int, steps: list[Step], results: Any, failed: Any = as_it_is) -> Any:
    return LIBRARY.bind_sequence(operands, steps, results, failed)


def forks(sequence: Any) -> int:
    return LIBRARY.sequence_facts(sequence)["forks"]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize(("side", "count"), [(60, 60), (150, 20)])  # in the arena, and in buffers
def test_two_branches_run_side_by_side_to_the_same_bits(threads: int, side: int, count: int, mixed: bool) -> None:
    steps = two_rows(element_wise(side), count, mixed)
    arrays = [np.random.default_rng(seed).uniform(0.9, 1.1, (side, side)) for seed in range(2)]
    sequence = bound(2, steps, len(steps) + 1)

    assert forks(sequence) == 1
    expected = one_by_one(steps, arrays)[-1].tobytes()
    gc.collect()
    used = pool.stats().used_bytes
    for _ in range(5):
        assert sequence(*arrays).tobytes() == expected
    gc.collect()
    assert pool.stats().used_bytes == used


@pytest.mark.parametrize("seed", range(40))
def test_any_sequence_gives_the_bits_of_its_steps_however_it_is_cut(threads: int, seed: int) -> None:
    """Trees, and graphs in which results are read several times, or at the end; some steps are called."""
    draw = Random(seed)
    side = draw.choice([90, 130])
    pair, product, turn = element_wise(side), matrix_product(side), transposed(side)
    arrays = [np.random.default_rng(k).integers(0, 2, (side, side)) * 1.0 for k in range(4)]
    steps: list[Step] = []
    unread = list(range(4))
    again = draw.choice([0.0, 0.0, 0.0, 0.05])  # how often a result is read once more
    called = draw.choice([0.0, 0.0, 0.0, 0.05])
    while len(steps) < 60:
        slot = 4 + len(steps)
        first = unread.pop(draw.randrange(len(unread))) if unread else draw.randrange(slot)
        second = draw.randrange(4) if draw.random() < 0.8 or not unread else unread.pop(draw.randrange(len(unread)))
        if draw.random() < again:
            second = draw.randrange(slot)
        if draw.random() < called:
            steps.append((lambda x, y: np.minimum(x, y), first, second))
        elif draw.random() < 0.3:
            steps.append((turn, first, -1))
        else:
            steps.append((draw.choice([pair, pair, product]), first, second))
        unread.append(slot)
        if len(unread) < 3 and draw.random() < 0.3:
            unread.append(draw.randrange(4))
    results = tuple(draw.sample(range(4, 64), draw.choice([1, 3])))
    with np.errstate(all="ignore"):
        expected = one_by_one(steps, arrays)
    sequence = bound(4, steps, results)
    found = sequence(*arrays)
    for one, slot in zip(found, results, strict=True):
        assert one.tobytes() == expected[slot].tobytes()


def test_branches_that_are_too_short_stay_one_after_the_other() -> None:
    assert forks(bound(2, two_rows(element_wise(8), 10), 22)) == 0
    assert forks(bound(2, two_rows(element_wise(60), 60), 122)) == 1


def test_branches_whose_results_somebody_else_reads_stay_one_after_the_other() -> None:
    kernel = element_wise(60)
    steps = two_rows(kernel, 60)
    assert forks(bound(2, steps, (122, 40))) == 0
    assert forks(bound(2, [*steps, (kernel, 122, 40)], 123)) == 0


def test_branches_take_no_more_memory_than_one_after_the_other() -> None:
    """Each holds two results of 2 MiB at a time, so both together would hold one more than the plan says."""
    kernel = element_wise(512)
    steps = two_rows(kernel, 8)
    arrays = [np.ones((512, 512))] * 2
    sequence = bound(2, steps, len(steps) + 1)
    assert forks(sequence) == 0
    gc.collect()
    pool.clear()
    before = pool.stats().used_bytes
    sequence(*arrays)
    one_after_the_other = 3 * 512 * 512 * 8
    assert pool.stats().peak_bytes - before <= one_after_the_other + (1 << 20)


def test_small_results_of_branches_share_memory_once_they_are_read() -> None:
    steps = two_rows(element_wise(60), 100)
    sequence = bound(2, steps, len(steps) + 1)
    assert forks(sequence) == 1
    assert LIBRARY.sequence_facts(sequence)["arena_bytes"] < 6 * 60 * 60 * 8


def test_results_that_branches_read_are_given_back_once() -> None:
    """Both branches begin with results of steps before the fork."""
    kernel = element_wise(60)
    steps: list[Step] = [(kernel, 0, 1), (kernel, 1, 1), (kernel, 0, 0)]
    steps += [(kernel, 2, 0), (kernel, 3, 0)]
    for k in range(120):
        steps.append((kernel, 5 + k, 0))
    steps += [(kernel, 4, 1), (kernel, len(steps) + 1, len(steps) + 2)]
    arrays = [np.random.default_rng(seed).uniform(0.9, 1.1, (60, 60)) for seed in range(2)]
    for results in range(2, len(steps) + 2, 7):
        assert bound(2, steps, results)(*arrays).tobytes() == one_by_one(steps, arrays)[results].tobytes()


def test_what_branches_have_read_serves_again_once_both_are_done() -> None:
    """Each branch reads a result from before the fork; the one that joins them lies where the first of those lay."""
    kernel, count, bytes_of_one = element_wise(60), 60, 60 * 60 * 8
    first, second = 5, 5 + count
    steps: list[Step] = [
        (kernel, 0, 1),
        (kernel, 1, 1),
        (np.copy, 0, -1),  # is called, and so ends the row
        *row(kernel, first, 2, count),
        *row(kernel, second, 3, count),
        (kernel, second - 1, second + count - 1),
    ]
    steps += [(np.copy, 1, -1), (kernel, len(steps) + 1, len(steps) + 2)]
    sequence = bound(2, steps, 1 + len(steps))
    arrays = [np.random.default_rng(seed).uniform(0.9, 1.1, (60, 60)) for seed in range(2)]

    assert forks(sequence) == 1
    assert LIBRARY.sequence_facts(sequence)["arena_bytes"] == (2 + 2 * 2) * bytes_of_one  # two in each branch
    assert sequence(*arrays).tobytes() == one_by_one(steps, arrays)[-1].tobytes()


SHORT = """
import resource, sys
import numpy as np
from tensor_core import F64
from tensor_cpu.backend import CpuBackend
from tensor_cpu.system.extension import LIBRARY
from tensor_cpu.system.memory import pool
from tensor_runtime.contracts.contraction import ContractParams
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU
LIBRARY.set_threads(2)
side, count = 60, 400
kernel = LIBRARY.bind_pair("F64", (side, side), ((side * side, 1, 1, 1),), ())
large = LIBRARY.bind_pair("F64", (700, 700), ((700, 1, 0, 700), (700, 0, 1, 1)), ())
small = LIBRARY.bind_copy((side, side), (700, 1), "F64")
branch = int(sys.argv[1])
steps = []
for which in range(2):
    first = 2 + len(steps)
    steps += [(kernel, which if k == 0 else first + k - 1, 0) for k in range(count)]
    if which == branch:
        steps += [(large, 1 + len(steps), 1 + len(steps)), (small, 2 + len(steps), -1)]
ends = (1 + count + (2 if branch == 0 else 0), 1 + len(steps))
steps.append((kernel, *ends))
failed = []
def fail(number, error):
    failed.append((number, type(error).__name__))
    return error
sequence = LIBRARY.bind_sequence(2, steps, len(steps) + 1, fail)
arrays = [np.ones((side, side))] * 2
expected = sequence(*arrays).tobytes()
pool.clear()
used = pool.stats().used_bytes
resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + (3 << 20), resource.RLIM_INFINITY))
for _ in range(3):
    try:
        sequence(*arrays)
    except MemoryError:
        pass
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
again = sequence(*arrays).tobytes() == expected
print(LIBRARY.sequence_facts(sequence)["forks"], failed, pool.stats().used_bytes - used, again)
"""


@pytest.mark.parametrize(("branch", "number"), [(0, 400), (1, 800)])
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not tell what a process takes")
def test_a_branch_that_is_out_of_memory_fails_as_its_step(output: Callable[..., str], branch: int, number: int) -> None:
    assert output(SHORT, str(branch)).strip() == f"1 {[(number, 'MemoryError')] * 3} 0 True"


def test_threads_run_forks_at_once() -> None:
    steps = two_rows(element_wise(60), 60)
    sequence = bound(2, steps, len(steps) + 1)
    arrays = [np.random.default_rng(seed).uniform(0.9, 1.1, (60, 60)) for seed in range(8)]
    expected = [one_by_one(steps, arrays[k : k + 2])[-1].tobytes() for k in range(4)]
    wrong: list[int] = []
    former = LIBRARY.threads()

    def work(number: int) -> None:
        mine = arrays[number : number + 2]
        wrong.extend(number for _ in range(50) if sequence(*mine).tobytes() != expected[number])

    LIBRARY.set_threads(2)
    try:
        callers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    finally:
        LIBRARY.set_threads(former)
    assert not wrong


def test_facts_are_those_of_sequences() -> None:
    kernel = element_wise(2)
    assert LIBRARY.sequence_facts(bound(1, [(kernel, 0, 0), (kernel, 1, 1)], 2)) == {
        "steps": 2,
        "stretches": 2,
        "forks": 0,
        "arena_bytes": 64,
        "region_bytes": 0,
    }
    for other in (kernel, len, 3):
        with pytest.raises(TypeError, match="is no sequence"):
            LIBRARY.sequence_facts(other)


FORKED = """
import os, threading
import numpy as np
from tensor_cpu.system.extension import LIBRARY
LIBRARY.set_threads(2)
kernel = LIBRARY.bind_pair("F64", (60, 60), ((3600, 1, 1, 1),), ())
steps = []
for which in range(2):
    steps += [(kernel, which if k == 0 else 1 + len(steps) + k, 0) for k in range(100)]
sequence = LIBRARY.bind_sequence(2, [*steps, (kernel, 101, 201)], 202, lambda number, error: error)
arrays = [np.full((60, 60), 1.01), np.full((60, 60), 0.99)]
expected = sequence(*arrays).tobytes()
ended = []
def work():
    while not ended:
        sequence(*arrays)
worker = threading.Thread(target=work)
worker.start()
states = []
for _ in range(10):
    child = os.fork()
    if child == 0:
        os._exit(0 if sequence(*arrays).tobytes() == expected else 1)
    states.append(os.waitpid(child, 0)[1])
ended.append(True)
worker.join()
print(LIBRARY.sequence_facts(sequence)["forks"], sum(states))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_a_process_whose_branches_are_running_runs_them_too(output: Callable[..., str]) -> None:
    assert output(FORKED).split() == ["1", "0"]


def test_a_branch_may_read_a_result_from_before_twice_in_one_step() -> None:
    kernel, count = element_wise(60), 60
    first, second = 4, 4 + count
    steps = [
        (kernel, 0, 1),
        (np.copy, 0, -1),  # is called, and so ends the row
        *row(kernel, first, 2, count),
        *row(kernel, second, 1, count),
        (kernel, second - 1, second + count - 1),
        (kernel, second + count, 3),
    ]
    steps[2] = (kernel, 2, 2)
    sequence = bound(2, steps, 1 + len(steps))
    arrays = [np.full((60, 60), 1.0), np.full((60, 60), -1.0)]

    assert forks(sequence) == 1
    assert sequence(*arrays).tobytes() == one_by_one(steps, arrays)[-1].tobytes()


def test_what_a_called_step_gave_is_let_go_once_the_last_step_has_read_it() -> None:
    kernel, count, made, alive = element_wise(60), 60, [], []

    def copied(x: Array) -> Array:
        result = x.copy()
        made.append(weakref.ref(result))
        return result

    def look(x: Array) -> Array:
        alive.append(made[-1]() is not None)
        return x.copy()

    first, second = 3, 3 + count
    steps = [
        (copied, 0, -1),
        *row(kernel, first, 2, count),
        *row(kernel, second, 1, count),
        (kernel, second - 1, second + count - 1),
        (look, second + count, -1),
    ]
    ones = np.ones((60, 60))

    assert (bound(2, steps, 1 + len(steps))(ones, ones) == 1.0).all()
    assert alive == [False]
