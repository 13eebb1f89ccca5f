"""Large elementwise results for outputs of another layout or dtype: made in pieces, the same as made whole."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import LossyConversionError, OverlappingViewError, ShapeError
from tensor_runtime.dispatch import out as out_module
from tensor_runtime.dispatch.call import execute_binary
from tensor_runtime.dispatch.out import written_in_pieces
from tensor_runtime.ops.arithmetic import ADD


def numbers(*shape: int) -> Any:
    return np.arange(float(np.prod(shape))).reshape(shape) - 7.0


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out_module, "_LEAST_IN_PIECES", 1)
    monkeypatch.setattr(out_module, "_PIECE_BYTES", 64)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("shape", [(1,), (50,), (7, 9), (40, 2), (2, 40), (3, 5, 4), (5, 1, 6), (0, 4), (4, 0), (1, 1)])
def test_outputs_with_gaps_turned_and_of_wider_dtypes_receive_what_numpy_gives(shape: tuple[int, ...]) -> None:
    x = numbers(*shape)
    a, rows = tr.asarray(x), tr.asarray(numbers(*shape[1:], 1)[..., 0] if len(shape) > 1 else numbers(1))
    expected = {
        "add": x + x,
        "scaled": x * 2.5,
        "broadcast": x + rows.to_numpy(),
        "chosen": np.where(x > 3, x, 1.5),
        "negative": -x,
    }
    calls: dict[str, Any] = {
        "add": lambda out: tr.add(a, a, out=out),
        "scaled": lambda out: tr.multiply(a, 2.5, out=out),
        "broadcast": lambda out: tr.add(a, rows, out=out),
        "chosen": lambda out: tr.where(a > 3, a, 1.5, out=out),
        "negative": lambda out: tr.negative(a, out=out),
    }
    for name, call in calls.items():
        apart = tr.full(tuple(2 * extent for extent in shape), 99.0)
        steps = (slice(None, None, 2),) * len(shape)
        back = (slice(None, None, -1),) * len(shape)
        turned, wide = tr.zeros(shape[::-1]), tr.zeros(shape, dtype="C64")
        for whole, target in (
            (apart, tr.mutable_view(apart)[steps][back]),
            (turned, tr.transpose(tr.mutable_view(turned))),
            (wide, wide),
        ):
            target = tr.mutable_view(target) if target is wide else target
            if not isinstance(target, tr.TypedTensorViewMut):
                target = tr.mutable_view(target)
            assert call(target) is target
            np.testing.assert_array_equal(target.to_numpy(), expected[name])
            if whole is apart:  # nothing beside it was written
                left = apart.to_numpy().copy()
                left[steps] = 99.0
                assert np.all(left == 99.0)


@pytest.mark.usefixtures("_small")
def test_an_operand_may_be_the_output_and_may_not_overlap_it() -> None:
    x = tr.asarray(numbers(6, 20), copy=True)
    view = tr.mutable_view(x)[:, ::2]
    tr.add(view, view, out=view)
    expected = numbers(6, 20)
    expected[:, ::2] *= 2
    np.testing.assert_array_equal(x.to_numpy(), expected)
    with pytest.raises(OverlappingViewError):
        tr.add(tr.mutable_view(x)[:, 1::2], tr.mutable_view(x)[:, :10], out=tr.mutable_view(x)[:, ::2])
    np.testing.assert_array_equal(x.to_numpy(), expected)


@pytest.mark.usefixtures("_small")
def test_mistakes_write_nothing() -> None:
    x, narrow, other = tr.ones((6, 20)), tr.full((6, 20), 5.0, dtype="F32"), tr.full((20, 6), 5.0)
    with pytest.raises(LossyConversionError):
        tr.add(x, x, out=narrow)
    with pytest.raises(ShapeError):
        tr.add(x, x, out=other)
    counts, target = tr.full((6, 20), 1, dtype="I32"), tr.zeros((6, 40), dtype="I64")
    divisors = tr.asarray(np.where(np.arange(120).reshape(6, 20) == 119, 0, 1).astype(np.int32))
    with pytest.raises(ZeroDivisionError):
        tr.floor_divide(counts, divisors, out=tr.mutable_view(target)[:, ::2])
    assert np.all(narrow.to_numpy() == 5) and np.all(other.to_numpy() == 5) and not target.to_numpy().any()


def test_pieces_are_a_fraction_of_a_large_result() -> None:
    x, whole = tr.asarray(numbers(300, 2000)), tr.zeros((300, 4000))
    target, sizes = tr.mutable_view(whole)[:, ::2], list[int]()

    def run(*operands: Any) -> tr.Tensor:
        result = partial(execute_binary, ADD)(*operands)
        sizes.append(result.size)
        return result

    assert written_in_pieces(ADD, target, run, x, 1.0)
    assert max(sizes) * 8 <= 2 * out_module._PIECE_BYTES and sum(sizes) == x.size
    np.testing.assert_array_equal(target.to_numpy(), numbers(300, 2000) + 1.0)
    assert not written_in_pieces(ADD, tr.zeros((2, 2)), run, tr.ones((2, 2)), 1.0)
