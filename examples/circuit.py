"""Amplitudes of a quantum circuit from an OpenQASM 2 file, by contraction under a memory limit.

    python examples/circuit.py examples/circuits/grid_4x5.qasm --bits 01000110001011010010 --open 6 --memory 8MiB

The circuit is a network: each gate a tensor with two axes for each qubit, each qubit a zero at its beginning. The last
`--open` qubits are left open, so that one contraction gives 2^open amplitudes; the others are what `--bits` says.
Nothing of 2^qubits elements is made. Up to 24 qubits the amplitudes are then compared with those of the whole state, to
which the gates are applied one by one.

Understood: `qreg`, and the gates id x y z h s sdg t tdg sx rx ry rz p u1 u2 u3 u cx cy cz ch swap cp cu1 crz rzz ccx of
qelib1.inc; barriers and measurements at the end are passed over.

Source: A. W. Cross, L. S. Bishop, J. A. Smolin and J. M. Gambetta, arXiv:1707.03429 (2017), of the language;
I. L. Markov and Y. Shi, SIAM J. Comput. 38, 963 (2008), of the contraction.
"""

from __future__ import annotations

import argparse
import ast
import operator
import re
from cmath import exp
from collections.abc import Callable, Sequence
from math import cos, pi, sin, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import tensor_runtime as tr
from tensor_einsum import einsum, plan

Matrix = list[list[complex]]
MOST_FOR_A_STATE = 24


class Gate(NamedTuple):
    """A matrix [2^k, 2^k], the first qubit's digit the most significant, and the k qubits that it acts on."""

    matrix: tr.Tensor
    qubits: tuple[int, ...]


class Circuit(NamedTuple):
    """Gates in the order in which they act."""

    qubits: int
    gates: list[Gate]


def _u(theta: float, phi: float, lam: float) -> Matrix:
    c, s = cos(theta / 2), sin(theta / 2)
    return [[c, -exp(1j * lam) * s], [exp(1j * phi) * s, exp(1j * (phi + lam)) * c]]


def _controlled(matrix: Matrix) -> Matrix:
    size = len(matrix)
    rows: Matrix = [[1.0 if i == j else 0.0 for j in range(2 * size)] for i in range(size)]
    return rows + [[0.0] * size + row for row in matrix]


def _phases(*phases: float) -> Matrix:
    return [[exp(1j * phase) if i == j else 0.0 for j in range(len(phases))] for i, phase in enumerate(phases)]


_X: Matrix = [[0, 1], [1, 0]]
_Y: Matrix = [[0, -1j], [1j, 0]]
_H: Matrix = [[1 / sqrt(2), 1 / sqrt(2)], [1 / sqrt(2), -1 / sqrt(2)]]
GATES: dict[str, Callable[..., Matrix]] = {
    "id": lambda: _phases(0, 0),
    "x": lambda: _X,
    "y": lambda: _Y,
    "z": lambda: _phases(0, pi),
    "h": lambda: _H,
    "s": lambda: _phases(0, pi / 2),
    "sdg": lambda: _phases(0, -pi / 2),
    "t": lambda: _phases(0, pi / 4),
    "tdg": lambda: _phases(0, -pi / 4),
    "sx": lambda: [[(1 + 1j) / 2, (1 - 1j) / 2], [(1 - 1j) / 2, (1 + 1j) / 2]],
    "rx": lambda a: _u(a, -pi / 2, pi / 2),
    "ry": lambda a: _u(a, 0, 0),
    "rz": lambda a: _phases(-a / 2, a / 2),
    "p": lambda a: _phases(0, a),
    "u1": lambda a: _phases(0, a),
    "u2": lambda a, b: _u(pi / 2, a, b),
    "u3": _u,
    "u": _u,
    "cx": lambda: _controlled(_X),
    "cy": lambda: _controlled(_Y),
    "cz": lambda: _phases(0, 0, 0, pi),
    "ch": lambda: _controlled(_H),
    "swap": lambda: [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]],
    "cp": lambda a: _phases(0, 0, 0, a),
    "cu1": lambda a: _phases(0, 0, 0, a),
    "crz": lambda a: _phases(0, 0, -a / 2, a / 2),
    "rzz": lambda a: _phases(-a / 2, a / 2, a / 2, -a / 2),
    "ccx": lambda: _controlled(_controlled(_X)),
}
_OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def number(text: str) -> float:
    """The value of a parameter: numbers, pi, + - * / and brackets.

    >>> number("-pi/2"), number("2*(1 + 0.5)")
    (-1.5707963267948966, 3.0)
    """

    def value(node: Any) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id == "pi":
            return pi
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.operand))
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        raise ValueError(f"not a number: {text!r}")

    try:
        return value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ZeroDivisionError, OverflowError, RecursionError) as error:
        raise ValueError(f"not a number: {text!r}") from error


def read(text: str) -> Circuit:
    """The circuit that a file describes.

    >>> read("OPENQASM 2.0; qreg q[2]; h q[0]; cx q[0], q[1];").qubits
    2
    """
    registers: dict[str, tuple[int, int]] = {}
    gates: list[Gate] = []
    count = 0
    for statement in (part.strip() for part in re.sub(r"//[^\n]*", "", text).split(";")):
        word = statement.split(maxsplit=1)[0] if statement else ""
        if not word or word in ("OPENQASM", "include", "creg", "barrier", "measure"):
            continue
        if declared := re.fullmatch(r"qreg\s+(\w+)\s*\[\s*(\d+)\s*\]", statement):
            registers[declared[1]] = (count, int(declared[2]))
            count += int(declared[2])
            continue
        found = re.fullmatch(r"(\w+)\s*(?:\((.*)\))?\s+([^()]+)", statement, re.DOTALL)
        if found is None or found[1] not in GATES:
            raise ValueError(f"not understood: {statement!r}; gates: {' '.join(GATES)}")
        targets = [_qubits(target, registers) for target in found[3].split(",")]
        parameters = [number(part) for part in found[2].split(",")] if found[2] and found[2].strip() else []
        try:
            matrix = tr.tensor(GATES[found[1]](*parameters), dtype="C64")
        except TypeError:
            raise ValueError(f"another number of parameters: {statement!r}") from None
        width = max(map(len, targets))
        for place in range(width):  # a whole register stands for each of its qubits in turn
            qubits = tuple(target[place if len(target) > 1 else 0] for target in targets)
            if 2 ** len(qubits) != matrix.shape[0] or len(set(qubits)) != len(qubits):
                raise ValueError(f"other qubits than the gate takes: {statement!r}")
            gates.append(Gate(matrix, qubits))
    return Circuit(count, gates)


def _qubits(target: str, registers: dict[str, tuple[int, int]]) -> list[int]:
    found = re.fullmatch(r"\s*(\w+)\s*(?:\[\s*(\d+)\s*\])?\s*", target)
    if found is None or found[1] not in registers:
        raise ValueError(f"no such register: {target.strip()!r}")
    first, size = registers[found[1]]
    if found[2] is None:
        return list(range(first, first + size))
    if int(found[2]) >= size:
        raise ValueError(f"no such qubit: {target.strip()!r}; the register has {size}")
    return [first + int(found[2])]


def amplitudes(circuit: Circuit, bits: str, opened: int, memory: str | None) -> tuple[tr.Tensor, str]:
    """Amplitudes [2^opened] of the states that begin with ``bits``, the last qubit's digit the fastest; and the plan.

    >>> bell = read("qreg q[2]; h q[0]; cx q[0], q[1];")
    >>> amplitudes(bell, "", 2, None)[0].to_numpy().round(6).tolist()
    [(0.707107+0j), 0j, 0j, (0.707107+0j)]
    """
    zero, one = tr.tensor([1.0, 0.0], dtype="C64"), tr.tensor([0.0, 1.0], dtype="C64")
    wires = [f"[q{qubit}]" for qubit in range(circuit.qubits)]
    operands, terms = [zero] * circuit.qubits, list(wires)
    for step, gate in enumerate(circuit.gates):
        after = [f"[g{step}_{qubit}]" for qubit in gate.qubits]
        terms.append("".join(after) + "".join(wires[qubit] for qubit in gate.qubits))
        operands.append(gate.matrix.reshape((2,) * (2 * len(gate.qubits)), order="C"))
        for qubit, wire in zip(gate.qubits, after, strict=True):
            wires[qubit] = wire
    fixed = circuit.qubits - opened
    terms += wires[:fixed]
    operands += [one if bit == "1" else zero for bit in bits]
    found = plan(",".join(terms) + "->" + "".join(wires[fixed:]), *operands, memory_limit=memory)
    summary = f"{len(operands)} tensors, {found.slices.count} slices, {found.peak_bytes / 2**20:.1f} MiB at the peak"
    return found(*operands).reshape(-1, order="C"), summary


def state(circuit: Circuit) -> tr.Tensor:
    """The whole state [2^qubits], the last qubit's digit the fastest: gates applied one by one.

    >>> state(read("qreg q[2]; x q[1];")).tolist()
    [0j, (1+0j), 0j, 0j]
    """
    whole = tr.zeros((2,) * circuit.qubits, dtype="C64")
    tr.mutable_view(whole)[(0,) * circuit.qubits] = 1.0
    axes = "".join(f"[{qubit}]" for qubit in range(circuit.qubits))
    for matrix, qubits in circuit.gates:
        before, result = "".join(f"[{qubit}]" for qubit in qubits), axes
        for qubit in qubits:
            result = result.replace(f"[{qubit}]", f"[new{qubit}]")
        gate = matrix.reshape((2,) * (2 * len(qubits)), order="C")
        after = "".join(f"[new{qubit}]" for qubit in qubits)
        whole = einsum(f"{after}{before},{axes}->{result}", gate, whole)
    return whole.reshape(-1, order="C")


def draw(found: tr.Tensor, qubits: int, picture: Path) -> None:
    """How often probabilities are as large as they are, beside Porter and Thomas's law for chaotic circuits."""
    import numpy as np
    from matplotlib.figure import Figure

    scaled = (tr.abs(found) ** 2.0).to_numpy() * 2.0**qubits
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.hist(scaled, bins=30, density=True, label=f"{scaled.size} amplitudes")
    x = np.linspace(0, max(scaled.max(), 1e-9), 200)
    axes.plot(x, np.exp(-x), label="Porter and Thomas")
    axes.set(xlabel="probability times number of states", yscale="log")
    axes.legend()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)


def main(argv: Sequence[str] | None = None) -> None:
    """Read a circuit, contract it, and fail where the amplitudes are not those of the state."""
    parser = argparse.ArgumentParser(description="Amplitudes of a quantum circuit from an OpenQASM 2 file.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--bits", help="of the qubits that are not open, the first qubit first (default: zeros)")
    parser.add_argument("--open", type=int, default=0, help="how many of the last qubits are left open (default: 0)")
    parser.add_argument("--memory", help="a limit, such as 64MiB, kept by contracting slices")
    parser.add_argument("--picture", type=Path, help="where a picture goes, such as out/circuit.svg")
    arguments = parser.parse_args(argv)
    try:
        circuit = read(arguments.file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as refused:
        parser.error(f"{arguments.file}: {refused}")
    fixed = circuit.qubits - arguments.open
    bits = "0" * fixed if arguments.bits is None else arguments.bits[:fixed]
    if not circuit.qubits or not 0 <= arguments.open <= circuit.qubits or not re.fullmatch(f"[01]{{{fixed}}}", bits):
        parser.error(
            f"{circuit.qubits} qubits, of which {arguments.open} are open, want {max(fixed, 0)} bits of 0 and 1"
        )
    found, summary = amplitudes(circuit, bits, arguments.open, arguments.memory)
    print(f"{circuit.qubits} qubits, {len(circuit.gates)} gates: {summary}")
    first = complex(found[0].item())
    print(f"amplitude of {bits}{'0' * arguments.open}: {first.real:+.9f}{first.imag:+.9f}i")
    if arguments.picture:
        try:
            draw(found, circuit.qubits, arguments.picture)
        except (OSError, ValueError) as refused:  # a place that takes no file, or an ending of no format
            parser.error(f"--picture {arguments.picture}: {refused}")
        print(f"wrote {arguments.picture}")
    if circuit.qubits > MOST_FOR_A_STATE:
        return
    start = int(bits or "0", 2) << arguments.open
    difference = float(tr.max(tr.abs(found - state(circuit)[start : start + found.size])))
    print(f"largest difference from the state: {difference:.1e}")
    if difference > 1e-10:
        parser.exit(1, "the amplitudes are not those of the state\n")


if __name__ == "__main__":
    main()
