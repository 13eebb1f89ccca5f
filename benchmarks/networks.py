"""Tensor networks to plan, drawn by seed or read from files: circuits, regular graphs, lattices, hyper-graphs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Final, NamedTuple


class Network(NamedTuple):
    """Labels as numbers from 0, by operand; and a linear path that somebody else found, if there is one."""

    name: str
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    extents: tuple[int, ...]
    path: tuple[tuple[int, ...], ...] = ()

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Extents of each operand."""
        return [tuple(self.extents[label] for label in term) for term in self.inputs]

    @property
    def notation(self) -> str:
        """An einsum string, one character a label."""
        from opt_einsum import get_symbol

        terms = ["".join(map(get_symbol, term)) for term in (*self.inputs, self.output)]
        return f"{','.join(terms[:-1])}->{terms[-1]}"


def circuit(rows: int, columns: int, depth: int, seed: int) -> Network:
    """An amplitude of a circuit on a grid: a layer is a gate on every qubit, and CZ gates on one of four sets of pairs.

    A CZ is diagonal, so its labels are those of its qubits: hyper-edges. Which of the four sets comes first is drawn.

    >>> network = circuit(6, 6, 8, 0)
    >>> len(network.inputs), len(network.extents)
    (480, 324)
    """
    qubits = list(product(range(rows), range(columns)))
    now = {qubit: number for number, qubit in enumerate(qubits)}
    terms: list[tuple[int, ...]] = [(now[qubit],) for qubit in qubits]
    labels, first = len(qubits), Random(seed).randrange(4)
    for layer in range(depth):
        for qubit in qubits:
            terms.append((now[qubit], labels))
            now[qubit], labels = labels, labels + 1
        vertical, odd = divmod((first + layer) % 4, 2)
        for row, column in qubits:
            if (row if vertical else column) % 2 == odd:
                other = (row + vertical, column + 1 - vertical)
                if other in now:
                    terms.append((now[row, column], now[other]))
    terms += [(now[qubit],) for qubit in qubits]
    return Network(f"circuit {rows}×{columns}, depth {depth}", tuple(terms), (), (2,) * labels)


def regular(degree: int, nodes: int, seed: int) -> Network:
    """A random graph whose nodes have so many neighbours each.

    >>> {len(term) for term in regular(3, 20, 1).inputs}
    {3}
    """
    draw = Random(seed)
    while True:
        ends = [node for node in range(nodes) for _ in range(degree)]
        draw.shuffle(ends)
        pairs = [(min(pair), max(pair)) for pair in zip(ends[::2], ends[1::2], strict=True)]
        # Loops and double edges are swapped away: of large graphs almost none has neither.
        for _ in range(100 * nodes):
            bad = [at for at, pair in enumerate(pairs) if pair[0] == pair[1] or pairs.count(pair) > 1]
            if not bad:
                return _graph(f"{degree}-regular, {nodes} nodes", nodes, pairs, 2)
            one, other = bad[0], draw.randrange(len(pairs))
            (a, b), (c, d) = pairs[one], pairs[other]
            pairs[one], pairs[other] = (min(a, d), max(a, d)), (min(c, b), max(c, b))


def lattice(*lengths: int, bond: int = 2) -> Network:
    """A grid with open borders, in any number of dimensions.

    >>> len(lattice(4, 4).extents)
    24
    """
    sites = {site: number for number, site in enumerate(product(*map(range, lengths)))}
    pairs = []
    for site, number in sites.items():
        for axis in range(len(lengths)):
            other = (*site[:axis], site[axis] + 1, *site[axis + 1 :])
            if other in sites:
                pairs.append((number, sites[other]))
    return _graph(f"lattice {'×'.join(map(str, lengths))}", len(sites), pairs, bond)


def hyper(nodes: int, seed: int) -> Network:
    """A random hyper-graph: labels of extent 2 to 4 on two to four tensors each, three to a tensor on average.

    >>> network = hyper(30, 2)
    >>> {len(term) for term in network.inputs} <= set(range(1, 30)), len(network.output)
    (True, 2)
    """
    draw = Random(seed)
    terms: list[list[int]] = [[] for _ in range(nodes)]
    extents: list[int] = []
    while sum(map(len, terms)) < 3 * nodes or not all(terms):
        for node in draw.sample(range(nodes), draw.choice((2, 2, 3, 4))):
            terms[node].append(len(extents))
        extents.append(draw.randint(2, 4))
    return Network(f"hyper-graph, {nodes} nodes", tuple(map(tuple, terms)), (0, 1), tuple(extents))


def random_bonds(nodes: int, seed: int) -> Network:
    """As many bonds of extent 2 to 4 as tensors: each joins a tensor, every one in its turn, with any other.

    >>> network = random_bonds(10, 1)
    >>> len(network.extents), min(map(len, network.inputs)) > 0, {*network.extents} <= {2, 3, 4}
    (10, True, True)
    """
    draw = Random(seed)
    pairs = [(node, (node + draw.randrange(1, nodes)) % nodes) for node in range(nodes)]
    extents = tuple(draw.randint(2, 4) for _ in pairs)
    return _graph(f"random, {nodes} operands", nodes, pairs, 2)._replace(extents=extents)


def _graph(name: str, nodes: int, pairs: list[tuple[int, int]], bond: int) -> Network:
    terms: list[list[int]] = [[] for _ in range(nodes)]
    for label, pair in enumerate(pairs):
        for node in pair:
            terms[node].append(label)
    return Network(name, tuple(map(tuple, terms)), (), (bond,) * len(pairs))


DRAWN: Final[tuple[Callable[[int], Network], ...]] = (
    *(partial(regular, 3, nodes) for nodes in (60, 100, 200, 300)),
    *(partial(regular, 4, nodes) for nodes in (60, 120, 200)),
    *(lambda _, lengths=lengths: lattice(*lengths) for lengths in ((10, 10), (16, 16), (5, 5, 5), (6, 6, 6))),
    *(partial(circuit, 6, 6, depth) for depth in (8, 14, 20)),
    *(partial(circuit, 7, 7, depth) for depth in (8, 12, 20)),
    *(partial(hyper, nodes) for nodes in (60, 100)),
)
"""What the benchmark of planners draws, each by a seed."""


def drawn(seed: int) -> Iterator[Network]:
    """The networks of one seed."""
    return (draw(seed) for draw in DRAWN)


def read(folder: Path, path: str = "opt_flops") -> Iterator[Network]:
    """The networks of a folder that have more than two operands and a path of that name."""
    for file in sorted(folder.glob("*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        if len(document.get("shapes", ())) > 2 and path in document.get("paths", {}):
            yield _from_document(file.stem, document, path)


def _from_document(name: str, document: Mapping[str, object], path: str) -> Network:
    text = str(document["format_string"]).replace(" ", "")
    terms, output = text.split("->")
    numbers: dict[str, int] = {}
    extents: list[int] = []
    for term, shape in zip(terms.split(","), document["shapes"], strict=True):  # type: ignore[call-overload]
        for label, extent in zip(term, shape, strict=True):
            if label not in numbers:
                numbers[label] = len(extents)
                extents.append(extent)
            extents[numbers[label]] = max(extent, extents[numbers[label]])
    steps = document["paths"][path]["path"]  # type: ignore[index]
    return Network(
        name,
        tuple(tuple(dict.fromkeys(numbers[label] for label in term)) for term in terms.split(",")),
        tuple(dict.fromkeys(numbers[label] for label in output)),
        tuple(extents),
        tuple(tuple(step) for step in steps),
    )
