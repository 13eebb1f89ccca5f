"""Calls of the first hour: views, new tensors, elements, ``out=``, on operands so small that only the call is measured.

Each row is what a user writes, beside what a user of NumPy writes; for an array whose memory is shared, beside
``torch.from_numpy``, as NumPy does nothing there. The bounds are this project's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np

import tensor_runtime as tr
from benchmarks.machine import has_torch
from benchmarks.timing import Stopwatch, stopwatch


class Everyday(NamedTuple):
    """One call: our statement, the peer's, and how many times the peer's time ours may take."""

    ours: str
    peers: str
    bound: float
    peer: str = "numpy"


ROWS: Final = (
    Everyday("float(a[0, 0])", "float(a[0, 0])", 6),
    Everyday("a[0, 0]", "a[0, 0]", 4),
    Everyday("a[1:3]", "a[1:3]", 4),
    Everyday("a[:, 1]", "a[:, 1]", 4),
    Everyday("a[::-1, None, ...]", "a[::-1, None, ...]", 4),
    Everyday("a.T", "a.T", 4),
    Everyday("a.reshape(16)", "a.reshape(16)", 4),
    Everyday("one.item()", "one.item()", 1.5),
    Everyday("lib.zeros((4, 4))", "lib.zeros((4, 4))", 4),
    Everyday("lib.full((4, 4), 2.0)", "lib.full((4, 4), 2.0)", 1.5),
    Everyday("a.to_numpy()", "lib.asarray(a)", 4),
    Everyday("lib.to_numpy(a)", "lib.asarray(a)", 4),
    Everyday("lib.tensor(nested)", "lib.array(nested)", 3),
    Everyday("lib.asarray(columns)", "lib.from_numpy(columns)", 3, "torch"),
    Everyday("lib.add(a, b, out=o)", "lib.add(a, b)", 1),
    Everyday("lib.add(a, 2.0)", "lib.add(a, 2.0)", 1.5),
    Everyday("lib.exp(a)", "lib.exp(a)", 1.5),
    Everyday("lib.where(mask, a, b)", "lib.where(mask, a, b)", 1.5),
    Everyday("lib.concatenate([a, b])", "lib.concatenate([a, b])", 1.5),
    Everyday("lib.concatenate([a, b], out=tall)", "lib.concatenate([a, b], out=tall)", 1.5),
    Everyday("lib.norm(a)", "lib.linalg.norm(a)", 1.5),
    Everyday('lib.einsum("ii->", a)', 'lib.einsum("ii->", a)', 1.5),
    Everyday("lib.copy(a)", "a.copy()", 1.5),
)


def watches() -> Iterator[tuple[Everyday, Stopwatch, Stopwatch | None]]:
    """Every row with a stopwatch of ours and one of the peer; None where that is not installed."""
    random = np.random.default_rng(0)
    a, b, one = random.random((4, 4)), random.random((4, 4)), np.array([2.5])
    shared: dict[str, Any] = {"nested": [[1.0, 2.0], [3.0, 4.0]], "columns": np.asfortranarray(a)}
    theirs = {
        "lib": np,
        "a": a,
        "b": b,
        "one": one,
        "o": np.zeros((4, 4)),
        "tall": np.zeros((8, 4)),
        "mask": a < b,
        **shared,
    }
    tensors = {name: tr.asarray(value, copy=True) for name, value in theirs.items() if isinstance(value, np.ndarray)}
    ours: dict[str, Any] = {"lib": tr, **tensors, **shared}
    for row in ROWS:
        peer = None
        if row.peer == "numpy" or has_torch():
            peer = stopwatch(row.peers, **(theirs | {"lib": import_module(row.peer)}))
        yield row, stopwatch(row.ours, **ours), peer
