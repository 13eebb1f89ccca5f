"""Native calls of rows, axes, attributes and counts: what NumPy gives, and the errors of the functions in Python."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from inspect import unwrap
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.errors import TensorError
from tensor_cpu.call_checks import CHECKED
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.backends.registry import registry
from tensor_runtime.ops import arrangement, gather_scatter, joining, methods, native_calls, selecting, views
from tensor_runtime.placement import CPU
from tensor_runtime.tensors.tensor import Tensor, blank

NATIVE = pytest.mark.skipif(
    not AVAILABLE or CHECKED, reason="no native calls: the extension was not built, or every call is checked"
)
DTYPES = ("F32", "F64", "C32", "C64", "I32", "I64", "Bool")


@pytest.fixture(autouse=True)
def _cpu_serves() -> None:
    registry.backend_for(CPU)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Tensor, np.ndarray[Any, Any]]:
    """A tensor of any dtype, rank up to 4, extents from 0, and any strides; and NumPy's array of the same elements."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    size = int(np.prod(shape, dtype=int))
    dtype = draw(st.sampled_from(DTYPES))
    x = tr.cast(tr.from_flat([k % 3 for k in range(size)], shape), dtype)
    for step in draw(st.lists(st.sampled_from(("transpose", "skip", "repeat")), max_size=2)):
        if step == "transpose":
            x = x.T
        elif step == "skip" and x.rank:
            x = x[:: draw(st.sampled_from((2, -1)))]
        elif step == "repeat":
            x = tr.broadcast_to(x, (2, *x.shape))
    return x, x.to_numpy()


def outcome(call: Callable[..., Any], /, *arguments: Any) -> Any:
    """What a call gives, to be compared: forms and elements of tensors, or the error."""
    try:
        result = call(*arguments)
    except (TensorError, TypeError) as error:
        return type(error), str(error)
    if isinstance(result, tuple):
        return [outcome(lambda one=one: one) for one in result]
    if isinstance(result, Tensor):
        return type(result), result._form, repr(result.to_numpy().tolist()), result._array.flags.writeable
    return type(result), repr(result)


@given(pairs())
def test_iteration_gives_the_rows_of_numpy(pair: tuple[Tensor, np.ndarray[Any, Any]]) -> None:
    x, array = pair
    if x.rank == 0:
        with pytest.raises(TensorError, match="rank 0"):
            iter(x)
        return
    for _ in range(2):  # the second time the form is known
        rows = [*x]
        assert len(rows) == len(array) == len(x)
        for row, expected in zip(rows, array, strict=True):
            np.testing.assert_array_equal(row.to_numpy(), expected, strict=True)
            assert row.size == 0 or np.shares_memory(row._array, x._array)
            assert row._form is x[0]._form
    if 0 not in x.strides:
        assert all(type(row) is type(x.mutable_view()) for row in x.mutable_view())


def test_an_iterator_keeps_what_it_runs_over_and_ends_once() -> None:
    x = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
    rows = iter(x[:, :1])
    assert operator.length_hint(rows, 2) == 2
    del x
    assert [row.tolist() for row in rows] == [[1.0], [3.0]]
    assert next(rows, "end") == next(rows, "end") == "end"
    assert iter(rows) is rows


def test_elements_written_while_rows_are_made_are_seen_in_them() -> None:
    x = tr.zeros((3, 2)).mutable_view()
    for place, row in enumerate(x):
        row[...] = float(place)
        x[2] = 9.0
    assert x.tolist() == [[0.0, 0.0], [1.0, 1.0], [9.0, 9.0]]


@given(pairs(), st.integers(-5, 5))
def test_unstacked_views_are_those_along_the_axis(pair: tuple[Tensor, np.ndarray[Any, Any]], axis: int) -> None:
    x, array = pair
    for _ in range(2):
        assert outcome(tr.unstack, x, axis) == outcome(unwrap(arrangement._unstack), x, axis)
    if -x.rank <= axis < x.rank:
        for found, expected in zip(tr.unstack(x, axis), np.moveaxis(array, axis, 0), strict=True):
            np.testing.assert_array_equal(found.to_numpy(), expected, strict=True)


@settings(max_examples=60)
@given(pairs(), st.none() | st.integers(-5, 5) | st.lists(st.integers(-4, 4), max_size=3).map(tuple))
def test_axes_left_out_put_in_and_turned_are_those_of_numpy(
    pair: tuple[Tensor, np.ndarray[Any, Any]], axis: Any
) -> None:
    x, array = pair
    for call, python, numpys in (
        (tr.squeeze, unwrap(views._squeeze), np.squeeze),
        (tr.expand_dims, unwrap(views._expand_dims), np.expand_dims),
        (tr.reverse, unwrap(joining._reverse), np.flip),
    ):
        for _ in range(2):
            found = outcome(call, x, axis)
            assert found == outcome(python, x, axis)
        if isinstance(found[0], type) and issubclass(found[0], Tensor):
            made: Any = call(x, axis)  # type: ignore[operator]
            np.testing.assert_array_equal(made.to_numpy(), numpys(array, axis), strict=True)
            assert made.size == 0 or np.shares_memory(made._array, x._array)


def test_axes_that_are_no_ints_are_refused_as_python_refuses_them() -> None:
    x = tr.zeros((1, 2))
    for axis in (True, 1.5, "x", [0], [0, 0], (0, -2), 2**70, [True], (None,)):
        for call, python in ((tr.squeeze, unwrap(views._squeeze)), (tr.expand_dims, unwrap(views._expand_dims))):
            assert outcome(call, x, axis) == outcome(python, x, axis)
        assert outcome(tr.unstack, x, axis) == outcome(unwrap(arrangement._unstack), x, axis)
        assert outcome(tr.reverse, x, axis) == outcome(unwrap(joining._reverse), x, axis)
    for call in (tr.squeeze, tr.unstack, tr.nonzero, tr.count_nonzero, tr.reverse):
        assert outcome(call, [1, 2])[0] is not tuple
        with pytest.raises(TensorError):
            call([1, 2])  # type: ignore[operator]


@given(pairs())
def test_what_is_not_zero_is_counted_and_found_as_by_numpy(pair: tuple[Tensor, np.ndarray[Any, Any]]) -> None:
    x, array = pair
    for _ in range(2):
        count = tr.count_nonzero(x)
        assert (count.dtype, count.shape, count.item()) == (tr.I64, (), np.count_nonzero(array))
        assert outcome(tr.count_nonzero, x) == outcome(unwrap(selecting._count_nonzero), x)
        if x.rank:
            for found, expected in zip(tr.nonzero(x), np.nonzero(array), strict=True):
                np.testing.assert_array_equal(found.to_numpy(), expected, strict=True)
                assert found.is_compact
        assert outcome(tr.nonzero, x) == outcome(unwrap(gather_scatter._nonzero), x)


def test_nan_is_not_zero_and_minus_zero_is() -> None:
    for dtype in ("F32", "F64", "C32", "C64"):
        x = tr.cast(tr.tensor([np.nan, -0.0, 0.0, 1e-45, np.inf]), dtype)
        assert tr.count_nonzero(x).item() == 3 and tr.nonzero(x)[0].tolist() == [0, 3, 4]
    x = tr.tensor([1j, 0j, complex(0, np.nan), complex(-0.0, -0.0)])
    assert tr.count_nonzero(x).item() == 2 and tr.nonzero(x)[0].tolist() == [0, 2]
    odd = tr.asarray(np.array([0, 2, 255], np.uint8).view(bool))
    assert tr.count_nonzero(odd).item() == 2 and tr.nonzero(odd)[0].tolist() == [1, 2]


def test_many_elements_are_counted_and_found_too() -> None:
    array = np.arange(9000) % 3
    x = tr.asarray(array)
    assert tr.count_nonzero(x).item() == 6000
    np.testing.assert_array_equal(tr.nonzero(x)[0].to_numpy(), np.nonzero(array)[0])
    assert tr.count_nonzero(x, axis=0, keepdims=True).tolist() == [6000]
    assert tr.count_nonzero(x, out=tr.zeros((), dtype="I64")).item() == 6000


@given(pairs())
def test_nested_lists_and_attributes_are_those_of_numpy(pair: tuple[Tensor, np.ndarray[Any, Any]]) -> None:
    x, array = pair
    assert repr(x.tolist()) == repr(array.tolist())
    assert outcome(x.tolist) == outcome(methods.tolist, x)
    assert (x.shape, x.ndim, x.rank, x.size) == (array.shape, array.ndim, array.ndim, array.size)
    assert x.shape is x._form.shape and x.dtype is x._form.dtype and x.strides is x._form.strides
    assert x.placement is CPU
    if x.rank >= 2:
        for _ in range(2):
            np.testing.assert_array_equal(x.mT.to_numpy(), np.swapaxes(array, -1, -2), strict=True)
    else:
        with pytest.raises(TensorError):
            x.mT
    if x.rank:
        assert len(x) == len(array)
    else:
        with pytest.raises(TypeError, match="rank 0"):
            len(x)


@NATIVE
def test_attributes_are_answered_natively_and_documented_as_before() -> None:
    kinds = {
        type(vars(Tensor)[name]).__name__ for name in ("dtype", "shape", "strides", "placement", "rank", "T", "mT")
    }
    assert kinds == {"getset_descriptor"}
    for name in ("dtype", "size", "ndim", "T"):
        attribute = vars(Tensor)[name]
        original = methods.METHODS.get(name)
        assert attribute.__name__ == name and attribute.__doc__
        assert original is None or attribute.__doc__ == original.__doc__
    with pytest.raises(AttributeError):
        tr.zeros(2).dtype = tr.F32  # type: ignore[misc]
    broken: Any = blank(Tensor)
    for ask in (lambda: broken.dtype, lambda: broken.rank, lambda: len(broken), lambda: iter(broken)):
        with pytest.raises(AttributeError):
            ask()


@NATIVE
def test_calls_that_cannot_be_attributes_or_slots_say_so_or_do_nothing() -> None:
    backend: Any = registry.backend_for(CPU)
    call = backend.native_call("zeros", lambda *_: None, native_calls._PARTS)
    assert call.take_slot() is None and len(tr.zeros(3)) == 3
    for arguments in ((), ("name",), ("name", 3), (3, "text")):
        with pytest.raises(TypeError, match="as_attribute"):
            call.as_attribute(*arguments)
    x = tr.zeros(2)
    assert len([*x]) == 2 and type(iter(x)).__name__ == "Rows"
    with pytest.raises(TypeError):
        type(iter(x))()


def test_results_go_to_outputs_as_they_do_without_one() -> None:
    x, y = tr.tensor([1.0, 2.0, 3.0]), tr.tensor([4.0, 5.0, 6.0])
    for owned, view in itertools.product((False, True), (False, True)):
        out = tr.zeros(3) if owned else tr.zeros(6)[::2].mutable_view()
        out = out.mutable_view() if view else out
        assert tr.add(x, y, out=out) is out and out.tolist() == [5.0, 7.0, 9.0]
        assert tr.maximum(x, 2, out=out) is out and out.tolist() == [2.0, 2.0, 3.0]
        assert tr.where(tr.tensor([False, True, False]), x, y, out=out) is out
        assert out.tolist() == [4.0, 2.0, 6.0]
        assert tr.negative(x, out=out).tolist() == [-1.0, -2.0, -3.0]
        assert tr.cumsum(x, 0, out=out).tolist() == [1.0, 3.0, 6.0]
    with pytest.raises(TensorError):
        tr.add(x, y, out=tr.zeros(4))
    with pytest.raises(TensorError):
        tr.add(x, y, out=x[::-1])
    with pytest.raises(TensorError):
        tr.add(x, y, out=[0.0] * 3)  # type: ignore[call-overload]
    whole = tr.zeros(3)
    assert tr.add(whole, x, out=whole) is whole and whole.tolist() == [1.0, 2.0, 3.0]
