"""Write ``docs/catalogue.md``: every operation, the dtypes that it accepts and gives, and who computes it.

Nothing is read from declarations. Every conformance case is called without data, with its operands in each of the
seven dtypes; what the public function then accepts, gives, and asks of a backend is the table. What decides by elements
is called once more with the elements of the case. Which backends compute an operation is seen where they do.

Usage: ``python tools/catalogue.py``; a test compares the page with what this prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import tensor_runtime as tr
from catalogue_probes import UNKNOWN, Probe, backends_text, called, probing
from tensor_core.dtypes import C32, C64, DTYPES, F32, F64, DType
from tensor_runtime.backends.plugins.rules import LOWER
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import all_cases, family_cases

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "catalogue.md"
HEAD: Final = """# Catalogue of operations

Written by `python tools/catalogue.py` from what the code does; do not edit it.

* **dtypes**: accepted for all operands; Python numbers and mixed dtypes are promoted first. Of an operation that takes
  indices or a condition, the dtypes of the other operands.
* **result**: *same* is the dtype accepted, *real* and *complex* the real or complex dtype of its precision. Several
  tensors are separated by commas, and what depends on options by *or*; what is no tensor is left out. *As given* is the
  dtype given by the caller, or by the numbers; F64 where neither says one.
* **kernels**: what is bound, so what a backend needs to offer it; an operation without one is made of metadata alone.
  A backend that lacks one in *italics* has the operation all the same, by the rule below.
* **backends**: which compute the operation, by these kernels, by others in their place, or by rules. *In part*: some
  options, or some operands, are refused there with a reason.

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
    backends: str


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
    with probing() as probe:
        found = [_row(name, own, probe) for name, own in cases.items()]
    return [row._replace(backends=backends_text(cases[row.operation])) for row in found]


def rules(cases: Mapping[str, Sequence[Case]]) -> dict[str, list[str]]:
    """For each rule ``lower.NAME`` the kernels that it asks for, whatever the operand."""
    binding = _cases_by_kernel()
    found = {}
    for name in sorted(registry.rules.operations(LOWER)):
        asking = binding.get(name, [])
        of_name = [case for case in asking if case.operation.endswith(f".{name}")]
        with probing(name) as probe:
            for case in cases.get(name) or of_name or asking:
                called(case, {}, probe)
            found[name] = sorted(probe.kernels)
    return found


def _cases_by_kernel() -> dict[str, list[Case]]:
    """Cases of the families' operations that ask for each kernel."""
    found: dict[str, list[Case]] = {}
    with probing() as probe:
        for case in family_cases():
            if case.error is not None:
                continue
            probe.kernels.clear()
            tr.binding_cache.clear()
            called(case, {}, probe)
            for kernel in probe.kernels:
                found.setdefault(kernel, []).append(case)
    return found


def _row(name: str, cases: Sequence[Case], probe: Probe) -> Row:
    tr.binding_cache.clear()
    probe.kernels.clear()
    made = [called(case, {}, probe) for case in cases if not case.operands]
    tried = [_tried(cases, probe, varied) for varied in (_all_of_one_dtype, _like_the_first, _like_the_last)]
    # Where operands of one dtype are hardly ever accepted, some of them are indices or conditions.
    widest = max(tried, key=len)
    best = widest if len(widest) > len(tried[0]) + 1 else tried[0]
    return Row(name, best, frozenset(one for one in made if one), frozenset(probe.kernels), "")


def _all_of_one_dtype(dtypes: Sequence[DType]) -> Iterable[int]:
    return range(len(dtypes)) if len(set(dtypes)) == 1 else ()


def _like_the_first(dtypes: Sequence[DType]) -> Iterable[int]:
    return [i for i, dtype in enumerate(dtypes) if dtype is dtypes[0]] if len(set(dtypes)) > 1 else ()


def _like_the_last(dtypes: Sequence[DType]) -> Iterable[int]:
    return [i for i, dtype in enumerate(dtypes) if dtype is dtypes[-1]] if len(set(dtypes)) > 1 else ()


def _tried(cases: Sequence[Case], probe: Probe, varied: Callable[[Sequence[DType]], Iterable[int]]) -> Found:
    """What the cases give when the dtype of some operands is replaced by each of the seven."""
    answers: dict[DType, Counter[tuple[DType, ...] | None]] = {dtype: Counter() for dtype in DTYPES}
    most = max((len(case.operands) for case in cases), default=0)
    for case in cases:
        positions = frozenset(varied([host.dtype for host in case.operands]))
        for dtype in DTYPES if positions else ():
            found = called(case, dict.fromkeys(positions, dtype), probe)
            if len(case.operands) == most and found != UNKNOWN:  # fewer: a number of another kind stands for one
                answers[dtype][found] += 1
    usual = {
        dtype: frozenset(one for one, count in seen.items() if one is not None and count >= SELDOM * seen.total())
        if len(seen) < 5  # an operation that is asked for a dtype gives many
        else frozenset(one for one in seen if one is not None)
        for dtype, seen in answers.items()
    }
    return {dtype: results for dtype, results in usual.items() if results}


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

    >>> from tensor_core import C64, F64, I32, Bool
    >>> results_text({F64: frozenset({(F64,)}), I32: frozenset({(F64,)}), Bool: frozenset({(Bool,)})})
    'F64 from I32; else same'
    >>> results_text({F64: frozenset({(F64, F64)}), C64: frozenset({(F64, C64)})})
    'real, same'
    """
    if any(len(alternatives) > 3 for alternatives in accepted.values()):
        return "as given"
    left = dict(accepted)
    patterns: list[tuple[str, list[DType]]] = []
    while left:  # the pattern that covers all, else one of words, else the one that covers most
        options = {_pattern(results, words): None for dtype, results in left.items() for words in _wordings(dtype)}
        counts = {option: sum(_fits(option, *item) for item in left.items()) for option in options}
        pattern = max(counts, key=lambda option: (counts[option] == len(left), *_worded(option, counts[option])))
        covered = [dtype for dtype, results in left.items() if _fits(pattern, dtype, results)]
        patterns.append((_pattern_text(pattern), covered))
        left = {dtype: results for dtype, results in left.items() if dtype not in covered}
    (usual, _), *others = patterns or [("–", [])]
    parts = [f"{text} from {' '.join(dtype.name for dtype in dtypes)}" for text, dtypes in others]
    return "; ".join([*parts, f"else {usual}" if parts else usual])


PRECISIONS: Final[tuple[tuple[DType, DType], ...]] = ((F32, C32), (F64, C64))
Pattern = frozenset[tuple["DType | str", ...]]
"""Alternatives of results: dtypes, and words for what depends on the dtype accepted."""


def _words(dtype: DType) -> dict[str, DType]:
    """What each word stands for."""
    for real, complex_one in PRECISIONS:
        if dtype in (real, complex_one):
            return {"same": dtype, "real": real, "complex": complex_one}
    return {"same": dtype, "real": dtype}


def _wordings(dtype: DType) -> Iterator[dict[DType, str]]:
    """The ways to put dtypes into words: one that several words stand for is called by the last of them."""
    words = _words(dtype)
    for order in (("complex", "real", "same"), ("same", "real", "complex"), ("same", "complex", "real"), ()):
        yield {words[word]: word for word in order if word in words}


def _pattern(results: frozenset[tuple[DType, ...]], words: Mapping[DType, str]) -> Pattern:
    return frozenset(tuple(words.get(one, one) for one in alternative) for alternative in results)


def _fits(pattern: Pattern, dtype: DType, results: frozenset[tuple[DType, ...]]) -> bool:
    words = _words(dtype)
    return results == frozenset(
        tuple(words.get(one) if isinstance(one, str) else one for one in alternative) for alternative in pattern
    )


def _worded(pattern: Pattern, covered: int) -> tuple[bool, int, int]:
    """How good a pattern is that does not cover all: words, then how much it covers, then the plainest word."""
    parts = [one for alternative in pattern for one in alternative]
    return any(isinstance(one, str) for one in parts), covered, parts.count("same")


def _pattern_text(pattern: Pattern) -> str:
    names = sorted([one if isinstance(one, str) else one.name for one in alternative] for alternative in pattern)
    if len(names) > 2 and len({name for alternative in names for name in alternative}) == 1:
        return f"{names[0][0]}, one or more"
    return " or ".join(", ".join(alternative) for alternative in names)


def table(found: Iterable[Row], lowered: Collection[str] = (), /) -> Iterator[str]:
    """Lines of the table; kernels in ``lowered`` have a rule.

    >>> from tensor_core import F64
    >>> row = Row("exp", {F64: frozenset({(F64,)})}, frozenset(), frozenset({"exp"}), "cpu")
    >>> list(table([row]))[-1]
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
        yield f"| {row.operation} | {accepts} | {result} | {kernels} | {row.backends} |"


def page() -> str:
    """The whole page; ``tests/test_catalogue_page.py`` compares it, as making it takes long."""
    cases = cases_by_operation()
    instead = rules(cases)
    listed = ["| rule | kernels |", "|---|---|"]
    listed += [f"| lower.{name} | {', '.join(kernels)} |" for name, kernels in instead.items()]
    return "\n".join([HEAD, *table(rows(cases), instead), RULES, *listed, ""])


if __name__ == "__main__":
    text = page()
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE}: {text.count(chr(10) + '| ')} lines")
