"""What went wrong once with native kernels, through the public functions."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import tensor_linalg
import tensor_runtime as tr
from tensor_core.errors import CastRangeError, TensorError, UnsupportedOperationError
from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT

native = pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT)


@pytest.mark.parametrize("size", [3, 4095, 4096, 20_000])
def test_a_number_beyond_a_narrow_dtype_is_an_infinity_in_silence(size: int) -> None:
    x = tr.ones((size,), dtype=tr.F32)
    double = tr.fuse(lambda a: tr.multiply(tr.add(a, a), 1e300))
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for result in (tr.multiply(x, 1e300), tr.where(tr.greater(x, 0.0), 1e300, x), double(x)):
            assert result[size - 1].item() == float("inf")


@pytest.mark.parametrize("size", [3, 4095, 4096])
def test_a_number_in_a_logical_operation_is_of_the_tensors_dtype_first(size: int) -> None:
    real, whole = tr.ones((size,), dtype=tr.F32), tr.ones((size,), dtype=tr.I32)
    assert tr.logical_and(real, 1e-320)[0].item() is False
    assert tr.fuse(lambda a: tr.logical_and(a, 1e-320))(real)[0].item() is False
    with pytest.raises(CastRangeError, match="does not fit I32"):
        tr.logical_or(whole, 2**31)


def test_a_long_sum_of_products_needs_no_tables() -> None:
    before = tr.binding_cache.stats().bytes
    x = tr.arange(200_000, dtype=tr.I64)
    product = tr.dot_general(tr.reverse_view(x, 0), x, contracting=((0,), (0,)))
    assert product.item() == sum(k * (199_999 - k) for k in range(200_000))
    assert tr.binding_cache.stats().bytes - before < 50_000


@native
def test_tables_of_a_kernel_count_in_the_cache() -> None:
    shape, one = (3,), ((3, 1, 1, 1),)
    short = LIBRARY.bind_pair("F64", shape, one, ((10, 3, 3, 0),))
    long = LIBRARY.bind_pair("F64", shape, one, ((100_010, 3, 3, 0),))
    assert sys.getsizeof(long) - sys.getsizeof(short) == 16 * 100_000


def test_too_many_axes_for_numpys_decompositions_are_named() -> None:
    z = tr.reshape_view(tr.tensor([[2.0, 0.0], [0.0, 1.0]]), (2, 2, *(1,) * 61))
    try:
        found = tensor_linalg.svd(z)
    except UnsupportedOperationError as error:
        assert not AVAILABLE and "reshape the batch axes to one" in str(error)
    else:
        assert found.s.to_numpy().ravel().tolist() == [2.0, 1.0]


def test_what_does_not_fit_into_memory_is_told_with_its_size() -> None:
    x = tr.broadcast_to(tr.ones((1,)), (2**45,))
    with pytest.raises(TensorError, match=r"(?i)allocate .*\d"):
        tr.to_contiguous(x)


def test_an_empty_setting_is_no_setting() -> None:
    code = "from tensor_cpu.system import extension; print(extension.AVAILABLE)"
    environment = {**os.environ, "TENSOR_CPU_NATIVE": ""}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    plain = {name: value for name, value in os.environ.items() if name != "TENSOR_CPU_NATIVE"}
    unset = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, text=True, check=True)
    assert done.stdout == unset.stdout
