"""Write the partition function of the two-dimensional Ising model as a network file, with its exact value.

    python examples/ising.py 10 10 --output examples/networks/ising_10x10.json
    ironstride contract examples/networks/ising_10x10.json --path sweep

The spins s = ±1 sit on a lattice of `rows` by `columns` sites that closes on itself in both directions, and each is
bound to its right and its lower neighbour: Z(β) = Σ_s Π_⟨ij⟩ exp(β s_i s_j), with β = J / kT. A spin is one label,
shared by every tensor that touches it (a hyper-edge). Each bond matrix W(s, s') = exp(β (s s' - 1)) is split into two
halves, W = A Aᵀ with the symmetric root A = Q √Λ Qᵀ from W = Q Λ Qᵀ by `tensor_linalg.eigh`, joined by a label of their
own. This root does not depend on the signs of the eigenvectors, which are nobody's to choose.

Energies count from the ground state, which is the -1 in W: it divides Z by exp(2 β · sites), so that neither long
lattices nor low temperatures overflow. The file's `reference` gives that logarithm back.

Sizes count sites; temperatures are kT / J; logarithms are natural.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import count, islice
from pathlib import Path

import tensor_linalg
import tensor_runtime as tr

CRITICAL_TEMPERATURE = 2 / math.log(1 + math.sqrt(2))
SOURCE = "exact for this lattice: B. Kaufman, Phys. Rev. 76, 1232 (1949)"


def kaufman_ln_z(rows: int, columns: int, beta: float) -> float:
    """ln Z of the periodic lattice, exact to rounding.

    Kaufman's formula is half of (2 sinh 2β)^(sites / 2) times a sum of four products over r = 1 … columns,
    of 2 cosh(rows/2 · γ) and 2 sinh(rows/2 · γ), over γ_(2r - 1) and over γ_(2r), where
    cosh γ_k = cosh 2β coth 2β - cos(k π / columns), every γ is positive but γ_0 = 2β + ln tanh β, and this one
    changes its sign at the critical point (and with it the last product).

    Source: B. Kaufman, Phys. Rev. 76, 1232 (1949), eq. 69; the sign of γ_0 as in A. E. Ferdinand and M. E. Fisher,
    Phys. Rev. 185, 832 (1969).

    Args:
        rows, columns: at least 1.
        beta: inverse temperature, above 0.

    >>> abs(kaufman_ln_z(1, 2, 0.3) - (2 * 0.3 + math.log(2 * math.exp(0.6) + 2 * math.exp(-0.6)))) < 1e-14
    True
    """
    sine = math.sinh(2 * beta)

    def gamma(k: int) -> float:
        if k == 0:
            return 2 * beta + math.log(math.tanh(beta))
        # cosh γ - 1, written without the cancellation that would cost half the digits near the critical point
        excess = (1 - sine) ** 2 / sine + 2 * math.sin(k * math.pi / (2 * columns)) ** 2
        return math.log1p(excess + math.sqrt(excess * (excess + 2)))

    odd = [rows / 2 * gamma(2 * r + 1) for r in range(columns)]
    even = [rows / 2 * gamma(2 * r) for r in range(columns)]
    products = [(1.0, sum(map(_ln_2_cosh, odd))), (1.0, sum(map(_ln_2_cosh, even)))]
    products.append((1.0, sum(map(_ln_2_sinh, odd))))
    products.append((math.copysign(1.0, even[0]), sum(map(_ln_2_sinh, even))))
    largest = max(logarithm for _, logarithm in products)
    total = math.fsum(sign * math.exp(logarithm - largest) for sign, logarithm in products)
    return rows * columns / 2 * math.log(2 * sine) - math.log(2) + largest + math.log(total)


def _ln_2_cosh(y: float) -> float:
    return abs(y) + math.log1p(math.exp(-2 * abs(y)))


def _ln_2_sinh(y: float) -> float:
    """ln |2 sinh y|."""
    return abs(y) + math.log(-math.expm1(-2 * abs(y))) if y else -math.inf


def half_bond(beta: float) -> tr.Tensor:
    """A of shape [2, 2] with A Aᵀ = W, where W(s, s') is 1 for equal spins and exp(-2β) for opposite ones.

    >>> a = half_bond(0.3)
    >>> w = tr.matmul(a, a.T)
    >>> abs(w[0, 0].item() - 1) < 1e-15, abs(w[0, 1].item() - math.exp(-0.6)) < 1e-15
    (True, True)
    """
    opposite = math.exp(-2 * beta)
    eigenvalues, eigenvectors = tensor_linalg.eigh(tr.tensor([[1.0, opposite], [opposite, 1.0]]))
    return tr.matmul(tr.multiply(eigenvectors, tr.sqrt(eigenvalues)), eigenvectors.T)


def bonds(rows: int, columns: int) -> list[tuple[int, int]]:
    """The pairs of sites that are bound: all bonds along the rows, row by row, then all between the rows.

    >>> bonds(2, 2)
    [(0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (1, 3), (2, 0), (3, 1)]
    """
    sites = [(row, column) for row in range(rows) for column in range(columns)]

    def site(row: int, column: int) -> int:
        return row % rows * columns + column % columns

    along = [(site(row, column), site(row, column + 1)) for row, column in sites]
    return along + [(site(row, column), site(row + 1, column)) for row, column in sites]


def letters() -> Iterator[str]:
    """Letters without end, first those that everybody can read."""
    yield from "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    yield from (chr(code) for code in count(0xC0) if chr(code).isalpha())


def sweep(rows: int, columns: int) -> list[tuple[int, int]]:
    """The path: join the two halves of each bond, then sweep over the lattice row by row.

    The sweep carries a tensor over the spins of the first row and those of the row it has reached, 2^(2 columns)
    elements, because the last row closes onto the first. Per row it multiplies by the bonds along the row, joined
    beforehand into one tensor of 2^columns elements, and goes down the bonds to the next row in two groups of half a
    row, each joined beforehand into a matrix: twice 2^(2.5 columns) multiplications, as two matrix products.

    Returns:
        Pairs of positions as opt_einsum counts them: both operands are taken out of the list, the result goes last.

    >>> sweep(1, 1)
    [(0, 1), (0, 1), (0, 1)]
    """
    steps: list[tuple[int, int]] = []
    results = count(4 * rows * columns)

    def join(first: int, second: int) -> int:
        steps.append((first, second))
        return next(results)

    joined = [join(2 * bond, 2 * bond + 1) for bond in range(2 * rows * columns)]
    along, down = joined[: rows * columns], joined[rows * columns :]
    state: int | None = None
    for row in range(rows):
        start, middle, end = row * columns, row * columns + columns // 2, (row + 1) * columns
        ring = reduce(join, along[start:end])
        state = ring if state is None else join(state, ring)
        for group in (down[start:middle], down[middle:end]):
            if group:
                state = join(state, reduce(join, group))
    return _as_positions(steps, 4 * rows * columns)


def _as_positions(steps: Sequence[tuple[int, int]], operands: int) -> list[tuple[int, int]]:
    """Steps between numbered tensors, where step k makes tensor operands + k, as positions in a shrinking list."""
    remaining = list(range(operands))
    path = []
    for number, (first, second) in enumerate(steps):
        path.append((remaining.index(first), remaining.index(second)))
        remaining = [tensor for tensor in remaining if tensor not in (first, second)] + [operands + number]
    return path


def ising_network(rows: int, columns: int, temperature: float = CRITICAL_TEMPERATURE) -> dict[str, object]:
    """The network file of the lattice, as the object that JSON writes.

    Args:
        rows, columns: at least 1; the contraction needs 2^(2 columns) elements, so columns should be the fewer.
        temperature: kT / J, above 0.

    >>> network = ising_network(2, 2)
    >>> network["format_string"]
    'ae,be,bf,af,cg,dg,dh,ch,ai,ci,bj,dj,ck,ak,dl,bl->'
    """
    beta = 1 / temperature
    sites = rows * columns
    pairs = bonds(rows, columns)
    labels = list(islice(letters(), sites + len(pairs)))
    halves = [labels[site] + labels[sites + bond] for bond, pair in enumerate(pairs) for site in pair]
    a = half_bond(beta).to_numpy().tolist()
    return {
        "name": f"ising_{rows}x{columns}",
        "intent": f"Partition function of the {rows} x {columns} periodic Ising lattice at kT/J = {temperature!r}, "
        "over exp(2 beta sites); spins are hyper-edges, each bond is split in two halves.",
        "format_string": ",".join(halves) + "->",
        "shapes": [[2, 2]] * len(halves),
        "dtype": "float64",
        "num_tensors": len(halves),
        "paths": {"sweep": {"path": sweep(rows, columns)}},
        "reference": {
            "quantity": "ln Z per site",
            "value": kaufman_ln_z(rows, columns, beta) / sites,
            "log_offset": 2 * beta * sites,
            "divide_by": sites,
            "tolerance": 1e-10,
            "source": SOURCE,
        },
        "operands": [a] * len(halves),
    }


def network_text(network: dict[str, object]) -> str:
    """JSON with one line per member, so that the file can be looked at.

    >>> print(network_text({"a": [1, 2], "b": "c"}), end="")
    {
    "a": [1, 2],
    "b": "c"
    }
    """
    members = (f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in network.items())
    return "{\n" + ",\n".join(members) + "\n}\n"


def main(argv: Sequence[str] | None = None) -> None:
    """Write one file, or print ln Z per site."""
    parser = argparse.ArgumentParser(description="Write the Ising model on a periodic lattice as a network file.")
    parser.add_argument("rows", type=int)
    parser.add_argument("columns", type=int)
    parser.add_argument("--temperature", type=float, default=CRITICAL_TEMPERATURE, help="kT/J (default: critical)")
    parser.add_argument(
        "--output", type=Path, help="the network file (default: ising_ROWSxCOLUMNS.json); its folder is made"
    )
    arguments = parser.parse_args(argv)
    if min(arguments.rows, arguments.columns) < 1 or not 0.01 <= arguments.temperature <= 1e6:
        parser.error("rows and columns must be at least 1, the temperature between 0.01 and 1e6")
    network = ising_network(arguments.rows, arguments.columns, arguments.temperature)
    file = arguments.output or Path(f"{network['name']}.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(network_text(network), encoding="utf-8")
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
