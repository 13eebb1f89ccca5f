"""Checkpoints: a sum of slices that is saved at intervals, and goes on after the process was killed.

A file has one line of JSON, which says of which plan, which operands and how many slices the sum is (and which exponent
was taken off it, if one was), and then the elements in column-major order. It appears whole or not at all. Sums have
one order, so a run that goes on ends with the bits of one that was never stopped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import chain
from time import monotonic
from types import NoneType
from typing import TYPE_CHECKING, Any, Final
from warnings import warn

from tensor_core.dtypes import Bool
from tensor_core.errors import ArgumentError, FormatError, LoadError, SaveError, shortened
from tensor_core.files.atomic_write import remove_leftover, write_atomically
from tensor_core.files.source import open_regular
from tensor_core.foreign import number_of
from tensor_core.host.tensor import HostTensor, HostTensorView
from tensor_core.interrupts import InterruptsHeld, is_of_a_signal
from tensor_einsum.slices.gathering import Gathering
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.arguments import file_name
from tensor_runtime.form import Form
from tensor_runtime.ops.creation import asarray
from tensor_runtime.tensors.tensor import Tensor, wrap
from tensor_runtime.tensors.transfer import lend, to

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

FORMAT: Final = "tensor_einsum.slices/1"
_LONGEST: Final = 1 << 16  # bytes of the first line
_PIECE: Final = 1 << 24  # bytes read or digested at once


class Checkpoint:
    """Where a sum of slices is kept.

    Args:
        plan, operands: what is contracted; their digests have to be those of the file.
        path: a file that may be there from an earlier run.
        seconds: between two savings; 0 saves after every slice.
        scaled: whether the sum has an exponent of its own, ``Gathering.exponent``.

    Raises:
        ArgumentError: ``path`` is no name, or ``seconds`` no number of 0 or more.
        SaveError: its folder is not there, or may not be written into.

    >>> import tempfile
    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> p, x = plan("i->", (3,)).with_slices("i"), ones((3,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     state = Checkpoint(p, [x], os.path.join(folder, "sum"), 0)
    ...     making = Gathering(p, x.placement)
    ...     state.put(making, 0, ones(())._form, ones(())._array, fresh=True)
    ...     resumed = Gathering(p, x.placement)
    ...     state.restore(resumed)
    ...     resumed.taken, float(resumed.array)
    (1, 1.0)
    """

    def __init__(self, plan: Plan, operands: Sequence[Tensor], path: Any, seconds: Any, scaled: bool = False) -> None:
        check_saving("einsum", path, seconds)
        self.path = file_name("einsum", "checkpoint", path)
        folder = os.path.dirname(os.path.realpath(self.path))
        if not os.path.isdir(folder) or not os.access(folder, os.W_OK):  # before the first slice, not when one is saved
            raise SaveError(
                f"einsum: checkpoint {self.path!r} cannot be written: {folder!r} is no folder that may be written into",
                path=self.path,
            )
        self.plan, self.seconds, self.scaled = plan, seconds, scaled
        self._digests = {"plan": digest_of_plan(plan), "operands": digest_of_operands(operands)}
        self._saved = monotonic()
        self._whole = True  # whether the sum is that of the parts that were taken
        self._kept = 0  # parts in the file's sum

    def restore(self, making: Gathering) -> None:
        """Put what the file has into a result that is still empty; without a file nothing happens.

        Raises:
            FormatError: the file is no checkpoint, of another plan or of other operands, or damaged.
            LoadError: it cannot be read.
        """
        try:
            with open_regular(self.path) as file:
                header = self._header(file.readline(_LONGEST))
                elements = bytearray(making.form.nbytes)
                rest = memoryview(elements)
                while rest:
                    count = file.readinto(rest[:_PIECE])
                    if not count:
                        break
                    rest = rest[count:]
                counted: dict[str, int | None] = {
                    name: header[name] for name in ("taken", "exponent") if name in header
                }
                if rest or file.read(1) or header["elements"] != _digest([_line(counted), elements]):
                    raise self._refused("its elements are not those that were written")
        except FileNotFoundError:
            return
        except OSError as error:
            if is_of_a_signal(error):
                raise
            raise LoadError(
                f"einsum: checkpoint {self.path!r} cannot be read: {error.strerror or error}",
                path=self.path,
                errno=error.errno,
            ) from error
        found = asarray(HostTensor.wrap_bytes(elements, making.form.shape, making.form.dtype), copy=False)
        making.array = to(found, making.form.placement)._array
        making.taken, making.exponent = header["taken"], header.get("exponent")
        self._kept = making.taken

    def _header(self, line: bytes) -> dict[str, Any]:
        try:
            header = json.loads(line)
        except (ValueError, RecursionError):
            header = None
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise self._refused(f"it is no file of format {FORMAT!r}")
        for name, digest in self._digests.items():
            if header.get(name) != digest:
                what = "of another plan" if name == "plan" else "of other operands"
                raise self._refused(f"it is {what}")
        taken = header.get("taken")
        if type(taken) is not int or not 0 < taken <= self.plan.slices.count or "elements" not in header:
            raise self._refused("its first line is not what was written")
        if ("exponent" in header) is not self.scaled:
            which = "without" if self.scaled else "with"
            raise self._refused(f"it is of a sum {which} an exponent of its own (strip_exponent=)")
        if type(header.get("exponent")) not in (int, NoneType):
            raise self._refused("its first line is not what was written")
        return header

    def _refused(self, why: str) -> FormatError:
        return FormatError(
            f"einsum: checkpoint {self.path!r} cannot be gone on from: {why}; remove it, or give another name",
            path=self.path,
        )

    def put(self, making: Gathering, number: int, form: Form, array: Any, *, fresh: bool) -> None:
        """The next part, as ``Gathering.put`` takes it."""
        with self.taking(making):
            making.put(number, form, array, fresh=fresh)

    @contextmanager
    def saved_when_stopped(self, making: Gathering) -> Iterator[None]:
        """A block that leaves the sum so far in the file, whatever stops it.

        Where it cannot be saved, that is what is raised; but Ctrl-C stays Ctrl-C, with a note.
        """
        try:
            yield
        except Exception:
            self.save(making)
            raise
        except BaseException as stop:
            try:
                self.save(making)
            except Exception as failure:
                stop.add_note(str(failure))
            raise

    @contextmanager
    def taking(self, making: Gathering) -> Iterator[None]:
        """A block that puts one part into the sum, which Ctrl-C leaves whole; saves it then, if that is due."""
        with InterruptsHeld():
            self._whole = False
            yield
            self._whole = True
        if monotonic() - self._saved >= self.seconds:
            self.save(making)

    @contextmanager
    def completing(self) -> Iterator[None]:
        """A block that makes the result of the whole sum, after which the file is removed.

        Ctrl-C takes effect before the block or after it: what is written once is not written again by the next call.
        """
        with InterruptsHeld():
            self._whole = False  # it may be scaled where it lies
            yield
            self.remove()

    def save(self, making: Gathering) -> None:
        """Save the sum so far, unless the file has it, or what stopped the run came while a part was being added.

        Raises:
            SaveError: the file cannot be written; the former one is untouched.
        """
        if making.taken == self._kept or not self._whole:
            return
        result = wrap(making.form, making.array)  # its pieces are made twice, so that one is there at a time
        counted: dict[str, int | None] = {"taken": making.taken}
        if self.scaled:
            counted["exponent"] = making.exponent
        elements = _digest(chain([_line(counted)], elements_of(result)))
        header = {"format": FORMAT, **self._digests, **counted, "elements": elements}
        try:
            write_atomically(self.path, chain([json.dumps(header).encode() + b"\n"], elements_of(result)))
        except SaveError as error:
            why = str(error).removeprefix("save: ")
            raise SaveError(f"einsum: checkpoint {why}", path=self.path, errno=error.errno) from error
        self._saved, self._kept = monotonic(), making.taken

    def remove(self) -> None:
        """Remove the file, when the result is complete; a symbolic link to it stays, as when the file is saved.

        What a killed process left of it goes, too. A file that the system keeps is warned of: the result is there.
        """
        remove_leftover(self.path)
        try:
            os.unlink(os.path.realpath(self.path))
        except FileNotFoundError:
            return
        except OSError as error:
            if is_of_a_signal(error):
                raise
            warn(
                f"einsum: checkpoint {self.path!r} could not be removed: {error.strerror or error}; the result is "
                "complete: remove the file, or a later call goes on from it",
                RuntimeWarning,
                stacklevel=2,
            )


def check_saving(operation: str, path: Any, seconds: Any) -> None:
    """Refuse what names no file, unless it is None, and what is no time between two savings.

    >>> check_saving("einsum", None, "x")
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: einsum: checkpoint_seconds is 'x'; accepted: a number of 0 or more, in seconds
    """
    if path is not None:
        file_name(operation, "checkpoint", path)
    number = number_of(seconds)
    if isinstance(number, (bool, complex, NoneType)) or not number >= 0:
        raise ArgumentError(
            f"{operation}: checkpoint_seconds is {shortened(seconds)}; accepted: a number of 0 or more, in seconds",
            operation=operation,
        )


def digest_of_plan(plan: Plan) -> str:
    """What identifies a plan in a file.

    >>> from tensor_einsum import plan
    >>> digest_of_plan(plan("i->", (3,))) == digest_of_plan(plan("i->", (4,)))
    False
    """
    return _digest([plan.to_json().encode()])


def digest_of_operands(operands: Sequence[Tensor]) -> str:
    """What identifies operands in a file: dtypes, shapes and elements, not how they lie.

    >>> from tensor_runtime import ones
    >>> digest_of_operands([ones((2, 3))]) == digest_of_operands([ones((3, 2)).T])
    True
    """
    pieces: list[bytes] = []
    for operand in operands:
        described = f"{operand.dtype.name} {operand.shape} ".encode()
        pieces.append(_digest(chain([described], elements_of(operand))).encode())
    return _digest(pieces)


def elements_of(x: Tensor) -> Iterator[bytes | memoryview]:
    """The bytes of the elements in column-major order: the memory itself, or copies of a few megabytes, one at a time.

    >>> from tensor_runtime import ones
    >>> sum(len(piece) for piece in elements_of(ones((2, 3)).T))
    48
    """
    form = x._form
    if not form.size:
        return
    backend: Any = registry.backend_for(form.placement)
    if form.is_compact and form.dtype is not Bool and hasattr(backend, "lend"):
        yield HostTensorView.borrow(lend("einsum", backend, x._array, form)).as_slice().cast("B")
    elif form.nbytes > _PIECE and form.rank:
        count = form.shape[-1]
        together = _PIECE * count // form.nbytes
        for start in range(0, count, together or 1):
            yield from elements_of(x[..., start : min(start + together, count)] if together else x[..., start])
    else:
        yield backend.download(x._array, form).raw


def _line(counted: dict[str, int | None]) -> bytes:
    """What a sum is besides its elements, as it goes into their digest: one part more or less is another sum."""
    return "".join(f"{value} " for value in counted.values()).encode()


def _digest(pieces: Iterable[Any]) -> str:
    found = blake2b(digest_size=32)
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()
