"""Devices of CUDA, as ``tensor_gpu.device.api`` asks for them: by CuPy, which is imported here and nowhere else.

CuPy's arrays are not used, nor its functions of them: only memory, streams, events, modules, and the libraries of CUDA
that it binds. Each call makes its device the current one of the thread, and puts back what was current.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple

from tensor_core.errors import BackendError
from tensor_gpu.cuda.arguments import Arguments
from tensor_gpu.cuda.compiler import compiled
from tensor_gpu.cuda.cutensor import CutensorProvider
from tensor_gpu.cuda.functions import Functions
from tensor_gpu.cuda.memory import Memories
from tensor_gpu.cuda.providers import found as found_providers
from tensor_gpu.cuda.solvers import LETTERS, ONE_AND_ZERO, Libraries, solve
from tensor_gpu.cuda.staging import Staging
from tensor_gpu.device.api import DeviceProperties, Gemm, Launch, MemoryFacts, Scratch, Solver
from tensor_gpu.device.program import Program
from tensor_runtime.placement import MemoryKind

NOT_READY: Final = 600
"""cudaErrorNotReady: what is asked for has not run yet, and nothing is wrong."""
ALREADY_ENABLED: Final = 704
"""cudaErrorPeerAccessAlreadyEnabled: by another library."""


class Modules(NamedTuple):
    """The modules of CuPy that are called, or what stands for them in a test."""

    version: str
    cuda: Any  # cupy.cuda
    runtime: Any  # cupy_backends.cuda.api.runtime
    driver: Any  # cupy_backends.cuda.api.driver
    libs: Any  # cupy_backends.cuda.libs, whose modules open their libraries when they are asked for

    @classmethod
    def imported(cls) -> Modules:
        """CuPy, imported now; whatever its import raises passes."""
        import cupy
        from cupy_backends.cuda import libs
        from cupy_backends.cuda.api import driver, runtime

        return cls(cupy.__version__, cupy.cuda, runtime, driver, libs)

    def loaded(self, program: Program, capability: tuple[int, int], /) -> Any:
        """A program's function on the current device; it is unloaded when nobody holds this any more.

        Raises:
            BackendError: it does not compile for this capability.
        """
        module = self.cuda.Module()
        module.load(compiled(self.libs.nvrtc, program, capability))
        return module.get_function(program.entry)

    def launch(self, function: Any, blocks: int, threads: int, stream: Any, arguments: int, /) -> None:
        """Submit one run of a function on the current device; arguments are at an address of :class:`Arguments`."""
        self.driver.launchKernel(function.ptr, blocks, 1, 1, threads, 1, 1, 0, stream.ptr, arguments, 0)


class CudaStream:
    """A queue of one device."""

    __slots__ = ("__weakref__", "handles", "native", "ordinal")

    def __init__(self, native: Any, ordinal: int) -> None:
        self.native = native
        self.ordinal = ordinal
        self.handles: dict[tuple[str, int], _Handle] = {}  # of libraries, by their names and the threads


class LentStream(NamedTuple):
    """Another library's queue by its handle, as CUDA's protocol of streams has it; CuPy does not destroy it."""

    handle: int

    def __cuda_stream__(self) -> tuple[int, int]:
        """Version of the protocol, and address."""
        return 0, self.handle


class CudaEvent(NamedTuple):
    """A point in a stream."""

    native: Any
    stream: CudaStream


class _Handle:
    """A library's handle, for one stream and one thread: others would share its workspace."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self.value: int = library.create()

    def __del__(self) -> None:
        if hasattr(self, "value") and not sys.is_finalizing():
            self._library.destroy(self.value)


class CupyApi:
    """Every device that CUDA shows.

    >>> CupyApi.name
    'cuda'
    """

    name: Final = "cuda"

    def __init__(self, found: Modules) -> None:
        self._modules = found
        self.cuda, self.runtime, self.libs = found.cuda, found.runtime, found.libs
        self._properties = [self._properties_of(ordinal) for ordinal in range(self.runtime.getDeviceCount())]
        self._memories = Memories(self.cuda, self.runtime, self.name, self._properties, self._event, self._passed)
        self._staging: Staging[Any] = Staging(
            self._memories.pin, self._event, self._passed, lambda event: event.synchronize()
        )
        self._arguments = Arguments()
        self._functions = Functions(self._load, lambda ordinal: self.runtime.deviceSynchronize())
        self._met: set[tuple[int, int]] = set()
        self._lock = threading.RLock()
        self._providers = found_providers(self.libs, self.cuda.Device, self.current)

    def _properties_of(self, ordinal: int) -> DeviceProperties:
        facts = self.runtime.getDeviceProperties(ordinal)
        moves = self.runtime.deviceGetAttribute(self.runtime.cudaDevAttrManagedMemory, ordinal)
        return DeviceProperties(
            facts["name"].decode(),
            int(facts["totalGlobalMem"]),
            (int(facts["major"]), int(facts["minor"])),
            memory_kinds=(MemoryKind.Device, MemoryKind.PinnedHost, *([MemoryKind.Managed] if moves else [])),
        )

    def devices(self) -> Sequence[DeviceProperties]:
        """The devices, in CUDA's order."""
        return self._properties

    def providers(self) -> Sequence[CutensorProvider]:
        """cuTENSOR, as far as something binds it."""
        return self._providers

    @contextmanager
    def current(self, stream: Any, /) -> Iterator[None]:
        """Make a stream, and its device, the current one of this thread."""
        with self.cuda.Device(stream.ordinal), stream.native:
            yield

    def allocate(self, ordinal: int, nbytes: int, /) -> int:
        """Memory of a device; errors as for :meth:`allocate_in`."""
        return self.allocate_in(MemoryKind.Device, ordinal, nbytes)

    def allocate_in(self, kind: MemoryKind, ordinal: int, nbytes: int, /) -> int:
        """Memory of a kind; where there is none left, what is about to be released is waited for.

        Raises:
            DeviceMemoryError: there is none after that either.
            BackendError: a kind that the device lacks.
        """
        try:
            return self._memories.allocate(kind, ordinal, nbytes)
        finally:
            self._land()

    def rest(self, ordinal: int, address: int, users: Sequence[Any], /) -> None:
        """Nothing happens to memory that rests."""

    def renew(self, stream: Any, address: int, nbytes: int, /) -> None:
        """Nor when it is used again."""

    def release(self, ordinal: int, address: int, users: Sequence[Any], /) -> None:
        """Memory is taken back when what its users were given has run. Collectors call this anywhere: it only notes."""
        self._memories.release(ordinal, address, users)

    def memory(self, ordinal: int, /) -> MemoryFacts:
        """What live arrays use, of how much."""
        self._land()
        return MemoryFacts(self._memories.used(ordinal), self.capacity(ordinal))

    def free(self, ordinal: int, /) -> int:
        """What the driver would still give."""
        with self.cuda.Device(ordinal):
            return int(self.runtime.memGetInfo()[0])

    def capacity(self, ordinal: int, /) -> int:
        """What the driver said once."""
        return self._properties[ordinal].memory_bytes

    def new_stream(self, ordinal: int, /) -> CudaStream:
        """Another queue, which does not wait for CUDA's default stream either."""
        with self.cuda.Device(ordinal):
            return CudaStream(self.cuda.Stream(non_blocking=True), ordinal)

    def stream_of(self, ordinal: int, handle: int, /) -> CudaStream:
        """Another library's queue; 0 is CUDA's default stream."""
        with self.cuda.Device(ordinal):
            return CudaStream(self.cuda.Stream.from_external(LentStream(handle)), ordinal)

    def ordinal_of(self, address: int, /) -> int:
        """The device on which memory of any library lies."""
        return int(self.runtime.pointerGetAttributes(address).device)

    def handle(self, stream: Any, /) -> int:
        """The address of its ``cudaStream_t``."""
        return int(stream.native.ptr)

    def record(self, stream: Any, /) -> CudaEvent:
        """The point after all that is submitted so far."""
        return CudaEvent(self._event(stream), stream)

    def wait(self, stream: Any, event: Any, /) -> None:
        """Let the device wait for the event; the host goes on."""
        with self.cuda.Device(stream.ordinal):
            stream.native.wait_event(event.native)

    def synchronize(self, stream: Any, /) -> None:
        """Wait, without the interpreter's lock."""
        with self.cuda.Device(stream.ordinal):
            stream.native.synchronize()
        self._staging.land(stream)

    def done(self, stream: Any, /) -> bool:
        """Whether all has run."""
        with self.cuda.Device(stream.ordinal):  # a default stream is the current device's
            done = self._has_run(self.runtime.streamQuery(stream.native.ptr))
        self._staging.land(stream)
        return done

    def passed(self, event: Any, /) -> bool:
        """Whether the stream has gone past the event."""
        passed = self._passed(event.native)
        self._staging.land(event.stream)
        return passed

    def upload(self, stream: Any, target: int, source: bytes | bytearray | memoryview, /) -> None:
        """Submit a copy of bytes that are taken now, into memory that the device reads by itself."""

        def submit(address: int, start: int, nbytes: int) -> None:
            self._copy(stream, target + start, address, nbytes)

        self._staging.upload(stream, source, submit)

    def download(self, stream: Any, source: int, target: bytearray | memoryview, /) -> None:
        """Submit a copy to such memory; whoever sees that it has run takes it from there."""

        def submit(address: int, start: int, nbytes: int) -> None:
            self._copy(stream, address, source + start, nbytes)

        self._staging.download(stream, target, submit)

    def copy(self, stream: Any, target: int, source: int, nbytes: int, /) -> None:
        """Submit a copy; CUDA's addresses are one space and tell the devices."""
        if len(self._properties) > 1:
            self._let_meet(self.ordinal_of(target), self.ordinal_of(source))
        self._copy(stream, target, source, nbytes)

    def fill(self, stream: Any, target: int, byte: int, nbytes: int, /) -> None:
        """Submit the writing of one byte everywhere."""
        with self.cuda.Device(stream.ordinal):
            self.runtime.memsetAsync(target, byte, nbytes, stream.native.ptr)

    def launch(self, stream: Any, launch: Launch, /) -> None:
        """Submit a program, which is compiled for the device when it runs there first."""
        with self.cuda.Device(stream.ordinal):
            function = self._functions.of(launch.program, stream.ordinal)
            packed = self._arguments.packed(launch.arguments)
            self._modules.launch(function, launch.blocks, launch.threads, stream.native, packed)

    def gemm(self, stream: Any, call: Gemm, /) -> None:
        """Submit matrix products by cuBLAS, in full precision."""
        cublas, (one, zero) = self.libs.cublas, ONE_AND_ZERO[call.dtype]
        turned = (getattr(cublas, f"CUBLAS_OP_{letter}") for letter in (call.a_turned, call.b_turned))
        with self.cuda.Device(stream.ordinal), stream.native:
            getattr(cublas, f"{LETTERS[call.dtype]}gemmStridedBatched")(
                *(self._handle("cublas", stream), *turned, call.m, call.n, call.k, one),
                *(call.a, call.a_leading, call.a_stride, call.b, call.b_leading, call.b_stride, zero),
                *(call.c, call.c_leading, call.c_stride, call.matrices),
            )

    def solver(self, stream: Any, call: Solver, scratch: Scratch, /) -> None:
        """Submit a routine of linear algebra."""
        on = Libraries(
            self.libs.cublas,
            self.libs.cusolver,
            partial(self._handle, "cublas", stream),
            partial(self._handle, "cusolver", stream),
            scratch,
            partial(self.upload, stream),
            lambda address, nbytes: self.fill(stream, address, 0, nbytes),
        )
        with self.cuda.Device(stream.ordinal), stream.native:
            solve(on, call)

    def _handle(self, library: str, stream: CudaStream) -> int:
        """A library's handle for a stream and this thread; CuPy gives it the current stream at every call."""
        key = library, threading.get_ident()
        found = stream.handles.get(key)
        if found is None:
            found = stream.handles[key] = _Handle(getattr(self.libs, library))
        return found.value

    def _load(self, program: Program, ordinal: int) -> Any:
        return self._modules.loaded(program, self._properties[ordinal].compute_capability)

    def _copy(self, stream: CudaStream, target: int, source: int, nbytes: int) -> None:
        """Copy between any memories, of which the driver knows by their addresses what they are."""
        kind = self.runtime.memcpyDefault
        with self.cuda.Device(stream.ordinal):
            self.runtime.memcpyAsync(target, source, nbytes, kind, stream.native.ptr)

    def _let_meet(self, one: int, other: int) -> None:
        """Let two devices reach each other's memory if they can; copies between others go over the host."""
        with self._lock:
            for here, there in {(one, other), (other, one)} - self._met:
                with self.cuda.Device(here):
                    if here != there and self.runtime.deviceCanAccessPeer(here, there):
                        try:
                            self.runtime.deviceEnablePeerAccess(there)
                        except self.runtime.CUDARuntimeError as error:
                            if error.status != ALREADY_ENABLED:
                                raise
                self._met.add((here, there))

    def _event(self, stream: Any) -> Any:
        with self.cuda.Device(stream.ordinal):
            event = self.cuda.Event(disable_timing=True)
            event.record(stream.native)
            return event

    def _passed(self, event: Any) -> bool:
        return self._has_run(self.runtime.eventQuery(event.ptr))

    def _has_run(self, status: int) -> bool:
        """What a query of CUDA says; CuPy's own ``done`` takes a failure for what is not ready, and so never ends.

        Raises:
            BackendError: what was submitted has failed.
        """
        if status not in (0, NOT_READY):
            raise BackendError(
                f"{self.name}: what was submitted has failed: {self.runtime.CUDARuntimeError(status)}; most failures "
                "stay until the process ends: start it again"
            )
        return status == 0

    def _land(self) -> None:
        for stream in self._staging.streams():
            self._staging.land(stream)
