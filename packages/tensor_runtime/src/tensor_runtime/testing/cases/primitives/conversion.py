"""Cases of the strict ``convert``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tensor_core.dtypes import (
    DTYPES,
    I32,
    DType,
)
from tensor_core.errors import (
    ArgumentError,
    CastRangeError,
)
from tensor_core.host.tensor import HostTensor
from tensor_core.scalar_conversion import cast_scalar
from tensor_runtime import primitives
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import (
    Host,
    tabulated,
    whole_numbers,
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    name = "primitives.convert"
    for source in DTYPES:
        x = whole_numbers((2, 3), source)
        for target in DTYPES:
            call = partial(primitives.convert, dtype=target, overflow="wrap")
            expected = partial(_cast, x, target)
            yield Case(name, f"{source} to {target}", (x,), call, expected)
    x = HostTensor.from_nested([0.0, 1e30])
    yield refused(name, "out of range", (x,), partial(primitives.convert, dtype=I32, overflow="error"), CastRangeError)
    yield refused(name, "another policy", (x,), partial(primitives.convert, dtype=I32, overflow="clip"), ArgumentError)


def _cast(x: Host, target: DType) -> Host:
    return tabulated(x.shape, target, lambda at: cast_scalar(x[at], x.dtype, target, "wrap"))
