"""Properties of contraction: networks against the sum over all indices, in any order, in slices, and under limits."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any, Final

import numpy as np

import tensor_runtime as tr
from properties import Property
from properties.networks import Drawn, contracted, environment, network, require
from tensor_cpu.system.memory import pool
from tensor_einsum import MemoryLimitError, Plan, einsum, plan
from tensor_einsum.search.engine import search
from tensor_einsum.search.path import to_linear
from tensor_einsum.search.problem import Budget, Objective, Problem

_MOST_SLICES: Final = 12
_MOST_LARGE_SLICES: Final = 400  # each takes 0.1 ms and more
_ROUNDING: Final = 1.25  # buffers come in size classes, four per doubling
_PANELS: Final = 1 << 20  # bytes of a thread's panels, which no kernel announces
_NAMES: Final = ("{}", "[{}{}]", "[{} bond{}]")


def a_contraction_is_the_sum_over_all_indices(rng: Random) -> None:
    """Any network, layout, dtype and algebra; in slices, too; and the network without each operand."""
    drawn = network(rng)
    expected = contracted(drawn)
    order = rng.choice(("auto", "greedy", False, _random_path(rng, len(drawn.inputs))))
    options: dict[str, Any] = {"algebra": drawn.algebra, "conj": drawn.conj, "optimize": order}
    require(einsum(drawn.notation, *drawn.tensors, **options), expected, drawn, order)
    whole = plan(drawn.notation, *drawn.tensors, **options)
    cut = _cut(rng, whole)
    require(cut(*drawn.tensors), expected, drawn, order, cut.slices)
    for which, planned in (("whole", whole), ("sliced", cut))[: 2 if rng.random() < 0.2 else 1]:
        for operand, found in enumerate(planned.environments(*drawn.tensors)):
            require(found, environment(drawn, operand), drawn, order, which, cut.slices, operand)


def _random_path(rng: Random, operands: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(rng.sample(range(left), 2)) for left in range(operands, 1, -1))


def _cut(rng: Random, whole: Plan) -> Plan:
    """The plan in slices of random labels; few of them as a rule, as each takes its time."""
    labels = rng.sample(whole.names, rng.randint(0, min(4, len(whole.names))))
    parts = {label: rng.choice((1, 1, 2, 3)) for label in labels}
    cut = whole.with_slices(parts)
    while cut.slices.count > _MOST_SLICES and rng.random() < 0.98:
        parts.popitem()
        cut = whole.with_slices(parts)
    return cut


def every_order_gives_the_same(rng: Random) -> None:
    """All planners and random paths; other names of labels, other orders of operands and of the output's axes."""
    drawn = network(rng, 5)
    expected = contracted(drawn)
    options: dict[str, Any] = {"algebra": drawn.algebra, "conj": drawn.conj}
    count = len(drawn.inputs)
    orders = ["auto", "greedy", "optimal", False, _random_path(rng, count), _searched(rng, drawn)]
    for order in orders:
        require(einsum(drawn.notation, *drawn.tensors, optimize=order, **options), expected, drawn, order)
    objective = rng.choice(("time", "flops", "size"))
    require(einsum(drawn.notation, *drawn.tensors, objective=objective, **options), expected, drawn, objective)
    form = rng.choice(_NAMES)
    marks = rng.sample("ABCDEFGHIJKLMNOP", len(drawn.extents))
    names = {label: form.format(mark, rng.randint(0, 99)) for label, mark in zip(drawn.extents, marks, strict=True)}
    turned = rng.sample(range(count), count)
    axes = tuple(rng.sample(range(len(drawn.output)), len(drawn.output)))
    terms = ["".join([names[label] for label in drawn.inputs[place]]) for place in turned]
    notation = f"{','.join(terms)}->{''.join([names[drawn.output[axis]] for axis in axes])}"
    options["conj"] = tuple(turned.index(place) for place in drawn.conj)
    found = einsum(notation, *[drawn.tensors[place] for place in turned], optimize=rng.choice(orders[:4]), **options)
    require(found, expected.transpose(axes), drawn, notation)


def _searched(rng: Random, drawn: Drawn) -> tuple[tuple[int, ...], ...]:
    """The path that our search finds by a number of rotations, from any seed."""
    number = {label: place for place, label in enumerate(drawn.extents)}
    terms = [tuple(number[label] for label in dict.fromkeys(term)) for term in (*drawn.inputs, drawn.output)]
    problem = Problem(tuple(terms[:-1]), terms[-1], tuple(drawn.extents.values()))
    objective = Objective(rng.choice(("seconds", "flops", "size", "mixture")))
    found = search(problem, objective, Budget(rotations=rng.randint(0, 300)), seed=rng.getrandbits(32))
    return to_linear(found.path, len(drawn.inputs))


def a_memory_limit_is_kept_or_refused(rng: Random) -> None:
    """A refusal names a limit that is accepted; what is planned for is what the allocator sees; the result is exact."""
    if rng.random() < 0.05:
        _a_large_plan_keeps_its_limit(rng)
        return
    drawn = network(rng)
    optimize = rng.choice(("auto", "greedy", False, _random_path(rng, len(drawn.inputs))))
    options: dict[str, Any] = {"algebra": drawn.algebra, "conj": drawn.conj, "optimize": optimize}
    needed = plan(drawn.notation, *drawn.tensors, **options).peak_bytes
    found, limit = _within(drawn.notation, drawn.tensors, rng.randint(0, needed), options)
    expected = contracted(drawn)
    require(found(*drawn.tensors), expected, drawn, optimize, limit, found.slices)
    require(einsum(drawn.notation, *drawn.tensors, memory_limit=limit, **options), expected, drawn, optimize, limit)


def _within(notation: str, tensors: tuple[tr.Tensor, ...], limit: int, options: dict[str, Any]) -> tuple[Plan, int]:
    """A plan under a limit, or under the least one that the refusal of it names; and that limit."""
    try:
        found = plan(notation, *tensors, memory_limit=limit, **options)
    except MemoryLimitError as error:
        smallest: Any = error.smallest
        assert limit < smallest, (notation, limit, smallest)
        limit = smallest
        found = plan(notation, *tensors, memory_limit=limit, **options)
    peak, kernels = found.intermediate_bytes, found.peak_bytes
    assert peak <= kernels == found.peak_bytes_on(*tensors) <= limit, (
        notation,
        options,
        limit,
        peak,
        kernels,
        found.slices,
    )
    return found, limit


def _a_large_plan_keeps_its_limit(rng: Random) -> None:
    """Tables of mebibytes, which the caching allocator records."""
    labels = "abcde"[: rng.randint(3, 5)]
    side = round((1 << 21) ** (1 / len(labels)))
    extents = {label: max(1, side + rng.randint(-side // 4, side // 4)) for label in labels}
    inputs = ["".join(rng.sample(labels, 2)) for _ in range(rng.randint(3, 5))]
    used = sorted({*"".join(inputs)})
    output = "".join(rng.sample(used, rng.randint(0, 2)))
    notation = f"{','.join(inputs)}->{output}"
    dtype = rng.choice(("float32", "float64", "complex64", "int32", "int64"))
    generator = np.random.default_rng(rng.getrandbits(64))
    shapes = [tuple(extents[label] for label in term) for term in inputs]
    arrays = [generator.integers(-1, 2, shape).astype(dtype) for shape in shapes]
    tensors = tuple(tr.tensor(array) if rng.random() < 0.5 else tr.asarray(array) for array in arrays)
    options: dict[str, Any] = {"optimize": _random_path(rng, len(inputs)) if rng.random() < 0.9 else "auto"}
    whole = plan(notation, *tensors, **options)
    least = 8 * prod(extents[label] for label in output)
    limit = max(least, whole.peak_bytes // rng.choice((1, 2, 4, 8, 64)))
    found, limit = _within(notation, tensors, limit, options)
    if found.slices.count > _MOST_LARGE_SLICES:
        return
    expected = np.einsum(notation, *arrays)
    pool.clear()
    before = pool.stats().used_bytes
    with tr.set_threads(1):
        result = found(*tensors)
    taken = pool.stats().peak_bytes - before
    promised = found.peak_bytes
    assert taken <= _ROUNDING * promised + _PANELS, (notation, extents, options, limit, promised, taken, found.slices)
    require(result, expected, notation, extents, options, limit, found.slices)


PROPERTIES: Final = (
    Property(
        "contractions",
        "a contraction, its slices and its environments are exact",
        a_contraction_is_the_sum_over_all_indices,
        100,
        200_000,
    ),
    Property("orders", "every order and every naming gives the same", every_order_gives_the_same, 40, 50_000, 20),
    Property(
        "memory-limits",
        "a memory limit is kept, or refused with one that is",
        a_memory_limit_is_kept_or_refused,
        60,
        10_000,
        20,
    ),
)
