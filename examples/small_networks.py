"""Three small networks of the kinds that einsum benchmarks are made of, as network files.

    python examples/small_networks.py --folder out/

A chain of matrices in scrambled order, a graphical model whose variables are hyper-edges, and a binary tree that reads
batches of sentences. All have a path in the file, found by opt_einsum's deterministic greedy search, and random
operands. The same sizes and seed give the same file.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" + "".join(
    chr(code) for code in range(0xC0, 0x400) if chr(code).isalpha()
)


def matrix_chain(matrices: int = 24, seed: int = 0) -> dict[str, object]:
    """A product of rectangular matrices, listed in random order.

    >>> matrix_chain(3)["format_string"]
    'bc,cd,ab->ad'
    """
    chooser = random.Random(seed)
    extents = [chooser.randrange(3, 30) for _ in range(matrices + 1)]
    order = chooser.sample(range(matrices), matrices)
    terms = [LETTERS[k : k + 2] for k in order]
    return _network("matrix_chain", terms, LETTERS[0] + LETTERS[matrices], dict(zip(LETTERS, extents, strict=False)))


def graphical_model(variables: int = 16, states: int = 3, seed: int = 0) -> dict[str, object]:
    """The sum over all assignments of a product of pair factors: a ring with chords, every variable a hyper-edge.

    >>> graphical_model(6)["format_string"].count(",") + 1
    8
    """
    chooser = random.Random(seed)
    pairs = {(k, (k + 1) % variables) for k in range(variables)}
    while len(pairs) < variables + variables // 3:
        first, second = sorted(chooser.sample(range(variables), 2))
        pairs.add((first, second))
    terms = [LETTERS[first] + LETTERS[second] for first, second in sorted(pairs)]
    return _network("graphical_model", terms, "", dict.fromkeys(LETTERS, states))


def language_model(depth: int = 3, batch: int = 50, words: int = 7, width: int = 4) -> dict[str, object]:
    """Likelihoods of a batch of sentences under a binary tree of rank-3 tensors; the batch label is in every leaf.

    >>> language_model(depth=1)["format_string"]
    'a,abc,Àb,Àc->À'
    """
    nodes = [LETTERS[k] + LETTERS[2 * k + 1] + LETTERS[2 * k + 2] for k in range(2**depth - 1)]
    leaves = ["À" + LETTERS[k] for k in range(2**depth - 1, 2 ** (depth + 1) - 1)]
    extents = dict.fromkeys(LETTERS, width) | {"À": batch}
    for leaf in leaves[::2]:  # every other leaf has the vocabulary's extent, the others the hidden one
        extents[leaf[1]] = words
    return _network("language_model", ["a", *nodes, *leaves], "À", extents)


def _network(name: str, terms: Sequence[str], output: str, extents: dict[str, int]) -> dict[str, object]:
    import opt_einsum

    text = ",".join(terms) + "->" + output
    shapes = [[extents[label] for label in term] for term in terms]
    path, report = opt_einsum.contract_path(text, *shapes, shapes=True, optimize="greedy")
    greedy = {
        "path": [list(map(int, step)) for step in path],
        "log2_size": f"{math.log2(report.largest_intermediate):.4f}",
        "log10_flops": f"{math.log10(report.opt_cost):.4f}",
    }
    return {
        "name": name,
        "format_string": text,
        "shapes": shapes,
        "dtype": "float64",
        "num_tensors": len(terms),
        "paths": {"greedy": greedy},
    }


NETWORKS = (matrix_chain, graphical_model, language_model)


def main(argv: Sequence[str] | None = None) -> None:
    """Write the three files."""
    parser = argparse.ArgumentParser(description="Write three small networks as network files.")
    parser.add_argument("--folder", type=Path, default=Path("."))
    arguments = parser.parse_args(argv)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for make in NETWORKS:
        network = make()
        file = arguments.folder / f"{network['name']}.json"
        file.write_text(json.dumps(network, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {file}")


if __name__ == "__main__":
    main()
