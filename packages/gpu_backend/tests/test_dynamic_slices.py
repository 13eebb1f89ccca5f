"""Slices whose starts lie on the device: waited for once where refusals are told at once, and else not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import IndexingError

Array = np.ndarray[Any, Any]
STARTS = [(0, 0, 0), (2, 1, 3), (4, 0, 1)]
SIZES = (2, 3, 1)


def up(x: Any, dtype: Any = None) -> tr.Tensor:
    return tr.to(tr.tensor(x, dtype), "sim:0")


def spent(call: Any) -> tuple[Any, Any]:
    """What a call gives, and what it took of the device."""
    counts = tr.backend("sim").api.counts  # type: ignore[attr-defined]
    tr.synchronize("sim:0")
    before = counts.copy()
    return call(), counts - before


@pytest.mark.parametrize("starts", STARTS)
@pytest.mark.parametrize("dtype", ["I32", "I64"])
@pytest.mark.parametrize("backwards", [False, True])
def test_starts_on_the_device_are_read_there_where_refusals_are_deferred(
    starts: tuple[int, ...], dtype: str, backwards: bool
) -> None:
    given = np.arange(6 * 4 * 5).reshape(6, 4, 5)
    x, at = up(given), up(list(starts), dtype)
    update = up(-np.arange(6.0).reshape(SIZES).astype(int))
    if backwards:
        x, given = x[::-1], given[::-1]
    where = tuple(slice(start, start + size) for start, size in zip(starts, SIZES, strict=True))
    replaced = given.copy()
    replaced[where] = update.to("cpu").to_numpy()

    for call, expected in (
        (lambda: tr.dynamic_slice(x, at, SIZES), given[where]),
        (lambda: tr.dynamic_update_slice(x, update, at), replaced),
    ):
        now, taken = spent(call)
        assert taken["downloads"] == 1
        with tr.checks("deferred"):
            late, taken = spent(call)
        assert taken["downloads"] == 0
        tr.synchronize("sim:0")
        for found in (now, late):
            assert np.array_equal(found.to("cpu").to_numpy(), expected)


def test_starts_of_the_host_are_not_waited_for() -> None:
    x = up(np.arange(20.0).reshape(4, 5))
    assert spent(lambda: tr.dynamic_slice(x, (1, 2), (2, 2)))[1]["downloads"] == 0
    assert spent(lambda: tr.dynamic_update_slice(x, x[:1, :1], (1, 2)))[1]["downloads"] == 0


@pytest.mark.parametrize(("starts", "axis"), [((0, 4), 1), ((-1, 0), 0), ((9, 9), 0)])
def test_a_start_out_of_range_is_told_late_as_it_is_at_once(starts: tuple[int, int], axis: int) -> None:
    given = np.arange(20.0).reshape(4, 5)
    x, at, update = up(given), up(list(starts)), up(np.ones((2, 2)))
    for call in (lambda: tr.dynamic_slice(x, at, (2, 2)), lambda: tr.dynamic_update_slice(x, update, at)):
        with pytest.raises(IndexingError) as now:
            call()
        with tr.checks("deferred"):
            left = call()
        with pytest.raises(IndexingError) as late:
            tr.synchronize("sim:0")
        assert str(late.value) == str(now.value)
        assert (late.value.axis, late.value.position) == (now.value.axis, now.value.position) == (axis, (axis,))
        assert left.shape in ((2, 2), (4, 5))
    assert np.array_equal(x.to("cpu").to_numpy(), given)


def test_slices_of_nothing_are_checked_late_too() -> None:
    x, at = up(np.zeros((3, 4))), up([1, 5])
    with tr.checks("deferred"):
        assert tr.dynamic_slice(x, at, (0, 1)).shape == (0, 1)
    with pytest.raises(IndexingError, match=r"starts\[1\] is 5"):
        tr.synchronize("sim:0")
    with tr.checks("deferred"):
        assert tr.dynamic_slice(tr.full((), 7.0, placement="sim:0"), up(np.zeros(0, int)), ()).item() == 7.0
