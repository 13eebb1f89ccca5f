"""A signal of a million samples as a matrix product state of some hundred numbers.

    python examples/quantics.py --qubits 20 --error 1e-6 --picture out/quantics.svg

The 2^n samples are a tensor of n axes of extent 2, one for each binary digit of the sample's number. Cut axis by axis
with `tensor_linalg.split`, it becomes a chain of n small tensors; what is smooth, periodic or alike on all scales needs
only a few numbers at each bond. The error against the samples is measured, and may not exceed what was asked for;
single samples and the sum of all are then read from the chain alone.

Source: I. V. Oseledets, SIAM J. Matrix Anal. Appl. 31, 2130 (2010); B. N. Khoromskij, Constr. Approx. 34, 257 (2011).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import sqrt
from pathlib import Path

import tensor_runtime as tr
from tensor_einsum import einsum
from tensor_linalg import split


def signal(qubits: int) -> tr.Tensor:
    """A sum of waves of far frequencies under a slow envelope, [2^qubits].

    >>> signal(3).shape
    (8,)
    """
    t = tr.linspace(0.0, 1.0, 2**qubits)
    waves = tr.sin(t * 40.0) + 0.5 * tr.cos(t * 9000.0) + 0.2 * tr.sin(t * 123.0 + 1.0)
    return waves * tr.exp(-((t - 0.4) ** 2.0) * 8.0) + 0.3 * t


def chain_of(samples: tr.Tensor, error: float) -> list[tr.Tensor]:
    """Tensors [left, 2, right], one for each binary digit, the fastest first; ``error`` is relative to the norm.

    Each cut may lose an equal share of the squared error; errors of different cuts are orthogonal.

    >>> [site.shape for site in chain_of(tr.ones(8), 1e-9)]
    [(1, 2, 1), (1, 2, 1), (1, 2, 1)]
    """
    digits = samples.size.bit_length() - 1
    allowed = (error * float(tr.norm(samples))) ** 2 / max(digits - 1, 1)
    rest, sites = samples.reshape((1, 2, -1)), []
    for _ in range(digits - 1):
        site, _, rest, _ = split(rest, (0, 1), 2, absorb="right", cutoff=allowed, relative=False)
        sites.append(site)
        rest = rest.reshape((rest.shape[0], 2, -1))
    return [*sites, rest.reshape((-1, 2, 1))]


def samples_of(chain: Sequence[tr.Tensor]) -> tr.Tensor:
    """All samples again, [2^n].

    >>> samples_of(chain_of(tr.tensor([1.0, 2.0, 3.0, 4.0]), 1e-9)).to_numpy().round(9).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    whole: tr.Tensor = tr.ones((1, 1))
    for site in chain:
        whole = einsum("sa,adb->sdb", whole, site).reshape((-1, site.shape[2]))
    return whole.reshape(-1)


def sample(chain: Sequence[tr.Tensor], number: int) -> float:
    """One sample, by as many products of small matrices as the chain is long.

    >>> round(sample(chain_of(tr.tensor([1.0, 2.0, 3.0, 4.0]), 1e-9), 2), 9)
    3.0
    """
    row: tr.Tensor = tr.ones((1, 1))
    for digit, site in enumerate(chain):
        row = row @ site[:, number >> digit & 1, :]
    return float(row[0, 0])


def total(chain: Sequence[tr.Tensor]) -> float:
    """The sum of all samples.

    >>> round(total(chain_of(tr.tensor([1.0, 2.0, 3.0, 4.0]), 1e-9)), 9)
    10.0
    """
    row: tr.Tensor = tr.ones((1, 1))
    for site in chain:
        row = row @ tr.sum(site, axis=1)
    return float(row[0, 0])


def draw(samples: tr.Tensor, chain: Sequence[tr.Tensor], picture: Path) -> None:
    """The signal, and how many numbers each bond needs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    shown = samples[:: max(samples.size // 4000, 1)].to_numpy()
    left.plot(shown, linewidth=0.5)
    left.set(title=f"{samples.size} samples", xticks=[])
    right.plot(range(1, len(chain)), [site.shape[2] for site in chain[:-1]], marker="o")
    right.set(title="numbers at each bond", xlabel="bond, from the fastest digit", ylim=(0, None))
    right.xaxis.get_major_locator().set_params(integer=True)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)


def main(argv: Sequence[str] | None = None) -> None:
    """Compress, say how well, and fail where the error is larger than was asked for."""
    parser = argparse.ArgumentParser(description="A signal as a matrix product state.")
    parser.add_argument("--qubits", type=int, default=20, help="the signal has 2^qubits samples (default: 20)")
    parser.add_argument("--error", type=float, default=1e-6, help="relative, in the Frobenius norm (default: 1e-6)")
    parser.add_argument("--picture", type=Path, help="where a picture goes, such as out/quantics.svg")
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.qubits <= 26 or not 0 < arguments.error < 1:
        parser.error("1 to 26 qubits, and an error between 0 and 1")
    samples = signal(arguments.qubits)
    chain = chain_of(samples, arguments.error)
    numbers = sum(site.size for site in chain)
    error = float(tr.norm(samples_of(chain) - samples)) / float(tr.norm(samples))
    print(f"{numbers} numbers for {samples.size} samples, relative error {error:.2e}")
    middle = samples.size // 3
    print(f"sample {middle}: {sample(chain, middle):.6f} of the chain, {float(samples[middle]):.6f} of the signal")
    difference = abs(total(chain) - float(tr.sum(samples)))
    print(f"sum: {total(chain):.6f} of the chain, {float(tr.sum(samples)):.6f} of the signal")
    if arguments.picture:
        try:
            draw(samples, chain, arguments.picture)
        except (OSError, ValueError) as refused:  # a place that takes no file, or an ending of no format
            parser.error(f"--picture {arguments.picture}: {refused}")
        print(f"wrote {arguments.picture}")
    bound = arguments.error * float(tr.norm(samples))
    if error > arguments.error * (1 + 1e-9) or difference > bound * sqrt(samples.size):
        parser.exit(1, "the error is larger than was asked for\n")


if __name__ == "__main__":
    main()
