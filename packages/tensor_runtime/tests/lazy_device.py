"""A device whose arrays are promises: nothing is computed until somebody needs to know.

It is what a backend looks like that sends work elsewhere. What may be put off, what must keep its place, and what is
needed at once, it learns from ``backends.kernel_facts`` alone; where an array lies, it works out from forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any
from weakref import WeakSet

from tensor_core.errors import UnsupportedOperationError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.backends.discovery import AnyBackend
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.form import Form
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement
from tensor_runtime.protocols import Counted, Kernel, Operand, Result

_NUMBERS = count()


class Allocation:
    """Memory that is not there yet: its number, the last call that writes to it, and those that read what is there."""

    def __init__(self) -> None:
        self.number = next(_NUMBERS)
        self.last_write: Call | None = None
        self.readers: WeakSet[Call] = WeakSet()


class Call:
    """A call of a kernel that has been put off, and what must have run before."""

    def __init__(self, kernel: Kernel, arguments: tuple[Any, ...], before: list[Call]) -> None:
        self.kernel = kernel
        self.arguments = arguments
        self.before = before
        self.done = False
        self.found: Any = None

    def run(self) -> Any:
        """What the kernel returns, after everything that it waits for; a chain of any length needs no recursion."""
        waiting = [self]
        while waiting:
            call = waiting[-1]
            missing = [one for one in call.before if not one.done]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if not call.done:
                call.found = call.kernel(*[value_of(one) for one in call.arguments])
                call.done = True
                call.arguments, call.before = (), []
        return self.found


class Promise:
    """An array that a call will give, or gave; where it lies is known before."""

    __slots__ = ("allocation", "call", "itemsize", "offset", "position")

    def __init__(self, call: Call, position: int | None, allocation: Allocation, form: Form, offset: int = 0) -> None:
        self.call = call
        self.position = position  # of several results
        self.allocation = allocation
        self.itemsize = form.dtype.itemsize
        self.offset = offset


def value_of(argument: Any) -> Any:
    """The inner array of a promise whose call has run; anything else as it is."""
    if not isinstance(argument, Promise):
        return argument
    return argument.call.found if argument.position is None else argument.call.found[argument.position]


class LazyBackend:
    """A device of kind ``other(name)``; ``ran`` counts the calls of kernels of ``inner`` that really happened."""

    def __init__(self, inner: AnyBackend, name: str) -> None:
        self.name = name
        self.device_kind = DeviceKind.other(name)
        self.inner = inner
        self.ran = 0

    def placement(self) -> Placement:
        return Placement(MemoryKind.Device, DeviceId(self.device_kind, 0))

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        if name not in self.operations():
            raise UnsupportedOperationError(f"{name}: {self.unsupported().get(name, 'unheard of')}", operation=name)
        inner = self.inner.bind(name, operands, result, params)
        facts = facts_of(name)
        at_once = facts.effect == "answers" or bool(facts.refuses and facts.refuses(name, operands, result, params))

        def counted(*arguments: Any) -> Any:
            self.ran += 1
            return inner(*arguments)

        def kernel(*arguments: Any) -> Any:
            arrays = [one for one in arguments if isinstance(one, Promise)]
            before = [one.call for one in arrays]
            for one in arrays:
                before += [one.allocation.last_write] if one.allocation.last_write else []
                before += one.allocation.readers if facts.effect == "writes" else []
            call = Call(counted, arguments, before)
            if at_once:  # one that refuses its values has run, too, and nobody has to wait for it
                call.run()
            else:
                for one in arrays:
                    one.allocation.readers.add(call)
            if facts.effect == "writes":  # operands that are given up may change, too
                for one in arrays:
                    one.allocation.last_write = call
                    one.allocation.readers.clear()
            if facts.effect == "answers":
                forms = result if isinstance(result, tuple) else (result,)
                return Counted(tuple(map(promised, call.found.arrays, forms)), call.found.count)
            if facts.view:
                offset = arrays[0].offset + moved(name, operands[0], arguments)
                return Promise(call, None, arrays[0].allocation, result, offset)
            if isinstance(result, tuple):
                return tuple(Promise(call, place, Allocation(), form) for place, form in enumerate(result))
            return Promise(call, None, Allocation(), result)  # of None, where nothing but the writing counts

        def moved(name: str, form: Any, arguments: tuple[Any, ...]) -> int:
            """How many elements further a view begins."""
            if name == "slice_view":
                return sum(start * stride for start, stride in zip(arguments[1], form.strides, strict=True))
            if name == "reverse_view" and form.size:
                axes = {axis % form.rank for axis in params.axes}
                return sum((form.shape[axis] - 1) * form.strides[axis] for axis in axes)
            return 0

        return kernel

    def operations(self) -> frozenset[str]:
        return self.inner.operations()

    def unsupported(self) -> Mapping[str, str]:
        return self.inner.unsupported()

    def offset_of(self, array: Promise, /) -> int:
        return array.offset

    def location_of(self, array: Promise, /) -> tuple[int, int]:
        return array.allocation.number, array.offset * array.itemsize

    def upload(self, source: HostTensor[Any], form: Form, /) -> Promise:
        return promised(self.inner.upload(source, form), form)

    def download(self, array: Promise, form: Form, /) -> HostTensor[Any]:
        array.call.run()
        if array.allocation.last_write:
            array.allocation.last_write.run()
        return self.inner.download(value_of(array), form)

    def synchronize(self) -> None:
        """Nothing runs in the background."""

    def describe(self) -> Mapping[str, str]:
        return {"computes with": self.inner.name}


def promised(array: Any, form: Form) -> Promise:
    """A promise that has been kept."""
    call = Call(lambda: array, (), [])
    call.run()
    return Promise(call, None, Allocation(), form)
