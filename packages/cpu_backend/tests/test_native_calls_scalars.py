"""Scalars of NumPy stand for the Python numbers that they equal, natively as in Python; only integers are indices."""

from __future__ import annotations

import operator as op
from collections.abc import Callable
from functools import update_wrapper
from inspect import unwrap
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from native_call_cases import BORROWED, DTYPES, NATIVE, assert_nothing_is_kept, outcome
from tensor_core.errors import TensorError
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch import call
from tensor_runtime.dispatch.out import write
from tensor_runtime.ops import arithmetic, comparison, creation, host_data, indexing, native_calls, random, ranges
from tensor_runtime.ops.selection import WHERE
from tensor_runtime.placement import CPU
from tensor_runtime.tensors.tensor import Tensor

pytestmark = pytest.mark.usefixtures("cpu_serves")


class Price(np.float64):
    """A subclass, which may have methods of its own."""


INTEGERS: list[Any] = [
    kind(value)
    for kind in (np.int8, np.int16, np.int32, np.int64, np.longlong, np.uint8, np.uint16, np.uint32, np.ulonglong)
    for value in (0, 1, 3)
] + [
    np.int8(-1),
    np.int64(-2),
    np.int32(-9),
    np.int64(2**40),
    np.int64(-(2**63)),
    np.uint64(2**63),
    np.uint32(2**32 - 1),
]
SCALARS: list[Any] = [
    *INTEGERS,
    *(kind(value) for kind in (np.float16, np.float32, np.float64, np.longdouble) for value in (0.5, -0.0, np.nan)),
    *(kind(0.5 - 2j) for kind in (np.complex64, np.complex128, np.clongdouble)),
    *(np.bool_(True), np.bool_(False), np.float64(1e300), np.float32(0.1), np.longdouble(1) / 3, Price(2.5)),
    *(np.str_("1"), np.bytes_(b"1"), np.datetime64(1, "s"), np.timedelta64(1, "s"), np.void(b"1"), np.array(1)),
]


def named(scalar: Any) -> str:
    return f"{type(scalar).__name__}-{scalar!s}"


each = pytest.mark.parametrize("scalar", SCALARS, ids=named)


def tensors() -> list[Tensor]:
    return [tr.cast(tr.tensor([1.0, 0.0, 1.0, 2.0]), dtype) for dtype in DTYPES]


@NATIVE
@each
def test_operands_are_those_of_python(scalar: Any) -> None:
    mixed, three = unwrap(call.execute_mixed), unwrap(call.execute_ternary)
    truths = tr.tensor([True, False, True, True])
    specs = (arithmetic.ADD, arithmetic.DIVIDE, arithmetic.POW, comparison.LESS)
    for x in tensors():
        for _ in range(2):  # the second time the binding is known
            for spec in specs:
                assert outcome(call.execute_mixed, spec, x, scalar) == outcome(mixed, spec, x, scalar)
                assert outcome(call.execute_binary, spec, scalar, x) == outcome(mixed, spec, scalar, x)
            for choice in ((truths, x, scalar), (truths, scalar, scalar), (scalar, x, x), (truths, scalar, "x")):
                assert outcome(call.execute_ternary, WHERE, *choice) == outcome(three, WHERE, *choice)
    for operands in ((scalar, scalar), (scalar, "x"), (scalar, None), (scalar, 1)):
        assert outcome(call.execute_mixed, specs[0], *operands) == outcome(mixed, specs[0], *operands)
    for one in (call.execute_unary, unwrap(call.execute_unary)):
        with pytest.raises(TypeError, match=type(scalar).__name__):
            one(arithmetic.NEGATIVE, scalar)


@NATIVE
@each
def test_results_in_an_output_are_those_of_python(scalar: Any) -> None:
    def written(add: Callable[..., Any], where: Callable[..., Any], x: Tensor) -> Any:
        out, truths = tr.copy(x), tr.tensor([True, False, True, True])
        found = [outcome(lambda: add(arithmetic.ADD, out, x, scalar).tolist()), repr(out.tolist())]
        found += [outcome(lambda: where(WHERE, out, truths, scalar, x).tolist()), repr(out.tolist())]
        return [*found, outcome(lambda: add(arithmetic.ADD, scalar, x, x).tolist())]

    for x in tensors():
        for _ in range(2):
            python: tuple[Any, Any] = unwrap(call.binary_into), unwrap(call.ternary_into)
            assert written(call.binary_into, call.ternary_into, x) == written(*python, x)


@NATIVE
@each
def test_indices_are_those_of_python(scalar: Any) -> None:
    x = tr.cast(tr.from_flat(range(12), (3, 4)), "F64")
    BORROWED[:] = [x]
    indices: list[Any] = [
        scalar,
        (scalar, 1),
        (..., scalar),
        (scalar, scalar),
        (None, scalar, None),
        (scalar, slice(1, 3)),
    ]
    indices += [slice(scalar), slice(scalar, None), slice(None, None, scalar), (0, slice(scalar, 3, scalar))]
    indices += [[scalar], [0, scalar], (slice(None), [scalar, 1]), (slice(scalar, None), [0, 1]), (scalar, [0, 1])]
    indices += [(scalar, scalar, scalar), tr.tensor([0, 1]), (tr.tensor([0, 1]), scalar)]
    for index in indices:
        for _ in range(2):
            assert outcome(lambda index=index: x[index]) == outcome(indexing.getitem, x, index)

        def written(write: Callable[..., Any], index: Any = index) -> Any:
            view = tr.copy(x).mutable_view()
            return outcome(write, view, index, 7.5), view.tolist()

        assert written(lambda view, index, value: view.__setitem__(index, value)) == written(indexing.setitem)


@NATIVE
@each
def test_values_that_are_written_are_those_of_python(scalar: Any) -> None:
    def written(write: Callable[..., Any], x: Tensor, index: Any) -> Any:
        view = tr.copy(x).mutable_view()
        return outcome(write, view, index, scalar), repr(view.tolist())

    for x in tensors():
        for index in (0, slice(1, 3), ..., [0, 2], tr.tensor([1, 2]), np.int64(1), x == 1):
            assert written(lambda view, index, value: view.__setitem__(index, value), x, index) == written(
                indexing.setitem, x, index
            )


@each
def test_operators_in_place_are_those_of_a_new_tensor_that_is_written(scalar: Any) -> None:
    def separately(name: str, operator: Any) -> Callable[..., Any]:
        def compute(view: Any, other: Any) -> Any:
            write(view, operator(view, other), f"in place, {name}")
            return view

        return compute

    def written(compute: Callable[..., Any], x: Tensor) -> Any:
        view = tr.copy(x).mutable_view()
        return outcome(lambda: compute(view, scalar).tolist()), repr(view.tolist())

    for x in tensors():
        for name, new in (("add", op.add), ("truediv", op.truediv), ("mod", op.mod), ("pow", op.pow), ("and", op.and_)):
            assert written(getattr(op, f"i{name}"), x) == written(separately(name, new), x)


@NATIVE
@each
def test_new_tensors_are_those_of_python(scalar: Any) -> None:
    for dtype in (None, *DTYPES):
        for _ in range(2):
            assert outcome(tr.full, 2, scalar, dtype=dtype) == outcome(creation._full, 2, scalar, dtype, CPU)
            for data in (scalar, [scalar], [[scalar, 2], (True, scalar)], [0.5, scalar]):
                assert outcome(tr.tensor, data, dtype) == outcome(host_data.new_tensor, data, dtype, CPU)
                if data is not scalar:  # whose memory may be another one each time
                    assert outcome(tr.asarray, data, dtype) == outcome(host_data.as_tensor, data, dtype, None)
            for numbers in ((scalar, 3, 1), (0, scalar, 1), (0.5, 3, scalar), (scalar, None, 1)):
                if not any(one is not None and abs(complex(one)) > 99 for one in numbers if is_number(one)):
                    assert outcome(tr.arange, *numbers, dtype=dtype) == outcome(
                        ranges._arange, *numbers, False, dtype, CPU
                    )
            for ends in ((scalar, 3, 4), (0, scalar, 4), (0, 1.5, scalar)):
                if not is_number(ends[2]) or abs(complex(ends[2])) < 99:
                    assert outcome(tr.linspace, *ends, dtype=dtype) == outcome(
                        ranges._linspace, *ends, True, dtype, CPU
                    )


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex, np.number, np.bool_)) and not isinstance(value, np.timedelta64)


@NATIVE
@each
def test_extents_and_axes_are_those_of_python(scalar: Any) -> None:
    x = tr.cast(tr.from_flat(range(12), (3, 4)), "F64")
    BORROWED[:] = [x]
    calls: list[tuple[Any, tuple[Any, ...]]] = []
    if not is_number(scalar) or abs(complex(scalar)) < 99:
        for shape in (scalar, (scalar,), [2, scalar]):
            calls += [(creation._zeros_call, (shape, "F64", CPU)), (random._uniform_call, (shape, 1, 0, "F64", CPU))]
        calls += [(random._integers_call, (3, scalar, 99, 1, 0, "I32", CPU))]
        calls += [(random._uniform_call, (3, scalar, 0, "F64", CPU))]
        calls += [(creation._eye_call, (scalar, 2, "F64", CPU)), (creation._eye_call, (2, scalar, "F64", CPU))]
    calls += [(Tensor.reshape, (x, scalar, 4)), (Tensor.reshape, (x, (scalar, -1)))]
    calls += [(native, (x, axes)) for native in axis_calls() for axes in (scalar, (scalar,), [scalar, 0])]
    for native, arguments in calls:
        for _ in range(2):
            assert outcome(native, *arguments) == outcome(unwrap(native), *arguments)


def axis_calls() -> list[Any]:
    """Native calls that take axes."""
    names = ("transposed", "squeeze", "expand_dims", "reverse", "unstack")
    backend: Any = registry.backend_for(CPU)
    return [
        update_wrapper(backend.native_call(name, function, native_calls._PARTS), function)
        for name, function, _ in native_calls._PLACES
        if name in names
    ]


@NATIVE
def test_an_index_may_be_true_or_false_as_ever() -> None:
    x = tr.tensor([1.0, 2.0])
    assert x[np.bool_(True)].shape == (1, 2) and x[np.bool_(False)].shape == (0, 2)
    with pytest.raises(TensorError):
        x[np.float64(1)]


@NATIVE
def test_the_function_in_python_is_not_called_for_what_is_usual() -> None:
    def refused(*arguments: Any) -> Any:
        raise AssertionError(arguments)

    backend: Any = registry.backend_for(CPU)

    def native(name: str) -> Any:
        return backend.native_call(name, refused, native_calls._PARTS)

    x = tr.cast(tr.from_flat(range(12), (3, 4)), "F64")
    i, real, view, truths = np.int64(1), np.float64(0.5), tr.copy(x).mutable_view(), x > 1
    index: Any
    value: Any
    (
        x[1, 1],
        x[1],
        x[1:2],
        x[:, [0, 1]],
        x + 0.5,
        x + 1,
        x + 0.5j,
        tr.where(truths, x, 0.5),
        tr.full(1, 0.5),
        tr.zeros((1, 1)),
    )
    x.reshape((1, 12)), tr.tensor([0.5, 0.5]), tr.tensor(0.5), tr.tensor(1), tr.arange(1, 3), tr.linspace(0.5, 1.0, 3)
    assert native("getitem")(x, (i, i)).item() == x[1, 1].item()
    for index in (i, np.uint8(1), slice(i, np.int32(2)), (slice(None), [np.int16(0), i])):
        native("getitem")(x, index)
    for value in (real, np.float32(0.5), np.int32(3), i):
        for index in ((i, i), (0, slice(None)), [0, 1]):
            native("setitem")(view, index, value)
    for value in (real, np.float32(0.5), i, np.uint16(1), np.complex64(0.5j), np.complex128(1j)):
        native("execute_mixed")(arithmetic.ADD, x, value)
    native("execute_binary")(arithmetic.ADD, x, real, view)
    native("binary_into")(arithmetic.ADD, view, x, real)
    native("execute_ternary")(WHERE, truths, x, real)
    native("full")(1, real, None, CPU), native("full")((i,), real, "F64", CPU), native("zeros")((i, i), "F64", CPU)
    native("reshape")(x, (i, np.int32(12))), native("tensor")([real, np.float32(1)], None, CPU)
    for scalar in (real, np.uint8(1)):  # of whose dtype, or whose number's, there were tensors of rank 0
        native("tensor")(scalar, None, CPU)
    native("arange")(i, np.int64(3), 1, False, None, CPU), native("linspace")(real, np.float64(1), 3, True, None, CPU)


@NATIVE
def test_references_stay_as_they_are() -> None:
    x, view = tr.cast(tr.from_flat(range(12), (3, 4)), "F64"), tr.zeros((3, 4)).mutable_view()
    out, truths = tr.zeros((3, 4)), x > 1
    far, whole, real, narrow, pair, truth = (
        np.uint64(2**63), np.int64(1), np.float64(0.5), np.float32(0.5), np.complex128(2j), np.bool_(True)
    )  # fmt: skip
    unknown: Any = "x"
    scalars = [far, whole, real, narrow, pair, truth]

    def run() -> None:
        for _ in range(200):
            x[whole, whole], x[whole:], x[[whole, 0]]
            view[whole, whole] = real
            view[[0, whole]] = whole
            tr.add(x, real, out=out), x + pair, x * truth, x / narrow
            tr.where(truths, x, whole), tr.where(truths, real, real), tr.tensor([real, narrow]), tr.tensor(narrow)
            tr.full(2, real), tr.full(2, pair, "C32"), tr.arange(whole), tr.linspace(real, narrow, whole)
            tr.zeros((whole, 2)), x.reshape(whole, 12)

    def refuse() -> None:
        for _ in range(200):
            for refused in (lambda: x[far], lambda: x[pair], lambda: x + unknown, lambda: view.__setitem__(0, pair)):
                try:
                    refused()
                except TensorError:
                    pass

    held = *scalars, x._form, x._array, out._array, float, int, complex, None
    assert_nothing_is_kept(run, *held)
    assert_nothing_is_kept(refuse, *held)
