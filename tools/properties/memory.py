"""Properties of memory: a thousand small operations and a large one, again and again, and nothing grows."""

from __future__ import annotations

import gc
from pathlib import Path
from random import Random
from typing import Final

import tensor_runtime as tr
from properties import Property

_STATUS: Final = Path("/proc/self/statm")
_PAGE: Final = 4096
_SLACK: Final = 32 << 20  # bytes; caches of allocators, other properties of the same run
_first: list[int] = []


def resident_bytes() -> int:
    """Resident memory of this process; 0 where the system does not tell.

    >>> resident_bytes() >= 0
    True
    """
    return int(_STATUS.read_text(encoding="ascii").split()[1]) * _PAGE if _STATUS.exists() else 0


def memory_is_flat(rng: Random) -> None:
    """A thousand small operations and one large one; compared with what the first example of this process left."""
    n = rng.randint(1, 6)
    a, b = tr.ones((n, n)), tr.tensor([float(k) for k in range(n)])
    total = b
    for _ in range(250):
        total = tr.sqrt(tr.abs(tr.add(tr.matmul(a, total), 1.0)))
    assert all(value >= 1.0 for value in total.to_numpy().tolist())
    rows, columns = rng.choice([(300, 500), (1000, 400), (77, 5003)])
    x = tr.full((rows, columns), 2.0)
    y = tr.multiply(x, x)
    z = tr.add(y.T, 0.5)
    assert z.shape == (columns, rows) and z[0, 0].item() == z[-1, -1].item() == 4.5
    del x, y, z
    gc.collect(0)
    now = resident_bytes()
    _first.append(now)
    if len(_first) > 20:  # by then every size class that occurs has been met
        del _first[21:]
        assert now <= _first[20] + _SLACK, f"resident memory grew from {_first[20]} to {now} bytes"


PROPERTIES: Final = (
    Property(
        "flat-memory",
        "1,000 small operations and a large one leave resident memory as it was",
        memory_is_flat,
        60,
        1000,
        10,
    ),
)
