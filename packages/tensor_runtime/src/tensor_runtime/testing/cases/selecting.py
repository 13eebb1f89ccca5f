"""Cases of ``tensor_runtime.ops.selecting``: counts, members, differences, and what is left."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import nan
from typing import Any

from tensor_core.dtypes import DTYPES, F64, I32, I64, Bool
from tensor_core.errors import AxisError, IndexingError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.fusion.closeness import isclose
from tensor_runtime.ops.selecting import count_nonzero, delete, diff, isin
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, reduced, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        x = whole_numbers((2, 3), dtype)
        counted = partial(reduced, lambda line: sum(one != 0 for one in line), I64, x, (1,))
        yield Case("count_nonzero", str(dtype), (x,), lambda t: count_nonzero(t, 1), counted)
        for shape in ((4,), (3, 4)):
            other = whole_numbers(shape, dtype, 1)
            found = tabulated((2, 3), Bool, partial(_is_in, x, other))
            yield Case("isin", f"{dtype} {shape}", (x, other), isin, partial(_given, found))
        yield Case("diff", str(dtype), (x,), lambda t: diff(t, axis=0), partial(_differences, x))
        same = tabulated((2, 3), Bool, lambda at: at[1] > 0)
        beside = tabulated((2, 3), dtype, partial(_beside, x))
        yield Case("isclose", str(dtype), (x, beside), isclose, partial(_given, same))
    gaps = HostTensor.from_nested([1.0, nan, -0.0])
    members = (HostTensor.from_nested([nan, 0.0]), HostTensor.from_nested([3.0]), HostTensor.zeros((0,), F64))
    for elements, wanted in zip(members, ([False, False, True], [False] * 3, [False] * 3), strict=True):
        truth = HostTensor.from_nested(wanted)
        yield Case("isin", f"{elements.shape}", (gaps, elements), isin, partial(_given, truth))
        turned = HostTensor.from_nested([not one for one in wanted])
        yield Case(
            "isin",
            f"{elements.shape} inverted",
            (gaps, elements),
            lambda t, e: isin(t, e, invert=True),
            partial(_given, turned),
        )
    squares = HostTensor.from_nested([1, 4, 9, 16], I32)
    for n, left in ((0, [1, 4, 9, 16]), (2, [2, 2]), (5, [])):
        result = HostTensor.from_flat(left, (len(left),), I32)
        yield Case("diff", f"{n} times", (squares,), partial(_diff, n), partial(_given, result))
    beside = HostTensor.from_nested([1, 3, 5, 7, -6], I32)
    yield Case("diff", "beside", (squares,), lambda t: diff(t, prepend=0, append=10), lambda: beside)
    yield refused("diff", "rank 0", (HostTensor.zeros((), F64),), diff, AxisError)
    x = whole_numbers((2, 4), F64)
    kept = tabulated((2, 2), F64, lambda at: x[at[0], at[1] + 1])
    for label, where in (
        ("a list", [0, -1]),
        ("a slice", slice(None, None, 3)),
        ("a mask", [True, False, False, True]),
    ):
        yield Case("delete", label, (x,), partial(_delete, where), lambda: kept, reads=True)
    line = HostTensor.from_nested([x[divmod(place, 4)] for place in range(8) if place != 5])
    yield Case("delete", "of all", (x,), lambda t: delete(t, 5), lambda: line)
    yield refused("delete", "out of range", (x,), lambda t: delete(t, 2, 0), IndexingError)


def _differences(x: Host) -> Host:
    def rule(at: Any) -> Any:
        later, earlier = x[at[0] + 1, at[1]], x[at]
        return later != earlier if x.dtype is Bool else later - earlier

    return tabulated((1, 3), x.dtype, rule)


def _beside(x: Host, at: Index) -> Any:
    """The elements again, but another one in the first column."""
    element: Any = x[at]
    return element if at[1] else (not element if x.dtype is Bool else element + 1)


def _is_in(x: Host, elements: Host, at: Index) -> bool:
    return x[at] in elements.to_flat()


def _diff(n: int, x: Tensor) -> Tensor:
    return diff(x, n)


def _delete(where: Any, x: Tensor) -> Tensor:
    return delete(x, where, 1)


def _given(wanted: Any) -> Any:
    return wanted
