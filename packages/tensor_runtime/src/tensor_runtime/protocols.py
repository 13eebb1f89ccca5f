"""What the runtime needs from what plugs in below it, and nothing more.

Backends satisfy these Protocols by structure; they inherit nothing. ``A`` is the backend's own array, opaque to
everyone else. ``PROTOCOL_VERSION`` changes when a method is added or changes its meaning; a plug-in states the
version it was written for in its info entry. Protocols that are optional as a whole (:class:`ThreadedBackend`,
:class:`SequencingBackend`, :class:`ExplainingBackend`, :class:`MeasuringBackend`, :class:`CallingBackend`,
:class:`SharingBackend`, :class:`DlpackBackend`, :class:`DeviceBackend`) may come without it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, Protocol, TypeVar, runtime_checkable

from tensor_core.dtypes import DType
from tensor_core.host.tensor import HostTensor
from tensor_runtime.errors import DEFERRED as DEFERRED
from tensor_runtime.errors import RETOLD as RETOLD
from tensor_runtime.form import Form
from tensor_runtime.native_parts import CallParts as CallParts
from tensor_runtime.placement import DeviceKind, Placement
from tensor_runtime.placement import MemoryUse as MemoryUse

PROTOCOL_VERSION: Final = 2

A = TypeVar("A")
R_co = TypeVar("R_co", covariant=True)
Operand = Form | type
"""What a kernel is bound to: a tensor's form, or the type that stands in for a Python number."""
Result = Form | tuple[Form, ...]
OnCase = Callable[[int, int], object]  # told how many are done, of how many
Kernel = Callable[..., Any]
"""Native arrays (and Python numbers) in; one native array, or a tuple of them, out. Never warns.

Where the extent of the results depends on the values (``nonzero``, ``unique``), a :class:`Counted` comes out.

A kernel may have an attribute ``workspace_bytes``, an int: the most bytes that a call takes at once besides its
results, such as copies of operands. Without one it counts as 0, and a few megabytes of fixed size may be left out.
``einsum`` refuses before the first step what cannot fit with them.
"""

KernelStep = tuple[Kernel, int, int]
"""One kernel of a sequence, and the slots of its operands; -1 for those that it has not. Slots hold the operands of the
sequence, then the result of each step."""
StepFailed = Callable[[int, Exception], BaseException]
"""From the number of a step and what its kernel raised to what is raised instead."""


class Counted:
    """Native arrays of which one extent depends on the operand's values, and that extent.

    >>> Counted(("indices",), 3).count
    3
    """

    __slots__ = ("arrays", "count")

    def __init__(self, arrays: tuple[Any, ...], count: int) -> None:
        self.arrays = arrays
        self.count = count


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

    def is_whole(self, array: A, form: Form, /) -> bool:
        """Whether a compact array is all of its allocation, as ``out=`` asks; else where it begins decides."""
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


class SharingBackend(Protocol[A]):
    """What a host backend adds, if it likes, so that a transfer to or from a device copies elements once.

    Both methods are optional, each by itself.
    """

    def share(self, array: A, form: Form, /) -> HostTensor[Any]:
        """The memory of a compact array as a host tensor; nothing is copied."""
        ...

    def adopt(self, source: HostTensor[Any], form: Form, /) -> A:
        """The array of a host tensor that nobody else uses, in its own memory."""
        ...


class DlpackBackend(Protocol):
    """What a host backend adds, if it likes, that reads DLPack capsules by itself; ``tensor_core`` reads them else."""

    def borrow_dlpack(self, source: Any, copy: bool | None, /) -> tuple[Any, Form]:
        """As ``HostBackend.borrow``, of the memory that ``source.__dlpack__`` lends; it is known to be the host's."""
        ...


@runtime_checkable
class ThreadedBackend(Protocol):
    """What a backend adds, if it likes, whose kernels share their work among threads of the host.

    Both methods are optional, together; ``tensor_runtime.set_threads`` passes over a backend without them.
    """

    @property
    def name(self) -> str:
        """As :attr:`Backend.name`."""
        ...

    def threads(self) -> Mapping[str, int]:
        """Threads in force, by what runs them: ``"kernels"`` for its own, else the library's name. Cheap."""
        ...

    def set_threads(self, count: int, /) -> AbstractContextManager[object]:
        """Let all of them use so many threads from now on; leaving the block restores what was in force before.

        ``count`` is an int of 1 or more. One that the backend cannot take raises ``ArgumentError`` and changes nothing.
        """
        ...


@runtime_checkable
class CallingBackend(Protocol):
    """What a backend adds, if it likes, that makes views, new tensors and Python numbers faster than Python can.

    ``tensor_runtime.ops.native_calls`` asks for it when the backend begins to serve ``cpu``.
    """

    def native_call(self, name: str, function: Callable[..., Any], parts: CallParts, /) -> Callable[..., Any] | None:
        """A function that stands for one in Python, which bears this name among calls; None where there is none.

        It does what the one in Python does, for every argument: what is not usual it hands over to it, and so all
        mistakes. It is found in classes as functions are, and takes attributes. Its ``take_slot()``, if any, lets
        Python find it as a method without a look-up, ``as_attribute(name, documentation)`` gives a descriptor of it.
        """
        ...


@runtime_checkable
class SequencingBackend(Protocol):
    """What a backend adds, if it likes, that runs kernels one after another faster than a caller of each could.

    ``tensor_runtime.dispatch.sequences`` asks for it; without it, the caller goes from step to step.
    """

    def bind_sequence(
        self, operands: int, steps: Sequence[KernelStep], results: int | tuple[int, ...], failed: StepFailed, /
    ) -> Kernel | None:
        """One kernel that does what its steps do in this order, to the same bits; None where that is no gain.

        Args:
            operands: how many native arrays it is called with; they fill the first slots.
            steps: kernels that :meth:`Backend.bind` gave, of at most two operands, or callables made of such; each
                reads slots that are filled when it runs.
            results: the slot of the array that it returns, or those of a tuple of arrays.
            failed: called with what a step raised, if that is an ``Exception``; keeps no reference to the kernel.

        A step's result is dropped as soon as no later step reads it and it is no result of the sequence, so that no
        more is alive at one time than when the steps run one by one, but for a few megabytes of fixed size. Between
        steps the kernel can be interrupted, at least every tenth of a second or so; an interruption is raised as it
        is, and leaves nothing behind.
        """
        ...


class KernelChoice(NamedTuple):
    """How a backend computes one operation on operands of given forms.

    Attributes:
        kernel: what computes, in words: "native loop", "NumPy", "BLAS".
        threads: the most threads it may use; 1 for one that uses no others.
        workspace_bytes: the most bytes taken at once besides the results.
        notes: copies that are made first, and why a faster way was not taken; one sentence each.
        seconds: of one run in one thread, as the cost model thinks by which the kernel was chosen; None without one.
        fills_output: whether it writes to an ``out`` of just the result's form at once, where others are copied there.
    """

    kernel: str
    threads: int = 1
    workspace_bytes: int = 0
    notes: tuple[str, ...] = ()
    seconds: float | None = None
    fills_output: bool = False


@runtime_checkable
class ExplainingBackend(Protocol):
    """What a backend adds, if it likes, that can say how it computes; ``tensor_runtime.explain`` asks for it."""

    def explain(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> KernelChoice:
        """The kernel that :meth:`Backend.bind` gives for the same arguments; errors as there."""
        ...


@runtime_checkable
class MeasuringBackend(Protocol):
    """What a backend adds, if it likes, that measures its devices; ``ironstride calibrate --device`` asks for it."""

    def calibrate(self, placement: Placement, seconds: float, on_case: OnCase, tell: Callable[[str], object], /) -> str:
        """JSON text of a table that the backend takes, with a "digest", of about so many seconds."""
        ...
