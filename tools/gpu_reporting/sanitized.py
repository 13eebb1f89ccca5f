"""Calls that run every kind of program of ours, on small operands of every layout: what sanitizers look at.

``python -m gpu_reporting.sanitized PLACE`` makes them; a test, or the report, runs the same launches on the host.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_einsum import einsum

CALLS: Final[tuple[Callable[[Any, Any], Any], ...]] = (
    lambda x, at: x + x.T,
    lambda x, at: tr.exp(x[::-1]) * 2.0,
    lambda x, at: tr.cast(x, "I32"),
    lambda x, at: tr.where(x > 3.0, x, -x),
    lambda x, at: tr.sum(x, axis=0),
    lambda x, at: tr.sum(x),
    lambda x, at: tr.argmax(x, axis=1),
    lambda x, at: tr.cumsum(x, axis=1),
    lambda x, at: tr.sort(x, axis=0),
    lambda x, at: tr.argsort(x, axis=1),
    lambda x, at: tr.unique_values(x),
    lambda x, at: tr.nonzero(x > 3.0)[0],
    lambda x, at: tr.take(x, at, axis=1),
    tr.gather,
    lambda x, at: tr.scatter(x, at, x[:2], mode="add"),
    lambda x, at: tr.scatter(x, at, x[:2], mode="replace"),
    lambda x, at: tr.concatenate([x, x[::-1]], axis=1),
    lambda x, at: tr.pad(x, ((1, 0), (0, 2))),
    lambda x, at: tr.tril(x),
    lambda x, at: tr.uniform((40,), seed=1, placement=x.placement),
    lambda x, at: einsum("ij,jk->ik", tr.cast(x, "I64"), tr.cast(x[::-1], "I64")),
    lambda x, at: einsum("ij,ij->i", x, x.T),
    lambda x, at: tl.qr(tr.stack([x, x.T], axis=2))[1],
    lambda x, at: tl.svd(tr.stack([x, x.T], axis=2))[1],
)


def run(place: str, /) -> int:
    """Make every call there and take its result to the host; how many there are.

    >>> run("sim") == len(CALLS)
    True
    """
    x = tr.to(tr.tensor(np.array([[4.0, 1.0, 2.0], [1.0, 5.0, 3.0], [2.0, 3.0, 6.0]])), place)
    at = tr.to(tr.tensor([2, 0]), place)
    for call in CALLS:
        tr.to(call(x, at), "cpu")
    return len(CALLS)


if __name__ == "__main__":
    print(f"{run(sys.argv[1])} calls")
