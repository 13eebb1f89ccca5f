"""The built-in backend ``meta``: tensors without elements.

Whatever runs on it runs the very public function, with every check on placement, dtype and shape, and computes
nothing. It answers to every operation, also to those of families that it has never heard of, because a kernel of it
does nothing. What depends on elements raises ``UnsupportedOperationError``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from tensor_core.errors import UnsupportedOperationError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement, is_stand_in, stand_in
from tensor_runtime.protocols import Kernel, Operand, Result

META_KIND: Final = DeviceKind.other("meta")
META_DEVICE: Final = DeviceId(META_KIND, 0)
META: Final = Placement(MemoryKind.Device, META_DEVICE)
"""Where a tensor has no elements; ``zeros((2, 3), placement="meta")``."""


class KernelRequest(NamedTuple):
    """What a kernel is bound to, as ``Backend.bind`` gets it."""

    operation: str
    operands: tuple[Operand, ...]
    result: Result
    params: Any


class KernelsCalled(dict[KernelRequest, int]):
    """How often each kernel was called, in order of first calls.

    Attributes:
        last: the latest call, an output's copy aside.

    >>> called = KernelsCalled()
    >>> called.note(KernelRequest("abs", (), (), None)), [*called.values()]
    (None, [1])
    """

    last: KernelRequest | None = None

    def note(self, request: KernelRequest, /) -> None:
        """One more call."""
        self[request] = self.get(request, 0) + 1


class OutputOf(NamedTuple):
    """Params of a ``copy_into`` which is spared where the kernel that was called before it fills ``out`` at once."""

    maker: KernelRequest


_called: Final[ContextVar[KernelsCalled | None]] = ContextVar("tensor_runtime.kernels_called", default=None)


@contextmanager
def kernels_called() -> Iterator[KernelsCalled]:
    """The kernels that run on ``meta`` inside the block, in this thread, in order of their first call; and how often.

    >>> with kernels_called() as called:
    ...     _ = abs(zeros((2,), placement="meta"))
    >>> sorted(request.operation for request in called)
    ['abs', 'full']
    """
    called = KernelsCalled()
    token = _called.set(called)
    try:
        yield called
    finally:
        _called.reset(token)


def note_output(form: Form, /) -> None:
    """Note that the latest kernel's result, of this form, went to an output of the same form.

    >>> x = zeros((2,), placement="meta")
    >>> with kernels_called() as called:
    ...     _ = abs(x)
    ...     note_output(x._form)
    >>> [request.operation for request in called]
    ['abs', 'copy_into']
    """
    called = _called.get()
    if called is not None and called.last is not None:
        called.note(KernelRequest("copy_into", (form, form), form, OutputOf(called.last)))


class MetaBackend:
    """Arrays are None, and kernels compute nothing.

    >>> MetaBackend().bind("anything", (), zeros(2)._form, None)() is None
    True
    """

    name: Final = "meta"
    device_kind: Final = META_KIND

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """A kernel that gives as many times nothing as there are results.

        One that answers what its elements are, such as how many results there are, raises UnsupportedOperationError
        when it is called.
        """
        answers = facts_of(name).effect == "answers"
        nothing = (None,) * len(result) if isinstance(result, tuple) else None
        request = KernelRequest(name, operands, result, params)

        def kernel(*arguments: Any) -> Any:
            called = _called.get()
            if called is not None:
                called.note(request)
                called.last = request
            if answers:
                raise no_elements(name, result[0] if isinstance(result, tuple) else result)
            return nothing

        return kernel

    def operations(self) -> frozenset[str]:
        """None of its own; ``bind`` takes any name."""
        return frozenset()

    def unsupported(self) -> Mapping[str, str]:
        """Nothing, until elements are asked for."""
        return {}

    def placements(self) -> tuple[Placement, ...]:
        """One; ``infer`` has others on its device, which nobody can name."""
        return (META,)

    def offset_of(self, array: None, /) -> int:
        """Every view starts at nothing."""
        return 0

    def location_of(self, array: None, /) -> tuple[object, int]:
        """Nowhere: what has no elements shares none."""
        return object(), 0

    def upload(self, source: HostTensor[Any], form: Form, /) -> None:
        """Forget the elements."""

    def download(self, array: None, form: Form, /) -> HostTensor[Any]:
        """Refuse: there is nothing to bring back."""
        raise UnsupportedOperationError(
            f"a tensor of shape {form.shape} on {form.placement} has no elements, and what was asked for depends on "
            "them; ask a tensor with data",
            operation="download",
            decided_by="elements",
        )

    def synchronize(self) -> None:
        """Nothing runs."""

    def describe(self) -> Mapping[str, str]:
        """What it is."""
        return {"computes": "nothing; shapes and dtypes only"}


def without_elements(request: KernelRequest, /) -> KernelRequest:
    """The same request on tensors without elements; itself where they have none.

    >>> form = zeros(2)._form
    >>> without_elements(KernelRequest("abs", (form,), form, None)).result
    Form(F64, (2,), meta:0 (cpu))
    """

    def moved(one: Any) -> Any:
        if isinstance(one, tuple):
            return tuple(map(moved, one))
        if isinstance(one, Form) and not is_stand_in(one.placement):
            return form_of(one.dtype, one.shape, stand_in(one.placement, META_DEVICE), one.strides)
        return one

    return KernelRequest(request.operation, moved(request.operands), moved(request.result), request.params)


def no_elements(operation: str, form: Form, /) -> UnsupportedOperationError:
    """The error of an operation that is asked for the shape of a result that elements decide, where there are none.

    >>> no_elements("nonzero", zeros(2)._form).operation
    'nonzero'
    """
    return UnsupportedOperationError(
        f"{operation}: the result's shape depends on the elements, and a tensor on {form.placement} has none",
        operation=operation,
        decided_by="elements",
    )


def backend() -> MetaBackend:
    """The backend of this process.

    >>> backend().name
    'meta'
    """
    return MetaBackend()
