"""Where the time of a network goes: its steps one by one, each beside what it cannot beat. Sorted by what is lost.

A plan's kernels run in their order, each between two looks at the clock, so that caches and fresh memory are as they
are in a call. Steps with one kernel are one line. Limits are those of ``benchmarks.step_limits``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from statistics import median
from time import perf_counter
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final, NamedTuple

import tensor_einsum
import tensor_runtime as tr
from benchmarks import drawn, einsum
from benchmarks.drawing import draw
from benchmarks.measuring import Crew
from benchmarks.report import duration
from benchmarks.rows import Row
from benchmarks.step_limits import Limits, Work, work_of
from tensor_einsum.execution.executor import Instruction, bind_steps
from tensor_einsum.steps.steps import Step, numbered

FEWEST_ROUNDS: Final = 3
MOST_ROUNDS: Final = 41
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class StepTime(NamedTuple):
    """Steps with one kernel: what they compute, and seconds of all of them."""

    subscripts: str
    shapes: tuple[tuple[int, ...], ...]
    kernel: str
    work: Work
    seconds: float
    limit: float


class Profile(NamedTuple):
    """The steps of a network, those first that lose most."""

    name: str
    threads: int
    steps: tuple[StepTime, ...]


def measure(
    folder: Path | None, only: str, threads: Sequence[int], seconds: float, *, with_drawn: bool = False
) -> Iterator[Profile]:
    """Every network whose name contains ``only`` at every number of threads, each for about so many seconds.

    ``with_drawn`` adds those of ``benchmarks.drawn``.
    """
    for count in threads:
        crew = Crew(count, {})
        try:
            with tr.set_threads(count):
                for row in chain(einsum.rows(folder), drawn.rows(folder) if with_drawn else ()):
                    if only in row.name:
                        yield _profile(row, count, seconds, crew.limits)
        finally:
            crew.close()


def _profile(row: Row, threads: int, seconds: float, limits: Limits) -> Profile:
    tensors = [tr.asarray(array.T) for array in draw(row.operands, 0)]
    path = [tuple(step) for step in row.arguments["path"]]
    plan = tensor_einsum.plan(row.arguments["subscripts_colmajor"], *tensors, optimize=path)
    forms = [tensor._form for tensor in tensors]
    instructions, _ = bind_steps(plan.steps, forms, plan.output_dtype, plan.algebra)
    times = _times(instructions, [tensor._array for tensor in tensors], seconds)
    groups: dict[Any, list[int]] = {}
    for number, instruction in enumerate(instructions):
        groups.setdefault(id(instruction.kernel), []).append(number)
    steps = []
    for group in groups.values():
        step, kernel = plan.steps[group[0]], instructions[group[0]].kernel
        work = work_of(step.inputs, step.output, dict(enumerate(plan.extents)))._replace(steps=len(group))
        shapes = tuple(tuple(plan.extents[label] for label in term) for term in step.inputs)
        spent = sum(times[number] for number in group)
        steps.append(StepTime(_subscripts(step), shapes, kernel_name(kernel), work, spent, limits.seconds(work)))
    return Profile(row.name, threads, tuple(sorted(steps, key=lambda one: one.limit - one.seconds)))


def _times(instructions: Sequence[Instruction], arrays: Sequence[Any], seconds: float) -> list[float]:
    """The median seconds of every instruction."""
    samples: list[list[float]] = [[] for _ in instructions]
    began = perf_counter()
    rounds = 0
    while rounds < FEWEST_ROUNDS or (rounds < MOST_ROUNDS and perf_counter() - began < seconds):
        slots = list(arrays)
        for number, (kernel, first, second) in enumerate(instructions):
            operands = (slots[first],) if second < 0 else (slots[first], slots[second])
            start = perf_counter()
            result = kernel(*operands)
            samples[number].append(perf_counter() - start)
            slots.append(result)
            slots[first] = None
            if second >= 0:
                slots[second] = None
        rounds += 1
    return [median(values[1:]) for values in samples]  # the first run finds no memory mapped


def _subscripts(step: Step) -> str:
    *inputs, output = ("".join(_letter(label) for label in term) for term in numbered((*step.inputs, step.output)))
    return f"{','.join(inputs)}->{output}"


def _letter(label: int) -> str:
    return _LETTERS[label] if label < len(_LETTERS) else chr(0x100 + label)


def kernel_name(kernel: Any) -> str:
    """What a native kernel says of itself; of a function around others, what they are called, or who made it.

    >>> def make(function):
    ...     return lambda x: 2 * x if function is None else function(x)
    >>> kernel_name(make(make(None)))
    'make'
    """
    return ", ".join(dict.fromkeys(_names(kernel)))


def _names(kernel: Any) -> Iterator[str]:
    if not isinstance(kernel, FunctionType):
        yield str(kernel).removeprefix("<native kernel ").removesuffix(">")
        return
    cells = [cell.cell_contents for cell in kernel.__closure__ or ()]
    inside = [one for one in cells if callable(one) and not isinstance(one, BuiltinFunctionType)]
    for one in inside:
        yield from _names(one)
    if not inside:
        yield kernel.__qualname__.split(".")[0]


def as_markdown(profile: Profile, top: int) -> str:
    """A line per kernel, the ``top`` ones that lose most."""
    seconds, limit = (sum(getattr(step, field) for step in profile.steps) for field in ("seconds", "limit"))
    lines = [
        f"{profile.name}, {profile.threads} threads: {duration(seconds)} in {sum(s.work.steps for s in profile.steps)}"
        f" steps, limit {duration(limit)}, ratio {seconds / limit:.2f}",
        "",
        "| lost | share | time | limit | ratio | steps | m, n, k, stack | MB | kernel | step |",
        "|--:|--:|--:|--:|--:|--:|---|--:|---|---|",
    ]
    for step in profile.steps[:top]:
        cells = (
            f"{(step.seconds - step.limit) / seconds:.1%}",
            f"{step.seconds / seconds:.1%}",
            duration(step.seconds / step.work.steps),
            duration(step.limit / step.work.steps),
            f"{step.seconds / step.limit:.2f}",
            step.work.steps,
            ", ".join(map(str, step.work[:4])),
            f"{step.work.moved / 1e6:.3g}",
            step.kernel,
            f"{step.subscripts} {' '.join('×'.join(map(str, shape)) or '1' for shape in step.shapes)}",
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)
