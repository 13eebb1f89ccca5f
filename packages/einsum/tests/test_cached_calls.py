"""Calls whose kernel is bound already: the native way gives what the function in Python gives, and keeps nothing."""

from __future__ import annotations

import gc
import pickle
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, BackendError, OutOfMemoryError, ShapeError
from tensor_einsum import Plan, api, einsum, plan
from tensor_einsum.errors import SubscriptsError
from tensor_runtime.errors import ForeignOperandError
from tensor_runtime.tensors.tensor import blank

A = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
Z = tr.tensor([1.0 + 2.0j, 3.0j])


@pytest.fixture
def bound() -> Iterator[Callable[..., None]]:
    """A function that puts a kernel of the test's own under a notation, for one operand like ``A``."""
    cleared = tr.binding_cache.clear

    def bind(kernel: Callable[..., Any], notation: str = "a kernel of this test", count: int = 1) -> None:
        api._calls.insert((notation, *[A._form] * count), (kernel, A._form))

    yield bind
    cleared()


def test_known_operands_go_to_their_kernel_and_nowhere_else(bound: Callable[..., None]) -> None:
    seen: list[tuple[Any, ...]] = []
    for count in (1, 2, 3, 4, 16, 17):

        def kernel(*arrays: Any) -> Any:
            seen.append(arrays)
            return arrays[0]

        bound(kernel, count=count)
        result = einsum("a kernel of this test", *[A] * count)

        assert type(result) is tr.Tensor
        assert (result._form, result._array) == (A._form, A._array)
        assert seen.pop() == (A._array,) * count
    assert not seen


def test_the_first_call_and_all_others_are_equal_with_every_number_of_operands() -> None:
    for count in (1, 2, 3, 5, 16, 17, 40):
        notation = ",".join(["ij"] * count)
        expected = A.to_numpy() ** count
        for _ in range(3):
            assert np.array_equal(einsum(f"{notation}->ij", *[A] * count).to_numpy(), expected)


def test_plans_are_called_with_the_operands_they_were_made_for() -> None:
    found = plan("ij,jk,kl->il", A, A, A)
    expected = np.linalg.matrix_power(A.to_numpy(), 3)
    for _ in range(3):
        assert np.array_equal(found(A, A, A).to_numpy(), expected)
        assert np.array_equal(found(A.T, A.T, A.T).to_numpy(), expected.T)
        assert np.array_equal(Plan.__call__(found, A, A, A).to_numpy(), expected)
        with pytest.raises(ShapeError, match="this plan was made for"):
            found(A, A)
        with pytest.raises(ForeignOperandError, match="found ndarray"):
            found(A, A, A.to_numpy())  # type: ignore[call-overload]
        with pytest.raises(ShapeError, match="operands have shapes none"):
            found()


def test_equal_plans_share_their_kernels_and_others_do_not() -> None:
    one, other = plan("ij,jk->ik", A, A), plan("ij,jk->ki", A, A)
    same = pickle.loads(pickle.dumps(one))
    assert same is not one
    for _ in range(2):
        assert np.array_equal(one(A, A).to_numpy(), same(A, A).to_numpy())
        assert np.array_equal(one(A, A).to_numpy(), other(A, A).to_numpy().T)


def test_a_sliced_plan_is_called_like_any_other() -> None:
    found = plan("ij,jk->ik", A, A).with_slices("j")
    for _ in range(3):
        assert np.array_equal(found(A, A).to_numpy(), A.to_numpy() @ A.to_numpy())


def test_options_are_never_left_out_because_the_operands_are_known() -> None:
    expected = A.to_numpy() @ A.to_numpy()
    for _ in range(3):
        assert np.array_equal(einsum("ij,jk->ik", A, A).to_numpy(), expected)
        assert np.array_equal(einsum("ij,jk->ik", A, A, optimize="greedy").to_numpy(), expected)
        assert np.array_equal(einsum("ij,jk->ik", A, A, alpha=2).to_numpy(), 2 * expected)
        assert np.array_equal(einsum("ij,jk->ik", A, A, optimize="greedy", alpha=2).to_numpy(), 2 * expected)
        assert einsum("i,i->", Z, Z).item() == -12 + 4j
        assert einsum("i,i->", Z, Z, conj=0).item() == 14
        assert einsum("i,i->", Z, Z, conj=0, optimize="greedy").item() == 14
        assert einsum("i,i->", Z, Z, optimize="greedy", conj=0).item() == 14
        assert einsum("i,i->", Z, Z, conj=(0,), optimize=True).item() == 14
        assert np.array_equal(einsum("ij,jk->ik", A, A, memory_limit="1MiB").to_numpy(), expected)
        mantissa, exponent = einsum("ij,jk->ik", A, A, strip_exponent=True)
        assert np.allclose(mantissa.to_numpy() * 10**exponent, expected)


def test_a_value_that_equals_an_accepted_one_is_refused_all_the_same() -> None:
    einsum("i,i->", Z, Z, conj=1)
    with pytest.raises(ArgumentError, match="conj are True"):
        einsum("i,i->", Z, Z, conj=True)
    einsum("i,i->", Z, Z, optimize=False)
    with pytest.raises(tr.TensorError, match="optimize is 0"):
        einsum("i,i->", Z, Z, optimize=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'optimise'; accepted: algebra, alpha"):
        einsum("i,i->", Z, Z, optimise="greedy")  # type: ignore[call-overload]


def test_what_is_no_tensor_is_told_in_the_same_words_before_and_after_such_a_call() -> None:
    def mistakes() -> list[str]:
        found = []
        wrong: list[tuple[Any, ...]] = [
            ("ij,jk->ik", A, A.to_numpy()), ("ij,jk->ik", A, None), ("ij,jk->ik", A), ("ij,jk->ik", A, A, A),
            ("ij,jk->ik",), (["ij", "jk"], A, A), (3, A, A), (A, A), ({}, A, A), (A, [0, 1], [0, 1], A),
        ]  # fmt: skip
        for arguments in wrong:
            with pytest.raises(tr.TensorError) as caught:
                einsum(*arguments)
            found.append(f"{type(caught.value).__name__}: {caught.value}")
        with pytest.raises(TypeError) as missing:
            einsum()  # type: ignore[call-overload]
        return [*found, str(missing.value)]

    tr.binding_cache.clear()
    before = mistakes()
    einsum("ij,jk->ik", A, A)
    assert mistakes() == before
    assert before[-1] == "einsum() missing 1 required positional argument: 'notation'"


def test_a_tensor_that_lost_its_array_is_an_error_and_not_a_crash() -> None:
    x = tr.tensor([1.0, 2.0])
    einsum("i->", x)
    broken = tr.tensor([1.0, 2.0])
    del broken._array
    with pytest.raises(tr.TensorError):
        einsum("i->", broken)
    del broken._form
    with pytest.raises(AttributeError):
        einsum("i->", broken)


class Renamed(tr.Tensor):
    """A tensor with its own idea of where the array is."""

    __slots__ = ()
    raised: BaseException | None = None

    @property
    def _array(self) -> Any:
        if self.raised is not None:
            raise self.raised
        return A._array


def test_subclasses_are_asked_for_their_parts() -> None:
    writable = tr.mutable_view(tr.zeros((2, 2)))
    writable[...] = A
    strange = blank(Renamed)
    strange._form = A._form
    for _ in range(3):
        assert np.array_equal(einsum("ij,jk->ik", writable, writable).to_numpy(), A.to_numpy() @ A.to_numpy())
        assert np.array_equal(einsum("ij,jk->ik", strange, A).to_numpy(), A.to_numpy() @ A.to_numpy())
        assert type(einsum("ij->ji", writable)) is tr.Tensor
    Renamed.raised = KeyboardInterrupt()
    try:
        with pytest.raises(KeyboardInterrupt):
            einsum("ij,jk->ik", strange, A)
    finally:
        Renamed.raised = None


class Text(str):
    """A notation that is a str."""

    __slots__ = ()


def test_notations_that_are_no_plain_text_are_read_as_ever() -> None:
    for _ in range(2):
        assert einsum(Text("ii->"), A).item() == 5.0
        assert einsum("".join(["i", "i", "->"]), A).item() == 5.0
        assert einsum(A, ("x", "x"), ()).item() == 5.0
        assert einsum(A, [0, 0], []).item() == 5.0
        assert einsum("ij,->ij", A, 2).to_numpy().tolist() == [[2.0, 4.0], [6.0, 8.0]]
        with pytest.raises(SubscriptsError):
            einsum(("ii->",), A)


def test_what_a_kernel_raises_becomes_an_error_of_our_tree_with_its_cause(bound: Callable[..., None]) -> None:
    def broken(array: Any) -> Any:
        raise ZeroDivisionError("no")

    def exhausted(array: Any) -> Any:
        raise MemoryError

    def ours(array: Any) -> Any:
        raise ShapeError("said already")

    bound(broken)
    with pytest.raises(BackendError, match=r"^einsum: the backend failed: ZeroDivisionError: no$") as caught:
        einsum("a kernel of this test", A)
    assert type(caught.value.__cause__) is ZeroDivisionError
    assert caught.value.__context__ is caught.value.__cause__
    assert caught.value.__cause__.__traceback__ is not None

    tr.binding_cache.clear()
    bound(exhausted)
    with pytest.raises(OutOfMemoryError, match="not enough memory for the result of 32 bytes or a workspace"):
        einsum("a kernel of this test", A)

    tr.binding_cache.clear()
    bound(ours)
    with pytest.raises(ShapeError, match=r"^said already$") as same:
        einsum("a kernel of this test", A)
    assert same.value.__cause__ is None


def test_an_error_in_a_handler_has_what_is_handled_as_its_context(bound: Callable[..., None]) -> None:
    def ours(array: Any) -> Any:
        raise ShapeError("said already")

    bound(ours)
    handled = RuntimeError()
    try:
        raise handled
    except RuntimeError:
        with pytest.raises(ShapeError) as caught:
            einsum("a kernel of this test", A)
        assert sys.exc_info()[1] is handled
    assert caught.value.__context__ is handled
    assert sys.exc_info() == (None, None, None)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_error_passes_as_it_is(stop: type[BaseException], bound: Callable[..., None]) -> None:
    raised = stop()

    def kernel(array: Any) -> Any:
        raise raised

    bound(kernel)
    with pytest.raises(stop) as caught:
        einsum("a kernel of this test", A)
    assert caught.value is raised
    assert raised.__cause__ is None


def test_a_call_in_a_kernel_finds_its_own_binding(bound: Callable[..., None]) -> None:
    bound(lambda array: einsum("ij,jk->ik", A, A)._array)
    assert einsum("a kernel of this test", A).to_numpy().tolist() == [[7.0, 10.0], [15.0, 22.0]]


def test_a_kernel_may_clear_the_cache_that_it_is_in(bound: Callable[..., None]) -> None:
    class Kernel:
        def __call__(self, array: Any) -> Any:
            tr.binding_cache.clear()
            gc.collect()
            return array

    bound(Kernel())
    assert einsum("a kernel of this test", A)._array is A._array
    with pytest.raises(tr.TensorError):
        einsum("a kernel of this test", A)


def references(*objects: object) -> list[int]:
    gc.collect()
    return [sys.getrefcount(one) for one in objects]


def test_no_call_keeps_a_reference(bound: Callable[..., None]) -> None:
    def broken(*arrays: Any) -> Any:
        raise ZeroDivisionError

    def stopping(*arrays: Any) -> Any:
        raise KeyboardInterrupt

    kernel = np.positive
    broken_binding, form, array = (broken, A._form), A._form, A._array
    strange = blank(Renamed)
    strange._form = form
    half = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
    del half._array
    found = plan("ij,jk->ik", A, A)
    bound(kernel, "good")
    api._calls.insert(("bad", form), broken_binding)
    bound(stopping, "stopping")
    api._calls.insert(("no pair", form), (kernel,))  # type: ignore[arg-type]

    def calls() -> None:
        einsum("good", A)
        einsum("good", strange)
        found(A, A)
        einsum("ij,jk->ik", A, A, optimize="greedy")
        for notation, operand in (
            ("bad", A),
            ("stopping", A),
            ("good", half),
            ("good", None),
            ("good", 2),
            ("no pair", A),
        ):
            try:
                einsum(notation, operand)
            except BaseException:
                continue
            raise AssertionError(notation)
        wrong: list[tuple[Any, ...]] = [(), ("good",), ([], A), ("unknown->", A), ("good", A, A)]
        for arguments in wrong:
            try:
                einsum(*arguments)
            except Exception:
                continue
            raise AssertionError(arguments)

    calls()
    watched = form, array, kernel, broken, broken_binding, strange, half, A, found, None, einsum
    before = references(*watched)
    for _ in range(50):
        calls()
    assert references(*watched) == before


def test_a_long_loop_takes_no_memory() -> None:
    found = plan("ij,jk->ik", A, A)

    def loop(count: int) -> None:
        for _ in range(count):
            einsum("ij,jk->ik", A, A)
            einsum("ij,jk->ik", A, A, optimize="greedy")
            found(A, A)
            try:
                einsum("ij,jk->ik", A, None)
            except tr.TensorError:
                pass

    loop(100)
    gc.collect()
    tracemalloc.start()
    try:
        loop(100)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        loop(5000)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 5000


def test_a_notation_that_claims_to_equal_others_answers_for_no_other() -> None:
    class Liar(str):
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return hash("ij->i")

    x = tr.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert einsum(Liar("ij->j"), x).to_numpy().tolist() == [9.0, 12.0]
    assert einsum("ij->i", x).to_numpy().tolist() == [3.0, 7.0, 11.0]
