"""Places of large results: a call of a sequence takes little more than lies there at one time, always the same."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT

pytestmark = pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT)

Array = np.ndarray[Any, Any]
Step = tuple[Any, int, int]
COLUMNS = 1000
LINE = 8 * COLUMNS  # bytes of a row
ROWS = (130, 200, 250, 800, 900, 1000, 300, 700, 140)  # 1 to 8 MB, of which two neighbours are alive at a time
MOST_ALIVE = 1900 * LINE
GRAINS = 2 << 15  # what two buffers may waste


@pytest.fixture(autouse=True)
def empty_pool() -> Iterator[None]:
    gc.collect()
    limit = LIBRARY.allocator_stats()["limit_bytes"]
    LIBRARY.allocator_clear()
    yield
    LIBRARY.allocator_set_poisoning(False)
    LIBRARY.allocator_set_limit(limit)
    LIBRARY.allocator_clear()


def outer(rows: int) -> Any:
    """Of the first elements of one operand, and those of another one."""
    return LIBRARY.bind_pair("F64", (rows, COLUMNS), ((rows, 1, 0, COLUMNS), (COLUMNS, 0, 1, 1)), ())


def chain(rows: tuple[int, ...] = ROWS) -> list[Step]:
    """Results of so many rows, each from the one before, and the beginning of the last."""
    steps: list[Step] = [(outer(count), number, 0) for number, count in enumerate(rows)]
    return [*steps, (LIBRARY.bind_copy((10,), (1,), "F64"), len(rows), -1)]


def bound(steps: list[Step], results: int | tuple[int, ...]) -> Any:
    return LIBRARY.bind_sequence(1, steps, results, lambda number, error: error)


def vector(extent: int = COLUMNS) -> Array:
    return np.random.default_rng(0).uniform(0.9, 1.1, extent)


def one_by_one(steps: list[Step], x: Array) -> list[Array]:
    slots = [x]
    for kernel, first, second in steps:
        slots.append(kernel(slots[first]) if second < 0 else kernel(slots[first], slots[second]))
    return slots


def misses() -> int:
    return LIBRARY.allocator_stats()["misses"]


def test_a_call_keeps_what_lay_there_at_one_time_and_the_next_one_finds_it() -> None:
    steps, x = chain(), vector()
    sequence = bound(steps, len(steps))
    assert LIBRARY.sequence_facts(sequence)["region_bytes"] <= MOST_ALIVE + GRAINS

    sequence(x)
    assert LIBRARY.allocator_stats()["peak_bytes"] >= MOST_ALIVE
    assert LIBRARY.allocator_stats()["kept_bytes"] <= MOST_ALIVE + GRAINS
    before = misses()
    for _ in range(3):
        sequence(x)
    assert misses() == before


def scaled(rows: int, copies: bool) -> Any:
    """The rows of one operand by the elements of another one; from a copy of the first in the order of its columns."""
    steps = (1, rows) if copies else (COLUMNS, 1)
    program = (("multiply", "F64", 2, 0, 1, 1),)
    product = LIBRARY.bind_elementwise((rows, COLUMNS), "F64", ((steps, "F64"), ((0, 1), "F64")), program, ())
    if not copies:
        return product
    copy = LIBRARY.bind_copy((COLUMNS, rows), (1, COLUMNS), "F64")
    return LIBRARY.bind_copied("F64", (rows, COLUMNS), product, copy, None, None)


@pytest.mark.parametrize("copies", [False, True])
def test_elementwise_products_have_places_like_all_others(copies: bool) -> None:
    steps: list[Step] = []
    for rows in (130, 900, 200, 700, 300):
        steps += [(outer(rows), len(steps), 0), (scaled(rows, copies), len(steps) + 1, 0)]
    sequence, x = bound([*steps, (LIBRARY.bind_copy((10,), (1,), "F64"), len(steps), -1)], len(steps) + 1), vector()
    first = np.full(10, x[0])  # of every row and column of a result, the elements of the first row
    for _ in range(5):
        first = first[0] * x[:10] * x[:10]
    assert LIBRARY.sequence_facts(sequence)["region_bytes"] >= 2 * 900 * LINE  # what is multiplied, and the product
    with tr.set_threads(1):  # copies have a buffer in each thread that shares them, and which do is chance
        np.testing.assert_allclose(sequence(x), first, rtol=1e-14)
        before = misses()
        for _ in range(3):
            sequence(x)
        assert misses() == before


@pytest.mark.parametrize("poisoned", [False, True])
@pytest.mark.parametrize("limit", [0, 5 << 20, 1 << 30])
def test_results_do_not_depend_on_where_they_lay(limit: int, poisoned: bool) -> None:
    steps, x = chain(), vector()
    expected = [array.tobytes() for array in one_by_one(steps, x)[1:]]
    LIBRARY.allocator_clear()
    LIBRARY.allocator_set_poisoning(poisoned)
    LIBRARY.allocator_set_limit(limit)
    for results in ((len(steps),), (3, len(steps)), (5, 6, 6)):
        sequence = bound(steps, results)
        for _ in range(2):
            found = [array.tobytes() for array in sequence(x)]
            assert found == [expected[slot - 1] for slot in results]
        assert LIBRARY.allocator_stats()["used_bytes"] == 0
        assert LIBRARY.allocator_stats()["kept_bytes"] <= limit


def test_results_that_are_kept_leave_the_places_of_the_others_together() -> None:
    steps, x = chain(), vector()
    sequence = bound(steps, (4, len(steps)))
    held = [sequence(x), sequence(x)]
    for _ in range(3):
        before = misses()
        held.append(sequence(x))
        assert misses() == before + 1  # for the new result alone
    assert len({result[0].tobytes() for result in held}) == 1


def test_a_result_too_large_to_lie_beside_the_others_has_a_place_among_them() -> None:
    steps, x = chain((130, 900, 200, 1800)), vector()
    sequence = bound(steps, (4, len(steps)))
    most = 2000 * LINE + GRAINS
    for _ in range(3):
        sequence(x)
        assert LIBRARY.allocator_stats()["kept_bytes"] <= most
    before = misses()
    sequence(x)
    assert misses() == before


def test_calls_find_their_memory_again_while_the_result_before_is_kept() -> None:
    steps, x = chain((3000, 3000)), vector(3000)  # as many as the first result has rows
    sequence = bound(steps, 2)
    assert LIBRARY.sequence_facts(sequence)["region_bytes"] >= 6000 * LINE  # the result has a place, too
    held = sequence(x)
    expected = held.tobytes()
    held = sequence(x)
    for _ in range(4):
        before = misses()
        held = sequence(x)
        assert misses() == before
        assert held.tobytes() == expected
    assert LIBRARY.allocator_stats()["peak_bytes"] <= 9000 * LINE + GRAINS


def test_threads_that_call_at_once_do_not_write_over_each_other() -> None:
    steps = chain()
    sequence = bound(steps, len(steps))
    arrays = [vector() * (1 + seed) for seed in range(3)]
    expected = [one_by_one(steps, x)[-1].tobytes() for x in arrays]
    wrong: list[int] = []

    def work(number: int) -> None:
        wrong.extend(number for _ in range(5) if sequence(arrays[number]).tobytes() != expected[number])

    callers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong
    assert LIBRARY.allocator_stats()["used_bytes"] == 0
