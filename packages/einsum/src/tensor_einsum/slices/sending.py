"""How the work of slices reaches other processes: once each, through a file that they map.

An executor pickles what every task gets. What tasks get here is pickled as the name of a file, which is written when
that first happens; a process that gets the name maps the file and keeps it for the tasks that follow. So operands are
written once, whatever the number of tasks and workers, and the workers of one machine share the memory. A worker that
cannot open the file, as on another machine, says so, and gets the data with its tasks.

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
from tensor_core.host.tensor import HostTensor
from tensor_einsum.slices.checkpoint import elements_of
from tensor_runtime.form import Form
from tensor_runtime.ops.creation import asarray
from tensor_runtime.placement import CPU
from tensor_runtime.tensors.tensor import Tensor

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

_ALIGNED: Final = 64  # bytes; what kernels like


class Work(NamedTuple):
    """What a worker needs to compute any slice."""

    plan: Plan
    forms: tuple[Form, ...]  # of the operands
    slots: tuple[tuple[int, Tensor], ...]  # operands that slices read, and what all slices share


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


def _write(file: IO[bytes], token: str, work: Work) -> None:
    """The token, the size of a pickle, the pickle, and the elements of every tensor."""
    described = [(slot, x.shape, x.dtype.name, x.nbytes) for slot, x in work.slots]
    head = pickle.dumps((work.plan, work.forms, described))
    written = file.write(token.encode() + len(head).to_bytes(8, "little") + head)
    for _, x in work.slots:
        written += file.write(bytes(-written % _ALIGNED))
        for piece in elements_of(x):
            written += file.write(piece)
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
    for slot, shape, dtype, size in described:
        start = end + -end % _ALIGNED
        end = start + size
        found.append((slot, asarray(HostTensor.wrap_bytes(content[start:end], shape, dtype), copy=False)))
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
