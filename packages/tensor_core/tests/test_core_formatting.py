"""The text of a tensor: bounded in cost, readable in full when small."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tensor_core import C64, F32, F64, I64, DType, HostTensor
from tensor_core.formatting import format_element, format_tensor
from tensor_core.testing.strategies import host_views


def test_a_matrix_prints_as_rows() -> None:
    assert repr(HostTensor.from_nested([[1.0, -2.5], [1e20, 1 / 3]])) == (
        "HostTensor F64 (2, 2)\n        1.0        -2.5\n      1e+20  0.33333333"
    )
    assert repr(HostTensor.from_nested([1, 20])) == "HostTensor I64 (2,)\n  1  20"
    assert repr(HostTensor.from_nested(1 + 2j)) == "HostTensor C64 (complex128) ()\n 1.0+2.0j"
    assert repr(HostTensor.from_nested([True])[::-1]) == "HostTensorView Bool (1,)\n True"


def test_frontal_slices_carry_their_index() -> None:
    x = HostTensor.from_flat(range(8), (2, 2, 2))
    assert repr(x) == "HostTensor I64 (2, 2, 2)\n[:, :, 0] =\n 0  2\n 1  3\n[:, :, 1] =\n 4  6\n 5  7"


@pytest.mark.parametrize("shape", [(10**9,), (10**6, 10**6), (3, 10**4, 10**5, 7), (10**5,) * 3])
def test_the_cost_is_bounded_whatever_the_size(shape: tuple[int, ...]) -> None:
    reads = []

    def read(index: tuple[int, ...]) -> int:
        reads.append(index)
        return sum(index)

    text = format_tensor("header", I64, shape, read)
    assert len(reads) <= 4 * 100
    assert len(text) < 20_000
    assert "..." in text
    assert all(0 <= k < n for index in reads for k, n in zip(index, shape, strict=True))


@pytest.mark.parametrize(
    ("element", "dtype", "text"),
    [
        (0.10000000149011612, F32, "0.1"),
        (float("nan"), F64, "nan"),
        (float("-inf"), F64, "-inf"),
        (-0.0, F64, "-0.0"),
        (1e300, F64, "1e+300"),
        (complex(float("inf"), float("nan")), C64, "inf+nanj"),
        (123456789, I64, "123456789"),
    ],
)
def test_an_element_prints_shortly(element: Any, dtype: DType, text: str) -> None:
    assert format_element(element, dtype) == text


@given(host_views())
def test_every_view_has_a_text(x: Any) -> None:
    assert repr(x).startswith(f"HostTensorView {x.dtype} {x.shape}\n")
