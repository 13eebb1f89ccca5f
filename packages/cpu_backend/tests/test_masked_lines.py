"""Elements of a line at a line of Bool: the native way beside NumPy's, of every dtype, length and instruction set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_cpu.system.extension import AVAILABLE

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)

DTYPES = ("F32", "F64", "I32", "I64", "Bool", "C32", "C64")
LENGTHS = (0, 1, 7, 8, 63, 64, 65, 127, 128, 129, 300, 1000, 40_000)


@pytest.fixture(autouse=True)
def _kernels_of_each_instruction_set(instruction_set: str) -> Iterator[None]:
    tr.binding_cache.clear()  # kernels keep the set that they were made for
    yield
    tr.binding_cache.clear()


def line(length: int, dtype: str) -> Any:
    return tr.cast(tr.asarray(np.arange(1, length + 1) % 97), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_mask_chooses_what_it_chooses_in_numpy(dtype: str) -> None:
    rng = np.random.default_rng(7)
    for length in LENGTHS:
        x = line(length, dtype)
        for share in (0.0, 0.02, 0.5, 1.0):
            mask = rng.random(length) < share
            for _ in range(2):  # the second time the form is known
                found = x[tr.asarray(mask)]
                assert type(found) is tr.Tensor and found.dtype.name == dtype
                np.testing.assert_array_equal(found.to_numpy(), x.to_numpy()[mask])
            np.testing.assert_array_equal(tr.nonzero(tr.asarray(mask))[0].to_numpy(), np.flatnonzero(mask))


def test_what_is_no_line_or_lies_with_gaps_is_chosen_likewise() -> None:
    numbers = np.arange(24.0)
    x, mask = tr.asarray(numbers), tr.asarray(numbers % 3 == 0)
    np.testing.assert_array_equal(x[::-2][mask[::2]].to_numpy(), numbers[::-2][(numbers % 3 == 0)[::2]])
    wide, truth = numbers.reshape(4, 6), numbers.reshape(4, 6) % 5 < 2
    np.testing.assert_array_equal(tr.asarray(wide)[tr.asarray(truth)].to_numpy(), wide[truth])
    np.testing.assert_array_equal(tr.mutable_view(tr.asarray(numbers.copy()))[mask].to_numpy(), numbers[::3])
    with pytest.raises(IndexError, match="mask"):
        x[mask[1:]]


def test_the_chosen_elements_are_memory_of_their_own() -> None:
    x = tr.asarray(np.arange(10.0), copy=True)
    found = x[x > 4.0]
    tr.mutable_view(x)[...] = 0.0
    assert found.to_numpy().tolist() == [5.0, 6.0, 7.0, 8.0, 9.0]
