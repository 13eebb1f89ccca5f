"""Networks for tests of the search, drawn by seed: every odd thing that a network may have, and regular ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from random import Random

from tensor_einsum.search.problem import Problem


def drawn(seed: int, operands: int) -> Problem:
    """A small network of anything: scalars, hyper-edges, duplicates, parts that share nothing, extents 0 and 1.

    >>> drawn(1, 3) == drawn(1, 3), len(drawn(1, 3).inputs)
    (True, 3)
    """
    random = Random(seed)
    labels = random.randrange(1, 2 * operands + 2)
    choices: Sequence[Sequence[int]] = ((2,), (2, 3, 5), (0, 1, 2, 4), range(1, 40))
    extents = tuple(random.choice(random.choice(choices)) for _ in range(labels))
    terms = [tuple(random.sample(range(labels), min(labels, random.randrange(5)))) for _ in range(operands)]
    if random.random() < 0.2:
        terms[-1] = terms[0]
    used = sorted({label for term in terms for label in term})
    output = random.sample(used, min(len(used), random.randrange(3)))
    return Problem(tuple(terms), tuple(output), extents)


def of_edges(operands: int, edges: Iterable[Sequence[int]], extent: int = 2) -> Problem:
    """A closed network with one label for each edge, which may have any number of ends.

    >>> of_edges(3, [(0, 1), (0, 1, 2)])
    Problem(inputs=((0, 1), (0, 1), (1,)), output=(), extents=(2, 2))
    """
    terms: list[list[int]] = [[] for _ in range(operands)]
    count = 0
    for label, ends in enumerate(edges):
        count += 1
        for end in ends:
            terms[end].append(label)
    return Problem(tuple(map(tuple, terms)), (), (extent,) * count)


def lattice(*shape: int, extent: int = 2) -> Problem:
    """A grid whose neighbours share a label, row by row.

    >>> lattice(2, 2).inputs
    ((0, 1), (0, 2), (1, 3), (2, 3))
    """
    number = {place: count for count, place in enumerate(product(*map(range, shape)))}
    edges = []
    for place, one in number.items():
        for axis in reversed(range(len(shape))):
            other = number.get((*place[:axis], place[axis] + 1, *place[axis + 1 :]))
            if other is not None:
                edges.append((one, other))
    return of_edges(len(number), edges, extent)


def regular_graph(operands: int, degree: int, seed: int) -> Problem:
    """A graph drawn by pairing half-edges; without loops, parallel edges are allowed.

    >>> {len(term) for term in regular_graph(10, 3, 0).inputs}
    {3}
    """
    random = Random(seed)
    ends = [one for one in range(operands) for _ in range(degree)]
    random.shuffle(ends)
    edges = [[ends[i], ends[i + 1]] for i in range(0, len(ends) - 1, 2)]
    while loops := [edge for edge in edges if edge[0] == edge[1]]:
        other = random.choice(edges)
        loops[0][1], other[1] = other[1], loops[0][1]
    return of_edges(operands, edges)


def brickwork(qubits: int, layers: int) -> Problem:
    """An amplitude of a circuit on a line: every second pair of neighbours has a gate in a layer, then the others.

    >>> len(brickwork(4, 2).inputs), brickwork(2, 1).inputs
    (11, ((0,), (1,), (0, 1, 2, 3), (2,), (3,)))
    """
    now = list(range(qubits))
    terms: list[tuple[int, ...]] = [(label,) for label in now]
    count = qubits
    for layer in range(layers):
        for qubit in range(layer % 2, qubits - 1, 2):
            terms.append((now[qubit], now[qubit + 1], count, count + 1))
            now[qubit : qubit + 2] = count, count + 1
            count += 2
    terms += [(label,) for label in now]
    return Problem(tuple(terms), (), (2,) * count)
