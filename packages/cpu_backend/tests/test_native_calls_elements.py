"""Native calls that give Python numbers, and that compare tensors: as the functions in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from native_call_cases import DTYPES, NATIVE, outcome
from tensor_runtime.ops import methods

pytestmark = pytest.mark.usefixtures("cpu_serves")


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
