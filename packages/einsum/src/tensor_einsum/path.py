"""Paths: the order in which operands are contracted, always in pairs.

Two conventions. *Linear*, as opt_einsum, NumPy and cotengra write paths: positions in the list of operands that are
left; those contracted are removed and the result is appended. *Ids*, used inside: operands are 0 to n-1, the k-th
contraction gives n+k, and no id is ever used twice. Entries of more than two are taken as pairs from left to right;
entries of one are allowed and sum what they can.

Searching is opt_einsum's work. It is given labels as ints, whose hashes do not change from run to run, and its random
searches are seeded, so a plan is the same in every run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import index as as_index
from typing import Any, Final

from tensor_einsum.errors import PathError
from tensor_runtime.locks import fork_safe_lock

Path = tuple[tuple[int, ...], ...]

_search_lock: Final = fork_safe_lock()  # random searches seed the global generator, so only one may run


def find_path(
    inputs: Sequence[Sequence[int]], output: Sequence[int], extents: Sequence[int], order: Path | None, optimize: Any
) -> Path:
    """Ids of the operands that each contraction takes, one or two of them.

    Args:
        inputs: distinct labels of each operand.
        output: labels of the result.
        extents: by label.
        order: the ids that parentheses ask for, or None.
        optimize: the name of an opt_einsum search, True for "auto", False for left to right, a linear path, or an
            object that finds one: ``optimize(inputs, output, size_dict, memory_limit)``, or with a method
            ``get_path()``.

    Raises:
        PathError: an unknown name, an invalid or incomplete path, a search that failed, or two orders at once.

    >>> find_path([(0, 1), (1, 2), (2, 3)], (0, 3), (2, 3, 4, 5), None, [(1, 2), (0, 1)])
    ((1, 2), (0, 3))
    """
    operands = len(inputs)
    if order is not None:
        if optimize is not True and optimize != "auto":
            raise PathError(
                f"einsum: the parentheses of the notation fix the order, and optimize={optimize!r} asks for "
                "another; remove one",
                step=None,
            )
        return in_pairs(order, operands)
    if optimize is False:
        return in_pairs([tuple(range(operands))], operands)
    if isinstance(optimize, (str, bool)) or callable(optimize) or hasattr(optimize, "get_path"):
        if operands <= 2:  # nothing to choose, and importing opt_einsum takes longer than most contractions
            if isinstance(optimize, str) and optimize not in _NAMES:
                _named(optimize)
            return ((0, 1),) if operands == 2 else ()
        optimize = _search(inputs, output, extents, optimize)
    return in_pairs(to_ids(optimize, operands), operands)


def to_ids(path: Any, operands: int) -> Path:
    """Check a linear path and write it with ids.

    Raises:
        PathError: not a sequence of sequences of ints, a position out of range or named twice, operands left over.

    >>> to_ids([(0, 1), (0, 1)], 3)
    ((0, 1), (2, 3))
    """
    live = list(range(operands))
    result = []
    for step, positions in enumerate(path_entries(path)):
        if len(set(positions)) < len(positions):
            raise PathError(f"einsum: step {step} of the path, {positions}, names a position twice", step=step)
        for position in positions:
            if not 0 <= position < len(live):
                raise PathError(
                    f"einsum: step {step} of the path, {positions}, names position {position}; accepted: 0 to "
                    f"{len(live) - 1}, as {len(live)} operands are left there",
                    step=step,
                )
        result.append(tuple(live[position] for position in positions))
        for position in sorted(positions, reverse=True):
            del live[position]
        live.append(operands + step)
    if len(live) > 1:
        raise PathError(
            f"einsum: the path is incomplete: {len(live)} operands are left after its {len(result)} steps; "
            "accepted: a path that leaves one",
            step=None,
        )
    return tuple(result)


def to_linear(path: Iterable[Sequence[int]], operands: int) -> Path:
    """Write a path of ids as positions in the list of operands that are left.

    >>> to_linear([(1, 2), (0, 3)], 3)
    ((1, 2), (0, 1))
    """
    live = list(range(operands))  # always ascending, because a result has the largest id so far
    result = []
    for step, ids in enumerate(path):
        positions = tuple(bisect_left(live, one) for one in ids)
        result.append(positions)
        for position in sorted(positions, reverse=True):
            del live[position]
        live.append(operands + step)
    return tuple(result)


def in_pairs(path: Iterable[Sequence[int]], operands: int) -> Path:
    """Split entries of more than two ids into pairs, from left to right.

    >>> in_pairs([(0, 1, 2), (3, 4)], 4)
    ((0, 1), (4, 2), (3, 5))
    """
    renamed = list(range(operands))  # id in the given path -> id in the result
    result: list[tuple[int, ...]] = []
    for entry in path:
        first, *rest = [renamed[one] for one in entry]
        if not rest:
            result.append((first,))
            first = operands + len(result) - 1
        for other in rest:
            result.append((first, other))
            first = operands + len(result) - 1
        renamed.append(first)
    return tuple(result)


def path_entries(path: Any) -> Path:
    """A path as it was given, as a tuple of tuples of ints; positions are not checked here.

    >>> path_entries(["einsum_path", [0, 1]])
    ((0, 1),)
    """
    try:
        entries = list(path)
        if entries and isinstance(entries[0], str) and entries[0] == "einsum_path":  # np.einsum_path puts this in front
            del entries[0]
        result = [tuple(as_index(position) for position in entry) for entry in entries]
    except TypeError:
        raise PathError(
            f"einsum: optimize is {path!r}; accepted: the name of a search ('auto', 'greedy', 'optimal', ...), a "
            "path such as [(0, 1), (0, 1)], or a path optimizer",
            step=None,
        ) from None
    for step, entry in enumerate(result):
        if not entry:
            raise PathError(f"einsum: step {step} of the path names no operand", step=step)
    return tuple(result)


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
