"""``out=`` of every function that makes a tensor: which take it, that it receives the result, and what is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import (
    LossyConversionError,
    OverlappingViewError,
    PlacementError,
    ReadOnlyError,
    ShapeError,
    TensorError,
)
from tensor_runtime.errors import ForeignOperandError

WITHOUT: Final = {
    "a view, which shares memory with its operand; copy_into(out, view) copies it": (
        "broadcast_in_dim", "broadcast_to", "diagonal_view", "expand_dims", "extract_diagonal", "flip", "move_axes",
        "mutable_view", "permute_axes", "reshape_view", "reverse", "reverse_view", "squeeze", "swapaxes", "transpose",
        "transpose_view",
    ),
    "several views": ("broadcast_arrays", "meshgrid", "split", "unstack"),
    "the operand itself, or a copy of it, which copy_into writes to a tensor": (
        "asarray", "cast", "convert", "from_dlpack", "copy", "to", "to_contiguous", "typed", "upload",
    ),
    "a tensor made from nothing; mutable_view(x)[...] = value fills one that there is": (
        "arange", "empty", "empty_like", "eye", "from_flat", "from_function", "full", "full_like", "integers",
        "linspace", "load", "load_all", "load_raw", "normal", "ones", "ones_like", "tabulate", "tensor", "uniform",
        "zeros", "zeros_like",
    ),
    "a result whose shape depends on the elements": (
        "nonzero", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    ),
    "what the function given makes": ("fold", "fuse", "infer", "scan"),
    "a bool": ("allclose", "array_equal"),
    "no tensor": (
        "backend", "backends", "checks", "copy_into", "download", "explain", "families", "fold_in", "memory", "promote",
        "put_along_axis",
        "refresh_backends", "register_backend", "register_kernel", "register_rule", "save", "save_raw", "set_threads",
        "stream", "synchronize", "threads", "to_numpy", "trace_transfers",
    ),
    "options, of which out is one": ("einsum",),
}  # fmt: skip


def test_every_function_that_makes_a_tensor_takes_out_or_has_a_reason_not_to() -> None:
    excused = [name for names in WITHOUT.values() for name in names]
    functions = {name for name in tr.__all__ if callable(getattr(tr, name)) and not inspect.isclass(getattr(tr, name))}
    taking = {name for name in functions if "out" in inspect.signature(getattr(tr, name)).parameters}
    assert len(excused) == len(set(excused))
    assert taking.isdisjoint(excused)
    assert functions - taking == set(excused)


X, Y = np.arange(1.0, 7.0).reshape(2, 3), np.array([[2.0, -2.0, 0.5], [-1.0, 1.0, 3.0]])
PLACES, LINE = np.array([2, 0]), np.array([0.5, 2.0, 3.5])
IMAGE = np.arange(12.0).reshape(1, 6, 2)

CALLS: list[tuple[str, Callable[..., tr.Tensor]]] = [
    ("concatenate", lambda x, y, **o: tr.concatenate([x, y], 1, **o)),
    ("concatenate", lambda x, y, **o: tr.concatenate([x, y, x], axis=None, **o)),
    ("stack", lambda x, y, **o: tr.stack([x, y], -1, **o)),
    ("stack", lambda x, y, **o: tr.stack([x, y, x], **o)),
    ("repeat", lambda x, y, **o: tr.repeat(x, [1, 0, 2], 1, **o)),
    ("tile", lambda x, y, **o: tr.tile(x, (2, 2), **o)),
    ("roll", lambda x, y, **o: tr.roll(x, 1, 1, **o)),
    ("roll", lambda x, y, **o: tr.roll(x, 1, **o)),
    ("take", lambda x, y, **o: tr.take(x, tr.asarray(PLACES), 1, **o)),
    ("take_along_axis", lambda x, y, **o: tr.take_along_axis(x, tr.argsort(y), **o)),
    ("gather", lambda x, y, **o: tr.gather(x, tr.tensor([1, 0, 1]), **o)),
    ("scatter", lambda x, y, **o: tr.scatter(x, tr.tensor([1]), y[:1], mode="add", **o)),
    ("dynamic_slice", lambda x, y, **o: tr.dynamic_slice(x, (0, 1), (2, 2), **o)),
    ("dynamic_update_slice", lambda x, y, **o: tr.dynamic_update_slice(x, y[:, :1], (0, 1), **o)),
    ("sort", lambda x, y, **o: tr.sort(y, 0, **o)),
    ("argsort", lambda x, y, **o: tr.argsort(y, **o)),
    ("searchsorted", lambda x, y, **o: tr.searchsorted(tr.asarray(LINE), y, **o)),
    ("dot", lambda x, y, **o: tr.dot(x, y.T, **o)),
    ("outer", lambda x, y, **o: tr.outer(x, y, **o)),
    ("kron", lambda x, y, **o: tr.kron(x, y[0], **o)),
    ("vecdot", lambda x, y, **o: tr.vecdot(x, y, **o)),
    ("trace", lambda x, y, **o: tr.trace(tr.stack([x, y, x], 2), 0, 0, 2, **o)),
    ("tril", lambda x, y, **o: tr.tril(x, **o)),
    ("triu", lambda x, y, **o: tr.triu(x, 1, **o)),
    ("embed_diagonal", lambda x, y, **o: tr.embed_diagonal(x, **o)),
    ("diff", lambda x, y, **o: tr.diff(x, 2, prepend=0.0, **o)),
    ("diff", lambda x, y, **o: tr.diff(x, 0, **o)),
    ("count_nonzero", lambda x, y, **o: tr.count_nonzero(tr.tril(x), 0, **o)),
    ("isin", lambda x, y, **o: tr.isin(x, y, **o)),
    ("isclose", lambda x, y, **o: tr.isclose(x, y, 0.5, **o)),
    ("delete", lambda x, y, **o: tr.delete(x, [0, -1], 1, **o)),
    ("pad", lambda x, y, **o: tr.pad(x, 1, **o)),
    ("pad", lambda x, y, **o: tr.pad(x, 1, "edge", **o)),
    ("conv", lambda x, y, **o: tr.conv(tr.asarray(IMAGE), tr.ones((2, 2, 3)), **o)),
    ("max_pool", lambda x, y, **o: tr.max_pool(tr.asarray(IMAGE), 2, **o)),
    ("mean_pool", lambda x, y, **o: tr.mean_pool(tr.asarray(IMAGE), 2, **o)),
]
IDS = [f"{name}{place}" for place, (name, _) in enumerate(CALLS)]


@pytest.mark.parametrize(("name", "call"), CALLS, ids=IDS)
def test_an_output_of_any_layout_and_of_a_wider_dtype_receives_what_the_call_returns(
    name: str, call: Callable[..., tr.Tensor]
) -> None:
    x, y = tr.asarray(X), tr.asarray(Y)
    expected = call(x, y)
    wide = tr.zeros(expected.shape, dtype="C64")
    memory = tr.ones([2 * extent for extent in expected.shape] or 1, dtype=expected.dtype)
    strided = tr.mutable_view(memory)[tuple(slice(None, None, -2) for _ in expected.shape)]
    owned = tr.zeros(expected.shape, dtype=expected.dtype)
    for out in (owned, wide, strided) if expected.rank else (owned, wide):
        assert call(x, y, out=out) is out
        np.testing.assert_array_equal(out.to_numpy(), expected.to_numpy())
    if expected.rank:
        untouched = memory.to_numpy().copy()
        untouched[tuple(slice(None, None, -2) for _ in expected.shape)] = 1
        assert (untouched == 1).all()


@pytest.mark.parametrize(("name", "call"), CALLS, ids=IDS)
def test_what_cannot_receive_the_result_is_refused_by_every_function(name: str, call: Callable[..., tr.Tensor]) -> None:
    x, y = tr.asarray(X), tr.asarray(Y)
    expected = call(x, y)
    wrong = tr.zeros((*expected.shape, 1), dtype=expected.dtype)
    with pytest.raises(ShapeError, match=rf"^{name}: "):
        call(x, y, out=wrong)
    bad: Any
    for bad in (
        np.zeros(expected.shape),
        1.0,
        [expected],
        tr.zeros((*expected.shape, 2), dtype=expected.dtype)[..., 1],
    ):
        with pytest.raises(ReadOnlyError, match=rf"^{name}: out is .* mutable_view\(\) returns$"):
            call(x, y, out=bad)
    if expected.dtype is not tr.Bool:
        with pytest.raises(LossyConversionError, match=rf"^{name}: out: .* to Bool can lose values"):
            call(x, y, out=tr.zeros(expected.shape, dtype="Bool"))
    with pytest.raises(PlacementError, match=rf"^{name}: out: operands live in different places"):
        call(x, y, out=tr.to(tr.zeros(expected.shape, dtype=expected.dtype), "sim:0"))
    frozen = np.zeros(expected.shape, expected.dtype.numpy_name, order="F")
    frozen.flags.writeable = False
    with pytest.raises(ReadOnlyError, match=rf"^{name}: out: the memory is read-only for us"):
        call(x, y, out=tr.asarray(frozen))


@pytest.mark.parametrize("size", [4, 2**18])  # as a whole, and in pieces
def test_an_elementwise_function_is_named_by_what_its_output_is_refused_for(size: int) -> None:
    x = tr.zeros((size, 2))
    memory = tr.mutable_view(tr.zeros((size + 1, 2)))
    calls: list[tuple[str, Callable[..., tr.Tensor]]] = [
        ("add", lambda **o: tr.add(memory[1:], x, **o)),
        ("exp", lambda **o: tr.exp(memory[1:], **o)),
        ("where", lambda **o: tr.where(True, memory[1:], x, **o)),
        ("sum", lambda **o: tr.sum(tr.expand_dims(memory[1:], 2), 2, **o)),
        ("matmul", lambda **o: tr.matmul(memory[1:], tr.eye(2), **o)),
    ]
    for name, call in calls:
        with pytest.raises(OverlappingViewError, match=rf"^{name}: out shares a part of an operand's elements"):
            call(out=memory[:-1].mutable_view())
        with pytest.raises(ShapeError, match=rf"^{name}: out has shape \({size + 1}, 2\) and the result \({size}, 2\)"):
            call(out=tr.zeros((size + 1, 2)))
    fused = tr.fuse(lambda a: a * 2.0 + 1.0)
    with pytest.raises(ShapeError, match=r"^fuse: out has shape"):
        fused(x, out=tr.zeros(3))


def test_an_error_of_an_output_holds_the_operation() -> None:
    for out, error in (
        (tr.zeros(3), ShapeError),
        (tr.zeros(2, dtype="I64"), LossyConversionError),
        (tr.to(tr.zeros(2), "sim:0"), PlacementError),
    ):
        with pytest.raises(error) as caught:
            tr.add(tr.ones(2), 1.0, out=out)
        assert caught.value.operation == "add"


@pytest.mark.parametrize("join", [tr.concatenate, tr.stack])
def test_an_output_of_a_join_that_holds_a_part_is_refused_and_unchanged(join: Any) -> None:
    line = tr.asarray(np.arange(12.0))
    wanted = (6,) if join is tr.concatenate else (2, 3)
    for target in (line[2:8], line[7:1:-1], line[::2]):
        with pytest.raises(OverlappingViewError):
            join([line[:3], tr.ones(3)], out=tr.mutable_view(target.reshape(wanted)))
    assert line.tolist() == list(range(12))
    apart = tr.mutable_view(line[6:].reshape(wanted))
    join([line[:3], line[3:6]], out=apart)
    np.testing.assert_array_equal(apart.to_numpy().ravel(), np.arange(6))


def test_a_join_of_mixed_dtypes_goes_to_an_output_of_the_promoted_one() -> None:
    parts = [tr.tensor([True, False]), tr.tensor([3, 2**40]), tr.tensor([0.1], dtype="F32")]
    expected = tr.concatenate(parts)
    for dtype in ("F64", "C64"):
        memory = tr.zeros(15, dtype=dtype)
        for out in (tr.zeros(5, dtype=dtype), tr.mutable_view(memory)[::3]):
            tr.concatenate(parts, out=out)
            np.testing.assert_array_equal(out.to_numpy(), expected.to_numpy())
    with pytest.raises(LossyConversionError):
        tr.concatenate(parts, out=tr.zeros(5, dtype="F32"))


def test_a_failing_join_names_itself_with_an_output_as_without() -> None:
    out = tr.mutable_view(tr.zeros((4, 4)))[::2]
    with pytest.raises(TensorError, match="concatenate: shapes"):
        tr.concatenate([tr.ones((2, 2)), tr.ones((3, 1))], 1, out=out)
    with pytest.raises(TensorError, match="stack: "):
        tr.stack([tr.ones(2), tr.ones(3)], out=out)


def test_no_tensor_in_place_of_the_second_operand_is_refused_with_out_as_without() -> None:
    x, out = tr.asarray(np.ones(3)), tr.zeros(3)
    for call in (lambda **options: tr.take(x, None, 0, **options), lambda **options: tr.dot(x, None, **options)):
        for options in ({}, {"out": out}):
            with pytest.raises(ForeignOperandError, match="NoneType"):
                call(**options)
