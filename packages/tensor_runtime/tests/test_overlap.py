"""Whether arrays share memory: against the sets of their bytes, and through ``out=``."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.dtypes import C64, F32, F64, I32, Bool
from tensor_core.errors import BackendError, OverlappingViewError
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch import overlap
from tensor_runtime.dispatch.overlap import equation, overlap_test, solved
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU
from tensor_runtime.testing.simulated_device import SimulatedBackend

SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)


@st.composite
def forms(draw: Any) -> Form:
    shape = draw(SHAPES)
    strides = tuple(draw(st.lists(st.integers(-12, 12), min_size=len(shape), max_size=len(shape))))
    return form_of(draw(st.sampled_from([F32, F64, C64, I32, Bool])), shape, CPU, strides)


def bytes_of(form: Form, start: int) -> set[int]:
    size = form.dtype.itemsize
    return {
        start + sum(position * stride for position, stride in zip(index, form.strides, strict=True)) * size + byte
        for index in product(*map(range, form.shape))
        for byte in range(size)
    }


@given(forms(), forms(), st.integers(-300, 300))
def test_overlap_is_the_intersection_of_the_bytes(first: Form, second: Form, start: int) -> None:
    expected = not bytes_of(first, 0).isdisjoint(bytes_of(second, start))

    assert overlap_test(first, second)(0, start) == (expected and not (first is second and start == 0))
    assert overlap_test(second, first)(start, 0) == overlap_test(first, second)(0, start)


@given(forms(), st.integers(-40, 40))
def test_views_of_one_kind_overlap_unless_they_are_the_same(form: Form, elements: int) -> None:
    start = elements * form.dtype.itemsize

    assert overlap_test(form, form)(64, 64 + start) == (
        start != 0 and not bytes_of(form, 0).isdisjoint(bytes_of(form, start))
    )


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), max_size=5), st.integers(-3, 300))
def test_an_equation_is_solvable_when_some_choice_of_its_unknowns_solves_it(
    terms: list[tuple[int, int]], total: int
) -> None:
    sums = {sum(choice) for choice in product(*[[step * x for x in range(most + 1)] for step, most in terms])}

    assert solved(*equation(terms), total) == (total in sums)


def test_a_question_that_takes_too_long_counts_as_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = [(6, 2), (10, 2), (15, 2)]
    assert not solved(*equation(terms), 28)

    monkeypatch.setattr(overlap, "MOST_CANDIDATES", 0)
    assert solved(*equation(terms), 28)


def test_interleaved_columns_of_any_extent_do_not_overlap() -> None:
    memory = tr.zeros((6, 1000, 1000))
    view = tr.mutable_view(memory)

    tr.add(memory[1::2], 1.0, out=view[::2])
    assert tr.sum(memory).item() == 3_000_000
    with pytest.raises(OverlappingViewError, match="shares a part"):
        tr.add(memory[1:5], 1.0, out=view[:4])


def test_two_views_of_foreign_memory_overlap_though_their_owners_differ() -> None:
    memory = bytearray(80)
    first = tr.asarray(np.frombuffer(memory, np.float64, 8), copy=False)
    second = tr.asarray(np.frombuffer(memory, np.float64, 8, offset=16), copy=False)

    with pytest.raises(OverlappingViewError, match="shares a part"):
        tr.negative(second, out=first.mutable_view())
    tr.negative(second[6:], out=first.mutable_view()[:2])


class Elsewhere(SimulatedBackend):
    """A device of separate allocations, each an address space of its own."""

    answer: Any = None

    def location_of(self, array: Any, /) -> Any:
        if self.answer is not None:
            return self.answer
        base = array.inside
        while isinstance(base.base, np.ndarray):
            base = base.base
        return id(base), self.offset_of(array) * array.inside.itemsize


@pytest.fixture
def elsewhere() -> Any:
    device = Elsewhere(tr.backend("cpu"), "elsewhere")
    tr.register_backend("elsewhere", device)
    yield device
    registry.unregister("elsewhere")


def test_the_runtime_decides_from_where_a_backend_says_its_arrays_lie(elsewhere: Elsewhere) -> None:
    x, y = (tr.to(tr.ones((6,)), elsewhere.placement()) for _ in range(2))

    tr.add(y[1:], y[:5], out=x.mutable_view()[:5])
    with pytest.raises(OverlappingViewError, match="shares a part"):
        tr.add(x[1:], y[:5], out=x.mutable_view()[:5])
    with pytest.raises(OverlappingViewError, match="shares a part"):
        tr.add(y[:5], x[1:], out=x.mutable_view()[:5])
    assert tr.to(x, "cpu").to_numpy().tolist() == [2.0] * 5 + [1.0]


@pytest.mark.parametrize("answer", [7, ("space",), ("space", "there")])
def test_a_place_that_is_none_is_the_backends_fault(elsewhere: Elsewhere, answer: Any) -> None:
    x = tr.to(tr.ones((2,)), elsewhere.placement())
    elsewhere.answer = answer

    with pytest.raises(BackendError, match=r"^negative: the backend failed"):
        tr.negative(x, out=tr.to(tr.zeros((2,)), elsewhere.placement()).mutable_view())
