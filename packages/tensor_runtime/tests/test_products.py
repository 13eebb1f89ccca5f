"""Products of vectors equal NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES, Bool, promote
from tensor_core.dtypes import COMPLEX
from tensor_core.errors import ArgumentError, AxisError, DTypeError, PlacementError, ShapeError
from tensor_runtime.testing.simulated_device import SimulatedBackend

Array = np.ndarray[Any, Any]


def whole_numbers(seed: int, shape: tuple[int, ...], dtype: Any) -> Array:
    rng = np.random.default_rng(seed)
    array = rng.integers(-3, 4, shape)
    if dtype in COMPLEX:
        array = array + 1j * rng.integers(-3, 4, shape)
    return np.array(array.astype(dtype.numpy_name), order="F" if seed % 2 else "C")


@given(st.data())
def test_matmul_equals_numpys_with_leading_batches(data: st.DataObject) -> None:
    m, k, n = (data.draw(st.integers(0, 4)) for _ in range(3))
    batch = data.draw(st.lists(st.integers(0, 3), max_size=2))
    shapes = []
    for core in ((m, k), (k, n)):
        rank = data.draw(st.integers(0, len(batch)))
        lead = [data.draw(st.sampled_from([1, extent])) for extent in batch[len(batch) - rank :]]
        shapes.append((*lead, *core))
    if data.draw(st.booleans()):
        shapes[0] = (k,)
    if data.draw(st.booleans()):
        shapes[1] = (k,)
    one, two = data.draw(st.sampled_from(DTYPES)), data.draw(st.sampled_from(DTYPES))
    a, b = whole_numbers(data.draw(st.integers(0, 99)), shapes[0], one), whole_numbers(3, shapes[1], two)

    result = tr.matmul(tr.asarray(a), tr.asarray(b))
    expected = np.matmul(a, b)
    assert result.dtype is promote(one, two)
    assert result.shape == expected.shape
    assert result.is_compact
    np.testing.assert_array_equal(result.to_numpy(), expected)
    np.testing.assert_array_equal((tr.asarray(a) @ tr.asarray(b)).to_numpy(), expected)


@given(st.data())
def test_dot_general_keeps_free_axes_then_batch_axes(data: st.DataObject) -> None:
    extents = {label: data.draw(st.integers(0, 3)) for label in "abcdef"}
    batch, contracted, free_a, free_b = (
        "a"[: data.draw(st.integers(0, 1))],
        "bc"[: data.draw(st.integers(0, 2))],
        "d",
        "ef",
    )
    labels_a = "".join(data.draw(st.permutations(batch + contracted + free_a)))
    labels_b = "".join(data.draw(st.permutations(batch + contracted + free_b)))
    dtype = data.draw(st.sampled_from([dtype for dtype in DTYPES if dtype is not Bool]))
    a = whole_numbers(1, tuple(extents[label] for label in labels_a), dtype)
    b = whole_numbers(2, tuple(extents[label] for label in labels_b), dtype)
    contracting = (
        [labels_a.index(label) for label in contracted],
        [labels_b.index(label) - b.ndim for label in contracted],
    )
    batching = [labels_a.index(label) for label in batch], [labels_b.index(label) for label in batch]
    left = [label for label in labels_a if label in free_a]
    right = [label for label in labels_b if label in free_b]
    expected = np.einsum(f"{labels_a},{labels_b}->{''.join([*left, *right, *batch])}", a, b)

    result = tr.dot_general(tr.asarray(a), tr.asarray(b), contracting=contracting, batch=batching)
    assert result.is_compact
    np.testing.assert_array_equal(result.to_numpy(), expected)


@pytest.mark.parametrize("axes", [0, 1, 2, ([0, 1], [1, 0]), ([-1], [0]), (1, 0), ((), ())])
def test_tensordot_equals_numpys(axes: Any) -> None:
    a, b = whole_numbers(1, (3, 3, 3), DTYPES[1]), whole_numbers(2, (3, 3, 3), DTYPES[1])

    result = tr.tensordot(tr.asarray(a), tr.asarray(b).T, axes=axes)
    np.testing.assert_array_equal(result.to_numpy(), np.tensordot(a, b.T, axes))


def test_views_go_into_products_as_they_are() -> None:
    a = whole_numbers(1, (6, 6), DTYPES[1])
    x = tr.asarray(np.asfortranarray(a))
    for view, array in (
        (x.T, a.T),
        (x[::-1], a[::-1]),
        (x[::2, 1::2], a[::2, 1::2]),
        (tr.broadcast_to(x[:1], (6, 6)), a[:1]),
    ):
        wide = np.broadcast_to(array, view.shape)
        np.testing.assert_array_equal((view @ view.T).to_numpy(), wide @ wide.T)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a, b: tr.matmul(a, b), ShapeError, "shapes \\(2, 3\\) and \\(2, 3\\); accepted: .* but k is 3 and 2"),
        (lambda a, b: tr.matmul(a, tr.tensor(1.0)), ShapeError, "rank 1 or more"),
        (lambda a, b: a @ 2.0, TypeError, r"matmul: found a float; .*write x \* number"),
        (lambda a, b: tr.matmul(a, 2.0), ArgumentError, "multiply"),
        (lambda a, b: tr.matmul(a, "x"), DTypeError, "type str"),
        (lambda a, b: tr.matmul(tr.ones((2, 3, 4)), tr.ones((3, 4, 5))), ShapeError, "do not broadcast"),
        (lambda a, b: tr.tensordot(a, b, axes=3), ArgumentError, "accepted: 0 to 2"),
        (lambda a, b: tr.tensordot(a, b, axes=(0,)), ArgumentError, "a pair"),
        (lambda a, b: tr.tensordot(a, b, axes="ab"), ArgumentError, "a pair"),
        (
            lambda a, b: tr.tensordot(a, b, axes=([0], [1])),
            ShapeError,
            "axis 0 of a has extent 2 but axis 1 of b has 3",
        ),
        (
            lambda a, b: tr.dot_general(a, b, contracting=([0, 1], [0])),
            ArgumentError,
            "2 contracted axes of a and 1 of b",
        ),
        (lambda a, b: tr.dot_general(a, b, contracting=([0], [0]), batch=([0], [0])), ArgumentError, "both contracted"),
        (lambda a, b: tr.dot_general(a, b, contracting=([0, 0], [0, 0])), AxisError, "twice"),
        (lambda a, b: tr.dot_general(a, b, contracting=([5], [0])), AxisError, "out of range"),
    ],
)
def test_what_does_not_fit_is_named(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call(tr.ones((2, 3)), tr.ones((2, 3)))


def test_products_across_places_list_both_operands() -> None:
    device = SimulatedBackend(tr.backend("cpu"), "simulated")
    tr.register_backend("simulated", device)
    try:
        there = tr.to(tr.ones((3, 2)), device.placement())
        with pytest.raises(PlacementError, match="operand 1: F64 \\(3, 2\\) on simulated:0"):
            tr.ones((2, 3)) @ there
    finally:
        from tensor_runtime.backends.registry import registry

        registry.unregister("simulated")
