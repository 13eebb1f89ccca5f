"""``explain``: kernels of a call in order, how often, and errors as those of the call."""

from __future__ import annotations

import inspect
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    PlacementError,
    ReadOnlyError,
    ShapeError,
    TensorError,
    UnsupportedOperationError,
)
from tensor_runtime import F64, I64, Bool


def test_kernels_come_in_order_and_repeated_ones_are_counted() -> None:
    def work(x: tr.Tensor) -> tr.Tensor:
        for _ in range(3):
            x = tr.exp(x)
        return tr.sum(x)

    found = tr.explain(work, (F64, (10,)))
    assert [(one.operation, one.times) for one in found] == [("exp", 3), ("sum", 1)]
    assert found[0].operands[0] == tr.ones(10)._form
    assert {one.backend for one in found} == {"cpu"}


def test_nothing_is_computed() -> None:
    huge = tr.explain(tr.matmul, (F64, (10**6, 10**6)), (F64, (10**6, 10**6)))
    assert huge[0].bytes == 3 * 8 * 10**12


def test_a_table_has_a_line_for_each_kernel() -> None:
    found = tr.explain(lambda x: tr.exp(x) + x, (F64, (10,)))
    lines = repr(found).splitlines()
    assert lines[0].startswith("kernel") and lines[1].startswith("1 exp") and lines[2].startswith("2 add")
    assert repr(tr.explain(lambda: 1)) == "no kernel runs on the tensors given"


@pytest.mark.parametrize("mutable", [False, True])
def test_a_kernel_that_fills_the_output_is_followed_by_no_copy(mutable: bool) -> None:
    x, out = tr.ones((9, 9)), tr.zeros((9, 9))
    out = out.mutable_view() if mutable else out
    fills = hasattr(tr.backend("cpu"), "native_call") and bool(tr.explain(tr.add, x, x)[0].choice.fills_output)  # type: ignore[union-attr]
    for explained in (tr.explain(tr.add, x, x, out=out), tr.explain(tr.exp, x, out=out)):
        assert [one.operation for one in explained][1:] == ([] if fills else ["copy_into"])
    assert tr.explain(tr.add, x, x, out=tr.zeros((9, 9), dtype="C64"))[-1].operation == "copy_into"
    assert [one.operation for one in tr.explain(lambda a: tr.copy_into(out.mutable_view(), a + a), x)][
        -1
    ] == "copy_into"
    with pytest.raises(ReadOnlyError):
        tr.explain(tr.add, x, x, out=tr.zeros((10, 9))[1:])


OUTSIDE = tr.ones((2, 2))


def test_tensors_that_the_function_finds_by_itself_are_neither_read_nor_written() -> None:
    x, target = tr.ones((2, 2)), tr.zeros((2, 2))
    view, pair = target.mutable_view(), [x, x]

    def inner() -> tr.Tensor:
        return tr.concatenate([*pair, OUTSIDE])

    for call, kernels in (
        (lambda: x @ x, ["contract"]),
        (lambda: OUTSIDE + 1, ["add"]),
        (lambda: tr.add(x, 1.0, out=view), ["add"]),
        (inner, ["concatenate"]),
        (partial(tr.add, x, OUTSIDE), ["add"]),
    ):
        assert [one.operation for one in tr.explain(call) if one.operation != "copy_into"] == kernels
    assert [one.operation for one in tr.explain(lambda t: x + t, x)] == ["add"]
    assert tr.infer(lambda t, *, by=2: t * by + x, x) is x._form
    assert tr.infer(inner).shape == (6, 2)
    assert target.tolist() == [[0.0, 0.0], [0.0, 0.0]]


class Model:
    def __init__(self) -> None:
        self.weights = tr.ones((2, 2))

    def __call__(self, x: tr.Tensor) -> tr.Tensor:
        return self.weights @ x


def test_a_tensor_that_is_found_elsewhere_is_asked_for_as_an_argument() -> None:
    with pytest.raises(PlacementError, match=r"explain: the function uses a tensor with elements .* pass it as one"):
        tr.explain(Model(), (F64, (2, 2)))


def test_saving_is_told_to_depend_on_elements(tmp_path: Path) -> None:
    found = tr.explain(tr.save, tmp_path / "x.npy", (F64, (2,)))
    assert "has no elements" in found.decided_by_elements
    assert not list(tmp_path.iterdir())
    with pytest.raises(UnsupportedOperationError, match="has no elements"):
        tr.infer(tr.save, tmp_path / "x.npy", (F64, (2,)))


def test_errors_are_those_of_the_call() -> None:
    with pytest.raises(ShapeError):
        tr.explain(tr.add, (F64, (2,)), (F64, (3,)))
    with pytest.raises(ArgumentError, match="accepted: a function"):
        tr.explain(tr.ones(2), (F64, (2,)))  # type: ignore[arg-type]


def test_where_elements_decide_the_kernels_before_them_are_told_and_why_there_are_no_more() -> None:
    found = tr.explain(lambda x: tr.exp(x)[x > 0], (F64, (2,)))
    assert [one.operation for one in found if not one.operation.endswith("view")] == ["exp", "greater", "nonzero"]
    assert "nonzero: the result's shape depends on the elements" in found.decided_by_elements
    assert repr(found).splitlines()[-1].startswith("what follows is decided by elements: nonzero")
    assert not tr.explain(tr.exp, (F64, (2,))).decided_by_elements
    with pytest.raises(UnsupportedOperationError):
        tr.infer(tr.nonzero, (F64, (2,)))


def test_what_is_deleted_by_indices_of_the_host_is_known_to_its_end() -> None:
    found = tr.explain(tr.delete, (F64, (5,)), [0, -1])
    assert not found.decided_by_elements
    assert found[-1].operation == "take" and found[-1].results[0].shape == (3,)


MATRIX, LINE, PLACES = (F64, (4, 4)), (F64, (4,)), (I64, (4,))
USUAL: tuple[tuple[Any, ...], ...] = (
    (MATRIX,),
    (MATRIX, MATRIX),
    (MATRIX, LINE),
    (LINE,),
    (LINE, LINE),
    (MATRIX, PLACES),
    (MATRIX, 2),
    (MATRIX, (4, 4)),
    ((2, 2),),
    ([MATRIX, MATRIX],),
    (PLACES, PLACES),
    (PLACES,),
    (MATRIX, PLACES, MATRIX),
    (),
)
OWN: dict[str, tuple[Any, ...]] = {
    "arange": (3,),
    "eye": (3,),
    "reverse_view": (MATRIX, 0),
    "isin": (MATRIX, LINE),
    "bitwise_invert": (PLACES,),
    "mean_pool": ((F64, (1, 5, 2)), 2),
    "synchronize": ("cpu",),
    "backend": ("cpu",),
    "broadcast_in_dim": (LINE, (4, 4), [0]),
    "cast": (MATRIX, F64),
    "conv": ((F64, (1, 5, 2)), (F64, (2, 2, 3))),
    "convert": (MATRIX, F64),
    "copy_into": (tr.zeros((4, 4)).mutable_view(), MATRIX),
    "dynamic_slice": (MATRIX, (0, 0), (1, 1)),
    "dynamic_update_slice": (MATRIX, MATRIX, (0, 0)),
    "checks": ("now",),
    "explain": (tr.exp, LINE),
    "fold": (tr.add, LINE),
    "fold_in": (1, 2),
    "from_flat": ([1.0], (1,)),
    "from_function": ((2,), lambda i: i),
    "full": (2, 1.0),
    "fuse": (tr.exp,),
    "infer": (tr.exp, LINE),
    "integers": (3, 1, 7),
    "linspace": (0, 1),
    "max_pool": ((F64, (1, 5, 2)), 2),
    "move_axes": (MATRIX, 0, 1),
    "permute_axes": (MATRIX, (1, 0)),
    "promote": (F64, I64),
    "put_along_axis": (tr.zeros((4, 4)).mutable_view(), (I64, (4, 4)), 1.0),
    "scan": (tr.add, LINE),
    "scatter": (MATRIX, PLACES, MATRIX),
    "stream": ("cpu",),
    "swapaxes": (MATRIX, 0, 1),
    "tabulate": (2, lambda i: i),
    "take_along_axis": (MATRIX, (I64, (4, 4))),
    "to": (MATRIX, "cpu"),
    "typed": (MATRIX, F64),
    "upload": (tr.HostTensor.zeros(2),),
    "where": ((Bool, (4, 4)), MATRIX, MATRIX),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "integers": {"seed": 1},
    "normal": {"seed": 1},
    "uniform": {"seed": 1},
    "scatter": {"mode": "add"},
}
ELSEWHERE = {
    "einsum",
    "memory",  # which the cpu backend does not count
    "load",
    "load_all",
    "load_raw",
    "save",
    "save_raw",
    "refresh_backends",
    "register_backend",
    "register_kernel",
    "register_rule",
    "set_threads",
}


def test_every_public_function_can_be_explained() -> None:
    for name in tr.__all__:
        function: Any = getattr(tr, name)
        if not callable(function) or inspect.isclass(function) or name in ELSEWHERE:
            continue
        tried = [OWN[name]] if name in OWN else USUAL
        for arguments in tried:
            try:
                found = tr.explain(function, *arguments, **OPTIONS.get(name, {}))
            except (TensorError, TypeError) as error:
                failed: Exception | None = error
                continue
            assert repr(found), name
            break
        else:
            raise AssertionError(f"{name}: no call was explained: {failed}")


def test_a_backend_that_cannot_say_is_named_all_the_same() -> None:
    (one,) = tr.explain(tr.exp, tr.zeros((2,), placement="meta"))
    assert one.backend == "meta" and one.choice is None
