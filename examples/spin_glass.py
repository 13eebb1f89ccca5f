"""The ground state of a spin glass, as a contraction in which sums are maxima and products are sums.

    python examples/spin_glass.py --rows 10 --columns 10 --picture out/spin_glass.svg

Edwards and Anderson's model on a lattice with open ends: the energy of spins ±1 is minus the sum of J s s' over
neighbours, with couplings J from a normal distribution. Each coupling is a matrix [2, 2], each spin a label that
belongs to all its couplings; contracted over (max, +), the network is the largest sum of couplings that any of the 2^N
states reaches. One sweep of max-marginals then says how large it is with each spin held up, or down, and so which way
it points.

The state is checked: its own energy, added bond by bond, has to be the one that the contraction found.

Source: J.-G. Liu, L. Wang and P. Zhang, Phys. Rev. Lett. 126, 090506 (2021).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tensor_runtime as tr
from tensor_einsum import plan
from tensor_runtime.algebras import MAX_PLUS


class GroundState(NamedTuple):
    """Spins, +1 or -1, as rows of the lattice; the energy by the contraction, and bond by bond."""

    spins: list[list[int]]
    energy: float
    energy_of_spins: float


def bonds(rows: int, columns: int) -> list[tuple[int, int]]:
    """Neighbours of an open lattice, sites counted along rows.

    >>> bonds(2, 2)
    [(0, 1), (0, 2), (1, 3), (2, 3)]
    """
    found = []
    for site in range(rows * columns):
        if site % columns + 1 < columns:
            found.append((site, site + 1))
        if site + columns < rows * columns:
            found.append((site, site + columns))
    return found


def ground_state(rows: int, columns: int, seed: int) -> GroundState:
    """The state of least energy; the spin of site 0 points up, for all spins turned over are another.

    >>> found = ground_state(3, 3, seed=1)
    >>> found.spins[0][0], abs(found.energy - found.energy_of_spins) < 1e-12
    (1, True)
    """
    pairs = bonds(rows, columns)
    couplings = tr.normal((len(pairs),), seed=seed).tolist()
    signs = tr.tensor([[1.0, -1.0], [-1.0, 1.0]])
    field = tr.tensor([0.0, float("-inf")])  # site 0 is up: down is worth nothing in this algebra
    operands = [field, *(coupling * signs for coupling in couplings)]
    terms = ["[0]", *(f"[{first}][{second}]" for first, second in pairs)]
    network = plan(",".join(terms) + "->", *operands, algebra=MAX_PLUS)
    best = float(network(*operands))
    marginals = network.marginals(*operands)
    spins = [1 if up >= down else -1 for up, down in (marginals[str(site)].tolist() for site in range(rows * columns))]
    reached = sum(coupling * spins[a] * spins[b] for coupling, (a, b) in zip(couplings, pairs, strict=True))
    return GroundState([spins[row * columns : (row + 1) * columns] for row in range(rows)], -best, -reached)


def draw(spins: list[list[int]], picture: Path) -> None:
    """The lattice, light where a spin points up and dark where it points down."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 4), layout="constrained")
    axes = figure.subplots()
    axes.imshow(spins, cmap="cividis")
    axes.set(title="ground state", xticks=[], yticks=[])
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)


def main(argv: Sequence[str] | None = None) -> None:
    """Find a ground state, and fail where its energy is not the one of the contraction."""
    parser = argparse.ArgumentParser(description="The ground state of a spin glass by max-plus contraction.")
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the couplings (default: 0)")
    parser.add_argument("--picture", type=Path, help="where a picture goes, such as out/spin_glass.svg")
    arguments = parser.parse_args(argv)
    if min(arguments.rows, arguments.columns) < 1 or arguments.rows * arguments.columns < 2:
        parser.error("at least two spins")
    found = ground_state(arguments.rows, arguments.columns, arguments.seed)
    sites = arguments.rows * arguments.columns
    print(f"{sites} spins, 2^{sites} states: energy {found.energy:.9f}, {found.energy / sites:.4f} for each spin")
    print(f"bond by bond: energy {found.energy_of_spins:.9f}")
    if arguments.picture:
        try:
            draw(found.spins, arguments.picture)
        except (OSError, ValueError) as refused:  # a place that takes no file, or an ending of no format
            parser.error(f"--picture {arguments.picture}: {refused}")
        print(f"wrote {arguments.picture}")
    if abs(found.energy - found.energy_of_spins) > 1e-9 * max(1.0, abs(found.energy)):
        parser.exit(1, "the state does not have the energy of the contraction\n")


if __name__ == "__main__":
    main()
