"""What the runtime needs from what plugs in below it, and nothing more.

Backends satisfy these Protocols by structure; they inherit nothing. ``A`` is the backend's own array, opaque to
everyone else. ``PROTOCOL_VERSION`` changes when a method is added or changes its meaning; a plug-in states the
version it was written for in its info entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

from tensor_core.dtypes import DType
from tensor_core.host_tensor import HostTensor
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceKind

PROTOCOL_VERSION: Final = 1

A = TypeVar("A")
Operand = Form | type
"""What a kernel is bound to: a tensor's form, or the type that stands in for a Python number."""
Result = Form | tuple[Form, ...]
Kernel = Callable[..., Any]
"""Native arrays (and Python numbers) in; one native array, or a tuple of them, out. Never warns.

Where the extent of the results depends on the values (``nonzero``, ``unique``), a :class:`Counted` comes out.
"""


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
    """What a device kind brings along."""

    @property
    def name(self) -> str:
        """The name under which the registry lists it."""
        ...

    @property
    def device_kind(self) -> DeviceKind:
        """The kind of device whose placements it serves."""
        ...

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, detail: Any, /) -> Kernel:
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

    def upload(self, source: HostTensor[Any], form: Form, /) -> A:
        """A copy of ``source`` here, compact, laid out as ``form``; the bytes of a Bool source are 0 and 1."""
        ...

    def download(self, array: A, form: Form, /) -> HostTensor[Any]:
        """A compact copy of ``array`` on the host."""
        ...

    def synchronize(self) -> None:
        """Wait until everything submitted is done; nothing to do for a backend that computes at once."""
        ...

    def describe(self) -> Mapping[str, str]:
        """Facts for ``doctor``: library versions, BLAS, threads. Cheap, reads no tensor."""
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
