"""The examples of ``docs/differences.md`` run, and what it says of NumPy is so."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import TensorError

PAGE = Path(__file__).parent.parent / "docs" / "differences.md"


def test_the_examples_of_the_page_run() -> None:
    results = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)

    assert results.attempted >= 4
    assert results.failed == 0


def test_complex_numbers_have_no_order_and_bool_no_sign() -> None:
    numbers, truths = tr.tensor([1j, 2.0]), tr.tensor([True, False])
    for refused in (tr.max, tr.min, tr.argmax, lambda x: tr.less(x, x)):
        with pytest.raises(TensorError):
            refused(numbers)
    for refused in (tr.abs, tr.negative, tr.square, tr.conj):
        with pytest.raises(TensorError):
            refused(truths)


def test_dtypes_of_results_are_those_of_the_page() -> None:
    truths, integers = tr.tensor([True, False]), tr.tensor([1, 2], dtype=tr.I32)

    assert {tr.sum(x).dtype for x in (truths, integers)} == {tr.prod(integers).dtype} == {tr.I64}
    assert {f(integers).dtype for f in (tr.mean, tr.var, tr.std, tr.reciprocal)} == {tr.F64}
    assert (tr.round(truths).dtype, tr.atan2(truths, truths).dtype) == (tr.Bool, tr.F64)
    assert (tr.zeros(1, dtype=int).dtype, tr.zeros(1, dtype=float).dtype) == (tr.I64, tr.F64)


def test_limits_and_infinities_are_those_of_the_page() -> None:
    infinite = tr.tensor([-np.inf])

    assert np.signbit(tr.gelu(infinite).to_numpy()).all() and tr.gelu(infinite).item() == 0
    assert np.signbit(tr.silu(infinite).to_numpy()).all() and tr.silu(infinite).item() == 0
    assert np.isnan(tr.log_softmax(tr.tensor([0.0, np.inf])).to_numpy()).all()
    assert tr.mean(tr.asarray(np.array([complex(np.inf, 0), 1]))).item() == complex(np.inf, 0)
    assert float(tr.norm(tr.tensor([1e300, 1e300]))) < np.inf
    assert tr.softmax(tr.zeros((2, 0))).shape == (2, 0)
    assert tr.norm(tr.zeros((2, 0)), axis=1).to_numpy().tolist() == [0.0, 0.0]


def test_slices_by_value_and_cumulative_sums_refuse_as_the_page_says() -> None:
    with pytest.raises(TensorError):
        tr.dynamic_slice(tr.arange(4), (3,), (2,))
    with pytest.raises(TensorError):
        tr.cumsum(tr.zeros((2, 2)))


def test_descending_order_is_stable_and_keeps_nan_last() -> None:
    x = tr.tensor([np.nan, 1.0, 2.0, 1.0])

    assert tr.argsort(x, descending=True).to_numpy().tolist() == [2, 1, 3, 0]
