"""A chain of spins after a quench, by time-evolving block decimation, checked against the whole state.

    python examples/tebd.py --sites 12 --rank 64 --picture out/tebd.png

The spins of an open Heisenberg chain, H = Σ S_j · S_(j+1), start up in the left half and down in the right one, and the
wall between them melts. The state is a chain of tensors [left, spin, right]; each step applies exp(-i dt S · S) to the
pairs, half a step to the even bonds, a whole one to the odd, half a one to the even (second order), and
`tensor_linalg.split` parts each pair again without the weight that `rank` and `cutoff` do not admit. The whole state, a
tensor with one axis per spin, is evolved by `tensor_linalg.expm_multiply` with a function of three lines beside it.

Times are in units of the inverse coupling. Source: G. Vidal, Phys. Rev. Lett. 93, 040502 (2004); M. B. Hastings, J.
Math. Phys. 50, 095207 (2009), of steps without division.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import tensor_runtime as tr
from tensor_einsum import einsum
from tensor_linalg import expm_multiply, split


def heisenberg(x: tr.Tensor) -> tr.Tensor:
    """H times a whole state: S · S exchanges two spins, halved, less a quarter.

    >>> heisenberg(tr.ones((2, 2))).to_numpy().tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    axes = list(range(x.rank))
    exchanged = [tr.permute_axes(x, [*axes[:j], j + 1, j, *axes[j + 2 :]]) for j in axes[:-1]]
    return sum(exchanged[1:], exchanged[0]) * 0.5 - x * (0.25 * (x.rank - 1))


def gate(dt: float) -> tr.Tensor:
    """exp(-i dt S · S) of two spins, [spin, spin, spin before, spin before].

    >>> gate(0.1).shape
    (2, 2, 2, 2)
    """
    identity = tr.eye(4, dtype="C64").reshape((2, 2, 4))
    exchange = tr.permute_axes(identity, (1, 0, 2))
    turn = complex(math.cos(dt / 2), -math.sin(dt / 2))  # the exchange squared is 1
    phase = complex(math.cos(dt / 4), math.sin(dt / 4))
    return ((identity * turn.real + exchange * (1j * turn.imag)) * phase).reshape((2, 2, 2, 2))


class Chain:
    """A state as tensors that are isometries from the right, with the singular values left of each.

    >>> chain = Chain([1, 0])
    >>> lost = chain.step(math.pi, 4, 0.0)  # two spins have changed places
    >>> [round(one, 12) for one in chain.magnetisation()]
    [0.5, -0.5]
    """

    def __init__(self, spins: Sequence[int]) -> None:
        """Each spin up, 0, or down, 1."""
        self.tensors = [tr.eye(2, dtype="C64")[spin].reshape((1, 2, 1)) for spin in spins]
        self.values = [tr.ones((1,)) for _ in spins]

    def apply(self, u: tr.Tensor, j: int, rank: int, cutoff: float) -> float:
        """A gate to sites j and j + 1; the weight that is lost."""
        pair = einsum("apb,bqc,stpq->astc", self.tensors[j], self.tensors[j + 1], u)
        weighted = self.values[j].reshape((-1, 1, 1, 1)) * pair
        _, self.values[j + 1], right, lost = split(weighted, (0, 1), max_rank=rank, cutoff=cutoff, renormalize=True)
        self.tensors[j] = einsum("astc,dtc->asd", pair, tr.conj(right))  # no division by small values
        self.tensors[j + 1] = right
        return float(lost)

    def step(self, dt: float, rank: int, cutoff: float) -> float:
        """One step of second order; the weight that is lost."""
        half, whole, bonds = gate(dt / 2), gate(dt), len(self.tensors) - 1
        parts = [(half, j) for j in range(0, bonds, 2)] + [(whole, j) for j in range(1, bonds, 2)]
        return sum(self.apply(u, j, rank, cutoff) for u, j in parts + parts[: (bonds + 1) // 2])

    def magnetisation(self) -> list[float]:
        """<S_z> of each spin."""
        weights = [
            tr.sum(tr.abs(s.reshape((-1, 1, 1)) * tensor) ** 2.0, axis=(0, 2))
            for s, tensor in zip(self.values, self.tensors, strict=True)
        ]
        return [float(w[0] - w[1]) / 2 / float(w[0] + w[1]) for w in weights]


def whole_magnetisation(x: tr.Tensor) -> list[float]:
    """<S_z> of each spin of a whole state.

    >>> whole_magnetisation(tr.tensor([[0.0, 1.0], [0.0, 0.0]]))
    [0.5, -0.5]
    """
    weights = [tr.sum(tr.abs(x) ** 2.0, axis=tuple(k for k in range(x.rank) if k != j)) for j in range(x.rank)]
    return [float(w[0] - w[1]) / 2 for w in weights]


def draw(times: list[float], profiles: list[list[float]], picture: Path) -> None:
    """The magnetisation over place and time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    limits = (-0.5, len(profiles[0]) - 0.5, times[0], times[-1])
    image = axes.imshow(profiles, origin="lower", aspect="auto", extent=limits, cmap="RdBu", vmin=-0.5, vmax=0.5)
    axes.set(xlabel="site", ylabel="time")
    figure.colorbar(image, label="magnetisation")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)


def main(argv: Sequence[str] | None = None) -> None:
    """Evolve, and fail where the magnetisation is not that of the whole state."""
    parser = argparse.ArgumentParser(description="A domain wall in an open Heisenberg chain, by TEBD.")
    parser.add_argument("--sites", type=int, default=12)
    parser.add_argument("--rank", type=int, default=64, help="the largest rank of a bond (default: 64)")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--dt", type=float, default=0.05)
    parser.add_argument("--picture", type=Path, help="where a picture goes, such as out/tebd.png")
    arguments = parser.parse_args(argv)
    sites, dt = arguments.sites, arguments.dt
    if sites < 2 or arguments.steps < 1 or arguments.rank < 1 or not 0 < dt <= 1:
        parser.error("at least 2 sites, 1 step and rank 1, and dt in (0, 1]")
    spins = [int(site >= sites // 2) for site in range(sites)]
    chain, lost = Chain(spins), 0.0
    times, profiles = [0.0], [chain.magnetisation()]
    for number in range(1, arguments.steps + 1):
        lost += chain.step(dt, arguments.rank, 1e-12)
        times.append(number * dt)
        profiles.append(chain.magnetisation())
    rank = max(tensor.shape[2] for tensor in chain.tensors)
    print(f"time {times[-1]:g}: rank {rank}, weight lost {lost:.1e}")
    if arguments.picture:
        try:
            draw(times, profiles, arguments.picture)
        except (OSError, ValueError) as refused:  # a place that takes no file, or an ending of no format
            parser.error(f"--picture {arguments.picture}: {refused}")
        print(f"wrote {arguments.picture}")
    if sites <= 16:
        start = tr.mutable_view(tr.zeros((2,) * sites, dtype="C64"))
        start[tuple(spins)] = 1.0
        exact = whole_magnetisation(expm_multiply(heisenberg, tr.copy(start), -1j * times[-1], hermitian=True).x)
        error = max(abs(a - b) for a, b in zip(profiles[-1], exact, strict=True))
        allowed = times[-1] * dt**2 + 10 * lost**0.5 + 1e-9
        print(f"magnetisation: {error:.1e} from that of the whole state, {allowed:.1e} allowed")
        if error > allowed:
            parser.exit(1, "the magnetisation is not the exact one\n")


if __name__ == "__main__":
    main()
