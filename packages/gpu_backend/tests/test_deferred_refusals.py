"""Refusals that are put off are told by whatever reads what may depend on them, and by nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, BackendError, DivisionByZeroError, IndexingError
from tensor_core.host.tensor import HostTensor
from tensor_gpu.device.notes import Notes
from tensor_gpu.sim.faults import Faults

READERS: dict[str, Callable[[tr.Tensor], Any]] = {
    "download": tr.download,
    "download in the background": lambda y: tr.download(y, wait=False).result(),
    "item": lambda y: y[0].item(),
    "nonzero": tr.nonzero,
    "unique_values": tr.unique_values,
    "a mask": lambda y: y[y > 0],
    "another device": lambda y: tr.download(tr.to(y, "sim:1")),
    "another device's stream": lambda y: synchronized(tr.to(y, "sim:1")),
    "a sum of it": lambda y: tr.download(tr.sum(y)),
    "a copy of it": lambda y: tr.download(copied_into(tr.zeros(3, dtype="I64", placement="sim:0"), y)),
    "a later refusal": lambda y: y // y,
}


def synchronized(x: tr.Tensor) -> None:
    tr.synchronize(x.placement)


def copied_into(target: tr.Tensor, source: tr.Tensor) -> tr.Tensor:
    tr.copy_into(tr.mutable_view(target), source)
    return target


def refused() -> tr.Tensor:
    """The result of a division whose divisor at index 1 is 0, of which nobody was told."""
    x = tr.upload(HostTensor.from_nested([1, 0, 1]), "sim:0")
    with tr.checks("deferred"):
        return 1 // x


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("reader", [0, 1])
def test_whatever_reads_what_depends_on_a_refusal_tells_it_once(name: str, reader: int) -> None:
    streams = tr.stream("sim:0"), tr.stream("sim:0")
    with streams[0]:
        y = refused()

    with streams[reader], pytest.raises(DivisionByZeroError, match=r"divisor at index \(1,\) is 0"):
        READERS[name](y)
    tr.synchronize()


def test_a_stream_that_waited_for_another_one_tells_what_was_refused_there() -> None:
    first, second, third = (tr.stream("sim:0") for _ in range(3))
    with first:
        y = refused()
    with second:
        z = y + 1
    with third:
        z * 2
    with pytest.raises(DivisionByZeroError):
        third.synchronize()
    for stream in (first, second, third):
        stream.synchronize()


def test_a_stream_that_has_nothing_to_do_with_a_refusal_is_read_in_peace() -> None:
    x = tr.upload(HostTensor.from_nested([1.0]), "sim:0")
    with tr.stream("sim:0"):
        refused()
    with tr.stream("sim:0"):
        assert tr.download(x + 1.0, wait=False).result().to_nested() == [2.0]
    with pytest.raises(DivisionByZeroError):
        tr.synchronize("sim:0")


@pytest.mark.parametrize("fault", [{"downloads": 1}, {"waits": 1}, {"waits": 2}])
@pytest.mark.parametrize("read", [tr.download, lambda y: tr.synchronize("sim:0")])
def test_a_refusal_that_cannot_be_read_is_told_later(fault: dict[str, int], read: Callable[[tr.Tensor], Any]) -> None:
    y = refused()
    api: Any = tr.backend("sim").api  # type: ignore[attr-defined]

    with api.under(Faults(fail=fault)), pytest.raises(BackendError, match="fails, as its faults say"):
        read(y)
    with pytest.raises(DivisionByZeroError):
        read(y)
    assert tr.download(y)[0] == 1


TAKES: dict[str, Callable[[tr.Tensor, tr.Tensor], tr.Tensor]] = {
    "an axis": lambda x, at: tr.take(x, at, axis=1),
    "a view": lambda x, at: tr.take(tr.reverse_view(x, 0), tr.reverse_view(at, 0), axis=0),
    "all elements": lambda x, at: tr.take(tr.transpose_view(x), at),
    "lines": lambda x, at: tr.take_along_axis(x, at.reshape((1, -1)), axis=1),
}


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("dtype", ["I32", "I64"])
def test_indices_are_refused_late_and_nothing_is_waited_for(name: str, dtype: str) -> None:
    x = tr.upload(HostTensor.from_nested([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), "sim:0")
    wrong, right = (tr.to(tr.tensor(at, dtype=dtype), "sim:0") for at in ([0, -9, 9], [0, -1, 1]))
    call = TAKES[name]
    with pytest.raises(IndexingError) as at_once:
        call(x, wrong)

    api: Any = tr.backend("sim").api  # type: ignore[attr-defined]
    before = api.counts["downloads"]
    with tr.checks("deferred"):
        taken, late = call(x, right), call(x, wrong)
    assert api.counts["downloads"] == before
    assert late.shape == taken.shape
    with pytest.raises(IndexingError) as caught:
        tr.synchronize("sim:0")
    assert (str(caught.value), vars(caught.value)) == (str(at_once.value), vars(at_once.value))
    assert tr.download(taken).to_nested() == tr.download(call(x, right)).to_nested()


def test_indexing_and_writing_refuse_at_once_in_the_words_of_the_index() -> None:
    x = tr.upload(HostTensor.from_nested([1.0, 2.0]), "sim:0")
    at = tr.to(tr.tensor([0, 7]), "sim:0")
    view = tr.mutable_view(x)
    with tr.checks("deferred"):
        for call in (lambda: x[at], lambda: view.__setitem__(at, 9.0), lambda: tr.take(x[:0], at)):
            with pytest.raises(IndexingError, match=r"indices\[[01]\] is [07], out of range"):
                call()
    assert tr.download(x).to_nested() == [1.0, 2.0]


def test_what_is_noted_in_other_streams_outlives_a_refusal() -> None:
    notes = Notes()
    for stream, index in [("a", 0), ("b", 1), ("a", 2)]:
        notes.add(stream, partial(ArgumentError, str(index)))
    notes.follow("c", "a")
    notes.follow("c", "b")

    for stream, index in [("c", 0), ("b", 1)]:
        with pytest.raises(ArgumentError, match=str(index)):
            notes.tell(stream)
    for stream in "abc":
        notes.tell(stream)  # of 2, which came after 0 in one stream, nobody hears


def test_a_stream_that_only_follows_keeps_no_notes_that_were_told() -> None:
    notes = Notes()
    for _ in range(5):
        notes.add("first", lambda: None)
        notes.follow("second", "first")
        assert notes.count("second") == 1
        notes.tell("first")
