"""Write ``docs/catalogue.md``: every operation, the dtypes that it accepts and gives, and who computes it.

Nothing is read from declarations. Every conformance case is called without data, with its operands in each of the
seven dtypes; what the public function then accepts, gives, and asks of a backend is the table.

Usage: ``python tools/catalogue.py``; a test compares the page with what this prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import tensor_runtime as tr
from tensor_core.dtypes import DTYPES, DType
from tensor_core.errors import BackendError, TensorError
from tensor_runtime.abstract import MetaBackend
from tensor_runtime.form import form_of
from tensor_runtime.placement import DeviceId, DeviceKind, MemoryKind, Placement
from tensor_runtime.protocols import Kernel, Operand, Result
from tensor_runtime.registry import registry
from tensor_runtime.tensors import Tensor, wrap
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import all_cases

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "catalogue.md"
HEAD: Final = """# Catalogue of operations

Written by `python tools/catalogue.py` from what the code does; do not edit it.

* **dtypes**: accepted for all operands; Python numbers and mixed dtypes are promoted first. Of an operation that takes
  indices or a condition, the dtypes of the other operands.
* **result**: *same* is the dtype accepted; several results are separated by commas, and what depends on options by
  *or*. *As asked* is the dtype given by the caller.
* **kernels**: what is bound, so what a backend needs to offer it; an operation without one is made of metadata alone.
* **backends**: which offer all of them.

Operations that begin with `primitives.` are strict: equal shapes, equal dtypes, nothing implicit.
"""
Found = Mapping[DType, frozenset[tuple[DType, ...]]]
"""Dtypes of the results, for each dtype accepted."""


class Row(NamedTuple):
    """What was seen of one operation."""

    operation: str
    accepted: Found
    made: frozenset[tuple[DType, ...]]  # dtypes of what an operation without operands made
    kernels: frozenset[str]


class Recorder(MetaBackend):
    """A device without elements that notes what it is asked to bind.

    >>> recorder = Recorder()
    >>> _ = recorder.bind("add", (), (), None)
    >>> recorder.asked
    {'add'}
    """

    name = "catalogue"  # type: ignore[misc]
    device_kind = DeviceKind.other("catalogue")  # type: ignore[misc]

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def bind(self, name: str, operands: tuple[Operand, ...], result: Result, detail: Any, /) -> Kernel:
        """Note the name."""
        self.asked.add(name)
        return super().bind(name, operands, result, detail)


def rows() -> list[Row]:
    """One row for each operation that has a case, in the order of their names."""
    recorder = Recorder()
    place = Placement(MemoryKind.Device, DeviceId(recorder.device_kind, 0))
    by_operation: dict[str, list[Case]] = {}
    for case in all_cases():
        if case.error is None:
            by_operation.setdefault(case.operation, []).append(case)
    registry.register(recorder.name, recorder)
    try:
        return [_row(name, by_operation[name], recorder, place) for name in sorted(by_operation)]
    finally:
        registry.unregister(recorder.name)


def _row(name: str, cases: Sequence[Case], recorder: Recorder, place: Placement) -> Row:
    tr.binding_cache.clear()
    recorder.asked.clear()
    made = frozenset(
        found for case in cases if not case.operands if (found := _results(lambda: case.call(place))) is not None
    )
    tried = [_tried(cases, place, varied) for varied in (_all_of_one_dtype, _like_the_first, _like_the_last)]
    best = max(tried, key=len)  # the first of equals
    return Row(name, best, made, frozenset(recorder.asked))


def _all_of_one_dtype(dtypes: Sequence[DType]) -> Iterable[int]:
    return range(len(dtypes)) if len(set(dtypes)) == 1 else ()


def _like_the_first(dtypes: Sequence[DType]) -> Iterable[int]:
    return [i for i, dtype in enumerate(dtypes) if dtype is dtypes[0]] if len(set(dtypes)) > 1 else ()


def _like_the_last(dtypes: Sequence[DType]) -> Iterable[int]:
    return [i for i, dtype in enumerate(dtypes) if dtype is dtypes[-1]] if len(set(dtypes)) > 1 else ()


def _tried(cases: Sequence[Case], place: Placement, varied: Callable[[Sequence[DType]], Iterable[int]]) -> Found:
    """What the cases give when the dtype of some operands is replaced by each of the seven."""
    found: dict[DType, set[tuple[DType, ...]]] = {}
    for case in cases:
        positions = frozenset(varied([host.dtype for host in case.operands]))
        for dtype in DTYPES if positions else ():
            operands = [
                wrap(form_of(dtype if position in positions else host.dtype, host.shape, place), None)
                for position, host in enumerate(case.operands)
            ]
            results = _results(lambda case=case, operands=operands: case.call(*operands))  # type: ignore[misc]
            if results is not None:
                found.setdefault(dtype, set()).add(results)
    return {dtype: frozenset(found[dtype]) for dtype in DTYPES if dtype in found}


def _results(call: Callable[[], Any]) -> tuple[DType, ...] | None:
    """Dtypes of the results; None if the call is refused, empty if they depend on elements."""
    try:
        value = call()
    except BackendError:
        return ()
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
    by_text: dict[str, list[DType]] = {}
    for dtype, alternatives in accepted.items():
        texts = {", ".join("same" if one is dtype else one.name for one in results) for results in alternatives}
        text = "as asked" if len(texts) > 3 else " or ".join(sorted(texts - {""}))
        by_text.setdefault(text or "depends on elements", []).append(dtype)
    usual = "same" if "same" in by_text else max(by_text, key=lambda text: len(by_text[text]), default="")
    others = [
        f"{text} from {' '.join(dtype.name for dtype in dtypes)}" for text, dtypes in by_text.items() if text != usual
    ]
    return "; ".join([*others, f"else {usual}" if others else usual])


def table(found: Iterable[Row], offered: Mapping[str, frozenset[str]], /) -> Iterator[str]:
    """Lines of the table.

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
            result = f"as asked: {dtypes_text(made)}" if len(made) > 1 else dtypes_text(made)
        kernels = ", ".join(sorted(row.kernels)) or "–"
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
    return HEAD + "\n" + "\n".join(table(rows(), offered)) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE}: {page().count(chr(10) + '| ')} lines")
