"""What a device does beside computing: streams, threads, memory of other libraries, memory that ends, forks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from random import Random
from typing import Any, Final

import numpy as np

import tensor_runtime as tr
from gpu_reporting.subject import NotRunError, Subject, require
from gpu_reporting.verdicts import Item, Told, told
from tensor_core.errors import BackendError, OutOfMemoryError

THREADS: Final = 4
CALLS: Final = 500  # of each thread
ROUNDS: Final = 500  # of memory that is handed over


def late_streams(subject: Subject, /) -> str:
    """Results of one stream, late because of long work before them, are used on another."""
    extent, rounds = subject.size(2048, 8), subject.size(100, 20)
    ones = tr.ones((extent, extent), placement=subject.place)
    for number in range(rounds):
        with tr.stream(subject.place):
            late = _delayed(ones) + float(number)
        with tr.stream(subject.place):
            early = late * 2.0
        found = tr.to(tr.sum(early - late), "cpu").item()
        require(found == (number + 1.0) * extent**2, f"round {number} gives {found}")
    return f"{rounds} rounds of three streams, each after products of {extent}×{extent}: every sum is exact"


def _delayed(ones: tr.Tensor) -> tr.Tensor:
    late = ones
    for _ in range(4):
        late = tr.einsum("ij,jk->ik", late, ones) / float(ones.shape[0])
    return late


CHAINED: Final[tuple[Callable[[Any, Any, Any], Any], ...]] = (
    lambda xp, x, y: x + y,
    lambda xp, x, y: x - y,
    lambda xp, x, y: x[::-1] + y,
    lambda xp, x, y: x.T + y,
    lambda xp, x, y: x + xp.max(y, axis=0),
    lambda xp, x, y: xp.cumsum(x, axis=0),
    lambda xp, x, y: xp.einsum("ij,jk->ik", x % 7, y),
)
"""What our functions and NumPy's do alike; of whole numbers below 1009 none of it is rounded."""


def threads(subject: Subject, /) -> str:
    """Calls of threads, each on a stream of its own, on numbers that all of them read and none of them writes."""
    values = np.arange(64.0).reshape(8, 8)
    shared = tr.to(tr.tensor(values), subject.place)

    def work(seed: int) -> bool:
        draw = Random(seed)
        x, expected = shared, values
        with tr.stream(subject.place):
            for _ in range(CALLS):
                call = draw.choice(CHAINED)
                x, expected = call(tr, x, shared) % 1009, call(np, expected, values) % 1009
            return bool((tr.to(x, "cpu").to_numpy() == expected).all())

    with ThreadPoolExecutor(THREADS) as pool:
        right = list(pool.map(work, range(THREADS)))
    require(all(right), f"every thread's numbers are NumPy's: {right}")
    return f"{THREADS} threads of {CALLS} calls, each on its own stream: as NumPy, to the last bit"


class Lent:
    """A tensor as another library's, which lends it by DLPack."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where it lies."""
        told: tuple[int, int] = self._x.__dlpack_device__()
        return told

    def __dlpack__(self, **asked: Any) -> object:
        """Its memory, for a consumer's stream."""
        return self._x.__dlpack__(**asked)


def handed_by_ourselves(subject: Subject, /) -> str:
    """What another stream writes late is lent by DLPack, taken without a wait of the host, and read there."""
    with _lender(subject) as place:
        extent, rounds = subject.size(1024, 4), ROUNDS if subject.gpu else 50
        ones = tr.ones((extent, extent), placement=place)
        producer, consumer = tr.stream(place), tr.stream(place)
        for number in range(rounds):
            with producer:
                late = _delayed(ones) + float(number)
            with consumer:
                sums = tr.sum(tr.from_dlpack(Lent(late)))
                found = tr.to(sums, "cpu").item()
            require(found == (number + 1.0) * extent**2, f"round {number} gives {found}")
    return f"{rounds} tensors handed from stream to stream while they are written, on {place}: every sum is exact"


@contextmanager
def _lender(subject: Subject) -> Iterator[str]:
    """A placement whose memory other libraries may take: without a GPU, one on what stands for CuPy in the tests."""
    if hasattr(tr.backend(subject.place), "borrow"):
        yield subject.place
        return
    from fake_cupy.driver import Machine
    from fake_cupy.libraries import modules
    from tensor_gpu.cuda.cupy_api import CupyApi
    from tensor_gpu.cuda.exchange import CudaBackend
    from tensor_runtime.backends.registry import registry
    from tensor_runtime.placement import DeviceKind

    kind = DeviceKind.other("lender")
    registry.register("lender", CudaBackend(CupyApi(modules(Machine())), kind, device_type=99))
    try:
        yield "lender"
    finally:
        registry.unregister("lender")


def handed_by_torch(subject: Subject, /) -> str:
    """A tensor of PyTorch, which its own stream writes late, is taken and read on a stream of ours."""
    torch = _gpu_library(subject, "torch")
    ones = torch.ones((1024, 1024), dtype=torch.float64, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    for number in range(ROUNDS):
        with torch.cuda.stream(stream):
            late = (ones @ ones @ ones) / 1024.0**2 + number
            ours = tr.from_dlpack(late)
        with tr.stream(subject.place):
            found = tr.to(tr.sum(ours), "cpu").item()
        require(found == (number + 1.0) * 1024**2, f"round {number} gives {found}")
    return f"{ROUNDS} tensors of PyTorch, taken while its stream writes them: every sum is exact"


def handed_to_torch(subject: Subject, /) -> str:
    """A tensor that a stream of ours writes late is taken by PyTorch, and read on its stream."""
    torch = _gpu_library(subject, "torch")
    ones = tr.ones((1024, 1024), placement=subject.place)
    for number in range(ROUNDS):
        with tr.stream(subject.place):
            late = _delayed(ones) + float(number)
        with torch.cuda.stream(torch.cuda.Stream()):
            found = torch.from_dlpack(late).sum().item()
        require(found == (number + 1.0) * 1024**2, f"round {number} gives {found}")
    return f"{ROUNDS} tensors of ours, taken by PyTorch while a stream writes them: every sum is exact"


def handed_to_jax(subject: Subject, /) -> str:
    """A tensor that a stream of ours writes late is taken by JAX."""
    jax = _gpu_library(subject, "jax")
    jax.config.update("jax_enable_x64", True)
    ones = tr.ones((1024, 1024), placement=subject.place)
    for number in range(ROUNDS):
        with tr.stream(subject.place):
            late = _delayed(ones) + float(number)
        found = float(jax.numpy.from_dlpack(late).sum())
        require(found == (number + 1.0) * 1024**2, f"round {number} gives {found}")
    return f"{ROUNDS} tensors of ours, taken by JAX while a stream writes them: every sum is exact"


def _gpu_library(subject: Subject, name: str) -> Any:
    if not subject.gpu:
        raise NotRunError("it takes a GPU")
    try:
        return import_module(name)
    except ImportError as error:
        raise NotRunError(f"{name} is not installed") from error


def out_of_memory(subject: Subject, /) -> str:
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
    return f"refused: `{said}`; {after.used:,} of {limit:,} bytes in use after it"


def forks(subject: Subject, /) -> str:
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
    return "a forked process is refused the device by a BackendError; its parent goes on"


ITEMS: Final = (
    Item("streams that are late", late_streams),
    Item("threads", threads),
    Item("DLPack, a producer that is late", handed_by_ourselves),
    Item("DLPack from PyTorch", handed_by_torch),
    Item("DLPack to PyTorch", handed_to_torch),
    Item("DLPack to JAX", handed_to_jax),
    Item("more memory than there is", out_of_memory),
)


def behaviour(subject: Subject, /) -> Told:
    """All of it, but forks, which come before other threads do."""
    return told(subject, ITEMS)


def forked(subject: Subject, /) -> Told:
    """What a fork is told."""
    return told(subject, [Item("forks", forks)])
