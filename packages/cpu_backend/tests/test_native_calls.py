"""Native calls: the same views, tensors, numbers and errors as the functions in Python that they stand for."""

from __future__ import annotations

import gc
import inspect
import sys
import tracemalloc
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
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.backends.registry import registry
from tensor_runtime.ops import creation, host_data, indexing, methods, native_calls, random, ranges, views
from tensor_runtime.placement import CPU
from tensor_runtime.tensors.tensor import Tensor, blank

NATIVE = pytest.mark.skipif(
    not AVAILABLE or CHECKED, reason="no native calls: the extension was not built, or every call is checked"
)
NAMES = ["reversed_axes", "transposed", "reshape", "item", "getitem", "setitem", "bool", "int", "float", "complex"]
NAMES += ["to_numpy", "tensor", "asarray", "zeros", "ones", "full", "empty", "array_equal", "eye", "arange", "linspace"]
NAMES += [
    "isin",
    "uniform",
    "normal",
    "integers",
    "length",
    "iterate",
    "unstack",
    "tolist",
    "matrices_transposed",
    "squeeze",
]
NAMES += [
    "expand_dims",
    "reverse",
    "count_nonzero",
    "nonzero",
    "dtype",
    "shape",
    "strides",
    "placement",
    "rank",
    "size",
]
NAMES += ["unary_into", "binary_into", "ternary_into", "params_into", "several_into"]
NAMES += [f"execute_{kind}" for kind in ("unary", "binary", "mixed", "ternary", "with_params", "pair", "several")]
NAMES += ["execute_parts", "execute_many"]
DTYPES = ["F32", "F64", "C32", "C64", "I32", "I64", "Bool"]


@pytest.fixture(autouse=True)
def _cpu_serves() -> None:
    registry.backend_for(CPU)


_BORROWED: list[Any] = []
"""What results may share memory with, besides the arguments of calls."""


def outcome(call: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
    """What a call gives, to be compared: everything about a tensor or an array, or the error."""
    try:
        result = call(*arguments, **options)
    except (TensorError, TypeError) as error:
        return type(error), str(error)
    if isinstance(result, Tensor):
        held = [one._array if isinstance(one, Tensor) else one for one in (*arguments, *_BORROWED)]
        shared = any(isinstance(one, np.ndarray) and np.may_share_memory(one, result._array) for one in held)
        told = result._array.__array_interface__["data"][0] if shared else "fresh"
        elements = repr(np.asarray(result._array).tolist())
        return type(result), result._form, elements, told, result._array.flags.writeable
    if isinstance(result, np.ndarray):
        return result.shape, result.strides, result.tolist(), result.flags.writeable, result.ctypes.data
    return type(result), repr(result)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Of any dtype, rank up to 4, extents from 0, and any strides."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    dtype = draw(st.sampled_from(DTYPES))
    x = tr.cast(tr.from_flat(range(int(np.prod(shape, dtype=int))), shape), dtype)
    for step in draw(st.lists(st.sampled_from(("transpose", "reverse", "skip", "repeat", "write")), max_size=3)):
        if step == "transpose":
            x = tr.transpose(x, tuple(draw(st.permutations(range(x.rank)))))
        elif step == "reverse" and x.rank:
            x = tr.reverse_view(x, draw(st.integers(0, x.rank - 1)))
        elif step == "skip" and x.rank:
            x = indexing.getitem(x, slice(draw(st.integers(0, 2)), None, draw(st.sampled_from((2, 3, -1, -2)))))
        elif step == "repeat":
            x = tr.broadcast_to(x, (2, *x.shape))
    return x.mutable_view() if draw(st.booleans()) and 0 not in x.strides else x


bounds = st.none() | st.integers(-6, 6) | st.sampled_from((10**30, -(10**30), 2**31, True))
items = st.one_of(
    st.integers(-5, 5),
    st.builds(slice, bounds, bounds, st.none() | st.integers(-3, 3) | st.sampled_from((10**30, -(2**40)))),
    st.none(),
    st.just(Ellipsis),
    st.sampled_from((10**30, "text", 1.5)),
)


@NATIVE
@settings(max_examples=60)
@given(tensors(), items | st.lists(items, max_size=6).map(tuple))
def test_any_index_gives_the_view_or_the_error_that_python_gives(x: Tensor, index: Any) -> None:
    _BORROWED[:] = [x]
    for _ in range(2):  # the second time its form is known
        assert outcome(lambda: x[index]) == outcome(indexing.getitem, x, index)


@NATIVE
@settings(max_examples=60)
@given(tensors(), items | st.lists(items, max_size=4).map(tuple), st.sampled_from((*range(12),)))
def test_what_is_written_through_a_view_is_what_python_writes(x: Tensor, index: Any, chosen: int) -> None:
    if 0 in x.strides:
        x = tr.copy(x)
    values: list[Any] = [True, 3, -(2**31), 2**31, 2**60 + 1, 10**30, 0.5, -0.0, 1e300, float("nan"), 2 - 3j, x]

    def written(call: Callable[..., Any]) -> Any:
        copied = tr.copy(tr.reverse_view(x, tuple(range(x.rank))))  # strides of either sign, and rows beside it
        view = tr.reverse_view(copied, tuple(range(x.rank))).mutable_view()
        value = values[chosen] if chosen < 11 else tr.copy(view)
        found = outcome(call, view, index, value)
        return found, repr(copied.to_numpy().tolist())

    assert written(lambda view, index, value: view.__setitem__(index, value)) == written(indexing.setitem)


@NATIVE
def test_elements_written_over_themselves_are_copied_first() -> None:
    x = tr.tensor([1.0, 2.0, 3.0, 4.0])
    view = x.mutable_view()
    view[1:] = view[:-1]
    assert x.to_numpy().tolist() == [1.0, 1.0, 2.0, 3.0]
    view[::-1] = x[:]
    assert x.to_numpy().tolist() == [3.0, 2.0, 1.0, 1.0]
    view[:2] = tr.tensor([7, 8])  # of another dtype
    assert x.to_numpy().tolist() == [7.0, 8.0, 1.0, 1.0]
    lent = np.zeros(2)
    lent.flags.writeable = False
    with pytest.raises(TensorError):
        tr.asarray(lent).mutable_view()[0] = 1.0
    with pytest.raises(TensorError):
        x[0] = 1.0  # type: ignore[index]


@NATIVE
@settings(max_examples=40)
@given(tensors(), st.data())
def test_axes_in_another_order_are_those_of_python(x: Tensor, data: st.DataObject) -> None:
    _BORROWED[:] = [x]
    given_axes = st.permutations(range(x.rank)) | st.lists(st.integers(-5, 5), max_size=5)
    order = data.draw(given_axes)
    for axes in (order, tuple(order), [axis - x.rank for axis in order], None, 1.5, (True,)):
        for _ in range(2):
            assert outcome(tr.transpose_view, x, axes) == outcome(unwrap(views._in_order), x, axes)


@NATIVE
@settings(max_examples=40)
@given(tensors(), st.lists(st.integers(-2, 8), max_size=4), st.sampled_from(("F", "C")))
def test_axes_reversed_and_other_shapes_are_those_of_python(x: Tensor, shape: list[int], order: str) -> None:
    _BORROWED[:] = [x]
    for _ in range(2):
        assert outcome(lambda: x.T) == outcome(views.reversed_axes, x)
        assert outcome(x.to_numpy) == outcome(host_data.as_numpy, x)
        assert outcome(tr.to_numpy, x) == outcome(host_data.as_numpy, x)
        assert outcome(x.reshape, -1) == outcome(views.reshape, x, -1)
        for wanted in (shape, tuple(shape)):
            assert outcome(x.reshape, *wanted) == outcome(methods._reshape, x, *wanted)
            assert outcome(x.reshape, wanted, order=order) == outcome(views.reshape, x, wanted, order=order)


@NATIVE
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "value", [0, 1, -7, 2.5, -0.0, 1e30, float("nan"), float("inf"), 2**62 + 1, 3 - 4j, complex("nan")]
)
def test_numbers_of_tensors_are_those_of_python(dtype: str, value: Any) -> None:
    x = tr.cast(tr.tensor([value]), dtype, overflow="wrap")
    for shape in ((), (1,), (1, 1)):
        y = x.reshape(shape)
        assert outcome(y.item) == outcome(methods.item, y)
        for name in ("bool", "int", "float", "complex"):
            convert: Any = {"bool": bool, "int": int, "float": float, "complex": complex}[name]
            assert outcome(convert, y) == outcome(lambda y=y, name=name: methods.METHODS[f"__{name}__"](y))


@NATIVE
def test_numbers_of_several_elements_or_none_are_refused_as_python_refuses_them() -> None:
    for x in (tr.zeros((2,)), tr.zeros((0,)), tr.zeros((2, 2))[0]):
        for convert, name in ((bool, "bool"), (int, "int"), (float, "float"), (complex, "complex")):
            assert outcome(convert, x) == outcome(methods.METHODS[f"__{name}__"], x)
        assert outcome(x.item) == outcome(methods.item, x)


def test_what_is_read_while_transfers_are_recorded_is_recorded() -> None:
    x = tr.tensor([2.5])
    for _ in range(2):
        with tr.trace_transfers() as log:
            assert (float(x), x.item(), tr.tensor([[1.0]]).shape) == (2.5, 2.5, (1, 1))
        assert [one.operation for one in log] == ["download", "download", "upload"]


@NATIVE
@pytest.mark.parametrize("dtype", ["F32", "F64", "C64", "I32", "Bool", None, "text"])
@pytest.mark.parametrize("shape", [(), 3, (2, 0), [2, 3], (2, True), (2, -1), "x", (200, 200), (2**62, 4)])
def test_new_tensors_of_one_value_are_those_of_python(shape: Any, dtype: Any) -> None:
    for wanted in (dtype, tr.zeros(1, dtype=dtype).dtype if dtype in DTYPES else dtype):
        for _ in range(2):
            assert outcome(tr.zeros, shape, dtype=wanted) == outcome(creation._zeros, shape, wanted, CPU)
            assert outcome(tr.ones, shape, dtype=wanted, placement="cpu") == outcome(creation._ones, shape, wanted, CPU)
            for value in (True, 3, -0.0, float("inf"), 2 - 1j, 2**40, 2**70, "text"):
                assert outcome(tr.full, shape, value, dtype=wanted) == outcome(
                    creation._full, shape, value, wanted, CPU
                )


numbers = st.one_of(st.booleans(), st.integers(-9, 9), st.floats(width=32), st.complex_numbers(max_magnitude=9))
rare: st.SearchStrategy[Any] = st.sampled_from((2**62, 2**63, -(2**63), 2**70, "text", None, np.float32(0.5), [], -0.0))


@NATIVE
@settings(max_examples=60)
@given(st.recursive(numbers | rare, lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner), max_leaves=12))
def test_nested_lists_become_the_tensors_or_errors_of_python(data: Any) -> None:
    for _ in range(2):
        assert outcome(tr.tensor, data) == outcome(host_data.new_tensor, data, None, CPU)
        assert outcome(tr.asarray, data) == outcome(host_data.as_tensor, data, None, None)


@NATIVE
def test_nested_lists_are_read_as_they_are_written() -> None:
    for data in ([[1, 2, 3], [4, 5, 6]], [[[1.5], [2]], [[True], [4]]], [[1, 2j]], 7, [(1, 2), (3, 4)]):
        for _ in range(2):
            found = tr.tensor(data).to_numpy()
            assert found.tolist() == np.array(data).tolist()
            assert found.dtype == np.array(data).dtype
    assert outcome(tr.tensor, [1, 2], dtype="F32") == outcome(host_data.new_tensor, [1, 2], "F32", CPU)


@NATIVE
@settings(max_examples=60)
@given(st.data())
def test_arrays_of_numpy_are_borrowed_and_copied_as_python_does(data: st.DataObject) -> None:
    kinds = ("f4", "f8", "c8", "c16", "i4", "i8", "?", "i2", ">f8", "u8", "f2", "longlong")
    shape = data.draw(st.lists(st.integers(0, 3), max_size=3))
    x = np.arange(int(np.prod(shape, dtype=int)), dtype="i8").reshape(shape).astype(data.draw(st.sampled_from(kinds)))
    x = x.transpose(data.draw(st.permutations(range(x.ndim))))
    for axis in range(x.ndim):
        x = x[(slice(None),) * axis + (slice(None, None, data.draw(st.sampled_from((1, 1, 2, -1)))),)]
    if data.draw(st.booleans()):
        x.flags.writeable = False
    for _ in range(2):
        for copy in (None, True, False):
            assert outcome(tr.asarray, x, copy=copy) == outcome(host_data.as_tensor, x, None, copy)


@NATIVE
@pytest.mark.parametrize("kind", ["?", "f4", "f8", "c8", "c16", "i4", "i8"])
def test_large_arrays_in_another_order_are_copied(kind: str) -> None:
    x = np.arange(90 * 80 * 7).reshape(90, 80, 7)
    x = (x % 5 < 2) if kind == "?" else x.astype(kind)
    for array in (x, x[::-1, :, ::2], x.transpose(1, 2, 0), x.astype(kind, order="F"), x[::3].T[:, ::-1]):
        for copy in (None, True):
            found = tr.asarray(array, copy=copy)
            np.testing.assert_array_equal(found.to_numpy(), array, strict=True)
            assert copy is None or (found.is_compact and not np.shares_memory(found.to_numpy(), array))


@NATIVE
@pytest.mark.parametrize("dtype", ["F32", "F64"])
def test_numbers_at_equal_distances_are_start_plus_a_multiple_of_the_step(dtype: str) -> None:
    kind = tr.zeros(0, dtype=dtype).to_numpy().dtype
    for count, start, step in ((0, 0.0, 1.0), (1, 2.5, 0.1), (77, -3.0, 0.1), (70_001, 1e-3, -1.7)):
        stop = start + (count - 0.5) * step
        exact = (np.arange(float(count)) * step + start).astype(kind)
        np.testing.assert_array_equal(tr.arange(start, stop, step, dtype=dtype).to_numpy(), exact, strict=True)
        for endpoint in (True, False):
            found = tr.linspace(start, stop, count, endpoint=endpoint, dtype=dtype).to_numpy()
            np.testing.assert_array_equal(found, np.linspace(start, stop, count, endpoint=endpoint, dtype=kind))
    far = tr.linspace(-1.7e308, 1.7e308, 5).to_numpy()
    np.testing.assert_allclose(far, [-1.7e308, -0.85e308, 0.0, 0.85e308, 1.7e308], rtol=1e-15)


@NATIVE
def test_what_cannot_be_filled_is_refused() -> None:
    with pytest.raises(ValueError, match="fill_spaced"):
        LIBRARY.fill_spaced(np.zeros(3, int), 0.0, 1.0)
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    for wrong in (fixed, np.zeros(6)[::2], [0.0]):
        with pytest.raises(TypeError, match="fill_spaced"):
            LIBRARY.fill_spaced(wrong, 0.0, 1.0)
    with pytest.raises(TypeError):
        LIBRARY.fill_spaced(np.zeros(3), "0", 1.0)


@NATIVE
def test_memory_that_is_no_array_of_whole_elements_is_left_to_python() -> None:
    odd = np.zeros(33, "u1")[1:].view("f8")  # not aligned
    fields = np.zeros(3, [("a", "f8"), ("b", "u1")])["a"]
    for x in (odd, fields, np.ma.masked_array([1.0], [True]), np.zeros(2).view(np.recarray), memoryview(bytes(8))):
        assert outcome(tr.asarray, x) == outcome(host_data.as_tensor, x, None, None)


@NATIVE
def test_a_borrowed_array_is_kept_as_long_as_a_view_of_it() -> None:
    x = np.zeros((2, 3), order="F")
    before = sys.getrefcount(x)
    view = tr.asarray(x)[0].T
    x[0, 1] = 7.0
    assert view.to_numpy().tolist() == [0.0, 7.0, 0.0]
    del view
    assert sys.getrefcount(x) == before


@NATIVE
def test_every_call_has_its_native_one_in_its_place() -> None:
    assert {name for name, _, _ in native_calls._PLACES} == set(NAMES)
    for name in ("__getitem__", "reshape", "item", "to_numpy", "__float__", "__bool__"):
        method = getattr(Tensor, name)
        assert type(method).__name__ == "Call"
        assert inspect.isroutine(method)
        assert method.__name__ == getattr(methods.METHODS[name], "__name__", name)
    assert str(inspect.signature(Tensor.reshape)) == str(inspect.signature(methods._reshape))
    assert type(creation._zeros_call).__name__ == "Call"


@NATIVE
def test_functions_in_python_come_back_while_nobody_serves_the_host() -> None:
    x = tr.tensor([[1.0, 2.0]])
    try:
        native_calls.serve(CPU, None)
        assert Tensor.__getitem__ is indexing.getitem
        assert creation._zeros_call is creation._zeros
        assert x[0, 1].item() == 2.0
    finally:
        native_calls.serve(CPU, registry.backend_for(CPU))
    assert Tensor.__getitem__ is not indexing.getitem
    assert x[0, 1].item() == 2.0


@NATIVE
def test_calls_made_wrongly_are_pythons_errors() -> None:
    x = tr.tensor([[1.0, 2.0]])
    getitem: Any = Tensor.__getitem__
    for arguments in ((), (x,), (x, 0, 0), (3, 0), (np.zeros(2), 0)):
        with pytest.raises((TypeError, AttributeError)):
            getitem(*arguments)
    broken = blank(Tensor)
    for call in (lambda: broken[0], lambda: broken.T, broken.item, lambda: broken.reshape(1), broken.to_numpy):
        with pytest.raises(AttributeError):
            call()


@NATIVE
def test_a_cleared_cache_is_filled_again() -> None:
    x = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(3):
        assert (x[1, 0].item(), x.T[0, 1].item(), x.reshape(4)[1].item()) == (3.0, 3.0, 3.0)
        assert tr.zeros((2, 3)).shape == (2, 3)
        tr.binding_cache.clear()
        assert not native_calls._TABLE.found


@NATIVE
def test_an_entry_that_cannot_be_put_is_an_error_and_the_table_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise MemoryError

    parts = native_calls._PARTS._replace(insert=full, found={})
    backend: Any = registry.backend_for(CPU)
    call = backend.native_call("getitem", indexing.getitem, parts)
    with pytest.raises(MemoryError):
        call(tr.tensor([1.0, 2.0]), 0)


@NATIVE
def test_nothing_is_kept_of_a_call() -> None:
    x, y, data = tr.tensor([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 3), order="F"), [[1.0, 2.0], [3.0, 4.0]]
    index = (0, slice(None), None)

    def run() -> None:
        for _ in range(200):
            x[index], x[1:], x[..., -1], x.T, x.reshape(4), x.reshape((1, -1)), x.to_numpy()
            float(x[0, 0]), x[1, 1].item(), bool(x[0, 0]), int(x[0, 1]), complex(x[0, 0])
            tr.zeros((2, 3)), tr.ones(4), tr.full((2,), 1.5), tr.tensor(data), tr.asarray(data), tr.asarray(y)
            for bad in (5, "x", (0, 0, 0)):
                try:
                    x[bad]
                except TensorError:
                    pass

    run()
    gc.collect()
    counts = [sys.getrefcount(one) for one in (x._form, x._array, y, data, index, tr.F64, CPU, None)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    run()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 2000
    after = [sys.getrefcount(one) for one in (x._form, x._array, y, data, index, tr.F64, CPU, None)]
    assert [abs(one - other) < 20 for one, other in zip(counts, after, strict=True)] == [True] * 8


NUMBERS = (0, 1, -1, 7, -3, 2.5, -0.0, 0.1, 1e300, float("inf"), float("nan"), 2**31, -(2**31), 2**51, 2**70, None)


@NATIVE
@settings(max_examples=300)
@given(
    st.sampled_from(NUMBERS),
    st.sampled_from(NUMBERS),
    st.sampled_from((1, 2, -1, 3, 0, 0.5, 0.1, -0.25, 2.0, True, 10**6)),
    st.booleans(),
    st.sampled_from((None, tr.F32, tr.F64, tr.I32, tr.I64, tr.C64, tr.Bool, "F32")),
)
def test_numbers_at_equal_distances_are_those_of_python(
    start: Any, stop: Any, step: Any, flag: bool, dtype: Any
) -> None:
    low, high = (0, start) if stop is None else (start, stop)
    many = isinstance(low, int | float) and isinstance(high, int | float) and step
    if many and not abs(high - low) < 10_000 * abs(step):
        stop, step = 9, 2  # what is far apart has too many of them
        start = start if start is not None and abs(start) < 9 else 1
    for _ in range(2):  # the second time the form is known
        asked = (start, stop, step, flag, dtype, CPU)
        assert outcome(ranges._arange_call, *asked) == outcome(ranges._arange, *asked)
        asked = (start, stop, 7 if step == 1 else step, flag, dtype, CPU)
        assert outcome(ranges._linspace_call, *asked) == outcome(ranges._linspace, *asked)


@NATIVE
@pytest.mark.parametrize("dtype", [tr.F32, tr.F64, tr.C32, tr.C64, tr.I32, tr.I64, tr.Bool, "F32", "I32"])
@pytest.mark.parametrize("shape", [(), 0, 1, 5, 13, (3, 0), [3, 5], (3, 5, 7), 8191, (2, 4096), 9000, -1, 2.0, True])
def test_random_numbers_are_those_of_python(dtype: Any, shape: Any) -> None:
    for seed, stream in ((0, 0), (2**64 - 1, 2**63), (-1, 0), (2**64, 0), (1, 2**64), (True, 0), (1.0, 0), (1, None)):
        for _ in range(2):
            asked = (shape, seed, stream, dtype, CPU)
            for call, python in ((random._uniform_call, random._uniform), (random._normal_call, random._normal)):
                assert type(call).__name__ == "Call"
                assert outcome(call, *asked) == outcome(python, *asked)
    for low, high in (
        (0, 6),
        (-3, 2**31),
        (-(2**31), 0),
        (-(2**63), 2**63 - 1),
        (-1, 2**63),
        (3, 3),
        (0.0, 2),
        (0, 2**70),
    ):
        for _ in range(2):
            asked = (shape, low, high, 5, 2, dtype, CPU)
            assert outcome(random._integers_call, *asked) == outcome(random._integers, *asked)


@NATIVE
@pytest.mark.parametrize("dtype", [tr.F32, tr.F64, tr.C32, tr.C64, tr.I32, tr.I64, tr.Bool, "F32"])
def test_tensors_of_one_number_and_ones_on_a_diagonal_are_those_of_python(dtype: Any) -> None:
    for shape in ((), 0, 5, (3, 0), (3, 5, 7), (40, 60), 1000, (150, 200), -1, "text"):
        for _ in range(2):
            for native, python in ((creation._zeros_call, creation._zeros), (creation._ones_call, creation._ones)):
                assert outcome(native, shape, dtype, CPU) == outcome(python, shape, dtype, CPU)
    for rows, columns in ((0, None), (1, None), (3, 5), (5, 3), (70, None), (2, 0), (-1, 2), (2.0, None), (True, 2)):
        for _ in range(2):
            asked = (rows, columns, dtype, CPU)
            assert outcome(creation._eye_call, *asked) == outcome(creation._eye, *asked)


@NATIVE
def test_tensors_of_any_number_are_those_of_python() -> None:
    for value in (
        0,
        -0.0,
        2.5,
        True,
        False,
        1j,
        complex(-0.0, -0.0),
        -1,
        2**62,
        2**70,
        float("nan"),
        0.1,
        1e300,
        2**31,
        2**24 + 1,
    ):
        for shape in (3, (40, 60), 3000, (3, 0)):
            for dtype in (None, None, tr.F32, tr.F64, tr.C32, tr.C64, tr.I32, tr.I64, tr.Bool, "F64"):
                asked = (shape, value, dtype, CPU)
                assert outcome(creation._full_call, *asked) == outcome(creation._full, *asked)


@NATIVE
@pytest.mark.parametrize("dtype", DTYPES)
def test_long_lines_are_written_as_numpy_writes_them(dtype: str) -> None:
    for index in (
        slice(None),
        slice(None, None, 2),
        slice(None, None, -3),
        (slice(None), 5),
        (7, slice(None)),
        (slice(3, 90, 2), slice(None, None, -1)),
        (slice(None), slice(40)),
    ):
        shape = tr.zeros((130, 50))[index].shape
        numbers = tr.from_flat([k % 5 for k in range(int(np.prod(shape)))], shape)
        value = tr.cast(numbers, dtype)
        turned = tr.transpose(tr.copy(tr.transpose(value)))
        for written in (True if dtype == "Bool" else 3, False if dtype == "Bool" else 0, value, turned):
            x = tr.cast(tr.from_flat([k % 2 for k in range(130 * 50)], (130, 50)), dtype)
            expected = x.to_numpy().copy()
            x.mutable_view()[index] = written
            expected[index] = written.to_numpy() if isinstance(written, Tensor) else written
            np.testing.assert_array_equal(x.to_numpy(), expected)


@NATIVE
@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64", "I32", "I64", "Bool"])
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (4096,), (9_000,)])
def test_equal_tensors_are_told_from_others_wherever_they_differ(dtype: str, shape: tuple[int, ...]) -> None:
    x = tr.full(shape, True if dtype == "Bool" else 7, dtype=dtype)
    size = x.size
    assert tr.array_equal(x, tr.copy(x))
    for place in {0, size // 2, min(size, 4096) - 1, size - 1}:
        changed = tr.to_numpy(x).copy(order="F")
        changed[np.unravel_index(place, shape)] = 0
        other = tr.asarray(changed)
        assert not tr.array_equal(x, other) and tr.array_equal(other, tr.copy(other))
        assert not tr.array_equal(other.T, x.T)


@NATIVE
def test_nan_equals_nothing_and_zeros_of_both_signs_are_equal() -> None:
    for dtype in ("F32", "F64", "C32", "C64"):
        x = tr.cast(tr.tensor([1.0, np.nan]), dtype)
        assert not tr.array_equal(x, x)
        assert tr.array_equal(tr.cast(tr.tensor([0.0]), dtype), tr.cast(tr.tensor([-0.0]), dtype))
    odd = tr.asarray(np.array([0, 2, 255], np.uint8).view(bool))
    assert tr.array_equal(odd, tr.tensor([False, True, True]))


@NATIVE
def test_numbers_and_empty_tensors_are_made_as_python_makes_them() -> None:
    for number in (True, 3, 2.5, 1j):
        for _ in range(2):
            made = tr.asarray(number)
            assert made.shape == () and made.item() == number and made.dtype is tr.tensor(number).dtype
    for shape in (3, (2, 3), [0, 4], ()):
        for _ in range(2):
            made = tr.empty(shape, dtype="I32")
            assert made.shape == tr.zeros(shape).shape and made.dtype is tr.I32 and made.is_compact
    with pytest.raises(tr.TensorError):
        tr.empty((2, -1))
