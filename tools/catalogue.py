"""Write ``docs/catalogue.md``: every operation, the dtypes that it accepts and gives, and who computes it.

Nothing is read from declarations. Every conformance case is called without data, with its operands in each of the
seven dtypes; what the public function then accepts, gives, and asks of a backend is the table.

Usage: ``python tools/catalogue.py``; a test compares the page with what this prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import tensor_runtime as tr
from tensor_core.dtypes import DTYPES, DType
from tensor_core.errors import BackendError, TensorError, UnsupportedOperationError
from tensor_runtime.backends.meta import MetaBackend
from tensor_runtime.backends.plugins.rules import LOWER
from tensor_runtime.backends.registry import registry
from tensor_runtime.form import form_of
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement
from tensor_runtime.protocols import Kernel, Operand, Result
from tensor_runtime.tensors.tensor import Tensor, wrap
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import all_cases, family_cases

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "catalogue.md"
HEAD: Final = """# Catalogue of operations

Written by `python tools/catalogue.py` from what the code does; do not edit it.

* **dtypes**: accepted for all operands; Python numbers and mixed dtypes are promoted first. Of an operation that takes
  indices or a condition, the dtypes of the other operands.
* **result**: *same* is the dtype accepted; several results are separated by commas, and what depends on options by
  *or*. *As given* is the dtype given by the caller.
* **kernels**: what is bound, so what a backend needs to offer it; an operation without one is made of metadata alone.
  A backend that lacks one in *italics* has the operation all the same, by the rule below.
* **backends**: which offer all of them.

Operations that begin with `primitives.` are strict: equal shapes, equal dtypes, nothing implicit. `einsum`, and those
that begin with another word and a dot, belong to families of other packages, named so by `tensor_runtime.families()`.
"""
RULES: Final = """
## Rules that stand in for kernels

A rule `lower.NAME` computes what a kernel of that name would, by public functions that bind these kernels.
"""
SELDOM: Final = 0.2
"""Part of the cases below which an answer is not the rule: a case that adds a Python number gives another dtype."""
Found = Mapping[DType, frozenset[tuple[DType, ...]]]
"""Dtypes of the results, for each dtype accepted."""


class Row(NamedTuple):
    """What was seen of one operation."""

    operation: str
    accepted: Found
    made: frozenset[tuple[DType, ...]]  # dtypes of what an operation without operands made
    kernels: frozenset[str]


class TracingDevice(MetaBackend):
    """A device without elements that notes which kernels are bound.

    >>> device = TracingDevice()
    >>> _ = device.bind("add", (), (), None)
    >>> device.kernels
    {'add'}
    """

    name = "catalogue"  # type: ignore[misc]
    device_kind = DeviceKind.other("catalogue")  # type: ignore[misc]

    def __init__(self, lacking: str = "") -> None:
        self._lacking = lacking
        self.kernels: set[str] = set()
        self.last: tuple[DType, ...] = ()  # dtypes of the results that were bound last

    def placements(self) -> tuple[Placement, ...]:
        """Its only device."""
        return (Placement(MemoryKind.Device, DeviceId(self.device_kind, 0)),)

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel:
        """Note the name.

        Raises:
            UnsupportedOperationError: it is the one kernel that the device lacks.
        """
        if name == self._lacking:
            raise UnsupportedOperationError(f"{name}: not here", operation=name)
        self.kernels.add(name)
        self.last = tuple(form.dtype for form in (result if isinstance(result, tuple) else (result,)))
        return super().bind(name, operands, result, params)

    def operations(self) -> frozenset[str]:
        """Where it lacks a kernel, those of the CPU backend, so that a rule can stand in."""
        return tr.backend("cpu").operations() - {self._lacking} if self._lacking else frozenset()


@contextmanager
def tracing_device(lacking: str = "") -> Iterator[tuple[TracingDevice, Placement]]:
    """A device and its placement, known to the registry inside the block.

    >>> with tracing_device() as (device, place):
    ...     _ = tr.zeros(2, placement=place)
    >>> device.kernels
    {'full'}
    """
    device = TracingDevice(lacking)
    registry.register(device.name, device)
    try:
        yield device, device.placements()[0]
    finally:
        registry.unregister(device.name)


def cases_by_operation() -> dict[str, list[Case]]:
    """Every case that gives a result, of the runtime and of the families.

    >>> sorted(name for name in cases_by_operation() if name.startswith("linalg"))[:2]
    ['linalg.batch_first', 'linalg.batch_last']
    """
    found: dict[str, list[Case]] = {}
    for case in (*all_cases(), *family_cases()):
        if case.error is None:
            found.setdefault(case.operation, []).append(case)
    return dict(sorted(found.items()))


def rows(cases: Mapping[str, Sequence[Case]]) -> list[Row]:
    """One row for each operation that has a case, in the order of their names."""
    with tracing_device() as (device, place):
        return [_row(name, own, device, place) for name, own in cases.items()]


def rules(cases: Mapping[str, Sequence[Case]]) -> dict[str, list[str]]:
    """For each rule ``lower.NAME`` the kernels that it asks for, whatever the operand."""
    binding = _cases_by_kernel()
    found = {}
    for name in sorted(registry.rules.operations(LOWER)):
        asking = binding.get(name, [])
        of_name = [case for case in asking if case.operation.endswith(f".{name}")]
        with tracing_device(name) as (device, place):
            for case in cases.get(name) or of_name or asking:
                _traced(case, place)
            found[name] = sorted(device.kernels)
    return found


def _cases_by_kernel() -> dict[str, list[Case]]:
    """Cases of the families' operations that ask for each kernel."""
    found: dict[str, list[Case]] = {}
    with tracing_device() as (device, place):
        for case in family_cases():
            if case.error is not None:
                continue
            device.kernels.clear()
            tr.binding_cache.clear()
            _traced(case, place)
            for kernel in device.kernels:
                found.setdefault(kernel, []).append(case)
    return found


def _traced(case: Case, place: Placement) -> None:
    operands: list[Any] = [wrap(form_of(host.dtype, host.shape, place), None) for host in case.operands]
    with suppress(UnsupportedOperationError):  # one that reads elements ends there
        case.call(*operands or [place])


def _row(name: str, cases: Sequence[Case], device: TracingDevice, place: Placement) -> Row:
    tr.binding_cache.clear()
    device.kernels.clear()
    made = [_results(partial(case.call, place), device) for case in cases if not case.operands]
    tried = [_tried(cases, device, place, varied) for varied in (_all_of_one_dtype, _like_the_first, _like_the_last)]
    # Where operands of one dtype are hardly ever accepted, some of them are indices or conditions.
    widest = max(tried, key=len)
    best = widest if len(widest) > len(tried[0]) + 1 else tried[0]
    return Row(name, best, frozenset(one for one in made if one), frozenset(device.kernels))


def _all_of_one_dtype(dtypes: Sequence[DType]) -> Iterable[int]:
    return range(len(dtypes)) if len(set(dtypes)) == 1 else ()


def _like_the_first(dtypes: Sequence[DType]) -> Iterable[int]:
    return [i for i, dtype in enumerate(dtypes) if dtype is dtypes[0]] if len(set(dtypes)) > 1 else ()


def _like_the_last(dtypes: Sequence[DType]) -> Iterable[int]:
    return [i for i, dtype in enumerate(dtypes) if dtype is dtypes[-1]] if len(set(dtypes)) > 1 else ()


def _tried(
    cases: Sequence[Case], device: TracingDevice, place: Placement, varied: Callable[[Sequence[DType]], Iterable[int]]
) -> Found:
    """What the cases give when the dtype of some operands is replaced by each of the seven."""
    answers: dict[DType, Counter[tuple[DType, ...] | None]] = {dtype: Counter() for dtype in DTYPES}
    most = max((len(case.operands) for case in cases), default=0)
    for case in cases:
        positions = frozenset(varied([host.dtype for host in case.operands]))
        for dtype in DTYPES if positions else ():
            operands = [
                wrap(form_of(dtype if position in positions else host.dtype, host.shape, place), None)
                for position, host in enumerate(case.operands)
            ]
            found = _results(partial(case.call, *operands), device)
            if len(operands) == most:  # fewer: a Python number of another kind stands for one
                answers[dtype][found] += 1
    usual = {
        dtype: frozenset(one for one, count in seen.items() if one is not None and count >= SELDOM * seen.total())
        if len(seen) < 5  # an operation that is asked for a dtype gives many
        else frozenset(one for one in seen if one is not None)
        for dtype, seen in answers.items()
    }
    return {dtype: results for dtype, results in usual.items() if results}


def _results(call: Callable[[], Any], device: TracingDevice) -> tuple[DType, ...] | None:
    """Dtypes of the results; None if the call is refused."""
    try:
        value = call()
    except BackendError:  # the extents depend on elements; the dtypes do not
        tr.binding_cache.clear()
        with suppress(BackendError):
            call()
        return device.last
    except TensorError:
        return None
    return tuple(one.dtype for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, Tensor))


def dtypes_text(dtypes: Iterable[DType], /) -> str:
    """Dtypes in few words.

    >>> dtypes_text(DTYPES), dtypes_text(DTYPES[:-1]), dtypes_text(DTYPES[:2])
    ('all', 'all but C64', 'F32 F64')
    """
    named = set(dtypes)
    missing = [dtype.name for dtype in DTYPES if dtype not in named]
    if len(missing) > 3:
        return " ".join(dtype.name for dtype in DTYPES if dtype in named) or "–"
    return f"all but {' '.join(missing)}" if missing else "all"


def results_text(accepted: Found, /) -> str:
    """Results for each dtype, in few words.

    >>> from tensor_core import F64, I32, Bool
    >>> results_text({F64: frozenset({(F64,)}), I32: frozenset({(F64,)}), Bool: frozenset({(Bool,)})})
    'F64 from I32; else same'
    """
    if any(len(alternatives) > 3 for alternatives in accepted.values()):
        return "as given"
    left = dict(accepted)
    patterns: list[tuple[str, list[DType]]] = []
    while left:  # the pattern that covers all, else "same", else the one that covers most
        options = {_pattern(results, dtype): None for dtype, results in left.items()}
        options |= {_pattern(results, None): None for results in left.values()}
        counts = {option: sum(_fits(option, *item) for item in left.items()) for option in options}
        pattern = max(counts, key=lambda option: (counts[option] == len(left), _is_same(option), counts[option]))
        covered = [dtype for dtype, results in left.items() if _fits(pattern, dtype, results)]
        patterns.append((_pattern_text(pattern), covered))
        left = {dtype: results for dtype, results in left.items() if dtype not in covered}
    (usual, _), *others = patterns or [("–", [])]
    parts = [f"{text} from {' '.join(dtype.name for dtype in dtypes)}" for text, dtypes in others]
    return "; ".join([*parts, f"else {usual}" if parts else usual])


Pattern = frozenset[tuple[DType | None, ...]]
"""Alternatives of results; None stands for the dtype accepted."""


def _pattern(results: frozenset[tuple[DType, ...]], same: DType | None) -> Pattern:
    return frozenset(tuple(None if one is same else one for one in alternative) for alternative in results)


def _fits(pattern: Pattern, dtype: DType, results: frozenset[tuple[DType, ...]]) -> bool:
    return results == frozenset(tuple(one or dtype for one in alternative) for alternative in pattern)


def _is_same(pattern: Pattern) -> bool:
    return any(None in alternative for alternative in pattern)


def _pattern_text(pattern: Pattern) -> str:
    names = sorted(["same" if one is None else one.name for one in alternative] for alternative in pattern)
    if len(names) > 2 and len({name for alternative in names for name in alternative}) == 1:
        return f"{names[0][0]}, one or more"
    return " or ".join(", ".join(alternative) for alternative in names)


def table(
    found: Iterable[Row], offered: Mapping[str, frozenset[str]], lowered: Collection[str] = (), /
) -> Iterator[str]:
    """Lines of the table; kernels in ``lowered`` have a rule.

    >>> from tensor_core import F64
    >>> row = Row("exp", {F64: frozenset({(F64,)})}, frozenset(), frozenset({"exp"}))
    >>> list(table([row], {"cpu": frozenset({"exp"})}))[-1]
    '| exp | F64 | same | exp | cpu |'
    """
    yield "| operation | dtypes | result | kernels | backends |"
    yield "|---|---|---|---|---|"
    for row in found:
        if row.accepted:
            accepts, result = dtypes_text(row.accepted), results_text(row.accepted)
        else:
            made = {one for results in row.made for one in results}
            accepts = "–"
            result = f"as given: {dtypes_text(made)}" if len(made) > 1 else dtypes_text(made)
        kernels = ", ".join(f"*{name}*" if name in lowered else name for name in sorted(row.kernels)) or "–"
        having = ", ".join(name for name, operations in offered.items() if row.kernels <= operations) or "none"
        yield f"| {row.operation} | {accepts} | {result} | {kernels} | {having} |"


def page() -> str:
    """The whole page.

    >>> page().startswith("# Catalogue of operations")
    True
    """
    offered = {}
    for row in tr.backends():
        try:
            operations = tr.backend(row.name).operations()
        except TensorError:  # cannot be used here, so what it offers is not known
            continue
        if operations:
            offered[row.name] = operations | registry.kernels.operations(row.name)
    cases = cases_by_operation()
    instead = rules(cases)
    listed = ["| rule | kernels |", "|---|---|"]
    listed += [f"| lower.{name} | {', '.join(kernels)} |" for name, kernels in instead.items()]
    return "\n".join([HEAD, *table(rows(cases), offered, instead), RULES, *listed, ""])


if __name__ == "__main__":
    text = page()
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE}: {text.count(chr(10) + '| ')} lines")
