"""What is refused on a device bears the class, the operation and the fields that it bears on ``cpu``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensor_linalg as tl
import tensor_runtime as tr

Call = Callable[[str], object]
NAN = float("nan")


def at(place: str, nested: Any, dtype: Any = None) -> tr.Tensor:
    return tr.to(tr.tensor(nested, dtype=dtype), place)


def divisions(function: Callable[..., tr.Tensor]) -> dict[str, Call]:
    """Numbers that I32 does not hold beside divisors with and without a zero, and exponents with a negative one."""
    return {
        f"{function.__name__} by a number": lambda place: function(at(place, [1, 2], "I32"), 2**40),
        f"{function.__name__} of a number": lambda place: function(2**40, at(place, [1, 2], "I32")),
        f"{function.__name__} of a number by 0": lambda place: function(2**40, at(place, [1, 0, -1], "I32")),
        f"{function.__name__} by 0": lambda place: function(at(place, [1, 2], "I32"), at(place, [0, -2], "I32")),
        f"{function.__name__} by the number 0": lambda place: function(at(place, [-1, 2], "I32"), -(2**40)),
    }


BANDS = [[0.0, 1.0, 1.0], [4.0, 4.0, 4.0], [1.0, NAN, 0.0]]
CALLS: dict[str, Call] = {
    **divisions(tr.floor_divide),
    **divisions(tr.remainder),
    **divisions(tr.fmod),
    **divisions(tr.trunc_divide),
    **divisions(tr.pow),
    "unchecked": lambda place: tr.fmod(at(place, [1], "I32"), 2**40, check=False),
    "fused": lambda place: tr.fuse(lambda x: tr.floor_divide(x, 2**40))(at(place, [1], "I32")),
    "slogdet": lambda place: tl.slogdet(at(place, [[[1.0, 1.0], [NAN, 0.0]], [[0.0, 0.0], [1.0, 1.0]]])),
    "solve_banded, ab": lambda place: tl.solve_banded((1, 1), at(place, BANDS), at(place, [1.0, 1.0, 1.0])),
    "solve_banded, b": lambda place: tl.solve_banded((0, 0), at(place, [[1.0, 1.0]]), at(place, [1.0, NAN])),
    "solve_banded, singular": lambda place: tl.solve_banded((0, 0), at(place, [[1.0, 0.0]]), at(place, [1.0, 1.0])),
}


def refusal(call: Call, place: str) -> tuple[Any, ...]:
    """Class, operation as the message has it, and fields."""
    with pytest.raises(tr.TensorError) as caught:
        call(place)
    return type(caught.value), str(caught.value).partition(":")[0], vars(caught.value)


@pytest.mark.parametrize("name", CALLS)
def test_a_refusal_is_the_same_on_a_device(name: str) -> None:
    assert refusal(CALLS[name], "sim:0") == refusal(CALLS[name], "cpu")
