"""All programs for devices, with launches of each: what the tests of their sources go through.

A program that an elementwise kernel launches, or any operation with conformance cases, is among them by itself.
"""

from __future__ import annotations

import inspect
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final, NamedTuple

import tensor_gpu.programs
from gpu_programs.drawing import CANCELLING, elementwise_kernels, every_call
from gpu_programs.recording import Noted, Recording, recorded
from tensor_core.dtypes import C64, DTYPES, F64, I32
from tensor_core.errors import CastRangeError, IndexingError
from tensor_gpu.device.program import Program
from tensor_runtime.algebras import MIN_PLUS, PLUS_TIMES
from tensor_runtime.dispatch.conversion import cast
from tensor_runtime.ops.contraction import dot_general
from tensor_runtime.ops.creation import full
from tensor_runtime.ops.gather_scatter import SCATTER_MODES, gather, put_along_axis, scatter, take
from tensor_runtime.ops.indexing import mutable_view
from tensor_runtime.ops.ranges import arange
from tensor_runtime.ops.slicing import dynamic_slice, dynamic_update_slice
from tensor_runtime.ops.sort import argsort, sort
from tensor_runtime.ops.views import copy, permute_axes
from tensor_runtime.placement import Placement
from tensor_runtime.tensors.devices import checks
from tensor_runtime.tensors.transfer import synchronize
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.conformance import CASES, check_case

MOST_ROUNDS: Final = 4  # of cases, in search of programs that none has launched
MOST_LAUNCHES: Final = 6  # of one program that are kept


def _refused_late(place: Placement) -> None:
    """A cast that meets a number out of range, which is noted and told when it is waited for."""
    with checks("deferred"):
        cast(full((3,), 3e9, placement=place), I32)
    with suppress(CastRangeError):
        synchronize(place)


def _indexed_late(place: Placement) -> None:
    """Reads and writes at indices that nobody has looked at yet; of each some that are right, and some that are not."""
    x = cast(arange(12, placement=place), F64).reshape((3, 4))
    for last in (2, 3):
        at = full((3,), last, placement=place)
        with checks("deferred"):
            take(x, at, axis=0)
            for dtype in DTYPES:
                gather(cast(x, dtype)[:, ::-1], at)
            dynamic_slice(x, at[:2], (1, 2))
            dynamic_update_slice(x, x[:1, :2], at[:2])
            for mode in SCATTER_MODES:
                scatter(x, at, x, mode=mode)
            scatter(cast(x, C64), at, cast(x, C64), mode="multiply")
            put_along_axis(mutable_view(copy(x)), at.reshape((3, 1)), x[:, :1], axis=0)
        with suppress(IndexingError):
            synchronize(place)


def _permuted(place: Placement) -> None:
    """Copies that go by tiles: of two long axes, of many short ones, and of what is read backwards."""
    x = cast(arange(4800, placement=place), F64)
    copy(permute_axes(x.reshape((75, 64)), (1, 0)))
    cast(permute_axes(x.reshape((40, 40, 3))[::-1], (2, 1, 0)), C64)
    copy(permute_axes(x[:4096].reshape((2,) * 12), (7, 2, 11, 0, 5, 9, 1, 10, 3, 8, 4, 6)))


def _multiplied(place: Placement) -> None:
    """Products in several algebras whose sums go by tiles."""
    whole = (arange(1600, placement=place) * 7919 % 1499).reshape((40, 40))
    for x, algebra in ((whole, PLUS_TIMES), (cast(whole, F64), MIN_PLUS)):
        dot_general(x, x, contracting=((1,), (0,)), algebra=algebra)


BESIDE_CASES: Final[Mapping[str, Callable[[Placement], object]]] = {
    "sort of several runs": lambda place: sort(cast(arange(1500, placement=place) * 7919 % 1499, F64)),
    "argsort of several runs": lambda place: argsort(arange(1500, placement=place) * 7919 % 1499),
    "cast that is refused late": _refused_late,
    "indices that are refused late": _indexed_late,
    "permutations by tiles": _permuted,
    "products by tiles": _multiplied,
}
"""Calls that launch what no conformance case does."""


class Sample(NamedTuple):
    """A launch, and the call that made it."""

    call: str
    noted: Noted


@cache
def samples(seed: int, rounds: int = 1, parts: int = 1, /) -> tuple[Sample, ...]:
    """Launches of every elementwise kernel for every element type, and those of conformance cases.

    Args:
        seed: draws shapes, strides, numbers, and the order of the cases of each operation.
        rounds: cases of each operation that is not elementwise, at least; some more, until every program is launched
            that there is.
        parts: into which the programs are divided; those of one part are sampled, which one the seed says, and no
            further case is run for a program that is missing.
    """
    with recorded() as recording:
        found = list(_of_kernels(seed, recording))
        for what, call in BESIDE_CASES.items():
            call(recording.place)
            found += [Sample(what, noted) for noted in recording.launches()]
        for number, cases in enumerate(_rounds(seed)):
            if number >= rounds and (parts > 1 or number >= MOST_ROUNDS or not _missing(found)):
                break
            for case in cases:
                check_case(case, recording.place)
                found += [Sample(case.id, noted._replace(ulps=case.ulps)) for noted in recording.launches()]
        chosen = set([program.source for program in programs_of(found)][seed % parts :: parts])
        return tuple(_some_of_each([one for one in found if one.noted.launch.program.source in chosen]))


def _some_of_each(found: Sequence[Sample]) -> Iterator[Sample]:
    """As many launches of each program as are kept: the first ones."""
    kept: Counter[str] = Counter()
    for sample in found:
        source = sample.noted.launch.program.source
        kept[source] += 1
        if kept[source] <= MOST_LAUNCHES:
            yield sample


def _of_kernels(seed: int, recording: Recording) -> Iterator[Sample]:
    for kernel, dtype, ulps in every_call(seed, recording):
        for noted in recording.launches():
            judged = noted._replace(ulps=ulps, cancels=kernel in CANCELLING)
            yield Sample(f"{kernel} of {dtype.name}", judged)


def _rounds(seed: int) -> Iterator[list[Case]]:
    """A case of each operation in each round, as long as it has any."""
    draw = random.Random(seed)
    others: dict[str, list[Case]] = {}
    for case in CASES:
        if case.error is None and case.operation not in elementwise_kernels():
            others.setdefault(case.operation, []).append(case)
    for cases in others.values():
        draw.shuffle(cases)
    for number in range(max(map(len, others.values()))):
        yield [cases[number] for cases in others.values() if number < len(cases)]


def _missing(found: Sequence[Sample]) -> set[str]:
    return set(makers()) - {maker_of(program) for program in programs_of(found)}


def programs_of(found: Sequence[Sample], /) -> list[Program]:
    """The programs that are launched, one of each source."""
    return list({sample.noted.launch.program.source: sample.noted.launch.program for sample in found}.values())


def maker_of(program: Program, /) -> str:
    """The function that makes a program: where its meaning is defined, or, if that is private, who writes its entry.

    >>> from tensor_core import F64
    >>> from tensor_gpu.programs.creation import full_program
    >>> maker_of(full_program(F64))
    'tensor_gpu.programs.creation.full_program'
    """
    module, name = program.meaning.__module__, program.meaning.__qualname__.partition(".")[0]
    if name.startswith("_"):
        functions = {key: one for key, one in vars(import_module(module)).items() if f"{module}.{key}" in makers()}
        head = f"void {program.entry}("
        name = next((key for key, one in functions.items() if head in inspect.getsource(inspect.unwrap(one))), name)
    return f"{module}.{name}"


def makers() -> list[str]:
    """Every public function of ``tensor_gpu.programs`` that makes a program.

    >>> "tensor_gpu.programs.elementwise.elementwise_program" in makers()
    True
    """
    found = []
    for entry in iter_modules(tensor_gpu.programs.__path__, "tensor_gpu.programs."):
        for name, function in vars(import_module(entry.name)).items():
            makes = inspect.get_annotations(inspect.unwrap(function)).get("return") if callable(function) else None
            if makes == "Program" and function.__module__ == entry.name and not name.startswith("_"):
                found.append(f"{entry.name}.{name}")
    return found
