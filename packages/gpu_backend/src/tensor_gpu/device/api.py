"""What this backend needs from a device: memory at addresses, streams, launches. One interface, several devices.

Everything above works with addresses, which are ints, and never opens one. ``tensor_gpu.sim`` implements the interface
on the host, with memory and streams that find mistakes; a driver's library is another implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from tensor_core.dtypes import DType
from tensor_gpu.device.program import Argument, Program
from tensor_runtime.placement import MemoryKind

if TYPE_CHECKING:
    from tensor_gpu.device.provider import Provider

Stream = Hashable
"""A queue of work on one device, as the device names it; what is in one queue runs in its order."""
Scratch = Callable[[int], int]
"""The address of so many bytes of a device, which are its own until what a call submitted has run."""
Event = Hashable
"""A point in a queue, for other queues to wait for."""
LARGEST_INT: Final = 2**31 - 1
"""Extents, leading dimensions and counts of the libraries have 32 bits."""
MOST_THREADS = 256
"""Threads of a block, where a program does not ask for another number."""
MOST_BLOCKS = 1 << 16
"""Blocks of a launch; a program whose work is larger goes round in it."""


class DeviceProperties(NamedTuple):
    """What is known of one device before anything runs on it."""

    name: str
    memory_bytes: int
    compute_capability: tuple[int, int]
    largest_extent: int = LARGEST_INT
    """Of matrices of ``gemm``, leading dimensions included."""
    largest_batch: int = LARGEST_INT
    """Matrices of one call of ``gemm`` or ``solver``."""
    missing: Mapping[str, str] = {}
    """Of ``gemm`` and ``solver``, which cannot be called here, each with what to do about it."""
    peers: Collection[int] | None = None
    """The numbers of other devices to which ``copy`` goes; None says all."""
    memory_kinds: tuple[MemoryKind, ...] = (MemoryKind.Device,)
    """Memory that its programs read and write; ``allocate_in`` gives kinds beside the first."""


class MemoryFacts(NamedTuple):
    """The memory of one device, in bytes."""

    used: int  # by live arrays
    total: int


class Launch(NamedTuple):
    """One run of a program.

    >>> threads_for(1000)
    (4, 256)
    """

    program: Program
    blocks: int
    threads: int
    arguments: tuple[Argument, ...]


def threads_for(size: int, /) -> tuple[int, int]:
    """Blocks and threads in which each of ``size`` elements has a thread, or shares one with others.

    >>> threads_for(0), threads_for(1), threads_for(1 << 40)
    ((1, 256), (1, 256), (65536, 256))
    """
    return max(1, min(-(-size // MOST_THREADS), MOST_BLOCKS)), MOST_THREADS


class Gemm(NamedTuple):
    """Matrix products of the device's library: C = A B for each of a stack, column-major as BLAS has them.

    A is stored [M, K] where ``a_turned`` is "N", else [K, M] and read transposed, "T", or conjugated as well, "C"; the
    same holds for B. Leading dimensions and strides from matrix to matrix count elements; 0 repeats an operand.
    """

    dtype: DType  # F32, F64, C32 or C64, of all three
    a_turned: str
    b_turned: str
    m: int
    n: int
    k: int
    a: int
    a_leading: int
    a_stride: int
    b: int
    b_leading: int
    b_stride: int
    c: int
    c_leading: int
    c_stride: int
    matrices: int


class Stack(NamedTuple):
    """Matrices in memory, column-major, or vectors; counts in elements."""

    address: int
    leading: int  # from column to column
    stride: int  # from matrix to matrix


class Solver(NamedTuple):
    """One routine of LAPACK's names on each matrix of a stack; what becomes of its arrays, :data:`ROUTINES` says.

    An int32 for each matrix receives LAPACK's info: 0, or the number of the first pivot or block that failed.
    """

    routine: str
    dtype: DType  # F32, F64, C32 or C64
    sizes: tuple[int, ...]
    arrays: tuple[Stack, ...]
    info: int  # address
    matrices: int
    options: str = ""  # a letter for each choice, as LAPACK has them


ROUTINES: Final[Mapping[str, str]] = {
    "potrf": "a [n, n], whose lower triangle becomes the lower Cholesky factor; the upper one is left",
    "getrf": "a [m, n] becomes its LU factors, pivots [min(m, n)] int32 the rows exchanged, counted from 1",
    "getrs": "of lu [n, n], pivots [n] and b [n, k], b becomes the solution",
    "geqrf": "a [m, n] becomes r and reflectors, tau [min(m, n)] their factors",
    "orgqr": "a [m, n] with reflectors and tau [k] becomes the first n columns of q; sizes (m, n, k)",
    "gesvd": "of a [m, n], which is lost, s [n], u [m, n] and vh [n, n]; m is n or more",
    "gesvdj": "by Jacobi rotations, of a [m, n], which is lost, s [k], u [m, k] and vh [k, n]; k is the smaller",
    "gesvdjBatched": "the same of matrices of up to 32 rows and columns, u [m, m], and v [n, n] with the right vectors",
    "gesvda": "by an approximation, of a [m, n], s [n], u [m, n], and v [n, n] with the right vectors; m is n or more",
    "syevd": "a [n, n], whose lower triangle is read, becomes the eigenvectors, w [n] the ascending eigenvalues",
    "syevj": "the same by Jacobi rotations",
    "syevjBatched": "the same of all matrices at once",
    "trsm": "of a [m, m] and b [m, k], b becomes x with op(a) x = b; options: L or U, N, T or C, N or U for ones",
}
"""Routines by their LAPACK names: arrays in order, with their sizes."""


class DeviceApi(Protocol):
    """Devices of one kind, numbered from 0. Whatever is submitted to a stream may run later; nothing else does."""

    @property
    def name(self) -> str:
        """The word by which its device kind is known: "sim", "cuda"."""
        ...

    def devices(self) -> Sequence[DeviceProperties]:
        """The devices, in the order of their numbers."""
        ...

    def allocate(self, ordinal: int, nbytes: int, /) -> int:
        """The address of fresh memory, aligned to 256 bytes.

        Raises:
            MemoryError: there is not so much left, even after waiting for what is about to be released.
        """
        ...

    def release(self, ordinal: int, address: int, users: Sequence[Stream], /) -> None:
        """Give memory back; it is used again when what is submitted to these streams so far has run."""
        ...

    def memory(self, ordinal: int, /) -> MemoryFacts:
        """What is in use, of how much."""
        ...

    def free(self, ordinal: int, /) -> int:
        """Bytes of memory that nobody has, whoever else takes some; the device may be opened for it."""
        ...

    def capacity(self, ordinal: int, /) -> int:
        """Bytes of memory in all, known without a look at what the device does."""
        ...

    def new_stream(self, ordinal: int, /) -> Stream:
        """Another queue, which waits for no other one."""
        ...

    def stream_of(self, ordinal: int, handle: int, /) -> Stream:
        """Another library's queue, which has to live as long as it is used.

        Raises:
            UnsupportedOperationError: no other library has queues of these devices.
        """
        ...

    def handle(self, stream: Stream, /) -> int:
        """The number by which other libraries know a stream."""
        ...

    def record(self, stream: Stream, /) -> Event:
        """The point after all that is submitted so far."""
        ...

    def wait(self, stream: Stream, event: Event, /) -> None:
        """Let what is submitted to a stream from now on run after the event."""
        ...

    def synchronize(self, stream: Stream, /) -> None:
        """Return when all that is submitted has run; raises what failed in it."""
        ...

    def done(self, stream: Stream, /) -> bool:
        """Whether all that is submitted has run. Waits for nothing."""
        ...

    def passed(self, event: Event, /) -> bool:
        """Whether a stream has gone past a point in it. Waits for nothing."""
        ...

    def upload(self, stream: Stream, target: int, source: bytes | bytearray | memoryview, /) -> None:
        """Submit a copy from the host, whose memory may change as soon as this returns."""
        ...

    def download(self, stream: Stream, source: int, target: bytearray | memoryview, /) -> None:
        """Submit a copy to the host, into all of a buffer that nobody touches until it has run."""
        ...

    def copy(self, stream: Stream, target: int, source: int, nbytes: int, /) -> None:
        """Submit a copy from memory of any of the devices to memory of any."""
        ...

    def fill(self, stream: Stream, target: int, byte: int, nbytes: int, /) -> None:
        """Submit the writing of one byte everywhere."""
        ...

    def launch(self, stream: Stream, launch: Launch, /) -> None:
        """Submit one run of a program."""
        ...

    def gemm(self, stream: Stream, call: Gemm, /) -> None:
        """Submit matrix products."""
        ...

    def solver(self, stream: Stream, call: Solver, scratch: Scratch, /) -> None:
        """Submit a routine of linear algebra, whose workspaces come from ``scratch``."""
        ...

    def providers(self) -> Sequence[Provider]:
        """Libraries that contract tensors as they lie, and may be there, the best first; none is imported or opened."""
        ...

    def allocate_in(self, kind: MemoryKind, ordinal: int, nbytes: int, /) -> int:
        """As :meth:`allocate`, of another kind of memory that the device has; ``release`` takes it back."""
        ...

    def rest(self, ordinal: int, address: int, users: Sequence[Stream], /) -> None:
        """Told of memory that nobody uses any more when what is submitted to these streams so far has run.

        It stays allocated, and waits for its next use. A device that finds mistakes makes it unusable; others do
        nothing. May be called wherever the collector runs.
        """
        ...

    def renew(self, stream: Stream, address: int, nbytes: int, /) -> None:
        """Told that memory which rested is used again, so many bytes of it, by what is submitted from now on.

        A device that finds mistakes makes it look fresh, in the order of the stream; others do nothing.
        """
        ...
