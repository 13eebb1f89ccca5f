"""Copies whose target lies a few elements past the source, modulo a page of memory, have every element in its place.

Lines of a matrix whose columns are whole pages are such that for one shift or another; C libraries are slow at some of
those, which the extension moves by a loop of its own (csrc/core/moved_bytes.h).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr

ROWS = 1 << 14  # bytes of a column or more: whole pages, whatever the elements have
SHIFTS = range(-9, 10)
DTYPES = ("Bool", "F32", "F64", "C64")  # of 1, 4, 8 and 16 bytes


def numbers(dtype: str, *shape: int) -> Any:
    """Integers that tell one element from the next ones, as a column-major array."""
    return tr.cast(tr.integers(shape, 0, 2 if dtype == "Bool" else 1 << 20, seed=len(dtype)), dtype)


def cut(shift: int, rows: int) -> tuple[slice, slice]:
    """Where the source of a shift is, and the target."""
    return slice(max(-shift, 0), rows - max(shift, 0)), slice(max(shift, 0), rows - max(-shift, 0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [40, 2047, 2048, 2049, ROWS])
def test_lines_are_written_at_every_shift(dtype: str, length: int) -> None:
    sheet = numbers(dtype, ROWS, 4)
    array = np.array(sheet.to_numpy(), order="F")
    for shift in SHIFTS:
        written, expected = tr.mutable_view(tr.copy(sheet)), array.copy(order="F")
        source, target = cut(shift, length)
        written[target, 2:] = written[source, :2]  # columns apart, so that nothing overlaps
        expected[target, 2:] = array[source, :2]
        np.testing.assert_array_equal(written.to_numpy(), expected, strict=True, err_msg=str(shift))
        if dtype != "Bool":
            tr.positive(sheet[source, 0], out=written[target, 1])
            expected[target, 1] = array[source, 0]
            np.testing.assert_array_equal(written.to_numpy(), expected, strict=True, err_msg=str(shift))


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_overlaps_is_written_as_if_it_had_been_copied_first(dtype: str) -> None:
    sheet = numbers(dtype, ROWS, 2)
    array = sheet.to_numpy()
    for shift in (*SHIFTS, -4097, -4096, -4095, 4096, 4097, 4104):
        source, target = cut(shift, ROWS)
        written, expected = tr.mutable_view(tr.copy(sheet)), array.copy(order="F")
        written[target] = written[source]
        expected[target] = array[source]
        np.testing.assert_array_equal(written.to_numpy(), expected, strict=True, err_msg=str(shift))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rolled_joined_and_gathered_lines_are_numpys(dtype: str) -> None:
    x = numbers(dtype, ROWS, 3)
    array = x.to_numpy()
    columns = tr.tensor([2, 0, 2])
    for shift in SHIFTS:
        source, split = cut(shift, ROWS)[0], ROWS - 10 - shift
        found = [
            (tr.roll(x, shift, 0), np.roll(array, shift, 0)),
            (tr.concatenate([x[split:], x[:split]]), np.concatenate([array[split:], array[:split]])),
            (tr.copy(x[source]), array[source]),
            (tr.copy(x[source, 1]), array[source, 1]),
            (tr.pad(x, ((abs(shift), 1), (1, 0))), np.pad(array, ((abs(shift), 1), (1, 0)))),
            (tr.take(x[source], columns, 1), array[source][:, [2, 0, 2]]),
            (x[source, columns], array[source][:, [2, 0, 2]]),
            (tr.sort(x[source], axis=1), np.sort(array[source], 1)) if dtype != "C64" else (x, array),
        ]
        for one, expected in found:
            np.testing.assert_array_equal(one.to_numpy(), expected, strict=True, err_msg=str(shift))
