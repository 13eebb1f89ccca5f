"""What a user of NumPy writes first: its functions on tensors, methods that are functions here, and what lists them."""

from __future__ import annotations

import builtins
import copy
import inspect
import math
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import tensor_core
import tensor_einsum
import tensor_linalg
import tensor_runtime as tr
from tensor_core.errors import (
    ArgumentError,
    AxisError,
    DTypeError,
    MissingAttributeError,
    ReadOnlyError,
    ShapeError,
    TensorError,
)
from tensor_runtime.errors import ForeignOperandError
from tensor_runtime.ops import names_elsewhere

X = tr.tensor([[314.5, 2.0], [3.0, 4.0]])
A = np.ones((2, 2))

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "np.sin(x)": (lambda: np.sin(X), r"^numpy.sin: found a tensor.*write tensor_runtime.sin\(x\)$"),
    "np.arcsin(x)": (lambda: np.arcsin(X), r"tensor_runtime.asin\(x\)"),
    "np.add(a, x)": (lambda: np.add(A, X), r"^numpy.add: a tensor meets a numpy.ndarray; .*asarray\(\).*to_numpy\(\)"),
    "a + x": (lambda: A + X, "a tensor meets a numpy.ndarray"),
    "x + a": (lambda: X + A, "a tensor meets a numpy.ndarray"),
    "a @ x": (lambda: A @ X, "a tensor meets a numpy.ndarray"),
    "a == x": (lambda: A == X, "a tensor meets a numpy.ndarray"),
    "np.add(2.0, x)": (lambda: np.add(2.0, X), r"tensor_runtime.add\(x, y\)"),
    "np.add.reduce(x)": (lambda: np.add.reduce(X), r"^numpy.add.reduce: .*write tensor_runtime.sum\(x, axis\)$"),
    "np.add.accumulate(x)": (lambda: np.add.accumulate(X), r"tensor_runtime.cumsum\(x, axis\)$"),
    "np.maximum.reduce(x)": (lambda: np.maximum.reduce(X), r"tensor_runtime.max\(x, axis\)$"),
    "np.maximum.accumulate(x)": (lambda: np.maximum.accumulate(X), r"tensor_runtime.scan\(maximum, x, axis\)$"),
    "np.add.outer(x, x)": (lambda: np.add.outer(X, X), r"tensor_runtime.add\(x.reshape\(-1, 1\), y.reshape\(1, -1\)\)"),
    "np.add.at(x, 0, 1)": (lambda: np.add.at(X, [0], 1), r"tensor_runtime.scatter\(x, .*mode='add'\)$"),  # type: ignore[arg-type, call-overload]
    "np.gcd.reduce(x)": (lambda: np.gcd.reduce(X), r"^numpy.gcd.reduce: .*np.asarray\(x\)"),
    "np.fmax(x, x)": (lambda: np.fmax(X, X), r"write where\(isnan\(x\), y, where\(isnan\(y\), x, maximum"),
    "np.where(x)": (lambda: np.where(X), r"^numpy.where: .*write tensor_runtime.nonzero\(x\)$"),
    "np.where(x, x, x)": (lambda: np.where(X, X, X), r"tensor_runtime.where\(condition, x, y\)$"),
    "np.reciprocal(x)": (lambda: np.reciprocal(X), r"tensor_runtime.reciprocal\(x\)$"),
    "np.full_like(x, 1)": (lambda: np.full_like(X, 1), r"tensor_runtime.full_like\(x, value\)$"),  # type: ignore[arg-type]
    "np.ravel(x)": (lambda: np.ravel(X), r"write x.reshape\(-1, order='C'\)$"),
    "np.vstack": (lambda: np.vstack([X, X]), r"write concatenate\(tensors, 0\), .*with functions of tensor_runtime$"),
    "np.put(x, 0, 1)": (lambda: np.put(X, [0], 1), r"write mutable_view\(x\)\[indices\] = values"),  # type: ignore[arg-type]
    "np.linalg.norm(x, 2)": (lambda: np.linalg.norm(X, 2), r"write tensor_linalg.norm\(x, ord\), or "),
    "np.linalg.solve(x, x)": (lambda: np.linalg.solve(X, X), r"write tensor_linalg.solve\(x, y\)$"),
    "np.linalg.trace(x)": (lambda: np.linalg.trace(X), r"write tensor_runtime.trace\(x, axis1=-2, axis2=-1\)$"),
    "np.trace(x)": (lambda: np.trace(X), r"write tensor_runtime.trace\(x\)$"),
    "np.sin(x, out=a)": (lambda: np.sin(X, out=A), r"tensor_runtime.sin"),
    "np.sum(x)": (lambda: np.sum(X), r"^numpy.sum: .*tensor_runtime.sum\(x\)"),
    "np.concatenate": (lambda: np.concatenate([X, X]), r"tensor_runtime.concatenate\(tensors\)"),
    "np.linalg.svd(x)": (lambda: np.linalg.svd(X), r"^numpy.linalg.svd: .*tensor_linalg.svd\(x\)"),
    "np.fft.fft(x)": (lambda: np.fft.fft(X), r"^numpy.fft.*np.asarray\(x\), gives NumPy the elements"),
    "np.gcd(x, x)": (lambda: np.gcd(X, X), r"np.asarray\(x\)"),
    "a masked array first": (lambda: np.ma.array(A) + X, "a tensor has no mask"),
    "a masked array last": (lambda: X + np.ma.array(A), "a tensor has no mask"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_numpys_functions_are_refused_by_an_error_that_names_ours(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(TypeError, match=message) as caught:
        call()
    assert type(caught.value).__module__.startswith(("tensor_runtime", "tensor_core"))
    assert "\n" not in str(caught.value)
    assert "314" not in str(caught.value)


def test_an_array_is_left_as_it_is_by_a_refused_update() -> None:
    a = A.copy()
    with pytest.raises(ForeignOperandError):
        a += X
    assert np.array_equal(a, A)


def test_numpy_may_ask_for_shape_rank_and_size_and_read_the_elements_as_an_array() -> None:
    assert (np.shape(X), np.ndim(X), np.size(X)) == ((2, 2), 2, 4)
    assert np.asarray(X).sum() == 323.5
    np.testing.assert_allclose(X, X.to_numpy())


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("sum", r"'sum' is a function: tensor_runtime.sum\(x\)$"),
        ("take", r"tensor_runtime.take\(x, indices\)$"),
        ("dot", r"tensor_runtime.dot\(x, y\)$"),
        ("real", r"tensor_runtime.real\(x\)$"),
        ("conjugate", r"'conjugate' is the function 'conj' here: tensor_runtime.conj\(x\)$"),
        ("diagonal", r"tensor_runtime.extract_diagonal\(x\)$"),
        ("put", r"tensor_runtime.mutable_view\(x\)\[indices\] = values$"),
        ("view", r"x.reshape\(shape, order='C'\), .*tensor_runtime.reshape_view"),
        ("resize", r"x.reshape\(shape, order='C'\)$"),
        ("float", r"tensor_runtime.cast\(x, 'F32'\)$"),
        ("det", r"tensor_linalg.det\(x\)$"),
        ("add_", r"view \+= y$"),
        ("astype", r"tensor_runtime.convert\(x, dtype\), or cast"),
        ("flatten", r"x.reshape\(-1, order='C'\)$"),
        ("zeros", "has no attribute 'zeros'$"),
        ("load", "has no attribute 'load'$"),
        ("einsum", "has no attribute 'einsum'$"),
        ("fill", r"mutable_view\(x\)\[...\] = value$"),
    ],
)
def test_a_method_that_tensors_have_not_names_the_function(name: str, remedy: str) -> None:
    for x in (X, tr.mutable_view(tr.copy(X))):
        with pytest.raises(AttributeError, match=remedy) as caught:
            getattr(x, name)
        assert isinstance(caught.value, MissingAttributeError)
        assert caught.value.name == name
        assert f"'{type(x).__name__}' object has no attribute {name!r}" in str(caught.value)
        assert not hasattr(x, name)
        assert getattr(x, name, "default") == "default"


def test_every_function_that_a_message_names_exists() -> None:
    tables = [names_elsewhere.METHODS, names_elsewhere.FUNCTIONS, names_elsewhere.LINALG, names_elsewhere.REDUCTIONS]
    tables.append(names_elsewhere.MATRICES)
    for name in names_elsewhere.OURS.values():
        assert name in tr.__all__
    for text in [text for table in tables for text in table.values()]:
        for module, name in re.findall(r"(?<![\w.)])(?:(tensor_linalg|tensor_runtime|math|x)\.)?(\w+)\(", text):
            owner = {"tensor_linalg": tensor_linalg, "math": math, "x": X}.get(module, tr)
            assert hasattr(owner, name) or hasattr(builtins, name), text


V = tr.tensor([3.0, 1.0, math.nan])
A_LINE: list[tuple[str, Any, Any]] = [
    (names_elsewhere.FUNCTIONS["fmax"], np.fmax(V.to_numpy(), 2.0), {"x": V, "y": tr.full((3,), 2.0)}),
    (names_elsewhere.FUNCTIONS["fmin"], np.fmin(V.to_numpy(), 2.0), {"x": V, "y": tr.full((3,), 2.0)}),
    (names_elsewhere.FUNCTIONS["nansum"], np.nansum(V.to_numpy()), {"x": V, "axis": None}),
    (names_elsewhere.FUNCTIONS["nanmax"], np.nanmax(V.to_numpy()), {"x": V, "axis": 0}),
    (names_elsewhere.FUNCTIONS["float_power"], np.float_power([2, 3], 2), {"x": tr.tensor([2, 3]), "y": 2}),
    (names_elsewhere.FUNCTIONS["logspace"], np.logspace(0, 2, 3), {"start": 0, "stop": 2, "num": 3}),
    (names_elsewhere.FUNCTIONS["geomspace"], np.geomspace(1, 8, 4), {"start": 1, "stop": 8, "num": 4}),
    (names_elsewhere.FUNCTIONS["ptp"], np.ptp(X.to_numpy(), 0), {"x": X, "axis": 0}),
    (names_elsewhere.FUNCTIONS["vdot"], np.vdot(X.to_numpy(), X.to_numpy()), {"x": X, "y": X}),
    (names_elsewhere.FUNCTIONS["diagflat"], np.diagflat([[1, 2]]), {"x": tr.tensor([[1, 2]])}),
    (names_elsewhere.FUNCTIONS["degrees"], np.degrees(X.to_numpy()), {"x": X}),
    (names_elsewhere.FUNCTIONS["fft"], np.fft.fft(X.to_numpy()), {"x": X, "numpy": np}),
    (names_elsewhere.FUNCTIONS["mgrid"], np.mgrid[0:2, 0:3], {"x": tr.arange(2), "y": tr.arange(3)}),
    (names_elsewhere.FUNCTIONS["tril_indices"], np.tril_indices(3), {"rows": 3}),
    (names_elsewhere.REDUCTIONS["add.accumulate"], np.add.accumulate(X.to_numpy()), {"x": X, "axis": 0}),
    (names_elsewhere.REDUCTIONS["logical_and.reduce"], np.logical_and.reduce(X.to_numpy()), {"x": X, "axis": 0}),
    (names_elsewhere.UFUNC_METHODS["reduce"].format("hypot"), np.hypot.reduce(X.to_numpy()), {"x": X, "axis": 0}),
    (
        names_elsewhere.UFUNC_METHODS["accumulate"].format("maximum"),
        np.maximum.accumulate(X.to_numpy()),
        {"x": X, "axis": 0},
    ),
    (names_elsewhere.UFUNC_METHODS["outer"].format("add").removesuffix(" of vectors"), np.add.outer([1, 2], [3]),
     {"x": tr.tensor([1, 2]), "y": tr.tensor([3])}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected", "names"), A_LINE, ids=[line for line, _, _ in A_LINE])
def test_a_line_that_a_message_gives_computes_what_numpy_does(line: str, expected: Any, names: Any) -> None:
    found = eval(line, {**vars(tr), "math": math, **names})
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-13)


@pytest.mark.parametrize("dtype", [tr.F32, tr.F64], ids=str)
def test_what_is_written_for_nan_to_num_gives_what_it_gives(dtype: tr.DType) -> None:
    x = tr.tensor([math.nan, math.inf, -math.inf, -2.5, 0.0], dtype)
    first, line = names_elsewhere.FUNCTIONS["nan_to_num"].split(", then ")
    m = eval(first.removeprefix("m = "), {"numpy": np, "x": x})
    found = eval(line, {**vars(tr), "x": x, "m": m})
    assert found.dtype is dtype and np.array_equal(found.to_numpy(), np.nan_to_num(x.to_numpy()))


def test_a_tensor_lists_what_it_has() -> None:
    for x in (X, tr.mutable_view(tr.copy(X))):
        names = dir(x)
        assert {"shape", "T", "item", "__add__"} <= set(names)
        for name in names:
            assert hasattr(type(x), name), name
        assert not {"sum", "astype"} & set(names)
    assert pickle.loads(pickle.dumps(X)).shape == copy.copy(X).shape == (2, 2)


@pytest.mark.parametrize("package", [tr, tensor_core, tensor_einsum, tensor_linalg], ids=lambda one: str(one.__name__))
def test_a_package_lists_its_public_names_and_no_other_modules(package: Any) -> None:
    names = dir(package)
    assert set(names) == {*package.__all__, "__version__"}
    modules = {name for name in names if inspect.ismodule(getattr(package, name))}
    assert modules == ({"algebras", "primitives"} if package is tr else set())


@pytest.mark.parametrize(
    ("index", "spelled"),
    [
        (0, "0"),
        ((0, slice(1, None), None, ...), "0, 1:, None, ..."),
        (slice(None, None, -1), "::-1"),
        (slice(0, 2), "0:2"),
        (X > 1, "index"),
        ((slice(None), [0]), "index"),
        ("a", "index"),
    ],
)
def test_an_assignment_to_a_tensor_is_refused_with_the_line_to_write(index: Any, spelled: str) -> None:
    with pytest.raises(ReadOnlyError) as caught:
        X[index] = 1.0  # type: ignore[index]
    assert str(caught.value) == f"x[{spelled}] = value: a tensor is read-only; write mutable_view(x)[{spelled}] = value"


def test_nested_lists_come_back_from_tensors_of_any_layout() -> None:
    assert X.T.tolist() == [[314.5, 3.0], [2.0, 4.0]]
    assert tr.tensor(True).tolist() is True
    assert tr.zeros((2, 0)).tolist() == [[], []]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("array", r"tensor\(data\)"),
        ("reshape", "order='C'"),
        ("float32", "F32"),
        ("cat", "concatenate"),
        ("pi", "math.pi"),
    ],
)
def test_a_name_that_the_module_lacks_says_what_to_write(name: str, remedy: str) -> None:
    with pytest.raises(MissingAttributeError, match=f"has no attribute '{name}'; write .*{remedy}"):
        getattr(tr, name)
    assert not hasattr(tr, name) and name not in dir(tr)


def test_a_name_that_nobody_has_is_an_attribute_error_as_ever() -> None:
    with pytest.raises(AttributeError, match=r"'no_such_thing'$"):
        _ = tr.no_such_thing  # type: ignore[attr-defined]


def test_closeness_is_that_of_numpy() -> None:
    line = np.array([0.0, -0.0, 1.0, 1.0 + 1e-6, 1.1, np.inf, -np.inf, np.nan, 1e-9, 3])
    a, b = line[:, None] + np.zeros(10), line + np.zeros((10, 1))
    for options in ({}, {"rtol": 0.2}, {"atol": 1.0, "rtol": 0.0}, {"equal_nan": True}):
        expected = np.isclose(a, b, **options)
        found = tr.isclose(tr.asarray(line)[:, None], tr.asarray(line), **options)
        np.testing.assert_array_equal(found.to_numpy(), expected)
    whole = tr.tensor([1, 2, 3])
    assert tr.allclose(whole, tr.tensor([1.0, 2.0, 3.0 + 1e-7])) is True
    assert tr.allclose(whole, 1) is False
    assert tr.array_equal(whole, tr.tensor([1.0, 2.0, 3.0])) is True
    assert tr.array_equal(whole, tr.tensor([[1, 2, 3]])) is False
    with pytest.raises(ArgumentError, match="rtol is -1"):
        tr.isclose(whole, whole, rtol=-1)


def test_a_dtype_may_be_given_by_position_and_by_a_code_of_numpy() -> None:
    assert tr.zeros((2, 2), "f4").dtype is tr.F32 and tr.ones(2, int).dtype is tr.I64
    assert tr.full(2, 1, "c16").dtype is tr.C64 and tr.empty(2, "?").dtype is tr.Bool
    assert tr.tensor([1], float).dtype is tr.F64 and tr.asarray([1], "i4").dtype is tr.I32
    assert tr.zeros_like(tr.ones(2), tr.C32).dtype is tr.C32 and tr.full_like(tr.ones(2), 1, "I64").dtype is tr.I64
    with pytest.raises(DTypeError, match=r"zeros\(\(2, 3\)\)"):
        tr.zeros(2, 3)  # type: ignore[call-overload]


def test_keywords_of_numpy_are_taken() -> None:
    x = tr.arange(6).reshape((1, 6))
    a = x.to_numpy()
    for ours, theirs in [
        (tr.expand_dims(x, axis=0), np.expand_dims(a, axis=0)),
        (tr.squeeze(x, axis=0), np.squeeze(a, axis=0)),
        (tr.transpose(x, axes=(1, 0)), np.transpose(a, axes=(1, 0))),
        (tr.broadcast_to(x, shape=(2, 6)), np.broadcast_to(a, shape=(2, 6))),
        (tr.take(x, indices=tr.tensor([1, 0]), axis=1), np.take(a, indices=[1, 0], axis=1)),
        (tr.repeat(x, repeats=2, axis=1), np.repeat(a, repeats=2, axis=1)),
        (tr.roll(x, shift=2, axis=1), np.roll(a, shift=2, axis=1)),
        (tr.pad(x, pad_width=1), np.pad(a, pad_width=1)),
        (tr.swapaxes(x, axis1=0, axis2=1), np.swapaxes(a, axis1=0, axis2=1)),
        (tr.round(x, decimals=-1), np.round(a, decimals=-1)),
    ]:
        assert np.array_equal(ours.to_numpy(), theirs)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("median", r"; numpy.median takes x.to_numpy\(\), and asarray\(\) an array that it gives$"),
        ("percentile", r"; numpy.percentile takes x.to_numpy\(\)"),
        ("gcd", r"; numpy.gcd takes x.to_numpy\(\)"),
        ("set_printoptions", "has no attribute 'set_printoptions'$"),
        ("eigh", r"; write tensor_linalg.eigh\(x\)$"),
        ("solve", r"; write tensor_linalg.solve\(x, y\)$"),
        ("fft", r"; write asarray\(numpy.fft.fft\("),
        ("ndindex", r"; write itertools.product\("),
        ("matrix_transpose", r"; write x.mT$"),
        ("clamp", r"; write clip\(x, low, high\)$"),
        ("nonsense", "has no attribute 'nonsense'$"),
        ("uint8", "; write I64, or I32"),
    ],
)
def test_what_only_numpy_has_is_written_with_numpy(name: str, remedy: str) -> None:
    with pytest.raises(MissingAttributeError, match=remedy):
        getattr(tr, name)


def test_what_is_left_to_numpy_is_there_and_not_here() -> None:
    named = names_elsewhere.FUNCTIONS.keys() | names_elsewhere.OURS.keys() | names_elsewhere.MATRICES.keys()
    for module, names in names_elsewhere.ALONE.items():
        assert not names & named and not names & {*tr.__all__, *tensor_linalg.__all__}
        for name in names:
            assert callable(getattr(import_module(module), name))
    code = (
        "import sys, tensor_runtime as tr\ntry: tr.median\n"
        "except AttributeError as error: print('numpy' in sys.modules, error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.startswith("False ") and "numpy.median takes x.to_numpy()" in told


def test_what_is_written_instead_is_there() -> None:
    x = tr.tensor([[0, 1, 2], [3, 0, 5]])
    a = x.to_numpy()
    assert np.array_equal(tr.stack(tr.nonzero(x), -1).to_numpy(), np.argwhere(a))
    assert np.array_equal(tr.nonzero(x.reshape(-1, order="C"))[0].to_numpy(), np.flatnonzero(a))
    assert np.array_equal(tr.tensordot(x, x, ((-1,), (-1,))).to_numpy(), np.inner(a, a))
    assert np.array_equal(tr.clip(x, 1, 3).to_numpy(), np.clip(a, 1, 3))


@pytest.mark.parametrize("dtype", tr.DTYPES, ids=str)
def test_tolist_is_that_of_numpy(dtype: tr.DType) -> None:
    a = np.arange(12).reshape(3, 4).astype(dtype.numpy_name)
    x = tr.asarray(a)
    for ours, theirs in [(x, a), (x.T[::-1, 1:], a.T[::-1, 1:]), (x[1, 2], a[1, 2]), (x[:, :0], a[:, :0])]:
        assert ours.tolist() == theirs.tolist()
        assert repr(ours.tolist()) == repr(theirs.tolist())
    assert [row.tolist() for row in x] == a.tolist()


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda: tr.squeeze(tr.ones((2, 1)), 0), ShapeError, "^squeeze: axis 0 has extent 2"),
        (lambda: tr.allclose(tr.ones(2), A), TensorError, "^allclose: "),
        (lambda: tr.allclose(tr.ones(2), tr.ones(3)), ShapeError, "^allclose: "),
        (lambda: tr.trace(tr.ones(2)), AxisError, "^trace: axis 1 is out of range"),
    ],
)
def test_errors_name_the_function_that_was_called(ask: Callable[[], Any], error: type[TensorError], said: str) -> None:
    with pytest.raises(error, match=said):
        ask()


def test_lists_are_taken_for_indices_and_for_values_that_are_searched() -> None:
    line = tr.tensor([1.0, 2.0, 4.0])
    assert tr.take(line, [0, -1]).tolist() == [1.0, 4.0] and tr.take(X, [[1], [0]], axis=1).shape == (2, 2, 1)  # type: ignore[arg-type]
    assert tr.take(line, []).shape == (0,)  # type: ignore[arg-type]
    assert tr.searchsorted(line, [0, 3, 9]).tolist() == [0, 2, 3]  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match=r"^take: "):
        tr.take(line, [0.5])  # type: ignore[arg-type]
    for wrong in ("a", None, 2.5):
        with pytest.raises(ForeignOperandError, match="take: found"):
            tr.take(line, wrong)  # type: ignore[arg-type]


def test_no_dtype_is_the_usual_one() -> None:
    for made in (tr.zeros(2, None), tr.ones(2, dtype=None), tr.eye(2, dtype=None), tr.uniform(2, seed=1, dtype=None)):  # type: ignore[call-overload]
        assert made.dtype is tr.F64
    assert tr.integers(2, 0, 9, seed=1, dtype=None).dtype is tr.I64  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: -(X > 1), r"write ~x$"),
        (lambda: (X > 1) - (X > 1), r"write x \^ y$"),
        (lambda: X & X, r"write logical_and\(\)$"),
        (lambda: ~X, r"write logical_not\(\)$"),
        (lambda: tr.repeat(X, tr.tensor([1, 2]), 0), r"of a tensor write x.tolist\(\)$"),  # type: ignore[call-overload]
    ],
)
def test_an_operand_of_another_kind_is_answered_with_the_line_to_write(ask: Callable[[], Any], told: str) -> None:
    with pytest.raises(TensorError, match=told):
        ask()
