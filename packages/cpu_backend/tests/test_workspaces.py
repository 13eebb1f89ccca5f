"""What the kernels of contractions say that they take besides their results, against what is seen allocated."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import C64, F32, F64, I32, I64, Bool, DType
from tensor_cpu.kernels.contraction.broadcast_sum import bind_broadcast_sum, plan_broadcast_sum
from tensor_cpu.kernels.contraction.semiring import bind_semiring_contract as bind_numpy
from tensor_cpu.system.errstate import IGNORING_FP_ERRORS
from tensor_cpu.system.extension import AVAILABLE
from tensor_cpu.system.memory import pool
from tensor_runtime.algebras import MAX_PLUS, MIN_PLUS, PLUS_TIMES, Semiring
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.shared.axes import join, native, row_major
from tensor_runtime.backends.workspaces import workspace_of
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU
from tensor_runtime.protocols import Kernel
from tensor_runtime.tensors.tensor import Tensor

N = 1024
MATRIX = N * N * 8  # bytes, a size that the pool does not round
UNSEEN = 1 << 16 if AVAILABLE else 3 << 19
"""Bytes of a buffer below which it is not the pool's; NumPy's kernels take some of a fixed size for a block."""
PANELS = 5 << 19
"""Bytes of the panels that a thread packs of operands of 8 bytes an element, at most."""
PRODUCT = ((0, 1), (1, 2), (0, 2))

VIEWS: dict[str, Callable[[], Tensor]] = {
    "plain": lambda: tr.ones((N, N)),
    "transposed": lambda: tr.ones((N, N)).T,
    "with gaps": lambda: tr.ones((N + 1, N))[:N],
    "one element, repeated": lambda: tr.broadcast_to(tr.ones((1, 1)), (N, N)),
    "repeated columns": lambda: tr.broadcast_to(tr.ones((N, 1)), (N, N)),
    "repeated rows": lambda: tr.broadcast_to(tr.ones((1, N)), (N, N)),
    "rows reversed": lambda: tr.ones((N, N))[::-1],
    "columns reversed": lambda: tr.ones((N, N))[:, ::-1],
    "interleaved": lambda: tr.ones((2 * N, 2 * N))[::2, ::2],
}
PLAIN = ("plain", "transposed", "with gaps")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with tr.set_threads(1):
        yield


def bound(name: str, operands: tuple[Tensor, ...], shape: tuple[int, ...], dtype: DType, params: Any) -> Kernel:
    return registry.bind(name, tuple(x._form for x in operands), form_of(dtype, shape, CPU), params)


def taken(kernel: Kernel, *operands: Tensor) -> int:
    """Most bytes in use at one time during a call, without the result."""
    arrays = [x._array for x in operands]
    if not AVAILABLE:
        tracemalloc.start()
        try:
            result = kernel(*arrays)
            return tracemalloc.get_traced_memory()[1] - int(result.nbytes)
        finally:
            tracemalloc.stop()
    pool.clear()
    before = pool.stats().used_bytes
    result = IGNORING_FP_ERRORS.copy().run(kernel, *arrays)  # where NumPy's arrays lie in the pool, too
    return pool.stats().peak_bytes - before - int(result.nbytes)


def assert_announced(kernel: Kernel, *operands: Tensor) -> None:
    seen = taken(kernel, *operands)
    assert abs(seen - workspace_of(kernel)) <= 0.02 * seen + 2 * UNSEEN


@pytest.mark.parametrize("first", PLAIN)
@pytest.mark.parametrize("second", PLAIN)
def test_a_product_of_matrices_that_blas_reads_takes_nothing(first: str, second: str) -> None:
    x, y = VIEWS[first](), VIEWS[second]()
    kernel = bound("contract", (x, y), (N, N), F64, PRODUCT)
    assert workspace_of(kernel) == 0
    assert_announced(kernel, x, y)


@pytest.mark.usefixtures("by_blas")
@pytest.mark.parametrize("view", [name for name in VIEWS if name not in PLAIN])
def test_a_product_announces_the_copy_of_an_operand_that_blas_cannot_read(view: str) -> None:
    for x, y in [(VIEWS[view](), VIEWS["plain"]()), (VIEWS["plain"](), VIEWS[view]())]:
        kernel = bound("contract", (x, y), (N, N), F64, PRODUCT)
        assert workspace_of(kernel) in (MATRIX, MATRIX // 2)  # of all rows at once, or block by block
        assert_announced(kernel, x, y)


@pytest.mark.parametrize("view", [name for name in VIEWS if name not in PLAIN])
def test_a_product_of_two_such_operands_announces_what_it_takes(view: str) -> None:
    x, y = VIEWS[view](), VIEWS[view]()
    for labels in [PRODUCT, ((0, 1), (1, 2), (2, 0)), ((0, 1), (0, 2), (1, 2))]:
        assert_announced(bound("contract", (x, y), (N, N), F64, labels), x, y)


@pytest.mark.usefixtures("by_blas")
def test_copies_of_both_operands_are_announced() -> None:
    x = tr.broadcast_to(tr.ones((1, 1)), (2 * N, 2 * N))
    kernel = bound("contract", (x, x), (2 * N, 2 * N), F64, PRODUCT)
    assert workspace_of(kernel) == 2 * 4 * MATRIX
    assert_announced(kernel, x, x)


def test_a_converted_operand_is_announced_in_the_dtype_of_the_result() -> None:
    x, y = tr.ones((N, N), dtype=I32), tr.ones((N, N))
    kernel = bound("contract", (x, y), (N, N), F64, PRODUCT)
    assert workspace_of(kernel) == MATRIX
    assert_announced(kernel, x, y)


@pytest.mark.usefixtures("by_blas")
def test_a_result_that_is_permuted_is_announced_once() -> None:
    x, y = tr.ones((4, 256, 1024)), tr.ones((1024, 4, 256))
    kernel = bound("contract", (x, y), (4, 4, 256, 256), F64, ((0, 1, 2), (2, 3, 4), (0, 3, 1, 4)))
    assert workspace_of(kernel) in (MATRIX, MATRIX // 2)
    assert_announced(kernel, x, y)


def test_sums_of_an_operand_before_the_product_are_announced() -> None:
    x, y = tr.ones((N, 4, N)), tr.ones((N, 8))
    kernel = bound("contract", (x, y), (N, 8), F64, ((0, 3, 1), (1, 2), (0, 2)))
    assert workspace_of(kernel) >= MATRIX
    assert_announced(kernel, x, y)


@pytest.mark.parametrize(
    ("shape", "labels"),
    [((N, N), ((0, 1), (1, 0))), ((N, 4, N), ((0, 1, 2), (2, 0))), ((N, 4, 40, 64), ((0, 1, 2, 3), (3, 0)))],
    ids=["transposed", "summed", "summed along a short and a long axis"],
)
def test_a_unary_einsum_announces_what_it_takes(shape: tuple[int, ...], labels: Any) -> None:
    x = tr.ones(shape)
    sizes = dict(zip(labels[0], shape, strict=True))
    kernel = bound("unary_einsum", (x,), tuple(sizes[label] for label in labels[1]), F64, labels)
    assert_announced(kernel, x)


@pytest.mark.parametrize("view", list(VIEWS))
def test_truth_values_and_other_algebras_announce_what_they_convert(view: str) -> None:
    x, y = VIEWS[view](), tr.ones((N, 4), dtype=I32)
    kernel = bound("semiring_contract", (x, y), (N, 4), F64, (*PRODUCT, MAX_PLUS))
    assert N * 4 * 8 <= workspace_of(kernel) <= N * 4 * 8 + 2 * UNSEEN * (not AVAILABLE)
    assert_announced(kernel, x, y)
    truth = tr.cast(x, Bool)
    kernel = bound("contract", (truth, truth), (N, N), Bool, PRODUCT)
    assert_announced(kernel, truth, truth)


Sides = tuple[int, ...]


@pytest.mark.skipif(not AVAILABLE, reason="what is seen taken is the pool's")
@pytest.mark.parametrize(
    ("shapes", "labels", "dtype"),
    [
        (((8192, 300), (8192, 300)), ((0, 1), (0, 1), (0,)), F64),
        (((1 << 20,), (1 << 20,)), ((0,), (0,), ()), F64),
        (((256, 300), (300, 256)), PRODUCT, F32),
        (((300, 8192), (300, 8192)), ((0, 1), (0, 1), (1,)), F32),
    ],
)
def test_products_by_numpy_in_other_algebras_announce_their_blocks(
    shapes: tuple[Sides, Sides], labels: Any, dtype: DType
) -> None:
    x, y = tr.ones(shapes[0], dtype=dtype), tr.ones(shapes[1])
    extents = dict(zip((*labels[0], *labels[1]), (*x.shape, *y.shape), strict=True))
    result = form_of(F64, tuple(extents[label] for label in labels[2]), CPU)
    kernel = bind_numpy((x._form, y._form), result, (*labels, MAX_PLUS))
    seen, told = taken(kernel, x, y), workspace_of(kernel)

    assert 0 < told - UNSEEN <= seen <= told


@pytest.mark.skipif(not AVAILABLE, reason="NumPy's kernels pack nothing")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("algebra", "dtypes", "shapes", "labels"),
    [
        (PLUS_TIMES, (I64, I64), ((512, 700), (700, 512)), PRODUCT),
        (PLUS_TIMES, (I32, I32), ((32, 64, 60), (32, 60, 512)), ((3, 0, 1), (3, 1, 2), (0, 2, 3))),
        (MIN_PLUS, (F64, F64), ((512, 700), (700, 512)), PRODUCT),
        (MIN_PLUS, (F32, F64), ((512, 700), (700, 512)), PRODUCT),
        (MIN_PLUS, (I32, F64), ((1024, 2048), (2048, 128)), PRODUCT),
        (MAX_PLUS, (F64, F64), ((64, 64, 64), (64, 64, 64)), ((0, 1, 3), (1, 2, 3), (0, 2, 3))),  # a batch
        (MAX_PLUS, (F64, F64), ((8192, 512), (512,)), ((0, 1), (1,), (0,))),  # a vector, which takes tables alone
    ],
)
def test_panels_of_products_count_apart_and_are_few_bytes(
    algebra: Semiring, dtypes: tuple[DType, DType], shapes: tuple[Sides, Sides], labels: Any, threads: int
) -> None:
    x, y = (tr.ones(shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True))
    extents = dict(zip((*labels[0], *labels[1]), (*x.shape, *y.shape), strict=True))
    made = tuple(extents[label] for label in labels[2])
    name, more = ("contract", ()) if algebra is PLUS_TIMES else ("semiring_contract", (algebra,))
    with tr.set_threads(threads):
        kernel = bound(name, (x, y), made, tr.promote(*dtypes), (*labels, *more))
        seen, told = taken(kernel, x, y), workspace_of(kernel)

    converted = sum(one.size * 8 for one in (x, y) if one.dtype is not tr.promote(*dtypes))
    assert converted <= told <= converted + threads * UNSEEN
    assert converted <= seen < told + 3 * UNSEEN  # of large buffers whole grains are taken
    panels = pool.stats().thread_peak_bytes
    assert panels <= threads * PANELS
    assert panels > 0 or told > converted  # where each thread has a block of the result, its panels fit its stack


@pytest.mark.parametrize("dtypes", [(C64, C64), (Bool, C64), (Bool, F64), (I32, F64), (I32, I32)])
@pytest.mark.parametrize(
    ("extents", "labels"),
    [
        ((50, 20, 32), ((0, 1, 2), (2, 1, 0), (0, 1, 2))),
        ((50, 20, 32), ((2, 1, 0), (0, 1, 2), (1, 2, 0))),
        ((300, 400), ((0,), (1,), (0, 1))),
        ((9000, 10), ((0,), (1,), (0, 1))),
        ((20000,), ((0,), (0,), (0,))),
        ((4000, 3), ((0, 1), (), (1, 0))),
        ((9000, 5, 2), ((2, 1, 0), (1, 0), (0, 2))),
        ((40, 30, 20, 6), ((0, 1, 3), (3, 2, 1), (2, 1, 0))),
        ((6, 900, 4), ((2, 0, 1), (2, 0, 1), (1, 0))),
        ((2, 9000), ((0,), (0, 1), (0, 1))),
        ((9000, 2, 2), ((1, 2), (0, 2), (2, 0, 1))),
    ],
)
def test_a_sum_of_products_by_numpy_announces_its_block_and_its_buffers(
    extents: Sides, labels: tuple[Sides, Sides, Sides], dtypes: tuple[DType, DType]
) -> None:
    *read, made = [tuple(extents[label] for label in term) for term in labels]
    x, y = (tr.ones(shape, dtype=dtype) for shape, dtype in zip(read, dtypes, strict=True))
    first, second = native(x._form, labels[0]), native(y._form, labels[1])
    result = row_major(labels[2][::-1], made[::-1], tr.promote(*dtypes).numpy_name)
    kernel = bind_broadcast_sum(plan_broadcast_sum(join(first, second, result)), first, second, result)
    kernel(x._array, y._array)  # which imports and keeps what it needs
    pool.clear()
    tracemalloc.start()
    try:
        out = kernel(x._array, y._array)
        seen = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert seen - 5000 <= out.nbytes + workspace_of(kernel) <= 1.02 * seen  # the iterator, indices


def test_announcing_changes_no_result() -> None:
    x = tr.tensor(np.arange(600.0 * 600).reshape(600, 600) % 7)[::-1, ::2]
    kernel = bound("contract", (x, x), (600, 600), F64, ((0, 1), (2, 1), (0, 2)))
    values = x.to_numpy()
    assert np.array_equal(kernel(x._array, x._array).T, values @ values.T)
