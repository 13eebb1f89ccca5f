"""The array API standard's namespace: its names, and its answers beside those of NumPy, which follows the standard."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core import F32, F64, I32, I64, Bool, DTypeError, ShapeError
from tensor_core.errors import ArgumentError, TensorError
from tensor_runtime import array_api as xp

X = np.arange(24.0).reshape(2, 3, 4)


def both(name: str, *arguments: Any, **options: Any) -> tuple[Any, Any]:
    """The answers of ours and of NumPy's namespace, for arrays among the arguments."""

    def ours(one: Any) -> Any:
        return tr.asarray(one) if isinstance(one, np.ndarray) else [ours(x) for x in one] if type(one) is list else one

    def plain(one: Any) -> Any:
        return [plain(x) for x in one] if isinstance(one, (list, tuple)) else np.asarray(one)

    answers = getattr(xp, name)(*map(ours, arguments), **{key: ours(one) for key, one in options.items()})
    expected = getattr(np, name)(*arguments, **options)
    return plain(answers), plain(expected)


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("reshape", (X, (4, 6)), {}),
        ("reshape", (X, -1), {}),
        ("reshape", (X[:, ::-1], (3, -1)), {"copy": None}),
        ("concat", ([X, X + 1],), {"axis": 1}),
        ("concat", ([X, X[0]],), {"axis": None}),
        ("stack", ([X, X + 1],), {"axis": -1}),
        ("expand_dims", (X,), {"axis": 1}),
        ("squeeze", (X[:1],), {"axis": 0}),
        ("flip", (X,), {"axis": None}),
        ("moveaxis", (X, 0, 2), {}),
        ("permute_dims", (X, (2, 0, 1)), {}),
        ("matrix_transpose", (X,), {}),
        ("broadcast_arrays", (X, X[0, :, :1]), {}),
        ("repeat", (X, 2), {}),
        ("repeat", (X, np.array([1, 0, 2])), {"axis": 1}),
        ("roll", (X, 5), {}),
        ("roll", (X, (1, 2)), {"axis": (0, 1)}),
        ("tile", (X, (2, 1)), {}),
        ("unstack", (X,), {"axis": 1}),
        ("sum", (X.astype(np.int32),), {"axis": (0, 2)}),
        ("sum", (X.astype(np.float32),), {"dtype": None, "keepdims": True}),
        ("prod", (X > 3,), {"axis": 0}),
        ("cumulative_sum", (X,), {"axis": 1, "include_initial": True}),
        ("cumulative_prod", (X[0, 0].astype(np.int32),), {}),
        ("diff", (X,), {"axis": 1, "n": 2}),
        ("sort", (-X,), {"axis": 1}),
        ("argsort", (-X,), {"axis": 1}),
        ("searchsorted", (np.array([3.0, 1.0, 2.0]), X[0]), {"sorter": np.array([1, 2, 0])}),
        ("take", (X, np.array([2, 0])), {"axis": 1}),
        ("meshgrid", (X[0, 0], X[0, :, 0]), {"indexing": "ij"}),
        ("vecdot", (X, X + 1), {"axis": 1}),
        ("linspace", (0.0, 1.0, 5), {"endpoint": False}),
        ("arange", (5,), {}),
        ("arange", (5, 1, -2), {}),
        ("eye", (3, 4), {"k": -1}),
        ("tril", (X,), {"k": -1}),
        ("full", ((2, 2), True), {}),
        ("count_nonzero", (X,), {"axis": 0}),
        ("where", (X > 3, X, 0.0), {}),
        ("floor_divide", (X, X[0] - 5.5), {}),
        ("unique_counts", (X % 3,), {}),
    ],
)
def test_answers_are_those_of_numpy(name: str, arguments: Any, options: Any) -> None:
    ours, expected = both(name, *arguments, **options)
    for one, other in zip(ours, expected, strict=True) if isinstance(ours, list) else [(ours, expected)]:
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_every_name_of_the_list_is_there_and_no_other_is_shown() -> None:
    assert dir(xp) == sorted(xp.__all__)
    assert all(hasattr(xp, name) for name in xp.__all__)
    assert not hasattr(xp, "fft"), "absent until it is there"


def test_a_tensor_leads_to_the_namespace() -> None:
    x = tr.ones((2, 3))
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ArgumentError, match="api_version='2019'"):
        x.__array_namespace__(api_version="2019")
    assert x.device is tr.CPU
    assert x.to_device("cpu") is x
    assert x.mT.shape == (3, 2)


def test_element_types_answer_as_the_standard_says() -> None:
    assert (xp.float64, xp.bool, xp.int32) == (F64, Bool, I32)
    for dtype in (F32, F64):
        ours, theirs = xp.finfo(dtype), np.finfo(dtype.numpy_name)
        assert (ours.bits, ours.eps, ours.max, ours.min, ours.smallest_normal) == (
            theirs.bits, float(theirs.eps), float(theirs.max), float(theirs.min), float(theirs.smallest_normal),
        )  # fmt: skip
    assert xp.iinfo(tr.ones(1, dtype=I64))[:3] == (64, 2**63 - 1, -(2**63))
    assert xp.result_type(tr.ones(1, dtype=F32), I32, 1j) is tr.C64
    assert xp.can_cast(I32, F64)
    assert not xp.can_cast(tr.ones(1), I64)
    info = xp.__array_namespace_info__()
    assert info.dtypes(kind=("integral", "bool")) == {"bool": Bool, "int32": I32, "int64": I64}
    assert info.capabilities()["boolean indexing"]
    assert info.default_dtypes()["integral"] is I64


def test_astype_rounds_wraps_and_copies_as_asked() -> None:
    x = tr.tensor([1.5, -2.5, 2.0**33])
    assert xp.astype(x, I32).tolist() == [1, -2, 0]
    assert xp.astype(x, F64, copy=False) is x
    assert xp.astype(x, F64) is not x
    with pytest.raises(DTypeError, match="drops imaginary parts"):
        xp.astype(tr.tensor([1j]), F64)


def test_a_copy_is_made_or_refused_as_asked() -> None:
    x = tr.ones((2, 3))
    with pytest.raises(ArgumentError, match="in row-major order needs a copy"):
        xp.reshape(x, (3, 2), copy=False)
    rows = x.T
    assert not np.shares_memory(xp.reshape(rows, rows.shape, copy=True).to_numpy(), x.to_numpy())
    assert np.shares_memory(xp.reshape(rows, rows.shape, copy=False).to_numpy(), x.to_numpy())
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=True) is not x
    with pytest.raises(ArgumentError, match="copy=False"):
        xp.asarray(x, dtype=F32, copy=False)
    array = np.array([[1.5, -2.5]])
    assert xp.asarray(array, dtype=I32).tolist() == [[1, -2]]
    with pytest.raises(ArgumentError, match="copy=False"):
        xp.asarray(array, dtype=F32, copy=False)
    with pytest.raises(DTypeError, match="drops imaginary parts"):
        xp.asarray(array + 1j, dtype=F64)


def test_quotients_with_infinities_are_the_standards() -> None:
    inf = math.inf
    found = xp.floor_divide(tr.tensor([inf, -inf, 3.0, -3.0, 7.0, 0.0]), tr.tensor([2.0, 2.0, -inf, inf, -2.0, 5.0]))
    np.testing.assert_array_equal(found.to_numpy(), [inf, -inf, -0.0, -0.0, -4.0, 0.0])
    assert np.signbit(found.to_numpy()[2:4]).all()
    assert xp.floor_divide(tr.tensor([inf], dtype=F32), 2).dtype is F32
    assert xp.floor_divide(7, tr.tensor([2])).tolist() == [3]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_tangents_at_infinity_keep_the_sign_of_the_other_part(dtype: str) -> None:
    others = np.array([3.0, -3.0, 1.0, -1.0, 0.0, -0.0])
    for infinity in (math.inf, -math.inf):
        x = tr.asarray(np.array([complex(infinity, one) for one in others], dtype))
        found = xp.tanh(x).to_numpy()
        np.testing.assert_array_equal(found, np.sign(infinity))
        np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(others))
        x = tr.asarray(np.array([complex(one, infinity) for one in others], dtype))
        found = xp.tan(x).to_numpy()
        np.testing.assert_array_equal(found, complex(0, np.sign(infinity)))
        np.testing.assert_array_equal(np.signbit(found.real), np.signbit(others))
    rest = np.array([0.5 - 2j, -1 + 1j, 0j], dtype)
    np.testing.assert_array_equal(xp.tanh(tr.asarray(rest)).to_numpy(), tr.tanh(tr.asarray(rest)).to_numpy())
    undefined = xp.tanh(tr.asarray(np.array([complex(math.inf, math.nan), complex(math.inf, math.inf)], dtype)))
    np.testing.assert_array_equal(undefined.to_numpy().real, 1)
    assert xp.tanh(tr.tensor([math.inf])).tolist() == [1.0]


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda: xp.take(tr.ones((2, 2)), tr.tensor([0])), ArgumentError, "no axis"),
        (lambda: xp.cumulative_sum(tr.ones((2, 2))), ArgumentError, "no axis"),
        (lambda: xp.finfo(I32), DTypeError, "accepted: F32"),
        (lambda: xp.iinfo(F32), DTypeError, "accepted: I32"),
        (lambda: xp.isdtype(F32, "float"), ArgumentError, "real floating"),
        (lambda: xp.isdtype("real", "integral"), DTypeError, "'real' is none of ours"),
        (lambda: xp.linalg.svd(tr.full((2, 2), float("nan"))), TensorError, r"accepted: finite values only$"),
        (lambda: xp.result_type(1, 2.0), ArgumentError, "one tensor or type"),
        (lambda: xp.linalg.outer(tr.ones((2, 2)), tr.ones(2)), ShapeError, "vectors"),
        (lambda: xp.linalg.det(tr.ones(2)), ShapeError, "matrices"),
    ],
)
def test_refusals_say_what_is_accepted(ask: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ask()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: xp.count_nonzero(x, axis=9), "count_nonzero"),
        (lambda x: xp.cumulative_sum(x, axis=9), "cumulative_sum"),
        (lambda x: xp.cumulative_prod(x, axis=9), "cumulative_prod"),
        (lambda x: xp.flip(x, axis=9), "flip"),
        (lambda x: xp.flip(None), "flip"),
        (lambda x: xp.permute_dims(x, (0, 9)), "permute_dims"),
        (lambda x: xp.moveaxis(x, 9, 0), "moveaxis"),
        (lambda x: xp.broadcast_to(x, (9,)), "broadcast_to"),
        (lambda x: xp.matrix_transpose(x[0]), "matrix_transpose"),
        (lambda x: x[0].mT, "mT"),
        (lambda x: xp.repeat(None, 2), "repeat"),
        (lambda x: xp.roll(None, 2), "roll"),
        (lambda x: xp.reciprocal(None), "reciprocal"),
        (lambda x: xp.unique_counts(None), "unique_counts"),
        (lambda x: xp.unique_values(None), "unique_values"),
        (lambda x: xp.full_like(x, "a"), "full_like"),
        (lambda x: xp.meshgrid(None), "meshgrid"),
        (lambda x: xp.linalg.vector_norm(x, axis=9), "vector_norm"),
        (lambda x: xp.linalg.cross(x, "a"), "cross"),
        (lambda x: xp.linalg.diagonal(None), "diagonal"),
        (lambda x: xp.linalg.trace(None), "trace"),
        (lambda x: xp.linalg.outer(x, "a"), "outer"),
        (lambda x: tr.explain(3), "explain"),
    ],
)
def test_errors_name_the_function_that_was_called(call: Callable[[Any], object], name: str) -> None:
    with pytest.raises(TensorError) as caught:
        call(tr.zeros((2, 3)))
    assert str(caught.value).startswith(f"{name}: ")
    assert getattr(caught.value, "operation", name) == name
