"""Rank-0 tensors as elements of new tensors: what a loop over a tensor collects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_core as tc
import tensor_runtime as tr

MAKERS: list[tuple[str, Callable[[list[Any]], Any]]] = [
    ("tensor", tr.tensor),
    ("asarray", tr.asarray),
    ("from_flat", lambda row: tr.from_flat(row, (len(row),))),
    ("host from_nested", lambda row: tr.upload(tc.HostTensor.from_nested(row))),
    ("host from_flat", lambda row: tr.upload(tc.HostTensor.from_flat(row, (len(row),)))),
]
ROWS: dict[str, list[Any]] = {
    "F32": [1.5, -0.25, 2.75],
    "F64": [1.5, 0.1, 2.75],
    "I32": [1, -2, 3],
    "I64": [1, 2**60, 3],
    "Bool": [True, False, True],
    "C32": [1.5 - 2j, 0j, 1j],
    "C64": [0.1 - 2j, 0j, 1j],
}


@pytest.mark.parametrize("dtype", ROWS)
@pytest.mark.parametrize(("name", "made"), MAKERS, ids=lambda x: x if type(x) is str else "")
def test_collecting_the_elements_of_a_tensor_gives_the_tensor(
    name: str, made: Callable[[list[Any]], Any], dtype: str
) -> None:
    x = tr.tensor(ROWS[dtype], dtype=dtype)
    collected = made(list(x))
    assert collected.dtype is x.dtype
    assert collected.to_numpy().tolist() == ROWS[dtype]


def test_what_a_loop_computes_is_collected_as_numpy_would() -> None:
    x = tr.tensor([1.0, 2.0, 3.0])
    array = np.array([1.0, 2.0, 3.0])
    assert tr.tensor([t * 1.5 for t in x]).to_numpy().tolist() == np.array([t * 1.5 for t in array]).tolist()
    assert tr.tensor([[t / 4, tr.sqrt(t)] for t in x]).to_numpy().tolist() == [[t / 4, np.sqrt(t)] for t in array]
    assert tr.tensor([tr.sum(x > 1), 0.5]).to_numpy().tolist() == [2.0, 0.5]
    assert tr.tensor([t > 1.5 for t in x]).dtype is tr.Bool


@pytest.mark.parametrize("dtypes", [("F32", "I32"), ("C32", "F64"), ("Bool", "I32"), ("I64", "F32"), ("F32", "F32")])
def test_elements_of_different_dtypes_meet_where_numpy_puts_them(dtypes: tuple[str, str]) -> None:
    scalars = [tr.ones((), dtype=dtype) for dtype in dtypes]
    found = tr.tensor(scalars)
    assert found.dtype.numpy_name == np.array([x.to_numpy()[()] for x in scalars]).dtype.name
    assert found.to_numpy().tolist() == [1, 1]


def test_an_element_goes_whole_into_a_dtype_that_was_asked_for() -> None:
    x = tr.tensor([1.5, 2.75])
    assert tr.tensor([1.0, x[1]], dtype="F64").to_numpy().tolist() == [1.0, 2.75]
    assert tr.tensor([x[1]], dtype="C32").to_numpy().tolist() == [2.75]
    with pytest.raises(tc.DTypeError, match=r"element: 2\.75 in a tensor of I64"):
        tr.tensor([x[1]], dtype="I64")


def test_an_element_is_written_whole_into_a_host_tensor() -> None:
    x = tr.tensor([1.5, 2.75])
    target = tc.HostTensor.zeros(2)
    target[0] = x[1]
    assert target.to_nested() == [2.75, 0.0]
    whole = tc.HostTensor.zeros(1, tc.I64)
    with pytest.raises(tc.DTypeError, match=r"element: 2\.75 in a tensor of I64"):
        whole[0] = x[1]
    assert whole.to_nested() == [0]
    assert tc.to_element(x[1], tc.F64) == 2.75


@pytest.mark.parametrize("made", [tr.tensor, tr.asarray])
@pytest.mark.parametrize("item", [tr.tensor([314.5, 2.0]), np.array([314.5, 2.0]), tr.tensor([314.5])])
def test_a_list_of_rank_1_tensors_or_arrays_names_stack(made: Callable[[Any], Any], item: Any) -> None:
    for options in ({}, {"dtype": "F64"}):
        with pytest.raises(tc.DTypeError, match=r"of shape \(\d,\).*stack\(\) joins tensors") as caught:
            made([item, item], **options)
        assert "314.5" not in str(caught.value)
