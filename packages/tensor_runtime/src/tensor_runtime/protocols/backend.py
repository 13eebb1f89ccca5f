"""What every backend is, and what backends add whose arrays lie in the memory of the host, or of devices."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from tensor_core.dtypes import DType
from tensor_core.host.tensor import HostTensor
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceKind, MemoryUse, Placement
from tensor_runtime.protocols.kernels import Kernel, Operand, Result

A = TypeVar("A")
R_co = TypeVar("R_co", covariant=True)


class Backend(Protocol[A]):
    """What a device kind brings along.

    A backend may compute in the background. Kernels then follow one another as if each had finished when it returned,
    and whatever a kernel tells at once (a number, the extent of a :class:`Counted`, a refusal of values) it waits for
    itself. The runtime calls :meth:`synchronize` before each :meth:`download` and each ``lend``, and when a user asks
    for it; nowhere else.
    """

    @property
    def name(self) -> str:
        """The name under which the registry lists it."""
        ...

    @property
    def device_kind(self) -> DeviceKind:
        """The kind of device whose placements it serves."""
        ...

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """The kernel for exactly these forms; called once per combination of forms, never per call.

        It may rely on the forms alone: offset, alignment and overlap are not in them. The array a kernel
        returns is laid out as ``result`` says. Raises ``UnsupportedOperationError`` with the reason that
        :meth:`unsupported` gives.
        """
        ...

    def operations(self) -> frozenset[str]:
        """Names that :meth:`bind` takes."""
        ...

    def unsupported(self) -> Mapping[str, str]:
        """Operations this backend lacks, each with the reason."""
        ...

    def offset_of(self, array: A, /) -> int:
        """Offset of the array's first element in its allocation, in elements."""
        ...

    def location_of(self, array: A, /) -> tuple[Hashable, int]:
        """Where the array's first element lies: a space of addresses, and the address in it, in bytes.

        Arrays of unequal spaces share no memory; in one space the addresses and the layouts decide, and the runtime
        works that out. A space may be one allocation (then the address is the offset in bytes), the memory of a
        device, or that of the process. Asked for at each call with ``out``; cheap, waits for nothing.
        """
        ...

    def upload(self, source: HostTensor[Any], form: Form, /) -> A:
        """A copy of ``source`` here, compact, laid out as ``form``; the bytes of a Bool source are 0 and 1.

        ``source`` may change as soon as it returns.
        """
        ...

    def download(self, array: A, form: Form, /) -> HostTensor[Any]:
        """A compact copy of ``array`` on the host, complete when it returns."""
        ...

    def synchronize(self) -> None:
        """Wait until everything submitted is done; nothing to do for a backend that computes at once.

        What failed in the background is raised here.
        """
        ...

    def describe(self) -> Mapping[str, str]:
        """Facts for ``doctor``: library versions, BLAS, threads. Cheap, reads no tensor."""
        ...


class PlacedBackend(Backend[A], Protocol[A]):
    """A backend that has more than its first device in the usual memory: ``UnpinnedHost`` of a CPU, else ``Device``."""

    def placements(self) -> Collection[Placement]:
        """Every placement it has, the usual one first; a tensor anywhere else is refused. Asked for each one once."""
        ...


class Underway(Protocol[R_co]):
    """A transfer that was begun. It owns every buffer that it needs, and drops them when it is done."""

    def done(self) -> bool:
        """Whether :meth:`result` has nothing to wait for."""
        ...

    def result(self) -> R_co:
        """What was transferred, complete; waits, and raises what failed in the background. May be asked for again."""
        ...


class DeviceStream(Protocol):
    """One of a device's queues: what is submitted to it runs in order."""

    @property
    def handle(self) -> int:
        """What other libraries know it by, such as the address of a ``cudaStream_t``."""
        ...

    def current(self) -> AbstractContextManager[object]:
        """Submit to it within the ``with`` block, in this context; a fresh manager each time."""
        ...

    def done(self) -> bool:
        """Whether everything submitted to it is done."""
        ...

    def synchronize(self) -> None:
        """As ``Backend.synchronize``, for what was submitted to it."""
        ...


class DeviceBackend(PlacedBackend[A], Protocol[A]):
    """What a backend adds, if it likes, whose devices have memory and queues of their own.

    Each method is optional by itself, and so is ``only_pure``: who needs one looks for it. Which devices and memories
    there are ``placements`` says.

    Kernels on several streams that share an array follow one another as on one: the later kernel's stream waits for the
    earlier one's, also where it writes what the earlier reads. The host waits for neither.
    """

    only_pure: bool
    """True where arrays cannot be written, or kernels are put off, dropped or reordered; False where it is not said.

    No kernel whose facts state that it writes is bound then, nor ``mutable_view``: ``backends.plugins.pure_arrays``
    computes new elements by pure kernels, and puts them in place of the old ones.
    """

    def wait_for(self, placement: Placement, /) -> None:
        """As :meth:`Backend.synchronize`, for one device."""
        ...

    def transfer(self, array: A, form: Form, target: Form, /) -> A | None:
        """A copy at another of its placements, laid out as ``target``, not over the host; None where that cannot be."""
        ...

    def dlpack_device(self, placement: Placement, /) -> tuple[int, int]:
        """DLPack's name of a placement: type and number. Foreign memory of that name is borrowed from it."""
        ...

    def borrow(self, source: Any, copy: bool | None, dtype: DType | None = None, /) -> tuple[A, Form] | None:
        """As ``HostBackend.borrow``, of device memory that ``__dlpack__`` or ``__cuda_array_interface__`` names."""
        ...

    def lend_dlpack(
        self, array: A, form: Form, stream: int | None, max_version: tuple[int, int] | None, copy: bool | None, /
    ) -> object:
        """A DLPack capsule of the same memory, ready for work on the consumer's stream; arguments as ``__dlpack__``."""
        ...

    def lend_cuda_interface(self, array: A, form: Form, /) -> dict[str, object]:
        """What ``__cuda_array_interface__``, version 3, tells of the same memory."""
        ...

    def begin_upload(self, source: HostTensor[Any], form: Form, /) -> Underway[A]:
        """As :meth:`Backend.upload`, in the background; ``source`` may change as soon as it returns."""
        ...

    def begin_download(self, array: A, form: Form, /) -> Underway[HostTensor[Any]]:
        """As :meth:`Backend.download`, in the background; later writes into ``array`` do not count."""
        ...

    def stream(self, placement: Placement, handle: int | None, /) -> DeviceStream:
        """A new stream of a device, or another library's of this handle."""
        ...

    def memory(self, placement: Placement, /) -> MemoryUse:
        """What is used there now. Waits for nothing."""
        ...

    def is_lent(self, array: A, /) -> bool:
        """Whether the memory of what ``borrow`` gave is another library's, as ``out=`` asks; else all but copies is."""
        ...

    def examine(self, array: A, form: Form, /) -> str | None:
        """What an array is, where that is not what a form says, as far as can be seen; None where it is."""
        ...


class HostBackend(Backend[A], Protocol[A]):
    """A backend whose arrays lie in host memory, so that they can be lent without a copy."""

    def borrow(self, source: Any, copy: bool | None, dtype: DType | None = None, /) -> tuple[A, Form] | None:
        """The array and form of foreign host memory; None when ``source`` exports none.

        ``dtype`` is what the caller asked for. Memory of one of our dtypes is taken as it is; of another one it is
        converted where ``dtype`` holds all its values (``tensor_core.foreign.check_holds``), and refused otherwise.

        ``copy`` has NumPy 2's meaning: True always copies, False never does, None only when it must. Memory of Bool
        that is shared may hold any byte, now or later, and kernels read all but 0 as true; a copy holds 0 and 1.
        """
        ...

    def lend(self, array: A, form: Form, /) -> Any:
        """The same memory as an object that NumPy reads, axes in the tensor's order."""
        ...
