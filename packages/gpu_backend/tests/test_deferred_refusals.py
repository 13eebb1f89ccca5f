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


def on_device(values: Any, dtype: str | None = None) -> tr.Tensor:
    return tr.to(tr.tensor(values, dtype=dtype), "sim:0")


def table() -> tr.Tensor:
    return on_device([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])


def put(x: tr.Tensor, at: tr.Tensor, **options: Any) -> tr.Tensor:
    tr.put_along_axis(tr.mutable_view(x), at, on_device([10.0, 20.0, 30.0]), **options)
    return x


def assigned(x: tr.Tensor, of: tr.Tensor, *index: Any, value: Any = None) -> tr.Tensor:
    tr.mutable_view(of)[index] = on_device([10.0, 20.0, 30.0]) if value is None else value
    return x


ONES = [1, 1, 1]
READS: dict[str, Callable[[tr.Tensor, tr.Tensor], tr.Tensor]] = {
    "take along an axis": lambda x, at: tr.take(x, at, axis=1),
    "take of views": lambda x, at: tr.take(tr.reverse_view(x, 0), tr.reverse_view(at, 0), axis=0),
    "take of all elements": lambda x, at: tr.take(tr.transpose_view(x), at),
    "take of nothing": lambda x, at: tr.take(x[:, :0], at, axis=0),
    "take of lines": lambda x, at: tr.take_along_axis(x, at.reshape((1, -1)), axis=1),
    "gather": lambda x, at: tr.gather(x, tr.abs(at)),
    "gather of pairs": lambda x, at: tr.gather(x, tr.stack([tr.abs(at), tr.abs(at)], axis=1), start_axes=(0, 1)),
    "one index": lambda x, at: x[at],
    "one index behind a slice": lambda x, at: x[::-1, at],
    "two indices": lambda x, at: x[on_device(ONES), at],
    "two indices that broadcast": lambda x, at: x[on_device([[2], [0]]), at],
}
WRITES: dict[str, Callable[[tr.Tensor, tr.Tensor], tr.Tensor]] = {
    "scatter, replacing": lambda x, at: tr.scatter(x, tr.abs(at), x, mode="replace"),
    "scatter, adding": lambda x, at: tr.scatter(x, tr.abs(at), x, mode="add"),
    "scatter of complex products": lambda x, at: tr.scatter(x + 0j, tr.abs(at), x + 1j, mode="multiply"),
    "put along an axis": lambda x, at: put(x, at.reshape((-1, 1)), axis=0),
    "put in row-major order": lambda x, at: put(x, at, axis=None),
    "put in row-major order, in a view": lambda x, at: (put(x[:, ::-1][1:], at, axis=None), x)[1],
    "one index": lambda x, at: assigned(x, x, at),
    "one index, a number": lambda x, at: assigned(x, x, at, value=5.0),
    "behind a slice of a view": lambda x, at: assigned(x, x[::-1], slice(None), at),
    "two indices": lambda x, at: assigned(x, x, on_device(ONES), at),
    "two indices, both wrong": lambda x, at: assigned(x, x, at, at),
    "two indices of a view": lambda x, at: assigned(x, x[::-1], at, on_device(ONES)),
    "two indices that broadcast": lambda x, at: assigned(x, x[:, ::-1], on_device([[2], [0]]), at),
}
CALLS = {**{f"read: {name}": call for name, call in READS.items()}, **{f"write: {n}": c for n, c in WRITES.items()}}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["I32", "I64"])
def test_indices_are_refused_late_and_nothing_is_waited_for(name: str, dtype: str) -> None:
    call, refused_one, x = CALLS[name], table(), table()
    wrong, right = on_device([0, -9, 9], dtype), on_device([0, -1, 1], dtype)
    with pytest.raises(IndexingError) as at_once:
        call(table(), wrong)

    api: Any = tr.backend("sim").api  # type: ignore[attr-defined]
    before = api.counts["downloads"]
    with tr.checks("deferred"):
        done, late = call(x, right), call(refused_one, wrong)
    assert api.counts["downloads"] == before
    assert late.shape == done.shape
    with pytest.raises(IndexingError) as caught:
        tr.synchronize("sim:0")
    assert (str(caught.value), vars(caught.value)) == (str(at_once.value), vars(at_once.value))
    tr.synchronize("sim:0")  # raises nothing a second time
    assert tr.download(refused_one).to_nested() == tr.download(table()).to_nested()
    assert tr.download(done).to_nested() == tr.download(call(table(), right)).to_nested()


def test_what_a_refused_read_gives_is_no_memory_of_others() -> None:
    x = table()
    with tr.checks("deferred"):
        late = tr.gather(x, on_device([0, 7]))
        kept = tr.copy(late)
    with pytest.raises(IndexingError, match=r"gather: indices\[1\] is 7, out of range for axis 0 of extent 3"):
        tr.synchronize("sim:0")
    assert tr.download(kept).to_flat() == [0.0] * 6


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
