"""Attributes that others ask for: ``hasattr``, ``getattr`` with a default, ``inspect`` and mocks get no other error."""

from __future__ import annotations

import inspect
from unittest import mock

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import AxisError, DTypeError
from tensor_runtime.errors import ForeignOperandError

TENSORS = [tr.tensor(1.5), tr.ones(2), tr.ones((2, 2)), tr.ones((2, 2, 2), dtype="C64"), tr.ones(2).mutable_view()]


@pytest.mark.parametrize("x", TENSORS, ids=lambda x: f"{type(x).__name__} {x.shape}")
def test_every_attribute_may_be_asked_for(x: tr.Tensor) -> None:
    for name in {*dir(x), *dir(type(x)), "_data", "_mask", "mH", "adjoint", "nonsense"}:
        getattr(x, name, None)
    assert not hasattr(x, "_data") and hasattr(x, "mT") == (x.rank > 1)
    assert dict(inspect.getmembers(x))["shape"] == x.shape
    assert mock.create_autospec(x).shape is not None


def test_a_matrix_is_asked_for_by_name() -> None:
    with pytest.raises(AxisError, match="mT: rank 1; accepted: two axes or more"):
        _ = tr.ones(2).mT


def test_functions_for_masked_arrays_still_refuse_tensors() -> None:
    x, masked = tr.ones(2), np.ma.masked_array([1.0, 2.0], [True, False])
    for call in (lambda: masked + x, lambda: np.ma.add(masked, x), lambda: np.ma.getdata(x)):
        with pytest.raises(ForeignOperandError, match="masked array"):
            call()


def test_what_dlpack_lends_in_a_dtype_that_is_none_of_ours_is_refused_by_the_name_that_was_called() -> None:
    half = np.ones(2, "f2")
    with pytest.raises(DTypeError, match=r"^from_dlpack: the element type is float16; .*; asarray\(x, F32\) conv"):
        tr.from_dlpack(half)
    assert tr.asarray(half, tr.F32).tolist() == [1.0, 1.0]
    with pytest.raises(DTypeError, match=r"^asarray: .* dtype=F32 converts it"):
        tr.asarray(half)
