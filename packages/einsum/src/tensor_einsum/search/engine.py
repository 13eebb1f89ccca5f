"""The search for contraction orders: what is asked is checked here, and what searches is chosen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import chain
from math import exp2, inf, log2
from time import perf_counter
from typing import Any, NamedTuple, cast

from tensor_core.errors import OutOfMemoryError
from tensor_einsum import native
from tensor_einsum.search.problem import (
    CACHED,
    UNCACHED,
    Budget,
    Found,
    Objective,
    Pairs,
    Problem,
    Progress,
    Reason,
    SearchRecord,
    Tried,
)
from tensor_einsum.search.python_search import search_in_python


class Searched(NamedTuple):
    """A search that is over, and its record, which few ask for: it takes as long as a search of three operands."""

    made: SearchRecord | None
    found: Mapping[str, Any] = {}  # what the extension said
    objective: Objective = Objective()
    steps: int = 0
    seconds: float = 0.0

    @property
    def record(self) -> SearchRecord:
        """How the search went."""
        if self.made is not None:
            return self.made
        _, found, objective, steps, seconds = self
        products, elements, size, peak = found["measure"]
        history = tuple(Progress(*step) for step in found["history"])
        estimated = objective.log2_seconds(products, elements, steps)
        searches_on = found["stopped"] not in ("exact", "settled")
        return SearchRecord(
            "native",
            tuple(Tried(*one) for one in found["tried"]),
            history,
            found["rotations"],
            seconds,
            products,
            size,
            peak,
            estimated,
            cast(Reason, found["stopped"]),
            searches_on and would_pay(history, found["rotations"], found["rotation_seconds"], estimated),
        )


def was_interrupted(searched: Searched) -> bool:
    """Whether Ctrl-C ended the search, so that the next call should search again.

    >>> was_interrupted(Searched(None, {"stopped": "interrupted"}))
    True
    """
    stopped: object = searched.found["stopped"] if searched.made is None else searched.made.stopped
    return stopped == "interrupted"


def search(
    problem: Problem,
    objective: Objective,
    budget: Budget,
    *,
    largest: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Found:
    """The best order that is found within a budget.

    Args:
        problem: operands as tuples of labels.
        objective: what is minimised.
        budget: how long to search. In rotations, or as a share of contracting, the result is the same in every run,
            whatever the number of threads.
        largest: live elements allowed at the peak (``SearchRecord.log2_peak``); labels are sliced until that holds.
            Where no slicing is enough, the path that comes nearest is given back, and its record says so.
        seed: of all that is drawn.
        threads: at most so many; by default one for each processor.

    Raises:
        ValueError: labels out of range or repeated, or a budget that is not one.
        KeyboardInterrupt: Ctrl-C, unless the budget is in seconds: then it ends the search, and the best so far counts.

    >>> problem = Problem(((0, 1), (1, 2), (2, 3)), (0, 3), (2, 3, 4, 5))
    >>> found = search(problem, Objective("flops"), Budget(rotations=1000))
    >>> found.path, found.record.stopped
    (((0, 1), (2, 3)), 'exact')
    """
    check(problem, budget, largest)
    path, sliced, searched = search_checked(problem, objective, budget, largest, seed, threads)
    return Found(path, sliced, searched.record)


def search_checked(
    problem: Problem,
    objective: Objective,
    budget: Budget,
    largest: int | None,
    seed: int = 0,
    threads: int | None = None,
) -> tuple[Pairs, tuple[int, ...], Searched]:
    """The same of what is known to be a problem and a budget, with a record that is made when it is asked for.

    >>> search_checked(Problem(((0, 1), (1,)), (0,), (2, 3)), Objective("flops"), Budget(rotations=0), None)[0]
    ((0, 1),)
    """
    begun = perf_counter()
    if not native.AVAILABLE:
        found = search_in_python(problem, objective, budget, largest, seed, begun)
        return found.path, found.sliced, Searched(found.record)
    threads = 1 if budget.rotations == 0 else threads or available_processors()
    return _search_natively(problem, objective, budget, largest, seed, threads, begun)


def _search_natively(
    problem: Problem,
    objective: Objective,
    budget: Budget,
    largest: int | None,
    seed: int,
    threads: int,
    begun: float,
) -> tuple[Pairs, tuple[int, ...], Searched]:
    asked = (
        problem.inputs,
        problem.output,
        tuple(log2(extent) if extent > 1 else 0.0 for extent in problem.extents),
        objective.minimize == "size",
        objective.minimize == "seconds",
        objective.element_products,
        log2(CACHED),
        log2(UNCACHED),
        objective.flop_rate / 2,
        objective.element_rate,
        objective.step_seconds,
        inf if budget.rotations is None else float(budget.rotations),
        inf if budget.share is None else budget.share,
        inf if budget.seconds is None else budget.seconds,
        float(budget.most_rotations),
        inf if largest is None else log2(largest),
        seed & 0xFFFFFFFFFFFFFFFF,
        threads,
    )
    try:
        found = native.LIBRARY.search(*asked)
    except MemoryError as error:
        raise OutOfMemoryError(
            f"plan: not enough memory to search an order of {len(problem.inputs)} operands; optimize='greedy' or a "
            "path takes less",
            operation="plan",
        ) from error
    searched = Searched(None, found, objective, len(problem.inputs) - 1, perf_counter() - begun)
    return found["path"], found["sliced"], searched


def would_pay(history: tuple[Progress, ...], rotations: int, rotation_seconds: float, log2_seconds: float) -> bool:
    """Whether the second half of a search saved more time of contracting than it took.

    >>> history = Progress(10, 50.0, 20.0), Progress(1000, 48.0, 20.0)
    >>> would_pay(history, 1000, 3e-8, 0.0)  # three quarters of a second are saved
    True
    >>> would_pay(history, 1000, 3e-8, -30.0)
    False
    """
    spent = log2(rotation_seconds * max(rotations / 2, 1))
    early = [step.log2_products for step in history if step.rotations <= rotations / 2]
    if not early:  # nothing is known yet: a tenth may be saved
        return log2_seconds > spent + log2(10)
    return log2_seconds + log2(max(exp2(min(early[-1] - history[-1].log2_products, 100)) - 1, 1e-300)) > spent


def check(problem: Problem, budget: Budget, largest: int | None) -> None:
    """Refuse what is no problem or no budget.

    >>> check(Problem(((0, 0),), (), (2,)), Budget(rotations=1), None)
    Traceback (most recent call last):
        ...
    ValueError: operand 0 repeats a label: (0, 0)
    """
    labels = len(problem.extents)
    for number, term in enumerate((*problem.inputs, problem.output)):
        if len({*term}) == len(term) and (not term or (min(term) >= 0 and max(term) < labels)):
            continue
        where = f"operand {number}" if number < len(problem.inputs) else "the output"
        if len({*term}) < len(term):
            raise ValueError(f"{where} repeats a label: {term}")
        raise ValueError(f"{where} has a label out of range: {term} of {labels} labels")
    if problem.output and not {*problem.output} <= {*chain.from_iterable(problem.inputs)}:
        raise ValueError("the output has a label that no operand has")
    if not problem.inputs:
        raise ValueError("there is no operand")
    given = [one for one in (budget.rotations, budget.share, budget.seconds) if one is not None]
    if len(given) != 1 or not given[0] >= 0:
        raise ValueError(f"a budget is one of rotations, share and seconds, and at least 0: {budget}")
    if largest is not None and largest < 1:
        raise ValueError(f"at least one element has to be allowed: largest={largest}")


def available_processors() -> int:
    """Processors that this process may use.

    >>> available_processors() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
