"""Calls: what einsum and plans accept, refuse, report, cache and free."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tensor_einsum
import tensor_runtime as tr
from tensor_core.errors import DTypeError, OutOfMemoryError, PlacementError, ShapeError
from tensor_einsum import ExtentError, PathError, SubscriptsError, einsum, plan
from tensor_einsum.execution import executor
from tensor_einsum.execution.executor import bind_plan
from tensor_runtime.backends.bindings import binding_cache
from tensor_runtime.form import form_of
from tensor_runtime.placement import as_placement

A = tr.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: einsum("ij,jk", A), ExtentError, "'ij,jk' has 2 operands, found 1"),
        (lambda: einsum("ij"), ExtentError, "found no operand"),
        (lambda: einsum(A), SubscriptsError, "found no notation"),
        (lambda: einsum(A, A), SubscriptsError, "labels of operand 0: found Tensor"),
        (lambda: einsum(A, A, A), SubscriptsError, "labels of operand 0: found Tensor"),
        (lambda: einsum(None, A, A), SubscriptsError, "labels of operand 0: found Tensor"),
        (lambda: einsum("ij,jl->im", A, A), SubscriptsError, "output label 'm' is in no operand"),
        (lambda: einsum("ij,jk", A, tr.ones((3, 3))), ShapeError, "label 'j' has extent 2 in operand 0"),
        (lambda: einsum("ij,jk", A, np.ones((2, 2))), DTypeError, "operand 1 is ndarray; .* asarray"),
        (lambda: einsum("ij,jk", A, [[1, 2], [3, 4]]), DTypeError, "operand 1 is list"),
        (lambda: einsum("ij,", A, np.array(2.0)), DTypeError, "operand 1 is ndarray"),
        (lambda: einsum("i", None), DTypeError, "operand 0 is NoneType"),
        (lambda: einsum(",", 2, 3), DTypeError, "no operand is a tensor"),
        (lambda: einsum("ij,jk", A, A, optimize="fastest"), PathError, "'fastest' is no search"),
        (lambda: einsum("ij,jk", A, A, optimize=[(0, 2)]), PathError, "names position 2"),
        (lambda: einsum("ij,jk", A, A, optimize=None), PathError, "optimize is None"),
        (lambda: einsum(A, [0, 1], A, [1, 2], [0, 3]), SubscriptsError, "output label 3 is in no operand"),
    ],
)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], message: str) -> None:
    for _ in range(2):  # nothing wrong is cached
        with pytest.raises(error, match=message):
            call()


def test_operands_in_different_places_are_all_listed() -> None:
    found = plan("ij,jk,kl->il", (2, 2), (2, 2), (2, 2))
    forms = [form_of(tr.F64, (2, 2), as_placement(place)) for place in ("cpu", "cuda:0", "cpu")]

    with pytest.raises(PlacementError) as caught:
        bind_plan(found, forms)
    assert [line.split()[-1] for line in str(caught.value).splitlines() if line.startswith("  operand")] == [
        "cpu",
        "cuda:0",
        "cpu",
    ]


def test_a_plan_refuses_what_it_was_not_made_for() -> None:
    found = plan("ij,jk", (2, 2), (2, 2))

    with pytest.raises(
        ExtentError, match=r"operands have shapes \(2, 2\), \(2, 3\); this plan was made for \(2, 2\), \(2, 2\)"
    ):
        found(A, tr.ones((2, 3)))
    with pytest.raises(ExtentError, match="operands have shapes"):
        found(A)
    with pytest.raises(DTypeError, match="operands are F64, F32; this plan was made for F64, F64; give dtype="):
        found(A, tr.ones((2, 2), dtype="F32"))
    with pytest.raises(DTypeError, match="found ndarray"):
        found(A, np.ones((2, 2)))  # type: ignore[call-overload]


def test_progress_is_reported_after_every_step() -> None:
    found = plan("ij,jk,kl,lm->im", *[(2, 2)] * 4)
    seen: list[tuple[int, int]] = []
    result = found(A, A, A, A, on_step=lambda done, total: seen.append((done, total)))

    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert result.to_numpy().tolist() == einsum("ij,jk,kl,lm->im", A, A, A, A).to_numpy().tolist()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ZeroDivisionError])
def test_a_contraction_can_be_stopped_between_steps(stop: type[BaseException]) -> None:
    done_steps = []

    def on_step(done: int, total: int) -> None:
        done_steps.append(done)
        if done == 2:
            raise stop

    with pytest.raises(stop):
        plan("ij,jk,kl,lm->im", *[(2, 2)] * 4)(A, A, A, A, on_step=on_step)
    assert done_steps == [1, 2]


class Tracked:
    """A stand-in for a native array that can be watched."""


def test_intermediates_are_freed_as_soon_as_they_are_read() -> None:
    found = plan("ab,bc,cd,de->ae", *[(2, 2)] * 4, optimize=False)
    made: list[weakref.ref[Tracked]] = []
    alive: list[int] = []

    def kernel(x: object, y: object) -> Tracked:
        result = Tracked()
        made.append(weakref.ref(result))
        return result

    instructions = tuple(
        executor.Instruction(kernel, *(step.operands if len(step.operands) == 2 else (step.operands[0], -1)))
        for step in found.steps
    )
    program = executor.Executable(found, instructions)
    result = program.run(
        [Tracked() for _ in range(4)], lambda done, total: alive.append(sum(ref() is not None for ref in made))
    )

    assert alive == [1, 1, 1]
    assert made[-1]() is result


def test_a_kernel_that_fails_is_translated() -> None:
    found = plan("ab,bc,cd->ad", *[(2, 2)] * 3)

    def exhausted(x: object, y: object) -> object:
        raise MemoryError("no")

    def broken(x: object, y: object) -> object:
        raise RuntimeError("no")

    for kernel, error, message in (
        (exhausted, OutOfMemoryError, "not enough memory in step 0 of 2, .* the plan needs 64 B beside its operands"),
        (broken, tr.TensorError, "the backend failed: RuntimeError: no"),
    ):
        program = executor.Executable(found, (executor.Instruction(kernel, 0, 1), executor.Instruction(kernel, 2, 3)))
        with pytest.raises(error, match=message):
            program(1, 2, 3)


@pytest.mark.parametrize(
    "path", [[(0, 1), (0, 1)], [(1, 0), (1, 0)], [(0, 2), (1, 0)], [(1, 2), (0, 1)], [(2, 1), (1, 0)]]
)
def test_three_operands_are_nested_along_any_path(path: Any) -> None:
    a, b, c = (tr.tensor(np.arange(k, k + 6.0).reshape(shape)) for k, shape in ((0, (2, 3)), (1, (3, 2)), (2, (2, 3))))
    expected = a.to_numpy() @ b.to_numpy() @ c.to_numpy()

    assert np.array_equal(einsum("ij,jk,kl->il", a, b, c, optimize=path).to_numpy(), expected)


def test_bindings_are_reused_for_views_at_other_offsets() -> None:
    big = tr.tensor(np.arange(48.0).reshape(4, 12))
    einsum("ij,jk->ik", big[:, 0:4], big[:, 4:8].T)
    builds = binding_cache.stats().builds
    einsum("ij,jk->ik", big[:, 4:8], big[:, 8:12].T)
    assert binding_cache.stats().builds - builds <= 2  # slices, at most


def test_equal_steps_of_a_network_share_their_kernel() -> None:
    matrix = tr.ones((3, 3))
    labels = range(41)
    arguments: list[Any] = []
    for a, b in itertools.pairwise(labels):
        arguments += [matrix, (a, b)]
    binding_cache.clear()
    before = binding_cache.stats().builds
    einsum(*arguments, (0, 40), optimize=False)
    assert binding_cache.stats().builds - before < 6


def test_clearing_every_cache_changes_no_result() -> None:
    first = einsum("ij,jk->ik", A, A).to_numpy()
    binding_cache.clear()
    tensor_einsum.plan_cache.clear()
    gc.collect()
    assert np.array_equal(einsum("ij,jk->ik", A, A).to_numpy(), first)


def test_threads_share_plans_and_bindings() -> None:
    notations = ["ij,jk->ik", "ij,kj->ik", "ij,jk->ki", "ii,jk->jk", "ij,ij->", "ij,jk,kl->il", "ij,ik,il->jkl"]
    expected = {text: einsum(text, *[A] * (text.count(",") + 1)).to_numpy() for text in notations}
    wrong: list[str] = []

    def work(seed: int) -> None:
        for k in range(120):
            text = notations[(k * (seed + 1)) % len(notations)]
            if k % 30 == seed:
                binding_cache.clear()
                tensor_einsum.plan_cache.clear()
            if not np.array_equal(einsum(text, *[A] * (text.count(",") + 1)).to_numpy(), expected[text]):
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_runtime_finds_einsum_by_its_entry_point() -> None:
    assert np.array_equal(tr.einsum("ij->ji", A).to_numpy(), A.to_numpy().T)


def test_a_notation_beside_its_path_is_no_notation_even_after_such_a_call() -> None:
    a, b = tr.ones((2, 3)), tr.ones((3, 4))
    einsum("ij,jk->ik", a, b, optimize="greedy")
    with pytest.raises(SubscriptsError):
        einsum(("ij,jk->ik", "greedy"), a, b)
