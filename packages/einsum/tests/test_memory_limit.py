"""``memory_limit``: slices that keep it, and a refusal that names the smallest one where none do."""

from __future__ import annotations

import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tensor_runtime as tr
from network_cases import Case, cases, naive, same
from tensor_core.errors import ArgumentError, BackendError, BackendUnavailableError, OutOfMemoryError, TensorError
from tensor_core.formatting import readable_bytes
from tensor_cpu.system.extension import AVAILABLE
from tensor_cpu.system.memory import pool
from tensor_einsum import MemoryLimitError, Plan, einsum, plan, plan_cache
from tensor_einsum.execution import executor, memory
from tensor_einsum.slices import finder
from tensor_einsum.slices.model import Model
from tensor_einsum.testing.networks import drawn, lattice
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import CPU

CHAIN = "ij,jk,kl->il", (300, 300), (300, 300), (300, 300)
RESULT = 8 * 300 * 300
MATRIX = 8 * 1500 * 1500


@given(cases(), st.integers(0, 8))
def test_a_limit_is_kept_or_refused_and_never_changes_the_result(case: Case, share: int) -> None:
    operands = [tr.tensor(array) for array in case.arrays]
    whole = plan(case.notation, *operands, optimize="greedy")
    limit = whole.peak_bytes_on(*operands) * share // 8
    try:
        found = plan(case.notation, *operands, memory_limit=limit, optimize="greedy")
    except MemoryLimitError as error:
        assert limit < error.smallest
        found = plan(case.notation, *operands, memory_limit=error.smallest, optimize="greedy")
        limit = error.smallest
    assert found.intermediate_bytes <= found.peak_bytes == found.peak_bytes_on(*operands) <= limit
    assert same(einsum(case.notation, *operands, memory_limit=limit, optimize="greedy"), naive(case))
    assert same(found(*operands), naive(case))


@pytest.mark.parametrize("optimize", ["auto", "greedy"])
@pytest.mark.parametrize("case", [
    (",sSq,sre,eV,V,rSmq->Vs", (), (2, 2, 3), (2, 3, 3), (3, 3), (1,), (3, 2, 1, 3)),
    ("e,,gWge,B->WBeW", (1,), (), (3, 1, 3, 2), (2,)),
])  # fmt: skip
def test_the_smallest_limit_is_accepted_although_the_search_depends_on_it(case: Any, optimize: str) -> None:
    notation, *shapes = case
    for limit in range(0, 200, 8):
        try:
            plan(notation, *shapes, dtype="C64", memory_limit=limit, optimize=optimize)
        except MemoryLimitError as error:
            assert limit < error.smallest
            found = plan(notation, *shapes, dtype="C64", memory_limit=error.smallest, optimize=optimize)
            assert found.peak_bytes <= error.smallest


@pytest.mark.parametrize(("limit", "slices"), [(2 * RESULT, 1), (2 * RESULT - 1, 3), (RESULT + 100_000, 15)])
def test_as_few_slices_as_keep_the_limit(limit: int, slices: int) -> None:
    found = plan(*CHAIN, memory_limit=limit)

    assert found.slices.count == slices
    assert found.peak_bytes <= limit


def test_a_plan_that_fits_is_not_sliced() -> None:
    found = plan(*CHAIN, memory_limit="1GiB")

    assert (found.sliced, found.flops) == ((), plan(*CHAIN).flops)


@pytest.mark.parametrize("limit", [RESULT, str(RESULT), "0.5 MB", 0])
def test_a_limit_below_the_result_is_refused_with_the_smallest_that_works(limit: int | str) -> None:
    with pytest.raises(MemoryLimitError, match=r"memory_limit is .*; accepted: 720016 bytes or more") as e:
        plan(*CHAIN, memory_limit=limit)
    assert e.value.smallest == RESULT + 16
    assert isinstance(e.value, OutOfMemoryError)
    assert pickle.loads(pickle.dumps(e.value)).smallest == e.value.smallest
    assert plan(*CHAIN, memory_limit=RESULT + 16).peak_bytes == RESULT + 16


@pytest.mark.parametrize(
    "limit",
    [
        "2GB",
        "2 GB",
        "2.0GB",
        ".002TB",
        "2000MB",
        "2000000000",
        "2000000000 B",
        "2000000 kB",
        2 * 10**9,
        np.int64(2 * 10**9),
    ],
)
def test_limits_are_bytes_or_text_with_a_unit(limit: Any) -> None:
    large = "i,j->ij", (10_000,), (25_000 + 1,)
    assert plan("i,j->ij", (10_000,), (25_000,), memory_limit=limit).peak_bytes == 2 * 10**9
    with pytest.raises(MemoryLimitError):
        plan(*large, memory_limit=limit)
    assert plan(*large, memory_limit="2GiB").peak_bytes > 2 * 10**9


@pytest.mark.parametrize("limit", ["2 gigs", ".", "-1", "GiB", "", "1e9", "2GiB2", -1, 1.5, True, b"2GiB", "٣GB"])
def test_what_is_no_number_of_bytes_is_refused(limit: Any) -> None:
    for call in (plan, einsum):
        x = tr.ones((2, 2))
        with pytest.raises(
            ArgumentError, match=rf"{call.__name__}: memory_limit is .*; accepted: bytes as an int of 0"
        ):
            call("ij,jk", x, x, memory_limit=limit)


@pytest.fixture
def copying(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a backend that has no kernel without copies."""
    monkeypatch.setattr(executor, "within_room", lambda *_: {})


@pytest.mark.usefixtures("by_blas", "copying")
def test_workspaces_of_the_kernels_count() -> None:
    x = tr.ones((1500, 1500))
    repeated = tr.broadcast_to(tr.ones((1500, 1)), (1500, 1500))  # BLAS takes a copy of it
    notation = "ij,(jk,kl)->il"
    found = plan(notation, x, x, x)
    needed = plan(notation, repeated, x, x).peak_bytes

    assert needed == found.peak_bytes + MATRIX
    assert plan(notation, x, x, x, memory_limit=found.peak_bytes) == found
    sliced = plan(notation, repeated, x, x, memory_limit=found.peak_bytes)
    assert sliced.slices.count > 1
    assert sliced.peak_bytes == sliced.peak_bytes_on(repeated, x, x) <= found.peak_bytes
    assert plan(notation, repeated, x, x, memory_limit=needed) == found


@pytest.mark.usefixtures("by_blas", "copying")
def test_the_peak_is_that_of_the_tensors_that_the_plan_was_made_for() -> None:
    x, repeated = tr.ones((1500, 1500)), tr.broadcast_to(tr.ones((1500, 1)), (1500, 1500))
    notation = "ij,jk->ik"
    copied, plain = plan(notation, repeated, x), plan(notation, x, x)
    assert (copied.peak_bytes, plain.peak_bytes) == (2 * MATRIX, MATRIX)
    assert copied == plain and hash(copied) == hash(plain)
    assert copied.peak_bytes_on(x, x) == MATRIX and plain.peak_bytes_on(repeated, x) == 2 * MATRIX
    assert readable_bytes(2 * MATRIX) in str(copied) and readable_bytes(2 * MATRIX) not in str(plain)
    z = tr.ones((1500, 1500), dtype="C64")
    both = tr.broadcast_to(z[:, :1], z.shape), z  # conjugates of the first are copied
    cut, uncopied = (plan(notation, one, z, conj=(0,)).with_slices({"k": 1000}) for one in both)
    assert cut.peak_bytes > uncopied.peak_bytes
    for read in (pickle.loads(pickle.dumps(copied)), Plan.from_json(copied.to_json())):
        assert (read, read.peak_bytes) == (copied, MATRIX)  # compact operands, as far as it knows


def test_a_plan_that_no_kernel_can_run_tells_what_its_intermediates_take() -> None:
    found = plan("i,j->ij", (10**12,), (10**12,))

    assert found.peak_bytes == found.intermediate_bytes == 8 * 10**24


def test_a_backend_that_fails_is_told_of_when_the_peak_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> Any:
        raise BackendError("broken")

    found = plan("ij,jk->ik", (35, 32), (32, 36))
    monkeypatch.setattr(registry, "bind", fail)
    with pytest.raises(BackendError):
        print(found.peak_bytes)


def test_planning_binds_no_kernel_until_the_peak_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> Any:
        raise AssertionError("a kernel was bound")

    binding_cache.clear()
    x = tr.ones((33, 32)).T
    with monkeypatch.context() as patched:
        patched.setattr(registry, "bind", refuse)
        found = plan("ij,jk,kl->il", (31, 32), x, (33, 34))
        repr(found), hash(found), pickle.dumps(found)
        with pytest.raises(AssertionError):
            print(found.peak_bytes)
    assert found.peak_bytes == found.intermediate_bytes


def test_plans_under_a_limit_are_kept_by_the_forms_of_their_operands() -> None:
    plan_cache.clear()
    x, y = tr.ones((40, 40)), tr.ones((40, 40)).T
    first = plan("ij,jk,kl->il", x, x, x, memory_limit=20_000)

    assert plan("ij,jk,kl->il", x, x, x, memory_limit="20kB") is first
    assert plan("ij,jk,kl->il", y, x, x, memory_limit=20_000) is not first
    assert plan("ij,jk,kl->il", x, x, x, memory_limit=20_001) is not first


def test_a_path_whose_intermediates_are_large_is_followed_in_slices() -> None:
    x = tr.ones((60, 60), dtype="I32")
    path = [(0, 1), (0, 1), (0, 1)]
    whole = plan("ij,kl,ik,jl->", x, x, x, x, optimize=path)
    found = plan("ij,kl,ik,jl->", x, x, x, x, optimize=path, memory_limit="1MB")

    assert whole.peak_bytes > 4 * 60**4
    assert (found.path, found.peak_bytes <= 10**6) == (whole.path, True)
    assert found.flops < 1.01 * whole.flops
    assert found(x, x, x, x).item() == 60**4


def test_a_limit_holds_where_kernels_are_not_known() -> None:
    found = plan(*CHAIN, memory_limit=2 * RESULT - 1)
    operands = [tr.zeros(shape, placement="meta") for shape in found.shapes]

    assert found(*operands).shape == (300, 300)
    assert einsum("ij,jk,kl->il", *operands, memory_limit=2 * RESULT - 1).shape == (300, 300)


LARGE = plan("ij,jk,kl->il", (4000, 2), (2, 3000), (3000, 4000))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, **options: LARGE(*x, **options),
        lambda x, **options: einsum(LARGE.notation, *x, **options),
        lambda x, **options: LARGE.with_slices({"k": 1000})(*x, **options),
        lambda x, **options: LARGE.with_slices({"k": 1000}).run_slice(0, *x, **options),
    ],
    ids=["plan", "einsum", "sliced", "one slice"],
)
def test_what_cannot_end_is_refused_unless_it_is_forced(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    operands = [tr.zeros(shape) for shape in LARGE.shapes]
    monkeypatch.setattr(memory, "recently_usable_bytes", lambda: 64 << 20)
    with pytest.raises(OutOfMemoryError, match=r"may use 64.0 MiB in all; .*memory_limit=.*force=True"):
        call(operands)
    assert call(operands, force=True).shape == (4000, 4000)
    with pytest.raises(OutOfMemoryError):
        call(operands, force=False)


def test_a_limit_lets_einsum_end_where_it_could_not() -> None:
    x, y = tr.ones((200, 1)), tr.ones((1, 200))
    assert einsum("ij,jk->", x, y, memory_limit=400).item() == 40_000.0
    assert isinstance(plan("ij,jk->", x, y, memory_limit=400), Plan)


def test_an_unknown_keyword_is_a_type_error() -> None:
    x = tr.ones((2, 2))
    with pytest.raises(TypeError, match="memory"):
        einsum("ij,jk", x, x, memory="2GB")  # type: ignore[call-arg]
    with pytest.raises(TensorError):
        einsum("ij,jk,kl", x, x, x, memory_limit=1)


def test_a_limit_is_planned_for_without_a_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = plan(*CHAIN, memory_limit=RESULT + 100_000)
    plan_cache.clear()
    serve = registry.backend_for

    def none_for_cpu(place: Any) -> Any:
        if place is CPU:
            raise BackendUnavailableError("no backend serves cpu")
        return serve(place)

    monkeypatch.setattr(registry, "backend_for", none_for_cpu)
    found = plan(*CHAIN, memory_limit=RESULT + 100_000)
    assert found == expected
    assert found.peak_bytes == found.intermediate_bytes  # no workspace is known


@pytest.mark.parametrize("most", [0, 3])
@pytest.mark.parametrize("limit", [400_000, 80_000, 20_000, 5_000])
def test_so_many_labels_at_most_are_cut_unevenly(limit: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plan_cache.clear()
    monkeypatch.setattr(finder, "_UNEVEN", most)
    table = "ab,cd,ef,gh,bc,de,fg,ha->"  # from left to right, a table of 5**8 elements is made
    found = plan(table, *[(5, 5)] * 8, optimize=False, memory_limit=limit)
    uneven = [extent for extent in found.slices.extents if 5 % extent]
    plan_cache.clear()

    assert found.peak_bytes <= limit
    if AVAILABLE:  # NumPy's products take buffers besides
        assert len(uneven) == min(most, 1)  # parts of 2 or 3 would be longest
    assert found(*[tr.ones((5, 5))] * 8).item() == 5.0**8


@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from(["greedy", "auto", False]), st.data())
def test_the_model_that_chooses_cuts_has_the_peak_of_the_sliced_plan(
    seed: int, operands: int, optimize: Any, data: st.DataObject
) -> None:
    network = drawn(seed, operands)
    terms = ["".join(chr(192 + label) for label in term) for term in (*network.inputs, network.output)]
    shapes = [tuple(network.extents[label] for label in term) for term in network.inputs]
    whole = plan(f"{','.join(terms[:-1])}->{terms[-1]}", *shapes, optimize=optimize)
    model = Model(whole._network, whole.steps, 8, [0.0] * len(whole.steps))
    parts = {
        label: data.draw(st.integers(1, extent - 1))
        for label, extent in enumerate(whole.extents)
        if extent > 1 and data.draw(st.booleans())
    }
    found = whole.with_slices({whole.names[label]: part for label, part in parts.items()})
    assume(found._executed == whole._executed)  # slices may take factors that only scale elsewhere
    assert model.peak(parts) == found.intermediate_bytes
    assert model.peak({}) == whole.intermediate_bytes


def test_few_labels_of_a_large_network_are_looked_at_for_each_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    network = lattice(24, 24)
    shapes = [(2,) * len(term) for term in network.inputs]
    operands = [part for pair in zip(shapes, network.inputs, strict=True) for part in pair]
    whole = plan(*operands, (), optimize="greedy")
    model = Model(whole._network, whole.steps, 8, [0.0] * len(whole.steps))
    looks, lives = [0], Model.lives
    monkeypatch.setattr(Model, "lives", lambda *given: (looks.__setitem__(0, looks[0] + 1), lives(*given))[1])
    found = finder.find_cuts(model, whole.intermediate_bytes // 20)

    assert found is not None
    assert model.peak(dict(found)) <= whole.intermediate_bytes // 20
    assert looks[0] < 2000  # trying every label for each cut takes five thousand


@pytest.mark.usefixtures("by_blas", "copying")
def test_a_plan_reused_for_tensors_has_their_peak() -> None:
    x, repeated = tr.ones((1500, 1500)), tr.broadcast_to(tr.ones((1500, 1)), (1500, 1500))
    reused = plan("ij,jk->ik", (2, 3), (3, 4)).reuse(repeated, x)

    assert reused.peak_bytes == reused.peak_bytes_on(repeated, x) == 2 * MATRIX
    assert reused.reuse(x, x).peak_bytes == MATRIX


def test_plans_that_no_kernel_can_be_bound_to_are_shown_all_the_same() -> None:
    apart = plan("ij,jk->ik", tr.ones((2, 3)), tr.ones((3, 4), placement="meta"))
    assert "ij,jk->ik" in str(apart)
    assert apart.peak_bytes == apart.intermediate_bytes == 64
    vectors = [part for label in range(1100) for part in ((2,), (label,))]
    huge = plan(*vectors, *vectors, (), optimize=False)  # an outer product of all of them on the way
    assert "2^1102 flops" in repr(huge)
    assert huge.peak_bytes == huge.intermediate_bytes


@pytest.mark.parametrize(
    ("notation", "shapes", "optimize", "smallest"),
    [
        ("a,bb,a,cb->c", [(3,), (3, 3), (3,), (3, 3)], "greedy", 40),
        ("a,c,c,e,a->a", [(3,), (3,), (3,), (4,), (3,)], "greedy", 40),
        ("ba,ab,ab,ba->b", [(3, 2), (2, 3), (2, 3), (3, 2)], "auto", 40),
        ("b,ca,caa,a,bba->c", [(2,), (2, 2), (2, 2, 2), (2,), (2, 2, 2)], "auto", 32),
        ("cd,bc,bda,ac,dc,dbd->ab", [(3, 2), (2, 3), (2, 2, 3), (3, 3), (2, 3), (2, 2, 2)], "auto", 64),
    ],
)
def test_a_refusal_names_the_limit_of_the_path_that_needs_least(
    notation: str, shapes: list[tuple[int, ...]], optimize: str, smallest: int
) -> None:
    for limit in range(0, smallest, 8):
        with pytest.raises(MemoryLimitError) as e:
            plan(notation, *shapes, optimize=optimize, memory_limit=limit)
        assert e.value.smallest == smallest
    assert plan(notation, *shapes, optimize=optimize, memory_limit=smallest).peak_bytes == smallest


def test_a_plan_without_slices_may_be_the_smallest() -> None:
    shapes = (300, 300), (300, 300)
    with pytest.raises(MemoryLimitError, match="accepted: 720000 bytes or more"):
        plan("ij,jk->ik", *shapes, memory_limit=0)
    assert plan("ij,jk->ik", *shapes, memory_limit=720_000).slices.count == 1


def test_a_limit_counts_the_buffers_of_operands_that_numpy_converts_or_gathers() -> None:
    operands = [
        tr.ones((20, 32, 50), dtype="Bool"),
        tr.ones((50, 32, 20), dtype="C64"),
        tr.ones((32, 50), dtype="Bool"),
    ]
    whole, limit = plan("cba,abc,ba->acb", *operands), 1_030_000
    assert whole.intermediate_bytes < limit < whole.peak_bytes
    within = plan("cba,abc,ba->acb", *operands, memory_limit=limit)
    assert within.peak_bytes <= limit
    for found in (whole, within):
        found(*operands)
        pool.clear()
        tracemalloc.start()
        try:
            found(*operands)
            assert tracemalloc.get_traced_memory()[1] <= found.peak_bytes + 5000  # the iterator, indices
        finally:
            tracemalloc.stop()
