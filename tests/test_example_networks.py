"""The examples of networks: their programs' answers beside other ways to the same, and the pictures they draw."""

from __future__ import annotations

import doctest
import itertools
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from example_programs import EXAMPLES, example

circuit, quantics, spin_glass = map(example, ("circuit", "quantics", "spin_glass"))


@pytest.mark.parametrize("program", [circuit, quantics, spin_glass])
def test_the_examples_in_their_texts_are_true(program: ModuleType) -> None:
    found = doctest.testmod(program)
    assert found.attempted > 2 and not found.failed


@pytest.mark.parametrize(("rows", "columns", "seed"), [(3, 4, 0), (4, 3, 1), (1, 9, 2), (2, 1, 3)])
def test_a_ground_state_is_the_least_of_all_states(rows: int, columns: int, seed: int) -> None:
    pairs = spin_glass.bonds(rows, columns)
    couplings = tr.normal((len(pairs),), seed=seed).tolist()
    least = min(
        -sum(coupling * spins[a] * spins[b] for coupling, (a, b) in zip(couplings, pairs, strict=True))
        for spins in itertools.product((1, -1), repeat=rows * columns)
    )
    found = spin_glass.ground_state(rows, columns, seed)
    assert found.energy == pytest.approx(least, abs=1e-12)
    assert found.energy_of_spins == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize(("error", "share"), [(1e-2, 60), (1e-8, 8)])
def test_a_chain_gives_the_signal_back_within_its_error(error: float, share: int) -> None:
    samples = quantics.signal(16)
    chain = quantics.chain_of(samples, error)
    array = samples.to_numpy()
    back = quantics.samples_of(chain).to_numpy()
    assert np.linalg.norm(back - array) <= error * np.linalg.norm(array)
    assert [quantics.sample(chain, place) for place in (0, 777, 65535)] == pytest.approx(back[[0, 777, 65535]])
    assert quantics.total(chain) == pytest.approx(back.sum())
    assert sum(site.size for site in chain) < samples.size / share


QASM = """OPENQASM 2.0; include "qelib1.inc"; // three qubits in two registers
qreg a[2]; qreg b[1]; creg c[3];
h a; u3(0.3, -pi/4, 1.5) b[0]; cx a[0], b; ccx a[0], a[1], b[0];
rx(0.2) a[1]; cp(pi/3) a[1], b[0]; barrier a; swap a[0], b[0]; ry(-0.7) a[0]; sdg b;
measure a[0] -> c[0];"""


def kron_state() -> Any:
    """The state of ``QASM`` by whole matrices of NumPy's, the first qubit the most significant."""
    h = np.array([[1, 1], [1, -1]]) / np.sqrt(2)

    def u3(theta: float, phi: float, lam: float) -> Any:
        c, s = np.cos(theta / 2), np.sin(theta / 2)
        return np.array([[c, -np.exp(1j * lam) * s], [np.exp(1j * phi) * s, np.exp(1j * (phi + lam)) * c]])

    def on(gate: Any, *qubits: int) -> Any:
        whole = np.zeros((8, 8), complex)
        for column in range(8):
            digits = [column >> (2 - qubit) & 1 for qubit in range(3)]
            inner = int("".join(str(digits[qubit]) for qubit in qubits), 2)
            for row in range(len(gate)):
                after = list(digits)
                for place, qubit in enumerate(qubits):
                    after[qubit] = row >> (len(qubits) - 1 - place) & 1
                whole[int("".join(map(str, after)), 2), column] += gate[row, inner]
        return whole

    cx, ccx = np.eye(4)[[0, 1, 3, 2]], np.eye(8)[[0, 1, 2, 3, 4, 5, 7, 6]]
    rx = np.array([[np.cos(0.1), -1j * np.sin(0.1)], [-1j * np.sin(0.1), np.cos(0.1)]])
    state = np.eye(8)[0].astype(complex)
    for gate, *qubits in (
        (h, 0), (h, 1), (u3(0.3, -np.pi / 4, 1.5), 2), (cx, 0, 2), (ccx, 0, 1, 2), (rx, 1),
        (np.diag([1, 1, 1, np.exp(1j * np.pi / 3)]), 1, 2), (np.eye(4)[[0, 2, 1, 3]], 0, 2), (u3(-0.7, 0, 0), 0),
        (np.diag([1, -1j]), 2),
    ):  # fmt: skip
        state = on(gate, *qubits) @ state
    return state


def test_amplitudes_of_a_circuit_are_those_of_its_matrices() -> None:
    read = circuit.read(QASM)
    expected = kron_state()
    np.testing.assert_allclose(circuit.state(read).to_numpy(), expected, atol=1e-14)
    np.testing.assert_allclose(circuit.amplitudes(read, "", 3, None)[0].to_numpy(), expected, atol=1e-14)
    np.testing.assert_allclose(circuit.amplitudes(read, "10", 1, "1kB")[0].to_numpy(), expected[4:6], atol=1e-14)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("qreg q[2]; foo q[0];", "not understood: 'foo q\\[0\\]'"),
        ("qreg q[2]; h r[0];", "no such register: 'r\\[0\\]'"),
        ("qreg q[2]; h q[2];", "no such qubit: 'q\\[2\\]'; the register has 2"),
        ("qreg q[2]; rx(one) q[0];", "not a number: 'one'"),
        ("qreg q[2]; rx(1/0) q[0];", "not a number: '1/0'"),
        ("qreg q[2]; rx q[0];", "another number of parameters"),
        ("qreg q[2]; cx q[0];", "other qubits than the gate takes"),
        ("qreg q[2]; cx q[0], q[0];", "other qubits than the gate takes"),
    ],
)
def test_a_circuit_that_is_not_understood_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        circuit.read(text)


def test_the_programs_draw_and_fail_where_the_check_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = str(EXAMPLES / "circuits" / "grid_4x5.qasm")
    runs: list[tuple[ModuleType, list[str]]] = [
        (circuit, [grid, "--open", "5", "--memory", "200kB"]),
        (quantics, ["--qubits", "10"]),
        (spin_glass, ["--rows", "3", "--columns", "3"]),
    ]
    for program, arguments in runs:
        picture = tmp_path / "made" / f"{program.__name__}.svg"
        program.main([*arguments, "--picture", str(picture)])
        assert picture.stat().st_size > 1000
    assert "297 tensors" in capsys.readouterr().out
    monkeypatch.setattr(circuit, "state", lambda read: tr.zeros(2**20, dtype="C64"))
    monkeypatch.setattr(quantics, "samples_of", lambda chain: tr.zeros(2**10))
    wrong = spin_glass.GroundState([[1]], -1.0, -0.5)
    monkeypatch.setattr(spin_glass, "ground_state", lambda *arguments: wrong)
    for program, arguments in runs:
        with pytest.raises(SystemExit) as stopped:
            program.main(arguments)
        assert stopped.value.code == 1


def test_bits_that_are_too_few_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        circuit.main([str(EXAMPLES / "circuits" / "grid_4x5.qasm"), "--bits", "01", "--open", "6"])
    assert stopped.value.code == 2
    assert "20 qubits, of which 6 are open, want 14 bits" in capsys.readouterr().err
