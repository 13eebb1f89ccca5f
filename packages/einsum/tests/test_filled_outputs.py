"""An output of just the result's form: the kernel of a contraction writes there at once, to the bits of a fresh one."""

from __future__ import annotations

import signal
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    BackendError,
    OutOfMemoryError,
    OverlappingViewError,
    ReadOnlyError,
    ShapeError,
)
from tensor_cpu.call_checks import CHECKED
from tensor_cpu.system.extension import AVAILABLE
from tensor_cpu.system.memory import pool
from tensor_einsum import api, einsum, plan
from tensor_einsum.execution import memory
from tensor_einsum.plans import calls as plan_calls
from tensor_runtime.algebras import MAX_PLUS
from tensor_runtime.tensors.tensor import Tensor

NATIVE = pytest.mark.skipif(
    not AVAILABLE or CHECKED, reason="no native calls: the extension was not built, or every call is checked"
)
NETWORKS: dict[str, list[tuple[int, ...]]] = {
    "ij,jk->ik": [(3, 4), (4, 5)],
    "ij,kj->ki": [(70, 40), (50, 40)],
    "i,j->ij": [(300,), (200,)],
    "abc,cab->bca": [(20, 30, 8), (8, 20, 30)],
    "ij->ji": [(30, 40)],
    "ij->i": [(30, 40)],
    "i->ii": [(9,)],
    "ij,jk,kl->il": [(6, 6), (6, 6), (6, 6)],  # steps of one form, so of one kernel
    "ij,jk,kl,lm->im": [(60, 60), (60, 60), (60, 60), (60, 60)],
    "ab,bc,cd,de->ae": [(200, 300), (300, 5), (5, 300), (300, 250)],
    "ij,jk,ki->": [(4, 5), (5, 6), (6, 4)],
    "i,i->": [(7,), (7,)],
    "ij,jk->ki": [(2, 0), (0, 3)],
}


def operands_of(notation: str, dtype: str, seed: int = 0) -> list[Tensor]:
    rng = np.random.default_rng(seed)
    return [tr.cast(tr.asarray(rng.integers(-4, 5, shape)), dtype) for shape in NETWORKS[notation]]


@pytest.mark.parametrize("dtype", ["F64", "F32", "C64", "I64", "Bool"])
@pytest.mark.parametrize("notation", NETWORKS)
def test_it_gets_the_bits_of_a_fresh_result(notation: str, dtype: str) -> None:
    operands = operands_of(notation, dtype)
    before = [one.to_numpy().tobytes() for one in operands]
    expected = einsum(notation, *operands)
    found = plan(notation, *operands)
    calls: list[Any] = [lambda **o: einsum(notation, *operands, **o), lambda **o: found(*operands, **o)]
    for call in calls:
        for _ in range(2):  # not bound yet, and bound
            out = tr.copy(tr.zeros(expected.shape, dtype=expected.dtype))
            assert call(out=out) is out
            assert out.to_numpy().tobytes() == expected.to_numpy().tobytes()
    assert [one.to_numpy().tobytes() for one in operands] == before


@NATIVE
@pytest.mark.parametrize("notation", ["ij,kj->ki", "i,j->ij", "abc,cab->bca", "ab,bc,cd,de->ae", "ij,jk,kl->il"])
def test_nothing_is_finished_where_the_kernel_writes_there(notation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: Any) -> Any:
        raise AssertionError

    operands = operands_of(notation, "F64")
    expected = einsum(notation, *operands)
    found = plan(notation, *operands)
    monkeypatch.setattr(api, "Accumulation", refused)
    monkeypatch.setattr(plan_calls, "Accumulation", refused)
    rows, columns = expected.shape[0], expected.shape[1:]
    wide = tr.zeros((rows, *columns, 2))
    for out in (tr.zeros(expected.shape), wide[..., 1].mutable_view()):
        assert einsum(notation, *operands, out=out) is found(*operands, out=out, alpha=1, beta=0.0) is out
        np.testing.assert_array_equal(out.to_numpy(), expected.to_numpy())
    assert not wide[..., 0].to_numpy().any()
    out, wider = tr.zeros(expected.shape), tr.zeros((*expected.shape, 1))
    with pytest.raises(AssertionError):
        einsum(notation, *operands, out=out, alpha=2.0)
    with pytest.raises(AssertionError):
        einsum(notation, *operands, out=out, beta=2)
    with pytest.raises(AssertionError):
        einsum(notation, *operands, out=wider)


@pytest.mark.parametrize("dtype", ["F64", "F32", "C64", "I64", "I32"])
@pytest.mark.parametrize("notation", NETWORKS)
def test_it_is_added_to_what_was_there(notation: str, dtype: str) -> None:
    operands = operands_of(notation, dtype)
    expected = einsum(notation, *operands)
    found = plan(notation, *operands)
    former = tr.cast(tr.asarray(np.random.default_rng(1).integers(-9, 10, expected.shape)), expected.dtype)
    calls: list[Any] = [lambda **o: einsum(notation, *operands, **o), lambda **o: found(*operands, **o)]
    for call in calls:
        for beta in (1, 1, True, 1.0 if dtype[0] in "FC" else 1):
            out = tr.copy(former)
            assert call(out=out, beta=beta) is out
            np.testing.assert_array_equal(out.to_numpy(), expected.to_numpy() + former.to_numpy())


@NATIVE
def test_a_small_result_is_added_without_a_look_at_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: Any) -> Any:
        raise AssertionError

    x, y, out = tr.uniform((5, 6), seed=1), tr.uniform((6, 7), seed=2), tr.ones((5, 7))
    found = plan("ij,jk->ik", x, y)
    einsum("ij,jk->ik", x, y, out=out, beta=1)
    monkeypatch.setattr(api, "Accumulation", refused)
    monkeypatch.setattr(plan_calls, "Accumulation", refused)
    einsum("ij,jk->ik", x, y, out=out, beta=1)
    found(x, y, out=out, alpha=1.0, beta=1.0)
    np.testing.assert_allclose(out.to_numpy(), 1 + 3 * (x.to_numpy() @ y.to_numpy()), rtol=1e-14)
    large = tr.zeros((400, 700))
    for other in (x, x[:], tr.zeros((5, 7), dtype="C64"), tr.zeros((7, 5)).mutable_view().T, large):
        with pytest.raises(AssertionError):
            einsum("ij,jk->ik", x, y, out=other, beta=1)


@NATIVE
def test_no_second_result_is_allocated() -> None:
    x, y = tr.uniform((1500,), seed=1), tr.uniform((1500,), seed=2)
    out = einsum("i,j->ij", x, y)
    pool.clear()
    before = pool.stats()
    einsum("i,j->ij", x, y, out=out)
    plan("i,j->ij", x, y)(x, y, out=out)
    after = pool.stats()
    assert (after.misses, after.kept_bytes) == (before.misses, before.kept_bytes)


@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from(["ij,jk->ik", "ij,ij->ij", "ij,ji->ij", "ij->ji"]))
def test_an_output_that_meets_an_operand_is_as_if_that_had_been_copied_or_refused(
    first: int, second: int, notation: str
) -> None:
    numbers = np.arange(60.0) % 7
    lent = tr.asarray(numbers)
    x: Tensor
    x, out = lent[first : first + 16].reshape(4, 4), lent[second : second + 16].reshape(4, 4).mutable_view()
    operands = [x] if "," not in notation else [x, tr.asarray(np.arange(16.0).reshape(4, 4))]
    expected, before = einsum(notation, *operands).to_numpy().copy(), numbers.copy()
    if first != second and abs(first - second) < 16:
        for beta in (0, 1):
            with pytest.raises(OverlappingViewError):
                einsum(notation, *operands, out=out, beta=beta)
        assert np.array_equal(numbers, before)
        return
    einsum(notation, *operands, out=out)
    assert np.array_equal(out.to_numpy(), expected)
    before[second : second + 16] = expected.ravel(order="F")
    assert np.array_equal(numbers, before)


def test_what_may_not_be_written_is_refused_each_time() -> None:
    x = tr.uniform((3, 3), seed=1)
    frozen = np.zeros((3, 3), order="F")
    frozen.flags.writeable = False
    target = tr.zeros((3, 3))
    for _ in range(3):
        for out in (tr.asarray(frozen), target[:], target.T.T):
            for beta in (0, 1):
                with pytest.raises(ReadOnlyError, match="einsum: out"):
                    einsum("ij,jk->ik", x, x, out=out, beta=beta)
        with pytest.raises(ShapeError):
            einsum("ij,jk->ik", x, x, out=tr.zeros((3, 2)))
    assert not frozen.any()
    assert not target.to_numpy().any()


def test_the_memory_is_asked_for_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_UNCHECKED", 0)
    monkeypatch.setattr(memory, "_UNCHECKED_ON_DEVICES", 0)
    x, y, out = tr.uniform((31,), seed=1), tr.uniform((37,), seed=2), tr.zeros((31, 37))
    assert einsum("i,j->ij", x, y, out=out) is out
    assert out.to_numpy().any()
    out.mutable_view()[...] = 0.0
    monkeypatch.setattr(memory, "usable_bytes", lambda home: 100)
    with pytest.raises(OutOfMemoryError):
        einsum("i,j->ij", x, y, out=out)
    with pytest.raises(OutOfMemoryError):
        plan("i,j->ij", x, y)(x, y, out=out)
    assert not out.to_numpy().any()


@NATIVE
def test_explain_tells_of_a_copy_to_the_output_where_one_is_made() -> None:
    x, y = tr.uniform((70, 60), seed=1), tr.uniform((60, 50), seed=2)
    other = tr.zeros((70, 50), dtype="C64")

    def told(notation: str, *given: Tensor, **options: Any) -> list[str]:
        def into(*operands: Tensor) -> Tensor:
            *read, out = operands
            return einsum(notation, *read, out=out, **options)

        return [one.operation for one in tr.explain(into, *given) if one.operation != "mutable_view"]

    out, square = tr.zeros((70, 50)), tr.ones((50, 50))
    assert told("ij,jk->ik", x, y, out) == ["contract"]
    assert told("ij,jk->ik", x, y, out, beta=1) == ["contract", "add"]
    assert told("ij,jk->ik", x, y, other)[-1] == "copy_into"
    assert told("ij,jk,kl->il", x, y, square, out) == ["contract", "contract"]
    assert told("ij,jk,kl->il", x, y, square, out, memory_limit="29 kB")[-1] == "copy_into"  # in slices
    assert [one.operation for one in tr.explain(lambda a: einsum("ij,jk->ik", a, a, out=a), square)] == [
        "mutable_view",
        "contract",
        "copy_into",
    ]  # an operand


def test_a_beta_is_for_ordinary_sums_alone() -> None:
    x = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
    found, out = plan("ij,jk->ik", x, x, algebra=MAX_PLUS), tr.ones((2, 2))
    for beta in (1, 2):
        for _ in range(2):
            with pytest.raises(ArgumentError, match="in plus_times alone"):
                einsum("ij,jk->ik", x, x, out=out, beta=beta, algebra=MAX_PLUS)
            with pytest.raises(ArgumentError, match="in plus_times alone"):
                found(x, x, out=out, beta=beta)
    assert out.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert einsum("ij,jk->ik", x, x, out=out, algebra=MAX_PLUS).tolist() == [[5.0, 6.0], [7.0, 8.0]]


def test_what_stops_a_sequence_of_steps_is_raised_at_once() -> None:
    """Four products, each some milliseconds, of which a signal stops the first ones."""
    x = tr.uniform((700, 700), seed=1)
    notation, operands = "ab,bc,cd,de,ef,fg->ag", [x] * 6
    out = tr.zeros((700, 700))
    expected = einsum(notation, *operands, out=out).to_numpy().copy()
    out.mutable_view()[...] = 0.0

    class StoppedError(Exception):
        """Raised by a handler."""

    def stop(*_: object) -> None:
        raise StoppedError

    def contract_often() -> None:
        for _ in range(100):
            einsum(notation, *operands, out=out)

    former = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        with pytest.raises((BackendError, StoppedError)):  # the second one between two calls
            contract_often()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert np.array_equal(einsum(notation, *operands, out=out).to_numpy(), expected)


def test_a_handler_that_runs_the_same_plan_gets_a_result_of_its_own() -> None:
    x, y = tr.uniform((500, 500), seed=1), tr.uniform((500, 500), seed=2)
    found = plan("ab,bc,cd,de->ae", x, x, x, x)
    ours, others = found(x, x, x, x), found(y, y, y, y)
    got: list[Tensor] = []
    former = signal.signal(signal.SIGALRM, lambda *_: got.append(found(y, y, y, y)))
    out = tr.zeros((500, 500))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        while not got:
            found(x, x, x, x, out=out)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert np.array_equal(out.to_numpy(), ours.to_numpy())
    assert np.array_equal(got[0].to_numpy(), others.to_numpy())
    assert not np.shares_memory(got[0].to_numpy(), out.to_numpy())


@NATIVE
def test_references_stay_as_they_are() -> None:
    operands = operands_of("ij,jk,kl->il", "F64")
    out = tr.zeros((6, 6))
    found = plan("ij,jk,kl->il", *operands)
    objects = [out, out._array, out._form, *operands, *[one._array for one in operands]]

    def run() -> None:
        for _ in range(50):
            einsum("ij,jk,kl->il", *operands, out=out)
            found(*operands, out=out)

    run()
    counts = [sys.getrefcount(one) for one in objects]
    run()
    assert [sys.getrefcount(one) for one in objects] == counts
