"""Cases of strict reductions."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from functools import partial, reduce
from typing import Any, Final

from tensor_core.dtypes import (
    DTYPES,
    INTEGER,
    NUMERIC,
    REAL,
    Bool,
    DType,
)
from tensor_core.errors import (
    DTypeError,
)
from tensor_runtime import primitives
from tensor_runtime.dispatch.dtype_rules import reduced_axes
from tensor_runtime.dispatch.spec import same
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.reduction import largest, smallest
from tensor_runtime.testing.oracle import (
    reduced,
    whole_numbers,
)

_ORDERED: Final = REAL | {Bool}
_BITS: Final = INTEGER | {Bool}


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        yield from _reductions(dtype)


def _reductions(dtype: DType) -> Iterator[Case]:
    x = whole_numbers((2, 3, 2), dtype)
    for function, oracle, accepts in (
        (primitives.reduce_sum, sum, NUMERIC),
        (primitives.reduce_prod, math.prod, NUMERIC),
        (primitives.reduce_max, largest, _ORDERED),
        (primitives.reduce_min, smallest, _ORDERED),
        (primitives.reduce_and, partial(reduce, operator.and_), _BITS),
        (primitives.reduce_or, partial(reduce, operator.or_), _BITS),
    ):
        name = f"primitives.{function.__name__}"
        for axes in ((), (1,), (0, -1)):
            if dtype not in accepts:
                yield refused(name, f"{dtype} {axes} refused", (x,), partial(function, axes=axes), DTypeError)
                continue
            yield Case(
                name,
                f"{dtype} {axes}",
                (x,),
                partial(function, axes=axes),
                partial(_reduced, oracle, same(dtype), x, axes),
                ulps=1,  # the sign of a zero is free
            )


def _reduced(oracle: Any, dtype: DType, x: Any, axes: tuple[int, ...]) -> Any:
    return reduced(oracle, dtype, x, reduced_axes("reduce", x.rank, axes or None))
