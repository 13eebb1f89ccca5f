"""Writing where arrays cannot be written: new elements take the place of the old ones, and every view shows them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tensor_runtime as tr
from promised_device import PromisingBackend
from tensor_core.errors import IndexingError, OverlappingViewError, ReadOnlyError, UnsupportedOperationError
from tensor_runtime.backends.kernel_facts import KernelFacts, state
from tensor_runtime.backends.registry import registry


@pytest.fixture
def promising() -> Iterator[PromisingBackend]:
    made = PromisingBackend("promising")
    tr.register_backend("promising", made)
    yield made
    registry.unregister("promising")


def there(values: object) -> tr.Tensor:
    return tr.to(tr.tensor(values), "promising")


def listed(x: tr.Tensor) -> object:
    return tr.to(x, "cpu").to_numpy().tolist()


def test_what_is_written_is_seen_by_every_view(promising: PromisingBackend) -> None:
    x = there([[1, 2, 3], [4, 5, 6]])
    before, column = x.T, x[:, 1]
    view = tr.mutable_view(x)
    view[0, ::-2] = there([7, 8])
    assert listed(x) == [[8, 2, 7], [4, 5, 6]]
    assert listed(before) == [[8, 4], [2, 5], [7, 6]]
    tr.mutable_view(view.T)[1] = 0
    assert listed(column) == [0, 0]
    view += 1
    assert listed(x) == [[9, 1, 8], [5, 1, 7]]


def test_a_part_is_written_onto_what_overlaps_it(promising: PromisingBackend) -> None:
    x = there([1, 2, 3, 4])
    w = tr.mutable_view(x)
    w[1:] = x[:-1]
    assert listed(x) == [1, 1, 2, 3]
    w[:] = x[::-1]
    assert listed(x) == [3, 2, 1, 1]


def test_out_receives_results_and_refuses_as_everywhere(promising: PromisingBackend) -> None:
    x, out = there([1.0, 2.0]), tr.zeros((2,), placement="promising")
    seen = out[1:]
    assert tr.add(x, x, out=out) is out
    assert listed(out) == [2.0, 4.0]
    assert listed(seen) == [4.0]
    assert listed(tr.sum(there([[1, 2], [3, 4]]), 0, out=tr.mutable_view(out)[::-1])) == [4.0, 6.0]
    assert listed(out) == [6.0, 4.0]
    with pytest.raises(OverlappingViewError):
        tr.negative(out, out=tr.mutable_view(out)[::-1])
    with pytest.raises(ReadOnlyError):
        tr.negative(x[:1], out=out[1:])


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_put_along_axis_is_a_scatter(promising: PromisingBackend, axis: int | None) -> None:
    start = np.arange(12.0).reshape(3, 4)
    places = np.array([[0, -1, 1, 1]]) if axis == 0 else np.array([[0], [-1], [2]])
    if axis is None:
        places = np.array([0, -1, 5])
    expected, x = start.copy(), tr.to(tr.tensor(start), "promising")
    np.put_along_axis(expected, places, -7.0, axis)
    tr.put_along_axis(tr.mutable_view(x), tr.to(tr.tensor(places), "promising"), -7.0, axis)
    assert listed(x) == expected.tolist()


def test_an_index_out_of_range_is_refused_in_the_operations_words(promising: PromisingBackend) -> None:
    for place in ("cpu", "promising"):
        x = tr.zeros((2, 3), placement=place)
        with pytest.raises(IndexingError) as caught:
            tr.put_along_axis(tr.mutable_view(x), tr.to(tr.tensor([[0], [3]]), place), 1.0, axis=1)
        error = caught.value
        assert str(error) == (
            "put_along_axis: indices[1, 0] is 3, out of range for axis 1 of extent 3; accepted: -3 to 2"
        )
        assert (error.operation, error.position, error.value) == ("put_along_axis", (1, 0), 3)
        assert listed(x) == [[0.0] * 3] * 2


def test_scan_and_masks_write(promising: PromisingBackend) -> None:
    assert listed(tr.scan(tr.subtract, there([10, 3, 2]))) == [10, 7, 5]
    x = there([1, -2, 3])
    tr.mutable_view(x)[x < 0] = 0
    tr.mutable_view(x)[there([0, 2])] = there([5, 6])
    assert listed(x) == [5, 0, 6]


def test_what_nobody_reads_is_not_computed(promising: PromisingBackend) -> None:
    x = there([1.0, 2.0])
    _ = tr.exp(x)
    tr.mutable_view(x)[...] = x * 2.0
    assert promising.computed == []
    assert listed(x) == [2.0, 4.0]
    assert "exp" not in promising.computed


def test_a_kernel_that_writes_needs_a_rule(promising: PromisingBackend) -> None:
    state("demo_clear", KernelFacts(effect="writes"))
    form = tr.zeros((2,), placement="promising")._form
    x = tr.tensors.tensor.wrap(form, there([1.0, 2.0])._array)  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedOperationError, match=r"arrays of the promising backend cannot be written; no rule"):
        registry.bind("demo_clear", (form,), form, None)
    tr.register_rule("pure", "demo_clear", lambda x, params: x * 0.0)
    try:
        registry.bind("demo_clear", (form,), form, None)(x._array)
    finally:
        registry.unregister_rule("pure", "demo_clear")
    assert listed(x) == [0.0, 0.0]
