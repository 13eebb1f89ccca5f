"""``x[i] = value`` inside ``item_assignment()``: what is written, what stays refused, and what shares memory at all."""

from __future__ import annotations

import asyncio
from threading import Thread
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core import DTYPES, DTypeError, OverlappingViewError, ReadOnlyError, ShapeError, TensorError
from tensor_runtime import array_api as xp
from tensor_runtime.interop import item_assignment

VIEWS = {  # NumPy's share memory, too
    *("asarray", "broadcast_arrays", "broadcast_to", "expand_dims", "flip", "from_dlpack", "matrix_transpose"),
    *("meshgrid", "moveaxis", "permute_dims", "reshape", "squeeze", "unstack"),
}
A = np.arange(24.0).reshape(2, 3, 4)


def assign(x: Any, index: Any, value: Any) -> None:
    x[index] = value


@pytest.mark.parametrize(
    "index",
    [0, (1, 2, 3), slice(None, None, -1), (..., 1), A > 7, ([0, 1], [2, 0]), (slice(1), np.array([2, 0])), ()],
)
def test_what_is_written_is_what_numpy_writes(index: Any) -> None:
    x, array = tr.asarray(A.copy()), A.copy()
    with item_assignment():
        x[tr.asarray(index) if isinstance(index, np.ndarray) else index] = -1.0  # type: ignore[operator]
    array[index] = -1.0
    np.testing.assert_array_equal(x.to_numpy(), array)


def test_every_view_sees_what_is_written() -> None:
    x = tr.zeros((2, 3))
    row, turned = x[1], x.T
    with item_assignment():
        assign(row, 2, 7.0)
        assign(turned[0], slice(None), tr.tensor([1, 2]))
    assert x.tolist() == [[1.0, 0.0, 0.0], [2.0, 0.0, 7.0]] and turned[2].tolist() == [0.0, 7.0]


def test_outside_the_block_and_in_other_threads_and_tasks_it_is_refused() -> None:
    x, found = tr.zeros(2), list[str]()

    def elsewhere() -> None:
        with pytest.raises(ReadOnlyError, match="write mutable_view"):
            assign(x, 0, 1.0)
        found.append("refused")

    async def beside() -> None:
        async def inside() -> None:
            with item_assignment():
                await asyncio.sleep(0)
                assign(x, 1, 2.0)

        async def outside() -> None:
            elsewhere()

        await asyncio.gather(inside(), outside())

    with item_assignment():
        thread = Thread(target=elsewhere)
        thread.start()
        thread.join()
    elsewhere()
    asyncio.run(beside())
    with pytest.raises(ZeroDivisionError), item_assignment():
        raise ZeroDivisionError
    elsewhere()
    assert len(found) == 4 and x.tolist() == [0.0, 2.0]


def test_what_no_view_may_write_stays_refused() -> None:
    lent = np.zeros(3)
    lent.flags.writeable = False
    with item_assignment():
        with pytest.raises(ReadOnlyError):
            assign(tr.asarray(lent), 0, 1.0)
        with pytest.raises(OverlappingViewError):
            assign(tr.broadcast_to(tr.zeros(1), (3,)), 0, 1.0)
        with pytest.raises(ShapeError):
            assign(tr.zeros(3), slice(2), tr.zeros(3))
        with pytest.raises(DTypeError):
            assign(tr.zeros(3), 0, "one")
        with pytest.raises(ReadOnlyError):
            del tr.zeros(3)[0]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2), (1, 3)])
def test_no_function_but_views_returns_memory_of_its_argument(dtype: Any, shape: tuple[int, ...]) -> None:
    x = tr.cast(tr.ones(shape), dtype)
    memory, answered = np.asarray(x), 0
    calls: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
        *(((x,), options) for options in ({}, {"axis": 0}, {"axis": ()}, {"k": 9}, {"n": 0}, {"dtype": dtype})),
        *(((x, other), {}) for other in (0, 1, dtype)),
        (([x],), {}),
    )
    for name in xp.__all__:
        function = getattr(xp, name)
        for arguments, options in calls if callable(function) and name not in VIEWS else ():
            try:
                answer = function(*arguments, **options)
            except (TensorError, TypeError):  # not the arguments of this one
                continue
            answered += 1
            for one in answer if isinstance(answer, tuple | list) else [answer]:
                assert not (isinstance(one, tr.Tensor) and np.shares_memory(np.asarray(one), memory)), (name, options)
    assert answered > 80 and not np.shares_memory(np.asarray(xp.asarray(x, copy=True)), memory)


def test_full_takes_a_tensor_of_rank_0_as_a_number() -> None:
    element = tr.tensor(3, dtype="I32")
    found = xp.full((2, 1), element)
    assert found.dtype == tr.I32 and found.tolist() == [[3], [3]]
    assert xp.full(2, element, dtype=tr.F64).tolist() == [3.0, 3.0]
    with item_assignment():
        assign(found, 0, 5)
    assert element.item() == 3
    with pytest.raises(ShapeError, match="full: fill_value has shape"):
        xp.full(2, tr.zeros(1))
