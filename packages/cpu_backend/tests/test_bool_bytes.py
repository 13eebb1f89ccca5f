"""Bool memory of other libraries: true is any byte but 0, and every operation reads it so, as NumPy does."""

from __future__ import annotations

import ctypes
import io
import pickle
from collections.abc import Callable, Iterator
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core import Bool, HostTensor, HostTensorView
from tensor_runtime import primitives
from tensor_runtime.algebras import OR_AND
from tensor_runtime.io.npy import load_stream
from tensor_runtime.placement import CPU
from tensor_runtime.testing.comparing import difference
from tensor_runtime.testing.conformance import CASES
from tensor_runtime.testing.layout_variants import VARIANTS

TRUE_BYTES = np.array([255, 2, 128, 3, 254, 1, 64], np.uint8)  # no two neighbours have the same bits
SIZES = {"few": (4,), "many": (12_000,), "more": (150_001,), "matrix": (120, 101), "cube": (7, 20, 90)}


def spoilt(truths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same truths as an array whose true bytes are mostly not 1, in the same order of memory."""
    places = np.arange(truths.size, dtype=np.intp).reshape(truths.shape)
    found = np.where(truths, TRUE_BYTES[places % 7], 0).astype(np.uint8).view(bool)
    return np.asfortranarray(found) if truths.ndim > 1 else found


def spoil(x: tr.Tensor) -> tr.Tensor:
    """Overwrite the true elements of a Bool tensor with other true bytes."""
    if x.dtype is Bool and x.size:
        array = np.lib.stride_tricks.as_strided(x.to_numpy(), writeable=True).view(np.uint8)
        array[...] = spoilt(array != 0).view(np.uint8)
    return x


BOOL_CASES = [case for case in CASES if case.error is None and any(host.dtype is Bool for host in case.operands)]


@pytest.mark.parametrize("operation", sorted({case.operation for case in BOOL_CASES}))
def test_every_conformance_case_of_bool_gives_the_same_from_any_true_bytes(operation: str) -> None:
    for case in (case for case in BOOL_CASES if case.operation == operation):
        expected = as_tuple(case.expected())
        for name, variant in VARIANTS.items():
            results = as_tuple(case.call(*[spoil(variant(host, CPU)) for host in case.operands]))
            assert len(results) == len(expected)
            for result, wanted in zip(results, expected, strict=True):
                found = difference(tr.download(result), wanted, case.ulps)
                assert found is None, f"{case.id}, operands {name}: {found}"


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,)


def layouts(array: np.ndarray[Any, Any]) -> Iterator[tuple[str, tr.Tensor]]:
    """Tensors with these elements that share memory with an array: compact, reversed, with gaps, row-major."""
    yield "compact", tr.asarray(array, copy=False)
    every = (slice(None, None, -1),) * array.ndim
    yield "reversed", tr.asarray(np.asfortranarray(array[every]), copy=False)[every]
    wide = np.zeros([2 * extent for extent in array.shape], bool, order="F")
    wide.view(np.uint8)[...] = 7
    gaps = (slice(1, None, 2),) * array.ndim
    wide[gaps].view(np.uint8)[...] = array.view(np.uint8)
    yield "gappy", tr.asarray(wide, copy=False)[gaps]
    if array.ndim > 1:
        yield "row-major", tr.asarray(np.ascontiguousarray(array).T, copy=False).T


Call = Callable[..., Any]
NUMBERS = {
    dtype: lambda x, dtype=dtype: tr.cast(x, dtype) for dtype in ("F32", "F64", "I32", "I64", "C32", "C64", "Bool")
}
UNARY: dict[str, Call] = {
    **{
        name: getattr(tr, name)
        for name in (
            "acos",
            "asin",
            "atan",
            "cos",
            "sin",
            "tan",
            "cosh",
            "sinh",
            "tanh",
            "exp",
            "expm1",
            "log",
            "log1p",
            "sqrt",
            "rsqrt",
            "erf",
            "erfc",
            "gelu",
            "silu",
            "sigmoid",
            "softplus",
            "ceil",
            "floor",
            "round",
            "trunc",
            "real",
            "imag",
            "isfinite",
            "isinf",
            "isnan",
            "logical_not",
            "bitwise_invert",
            "copy",
            "to_contiguous",
            "all",
            "any",
            "sum",
            "prod",
            "mean",
            "max",
            "min",
            "argmax",
            "argmin",
            "norm",
            "var",
            "std",
            "nonzero",
            "unique_values",
            "unique_counts",
            "unique_inverse",
            "unique_all",
        )
    },
    **{f"cast to {dtype}": call for dtype, call in NUMBERS.items()},
    **{f"convert to {dtype}": lambda x, dtype=dtype: tr.convert(x, dtype) for dtype in NUMBERS},
    **{
        f"{name} along {axis}": lambda x, name=name, axis=axis: getattr(tr, name)(x, axis=axis)
        for name in (
            "sum",
            "prod",
            "mean",
            "max",
            "min",
            "all",
            "any",
            "argmax",
            "argmin",
            "norm",
            "var",
            "cumsum",
            "cumprod",
            "sort",
            "argsort",
            "softmax",
        )
        for axis in (0, -1)
    },
    "sort descending": lambda x: tr.sort(x, axis=0, descending=True),
    "argsort descending": lambda x: tr.argsort(x, axis=0, descending=True),
    "reduce_and": lambda x: primitives.reduce_and(x, ()),
    "reduce_or": lambda x: primitives.reduce_or(x, (0,)),
    "roll": lambda x: tr.roll(x, 3),
    "pad": lambda x: tr.pad(x, 1),
    "reverse": lambda x: tr.reverse(x, 0),
    "take": lambda x: tr.take(x, tr.tensor([0, 3, 1]), axis=0),
    "concatenate": lambda x: tr.concatenate((x, x)),
    "stack": lambda x: tr.stack((x, x)),
    "mutable copy": lambda x: written(x),
    "tril of F64": lambda x: tr.convert(x, "F64") * 2,
    "contains": lambda x: tr.tensor([True in x, False in x]),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "host": lambda x: tr.upload(tr.download(x)),
    "numpy": lambda x: tr.asarray(x.to_numpy().astype(np.int64)),
    "matmul with itself": lambda x: tr.matmul(tr.transpose(x), x) if x.rank < 3 else tr.sum(x),
    "product over an axis": lambda x: tr.tensordot(x, x, axes=(tuple(range(x.rank)), tuple(range(x.rank)))),
    "fused": lambda x: FUSED(x, x),
    "fused with numbers": lambda x: FUSED_NUMBERS(x, 2.5),
}
ELEMENTWISE = (
    "add", "multiply", "divide", "maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater",
    "greater_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
    "atan2", "complex",
)  # fmt: skip
BINARY: dict[str, Call] = {
    **{name: getattr(tr, name) for name in ELEMENTWISE},
    "select": lambda x, y: primitives.select(x, x, y),
    "and_": primitives.and_,
    "or_": primitives.or_,
    "xor": primitives.xor,
    "compare": lambda x, y: primitives.compare(x, y, "less"),
    "where": lambda x, y: tr.where(x, y, False),
    "where of numbers": lambda x, y: tr.where(x, tr.convert(y, "F64"), 0.5),
    "clip": lambda x, y: tr.clip(x, y, True),
    "searchsorted": lambda x, y: tr.searchsorted(tr.sort(tr.reshape_view(tr.copy(x), (x.size,))), y),
    "subtract numbers": lambda x, y: tr.subtract(tr.convert(x, "I32"), y),
    "scale numbers": lambda x, y: tr.multiply(tr.convert(x, "F32"), y),
    "tensordot": lambda x, y: tr.tensordot(x, y, axes=1 if x.rank == 1 else ((0,), (0,))),
    "contract last axes": lambda x, y: (
        tr.tensordot(x, y, axes=((x.rank - 1,), (y.rank - 1,))) if x.rank < 3 else tr.any(x & y)
    ),
    "or-and": lambda x, y: tr.dot_general(x, y, contracting=((0,), (0,)), algebra=OR_AND) if x.rank < 3 else tr.any(x),
    "or-and by vector": lambda x, y: (
        tr.dot_general(x, y[:, 0], contracting=((0,), (0,)), algebra=OR_AND) if x.rank == 2 else tr.any(x)
    ),
    "or-and of vector and last axis": lambda x, y: (
        tr.dot_general(x[0], y, contracting=((0,), (1,)), algebra=OR_AND) if x.rank == 2 else tr.any(x)
    ),
    "einsum": lambda x, y: tr.einsum("i...,i...->...", x, y) if x.rank > 1 else tr.einsum("i,i->", x, y),
    "einsum batched": lambda x, y: tr.einsum("ij,ij->i", x, y) if x.rank == 2 else tr.any(x),
    "einsum hyper": lambda x, y: tr.einsum("ij,ij,ij->j", x, y, x) if x.rank == 2 else tr.any(x),
    "einsum with numbers": lambda x, y: tr.einsum("ij,ik->jk", tr.convert(x, "F64"), y) if x.rank == 2 else tr.any(x),
    "einsum sum": lambda x, y: tr.einsum("ij->i", x) if x.rank == 2 else tr.any(x),
    "matrix by vector": lambda x, y: tr.matmul(tr.transpose(x), y[:, 0]) if x.rank == 2 else tr.any(x),
    "vector by matrix": lambda x, y: tr.matmul(x[:, 0], y) if x.rank == 2 else tr.any(x),
    "copy_into": lambda x, y: written(x, y),
}
FUSED = tr.fuse(lambda x, y: tr.where(x & y, tr.logical_xor(x, True), x < y))
FUSED_NUMBERS = tr.fuse(lambda x, factor: tr.where(x, x * factor, 1.0) + x)


def written(x: tr.Tensor, source: tr.Tensor | None = None) -> tr.Tensor:
    target = tr.zeros(x.shape, dtype="I64")
    tr.mutable_view(target)[...] = x if source is None else source
    return target


def truths_of(result: Any) -> list[Any]:
    """Results as NumPy reads them."""
    return [
        (
            part.dtype,
            part.shape,
            (part.to_numpy().astype(part.dtype.numpy_name) != 0 if part.dtype is Bool else part.to_numpy()).tobytes(),
        )
        for part in as_tuple(result)
    ]


def operands(shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(7)
    return [np.asfortranarray(generator.random(shape) < share) for share in (0.5, 0.4)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", UNARY)
def test_every_function_of_a_bool_gives_the_same_from_any_true_bytes(name: str, size: str) -> None:
    truths, _ = operands(SIZES[size])
    for (layout, x), (_, expected) in zip(layouts(spoilt(truths)), layouts(truths), strict=True):
        assert truths_of(UNARY[name](x)) == truths_of(UNARY[name](expected)), layout


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", BINARY)
def test_every_function_of_two_bools_gives_the_same_from_any_true_bytes(name: str, size: str) -> None:
    first, second = operands(SIZES[size])
    given = zip(layouts(spoilt(first)), layouts(spoilt(second)), layouts(first), layouts(second), strict=True)
    for (layout, x), (_, y), (_, u), (_, v) in given:
        assert truths_of(BINARY[name](x, y)) == truths_of(BINARY[name](u, v)), layout


@pytest.mark.parametrize("size", [6, 3000, 9000])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_repeated_element_is_true_by_any_byte(name: str, size: int) -> None:
    call, many = BINARY[name], np.random.default_rng(1).random(size) < 0.5
    for truth in (True, False):
        one, plain = tr.asarray(spoilt(np.array([truth, truth])))[1], tr.tensor(truth)
        for x, y in ((one, plain), (tr.broadcast_to(one, (size,)), tr.broadcast_to(plain, (size,)))):
            found = call(tr.asarray(spoilt(many)), x), call(x, tr.asarray(spoilt(many)))
            expected = call(tr.asarray(many), y), call(y, tr.asarray(many))
            assert list(map(truths_of, found)) == list(map(truths_of, expected))


BYTES = bytes([1, 0, 255, 2, 0, 128])
TRUTHS = [True, False, True, True, False, True]


def mapped(folder: Path) -> mmap:
    (folder / "bytes").write_bytes(BYTES)
    with (folder / "bytes").open("rb") as file:
        return mmap(file.fileno(), 0, prot=1)


WAYS_IN: dict[str, Callable[[Path], Any]] = {
    "bytes": lambda folder: np.frombuffer(BYTES, bool),
    "bytearray": lambda folder: np.frombuffer(bytearray(BYTES), bool),
    "mapped file": lambda folder: np.frombuffer(mapped(folder), bool),
    "C library": lambda folder: np.ctypeslib.as_array((ctypes.c_ubyte * 6)(*BYTES)).view(bool),
    "memoryview": lambda folder: memoryview(bytearray(BYTES)).cast("?"),
    "host tensor": lambda folder: HostTensor.wrap_bytes(bytearray(BYTES), 6, Bool),
    "host view": lambda folder: HostTensorView.borrow(np.frombuffer(BYTES, bool)),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_any_true_byte_is_true_on_every_way_in(way: str, tmp_path: Path) -> None:
    source = WAYS_IN[way](tmp_path)
    for x in (tr.asarray(source, copy=False), tr.asarray(source), tr.asarray(source, copy=True), tr.tensor(source)):
        assert x.dtype is Bool
        assert tr.sum(x).item() == 4
        assert tr.cast(x, "F64").to_numpy().tolist() == TRUTHS
        assert x.to_numpy().tolist() == TRUTHS
        assert tr.equal(x, True).to_numpy().tolist() == TRUTHS
    host = HostTensorView.borrow(source) if not isinstance(source, HostTensorView) else source
    assert host.to_nested() == TRUTHS
    assert tr.sum(tr.upload(host.copy())).item() == 4


@pytest.mark.parametrize("way", WAYS_IN)
def test_what_is_copied_on_the_way_in_holds_0_and_1(way: str, tmp_path: Path) -> None:
    source = WAYS_IN[way](tmp_path)
    normal = bytes(TRUTHS)
    for x in (tr.asarray(source, copy=True), tr.tensor(source), tr.upload(HostTensor.from_buffer(source))):
        assert x.to_numpy().view(np.uint8).tobytes() == normal
    assert HostTensor.from_buffer(source).raw.tobytes() == normal
    assert HostTensor.from_buffer(source).tobytes() == normal
    assert HostTensor.from_buffer(BYTES, Bool).raw.tobytes() == normal
    assert (
        HostTensorView.borrow(source if not isinstance(source, HostTensor) else source.raw.cast("?")).tobytes()
        == normal
    )


def test_a_row_major_matrix_is_normalised_while_it_is_copied() -> None:
    matrix = np.frombuffer(BYTES, bool).reshape(2, 3)
    assert tr.asarray(matrix).to_numpy().view(np.uint8).tolist() == [[1, 0, 1], [1, 0, 1]]


def test_upload_hands_every_backend_0_and_1() -> None:
    host = HostTensor.wrap_bytes(bytearray(BYTES), (6,), Bool)
    assert host.normalised().raw.tobytes() == bytes(TRUTHS)
    assert tr.upload(host).to_numpy().view(np.uint8).tobytes() == bytes(TRUTHS)
    assert host.raw.tobytes() == BYTES
    whole = HostTensor.wrap_bytes(bytes(TRUTHS), (6,), Bool)
    assert whole.normalised() is whole


@pytest.mark.parametrize("count", [4, 12_000])
def test_what_the_owner_writes_later_is_read_as_numpy_reads_it(count: int) -> None:
    owner = np.zeros(count, np.uint8)
    x = tr.asarray(owner.view(bool), copy=False)
    host = HostTensorView.borrow(owner.view(bool))
    assert tr.sum(x).item() == 0
    owner[::2] = 255
    assert tr.sum(x).item() == count // 2
    assert tr.sum(tr.logical_and(x, tr.ones(count, dtype=Bool))).item() == count // 2
    assert tr.sum(tr.logical_xor(x, True)).item() == count - count // 2
    assert sum(host.to_flat()) == count // 2
    assert np.shares_memory(x.to_numpy(), owner)
    assert x.to_numpy().tolist() == (owner != 0).tolist()


def test_what_is_written_into_lent_memory_is_read_so_too() -> None:
    x = tr.zeros(5000, dtype=Bool)
    x.to_numpy().view(np.uint8)[:] = 2
    assert tr.sum(x).item() == 5000
    assert tr.all(tr.logical_and(x, x)).item() is True
    assert x[0].item() is True


def test_files_hold_0_and_1_and_a_mapped_one_may_hold_any_byte(tmp_path: Path) -> None:
    x = tr.asarray(np.frombuffer(BYTES, bool), copy=False)
    tr.save(tmp_path / "x.npy", x)
    assert (tmp_path / "x.npy").read_bytes()[-6:] == bytes(TRUTHS)
    assert tr.load(tmp_path / "x.npy").to_numpy().tolist() == TRUTHS

    many = np.frombuffer(BYTES * 2000, bool)
    np.save(tmp_path / "y.npy", many)
    y = tr.load(tmp_path / "y.npy", mmap=True)
    assert tr.sum(y).item() == 8000
    assert tr.sum(tr.logical_and(y, True)).item() == 8000
    assert tr.matmul(y, y).item() is True
    assert load_stream(io.BytesIO((tmp_path / "x.npy").read_bytes())).to_numpy().tolist() == TRUTHS


def test_a_pickle_and_a_download_hold_0_and_1() -> None:
    x = tr.asarray(np.frombuffer(BYTES, bool), copy=False)
    assert tr.download(x).raw.tobytes() == bytes(TRUTHS)
    for protocol in (2, 5):
        assert pickle.loads(pickle.dumps(x, protocol)).to_numpy().view(np.uint8).tobytes() == bytes(TRUTHS)
        host = HostTensorView.borrow(np.frombuffer(BYTES, bool))
        assert pickle.loads(pickle.dumps(host, protocol)).tobytes() == bytes(TRUTHS)


def test_views_of_shared_memory_name_the_same_truths() -> None:
    x = tr.asarray(np.frombuffer(BYTES, bool), copy=False)
    assert tr.sum(x[::-2]).item() == 2
    assert tr.sum(tr.broadcast_to(x, (3, 6))).item() == 12
    assert tr.sum(x.reshape(2, 3), axis=0).to_numpy().tolist() == [1, 2, 1]
