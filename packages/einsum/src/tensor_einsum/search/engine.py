"""The search for contraction orders: what is asked is checked here, and what searches is chosen."""

from __future__ import annotations

from time import perf_counter

from tensor_einsum.search.problem import Budget, Found, Objective, Problem
from tensor_einsum.search.python_search import search_in_python


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
    (((0, 1), (3, 2)), 'exact')
    """
    begun = perf_counter()
    check(problem, budget, largest)
    return search_in_python(problem, objective, budget, largest, seed, begun)


def check(problem: Problem, budget: Budget, largest: int | None) -> None:
    """Refuse what is no problem or no budget.

    >>> check(Problem(((0, 0),), (), (2,)), Budget(rotations=1), None)
    Traceback (most recent call last):
        ...
    ValueError: operand 0 repeats a label: (0, 0)
    """
    labels = len(problem.extents)
    for number, term in enumerate((*problem.inputs, problem.output)):
        where = f"operand {number}" if number < len(problem.inputs) else "the output"
        if len({*term}) < len(term):
            raise ValueError(f"{where} repeats a label: {term}")
        if not all(0 <= label < labels for label in term):
            raise ValueError(f"{where} has a label out of range: {term} of {labels} labels")
    if not {*problem.output} <= {label for term in problem.inputs for label in term}:
        raise ValueError("the output has a label that no operand has")
    if not problem.inputs:
        raise ValueError("there is no operand")
    given = [one for one in (budget.rotations, budget.share, budget.seconds) if one is not None]
    if len(given) != 1 or not given[0] >= 0:
        raise ValueError(f"a budget is one of rotations, share and seconds, and at least 0: {budget}")
    if largest is not None and largest < 1:
        raise ValueError(f"at least one element has to be allowed: largest={largest}")
