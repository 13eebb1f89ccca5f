"""What a device does beside computing: streams, large sizes, memory that ends, forks."""

from __future__ import annotations

import os

import tensor_runtime as tr
from gpu_reporting.subject import Subject, require
from tensor_core.errors import BackendError, OutOfMemoryError


def streams(subject: Subject, /) -> list[str]:
    """Results of one stream, late because of long work before them, are used on another."""
    extent, rounds = subject.size(2048, 8), subject.size(100, 20)
    ones = tr.ones((extent, extent), placement=subject.place)
    for number in range(rounds):
        with tr.stream(subject.place):
            late = ones
            for _ in range(4):
                late = tr.einsum("ij,jk->ik", late, ones) / extent
            late = late + float(number)
        with tr.stream(subject.place):
            early = late * 2.0
        found = tr.to(tr.sum(early - late), "cpu").item()
        require(found == (number + 1.0) * extent**2, f"round {number} gives {found}")
    return [f"{rounds} rounds of three streams, each after products of {extent}×{extent}: every sum is exact."]


def large_sizes(subject: Subject, /) -> list[str]:
    """More elements than 32 bits count, with something only at the far end."""
    size = subject.size((1 << 31) + 8, (1 << 12) + 8)
    zeros = tr.full((size,), False, placement=subject.place)
    marked = tr.concatenate([zeros[:-1], tr.full((1,), True, placement=subject.place)])
    require(tr.to(tr.sum(marked), "cpu").item() == 1, "the sum sees the last element")
    require(tr.to(marked[::-1][:1], "cpu").item() is True, "a reversed view begins with the last element")
    require(tr.to(tr.argmax(marked), "cpu").item() == size - 1, "argmax finds the last element")
    require(not tr.to(tr.any(tr.logical_not(marked)[-1:]), "cpu").item(), "an elementwise kernel reaches the end")
    return [
        f"Bool tensors of {size:,} elements: concatenate, sum, argmax, reversed views, logical_not: right at the end."
    ]


def out_of_memory(subject: Subject, /) -> list[str]:
    """A request beyond all memory is refused, and the device works as before."""
    use = tr.memory(subject.place)
    limit = use.limit or 1 << 44
    said = ""
    try:
        tr.zeros((limit // 8 + 1024,), placement=subject.place)
    except OutOfMemoryError as error:
        said = str(error).splitlines()[0]
    require(said != "", "more than all memory is refused")
    after = tr.memory(subject.place)
    require(after.used <= use.used, "nothing is held of a request that was refused")
    require(tr.to(tr.ones(4, placement=subject.place) + 1.0, "cpu").to_numpy().tolist() == [2.0] * 4, "it still adds")
    return [f"Refused: `{said}`. {after.used:,} of {limit:,} bytes in use after it."]


def forks(subject: Subject, /) -> list[str]:
    """A fork is refused the device, and its parent is not disturbed."""
    x = tr.ones(2, placement=subject.place)
    child = os.fork()
    if not child:
        status = 1
        try:
            tr.to(x + x, "cpu")
        except BackendError as error:
            status = 0 if "fork" in str(error) else 2
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    require(status == 0, f"a fork is refused (its status is {status})")
    require(tr.to(x + x, "cpu").to_numpy().tolist() == [2.0, 2.0], "the parent still adds")
    return ["A forked process is refused the device by a BackendError; its parent goes on."]
