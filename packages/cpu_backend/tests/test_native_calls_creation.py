"""Native calls that make tensors, of numbers, lists, arrays and seeds: as the functions in Python."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from native_call_cases import DTYPES, NATIVE, outcome
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.ops import creation, host_data, random, ranges
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.usefixtures("cpu_serves")


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
@given(
    st.recursive(numbers | rare, lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner), max_leaves=12),
    st.sampled_from((*DTYPES, tr.F32, tr.C64, tr.I64, tr.Bool, "float32", "complex128", "bool", "text", 8)),
)
def test_nested_lists_become_the_tensors_or_errors_of_python(data: Any, dtype: Any) -> None:
    for wanted in (None, dtype):
        for _ in range(2):
            assert outcome(tr.tensor, data, wanted) == outcome(host_data.new_tensor, data, wanted, CPU)
            assert outcome(tr.asarray, data, wanted) == outcome(host_data.as_tensor, data, wanted, None)


@NATIVE
def test_nested_lists_are_read_as_they_are_written() -> None:
    for data in ([[1, 2, 3], [4, 5, 6]], [[[1.5], [2]], [[True], [4]]], [[1, 2j]], 7, [(1, 2), (3, 4)]):
        for _ in range(2):
            found = tr.tensor(data).to_numpy()
            assert found.tolist() == np.array(data).tolist()
            assert found.dtype == np.array(data).dtype
    for dtype, name in (("F32", "f4"), (tr.C32, "c8"), ("int32", "i4"), (tr.F64, "f8")):
        for _ in range(2):
            found = tr.tensor([[1, 2, 3], [4, 5, 2**24]], dtype).to_numpy()
            assert found.tolist() == [[1, 2, 3], [4, 5, 2**24]] and found.dtype == name


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
            for dtype in (None, "F64", tr.C32):
                assert outcome(tr.asarray, x, dtype, copy=copy) == outcome(host_data.as_tensor, x, dtype, copy)


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


NUMBERS = (0, 1, -1, 7, -3, 2.5, -0.0, 0.1, 1e300, float("inf"), float("nan"), 2**31, -(2**31), 2**51, 2**70, None)


@NATIVE
@settings(max_examples=300)
@given(
    st.sampled_from(NUMBERS),
    st.sampled_from(NUMBERS),
    st.sampled_from((1, 2, -1, 3, 0, 0.5, 0.1, -0.25, 2.0, True, 10_000)),
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
        for dtype in (tr.F32, tr.F64, tr.C32, tr.C64, tr.I32, tr.I64, tr.Bool, "F64", "float32"):
            for _ in range(2):
                asked = ([value, value], dtype, CPU)
                assert outcome(creation._tensor_call, *asked) == outcome(host_data.new_tensor, *asked)


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
