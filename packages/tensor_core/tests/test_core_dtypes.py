"""The seven element types: identity, names, and what users may call them."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tensor_core import (
    ALL,
    C32,
    C64,
    COMPLEX,
    DTYPES,
    F32,
    F64,
    FLOATING,
    I32,
    I64,
    INTEGER,
    NUMERIC,
    REAL,
    REAL_FLOATING,
    Bool,
    DType,
    DTypeError,
    HostTensor,
    HostTensorView,
    TensorScalar,
    as_dtype,
)


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_dtype_pickles_to_itself(dtype: DType, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_a_dtype_copies_to_itself(dtype: DType) -> None:
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy([dtype])[0] is dtype


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_a_dtype_answers_to_both_its_names(dtype: DType) -> None:
    assert as_dtype(dtype) is as_dtype(dtype.name) is as_dtype(dtype.numpy_name) is dtype
    assert repr(dtype) == dtype.name


def test_the_number_in_a_complex_type_counts_one_component() -> None:
    assert (C32.numpy_name, C32.itemsize, C32.component) == ("complex64", 8, F32)
    assert (C64.numpy_name, C64.itemsize, C64.component) == ("complex128", 16, F64)
    assert [dtype.itemsize for dtype in (F32, F64, I32, I64, Bool)] == [4, 8, 4, 8, 1]
    assert all(dtype.component is dtype for dtype in ALL - COMPLEX)


def test_a_complex_type_prints_with_numpys_name_beside_ours_and_the_others_alone() -> None:
    printed = [str(dtype) for dtype in DTYPES]
    assert printed == ["F32", "F64", "I32", "I64", "Bool", "C32 (complex64)", "C64 (complex128)"]
    assert [repr(dtype) for dtype in DTYPES] == [dtype.name for dtype in DTYPES]
    with pytest.raises(DTypeError, match=r"write: C64 \(complex128\) into F64; cast it first"):
        HostTensor.zeros(2)[:] = HostTensor.zeros(2, C64)


def test_python_types_name_the_widest_type_of_their_kind() -> None:
    assert [as_dtype(kind) for kind in (bool, int, float, complex)] == [Bool, I64, F64, C64]


@pytest.mark.parametrize("wrong", ["float16", "f64", "", 8, None, str, object(), TensorScalar, [F64], b"F64"], ids=repr)
def test_anything_else_is_refused_with_both_names_of_each_type(wrong: object) -> None:
    with pytest.raises(DTypeError, match=r"F32 \(float32\).*C32 \(complex64\), C64 \(complex128\)"):
        as_dtype(wrong)


def test_the_sets_partition_the_types() -> None:
    assert set(DTYPES) == ALL
    assert ALL - {Bool} == NUMERIC
    assert REAL == {I32, I64, F32, F64} == INTEGER | REAL_FLOATING
    assert FLOATING == REAL_FLOATING | COMPLEX == ALL - INTEGER - {Bool}


def test_an_element_type_has_no_instances() -> None:
    with pytest.raises(DTypeError, match="F64: an element type has no instances"):
        F64()


def test_element_types_are_classes_for_the_type_checker() -> None:
    assert isinstance(F64, DType)
    assert issubclass(F64, TensorScalar)
    assert HostTensor[F64].__origin__ is HostTensor  # type: ignore[attr-defined]
    assert HostTensorView[I32].__args__ == (I32,)  # type: ignore[attr-defined]


@pytest.mark.parametrize("base", [TensorScalar, F64, Bool])
def test_no_eighth_element_type_can_be_made(base: Any) -> None:
    for make in (
        lambda: DType("F16", (base,), {}),
        lambda: type(base)("F16", (base,), {}),
        lambda: DType("F16", (), {}),
    ):
        with pytest.raises(
            DTypeError, match="F16: the element types are F32, F64, I32, I64, Bool, C32 and C64, and no"
        ):
            make()
    with pytest.raises(DTypeError, match="F16: the element types are"):

        class F16(base):  # type: ignore[misc]
            pass

    assert base.__subclasses__() == (list(DTYPES) if base is TensorScalar else [])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numpy_takes_an_element_type_for_its_own(dtype: DType) -> None:
    assert np.dtype(dtype) == np.dtype(dtype.numpy_name)
    assert np.zeros(2, dtype=dtype).dtype.name == dtype.numpy_name  # type: ignore[call-overload]
    code = np.dtype(dtype.numpy_name)
    assert as_dtype(code.str) is dtype
    if code.char != "l":
        assert as_dtype(code.char) is dtype


def test_numpy_is_asked_for_only_where_it_is() -> None:
    program = "import tensor_core, sys; print(hasattr(tensor_core.F32, 'dtype'), 'numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("code", [">f8" if sys.byteorder == "little" else "<f8", "e", "g", "u1", "O"])
def test_codes_of_other_types_are_refused(code: str) -> None:
    with pytest.raises(DTypeError, match="is none of ours"):
        as_dtype(code)


@pytest.mark.parametrize(
    "value", [np.datetime64("2020-01-01", "ns"), np.timedelta64(1, "ns"), np.longdouble("0.1"), np.str_("1")], ids=repr
)
def test_scalars_of_numpy_that_no_number_equals_are_no_elements(value: Any) -> None:
    with pytest.raises(DTypeError):
        HostTensor.from_nested([value])
    assert HostTensor.from_nested([np.longdouble(0.5), np.float32(2), np.int8(1)]).to_nested() == [0.5, 2.0, 1.0]
