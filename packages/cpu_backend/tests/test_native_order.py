"""Indices that sort, by radix: those of a stable comparison sort, whatever the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_cpu import kernel_table
from tensor_cpu.kernels.sort import native
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

NATIVE = pytest.mark.skipif(not AVAILABLE, reason="the extension was not built")
RANDOM = np.random.default_rng(8)


def of_kind(kind: str, shape: tuple[int, ...], dtype: str) -> Any:
    """Numbers with many equals, few, or of all magnitudes and signs."""
    if dtype[0] == "i":
        limits = np.iinfo(dtype)
        low, high = {"equal": (-3, 3), "near": (10**6, 10**6 + 300), "wide": (limits.min, limits.max)}[kind]
        return RANDOM.integers(low, high, shape, dtype=dtype)
    if kind == "equal":
        return RANDOM.choice(np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, -1.0], dtype), shape)
    if kind == "near":
        return RANDOM.integers(0, 300, shape).astype(dtype)
    return (RANDOM.standard_normal(shape) * 10.0 ** RANDOM.integers(-30, 30, shape)).astype(dtype)


@NATIVE
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("kind", ["equal", "near", "wide"])
def test_every_line_is_sorted_as_a_stable_comparison_sorts_it(dtype: str, kind: str) -> None:
    for shape in ((200,), (3, 70), (70, 3), (2, 60, 2)):
        x = of_kind(kind, shape, dtype)
        ours = tr.asarray(x, copy=True)
        for axis in range(len(shape)):
            found = tr.argsort(ours, axis).to_numpy()
            assert (found == np.argsort(x, axis=axis, kind="stable")).all()
            turned = tr.argsort(ours, axis, descending=True).to_numpy()
            assert (turned == np.argsort(-x if dtype[0] == "f" else ~x, axis=axis, kind="stable")).all()


@NATIVE
def test_lines_in_order_and_lines_between_threads_are_sorted_alike() -> None:
    before = LIBRARY.threads()
    tr.set_threads(2)
    try:
        x = of_kind("wide", (90, 300), "f8")
        x[:, ::7] = np.sort(x[:, ::7], axis=0)
        for axis in (0, 1):
            found = tr.argsort(tr.asarray(x, copy=True), axis).to_numpy()
            assert (found == np.argsort(x, axis=axis, kind="stable")).all()
    finally:
        tr.set_threads(before)


@NATIVE
def test_distinct_elements_are_told_with_places_in_the_first_order() -> None:
    x = of_kind("near", (40, 30), "i8")
    values, inverse = tr.unique_inverse(tr.asarray(x, copy=True))
    assert (values.to_numpy()[inverse.to_numpy()] == x).all()
    assert values.to_numpy().tolist() == sorted(set(x.ravel().tolist()))
    truths = tr.unique_values(tr.asarray(np.array([3, 0, 255], np.uint8).view(bool)))
    assert truths.to_numpy().tolist() == [False, True]


@NATIVE
def test_the_kernel_is_bound_for_lines_without_gaps_alone() -> None:
    form, none = tr.zeros(100)._form, tr.zeros(0)._form
    order, places = tr.zeros(100, dtype="I64")._form, tr.zeros(0, dtype="I64")._form
    assert "argsort" in repr(kernel_table.bind("argsort", (form,), order, (0, False)))
    assert native.bind_argsort((none,), places, (0, False)) is None  # type: ignore[arg-type]
    apart = tr.zeros(200)[::2]._form
    assert native.bind_argsort((apart,), order, (0, False)) is None  # type: ignore[arg-type]
    for wrong in (
        ("Bool", (1, 100, 1), False, (100,)),
        ("F64", (1, 99, 1), False, (100,)),
        ("F64", (0, 1, 1), False, ()),
    ):
        with pytest.raises(ValueError, match="bind_argsort"):
            LIBRARY.bind_argsort(*wrong)


@NATIVE
def test_zeros_that_are_gone_from_the_source_are_looked_for_to_its_end_alone() -> None:
    """As when another thread writes it meanwhile."""
    line = np.array([-1.0, 0.0, 0.0, 0.0])
    LIBRARY.settle_zeros(line, np.array([-1.0, -0.0, 5.0, 5.0]))
    assert np.signbit(line).tolist() == [True, True, False, False]
