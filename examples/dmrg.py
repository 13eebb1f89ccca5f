"""Ground states of the Heisenberg chain by two-site DMRG, checked against the exact energy.

    python examples/dmrg.py --sites 16 --rank 32 --picture out/dmrg.svg

The chain is open, of spins 1/2: H = Σ S_j · S_(j+1). The state is a chain of tensors [left, spin, right], no bond of
more than `rank`. A sweep goes to the right end and back; at each pair of sites `tensor_linalg.eigsh` improves the two
sites as one tensor, with a function of one line for the Hamiltonian around them, and `tensor_linalg.split` parts them
again, which also says what weight was lost. Up to 16 sites the exact energy is that of `eigsh` on the whole state, a
tensor with one axis per spin.

Energies are in units of the coupling. Source: S. R. White, Phys. Rev. Lett. 69, 2863 (1992); U. Schollwöck, Ann. Phys.
326, 96 (2011), §6.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tensor_runtime as tr
from tensor_einsum import einsum
from tensor_linalg import eigsh, split

Environment = tr.Tensor  # what lies to one side of a site: [operator, conjugated state, state]


class Sweep(NamedTuple):
    """What a sweep found."""

    energy: float
    discarded: float  # the largest weight that one split lost
    rank: int
    entropies: list[float]  # entanglement across each bond


def hamiltonian() -> tr.Tensor:
    """The operator of one site, [left, right, spin, spin]: each path from 0 to 4 along a chain is one term of H.

    >>> hamiltonian().shape
    (5, 5, 2, 2)
    """
    one, z, zero = [[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.0], [0.0, -0.5]], [[0.0, 0.0], [0.0, 0.0]]
    up, down = [[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]
    half_up, half_down = [[0.0, 0.5], [0.0, 0.0]], [[0.0, 0.0], [0.5, 0.0]]
    first, last = [one, up, down, z, zero], [zero, half_down, half_up, z, one]
    return tr.tensor([first, *([zero] * 4 + [last[k]] for k in range(1, 5))])


def dmrg(sites: int, rank: int, sweeps: int, cutoff: float = 1e-13) -> list[Sweep]:
    """Sweeps, to the right end and back, over a chain that starts with spins up and down in turn.

    Args:
        sites: at least 2.
        rank: the largest rank of a bond.
        sweeps: at least 1.
        cutoff: the weight that a split may lose.

    >>> round(dmrg(4, 4, 2)[-1].energy, 9)
    -1.616025404
    """
    w = hamiltonian()
    state = [tr.tensor([float(site % 2 == spin) for spin in (0, 1)]).reshape((1, 2, 1)) for site in range(sites)]
    left: list[Environment] = [tr.eye(5)[:, 0].reshape((5, 1, 1))] * sites  # of the sites before each
    right: list[Environment] = [tr.eye(5)[:, 4].reshape((5, 1, 1))] * sites  # of the sites after each
    for j in range(sites - 1, 0, -1):
        right[j - 1] = einsum("xst,aps,wxpq,bqt->wab", right[j], state[j], w, state[j])
    found = []
    for _ in range(sweeps):
        energy, discarded, entropies = 0.0, 0.0, [0.0] * (sites - 1)
        for j, onward in [(j, True) for j in range(sites - 1)] + [(j, False) for j in reversed(range(sites - 1))]:
            start = tr.tensordot(state[j], state[j + 1], axes=1)
            around = (left[j], w, w, right[j + 1])
            lowest = eigsh(lambda x: einsum("wab,wxps,xyqt,ycd,bstd->apqc", *around, x), start, tol=1e-10)  # noqa: B023
            a, s, b, lost = split(lowest.eigenvectors[..., 0], (0, 1), max_rank=rank, cutoff=cutoff, renormalize=True)
            if onward:
                state[j : j + 2] = a, s.reshape((-1, 1, 1)) * b
                left[j + 1] = einsum("wab,aps,wxpq,bqt->xst", left[j], a, w, a)
            else:
                state[j : j + 2] = a * s, b
                right[j] = einsum("xst,aps,wxpq,bqt->wab", right[j + 1], b, w, b)
            energy, discarded = float(lowest.eigenvalues), max(discarded, float(lost))
            entropies[j] = -sum(p * math.log(p) for p in (s * s).to_numpy().tolist() if p > 0)
        found.append(Sweep(energy, discarded, max(tensor.shape[2] for tensor in state), entropies))
    return found


def exact_energy(sites: int) -> float:
    """The lowest energy, by the whole state as a tensor of one axis per spin: S · S exchanges two spins, less a half.

    >>> round(exact_energy(4), 9)
    -1.616025404
    """

    def product(x: tr.Tensor) -> tr.Tensor:
        axes = list(range(sites))
        exchanged = [tr.permute_axes(x, [*axes[:j], j + 1, j, *axes[j + 2 :]]) for j in axes[:-1]]
        return sum(exchanged[1:], exchanged[0]) * 0.5 - x * (0.25 * (sites - 1))

    return float(eigsh(product, tr.normal((2,) * sites, seed=1)).eigenvalues)


def draw(runs: dict[int, list[Sweep]], exact: float | None, picture: Path) -> None:
    """The error of the energy, sweep by sweep, for several ranks, and the entanglement along the chain."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    errors, entanglement = figure.subplots(1, 2)
    best = exact if exact is not None else min(run[-1].energy for run in runs.values())
    for rank, run in runs.items():
        counts = range(1, len(run) + 1)
        errors.semilogy(counts, [max(sweep.energy - best, 1e-15) for sweep in run], "o-", label=f"rank {rank}")
    last = runs[max(runs)][-1].entropies
    entanglement.plot(range(1, len(last) + 1), last, "o-", color="black")
    errors.set(xlabel="sweep", ylabel="energy above the exact one" if exact is not None else "energy above the lowest")
    errors.xaxis.get_major_locator().set_params(integer=True)
    errors.legend()
    entanglement.set(xlabel="bond", ylabel="entanglement entropy", ylim=(0, None))
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line for each sweep, and fail where the energy is not the exact one."""
    parser = argparse.ArgumentParser(description="The ground state of an open Heisenberg chain by two-site DMRG.")
    parser.add_argument("--sites", type=int, default=16)
    parser.add_argument("--rank", type=int, default=64, help="the largest rank of a bond (default: 64)")
    parser.add_argument("--sweeps", type=int, default=4)
    parser.add_argument("--picture", type=Path, help="where a picture goes, such as out/dmrg.svg")
    arguments = parser.parse_args(argv)
    sites, rank = arguments.sites, arguments.rank
    if sites < 2 or rank < 1 or arguments.sweeps < 1:
        parser.error("at least 2 sites, rank 1 and 1 sweep")
    exact = exact_energy(sites) if sites <= 16 else None
    ranks = sorted({rank, max(1, rank // 2), max(1, rank // 4)}) if arguments.picture else [rank]
    runs = {one: dmrg(sites, one, arguments.sweeps) for one in ranks}
    for number, sweep in enumerate(runs[rank], 1):
        print(f"sweep {number}: energy {sweep.energy:.12f}, rank {sweep.rank}, discarded {sweep.discarded:.1e}")
    if arguments.picture:
        try:
            draw(runs, exact, arguments.picture)
        except (OSError, ValueError) as refused:  # a place that takes no file, or an ending of no format
            parser.error(f"--picture {arguments.picture}: {refused}")
        print(f"wrote {arguments.picture}")
    if exact is not None:
        last = runs[rank][-1]
        error, allowed = last.energy - exact, 1e-9 + 10 * sites * last.discarded
        print(f"exact: energy {exact:.12f}; DMRG is {error:.1e} above, {allowed:.1e} allowed")
        if not -1e-9 <= error <= allowed:
            parser.exit(1, "the energy is not the exact one\n")


if __name__ == "__main__":
    main()
