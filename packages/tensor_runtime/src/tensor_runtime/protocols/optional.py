"""What a backend adds, if it likes, whatever it computes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar, runtime_checkable

from tensor_core.host.tensor import HostTensor
from tensor_runtime.form import Form
from tensor_runtime.placement import Placement
from tensor_runtime.protocols.kernels import Kernel, KernelChoice, KernelStep, Operand, Result, StepFailed
from tensor_runtime.protocols.native_calls import CallParts

A = TypeVar("A")
OnCase = Callable[[int, int], object]  # told how many are done, of how many


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

    Both methods are optional, together; ``tensor_runtime.set_threads`` passes over a backend without them. Where the
    ``workspace_bytes`` of its kernels depend on the threads, it tells ``tensor_runtime.backends.workspaces`` of them.
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
