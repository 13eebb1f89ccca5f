"""Running sums equal NumPy's; folds and scans go from left to right, whatever the function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES, F64, I32, I64
from tensor_core.dtypes import FLOATING
from tensor_core.errors import ArgumentError, AxisError, DTypeError
from tensor_runtime.testing.strategies import tensors


@st.composite
def along(draw: st.DrawFn, dtypes: Any = DTYPES) -> tuple[tr.Tensor, np.ndarray[Any, Any], int]:
    """A tensor of rank 1 or more, the array that it lends, and an axis."""
    x = draw(tensors(dtype=st.sampled_from(dtypes)).filter(lambda one: one.rank))
    return x, x.to_numpy(), draw(st.integers(-x.rank, x.rank - 1))


@given(along(), st.sampled_from(["cumsum", "cumprod"]))
def test_running_sums_and_products_are_numpys(drawn: Any, name: str) -> None:
    x, a, axis = drawn
    dtype = x.dtype if x.dtype in FLOATING else I64

    result = getattr(tr, name)(x, axis)

    with np.errstate(all="ignore"):
        expected = getattr(np, name)(a, axis=axis, dtype=dtype.numpy_name)
    assert (result.dtype, result.is_compact) == (dtype, True)
    np.testing.assert_array_equal(result.to_numpy(), expected)


def test_an_axis_is_named_unless_there_is_one_only() -> None:
    assert tr.cumsum(tr.tensor([1, 2, 3])).to_numpy().tolist() == [1, 3, 6]
    assert tr.fold(tr.add, tr.tensor([1, 2, 3])).item() == 6
    for call in (tr.cumsum, tr.cumprod, lambda x: tr.fold(tr.add, x), lambda x: tr.scan(tr.add, x)):
        for shape in ((), (2, 2)):
            with pytest.raises(ArgumentError, match=f"rank {len(shape)} and no axis is named"):
                call(tr.zeros(shape))
    for call in (tr.cumsum, tr.cumprod, lambda x, k: tr.fold(tr.add, x, k), lambda x, k: tr.scan(tr.add, x, k)):
        with pytest.raises(AxisError):
            call(tr.zeros((2, 2)), 2)
        with pytest.raises(AxisError):
            call(tr.tensor(1), 0)
    with pytest.raises(ArgumentError, match="cumsum: axis is '0'; accepted: an int"):
        tr.cumsum(tr.zeros((2, 2)), "0")  # type: ignore[arg-type]


def test_integers_wrap_in_running_sums() -> None:
    assert tr.cumsum(tr.tensor([2**63 - 1, 1])).to_numpy().tolist() == [2**63 - 1, -(2**63)]
    assert tr.cumsum(tr.tensor([2**31 - 1, 1], dtype=I32)).to_numpy().tolist() == [2**31 - 1, 2**31]


@given(along(tuple(dtype for dtype in DTYPES if dtype.name != "Bool")))
def test_a_fold_of_differences_is_a_left_fold(drawn: Any) -> None:
    x, a, axis = drawn
    slices = [np.asarray(part) for part in np.moveaxis(a, axis, 0)]
    if not slices:
        with pytest.raises(ArgumentError, match="fold of nothing is undefined; give initial="):
            tr.fold(tr.subtract, x, axis)
    else:
        expected = [slices[0]]
        for part in slices[1:]:
            expected.append(expected[-1] - part)
        found = tr.fold(tr.subtract, x, axis)
        assert (found.dtype, found.is_compact) == (x.dtype, True)
        np.testing.assert_array_equal(found.to_numpy(), expected[-1])
        steps = tr.scan(tr.subtract, x, axis)
        assert (steps.dtype, steps.is_compact) == (x.dtype, True)
        np.testing.assert_array_equal(steps.to_numpy(), np.stack(expected, axis))
    begun = tr.scan(tr.subtract, x, axis, initial=5)
    np.testing.assert_array_equal(
        begun.to_numpy(), np.asarray(5 - np.cumsum(a, axis=axis, dtype=a.dtype)).astype(a.dtype)
    )


def test_floating_sums_are_folded_one_after_the_other() -> None:
    x = tr.uniform((1000,), seed=1) * 1e3
    total = 0.0
    for value in x.to_numpy().tolist():
        total += value
    assert tr.fold(tr.add, x).item() == total
    assert tr.scan(tr.add, x)[-1].item() == total


def test_what_is_folded_may_have_a_form_of_its_own() -> None:
    matrices = tr.tensor([[[1.0, 1.0], [0.0, 2.0]], [[1.0, 3.0], [1.0, 0.0]]])  # [2, 2, 2]: two matrices, batch first
    vector = tr.tensor([1.0, 1.0])

    def step(state: tr.Tensor, matrix: tr.Tensor) -> tr.Tensor:
        return matrix @ state

    assert tr.fold(step, matrices, 0, initial=vector).to_numpy().tolist() == [8.0, 2.0]
    assert tr.scan(step, matrices, 0, initial=vector).to_numpy().tolist() == [[2.0, 2.0], [8.0, 2.0]]
    with pytest.raises(AxisError, match="scan"):
        tr.scan(lambda state, matrix: state, matrices, 2, initial=tr.tensor(1.0))


def test_a_number_to_begin_with_takes_the_dtype_that_arithmetic_gives_it() -> None:
    assert tr.fold(tr.add, tr.tensor([1, 2], dtype=I32), initial=1).dtype is I32
    assert tr.fold(tr.add, tr.tensor([1, 2], dtype=I32), initial=0.5).dtype is F64
    assert tr.fold(tr.maximum, tr.zeros((0, 3)), 0, initial=-1.5).to_numpy().tolist() == [-1.5] * 3


def test_scans_of_nothing_are_empty() -> None:
    assert tr.scan(tr.add, tr.zeros((2, 0))[:, :], 1).shape == (2, 0)
    assert tr.scan(tr.add, tr.zeros((0,)), initial=tr.ones((4,))[:1]).shape == (0, 1)
    assert tr.fold(tr.add, tr.zeros((0,)), initial=tr.tensor(3.0)).item() == 3.0


def test_results_are_owned_even_if_the_function_gives_its_arguments_back() -> None:
    x = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
    for result in (
        tr.fold(lambda last, here: here, x, 0),
        tr.fold(lambda last, here: last, x, 1),
        tr.fold(tr.add, x[:1], 0),
        tr.scan(lambda last, here: here, x, 1),
    ):
        assert result.is_compact
        assert not np.shares_memory(result.to_numpy(), x.to_numpy())
    begin = tr.zeros((2,))
    assert tr.fold(tr.add, tr.zeros((0, 2)), 0, initial=begin) is not begin


def test_a_function_that_changes_what_it_was_given_does_not_change_earlier_steps() -> None:
    def step(total: tr.Tensor, here: tr.Tensor) -> tr.Tensor:
        tr.mutable_view(total)[...] = total + here
        return total

    assert tr.scan(step, tr.tensor([1, 2, 3]), initial=tr.tensor(0)).to_numpy().tolist() == [1, 3, 6]


@pytest.mark.parametrize(
    ("f", "found"),
    [
        (lambda last, here: 1.0, "a float"),
        (lambda last, here: last > here, "Bool \\(2,\\) on cpu"),
        (lambda last, here: last[:1], "F64 \\(1,\\) on cpu"),
    ],
)
def test_a_function_gives_what_it_took(f: Any, found: str) -> None:
    x = tr.zeros((3, 2))
    for operation in (tr.fold, tr.scan):
        with pytest.raises(
            ArgumentError, match=f"at slice 1 the function gave {found}; accepted: a tensor like .* F64"
        ):
            operation(f, x, 0)


def test_an_initial_value_is_a_tensor_or_a_number() -> None:
    with pytest.raises(DTypeError):
        tr.fold(tr.add, tr.zeros(2), initial="0")  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="scan: found list; accepted: a tensor"):
        tr.scan(tr.add, [1, 2])  # type: ignore[arg-type]


def test_what_folds_is_a_function() -> None:
    for operation in (tr.fold, tr.scan):
        with pytest.raises(ArgumentError, match="f is a int; accepted: a function"):
            operation(1, tr.ones(2))  # type: ignore[arg-type]


def test_forms_are_known_without_data() -> None:
    assert tr.infer(tr.scan, tr.add, (tr.F64, (3, 4)), 1).shape == (3, 4)
    assert tr.infer(tr.fold, tr.add, (tr.F64, (3, 4)), 1).shape == (3,)
