"""What finds the order of a contraction: what ``optimize=`` takes.

"auto" and "greedy" are searches of our own (``tensor_einsum.search``). Other names are opt_einsum's searches, which are
asked there; they are given labels as ints, whose hashes do not change from run to run, and random ones are seeded. So a
plan is the same in every run, unless its search ends by the clock.

An optimizer is called as opt_einsum calls one, or has a method ``search`` that gives a tree, as cotengra's do; a tree
has a method ``get_path``, and may say which labels it slices in ``sliced_inds``. In cotengra's these are labels of its
own, in the places of the operands' in ``inputs``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import DType
from tensor_core.errors import shortened
from tensor_core.interrupts import is_of_a_signal
from tensor_einsum.errors import PathError
from tensor_einsum.notation.label_names import label_number
from tensor_einsum.notation.network import Labels, Network
from tensor_einsum.search.engine import Searched, search_checked
from tensor_einsum.search.options import DEFAULT, SearchOptions
from tensor_einsum.search.path import Path, in_pairs, to_ids
from tensor_einsum.search.problem import Budget, Problem
from tensor_runtime.locks import fork_safe_lock

_search_lock: Final = fork_safe_lock()  # random searches seed the global generator, so only one may run


class Order(NamedTuple):
    """In which order a network is contracted, and how that was found."""

    ids: Path  # of the operands that each contraction takes, one or two of them
    search: Searched | None = None  # None where nothing was searched, or somebody else did
    sliced: tuple[tuple[int, int], ...] = ()  # labels that are cut, each with the extent of its parts
    shared_bytes: int | None = None  # the most that is kept of what slices share; None for all of it
    copies_within: int | None = None  # bytes of intermediates, result and copies; None where no limit needs them few


def find_order(
    network: Network, order: Path | None, dtype: DType, options: SearchOptions, operation: str = "einsum"
) -> Order:
    """The order that options and parentheses ask for.

    Args:
        network: labels and extents.
        order: the ids that parentheses ask for, or None.
        dtype: in which elements are multiplied; it decides how long that takes.
        options: what the caller asks for.
        operation: the name for messages.

    Raises:
        PathError: an unknown name, an invalid or incomplete path, a search that failed, or two orders at once.

    >>> from tensor_core import F64
    >>> from tensor_einsum.notation.network import resolve
    >>> from tensor_einsum.notation.reading import parse
    >>> network = resolve("plan", parse("ij,jk,kl"), [(2, 3), (3, 4), (4, 5)])
    >>> find_order(network, None, F64, SearchOptions(((1, 2), (0, 1)))).ids
    ((1, 2), (0, 3))
    """
    operands, optimize = len(network.terms), options.optimize
    if order is not None:
        asked = options._replace(limit=None, optimize="auto" if optimize is True else optimize)
        if asked != DEFAULT:
            given = f"optimize={shortened(optimize)}" if asked.optimize != "auto" else "seconds= or objective="
            raise PathError(
                f"{operation}: the parentheses of the notation fix the order, and {given} asks for another; remove one",
                step=None,
            )
        return Order(in_pairs(order, operands))
    if optimize is False:
        return Order(in_pairs([tuple(range(operands))], operands))
    if isinstance(optimize, tuple):
        return Order(in_pairs(to_ids(optimize, operands, operation), operands))
    budget = _budget(options)
    named = budget is not None or isinstance(optimize, str)
    # Of one or two operands there is no order to choose, and importing opt_einsum takes longer than most contractions;
    # but an optimizer or a tree may slice.
    if operands <= 2 and (named or (operands == 1 and not hasattr(optimize, "get_path"))):
        if budget is None and isinstance(optimize, str) and optimize not in _OPT_EINSUM:
            _named(operation, optimize)
        return Order(((0, 1),) if operands == 2 else ())
    terms = tuple(map(tuple, map(dict.fromkeys, network.terms)))
    output = tuple(dict.fromkeys(network.output))
    if budget is not None:
        # Bytes beside the operands: workspaces are found when kernels are bound, and may take further slices.
        largest = None if options.limit is None else max(1, options.limit // dtype.itemsize)
        problem = Problem(terms, output, network.extents)
        ids, sliced, searched = search_checked(problem, options.target.objective(dtype), budget, largest)
        return Order(ids, searched, tuple([(label, 1) for label in sliced]))
    path, cut = _ask(operation, optimize, terms, output, network)
    checked = to_ids(path, operands, operation, _name_of(optimize))
    return Order(in_pairs(checked, operands), None, tuple((label, 1) for label in cut))


def _budget(options: SearchOptions) -> Budget | None:
    """How long our own search may take; None where another is asked for."""
    if options.seconds is not None:
        return Budget(seconds=options.seconds)
    if options.optimize is True or options.optimize == "auto":
        return Budget(share=options.share, most_rotations=options.most_rotations)
    return Budget(rotations=0) if options.optimize == "greedy" else None


OWN: Final = ("auto", "greedy")
"""Names of searches of our own."""
_OPT_EINSUM: Final = frozenset(
    ("auto-hq", "branch-1", "branch-2", "branch-all", "dp", "dynamic-programming", "eager", "opportunistic", "optimal",
     "random-greedy", "random-greedy-128")
)  # fmt: skip
_RANDOM: Final = re.compile(r"auto-hq|random-greedy(-([1-9]\d{0,5}))?")


def _ask(
    operation: str, optimize: Any, terms: Sequence[Labels], output: Labels, network: Network
) -> tuple[Any, Labels]:
    """A linear path by a search of opt_einsum, an optimizer, or a tree; and the labels that a tree slices."""
    # opt_einsum's cost functions divide by extents and take logarithms of them.
    sizes = {label: max(extent, 1) for label, extent in enumerate(network.extents)}
    problem = [frozenset(term) for term in terms], frozenset(output), sizes
    try:
        characters = tuple(map(_character, sizes))
        named = [tuple([characters[label] for label in term]) for term in (*terms, output)]
        extents = {characters[label]: sizes[label] for label in sizes}
        if isinstance(optimize, str):
            function = _named(operation, optimize)
            if _RANDOM.fullmatch(optimize):
                return _seeded(function, problem), ()
            if optimize not in _OPT_EINSUM:  # registered there by somebody, as cotengra does
                return function([*map(frozenset, named[:-1])], frozenset(named[-1]), extents, None), ()
            return function(*problem, None), ()
        names = network.names
        if not hasattr(optimize, "get_path") and hasattr(optimize, "search"):
            names = characters
            optimize = optimize.search(named[:-1], named[-1], extents)
        if hasattr(optimize, "get_path"):
            return optimize.get_path(), _cut_by(operation, optimize, names, (network.inputs, terms))
        return optimize(*problem, None), ()
    except PathError:
        raise
    except Exception as error:
        if is_of_a_signal(error):
            raise
        raise PathError(
            f"{operation}: the search by {_name_of(optimize)} failed: {type(error).__name__}: {error}; try 'greedy', "
            "or give a path",
            step=None,
        ) from error


def _name_of(optimize: Any) -> str:
    return shortened(optimize) if isinstance(optimize, str) else type(optimize).__name__


def _cut_by(operation: str, tree: Any, names: Sequence[str], networks: Sequence[Sequence[Labels]]) -> Labels:
    """The labels that a tree slices: by position, where it has its operands' labels, which it may have renamed.

    Its terms are those of one of the networks given: operands as they are, or without repeated and broadcast axes. A
    tree without terms knows labels by these names, or the labels themselves.
    """
    sliced, inputs = [*getattr(tree, "sliced_inds", ())], getattr(tree, "inputs", None)
    if not sliced:
        return ()
    if inputs is not None and all(isinstance(term, (str, list, tuple)) for term in inputs):
        known = [found for terms in networks if (found := _renaming(inputs, terms)) is not None]
        if not known:
            raise PathError(
                f"{operation}: the tree that slices {', '.join(map(repr, sliced))} is of operands with labels "
                f"{shortened(tuple(inputs))}, which are not labelled as those of the notation; make the tree from its "
                "labels",
                step=None,
            )
        numbers = [known[0].get(label) for label in sliced]
    else:
        numbers = [label_number(label, names) for label in sliced]
    if None in numbers:
        raise PathError(
            f"{operation}: the tree slices {sliced[numbers.index(None)]!r}, which is no label of the notation; make "
            "the tree from its labels",
            step=None,
        )
    return tuple(sorted([number for number in numbers if number is not None]))


def _renaming(inputs: Sequence[Sequence[Any]], terms: Sequence[Labels]) -> dict[Any, int] | None:
    """Which label of a network each label of a tree is, operand by operand; None if it is no renaming."""
    if [*map(len, inputs)] != [*map(len, terms)]:
        return None
    pairs = {*zip(chain.from_iterable(inputs), chain.from_iterable(terms), strict=True)}
    found = dict(pairs)
    return found if len({*found.values()}) == len(found) == len(pairs) else None


def _character(label: int) -> str:
    """One character for each label, which is what the native parts of cotengra take; none is half a pair of UTF-16."""
    return chr(label if label < 0xD800 else label + 0x800)


def _named(operation: str, name: str) -> Callable[..., Any]:
    """opt_einsum's search of that name, or one that was registered there."""
    import opt_einsum
    from opt_einsum.paths import get_path_fn

    drawn = _RANDOM.fullmatch(name)
    found: Callable[..., Any]
    try:
        found = opt_einsum.RandomGreedy(max_repeats=int(drawn[2])) if drawn and drawn[2] else get_path_fn(name)
    except KeyError:
        raise PathError(
            f"{operation}: optimize={shortened(name)} is no search; accepted: "
            f"{', '.join(sorted({*OWN, *_OPT_EINSUM}))}, random-greedy-N, a path, or a path optimizer",
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
            return search(*problem, None)
        finally:
            random.setstate(state)
