"""quimb's algorithms on tensors, each beside the same on NumPy's arrays; nothing falls back to these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import quimb as qu
import quimb.tensor as qtn

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_runtime.interop import use_with_autoray

use_with_autoray()
pytestmark = pytest.mark.filterwarnings("ignore")  # quimb's own: renamed methods, packages that are not installed


@pytest.fixture(autouse=True)
def nothing_becomes_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy is given no tensor on the way; whoever wants an array asks for it by ``to_numpy``."""

    def refused(x: tr.Tensor, *arguments: Any, **options: Any) -> Any:
        raise AssertionError("a tensor became an array of NumPy's")

    monkeypatch.setattr(tr.Tensor, "__array__", refused)


def as_ours(array: Any) -> tr.Tensor:
    return tr.asarray(array)


def ours(network: Any) -> Any:
    """A copy of a network, with tensors of ours."""
    copied = network.copy()
    copied.apply_to_arrays(as_ours)
    return copied


def all_ours(network: Any) -> bool:
    return all(isinstance(one.data, tr.Tensor) for one in network)


def close(found: Any, expected: Any, rtol: float = 1e-12) -> None:
    """Equal values, of which the first left a network of ours."""
    assert isinstance(found, tr.Tensor), f"left our type: {type(found)}"
    np.testing.assert_allclose(found.to_numpy(), np.asarray(expected), rtol=rtol, atol=1e-13)


def random_mps(sites: int = 10, bond: int = 6) -> Any:
    return qtn.MPS_rand_state(sites, bond, dtype="complex128", seed=1)


def test_norm_of_a_matrix_product_state() -> None:
    mps = random_mps()
    close((ours(mps).H & ours(mps)).contract(optimize="auto-hq"), (mps.H & mps).contract())


def test_contraction_of_a_peps() -> None:
    peps = qtn.PEPS.rand(3, 3, 3, seed=2)
    close(ours(peps.H & peps).contract(optimize="greedy"), (peps.H & peps).contract(optimize="greedy"))


def test_contraction_by_boundary_states() -> None:
    network = qtn.TN2D_rand(6, 6, 4, seed=3, dist="uniform")
    close(ours(network).contract_boundary(max_bond=64, cutoff=1e-14), network.contract(optimize="greedy"), 1e-10)
    found = ours(network).contract_boundary(max_bond=8, mode="mps")
    close(found, network.contract_boundary(max_bond=8, mode="mps"), 1e-10)


def test_canonize() -> None:
    mps = random_mps()
    mine = ours(mps)
    mine.canonize(4)
    assert all_ours(mine)
    assert mine.calc_current_orthog_center() == (4, 4)
    close(mine.H @ ours(mps), 1.0)


@pytest.mark.parametrize("method", ["svd", "svd:eig", "rsvd"])
def test_compress(method: str) -> None:
    mps = random_mps() + qtn.MPS_rand_state(10, 6, dtype="complex128", seed=7)
    mine, theirs = ours(mps), mps.copy()
    mine.compress(max_bond=6, method=method)
    theirs.compress(max_bond=6, method="svd")
    assert all_ours(mine)
    assert mine.max_bond() == 6
    close(mine.H @ ours(mps), theirs.H @ mps, 2e-2 if method == "rsvd" else 1e-9)  # one draw of random vectors


METHODS = (
    *(
        "svd",
        "svd:eig",
        "svd:rand",
        "rsvd",
        "svds",
        "isvd",
        "qr",
        "lq",
        "qr:cholesky",
        "lu",
        "polar_right",
        "polar_left",
    ),
    *("cholesky", "eigh", "eigsh"),
)


@pytest.mark.parametrize("method", METHODS)
def test_split(method: str) -> None:
    rng = np.random.default_rng(4)
    array = rng.normal(size=(12, 12)) + 1j * rng.normal(size=(12, 12))
    if method in ("cholesky", "eigh", "eigsh"):
        array = array @ array.conj().T
    iterates = method in ("svds", "isvd", "eigsh", "rsvd", "svd:rand")
    tensor = qtn.Tensor(as_ours(array.reshape(12, 3, 4)), "abc")
    parts = tensor.split(
        ["a"], method=method, **({"max_bond": 11 if method in ("svds", "eigsh") else 12} if iterates else {})
    )
    assert all_ours(parts)
    found = parts.contract(output_inds=tensor.inds).data
    if method in ("svds", "eigsh"):  # iterations find all but one value
        rest = np.linalg.norm(found.to_numpy().reshape(12, 12) - array, 2)
        np.testing.assert_allclose(rest, np.linalg.svd(array)[1][-1], rtol=1e-6)
    else:
        close(found, array.reshape(12, 3, 4), 1e-10)


def test_gate_and_split() -> None:
    gate = qu.rand_uni(4, seed=5)
    mine = ours(random_mps()).gate_split(as_ours(gate), (3, 4))
    assert all_ours(mine)
    close(mine.H @ ours(random_mps()), random_mps().gate_split(gate, (3, 4)).H @ random_mps(), 1e-10)


def test_hyper_edges() -> None:
    network = qtn.HTN_classical_partition_function_from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], beta=0.4)
    close(ours(network).contract(output_inds=()), network.contract(output_inds=()))


def test_simplification_and_exponents() -> None:
    network = qtn.HTN2D_classical_ising_partition_function(4, 4, beta=0.3)
    expected = network.contract(output_inds=())
    close(ours(network).full_simplify("ADCRS").contract(output_inds=()), expected, 1e-10)
    mantissa, exponent = ours(network).contract(output_inds=(), strip_exponent=True)
    close(mantissa * 10.0 ** float(exponent), expected, 1e-10)


def test_time_evolving_block_decimation() -> None:
    state, found = qtn.MPS_neel_state(8, dtype="complex128"), []
    for start, convert in ((state, np.asarray), (ours(state), as_ours)):
        hamiltonian = qtn.ham_1d_heis(8)
        hamiltonian.apply_to_arrays(convert)
        evolved = qtn.TEBD(start, hamiltonian, dt=0.05, progbar=False)
        evolved.split_opts["cutoff"] = 1e-12
        evolved.update_to(0.5, order=4)
        found.append(evolved.pt)
    assert all_ours(found[1])
    close(found[1].H @ ours(random_mps(8)), found[0].H @ random_mps(8), 1e-10)


def run(circuit: Any, raw: Any) -> Any:
    for i in range(5):
        circuit.h(i)
    circuit.cnot(0, 1)
    circuit.rx(0.3, 2)
    circuit.cz(1, 2)
    circuit.u3(0.1, 0.2, 0.3, 3)
    circuit.iswap(2, 3)
    circuit.rzz(0.7, 3, 4)
    circuit.apply_gate_raw(raw, (0, 3))  # no symmetry: a reshape in another order of elements would show
    return circuit


@pytest.mark.parametrize("kind", ["Circuit", "Circuit eager", "CircuitMPS"])
def test_circuits(kind: str) -> None:
    make: Callable[..., Any] = getattr(qtn, kind.partition(" ")[0])
    eager = "eager" in kind
    raw = qu.rand_uni(4, seed=8)
    options = {"convert_eager": True} if eager else {}
    mine = run(make(5, to_backend=as_ours, **options), as_ours(raw) if kind != "Circuit" else raw)
    theirs = run(make(5), raw)
    close(mine.amplitude("01101"), theirs.amplitude("01101"), 1e-10)
    operator = qu.pauli("Z") & qu.pauli("X")
    found = mine.local_expectation(as_ours(operator) if kind != "Circuit" else operator, (1, 3))
    close(found, theirs.local_expectation(operator, (1, 3)), 1e-10)
    close(mine.to_dense(), theirs.to_dense(), 1e-10)


class DMRG2(qtn.DMRG2):  # type: ignore[misc]
    """Local problems solved on tensors: quimb gives them to NumPy or SciPy, and keeps its state in NumPy's arrays."""

    solved: int = 0

    def _eigs(self, A: Any, B: Any = None, v0: Any = None) -> tuple[Any, Any]:
        self.solved += 1
        if isinstance(A, tr.Tensor):
            values, vectors = tl.eigh(A)
        else:  # known by its products
            values, vectors = tl.eigsh(A._matmat, tr.asarray(v0).reshape(-1, 1), k=1)[:2]
            vectors = vectors[:, 0]
        return values.to_numpy()[:1], qu.qarray(vectors.to_numpy()[:, :1])


@pytest.mark.parametrize("bond_dims", [[4], [8, 16, 32]])
def test_ground_state_by_dmrg(bond_dims: list[int]) -> None:
    hamiltonian = qtn.MPO_ham_heis(10)
    options = {"bond_dims": bond_dims, "cutoffs": 1e-10, "p0": qtn.MPS_rand_state(10, 4, seed=9)}
    mine, theirs = DMRG2(ours(hamiltonian), **options), qtn.DMRG2(hamiltonian, **options)
    for solver in (mine, theirs):
        solver.solve(tol=1e-6, verbosity=0)
    close(mine.energy, theirs.energy, 1e-7)
    assert mine.solved > 17
