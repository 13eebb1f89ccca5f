"""Contractions whose steps the backend runs as one kernel: the same numbers, errors and memory as step by step."""

from __future__ import annotations

import gc
import itertools
import random
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import tensor_runtime as tr
from network_cases import Case, laid_out, naive, networks
from tensor_core.errors import OutOfMemoryError, ShapeError, TensorError
from tensor_einsum import einsum, plan
from tensor_einsum.execution.executor import Executable, Instruction, bind_plan
from tensor_einsum.execution.sequenced import Sequenced
from tensor_runtime.backends.error_translation import translated
from tensor_runtime.backends.meta import META
from tensor_runtime.backends.registry import registry
from tensor_runtime.placement import CPU, Placement

ALL_AT_ONCE = pytest.mark.skipif(
    not hasattr(registry.backend_for(CPU), "bind_sequence")
    or bind_plan(plan("ij,jk,kl", (2, 2), (2, 2), (2, 2)), [tr.ones((2, 2))._form] * 3)[0].sequence() is None,
    reason="the native kernels are not built, or their calls are checked one by one",
)


def drawn(operands: int, seed: int, extents: tuple[int, ...] = (1, 2, 2, 3)) -> tuple[list[tuple[int, ...]], list[int]]:
    """Labels of the operands of a connected network without long-range bonds, and the extents of the labels."""
    draw = random.Random(seed)
    terms: list[list[int]] = [[] for _ in range(operands)]
    found: list[int] = []
    for one in range(1, operands):
        others = {draw.randrange(max(0, one - 4), one)}
        if draw.random() < 0.3:
            others.add(draw.randrange(max(0, one - 4), one))
        for other in others:
            for term in (one, other):
                terms[term].append(len(found))
            found.append(draw.choice(extents))
    return [tuple(term) for term in terms], found


@given(networks())
def test_all_steps_at_once_give_what_the_definition_says(case: Case) -> None:
    for layout in ("owned", "backwards"):
        operands = [laid_out(array, layout) for array in case.arrays]
        found = case.planned()
        assert np.array_equal(found(*operands).to_numpy(), naive(case))
        assert np.array_equal(einsum(case.notation, *operands, optimize=case.path).to_numpy(), naive(case))


@pytest.mark.parametrize("dtype", ["F32", "F64", "C64", "I32", "I64", "Bool"])
@pytest.mark.parametrize("seed", range(6))
def test_all_steps_at_once_give_the_bits_of_one_by_one(dtype: str, seed: int) -> None:
    terms, extents = drawn(40, seed)
    numbers = np.random.default_rng(seed)
    operands = [
        tr.cast(tr.tensor(numbers.integers(-1, 2, [extents[label] for label in term]) * 1.0), dtype) for term in terms
    ]
    arguments: list[Any] = [part for pair in zip(operands, terms, strict=True) for part in pair]
    found = plan(*arguments, ())
    told: list[tuple[int, int]] = []

    one_by_one = found(*operands, on_step=lambda done, total: told.append((done, total)))
    assert len(told) == len(found.steps)
    assert found(*operands).to_numpy().tobytes() == one_by_one.to_numpy().tobytes()
    assert einsum(*arguments, ()).to_numpy().tobytes() == one_by_one.to_numpy().tobytes()


@ALL_AT_ONCE
def test_results_that_leave_the_cache_are_the_same_bits() -> None:
    """Intermediates of a few megabytes beside small ones, permuted and summed."""
    operands = [tr.uniform(shape, seed=seed) for seed, shape in enumerate([(40, 25), (25, 20), (20, 40, 10), (10, 42)])]
    at_once = 0
    for notation in ("ab,bc,cde,ef->adf", "ab,bc,cde,ef->fda", "ab,bc,cae,ef->", "ab,bc,cde,eg->bdg"):
        for path in itertools.islice(itertools.permutations(range(4), 2), 12):
            found = plan(notation, *operands, optimize=[path, (0, 1), (0, 1)])
            at_once += bind_plan(found, [operand._form for operand in operands])[0].sequence() is not None
            expected = found(*operands, on_step=lambda done, total: None)
            assert found(*operands).to_numpy().tobytes() == expected.to_numpy().tobytes()
    assert at_once > 10


@ALL_AT_ONCE
def test_which_step_is_out_of_memory_is_told() -> None:
    count = 1 << 24
    vector, matrix = tr.ones((count,)), tr.broadcast_to(tr.ones((1, 1)), (count, count))

    for notation, operands, path in (
        ("i,i,j,ij->", (vector, vector, vector, matrix), [(0, 1), (0, 2), (0, 1)]),
        ("i,i,j->ij", (vector, vector, vector), [(0, 1), (0, 1)]),
    ):
        found = plan(notation, *operands, optimize=path)
        with pytest.raises(
            OutOfMemoryError, match=r"not enough memory in step 1 of [23], j,i->.*takes 2.0 PiB"
        ) as caught:
            found(*operands, force=True)
        assert caught.value.step == 1
        assert isinstance(caught.value.__cause__, MemoryError)


@ALL_AT_ONCE
def test_what_a_step_raises_is_translated_as_it_is_one_by_one() -> None:
    matrix = tr.ones((2, 2))
    found = plan("ab,bc,cd,de->ae", *[matrix] * 4, optimize=False)
    bound = bind_plan(found, [matrix._form] * 4)[0].instructions
    raised: list[Exception] = []

    def failing(x: object, y: object) -> object:
        raise raised[0]

    instructions = (*bound[:2], Instruction(failing, bound[2].first, bound[2].second))
    executable = Executable(found, instructions, CPU)
    assert executable.sequence() is not None
    arrays = [matrix._array] * 4
    raised.append(ShapeError("mine", shapes=()))
    for on_step in (None, lambda done, total: None):
        with pytest.raises(ShapeError) as caught:
            executable.run(arrays, on_step)
        assert caught.value is raised[0]
    raised[0] = RuntimeError("no")
    for on_step in (None, lambda done, total: None):
        with pytest.raises(TensorError) as other:
            executable.run(arrays, on_step)
        assert str(other.value) == str(translated("einsum", raised[0]))
        assert other.value.__cause__ is raised[0]


@ALL_AT_ONCE
def test_a_plan_and_its_kernels_are_freed_with_their_sequence() -> None:
    matrix = tr.ones((2, 2))
    found = plan("ab,bc,cd,de->ae", *[matrix] * 4, optimize=False)
    bound = bind_plan(found, [matrix._form] * 4)[0].instructions

    def plain(x: Any, y: Any) -> Any:
        return bound[2].kernel(x, y)

    gone = weakref.ref(plain)
    executable = Executable(found, (*bound[:2], Instruction(plain, bound[2].first, bound[2].second)), CPU)
    assert executable(*[matrix._array] * 4)[0, 0] == 8.0
    gc.disable()
    try:
        del executable, plain
        assert gone() is None
    finally:
        gc.enable()


def test_a_backend_without_sequences_is_asked_once() -> None:
    matrix = tr.ones((2, 2))
    found = plan("ab,bc,cd->ad", *[matrix] * 3)
    executable = Executable(found, bind_plan(found, [matrix._form] * 3)[0].instructions, META)

    assert executable.sequence() is None
    assert executable.home is None
    assert executable(*[matrix._array] * 3)[0, 0] == 4.0


def test_another_thread_may_find_out_meanwhile_that_there_are_no_sequences() -> None:
    class Meanwhile(Executable):
        """What another thread finds out just after this one has looked."""

        __slots__ = ("looked",)

        @property
        def home(self) -> Placement | None:
            self.looked = not hasattr(self, "looked")
            return META if self.looked else None

        @home.setter
        def home(self, home: Placement | None) -> None:
            pass

    matrix = tr.ones((2, 2))
    found = plan("ab,bc,cd->ad", *[matrix] * 3)
    executable = Meanwhile(found, bind_plan(found, [matrix._form] * 3)[0].instructions, META)

    assert executable.sequence() is None


@ALL_AT_ONCE
@pytest.mark.parametrize("seed", range(4))
def test_slices_and_backward_sweeps_run_at_once_to_the_same_bits(seed: int) -> None:
    terms, extents = drawn(14, seed, (2, 3))
    numbers = np.random.default_rng(seed)
    operands = [tr.tensor(numbers.uniform(-1, 1, [extents[label] for label in term])) for term in terms]
    arguments: list[Any] = [part for pair in zip(operands, terms, strict=True) for part in pair]
    found = plan(*arguments, ())
    sliced = found.with_slices([0, len(extents) // 2])
    told: list[int] = []

    expected = sliced(*operands, on_step=lambda done, total: told.append(done))
    assert sliced(*operands).to_numpy().tobytes() == expected.to_numpy().tobytes()
    assert len(told) > sliced.slices.count
    for one, other in zip(
        found.environments(*operands)[1], found.environments(*operands, progress=lambda progress: None)[1], strict=True
    ):
        assert one.to_numpy().tobytes() == other.to_numpy().tobytes()


@ALL_AT_ONCE
def test_which_step_of_which_slice_is_out_of_memory_is_told() -> None:
    count = 1 << 24
    vector = tr.ones((count,))
    found = plan("ai,i,j->aij", tr.ones((2, count)), vector, vector, optimize=[(0, 1), (0, 1)]).with_slices("a")
    with pytest.raises(OutOfMemoryError) as caught:
        found.run_slice(1, tr.ones((2, count)), vector, vector, force=True)
    assert (caught.value.step, caught.value.slice) == (1, 1)


@ALL_AT_ONCE
@pytest.mark.parametrize("wanted", [(4, 6, 5), (6, 4), (5, 5, 6), (0, 6, 0), (6,), (1,)])
def test_steps_give_what_is_wanted_in_its_order(wanted: tuple[int, ...]) -> None:
    form = tr.ones((3, 3))._form
    product = bind_plan(plan("ij,jk", (3, 3), (3, 3)), [form, form])[0].instructions[0].kernel
    rng = np.random.default_rng(4)
    arrays = [tr.tensor(rng.integers(-3, 4, (3, 3)) * 1.0)._array for _ in range(4)]
    places = [(product, 0, 1, 4), (product, 4, 2, 5), (product, 5, 3, 6)]
    slots: list[Any] = [*arrays, None, None, None]
    for kernel, first, second, result in places:
        slots[result] = kernel(slots[first], slots[second])

    sequenced = Sequenced(CPU, places, wanted)
    for _ in range(2):  # the first call binds
        found = sequenced.found(arrays)
        assert found is not None
        assert [np.array(one).tolist() for one in found] == [np.array(slots[slot]).tolist() for slot in wanted]
    filled: list[Any] = [*arrays, None, None, None]
    assert sequenced.run(filled)
    assert all(np.array_equal(filled[slot], slots[slot]) for slot in wanted)
