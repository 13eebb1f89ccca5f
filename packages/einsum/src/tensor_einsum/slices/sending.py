"""How the work of slices reaches other processes: once each, through a file that they map.

An executor pickles what every task gets. What tasks get here is pickled as the name of a file, which is written when
that first happens; a process that gets the name maps the file and keeps it for the tasks that follow. So operands are
written once, whatever the number of tasks and workers, and the workers of one machine share the memory. A worker that
cannot open the file, as on another machine, says so, and gets the data with its tasks.

Strides choose kernels, and so the bits of a result. So what is sent is the memory in which elements lie, with the gaps
between them, and a worker sees it through the same strides.

On Linux the file has no name in any folder: it is gone when the process that wrote it is, however that ended.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from mmap import ACCESS_COPY, mmap
from tempfile import NamedTemporaryFile, TemporaryFile
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from tensor_core.files.source import open_regular
from tensor_core.host.interchange import borrow
from tensor_core.host.storage import Storage
from tensor_core.host.tensor import HostTensor, HostTensorView
from tensor_core.layout import TensorLayout
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import Form
from tensor_runtime.ops.creation import asarray
from tensor_runtime.ops.views import permute_axes, to_contiguous
from tensor_runtime.placement import CPU
from tensor_runtime.tensors.tensor import Tensor, unwrap
from tensor_runtime.tensors.transfer import lend

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

_ALIGNED: Final = 64  # bytes; what kernels like
_SPREAD: Final = 4  # times the bytes of its elements: so much memory of an operand is sent, at most


def sendable(operand: Tensor) -> Tensor:
    """An operand as it can be sent: itself, or a compact copy of one that lies far apart.

    What is on a device goes to no other process, and stays as it is.

    >>> from tensor_runtime import ones
    >>> sendable(ones((2, 3)).T).strides, sendable(ones((99, 9))[0]).strides
    ((2, 1), (1,))
    """
    form, _ = unwrap("map_slices", operand)
    if form.is_compact or form.placement is not CPU:
        return operand
    lent = _lent(operand)
    far = lent is None or lent[0].raw.nbytes > _SPREAD * form.nbytes
    return to_contiguous(operand) if far else operand


class Work(NamedTuple):
    """What a worker needs to compute any slice."""

    plan: Plan
    forms: tuple[Form, ...]  # of the operands
    slots: tuple[tuple[int, Tensor], ...]  # operands that slices read, and what all slices share

    def __reduce__(self) -> tuple[object, ...]:
        """With copies of the memory; else a tensor would become compact."""
        described = [(slot, *_memory(x)) for slot, x in self.slots]
        copies = [(slot, place, x if isinstance(x, Tensor) else bytearray(x)) for slot, place, x in described]
        return _made, (self.plan, self.forms, copies)


class Sent:
    """Work that is pickled as the name of a file, as long as that is open.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> p, x = plan("i->", (3,)).with_slices("i"), ones((3,))
    >>> sent = Sent(Work(p, (x._form,), ((0, x),)))
    >>> pickle.loads(pickle.dumps(sent)).work.slots[0][1].to_numpy().tolist()
    [1.0, 1.0, 1.0]
    >>> sent.close()
    >>> pickle.loads(pickle.dumps(sent)).work.plan == p
    True
    """

    def __init__(self, work: Work | None) -> None:
        self.work = work
        """None where the file could not be opened."""
        self.by_value = work is None or any(form.placement is not CPU for form in work.forms)
        """Whether the data itself is pickled."""
        self._lock = Lock()
        self._file: IO[bytes] | None = None
        self._where = "", ""

    def __reduce__(self) -> tuple[object, ...]:
        with self._lock:
            if not self.by_value and self._file is None:
                try:
                    self._write()
                except OSError:  # no room, no folder
                    self.by_value = True
        return (Sent, (self.work,)) if self.by_value else (received, self._where)

    def close(self) -> None:
        """Remove the file; what is pickled from now on is the data."""
        with self._lock:
            self.by_value = True
            if self._file is not None:
                self._file.close()
                with suppress(OSError):  # it has no name of its own, or is open elsewhere
                    os.unlink(self._where[1])

    def _write(self) -> None:
        assert self.work is not None
        token = uuid4().hex
        # A file without a name is reached through the process that has it open.
        own = os.path.isdir(f"/proc/{os.getpid()}/fd")
        file: IO[bytes] = TemporaryFile() if own else NamedTemporaryFile(prefix="slices-", delete=False)  # noqa: SIM115
        try:
            _write(file, token, self.work)
        except BaseException:
            file.close()
            if not own:
                os.unlink(file.name)
            raise
        self._file = file
        self._where = token, f"/proc/{os.getpid()}/fd/{file.fileno()}" if own else file.name


def _made(plan: Plan, forms: tuple[Form, ...], copies: Sequence[Any]) -> Work:
    """Work that was pickled with its data."""
    return Work(plan, forms, tuple([(slot, x if place is None else _seen(x, *place)) for slot, place, x in copies]))


def _lent(x: Tensor) -> tuple[Storage, TensorLayout] | None:
    """The memory of a tensor on the host, from its lowest element to its highest, and how they lie there."""
    form = x._form
    backend: Any = registry.backend_for(form.placement)
    if not form.size or not hasattr(backend, "lend"):
        return None
    return borrow(lend("map_slices", backend, x._array, form))


def _memory(x: Tensor) -> tuple[tuple[Form, int] | None, Any]:
    """The form of a tensor and the place of its first element, and the memory; None and itself where none is lent."""
    lent = _lent(x)
    return (None, x) if lent is None else ((x._form, lent[1].offset), lent[0].raw)


def _seen(memory: Any, form: Form, offset: int) -> Tensor:
    """The tensor of a form in memory, whose first element is at an offset.

    >>> from tensor_runtime import tensor
    >>> x = tensor([[1, 2, 3], [4, 5, 6]])[::-1, ::2]
    >>> place, memory = _memory(x)
    >>> y = _seen(bytearray(memory), *place)
    >>> y.strides == x.strides, y.tolist()
    (True, [[4, 6], [1, 3]])
    """
    if form.is_compact:
        return asarray(HostTensor.wrap_bytes(memory, form.shape, form.dtype), copy=False)
    axes = sorted(range(form.rank), key=lambda axis: abs(form.strides[axis]))  # else it would be copied
    shape, strides = ([one[axis] for axis in axes] for one in (form.shape, form.strides))
    layout = TensorLayout(tuple(shape), tuple(strides), offset)
    lying: HostTensorView[Any] = HostTensorView(Storage(form.dtype, memory), layout)
    return permute_axes(asarray(lying, copy=False), [axes.index(axis) for axis in range(form.rank)])


def _write(file: IO[bytes], token: str, work: Work) -> None:
    """The token, the size of a pickle, the pickle, and the memory of every tensor."""
    described = [(slot, *_memory(x)) for slot, x in work.slots]
    head = pickle.dumps(
        (work.plan, work.forms, [(slot, place, x if place is None else x.nbytes) for slot, place, x in described])
    )
    written = file.write(token.encode() + len(head).to_bytes(8, "little") + head)
    for _, place, memory in described:
        if place is not None:
            written += file.write(bytes(-written % _ALIGNED))
            written += file.write(memory)
    file.flush()


@lru_cache(maxsize=1)
def _read(token: str, path: str) -> Work:
    """The work in a file; kept until this process gets other work.

    Raises:
        OSError, ValueError: there is no such file here, or another one.
    """
    with open_regular(path) as file:  # of another process's files, a pipe may have the number that is looked for
        # Pages are shared by all who map them; nobody writes, but tensors want memory that could be written.
        content = memoryview(mmap(file.fileno(), 0, access=ACCESS_COPY))
    start = len(token) + 8
    if content[: len(token)] != token.encode():
        raise ValueError(f"{path} is another file")
    end = start + int.from_bytes(content[len(token) : start], "little")
    plan, forms, described = pickle.loads(content[start:end])
    return Work(plan, forms, tuple(_tensors(content, end, described)))


def _tensors(content: memoryview, end: int, described: Sequence[Any]) -> list[tuple[int, Tensor]]:
    found = []
    for slot, place, x in described:
        if place is None:
            found.append((slot, x))
            continue
        start = end + -end % _ALIGNED
        end = start + x
        found.append((slot, _seen(content[start:end], *place)))
    return found


def received(token: str, path: str) -> Sent:
    """The work in a file that another process has written; without work if there is no such file here.

    >>> received("0" * 32, "/no/such/file").work is None
    True
    """
    try:
        return Sent(_read(token, path))
    except (OSError, ValueError):
        return Sent(None)
