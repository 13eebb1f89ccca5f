"""What finds the order of a contraction: what ``optimize=`` takes.

Names of opt_einsum's searches are asked there. They are given labels as ints, whose hashes do not change from run to
run, and random ones are seeded, so a plan is the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tensor_einsum.errors import PathError
from tensor_einsum.options import DEFAULT, PlanOptions
from tensor_einsum.path import Path, in_pairs, to_ids
from tensor_runtime.locks import fork_safe_lock

_search_lock: Final = fork_safe_lock()  # random searches seed the global generator, so only one may run


class Order(NamedTuple):
    """In which order a network is contracted, and how that was found."""

    ids: Path  # of the operands that each contraction takes, one or two of them


def find_order(
    inputs: Sequence[Sequence[int]],
    output: Sequence[int],
    extents: Sequence[int],
    order: Path | None,
    options: PlanOptions,
) -> Order:
    """The order that options and parentheses ask for.

    Args:
        inputs: distinct labels of each operand.
        output: labels of the result.
        extents: by label.
        order: the ids that parentheses ask for, or None.
        options: an object in ``optimize`` is called as ``optimize(inputs, output, size_dict, memory_limit)``, or has a
            method ``get_path()``.

    Raises:
        PathError: an unknown name, an invalid or incomplete path, a search that failed, or two orders at once.

    >>> find_order([(0, 1), (1, 2), (2, 3)], (0, 3), (2, 3, 4, 5), None, PlanOptions(((1, 2), (0, 1))))
    Order(ids=((1, 2), (0, 3)))
    """
    operands, optimize = len(inputs), options.optimize
    if order is not None:
        if options != DEFAULT and optimize is not True:
            raise PathError(
                f"einsum: the parentheses of the notation fix the order, and optimize={optimize!r} asks for "
                "another; remove one",
                step=None,
            )
        return Order(in_pairs(order, operands))
    if optimize is False:
        return Order(in_pairs([tuple(range(operands))], operands))
    if not isinstance(optimize, tuple):
        if operands <= 2:  # nothing to choose, and importing opt_einsum takes longer than most contractions
            if isinstance(optimize, str) and optimize not in _NAMES:
                _named(optimize)
            return Order(((0, 1),) if operands == 2 else ())
        optimize = _search(inputs, output, extents, optimize)
    return Order(in_pairs(to_ids(optimize, operands), operands))


_RANDOM_NAMES: Final = frozenset({"auto-hq", "random-greedy", "random-greedy-128"})
_NAMES: Final = _RANDOM_NAMES | frozenset(
    ("auto", "branch-1", "branch-2", "branch-all", "dp", "dynamic-programming", "eager", "greedy", "optimal")
)


def _search(inputs: Sequence[Sequence[int]], output: Sequence[int], extents: Sequence[int], optimize: Any) -> Any:
    """A linear path by a named search or an optimizer object."""
    if isinstance(optimize, bool):
        optimize = "auto"
    # opt_einsum's cost functions divide by extents and take logarithms of them.
    sizes = {label: max(extent, 1) for label, extent in enumerate(extents)}
    problem = [frozenset(term) for term in inputs], frozenset(output), sizes, None
    try:
        if isinstance(optimize, str):
            search = _named(optimize)
            return _seeded(search, problem) if optimize in _RANDOM_NAMES else search(*problem)
        return optimize(*problem) if callable(optimize) else optimize.get_path()
    except PathError:
        raise
    except Exception as error:
        what = repr(optimize) if isinstance(optimize, str) else type(optimize).__name__
        raise PathError(
            f"einsum: the search by {what} failed: {type(error).__name__}: {error}; try 'greedy', or give a path",
            step=None,
        ) from error


def _named(name: str) -> Callable[..., Any]:
    """opt_einsum's search of that name, or one that the user registered there."""
    import opt_einsum  # noqa: F401 - registers the random searches
    from opt_einsum.paths import get_path_fn

    try:
        found: Callable[..., Any] = get_path_fn(name)
    except KeyError:
        raise PathError(
            f"einsum: optimize={name!r} is no search; accepted: {', '.join(sorted(_NAMES))}, a path, or a path "
            "optimizer",
            step=None,
        ) from None
    return found


def _seeded(search: Callable[..., Any], problem: tuple[Any, ...]) -> Any:
    """Run a search that draws from Python's global generator, from a fixed seed, and leave the generator as it was."""
    import random

    with _search_lock:
        state = random.getstate()
        random.seed(0)
        try:
            return search(*problem)
        finally:
            random.setstate(state)
