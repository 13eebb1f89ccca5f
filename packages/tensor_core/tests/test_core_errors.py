"""The error tree: one root, the built-in a Python user would catch, and fields that survive pickling."""

from __future__ import annotations

import copy
import pickle

import pytest

from tensor_core import errors
from tensor_core.errors import TensorError, shortened

CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, TensorError)]
BUILT_IN = {
    "ShapeError": ValueError,
    "AxisError": IndexError,
    "DTypeError": TypeError,
    "LossyConversionError": ValueError,
    "CastRangeError": OverflowError,
    "LayoutError": ValueError,
    "OutOfBoundsLayoutError": IndexError,
    "SizeLimitError": OverflowError,
    "SliceError": IndexError,
    "IndexingError": IndexError,
    "ReadOnlyError": ValueError,
    "ArgumentError": ValueError,
    "PlacementError": ValueError,
    "BackendError": RuntimeError,
    "UnsupportedOperationError": NotImplementedError,
    "OutOfMemoryError": MemoryError,
    "DivisionByZeroError": ZeroDivisionError,
    "FormatError": ValueError,
    "SaveError": OSError,
    "LoadError": OSError,
}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_keeps_message_and_fields(kind: type[TensorError]) -> None:
    error = kind("operation: found this; accepted: that", shape=(2, 3), index=None)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is kind
        assert str(other) == str(error) == "operation: found this; accepted: that"
        assert (other.shape, other.index) == ((2, 3), None)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_derives_from_a_builtin(kind: type[TensorError]) -> None:
    if kind is not TensorError:
        assert any(
            base.__module__ == "builtins" and base not in (Exception, BaseException, object) for base in kind.__mro__
        )
    if kind.__name__ in BUILT_IN:
        assert issubclass(kind, BUILT_IN[kind.__name__])


def test_a_field_that_is_missing_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="ShapeError has no field 'index'"):
        errors.ShapeError("x").index


def test_values_are_shortened_for_messages() -> None:
    assert shortened([10**9999]) == "a list of huge ints"
    assert len(shortened("x" * 10_000)) < 130
    assert "\n" not in shortened(type("Odd", (), {"__repr__": lambda self: "a\nb"})())
