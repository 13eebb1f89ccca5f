"""Operations with ``out=``: where it has the result's form, the kernel writes there at once, to the same bits."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from inspect import unwrap
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core.errors import OutOfMemoryError, OverlappingViewError, ReadOnlyError, TensorError
from tensor_cpu.call_checks import CHECKED
from tensor_cpu.system.extension import AVAILABLE
from tensor_cpu.system.memory import pool
from tensor_runtime.dispatch import call, out
from tensor_runtime.ops import arithmetic
from tensor_runtime.tensors.tensor import Tensor

NATIVE = pytest.mark.skipif(
    not AVAILABLE or CHECKED, reason="no native calls: the extension was not built, or every call is checked"
)

CALLS: dict[str, Callable[..., Tensor]] = {
    "add": lambda x, y, **o: tr.add(x, y, **o),
    "a number": lambda x, y, **o: tr.multiply(x, 2.5, **o),
    "a number first": lambda x, y, **o: tr.subtract(3, y, **o),
    "negative": lambda x, y, **o: tr.negative(x, **o),
    "exp": lambda x, y, **o: tr.exp(x, **o),
    "divide": lambda x, y, **o: tr.divide(x, y, **o),
    "row": lambda x, y, **o: tr.add(x, y[0], **o),
    "column": lambda x, y, **o: tr.multiply(x[:, :1], y, **o),
    "transposed": lambda x, y, **o: tr.add(x.T, y.T, **o),
    "one element": lambda x, y, **o: tr.add(x, y[0, 0], **o),
    "where": lambda x, y, **o: tr.where(tr.less(x, y), x, y, **o),
    "clip": lambda x, y, **o: tr.clip(x, 0.25, 0.75, **o),
    "less": lambda x, y, **o: tr.less(x, y, **o),
    "sum": lambda x, y, **o: tr.sum(x, axis=0, **o),
    "mean": lambda x, y, **o: tr.mean(x, axis=1, **o),
    "cumsum": lambda x, y, **o: tr.cumsum(x, axis=0, **o),
    "matmul": lambda x, y, **o: tr.matmul(x, y.T, **o),
    "tensordot": lambda x, y, **o: tr.tensordot(x, y, axes=((0,), (0,)), **o),
    "concatenate": lambda x, y, **o: tr.concatenate([x, y, x], 1, **o),
    "stack": lambda x, y, **o: tr.stack([x, y], 1, **o),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", [(3, 4), (70, 90), (0, 2), (1, 1)])
@pytest.mark.parametrize("dtype", ["F64", "F32"])
def test_the_target_gets_the_bits_of_a_call_without_it(name: str, shape: tuple[int, int], dtype: str) -> None:
    operation = CALLS[name]
    x, y = (tr.cast(tr.uniform(shape, seed=seed), dtype) for seed in (1, 2))
    if name in ("one element", "row") and 0 in shape:
        return
    expected = operation(x, y)
    before = x.to_numpy().tobytes(), y.to_numpy().tobytes()
    targets = [tr.full(expected.shape, 7, dtype="I64"), tr.full((*expected.shape, 2), 7, dtype="I64")]
    for _ in range(2):
        owned, part = (tr.cast(target, expected.dtype) for target in targets)
        view = part.mutable_view()[..., 1]
        assert operation(x, y, out=owned) is owned
        assert operation(x, y, out=view) is view
        assert owned.to_numpy().tobytes() == view.to_numpy().tobytes() == expected.to_numpy().tobytes()
        assert np.all(part[..., 0].to_numpy() == (True if expected.dtype is tr.Bool else 7))
    assert (x.to_numpy().tobytes(), y.to_numpy().tobytes()) == before


@NATIVE
@pytest.mark.parametrize("name", CALLS)
def test_explain_tells_of_a_copy_to_the_output_where_one_is_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operation = CALLS[name]
    x, y = tr.uniform((70, 90), seed=1), tr.uniform((70, 90), seed=2)
    target = tr.copy(operation(x, y))
    told = [one.operation for one in tr.explain(lambda a, b: operation(a, b, out=target), x, y)]
    copied: list[Tensor] = []
    monkeypatch.setattr(call, "written", lambda out, result, *operands: copied.append(result) or out)
    operation(x, y, out=target)
    assert bool(copied) == ("copy_into" in told)


@settings(max_examples=60)
@given(st.data())
def test_an_output_that_meets_its_operands_is_as_if_they_had_been_copied_or_refused(data: st.DataObject) -> None:
    memory = np.arange(60.0)
    owner = tr.asarray(memory)
    draw = data.draw

    def part(writable: bool) -> Any:
        start, step = draw(st.integers(0, 8)), draw(st.sampled_from((1, 1, 2, -1)))
        flat = owner[start : start + 12 * abs(step)][::step]
        shaped = flat if step != 1 else flat.reshape(draw(st.sampled_from(((12,), (3, 4), (4, 3)))))
        return shaped.mutable_view() if writable else shaped

    x, target = part(False), part(True)
    name = draw(st.sampled_from(("negative", "add", "multiply", "cumsum", "exp")))
    both = name in ("add", "multiply")
    operation: Any = getattr(tr, name)
    if name == "cumsum":
        operation = lambda x, out=None: tr.cumsum(x, axis=0, out=out)  # noqa: E731
    operands = (x, part(False) if draw(st.booleans()) else 2.5) if both else (x,)
    try:
        expected = operation(*operands)
    except TensorError:
        return
    former = memory.copy()
    try:
        found = operation(*operands, out=target)
    except TensorError as error:
        assert np.array_equal(memory, former)
        if isinstance(error, OverlappingViewError):
            with pytest.raises(OverlappingViewError):
                out.check_apart(name, target, *operands)
        return
    assert found is target
    out.check_apart(name, target, *operands)
    assert np.array_equal(target.to_numpy(), expected.to_numpy())
    written = np.zeros(60, bool)
    offset = (target.to_numpy().ctypes.data - memory.ctypes.data) // 8
    for index in np.ndindex(target.shape):
        written[offset + sum(i * s for i, s in zip(index, target.strides, strict=True))] = True
    assert np.array_equal(memory[~written], former[~written])


@pytest.mark.parametrize("shape", [(3, 4), (700, 900)])
def test_an_operand_may_receive_the_result_itself(shape: tuple[int, int]) -> None:
    for name in ("add", "a number", "negative", "exp", "where", "clip", "row", "cumsum"):
        x, y = tr.uniform(shape, seed=1), tr.uniform(shape, seed=2)
        expected = CALLS[name](x, y).to_numpy()
        assert CALLS[name](x, y, out=x) is x
        np.testing.assert_array_equal(x.to_numpy(), expected)
    square = tr.uniform((60, 60), seed=3)
    expected = tr.matmul(square, square).to_numpy()
    tr.matmul(square, square, out=square)
    np.testing.assert_array_equal(square.to_numpy(), expected)


@NATIVE
@pytest.mark.parametrize("name", ["add", "exp", "where", "sum", "matmul", "row"])
def test_nothing_is_allocated_where_the_target_is_of_the_results_form(name: str) -> None:
    x, y = tr.uniform((400, 400), seed=1), tr.uniform((400, 400), seed=2)
    operation = CALLS[name]
    target = operation(x, y)
    held = x.to_numpy(), y.to_numpy()
    mask = tr.less(x, y)
    if name == "where":
        operation = lambda x, y, **o: tr.where(mask, x, y, **o)  # noqa: E731
    operation(x, y, out=target)
    pool.clear()
    before = pool.stats()
    tracemalloc.start()
    operation(x, y, out=target)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000
    if name != "matmul":  # whose operands may be packed
        assert pool.stats().kept_bytes <= before.kept_bytes + 2**17
    del held


def test_memory_lent_read_only_and_views_are_not_written() -> None:
    x = tr.uniform((2, 3), seed=1)
    for lent in (np.zeros((2, 3), order="F"), np.zeros((3, 2)).T):
        lent.flags.writeable = False
        for _ in range(2):
            with pytest.raises(ReadOnlyError):
                tr.add(x, x, out=tr.asarray(lent))
        assert not lent.any()
    memory = tr.zeros((2, 6))
    for _ in range(2):
        tr.add(x, x, out=memory[:, 3:].mutable_view())
        with pytest.raises(ReadOnlyError, match="view that is not mutable"):
            tr.add(x, x, out=memory[:, 3:])
        with pytest.raises(ReadOnlyError, match="view that is not mutable"):
            tr.add(x, x, out=memory[:, :3].mutable_view().T.T)
    lent = np.zeros((2, 6), order="F")
    for part in (lent[:, :3], lent[:, 3:], np.zeros((2, 3), order="F")):
        with pytest.raises(ReadOnlyError, match="view that is not mutable"):
            tr.add(x, x, out=tr.asarray(part))
    assert not lent.any()
    tr.add(x, x, out=tr.asarray(lent[:, 3:]).mutable_view())
    np.testing.assert_array_equal(lent, np.hstack([np.zeros((2, 3)), 2 * x.to_numpy()]))


@NATIVE
def test_references_stay_as_they_are() -> None:
    x, y, z = tr.uniform((3, 4), seed=1), tr.uniform((3, 4), seed=2), tr.zeros((3, 4))
    objects = x._array, y._array, z._array, x._form, z

    def run() -> None:
        for _ in range(100):
            tr.add(x, y, out=z), tr.multiply(x, 2.0, out=z), tr.exp(x, out=z), tr.add(z, y, out=z)
            wrong: Any
            for wrong in (tr.zeros(3), x.T, 3):
                with pytest.raises(TensorError):
                    tr.add(x, y, out=wrong)

    run()
    counts = [sys.getrefcount(one) for one in objects]
    run()
    assert [sys.getrefcount(one) for one in objects] == counts


@NATIVE
def test_the_function_in_python_is_not_called_for_what_is_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    x, z = tr.uniform((3, 4), seed=1), tr.zeros((3, 4))
    tr.add(x, x)

    def refused(*arguments: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(call, "written", refused)
    assert tr.add(x, x, out=z) is z
    with pytest.raises(AssertionError):
        tr.add(x, x, out=tr.cast(z, "C64"))


def test_a_lack_of_memory_on_the_way_is_told_as_without_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*arguments: Any) -> Any:
        raise MemoryError

    z = tr.zeros((3, 4))
    monkeypatch.setattr(call, "binary_into", short)
    with pytest.raises(OutOfMemoryError, match="96 bytes"):
        unwrap(call.execute_binary)(arithmetic.ADD, z, z, z)  # in Python: a native one does without
