"""Slices that others compute: threads, processes, or the workers of a cluster.

What all slices share is computed here, once. Workers get that and the operands that slices read, each process once
(``tensor_einsum.slices.sending``), and give parts back, which are added in the order of the slices: the result does not
depend on who was faster. A client of ``dask.distributed`` (anything with ``scatter``) gets the data once; what a worker
did that was killed is done again.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Coroutine, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tensor_core.errors import ArgumentError, BackendError, TensorError, shortened
from tensor_einsum.execution.executor import check_forms
from tensor_einsum.execution.progress import OnStep, check_function
from tensor_einsum.slices.checkpoint import Checkpoint, check_saving
from tensor_einsum.slices.executable import SlicedExecutable
from tensor_einsum.slices.gathering import Gathering
from tensor_einsum.slices.running import bound, check_part, contract
from tensor_einsum.slices.sending import Sent, Work, sendable
from tensor_runtime.backends.meta import META
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.tensors.tensor import Tensor, unwrap, wrap

if TYPE_CHECKING:
    from tensor_einsum.plans.plan import Plan

_ATTEMPTS: Final = 4  # at what a cluster lost
_PART_BYTES: Final = 1 << 24  # of the parts that a task gives back, at most; one part may be larger
_TASKS: Final = 512  # so many at least, where there are as many slices
_AHEAD: Final = 2  # tasks in flight for each worker


def compute(sent: Sent | Work, first: int, last: int) -> list[Tensor] | None:
    """The parts of some slices, or None where the work did not arrive; this is what is submitted.

    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> p, x = plan("i->", (3,)).with_slices("i"), ones((3,))
    >>> [part.item() for part in compute(Work(p, (x._form,), ((0, x),)), 1, 3)]
    [1.0, 1.0]
    """
    work = sent.work if isinstance(sent, Sent) else sent
    if work is None:
        return None
    plan = work.plan
    executable = bound(plan, work.forms, force=True)
    slots: list[Any] = [None] * (len(plan.inputs) + len(plan.steps))
    for slot, tensor in work.slots:
        slots[slot] = tensor._array
    return [wrap(*executable.run(number, slots)) for number in range(first, last)]


def map_slices(
    plan: Plan,
    executor: Any,
    operands: Sequence[Tensor],
    on_slice: OnStep | None,
    checkpoint: Any,
    seconds: Any,
    force: bool,
) -> Tensor:
    """Contract tensors with the help of an executor.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from tensor_einsum import plan
    >>> from tensor_runtime import ones
    >>> p = plan("ij,j->i", (2, 3), (3,)).with_slices("j")
    >>> with ThreadPoolExecutor(2) as executor:
    ...     map_slices(p, executor, [ones((2, 3)), ones((3,))], None, None, 60.0, False).to_numpy()
    array([3., 3.])
    """
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise ArgumentError(
            f"map_slices: found {shortened(executor)}; accepted: anything with a method submit(), such as an executor "
            "of concurrent.futures or a client of dask.distributed"
        )
    forces = flag("map_slices", "force", force)
    check_function("map_slices", "on_slice", on_slice)
    check_saving("map_slices", checkpoint, seconds)
    if not isinstance(executor, ThreadPoolExecutor):
        operands = [sendable(operand) for operand in operands]
    pairs = [unwrap("map_slices", operand) for operand in operands]
    forms = tuple([form for form, _ in pairs])
    check_forms(plan, forms, "map_slices")
    executable = bound(plan, forms, forces)
    making = Gathering(plan, executable.home)
    arrays = [array for _, array in pairs]
    if executable.home is META:
        return wrap(making.form, contract(executable, arrays, making, None))
    state = None if checkpoint is None else Checkpoint(plan, operands, checkpoint, seconds)
    if state is not None:
        state.restore(making)
    with nullcontext() if state is None else state.saved_when_stopped(making):
        if making.taken < executable.count:
            work = Work(plan, forms, _slots_of(executable, executable.prepare(arrays)))
            _Mapping(executor, work, executable, making, state, on_slice).run()
        with nullcontext() if state is None else state.completing():
            result = wrap(making.form, making.finish())
    return result


def _slots_of(executable: SlicedExecutable, prepared: Sequence[Any]) -> tuple[tuple[int, Tensor], ...]:
    return tuple((slot, wrap(form, prepared[slot])) for slot, form in executable.read_by_slices())


class _Task(NamedTuple):
    """Slices from the first to before the last, and the data that they were submitted with."""

    first: int
    last: int
    data: Any
    future: Any


class _Mapping:
    """Tasks in flight, oldest first, and what becomes of them."""

    def __init__(
        self,
        executor: Any,
        work: Work,
        executable: SlicedExecutable,
        making: Gathering,
        state: Checkpoint | None,
        on_slice: OnStep | None,
    ) -> None:
        self.executor, self.work, self.making, self.state, self.on_slice = executor, work, making, state, on_slice
        self.count = executable.count
        self.scatters = callable(getattr(executor, "scatter", None))
        self.options = {"pure": False} if self.scatters else {}
        plan = work.plan
        part = prod(executable.form_of_part(0).shape) * plan.output_dtype.itemsize
        self.chunk = max(1, min(self.count // _TASKS, _PART_BYTES // max(part, 1)))
        self.sent = Sent(work)
        self.put = making.put if state is None else partial(state.put, making)
        self.data: Any = None

    def run(self) -> None:
        """Submit what is left, a few tasks ahead, and add what comes back in the order of the slices."""
        flying: deque[_Task] = deque()
        following = self.making.taken
        try:
            self._hand_out()
            ahead = _AHEAD * self._workers()
            while following < self.count or flying:
                while following < self.count and len(flying) < ahead:
                    last = min(following + self.chunk, self.count)
                    flying.append(_Task(following, last, self.data, self._submit(following, last)))
                    following = last
                task = flying.popleft()
                for number, part in enumerate(self._outcome(task), task.first):
                    form, array = unwrap("map_slices", part)
                    check_part("map_slices", self.making, number, form)
                    self.put(number, form, array, fresh=False)  # an executor may keep it, or lend it to others
                    if self.on_slice is not None:
                        self.on_slice(self.making.taken, self.count)
        finally:
            self.sent.close()
            for task in flying:
                with suppress(Exception):  # of somebody else, and nobody waits for it any more
                    task.future.cancel()

    def _hand_out(self) -> None:
        self.data = self._asked("scatter", self.work, broadcast=True, hash=False) if self.scatters else self.sent

    def _workers(self) -> int:
        known = getattr(self.executor, "_max_workers", None)
        if isinstance(known, int):
            return max(1, known)
        if not callable(getattr(self.executor, "ncores", None)):
            return os.cpu_count() or 1
        cores = self._asked("ncores")
        try:
            return max(1, int(sum(cores.values())))
        except Exception:
            raise ArgumentError(
                f"map_slices: ncores() gave {shortened(cores)}; accepted: a dict, by worker the number of its cores"
            ) from None

    def _asked(self, method: str, *arguments: Any, **options: Any) -> Any:
        """What a method of the executor gives."""
        try:
            found = getattr(self.executor, method)(*arguments, **options)
        except Exception as error:
            raise self._broken(error) from error
        if isinstance(found, Coroutine):
            found.close()  # else Python warns that nobody awaited it
            raise ArgumentError(
                f"map_slices: {method}() of {shortened(self.executor)} gave a coroutine; accepted: an executor whose "
                "methods are called without await, such as a client of dask.distributed without asynchronous=True"
            )
        return found

    def _submit(self, first: int, last: int) -> Any:
        future = self._asked("submit", compute, self.data, first, last, **self.options)
        if not callable(getattr(future, "result", None)) or not callable(getattr(future, "cancel", None)):
            raise ArgumentError(
                f"map_slices: submit() gave {shortened(future)}; accepted: a future, with result() and cancel()"
            )
        return future

    def _outcome(self, task: _Task) -> list[Tensor]:
        """The parts of a task; one that a cluster lost, with its worker or its data, is submitted again.

        Tasks that were lost with the same data are given the same new data.
        """
        first, last, data, future = task
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                parts = future.result()
                if parts is None:  # the worker is on another machine
                    self.sent.by_value = True
                    parts = self._submit(first, last).result()
                if not isinstance(parts, list) or len(parts) != last - first:
                    raise BackendError(
                        f"map_slices: the result of a task is {shortened(parts)}; accepted: what the "
                        f"function gives that was submitted, here a list of {last - first} tensors"
                    )
                return parts
            except TensorError:
                raise
            except BrokenExecutor as error:
                raise self._broken(error) from error
            except Exception as error:
                if not self.scatters or attempt == _ATTEMPTS:
                    raise BackendError(
                        f"map_slices: slices {first} to {last - 1} failed: {type(error).__name__}: {error}"
                    ) from error
                if self.data is data:
                    self._hand_out()
                data, future = self.data, self._submit(first, last)
        raise AssertionError

    def _broken(self, error: Exception) -> BackendError:
        hint = "a new call with the same checkpoint goes on" if self.state else "give checkpoint= to go on in a new one"
        return BackendError(
            f"map_slices: the executor broke after {self.making.taken} of {self.count} slices: {type(error).__name__}: "
            f"{error}; {hint}"
        )
