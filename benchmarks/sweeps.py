"""Sweeps over matrix product states, as many-body programs make them: small contractions, and an SVD for every bond.

The same program runs on our tensors, with ``einsum`` as a user writes it, and on NumPy's arrays, with expressions of
opt_einsum that are built beforehand for the shapes of every bond. A sweep goes from left to right over all bonds,
always from the same random state, with one thread:

- DMRG joins two sites, takes three Lanczos steps with the effective Hamiltonian of a chain of spins, splits the result
  by a singular value decomposition, truncates, and moves the left environment on. Real numbers.
- TEBD joins two sites and applies a gate, splits and truncates, and restores the left site by Hastings' formula.
  Complex numbers.

The contractions of a sweep, and its decompositions, are timed by themselves too, with the operands that they had: the
latter are LAPACK's work on either side, and what no contraction makes faster. Sources: White, Phys. Rev.
Lett. 69, 2863 (1992); Vidal, Phys. Rev. Lett. 93, 040502 (2004); Hastings, J. Math. Phys. 50, 095207 (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
import opt_einsum

import tensor_linalg
import tensor_runtime as tr
from benchmarks.measuring import Outcome
from benchmarks.rows import OURS, Row, Target
from benchmarks.timing import interleave, stopwatch
from tensor_einsum import einsum

Array = Any
Part = tuple[Callable[..., Array], tuple[Array, ...]]
"""A function, and what it was called with."""

NUMPY: Final = "numpy"
BOUND: Final = 0.77
"""The most that our time may be of NumPy's: 1.3 times faster."""
BOND: Final = 32
"""The bond of the rows that have the bound."""
SIZES: Final = (("DMRG", 20, BOND), ("TEBD", 20, BOND), ("DMRG", 20, 64), ("TEBD", 16, 48))
"""Sweep, sites, bond."""
LANCZOS_STEPS: Final = 3

JOINED: Final = "apb,bqc->apqc"
EFFECTIVE: Final = "awA,wvpP,vuqQ,cuC,apqc->APQC"
INNER: Final = "apqc,apqc->"
LEFT: Final = "awA,apb,wvpP,APB->bvB"
RIGHT: Final = "cuC,bpc,vupP,BPC->bvB"
GATED: Final = "apb,bqc,pqPQ->aPQc"
WEIGHTED: Final = "a,apqc->apqc"
RESTORED: Final = "apqc,bqc->apb"


class Ours:
    """What the programs are written in, on our tensors."""

    array: Callable[..., Array] = staticmethod(tr.tensor)
    decompose: Callable[[Array], tuple[Array, Array, Array]] = staticmethod(tensor_linalg.svd)

    def __init__(self) -> None:
        self.noted: dict[str, list[Part]] | None = None

    def svd(self, x: Array) -> tuple[Array, Array, Array]:
        """Thin; noted as a contraction is."""
        if self.noted is not None:
            self.noted["decompositions"].append((self.decompose, (x,)))
        return self.decompose(x)

    def contract(self, bond: int, notation: str, *operands: Array, **options: Any) -> Array:
        """A contraction; kept in ``noted`` where somebody asks for lists."""
        if self.noted is not None:
            self.noted["contractions"].append((partial(einsum, notation, **options), operands))
        return einsum(notation, *operands, **options)

    def inner(self, bond: int, x: Array, y: Array) -> float:
        """The inner product of real arrays."""
        return self.contract(bond, INNER, x, y).item()  # type: ignore[no-any-return]

    def norm(self, x: Array) -> float:
        """The square root of the sum of squares."""
        return float(tr.norm(x))

    def reshape(self, x: Array, *shape: int) -> Array:
        """Other extents for the same elements, in the order in which they lie."""
        return x.reshape(*shape)


class Numpy(Ours):
    """The same on NumPy's arrays, with an expression for every bond and notation, built when it is first met."""

    array: Callable[[Any], Array] = staticmethod(np.asarray)
    decompose: Callable[[Array], tuple[Array, Array, Array]] = staticmethod(partial(np.linalg.svd, full_matrices=False))

    def __init__(self) -> None:
        super().__init__()
        self.expressions: dict[tuple[str, int], Callable[..., Array]] = {}

    def contract(self, bond: int, notation: str, *operands: Array, **options: Any) -> Array:
        """A contraction by the expression for this bond; ``conj`` is the position of one operand."""
        expression = self.expressions.get((notation, bond))
        if expression is None:
            shapes = [operand.shape for operand in operands]
            expression = self.expressions[notation, bond] = opt_einsum.contract_expression(notation, *shapes)
        if options:
            last = options["conj"]
            operands = (*operands[:last], operands[last].conj(), *operands[last + 1 :])
        if self.noted is not None:
            self.noted["contractions"].append((expression, operands))
        return expression(*operands)

    def inner(self, bond: int, x: Array, y: Array) -> float:
        return float(np.vdot(x, y))

    def norm(self, x: Array) -> float:
        return float(np.linalg.norm(x))


def lanczos(kit: Ours, bond: int, apply: Callable[[Array], Array], x: Array) -> tuple[float, Array]:
    """The lowest eigenvalue in the space of a few powers of a symmetric operator, and its vector."""
    basis = [x * (1.0 / kit.norm(x))]
    diagonal: list[float] = []
    beside: list[float] = []
    while True:
        y = apply(basis[-1])
        diagonal.append(kit.inner(bond, basis[-1], y))
        if len(diagonal) == LANCZOS_STEPS:
            break
        y = y - basis[-1] * diagonal[-1]
        if beside:
            y = y - basis[-2] * beside[-1]
        beside.append(kit.norm(y))
        basis.append(y * (1.0 / beside[-1]))
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    result = basis[0] * float(vectors[0, 0])
    for vector, factor in zip(basis[1:], vectors[1:, 0].tolist(), strict=True):
        result = result + vector * factor
    return float(values[0]), result


def split(kit: Ours, x: Array, most: int) -> tuple[Array, Array, Array]:
    """Two sites apart again, with at most so many singular values between them."""
    a, p, q, c = x.shape
    u, s, v = kit.svd(kit.reshape(x, a * p, q * c))
    keep = min(most, s.shape[0])
    return kit.reshape(u[:, :keep], a, p, keep), s[:keep], kit.reshape(v[:keep], keep, q, c)


class Dmrg:
    """A sweep of two-site DMRG for the Heisenberg chain of spins 1/2; the result is the last energy."""

    def __init__(self, kit: Ours, sites: int, most: int) -> None:
        state = random_state(sites, most, np.float64)
        rights = [np.eye(5)[:1].reshape(1, 5, 1)]
        for tensor in state[:1:-1]:
            rights.append(np.einsum(RIGHT, rights[-1], tensor, heisenberg(), tensor, optimize=True))
        self.kit, self.most = kit, most
        self.state = [kit.array(tensor) for tensor in state]
        self.rights = [kit.array(tensor) for tensor in rights[::-1]]
        self.left, self.operator = kit.array(np.eye(5)[4:].reshape(1, 5, 1)), kit.array(heisenberg())

    def __call__(self) -> float:
        """One sweep."""
        kit, operator, left, site, energy = self.kit, self.operator, self.left, self.state[0], 0.0
        for bond, (after, right) in enumerate(zip(self.state[1:], self.rights, strict=True)):
            pair = kit.contract(bond, JOINED, site, after)
            around = left, operator, operator, right

            def apply(x: Array, bond: int = bond, around: tuple[Array, ...] = around) -> Array:
                return kit.contract(bond, EFFECTIVE, *around, x)

            energy, pair = lanczos(kit, bond, apply, pair)
            first, s, site = split(kit, pair, self.most)
            site = site * s[:, None, None]
            left = kit.contract(bond, LEFT, left, first, operator, first)
        return energy


class Tebd:
    """A sweep of gates over all bonds; the result is the sum of the entropies of the bonds."""

    def __init__(self, kit: Ours, sites: int, most: int) -> None:
        random = np.random.default_rng(1)
        states = random_state(sites, most, np.complex128)
        matrix = random.normal(size=(4, 4)) + 1j * random.normal(size=(4, 4))
        values, vectors = np.linalg.eigh(matrix + matrix.conj().T)
        gate = (vectors * np.exp(-0.1j * values)) @ vectors.conj().T
        self.kit, self.most = kit, most
        self.state = [kit.array(tensor) for tensor in states]
        self.gate = kit.array(gate.reshape(2, 2, 2, 2))
        self.weights = [kit.array(np.full(tensor.shape[0], tensor.shape[0] ** -0.5)) for tensor in states]

    def __call__(self) -> float:
        """One sweep."""
        kit, gate, site, entropy = self.kit, self.gate, self.state[0], 0.0
        for bond, (weights, after) in enumerate(zip(self.weights[:-1], self.state[1:], strict=True)):
            pair = kit.contract(bond, GATED, site, after, gate)
            _, s, second = split(kit, kit.contract(bond, WEIGHTED, weights, pair), self.most)
            first = kit.contract(bond, RESTORED, pair, second, conj=1)
            s = s * (1.0 / kit.norm(s))
            site = second
            entropy += kit.norm(s * s) + kit.norm(first)
        return entropy


PROGRAMS: Final[dict[str, type[Dmrg] | type[Tebd]]] = {"DMRG": Dmrg, "TEBD": Tebd}


def random_state(sites: int, most: int, dtype: type) -> list[np.ndarray[Any, Any]]:
    """A random state of two levels per site, right-canonical: the rows of each tensor are orthonormal.

    >>> [tensor.shape for tensor in random_state(4, 3, np.float64)]
    [(1, 2, 2), (2, 2, 3), (3, 2, 2), (2, 2, 1)]
    """
    random = np.random.default_rng(0)
    extents = [min(most, 2**site, 2 ** (sites - site)) for site in range(sites + 1)]
    tensors = []
    for a, b in pairwise(extents):
        matrix = random.normal(size=(2 * b, a)) + (1j if dtype is np.complex128 else 0) * random.normal(size=(2 * b, a))
        tensors.append(np.linalg.qr(matrix)[0].T.reshape(a, 2, b))
    return tensors


def heisenberg() -> np.ndarray[Any, Any]:
    """The operator of one site of the Heisenberg chain, [left bond, right bond, from, to], of five states of a bond.

    >>> heisenberg().shape
    (5, 5, 2, 2)
    """
    raising, z = np.array([[0.0, 1.0], [0.0, 0.0]]), np.diag([0.5, -0.5])
    result = np.zeros((5, 5, 2, 2))
    result[0, 0] = result[4, 4] = np.eye(2)
    for k, (first, second) in enumerate(((raising / 2, raising.T), (raising.T / 2, raising), (z, z)), 1):
        result[4, k], result[k, 0] = first, second
    return result


def replay(parts: Sequence[Part]) -> None:
    """All of them again."""
    for function, operands in parts:
        function(*operands)


def measure(rounds: int = 21, only: str = "") -> Iterator[Outcome]:
    """Every sweep, whole and in parts, in turns; ours with one thread, NumPy's as the process has it."""
    with tr.set_threads(1):
        for name, sites, most in SIZES:
            title = f"{name}, {sites} sites, bond {most}"
            if only not in title:
                continue
            programs = {contender: PROGRAMS[name](kit, sites, most) for contender, kit in _kits().items()}
            found = {contender: program() for contender, program in programs.items()}
            if not np.isclose(found[OURS], found[NUMPY], rtol=1e-8):
                yield Outcome(Row(title, "sweeps", ""), 1, {}, {OURS: f"gives {found[OURS]}, NumPy {found[NUMPY]}"}, {})
                continue
            watches = {"whole": {contender: stopwatch("f()", f=program) for contender, program in programs.items()}}
            for contender, program in programs.items():
                program.kit.noted = {"contractions": [], "decompositions": []}
                program()
                for what, parts in program.kit.noted.items():
                    watches.setdefault(what, {})[contender] = stopwatch("f(x)", f=replay, x=parts)
                program.kit.noted = None
            for what, timed in watches.items():
                samples = interleave(timed, rounds=rounds)
                seconds = {contender: [value / 1e9 for value in turns] for contender, turns in samples.items()}
                targets = (Target(NUMPY, {1: BOUND}),) if most == BOND and what != "decompositions" else ()
                yield Outcome(Row(f"{title}: {what}", "sweeps", "", targets=targets), 1, seconds, {}, {})


def _kits() -> dict[str, Ours]:
    return {OURS: Ours(), NUMPY: Numpy()}
