"""Operands on their way to other processes keep their strides, and so results have the bits of a call."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import LAYOUTS, Case, cases, laid_out
from tensor_einsum import plan
from tensor_einsum.slices.sending import Sent, Work, sendable

GENERATOR = np.random.default_rng(5)
MATRIX = GENERATOR.standard_normal((300, 40))
STRIDED: dict[str, Callable[[], tr.Tensor]] = {
    "transposed": lambda: tr.tensor(MATRIX).T,
    "reversed": lambda: tr.tensor(MATRIX.T)[::-1, ::-1],
    "with gaps": lambda: tr.tensor(np.repeat(MATRIX.T, 2, axis=0))[::2],
    "repeated": lambda: tr.broadcast_to(tr.tensor(MATRIX[:, 0]), (40, 300)),
    "transposed with gaps": lambda: tr.tensor(np.repeat(MATRIX, 2, axis=1))[::-1, 1::2].T,
}


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, get_context("spawn"), initializer=tr.set_threads, initargs=(1,)) as executor:
        yield executor


@pytest.mark.parametrize("layout", STRIDED)
@pytest.mark.parametrize("notation", ["ij,ij->", "ij,jk->"])
def test_processes_give_the_bits_of_a_call(layout: str, notation: str, processes: Executor) -> None:
    x, y = STRIDED[layout](), tr.tensor(GENERATOR.standard_normal((40, 300) if notation == "ij,ij->" else (300, 90)))
    assert not x.is_compact
    found = plan(notation, x, y).with_slices({"j": 50})
    with tr.set_threads(1):
        called, mapped = found(x, y), found.map_slices(processes, x, y)
    assert mapped.to_numpy().tobytes() == called.to_numpy().tobytes()


def test_a_sum_that_processes_began_goes_on_to_the_bits_of_a_call(tmp_path: Path, processes: Executor) -> None:
    x, y, path = STRIDED["transposed"](), tr.tensor(GENERATOR.standard_normal((300, 90))), tmp_path / "sum"
    found = plan("ij,jk->", x, y).with_slices({"j": 50})

    def stop(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with tr.set_threads(1):
        with pytest.raises(KeyboardInterrupt):
            found.map_slices(processes, x, y, checkpoint=path, on_slice=stop)
        assert json.loads(path.read_bytes().partition(b"\n")[0])["taken"] == 5
        assert found(x, y, checkpoint=path).item() == found(x, y).item()


@given(cases(max_operands=3), st.data())
def test_work_arrives_with_its_strides(case: Case, data: st.DataObject) -> None:
    operands = [laid_out(array, data.draw(st.sampled_from(LAYOUTS))) for array in case.arrays]
    sent = Sent(Work(plan(case.notation, *operands), tuple(x._form for x in operands), tuple(enumerate(operands))))
    sent.by_value = data.draw(st.booleans())
    arrived: Any = pickle.loads(pickle.dumps(sent)).work
    sent.close()

    assert [slot for slot, _ in arrived.slots] == list(range(len(operands)))
    for (_, y), x in zip(arrived.slots, operands, strict=True):
        assert y._form == x._form
        assert np.array_equal(y.to_numpy(), x.to_numpy(), equal_nan=x.dtype.kind in ("float", "complex"))


def test_operands_that_lie_far_apart_are_sent_as_compact_ones(processes: Executor) -> None:
    x = tr.tensor(np.repeat(MATRIX.T, 5, axis=0))
    near, far = x[::4], x[::5]
    assert sendable(near) is near and sendable(far)._form.is_compact
    elsewhere = tr.ones((50, 3), placement="meta")[::5]
    assert sendable(elsewhere) is elsewhere
    found = plan("ij->", far).with_slices({"j": 50})
    with ThreadPoolExecutor(1) as threads, tr.set_threads(1):
        compact = tr.to_contiguous(far)
        assert found.map_slices(processes, far).item() == found(compact).item()
        assert found.map_slices(threads, far).item() == found(far).item()
