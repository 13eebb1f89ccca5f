"""What may be said about the outcomes of a benchmark: verdicts, a table in Markdown, and every number for a file.

A target is missed only when the whole 95 % interval of the ratio lies above it, so that noise alone fails nobody; it is
kept when the median is not above it. A target that the limit of the row forbids is marked so: no copy beats a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import exp, log
from statistics import median
from typing import Any, Final

from benchmarks.measuring import Outcome
from benchmarks.rows import BEST, LIMIT, OURS, GroupTarget
from benchmarks.timing import Spread, median_spread

KEPT: Final = "met"
OPEN: Final = "undecided"
SHORT: Final = "missed"


def verdict(spread: Spread, bound: float) -> str:
    """Whether a target is kept, or missed beyond noise, or neither.

    >>> [verdict(Spread(middle, low, 0.5), 0.33) for middle, low in ((0.3, 0.2), (0.4, 0.3), (0.4, 0.35))]
    ['met', 'undecided', 'missed']
    """
    if spread.low > bound:
        return SHORT
    return KEPT if spread.median <= bound else OPEN


def duration(seconds: float) -> str:
    """Three digits and a unit.

    >>> duration(0.00123), duration(4.5e-8)
    ('1.23 ms', '45 ns')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def judged(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """The targets of a row that could be judged: ratio, bound and verdict of each."""
    for target in outcome.row.targets:
        bound, spread = target.bound(outcome.threads), outcome.spread(target.against)
        if bound is not None and spread is not None:
            yield {
                "against": target.against,
                "bound": bound,
                "ratio": spread._asdict(),
                "verdict": verdict(spread, bound),
                "beyond_limit": _beyond_limit(outcome, target.against, bound),
            }


def _beyond_limit(outcome: Outcome, against: str, bound: float) -> bool:
    """Whether even the limit takes longer than the target allows."""
    name = (outcome.best() or "") if against == BEST else against
    if name == LIMIT or LIMIT not in outcome.samples:
        return False
    return median(outcome.samples[LIMIT]) > bound * median(outcome.samples[name])


def group_mean(outcomes: Iterable[Outcome]) -> Spread | None:
    """The geometric mean of the rows' ratios to the best contender, turn by turn of the shortest row."""
    ratios = [values for outcome in outcomes if (values := outcome.ratios(BEST))]
    if not ratios:
        return None
    return median_spread([exp(sum(map(log, turn)) / len(turn)) for turn in zip(*ratios, strict=False)])


def as_markdown(outcomes: Sequence[Outcome], groups: Sequence[GroupTarget] = ()) -> str:
    """One table per group of rows, a line per row and number of threads."""
    parts = [
        "Medians. Ratios of ours to another's time: median (95 % interval), turn by turn; best is the fastest "
        "peer that makes a fresh result (`numpy out=` does not). "
        "Limit: a warm copy of the bytes that are read and written, or the work at the rate of a large product; of a "
        "network the sum over its steps, each at the rates that its own sizes reach. "
        "Estimate: what the cost model says by which a contraction's kernel is chosen, in one thread."
    ]
    if any(outcome.errors for outcome in outcomes):
        parts.append(
            "Errors in rounding units, ours / the reference's: residual over the norms of what was multiplied, "
            "orthogonality, and the relative error of small singular values or eigenvalues of graded matrices."
        )
    for group in dict.fromkeys(outcome.row.group for outcome in outcomes):
        members = [outcome for outcome in outcomes if outcome.row.group == group]
        parts.append("\n".join(_table(group, members)))
        parts.extend(_group_lines([one for one in groups if one.group == group], members))
    notes = list(_notes(outcomes))
    if notes:
        parts.append("\n".join(notes))
    return "\n\n".join(parts)


def _table(group: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    found = dict.fromkeys(name for outcome in outcomes for name in outcome.samples)
    names = [OURS, *(name for name in found if name not in (OURS, LIMIT)), *([LIMIT] if LIMIT in found else [])]
    errors = dict.fromkeys(name for outcome in outcomes for of_one in outcome.errors.values() for name in of_one)
    estimated = any(outcome.threads == 1 and outcome.estimate for outcome in outcomes)
    header = [group, "threads", *names, "ours/best", "best", *(["ours/limit"] if LIMIT in found else []), *errors]
    header += ["estimate/ours"] if estimated else []
    header.append("verdict")
    yield "| " + " | ".join(header) + " |"
    yield "|---|" + "---:|" * (len(header) - 2) + "---|"
    for outcome in sorted(outcomes, key=lambda one: [other.row for other in outcomes].index(one.row)):
        cells = [outcome.row.name, str(outcome.threads)]
        cells += [_time(outcome, name) for name in names]
        cells += [str(outcome.spread(BEST) or "–"), outcome.best() or "–"]
        cells += [str(outcome.spread(LIMIT) or "–")] if LIMIT in found else []
        cells += [_beside(outcome, error) for error in errors]
        cells += [_estimate(outcome)] if estimated else []
        yield "| " + " | ".join([*cells, "; ".join(map(_said, judged(outcome)))]) + " |"


def _beside(outcome: Outcome, error: str) -> str:
    """An error of ours in rounding units, and that of the reference."""
    found = [of_one[error] for of_one in outcome.errors.values() if error in of_one]
    return " / ".join(f"{value:.2g}" for value in found) or "–"


def _estimate(outcome: Outcome) -> str:
    """What a cost model thought, over what it took, in one thread."""
    if outcome.estimate is None or outcome.threads != 1 or OURS not in outcome.samples:
        return "–"
    return f"{outcome.estimate / median(outcome.samples[OURS]):.2f}"


def _said(judgement: dict[str, Any]) -> str:
    """A verdict in words; the ratios to the best and to the limit stand in columns of their own."""
    against, bound = judgement["against"], judgement["bound"]
    own = "" if against in (BEST, LIMIT) else f"{Spread(**judgement['ratio'])} "
    forbidden = ", beyond the limit" if judgement["beyond_limit"] else ""
    return f"{judgement['verdict']}: {own}of {against}, target {bound:g}{forbidden}"


def _time(outcome: Outcome, name: str) -> str:
    if samples := outcome.samples.get(name):
        return duration(median(samples))
    reason = outcome.missing.get(name, "–")
    return reason if len(reason) < 30 else "error"


def _group_lines(targets: Sequence[GroupTarget], outcomes: Sequence[Outcome]) -> Iterator[str]:
    for target in targets:
        for threads, bound in target.bounds.items():
            mean = group_mean(one for one in outcomes if one.threads == threads)
            if mean is not None:
                said = verdict(mean, bound)
                yield f"Geometric mean of ours/best at {threads} threads: {mean}; {said}: target {bound:g}."


def _notes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for outcome in outcomes:
        where = f"{outcome.row.name}, {outcome.threads} threads"
        for name, reason in outcome.missing.items():
            if len(reason) >= 30:
                yield f"- {where}, {name}: {reason}"
        for name, seconds in outcome.compile_seconds.items():
            if seconds >= 1:
                yield f"- {where}, {name}: compiled in {duration(seconds)}"


def as_json(outcomes: Sequence[Outcome], groups: Sequence[GroupTarget] = ()) -> dict[str, Any]:
    """Every sample in seconds, ratios, verdicts, and what was missing."""
    rows = [
        {
            "name": outcome.row.name,
            "group": outcome.row.group,
            "threads": outcome.threads,
            "best": outcome.best(),
            "limit_is": None if outcome.row.limit is None else outcome.row.limit._asdict(),
            "to_best": None if (spread := outcome.spread(BEST)) is None else spread._asdict(),
            "targets": list(judged(outcome)),
            "seconds": outcome.samples,
            "missing": outcome.missing,
            "compile_seconds": outcome.compile_seconds,
            "errors": outcome.errors,
            "estimate": outcome.estimate,
        }
        for outcome in outcomes
    ]
    means = [
        {
            "group": target.group,
            "threads": threads,
            "bound": bound,
            "mean": mean._asdict(),
            "verdict": verdict(mean, bound),
        }
        for target in groups
        for threads, bound in target.bounds.items()
        if (mean := group_mean(o for o in outcomes if o.row.group == target.group and o.threads == threads))
    ]
    return {"rows": rows, "groups": means}


def progress(outcome: Outcome) -> str:
    """One line while the benchmark runs."""
    times = ", ".join(f"{name} {duration(median(values))}" for name, values in outcome.samples.items())
    missing = "".join(f"; {name}: {reason}" for name, reason in outcome.missing.items())
    verdicts = "; ".join(map(_said, judged(outcome)))
    return f"{outcome.row.name}, {outcome.threads} threads: {times}{missing}. {verdicts or 'No target'}."
