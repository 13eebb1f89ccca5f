"""Scalars of other libraries as elements: never truncated, each with the kind that it has."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from re import escape
from typing import Any

import pytest

from tensor_core import (
    C32,
    C64,
    F32,
    F64,
    I32,
    I64,
    BackendError,
    Bool,
    CastRangeError,
    DType,
    DTypeError,
    HostTensor,
    OutOfMemoryError,
    UnsupportedOperationError,
    to_element,
)
from tensor_core.foreign import python_number


class TorchLike:
    """A rank-0 tensor as PyTorch's and JAX's are: all of Python's protocols, of which ``__int__`` truncates.

    With ``named`` it has a dtype, a shape and ``item``, without it nothing but the protocols.
    """

    def __init__(self, value: Any, dtype: str) -> None:
        self.value, self._dtype = value, dtype

    def __int__(self) -> int:
        return int(self.value.real)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        if isinstance(self.value, (bool, int)):
            return int(self.value)
        raise TypeError("only integer tensors of a single element can be converted to an index")

    def __float__(self) -> float:
        if isinstance(self.value, complex):
            raise RuntimeError("value cannot be converted to type double without overflow")
        return float(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)


class NamedTorchLike(TorchLike):
    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def dtype(self) -> str:
        return f"torch.{self._dtype}"

    def item(self) -> Any:
        return self.value


SCALARS = [(2.75, "float64"), (-0.5, "float32"), (7, "int64"), (-3, "int32"), (1.5 - 2j, "complex128")]
MAKERS: list[tuple[str, Callable[[Any], Any]]] = [
    ("from_nested", lambda x: HostTensor.from_nested([x]).to_nested()[0]),
    ("from_nested of rank 2", lambda x: HostTensor.from_nested([[x, x]]).to_nested()[0][1]),
    ("from_flat", lambda x: HostTensor.from_flat([x, x], (2,)).to_nested()[1]),
    ("from_nested into C64", lambda x: HostTensor.from_nested([x], C64).to_nested()[0]),
    ("from_flat into C64", lambda x: HostTensor.from_flat([x], 1, C64).to_nested()[0]),
    ("to_element", lambda x: to_element(x, C64)),
    ("python_number", python_number),
]


def written(x: Any) -> Any:
    target = HostTensor.zeros(2, C64)
    target[1] = x
    return target[1]


@pytest.mark.parametrize("kind", [TorchLike, NamedTorchLike])
@pytest.mark.parametrize(("value", "dtype"), SCALARS)
@pytest.mark.parametrize(
    ("name", "made"), [*MAKERS, ("__setitem__", written)], ids=lambda x: x if type(x) is str else ""
)
def test_no_way_from_a_foreign_scalar_to_an_element_truncates(
    name: str, made: Callable[[Any], Any], value: Any, dtype: str, kind: type[TorchLike]
) -> None:
    assert made(kind(value, dtype)) == value


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["float32", "float32"], F32),
        (["float32", "int32"], F64),
        (["int32", "int32"], I32),
        (["int32", "bool"], I32),
        (["complex64", "float32"], C32),
        (["complex64", "float64"], C64),
        (["bool", "bool"], Bool),
        (["bfloat16", "bfloat16"], F64),  # none of ours: the Python number that it equals
    ],
)
def test_scalars_that_have_an_element_type_meet_in_the_promoted_one(values: list[str], expected: DType) -> None:
    x = HostTensor.from_nested(
        [NamedTorchLike(True if name == "bool" else 1.0 if "float" in name else 1, name) for name in values]
    )
    assert x.dtype is expected
    assert x.to_nested() == [1, 1]


def test_a_python_number_beside_a_foreign_scalar_brings_its_own_kind() -> None:
    assert HostTensor.from_nested([NamedTorchLike(0.5, "float32"), 1.5]).dtype is F64
    assert HostTensor.from_nested([NamedTorchLike(2, "int32"), True]).dtype is I32
    assert HostTensor.from_nested([NamedTorchLike(2, "int32"), 3]).dtype is I64


def test_a_foreign_bool_stays_bool() -> None:
    for value in (True, False):
        x = HostTensor.from_nested([NamedTorchLike(value, "bool")])
        assert x.dtype is Bool
        assert x.to_nested() == [value]
    assert python_number(NamedTorchLike(True, "bool")) is True


def test_host_tensors_of_rank_0_are_scalars_of_their_own_type() -> None:
    x = HostTensor.from_nested([1.5, 2.75], F32)
    assert HostTensor.from_nested([x[0:1].reshape_view(()), x[1:2].reshape_view(())]).equals(x)


@pytest.mark.parametrize("dtype", [I32, I64, Bool])
def test_a_foreign_float_is_refused_where_a_python_float_is(dtype: DType) -> None:
    target = HostTensor.zeros(1, dtype)
    for scalar in (TorchLike(2.0, "float64"), NamedTorchLike(2.0, "float64"), 2.0):
        with pytest.raises(DTypeError, match=f"element: 2.0 in a tensor of {escape(str(dtype))}"):
            target[0] = scalar
        with pytest.raises(DTypeError, match=f"element: 2.0 in a tensor of {escape(str(dtype))}"):
            to_element(scalar, dtype)
    assert target.to_nested() == [0]


def test_a_foreign_integer_out_of_range_is_an_error() -> None:
    with pytest.raises(CastRangeError, match="out of range for I32"):
        HostTensor.from_nested([TorchLike(2**40, "int64")], I32)
    with pytest.raises(CastRangeError, match="out of range for I64"):
        HostTensor.from_nested([TorchLike(2**70, "int64")])


def test_an_imaginary_part_that_float_drops_is_kept() -> None:
    class Dropping:
        def __float__(self) -> float:
            return 1.0

        def __complex__(self) -> complex:
            return 1 + 2j

    assert python_number(Dropping()) == 1 + 2j


def test_python_classes_with_numeric_protocols_are_numbers() -> None:
    assert HostTensor.from_nested([Fraction(5, 2), Decimal("0.25")]).to_nested() == [2.5, 0.25]


def test_tensors_of_rank_1_in_a_list_name_stack_and_print_no_element() -> None:
    inner = HostTensor.from_nested([123.25, 2.0])
    for dtype in (None, F64):
        with pytest.raises(DTypeError, match=r"found HostTensor of shape \(2,\).*stack\(\) joins") as caught:
            HostTensor.from_nested([inner, inner], dtype)
        assert "123.25" not in str(caught.value)


class Failing(NamedTorchLike):
    def __init__(self, error: Exception) -> None:
        super().__init__(1.0, "float64")
        self.error = error

    def item(self) -> Any:
        raise self.error

    def __float__(self) -> float:
        raise self.error


def test_a_device_that_fails_is_not_reported_as_a_wrong_element() -> None:
    for error in (UnsupportedOperationError("item: lost"), OutOfMemoryError("item: full")):
        with pytest.raises(type(error), match="item: "):
            python_number(Failing(error))
    with pytest.raises(DTypeError, match="element: found Failing of rank 0"):
        python_number(
            type("Failing", (Failing,), {"__complex__": None, "__index__": None})(RuntimeError("meta tensor"))
        )


class Halved:
    """A number whose real part can be had, and whose whole value cannot."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __float__(self) -> float:
        return 1.5

    def __complex__(self) -> complex:
        raise self.error


@pytest.mark.parametrize(
    "error",
    [BackendError("device lost"), UnsupportedOperationError("no elements"), OutOfMemoryError("full"), MemoryError()],
)
def test_a_device_that_fails_never_drops_an_imaginary_part(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        python_number(Halved(error))
    assert caught.value is error


def test_a_number_whose_imaginary_part_cannot_be_asked_for_is_refused() -> None:
    error = RuntimeError("no")
    with pytest.raises(DTypeError, match=r"element: found .*Halved.*; accepted: bool, int, float, complex") as caught:
        python_number(Halved(error))
    assert caught.value.__cause__ is error


def test_a_class_that_says_it_is_not_complex_is_real() -> None:
    assert python_number(type("Real", (Halved,), {"__complex__": None})(ValueError())) == 1.5


class Undecided(NamedTorchLike):
    def __init__(self, error: Exception) -> None:
        super().__init__(True, "bool")
        self.error = error

    def item(self) -> Any:
        raise self.error

    def __bool__(self) -> bool:
        raise self.error


def test_a_foreign_bool_that_has_no_truth_is_refused_and_a_device_that_fails_is_not_hidden() -> None:
    error = RuntimeError("meta tensor")
    with pytest.raises(DTypeError, match="element: found Undecided of rank 0; accepted: bool") as caught:
        python_number(Undecided(error))
    assert caught.value.__cause__ is error
    for failure in (BackendError("device lost"), MemoryError()):
        with pytest.raises(type(failure)) as lost:
            python_number(Undecided(failure))
        assert lost.value is failure


def test_the_truth_of_a_foreign_bool_is_asked_for_where_it_has_no_item() -> None:
    class Bare(TorchLike):
        dtype = "torch.bool"

    assert python_number(Bare(True, "bool")) is True
    assert python_number(Bare(False, "bool")) is False
