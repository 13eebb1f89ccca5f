"""Arithmetic and comparisons equal NumPy's: broadcasting, promotion, numbers, operators, and silence."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from numpy_agreement import Array, integer_arrays
from tensor_core import DTYPES, F64, Bool, as_dtype
from tensor_core.dtypes import COMPLEX, FLOATING, NUMERIC, REAL
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError, ShapeError

BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.true_divide,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}
ORDERED = {"less", "less_equal", "greater", "greater_equal"}


def accepts(name: str, dtype: Any) -> bool:
    if name == "subtract":
        return dtype in NUMERIC
    return name not in ORDERED or dtype not in COMPLEX


@st.composite
def broadcasting_pairs(draw: st.DrawFn) -> tuple[Array, Array]:
    full = draw(st.lists(st.integers(0, 3), max_size=3))
    shapes = []
    for _ in range(2):
        rank = draw(st.integers(0, len(full)))
        shapes.append(tuple(draw(st.sampled_from([1, extent])) for extent in full[len(full) - rank :]))
    return draw(integer_arrays(shapes[0])), draw(integer_arrays(shapes[1]))


@pytest.mark.parametrize("name", BINARY)
@given(pair=broadcasting_pairs())
def test_a_binary_operation_equals_numpys_and_is_compact(name: str, pair: tuple[Array, Array]) -> None:
    a, b = pair
    common = as_dtype(np.result_type(a, b))
    operation = getattr(tr, name)
    if not accepts(name, common):
        with pytest.raises(DTypeError, match=f"{name}: operands are"):
            operation(tr.asarray(a), tr.asarray(b))
        return
    with np.errstate(all="ignore"):
        expected = BINARY[name](a, b)
    result = operation(tr.asarray(a), tr.asarray(b))

    assert result.shape == expected.shape
    assert result.dtype is as_dtype(expected.dtype)
    assert result.is_compact
    np.testing.assert_array_equal(result.to_numpy(), expected)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("number", [True, 2, 2.5, 1 + 2j], ids=str)
@pytest.mark.parametrize("first", [False, True])
def test_a_python_number_adopts_the_tensors_dtype_when_its_kind_can(
    name: str, dtype: Any, number: Any, first: bool
) -> None:
    a = np.array([[0, 1, 3], [1, 2, 1]]).astype(dtype.numpy_name)
    common = as_dtype(np.result_type(a, number))
    x = tr.asarray(a)
    ours, theirs = ((number, x), (number, a)) if first else ((x, number), (a, number))
    if not accepts(name, common):
        with pytest.raises(DTypeError):
            getattr(tr, name)(*ours)
        return
    with np.errstate(all="ignore"):
        expected = BINARY[name](*theirs)
    result = getattr(tr, name)(*ours)

    assert result.dtype is as_dtype(expected.dtype)
    assert result.is_compact
    np.testing.assert_array_equal(result.to_numpy(), expected)


@pytest.mark.parametrize(
    ("name", "oracle", "accepted"),
    [
        ("negative", np.negative, NUMERIC),
        ("positive", np.positive, NUMERIC),
        ("abs", np.abs, NUMERIC),
        ("conj", np.conjugate, NUMERIC),
        ("exp", np.exp, set(DTYPES)),
        ("sqrt", np.sqrt, set(DTYPES)),
    ],
)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3), (2, 0, 3), (3, 1, 2)])
def test_a_unary_operation_equals_numpys(
    name: str, oracle: Any, accepted: Any, dtype: Any, shape: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(0)
    a = np.asfortranarray(rng.integers(-3, 4, shape)) if shape else np.array(2)
    a = np.array((a + 1j * a if dtype in COMPLEX else a).astype(dtype.numpy_name), order="F")
    for x, y in ((tr.asarray(a), a), (tr.asarray(a).T, a.T)):
        if dtype not in accepted:
            with pytest.raises(DTypeError, match=f"{name}: operand is {dtype.name}; accepted"):
                getattr(tr, name)(x)
            continue
        floating = y if dtype in FLOATING or name not in ("exp", "sqrt") else y.astype(float)
        with np.errstate(all="ignore"):
            expected = oracle(floating)
        result = getattr(tr, name)(x)
        assert result.dtype is as_dtype(expected.dtype)
        assert result.is_compact
        assert not np.shares_memory(result.to_numpy(), a)
        if name == "exp" or (name in ("abs", "sqrt") and dtype in COMPLEX):  # not every library rounds them alike
            eps = np.finfo(expected.dtype).eps
            np.testing.assert_allclose(result.to_numpy(), expected, rtol=4 * eps, atol=0)
        else:
            np.testing.assert_array_equal(result.to_numpy(), expected)


def test_integers_wrap() -> None:
    largest = tr.full((1,), 2**63 - 1)
    assert (largest + 1).item() == -(2**63)
    assert tr.negative(tr.full((1,), -(2**63))).item() == -(2**63)
    assert tr.sum(tr.full((2,), 2**63 - 1)).item() == -2


@pytest.mark.parametrize(
    ("x", "number"), [(tr.zeros(2, dtype="I32"), 2**31), (tr.zeros(2, dtype="I64"), 2**63), (tr.zeros(2), 10**400)]
)
def test_a_number_that_does_not_fit_is_refused(x: tr.Tensor, number: int) -> None:
    with pytest.raises(CastRangeError, match="add: the number"):
        tr.add(x, number)


def test_a_number_beyond_the_range_of_f32_becomes_infinite_as_ieee_says() -> None:
    assert (tr.zeros(1, dtype="F32") + 1e300).item() == float("inf")


def test_shapes_that_do_not_broadcast_are_named_as_written() -> None:
    with pytest.raises(ShapeError, match="add: shapes \\(2, 3\\) and \\(2,\\) do not broadcast"):
        tr.add(tr.zeros((2, 3)), tr.zeros((2,)))


@pytest.mark.parametrize("other", [np.ones(2), np.array(1.0), [1, 2], "a", None, object(), np.str_("3")])
def test_what_is_no_tensor_and_no_python_number_is_refused_and_never_cached(other: Any) -> None:
    x = tr.zeros(2)
    entries = tr.binding_cache.stats().entries
    for pair in ((x, other), (other, x), (other, other)):
        with pytest.raises(DTypeError):
            tr.add(*pair)
    assert tr.binding_cache.stats().entries == entries


def test_operators_are_sugar_over_the_functions() -> None:
    a, b = tr.tensor([[1.0, 2.0], [3.0, 4.0]]), tr.tensor([[0.5, 1.0], [2.0, 4.0]])
    x, y = a.to_numpy(), b.to_numpy()

    for ours, theirs in [
        (a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y), (a @ b, x @ y), (-a, -x), (+a, +x),
        (abs(-a), x),
        (1 + a, 1 + x), (1 - a, 1 - x), (2 * a, 2 * x), (1 / a, 1 / x),
        (a == b, x == y), (a != b, x != y), (a < b, x < y), (a <= b, x <= y), (a > b, x > y),
        (a >= b, x >= y),
        (1 < a, 1 < x), (1.0 == a, 1.0 == x),  # noqa: SIM300
    ]:  # fmt: skip
        np.testing.assert_array_equal(ours.to_numpy(), theirs)


class Foreign:
    def __radd__(self, other: object) -> str:
        return "foreign"


def test_operators_let_a_foreign_class_answer() -> None:
    assert tr.zeros(2) + Foreign() == "foreign"  # type: ignore[operator, comparison-overlap]
    with pytest.raises(TypeError, match="add: a tensor meets a str"):
        tr.zeros(2) + "a"  # type: ignore[operator]


def test_numpy_never_makes_an_object_array_of_a_tensor() -> None:
    x = tr.zeros(2)
    for mix in (lambda: np.ones(2) + x, lambda: np.array(1.0) * x, lambda: x - np.ones(2), lambda: np.ones(2) == x):
        with pytest.raises(DTypeError, match="asarray"):
            mix()
    with pytest.raises(TypeError):
        np.add(np.ones(2), x)


@pytest.mark.parametrize("state", ["raise", "warn", "print", "ignore"])
def test_no_kernel_warns_whatever_the_users_error_state(state: Any, capfd: pytest.CaptureFixture[str]) -> None:
    big, zero = tr.full((3,), 1e308), tr.zeros((3,))
    with np.errstate(all=state), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (big + big).to_numpy().tolist() == [float("inf")] * 3
        assert np.isnan((zero / zero).to_numpy()).all()
        assert tr.exp(big).to_numpy().tolist() == [float("inf")] * 3
        assert np.isnan(tr.sqrt(-big).to_numpy()).all()
        assert tr.sum(tr.full((2,), 1.7e308)).item() == float("inf")
        assert (big * 10.0).to_numpy().tolist() == [float("inf")] * 3
        assert np.isnan(tr.matmul(tr.full((2, 2), float("inf")), tr.zeros((2, 2))).to_numpy()).all()
        tr.max(tr.tensor([1.0, float("nan")]))
        tr.divide(tr.tensor([1, 0]), tr.tensor([0, 0]))
    assert capfd.readouterr() == ("", "")


def test_no_operation_changes_the_users_error_state() -> None:
    before = np.geterr()
    tr.exp(tr.full((3,), 1e5))
    assert np.geterr() == before


def test_conversions_of_one_element() -> None:
    assert float(tr.tensor([[2.5]])) == 2.5
    assert int(tr.tensor(7)) == 7
    assert complex(tr.tensor(1j)) == 1j
    assert bool(tr.tensor(True)) is True
    assert [10, 20, 30][tr.tensor(1)] == 20
    assert 3.0 in tr.tensor([1.0, 3.0])
    assert [row.to_numpy().tolist() for row in tr.tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    assert len(tr.zeros((4, 2))) == 4
    with pytest.raises(ArgumentError, match="has 2 elements"):
        tr.zeros(2).item()
    with pytest.raises(ArgumentError, match="ambiguous"):
        bool(tr.zeros(2))
    with pytest.raises(DTypeError, match="rank 0"):
        len(tr.tensor(1))
    with pytest.raises(DTypeError, match="complex"):
        float(tr.tensor(1j))
    with pytest.raises(DTypeError, match="F64"):
        [1, 2][tr.tensor(1.0)]
    with pytest.raises(TypeError):
        hash(tr.zeros(2))


@pytest.mark.parametrize("dtype", ["Bool", "I32", "I64", "F32", "F64", "C32", "C64"])
def test_an_item_is_the_element_of_a_download_and_recorded_as_one(dtype: str) -> None:
    number = tr.cast(tr.tensor([[[-1.7 + 0.3j]]]), dtype, overflow="saturate")
    views = number, number[0, 0, 0], tr.broadcast_to(number, (1, 1, 1, 1)), number.T[::-1]
    for view in views:
        with tr.trace_transfers() as log:
            element = view.item()
        expected = tr.download(view)[(0,) * view.rank]
        assert (type(element), element) == (type(expected), expected)
        assert [(one.operation, one.source, one.target, one.nbytes) for one in log] == [
            ("download", "cpu", "host", view.nbytes)
        ]


def test_dtype_sets_of_the_specs_are_what_the_tests_assume() -> None:
    assert Bool not in NUMERIC
    assert F64 in REAL


def test_operators_leave_operands_alone_that_only_code_in_c_holds() -> None:
    x = tr.full((200_000,), 1.0)
    _ = x * 2 + x  # both forms are known from here on
    pairs = [(x * 2, x)]
    sums: list[tr.Tensor] = []
    sums += itertools.starmap(operator.add, pairs)
    assert (sums[0][0].item(), pairs[0][0][0].item()) == (3.0, 2.0)
