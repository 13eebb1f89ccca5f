"""Checked kernels refuse arrays that they were not bound to, and none writes to what is read-only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from binder_arguments import ARGUMENTS
from tensor_cpu.system import blas
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the native kernels are not built")


@pytest.fixture
def checked_calls() -> Iterator[None]:
    LIBRARY.set_call_checks(True)
    yield
    LIBRARY.set_call_checks(os.environ.get("TENSOR_CPU_CHECK_CALLS") == "1")


def bound_kernels() -> dict[str, tuple[Any, list[Any]]]:
    """Kernels of every binder, and arrays that they take."""
    blas.open_blas()
    made = {name: getattr(LIBRARY, name)(*good) for name, good in ARGUMENTS.items() if name != "copy_method"}
    three, matrix = np.ones(3), np.eye(2)
    arrays: dict[str, list[Any]] = {
        "bind_copy": [np.ones(2)],
        "bind_copy_into": [np.ones(2), np.ones(2)],
        "bind_padded": [np.ones(2), np.ones(1)],
        "bind_rolled": [np.ones(2)],
        "bind_triangle": [np.ones((2, 2))],
        "bind_convert": [np.ones(2, np.int32)],
        "bind_tiny_binary": [np.ones(2), np.ones(2)],
        "bind_tiny_unary": [np.ones(2)],
        "bind_tiny_contraction": [np.ones((4, 3)), np.ones((2, 4))],
        "bind_elementwise": [np.ones(5), np.ones(5)],
        "bind_pair": [three, three],
        "bind_gemm": [np.ones(4), np.ones(2)],
        "bind_stack": [np.ones(4), np.ones(2)],
        "bind_semiring": [three, np.ones(1)],
        "bind_products": [np.ones((2, 4)), np.ones((4, 3))],
        "bind_reduce": [np.ones((3, 4))],
        "bind_lapack": [matrix],
        "bind_batched_simd": [matrix],
        "bind_factorization": [matrix],
    }
    rolled = made["bind_rolled"]
    made["bind_rolled"] = lambda x: rolled(x, (1,))  # how far is said at each call
    return {name: (kernel, arrays[name]) for name, kernel in made.items()}


@pytest.mark.parametrize("binder", [name for name in ARGUMENTS if name != "copy_method"])
def test_a_checked_kernel_refuses_arrays_that_it_was_not_bound_to(binder: str, checked_calls: None) -> None:
    kernel, right = bound_kernels()[binder]
    kernel(*right)
    for place, array in enumerate(right):

        def call(other: Any, place: int = place) -> Any:
            return kernel(*right[:place], other, *right[place + 1 :])

        for dtype in ("f4", "i1", "i8", object, array.dtype.newbyteorder()):
            with pytest.raises(TypeError, match=f"argument {place} is of another element type"):
                call(array.astype(dtype))
        with pytest.raises(ValueError, match=f"argument {place} has fewer elements"):
            call(array.ravel()[:0])
        if array.size > 1:
            with pytest.raises(ValueError, match=f"argument {place} has fewer elements"):
                call(array.ravel()[:-1])
            with pytest.raises(ValueError, match=f"argument {place} has fewer elements"):
                call(array.ravel()[::-1])
        shifted = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype)
        with pytest.raises(ValueError, match=f"argument {place} is not aligned"):
            call(shifted)


def test_a_checked_copy_of_ten_million_elements_does_not_read_behind_one(checked_calls: None) -> None:
    kernel = LIBRARY.bind_copy((10**7,), (1,), "F64")
    with pytest.raises(ValueError, match="copy: argument 0 has fewer elements than it was bound to"):
        kernel(np.zeros(1))


def test_nothing_is_written_to_memory_that_is_read_only() -> None:
    write = LIBRARY.bind_copy_into((2,), (1,), (1,), "F64")
    text = bytes(16)
    with pytest.raises(ValueError, match="is read-only"):
        write(np.frombuffer(text, np.float64), np.ones(2))
    assert text == bytes(16)
    blas.open_blas()
    multiply = LIBRARY.bind_products("F64", None, (2, 3, 4), (), (4, 1), (3, 1), (3, 1))
    target = np.zeros((2, 3))
    target.flags.writeable = False
    with pytest.raises(ValueError, match="is read-only"):
        multiply(np.ones((2, 4)), np.ones((4, 3)), target)
    assert not target.any()
