"""What a call would do: the kernels that run, what they read and write, and why not a faster way.

``explain`` runs the public function on tensors without elements, as ``infer`` does, notes which kernels it calls, and
asks the backend of each about it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tensor_core.errors import UnsupportedOperationError
from tensor_runtime.backends.discovery import AnyBackend
from tensor_runtime.backends.error_translation import naming
from tensor_runtime.backends.kernel_facts import facts_of
from tensor_runtime.backends.meta import KernelRequest, OutputOf, kernels_called
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.infer import on_meta
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import Placement
from tensor_runtime.protocols import ExplainingBackend, KernelChoice, Operand


class ExplainedKernel(NamedTuple):
    """One kernel of a call.

    Attributes:
        operation: its name, as in ``docs/kernels.md``.
        operands: forms of the tensors that it reads, and the types of Python numbers.
        results: forms of what it makes.
        times: how often it runs.
        backend: the name of the backend.
        choice: how that backend computes it; None for one that cannot say.
        bytes: what one run reads and writes, without workspace; nothing for a view.
    """

    operation: str
    operands: tuple[Operand, ...]
    results: tuple[Form, ...]
    times: int
    backend: str
    choice: KernelChoice | None
    bytes: int


class Explanation(tuple[ExplainedKernel, ...]):
    """The kernels of a call in order of their first run; prints as a table, with notes below.

    Attributes:
        decided_by_elements: why the call was followed no further than to the last kernel; empty where it was.
    """

    decided_by_elements: str = ""

    def __repr__(self) -> str:
        further = f"what follows is decided by elements: {self.decided_by_elements}" if self.decided_by_elements else ""
        if not self:
            return further or "no kernel runs on the tensors given"
        rows = [("kernel", "operands", "result", "runs", "by", "threads", "bytes", "workspace")]
        notes = []
        for number, one in enumerate(self, 1):
            choice = one.choice or KernelChoice("cannot say", 0)
            rows.append((
                f"{number} {one.operation}",
                ", ".join(map(_shown, one.operands)) or "none",
                ", ".join(map(_shown, one.results)),
                str(one.times),
                f"{one.backend}: {choice.kernel}",
                str(choice.threads or "?"),
                f"{one.bytes:,}",
                f"{choice.workspace_bytes:,}",
            ))  # fmt: skip
            notes += [f"{number}: {note}" for note in choice.notes]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, *notes, further] if further else lines + notes)


@naming("infer")
def explain(function: Callable[..., object], /, *arguments: object, **options: object) -> Explanation:
    """What a call of ``function`` would do, without data and without computing.

    Args:
        function: any function of this library, or one of yours that calls them.
        arguments: as for :func:`~tensor_runtime.infer`: tensors, forms, or pairs (dtype, shape). Tensors that the
            function makes itself are computed with, and no kernel is told that runs on them alone.
        options: keyword arguments of the function.

    Returns:
        The kernels that would run, each with the bytes it reads and writes, its workspace, the most threads that it
        may use, and notes: copies made first, and why a faster way was not taken. What the runtime decides from the
        elements, such as which matrices failed, is not in it; where the elements decide how the call goes on, as in
        ``nonzero`` and in iterative solvers, it ends there and says so.

    Raises:
        TensorError: as for :func:`~tensor_runtime.infer`, but where elements decide.

    >>> import tensor_runtime as tr
    >>> [one.operation for one in explain(lambda x: tr.mean(x * x), (tr.F64, (1000,)))]
    ['multiply', 'mean']
    """
    reason = ""
    with kernels_called() as called:
        call, places = on_meta(function, arguments, options)
        try:
            call()
        except UnsupportedOperationError as error:
            if getattr(error, "decided_by", None) != "elements":
                raise
            reason = str(error)
    explanation = Explanation(
        _explained(request, times, places) for request, times in called.items() if not _is_spared(request, places)
    )
    explanation.decided_by_elements = reason
    return explanation


def _explained(request: KernelRequest, times: int, places: dict[Placement, Placement]) -> ExplainedKernel:
    request = _really_asked(request, places)
    made = request.result if isinstance(request.result, tuple) else (request.result,)
    backend = _backend_of(request)
    choice = backend.explain(*request) if isinstance(backend, ExplainingBackend) else None
    read = [one.nbytes for one in request.operands if isinstance(one, Form)]
    touched = 0 if facts_of(request.operation).view else sum(read) + sum(one.nbytes for one in made)
    return ExplainedKernel(request.operation, request.operands, made, times, backend.name, choice, touched)


def _is_spared(request: KernelRequest, places: dict[Placement, Placement]) -> bool:
    """Whether it is a copy to ``out`` that is not made, because the kernel before it writes there."""
    if not isinstance(request.params, OutputOf):
        return False
    maker = _really_asked(request.params.maker, places)
    backend = _backend_of(maker)
    return isinstance(backend, ExplainingBackend) and backend.explain(*maker).fills_output


def _really_asked(request: KernelRequest, places: dict[Placement, Placement]) -> KernelRequest:
    """What the backend is asked in a real call."""
    operands = tuple(_placed(one, places) if isinstance(one, Form) else one for one in request.operands)
    found = request.result
    result = tuple(_placed(one, places) for one in found) if isinstance(found, tuple) else _placed(found, places)
    params = None if isinstance(request.params, OutputOf) else request.params
    return KernelRequest(request.operation, operands, result, params)


def _backend_of(request: KernelRequest) -> AnyBackend:
    made = request.result if isinstance(request.result, tuple) else (request.result,)
    return registry.backend_for((made or [one for one in request.operands if isinstance(one, Form)])[0].placement)


def _placed(form: Form, places: dict[Placement, Placement]) -> Form:
    return form_of(form.dtype, form.shape, places.get(form.placement, form.placement), form.strides)


def _shown(one: Operand) -> str:
    if not isinstance(one, Form):
        return one.__name__
    return f"{one.dtype.name}{list(one.shape)}{'' if one.is_compact else f' strides {list(one.strides)}'}"
