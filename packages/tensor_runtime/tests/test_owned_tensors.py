"""Which tensors ``out=`` takes: mutable views, and tensors of memory of their own, but no view of theirs."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import ReadOnlyError
from tensor_runtime.tensors.tensor import owns

VIEWS: dict[str, Callable[[tr.Tensor], tr.Tensor]] = {
    "x[:]": lambda x: x[:],
    "x[...]": lambda x: x[...],
    "x[None]": lambda x: x[None],
    "x.reshape": lambda x: x.reshape(3, 2),
    "x[::-1][::-1]": lambda x: x[::-1][::-1],
    "squeeze": lambda x: tr.squeeze(x),
    "expand_dims": lambda x: tr.expand_dims(x, 0),
    "transposed twice": lambda x: tr.transpose(tr.transpose(x)),
    "x.T": lambda x: x.T,
    "split": lambda x: tr.split(x, 1)[0],
    "unstack": lambda x: tr.unstack(x[None])[0],
    "iteration": lambda x: next(iter(x[None])),
    "broadcast_to": lambda x: tr.broadcast_to(x, (6,)),
    "flip twice": lambda x: tr.flip(tr.flip(x)),
    "of a mutable view": lambda x: x.mutable_view().T,
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_of_all_of_a_tensor_is_no_output(view: Callable[[tr.Tensor], tr.Tensor]) -> None:
    x = tr.zeros(6)
    for _ in range(2):  # the second call finds what the first has bound
        out = view(x)
        with pytest.raises(ReadOnlyError, match="exp: out is a view"):
            tr.exp(tr.zeros(out.shape), out=out)
        with pytest.raises(ReadOnlyError, match="add: out is a view"):
            tr.add(tr.zeros(out.shape), 1.0, out=out)
    assert x.tolist() == [0.0] * 6
    tr.exp(tr.zeros(out.shape), out=tr.mutable_view(out))
    assert x.tolist() == [1.0] * 6


@pytest.mark.parametrize("lend", [tr.asarray, tr.from_dlpack])
@pytest.mark.parametrize("memory", [np.zeros(6), np.zeros((2, 3), order="F"), array("d", [0.0] * 6)])
def test_what_another_library_lends_is_no_output(lend: Callable[[Any], tr.Tensor], memory: Any) -> None:
    if lend is tr.from_dlpack and isinstance(memory, array):
        pytest.skip("lends no capsule")
    for _ in range(2):
        x = lend(memory)
        with pytest.raises(ReadOnlyError, match="exp: out is a view that is not mutable, or memory that another"):
            tr.exp(tr.zeros(x.shape), out=x)
        assert not np.asarray(memory).any()


def test_what_was_copied_from_another_library_is_an_output() -> None:
    for source in (np.zeros((2, 3)), np.zeros((300, 200)), np.zeros((2, 3), "f4")):
        for x in (tr.asarray(source), tr.asarray(source, copy=True), tr.asarray(source, dtype="F64")):
            tr.exp(tr.zeros(x.shape, dtype=x.dtype), out=x)
            assert x[-1, -1].item() == 1.0 and not source.any()


def test_what_was_computed_is_an_output_also_where_it_was_reshaped_on_the_way() -> None:
    x = tr.ones((2, 3))
    made = (x + x, tr.copy(x[:]), x.T.reshape(6), tr.kron(x, x), tr.to(x, "cpu"), tr.asarray(x), tr.roll(x, 1))
    assert [owns(one) for one in made] == [True] * len(made)
    for one in made:
        tr.exp(tr.zeros(one.shape), out=one)


def test_a_tensor_that_takes_the_place_of_a_dead_view_owns_its_memory() -> None:
    x = tr.zeros(6)
    for _ in range(200):
        del_me = x[:]
        assert not owns(del_me)
        del del_me
        assert owns(x + 1.0)
