"""Providers of contractions: when one is asked, what it refuses, and that the answers are those of the other ways."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from fake_cupy.driver import FakeError, Machine
from fake_cupy.libraries import modules
from fake_cupy.tensors import Cutensor
from tensor_core.dtypes import C64, F64, I64
from tensor_core.errors import ArgumentError, BackendError
from tensor_gpu.backend import DeviceBackend
from tensor_gpu.cuda import cutensor, providers
from tensor_gpu.cuda.cupy_api import CupyApi
from tensor_gpu.cuda.cutensor import of_nvmath
from tensor_gpu.cuda.exchange import CudaBackend
from tensor_gpu.device.provider import MOST_MODES, Contract, Lying, refusal
from tensor_gpu.device.providers import VARIABLE
from tensor_gpu.sim.api import SimulatedApi
from tensor_gpu.sim.errors import SimulationError
from tensor_gpu.sim.faults import Faults, Limits
from tensor_gpu.sim.tensors import SimulatedProvider
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import DeviceKind

Array = np.ndarray[Any, Any]
MEMORY = 1 << 26
SCATTERED = "aibj,jcai->bc"
"""Contracted axes lie apart, and in unlike orders, so that a product of matrices takes copies."""


@pytest.fixture
def api() -> Iterator[SimulatedApi]:
    """Device ``contracting:0``, with a provider "one"."""
    found = SimulatedApi(devices=1, memory_bytes=MEMORY)
    tr.register_backend("contracting", DeviceBackend(found, DeviceKind.other("contracting")))
    with found.under(Limits(devices=1, memory_bytes=MEMORY, providers=("one",))):
        yield found
    registry.unregister("contracting")


def backend() -> Any:
    return tr.backend("contracting")


def numbers(shape: tuple[int, ...], seed: int, dtype: str = "float64") -> Array:
    draw = np.random.default_rng(seed)
    real = draw.integers(-3, 4, shape)
    return (real + 1j * draw.integers(-3, 4, shape)).astype(dtype) if dtype[0] == "c" else real.astype(dtype)


def on(place: str, array: Array) -> tr.Tensor:
    return tr.to(tr.asarray(np.asarray(array, order="F")), place)


def scattered() -> tuple[Array, Array]:
    return numbers((24, 20, 16, 20), 1), numbers((20, 18, 24, 20), 2)


def values(x: tr.Tensor) -> Any:
    return tr.to(x, "cpu").to_numpy()


def test_a_provider_contracts_where_a_product_of_matrices_takes_copies_and_nowhere_else(api: SimulatedApi) -> None:
    arrays = scattered()
    x, y = (on("contracting:0", array) for array in arrays)
    api.counts.clear()

    found = tr.einsum(SCATTERED, x, y)
    assert dict(api.counts) == {"contractions": 1}
    assert np.array_equal(values(found), np.einsum(SCATTERED, *arrays, optimize=True))

    square = on("contracting:0", numbers((200, 200), 3))
    api.counts.clear()
    tr.einsum("ij,jk->ik", square, square)
    assert (api.counts["gemms"], api.counts["contractions"]) == (1, 0)


def test_what_contracts_is_switched_for_a_block_for_good_and_by_the_environment(
    api: SimulatedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = (on("contracting:0", array) for array in scattered())
    square = on("contracting:0", numbers((200, 200), 3))

    def contractions() -> tuple[int, int]:
        api.counts.clear()
        tr.einsum(SCATTERED, x, y)
        tr.einsum("ij,jk->ik", square, square)
        return api.counts["contractions"], api.counts["gemms"]

    assert contractions() == (1, 1)
    with backend().providers.use("gemm"):
        assert contractions() == (0, 2)
        with backend().providers.use("one"):
            assert contractions() == (2, 0)
        assert contractions() == (0, 2)
    assert contractions() == (1, 1)
    monkeypatch.setenv(VARIABLE, "gemm")
    tr.register_backend("other", DeviceBackend(api, DeviceKind.other("other")))
    try:
        assert tr.backend("other").providers.chosen() is None  # type: ignore[attr-defined]
    finally:
        registry.unregister("other")
    monkeypatch.setenv(VARIABLE, "cutensr")
    with pytest.raises(ArgumentError, match=r"TENSOR_GPU_PROVIDER: there is no provider 'cutensr'; accepted: 'auto'"):
        contractions()
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ArgumentError, match=r"there is no provider 'two'; accepted: 'auto', 'gemm', 'one'"):
        backend().providers.use("two")


@pytest.mark.parametrize("seed", range(40))
def test_any_contraction_is_exact_whoever_refuses_it(seed: int, api: SimulatedApi) -> None:
    random = Random(seed)
    letters = "abcdef"[: random.randint(1, 6)]
    roles = {letter: random.choice(["batch", "inner", "first", "second", "only"]) for letter in letters}
    terms = [
        [one for one in letters if roles[one] in ("batch", "inner", side) or (roles[one] == "only" and side == "first")]
        for side in ("first", "second")
    ]
    out = [one for one in letters if roles[one] in ("batch", "first", "second")]
    for term in (*terms, out):
        random.shuffle(term)
    extents = {one: random.choice([1, 2, 3, 5]) for one in letters}
    dtype = random.choice(["float64", "complex128", "float32", "int64"])
    equation = f"{''.join(terms[0])},{''.join(terms[1])}->{''.join(out)}"
    arrays = [numbers(tuple(extents[one] for one in term), seed, dtype) for term in terms]
    tensors = [on("contracting:0", array) for array in arrays]
    backwards = random.random() < 0.3 and bool(terms[0])
    if backwards:
        tensors[0], arrays[0] = tensors[0][::-1], arrays[0][::-1]
    conj = (0,) if dtype == "complex128" and random.random() < 0.5 else ()

    with backend().providers.use("one"):
        api.counts.clear()
        found = tr.einsum(equation, *tensors, conj=conj, optimize=[(0, 1)])

    first = arrays[0].conj() if conj else arrays[0]
    assert values(found).tolist() == np.einsum(equation, first, arrays[1]).tolist()
    if dtype == "int64":
        assert not api.counts["contractions"]
    elif not backwards and not conj:
        assert api.counts["contractions"] == 1


def test_explaining_and_describing_tell_who_contracts_and_why_not(api: SimulatedApi) -> None:
    x, y = (on("contracting:0", array) for array in scattered())
    assert backend().describe()["contractions by"] == "one (not opened yet); wanted: auto"

    (chosen,) = tr.explain(tr.einsum, SCATTERED, x, y)
    assert chosen.choice is not None
    assert chosen.choice.kernel == "contraction by one"
    assert backend().describe()["contractions by"] == "one (of simulated devices); wanted: auto"

    (refused,) = tr.explain(tr.einsum, SCATTERED, x[::-1], y)
    assert refused.choice is not None
    assert refused.choice.kernel == "matrix product by the library"
    assert refused.choice.workspace_bytes >= x.nbytes
    assert any("operand 0 is copied first" in note for note in refused.choice.notes)
    assert any("one does not take this one: operand 0 has a stride of -1" in note for note in refused.choice.notes)

    with backend().providers.use("gemm"):
        (without,) = tr.explain(tr.einsum, SCATTERED, x, y)
    assert without.choice is not None
    assert "wanted: gemm" in without.choice.notes[-1]
    kinds = [one.choice.kernel for one in tr.explain(lambda z: tr.sum(tr.transpose(z), axis=0) + 1.0, x) if one.choice]
    assert kinds[-1] == "program"


def test_a_provider_that_cannot_be_opened_is_told_and_not_asked_again(
    api: SimulatedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def opened(self: SimulatedProvider) -> str:
        asked.append(self.name)
        raise ImportError("no library:\n  of that name")

    monkeypatch.setattr(SimulatedProvider, "opened", opened)
    arrays = scattered()
    x, y = (on("contracting:0", array) for array in arrays)

    for _ in range(2):
        assert np.array_equal(values(tr.einsum(SCATTERED, x, y)), np.einsum(SCATTERED, *arrays, optimize=True))
        backend().providers.use("auto")  # which binds anew
    assert asked == ["one"]
    assert api.counts["contractions"] == 0
    assert backend().describe()["contractions by"] == ("one (ImportError: no library: of that name); wanted: auto")


def test_what_a_provider_raises_when_it_is_asked_is_a_refusal(
    api: SimulatedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(self: SimulatedProvider, ordinal: int, call: Contract) -> str:
        raise RuntimeError("CUTENSOR_STATUS_NOT_SUPPORTED")

    monkeypatch.setattr(SimulatedProvider, "refuses", refuses)
    x, y = (on("contracting:0", array) for array in scattered())
    tr.einsum(SCATTERED, x, y)

    assert (api.counts["contractions"], api.counts["gemms"]) == (0, 1)
    (one,) = tr.explain(tr.einsum, SCATTERED, x, y)
    assert one.choice is not None
    assert "RuntimeError: CUTENSOR_STATUS_NOT_SUPPORTED" in one.choice.notes[-1]


def test_a_contraction_that_fails_is_told_and_leaves_operands(api: SimulatedApi) -> None:
    arrays = scattered()
    x, y = (on("contracting:0", array) for array in arrays)
    limits = Limits(devices=1, memory_bytes=MEMORY, providers=("one",))
    with (
        api.under(limits, Faults(fail={"contractions": 1})),
        pytest.raises(BackendError, match="call 1 of kind contractions fails"),
    ):
        tr.einsum(SCATTERED, x, y)
    assert np.array_equal(values(x), arrays[0])
    assert np.array_equal(values(tr.einsum(SCATTERED, x, y)), np.einsum(SCATTERED, *arrays, optimize=True))


LYING = Lying((0,), (1,))


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (Contract(I64, {0: 4}, LYING, LYING, LYING), "no contractions of I64"),
        (Contract(F64, {0: 4}, LYING, Lying((0,), (0,)), LYING), "operand 1 has a stride of 0"),
        (Contract(F64, {0: 4}, LYING, LYING, Lying((0,), (-2,))), "the result has a stride of -2"),
        (Contract(F64, dict.fromkeys(range(MOST_MODES + 1), 2), LYING, LYING, LYING), "65 axes that cannot be joined"),
    ],
)
def test_a_simulated_provider_refuses_what_cutensor_refuses(api: SimulatedApi, call: Contract, reason: str) -> None:
    assert reason in (refusal(call) or "")
    with pytest.raises(SimulationError, match=reason):
        api.providers()[0].contract(api.new_stream(0), call, (1, 2, 3), lambda nbytes: 0)


def test_a_result_may_not_lie_over_an_operand(api: SimulatedApi) -> None:
    with pytest.raises(SimulationError, match="the result lies over an operand"):
        api.providers()[0].contract(api.new_stream(0), Contract(F64, {0: 4}, LYING, LYING, LYING), (1, 2, 1), int)


@pytest.fixture
def machine() -> Machine:
    return Machine(devices=2, seed=5)


@pytest.fixture
def place(machine: Machine) -> Iterator[str]:
    tr.register_backend("fake", CudaBackend(CupyApi(modules(machine)), DeviceKind.other("fake"), device_type=99))
    yield "fake:1"
    registry.unregister("fake")


def test_cutensor_contracts_by_plans_that_are_kept_for_each_alignment(machine: Machine, place: str) -> None:
    arrays = scattered()
    x, y = (on(place, array) for array in arrays)
    expected = np.einsum(SCATTERED, *arrays, optimize=True)

    for _ in range(3):
        assert np.array_equal(values(tr.einsum(SCATTERED, x, y)), expected)
    shifted = on(place, np.concatenate([arrays[0][:1], arrays[0]]))[1:]
    assert np.array_equal(values(tr.einsum(SCATTERED, shifted, y)), expected)

    assert [given[-1] for _, given in machine.noted("contract")] == [128, 128, 128, 8]
    assert [device for _, (device,) in machine.noted("createPlan")] == [1, 1, 1, 1]  # both layouts ask for both
    assert "cutensor (cuTENSOR 2.3.1)" in tr.backend("fake").describe()["contractions by"]


def test_conjugates_are_read_by_cutensor_where_they_lie(machine: Machine, place: str) -> None:
    x, y = numbers((6, 5, 4), 1, "complex128"), numbers((5, 6, 3), 2, "complex128")
    with tr.backend("fake").providers.use("cutensor"):  # type: ignore[attr-defined]
        found = tr.einsum("abc,bad->cd", on(place, x), on(place, y), conj=(0,))

    assert values(found).tolist() == np.einsum("abc,bad->cd", x.conj(), y).tolist()
    assert len(machine.noted("contract")) == 1
    assert {given[1] for _, given in machine.noted("createTensorDescriptor")} == {cutensor.TYPES[C64]}


def test_nothing_of_the_library_is_left_when_its_plans_are_dropped(
    machine: Machine, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutensor, "MOST_PLANS", 2)
    library: Cutensor = tr.backend("fake").api.libs.cutensor  # type: ignore[attr-defined]
    with tr.backend("fake").providers.use("cutensor"):  # type: ignore[attr-defined]
        for extent in (4, 5, 6):
            x = on(place, numbers((extent, extent), extent))
            assert (
                values(x @ x).tolist()
                == (numbers((extent, extent), extent) @ numbers((extent, extent), extent)).tolist()
            )
    gc.collect()

    assert len(machine.noted("destroyPlan")) == 4
    assert len(library._objects) == 3  # a handle and the last plans


def test_what_the_library_has_against_a_contraction_is_told_and_the_product_made_otherwise(
    machine: Machine, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fake_cupy.tensors.ALIGNMENTS", ())
    arrays = scattered()
    x, y = (on(place, array) for array in arrays)

    assert np.array_equal(values(tr.einsum(SCATTERED, x, y)), np.einsum(SCATTERED, *arrays, optimize=True))
    (one,) = tr.explain(tr.einsum, SCATTERED, x, y)
    assert one.choice is not None
    assert one.choice.notes[-1].endswith("cutensor does not take this one: FakeError: CUTENSOR_STATUS_INVALID_VALUE")


def test_a_library_without_a_plan_for_memory_that_begins_anywhere_is_not_asked_at_the_call(
    machine: Machine, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fake_cupy.tensors.ALIGNMENTS", (cutensor.ALIGNED,))
    arrays = scattered()
    x, y = on(place, np.concatenate([arrays[0][:1], arrays[0]]))[1:], on(place, arrays[1])

    assert np.array_equal(values(tr.einsum(SCATTERED, x, y)), np.einsum(SCATTERED, *arrays, optimize=True))
    assert machine.noted("contract") == []


def test_whatever_a_library_raises_at_the_call_is_an_error_of_ours(
    machine: Machine, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def contract(*given: Any) -> None:
        raise FakeError("CUTENSOR_STATUS_EXECUTION_FAILED")

    monkeypatch.setattr(Cutensor, "contract", contract)
    x, y = (on(place, array) for array in scattered())
    with pytest.raises(
        BackendError, match=r"cutensor: a contraction of F64 failed: FakeError: CUTENSOR_STATUS_EXECUTION_FAILED; prov"
    ) as caught:
        tr.einsum(SCATTERED, x, y)
    assert isinstance(caught.value.__cause__, FakeError)


def test_nvmath_binds_the_same_functions_by_other_names(
    machine: Machine, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Cutensor(machine)
    streams = []

    def contract(
        handle: int, plan: int, alpha: int, a: int, b: int, beta: int, c: int, d: int, workspace: int,
        workspace_size: int, stream: int,
    ) -> None:  # fmt: skip
        streams.append(stream)
        fake.contract(handle, plan, alpha, a, b, beta, c, d, workspace, workspace_size)

    library = SimpleNamespace(
        get_version=fake.get_version, create=fake.create, create_tensor_descriptor=fake.createTensorDescriptor,
        create_contraction=fake.createContraction, create_plan_preference=fake.createPlanPreference,
        estimate_workspace_size=fake.estimateWorkspaceSize, create_plan=fake.createPlan, contract=contract,
        destroy_tensor_descriptor=fake.destroyTensorDescriptor, destroy_plan=fake.destroyPlan,
        destroy_operation_descriptor=fake.destroyOperationDescriptor,
        destroy_plan_preference=fake.destroyPlanPreference,
        ComputeDesc=SimpleNamespace(COMPUTE_32F=lambda: 4, COMPUTE_64F=lambda: 16),
    )  # fmt: skip
    monkeypatch.setattr(providers, "find_spec", lambda name: object())
    monkeypatch.setattr(providers, "nvmath", lambda: of_nvmath(library))
    tr.register_backend("both", CudaBackend(CupyApi(modules(machine)), DeviceKind.other("both"), device_type=98))
    x, y = numbers((4, 5), 1), numbers((5, 6), 2)
    try:
        with tr.backend("both").providers.use("nvmath"):  # type: ignore[attr-defined]
            found = tr.einsum("ij,jk->ik", on("both:0", x), on("both:0", y))
            assert values(found).tolist() == (x @ y).tolist()
        assert streams[0] in machine.streams
        assert "cutensor (not opened yet), nvmath (cuTENSOR 2.3.1)" in tr.backend("both").describe()["contractions by"]
    finally:
        registry.unregister("both")
