"""Cases of the strict ``dot_general``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from tensor_core.dtypes import (
    DTYPES,
    F32,
    F64,
)
from tensor_core.errors import (
    DTypeError,
    ShapeError,
)
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import (
    contracted,
    whole_numbers,
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        a, b = whole_numbers((2, 3, 4), dtype), whole_numbers((3, 5, 4), dtype, -1, 6)
        labels = ((0, 1, 3), (1, 2, 3), (0, 2, 3))
        yield Case(_NAME, str(dtype), (a, b), _product, partial(contracted, dtype, a, b, labels))
    a = whole_numbers((2, 3, 4), F64)
    for label, b, error in (
        ("unequal dtypes", whole_numbers((3, 5, 4), F32), DTypeError),
        ("unequal extents", whole_numbers((3, 5, 1), F64), ShapeError),
    ):
        yield refused(_NAME, label, (a, b), _product, error)


_NAME: Final = "primitives.dot_general"
_product: Final = partial(primitives.dot_general, contracting=((1,), (0,)), batch=((2,), (2,)))
