"""Tensors are made and die without Python where the extension is there: what is kept for the next one is never seen."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_cpu.call_checks import CHECKED
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.registry import registry
from tensor_runtime.ops import indexing, native_calls
from tensor_runtime.placement import CPU
from tensor_runtime.tensors.tensor import Tensor, TypedTensorViewMut, blank

NATIVE = pytest.mark.skipif(
    not AVAILABLE or CHECKED, reason="no native calls: the extension was not built, or every call is checked"
)
DTYPES = (tr.F32, tr.F64, tr.C32, tr.C64, tr.I32, tr.I64, tr.Bool)
SHAPES = ((), (0,), (1,), (3,), (2, 3), (2, 0, 3), (4, 1, 2), (2, 3, 2, 2), (2, 1, 2, 1, 2), (1000,), (2000,))


@pytest.fixture(autouse=True)
def _cpu_serves() -> None:
    registry.backend_for(CPU)


def test_results_of_any_dtype_and_shape_have_their_own_elements_while_others_die() -> None:
    living: list[tuple[Tensor, np.ndarray[Any, Any]]] = []
    for turn, (shape, dtype) in itertools.product(range(6), itertools.product(SHAPES, DTYPES)):
        expected = np.full(shape, turn % 2 if dtype is tr.Bool else turn)
        made = tr.full(shape, bool(turn % 2) if dtype is tr.Bool else turn, dtype=dtype)
        doubled = made if dtype is tr.Bool else made + made
        living.append((doubled, expected if dtype is tr.Bool else expected * 2))
        if turn % 3 == 2:
            del living[:: 1 + turn % 2]
    for x, expected in living:
        np.testing.assert_array_equal(x.to_numpy(), expected)
        again = np.asarray(x.to_numpy())
        assert again.flags.aligned and x._array.flags.c_contiguous and x._array.dtype == again.dtype


def test_views_made_of_dead_ones_are_as_numpy_makes_them() -> None:
    for dtype, shape in itertools.product(("f4", "f8", "c8", "c16", "i4", "i8", "?"), ((6,), (4, 1), (3, 4, 2))):
        array = np.asfortranarray(np.arange(np.prod(shape)).reshape(shape).astype(dtype))
        x = tr.asarray(array)
        for index in (0, slice(1, None), slice(None, None, -1), None, (..., None, 0), slice(2, 2), (0, ...)):
            for _ in range(3):  # each time the view of the turn before it is dead
                found, expected = x[index].to_numpy(), array[index]
                np.testing.assert_array_equal(found, expected, strict=True)
                view = x[index]._array.T
                assert view.flags.c_contiguous == expected.flags.c_contiguous
                assert view.flags.f_contiguous == expected.flags.f_contiguous
                assert view.flags.aligned and view.flags.writeable and not view.flags.owndata
                assert all(
                    a == b
                    for a, b, extent in zip(view.strides, expected.strides, view.shape, strict=True)
                    if extent > 1
                )


def test_a_view_keeps_its_elements_and_gives_them_up_when_it_dies() -> None:
    array = np.arange(6.0)
    before = sys.getrefcount(array)
    view = tr.asarray(array)[2:][1:]
    assert view._array.base is array
    assert view.tolist() == [3.0, 4.0, 5.0]
    del view
    assert sys.getrefcount(array) == before


def test_views_of_arrays_that_may_not_be_written_may_not_be_written_either() -> None:
    fixed = np.arange(4.0)
    fixed.flags.writeable = False
    open_to_all = np.arange(4.0)
    for _ in range(3):
        assert not tr.asarray(fixed)[1:]._array.flags.writeable
        assert tr.asarray(open_to_all)[1:]._array.flags.writeable


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", "i8", "?"])
def test_views_are_aligned_wherever_numpy_says_so(dtype: str) -> None:
    for start in (0, 1, 4, 8, 12):
        array = np.zeros(20 * 16 + start, "u1")[start:].view(dtype)
        for index in (slice(1, None), slice(None, None, 3), slice(3, 4), slice(2, 2)):
            for _ in range(3):
                view = indexing.getitem(tr.asarray(array), index)._array
                assert view.flags.aligned == array[index].flags.aligned or not np.shares_memory(view, array)


def test_arrays_that_somebody_holds_are_not_written_over() -> None:
    for hold in (
        lambda x: x.to_numpy(),
        lambda x: memoryview(x._array),
        lambda x: x._array.T,
        lambda x: x[1:],
        lambda x: weakref.ref(x._array),
        lambda x: np.from_dlpack(x),
    ):
        x = tr.tensor([1.0, 2.0, 3.0])
        held: Any = hold(x)
        del x
        others = [tr.tensor([7.0, 8.0, 9.0]) for _ in range(8)]
        assert len(others) == 8
        if isinstance(held, weakref.ref):
            assert held() is None
        else:
            assert np.asarray(held.to_numpy() if isinstance(held, Tensor) else held)[-1] == 3.0


def test_an_array_that_a_buffer_was_taken_of_is_forgotten() -> None:
    x = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert memoryview(x._array).shape == (2, 2)
    del x
    for shape in ((4,), (2, 2), (1, 4)):
        assert memoryview(tr.zeros(shape)._array).shape == shape[::-1]


def test_weak_references_to_tensors_end_with_them() -> None:
    seen: list[int] = []
    x = tr.zeros(3)
    reference = weakref.ref(x, lambda _: seen.append(1))
    del x
    assert reference() is None and seen == [1]
    again = tr.zeros(3)  # perhaps the same object
    assert reference() is None and weakref.ref(again)() is again


@NATIVE
def test_dead_tensors_come_back_as_new_ones() -> None:
    x = tr.zeros(3)
    numbers = set()
    for turn in range(10):
        made = x + turn
        assert type(made) is Tensor and made.tolist() == [float(turn)] * 3 and gc.is_tracked(made)
        numbers.add(id(made))
        del made
    assert len(numbers) < 10


def test_a_subclass_of_the_class_of_tensors_dies_as_its_own() -> None:
    ended: list[str] = []

    class Named(Tensor):
        """With a dictionary, and a finalizer."""

        name: str

        def __del__(self) -> None:
            ended.append(self.name)

    made: Any = blank(Named)
    x = tr.zeros(2)
    made._form, made._array, made.name = x._form, x._array, "one"
    reference = weakref.ref(made)
    before = sys.getrefcount(Named)
    del made
    assert ended == ["one"] and reference() is None
    assert sys.getrefcount(Named) == before - 1
    assert x.tolist() == [0.0, 0.0]


def test_tensors_in_cycles_are_found_by_the_garbage_collector() -> None:
    class Linked(Tensor):
        """With a dictionary."""

    made: Any = blank(Linked)
    x = tr.zeros(2)
    made._form, made._array, made.itself = x._form, x._array, made
    reference = weakref.ref(made)
    del made
    gc.collect()
    assert reference() is None


def test_tensors_without_form_or_array_die_too() -> None:
    for _ in range(3):
        for kind in (Tensor, TypedTensorViewMut):
            made = blank(kind)
            reference = weakref.ref(made)
            del made
            assert reference() is None


@NATIVE
def test_what_is_kept_is_given_back_when_the_pool_is_cleared() -> None:
    made = [tr.full((900,), float(k)) for k in range(20)]
    views = [x[1:] for x in made]
    assert views[3].tolist()[0] == 3.0
    del made, views
    LIBRARY.allocator_clear()
    assert (tr.ones(900)[1:] + 1.0).tolist() == [2.0] * 899


def test_tensors_made_and_dropped_by_several_threads_are_right() -> None:
    wrong: list[Any] = []

    def work(number: int) -> None:
        x = tr.full((5,), float(number))
        for turn in range(400):
            parts = [row + turn for row in tr.tensor([[number, 1.0], [2.0, turn]])]
            if (x * 2 + turn).tolist() != [2.0 * number + turn] * 5 or parts[0].tolist() != [number + turn, 1.0 + turn]:
                wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@NATIVE
def test_slots_of_the_class_follow_its_attributes() -> None:
    x = tr.tensor([[1.0, 2.0]])
    letters: Any = "ab"
    try:
        Tensor.__len__ = lambda self: 77  # type: ignore[method-assign]
        Tensor.__getitem__ = lambda self, index: index  # type: ignore[method-assign]
        Tensor.__iter__ = lambda self: iter(letters)  # type: ignore[method-assign]
        assert len(x) == len(x.mutable_view()) == 77
        assert x["any"] == "any" and list(x) == ["a", "b"]
        native_calls.serve(CPU, None)
        assert Tensor.__getitem__ is indexing.getitem
        assert len(x) == 1 and x[0, 1].item() == 2.0 and [row.tolist() for row in x] == [[1.0, 2.0]]
        assert isinstance(vars(Tensor)["dtype"], property) and x.dtype is tr.F64
    finally:
        native_calls.serve(CPU, registry.backend_for(CPU))
    assert len(x) == 1 and x[0].tolist() == [1.0, 2.0] and type(iter(x)).__name__ == "Rows"
    assert not isinstance(vars(Tensor)["dtype"], property) and x.dtype is tr.F64


def test_a_subclass_may_answer_for_itself() -> None:
    class Longer(Tensor):
        """Of another length."""

        def __len__(self) -> int:
            return 5

        def __getitem__(self, index: Any, /) -> Any:
            return "mine"

    made: Any = blank(Longer)
    x = tr.zeros(2)
    made._form, made._array = x._form, x._array
    assert len(made) == 5 and made[0] == "mine" and made.shape == (2,) and made.dtype is tr.F64
