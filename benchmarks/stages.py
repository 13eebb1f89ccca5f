"""Where the time of one call goes: its stages, each timed alone, and what they leave unexplained.

The stages of ``add`` on 2×2 are the kernel (native, or NumPy's ufunc without its warnings), the look-up of the binding,
the result object; the rest is calls of Python functions. For the other calls the kernel is set against everything
around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import tensor_runtime as tr
from benchmarks.timing import Stopwatch, interleave, stopwatch
from tensor_einsum import einsum
from tensor_einsum.api import _found as einsum_bindings
from tensor_runtime.ops.arithmetic import ADD
from tensor_runtime.ops.contraction import MATMUL
from tensor_runtime.ops.views import TRANSPOSE_VIEW
from tensor_runtime.tensors.tensor import Tensor


class Stage(NamedTuple):
    """A part of a call; nanoseconds."""

    call: str
    name: str
    minimum: float
    median: float


def measure(rounds: int = 41) -> Iterator[Stage]:
    """The stages of five calls."""
    two = tr.asarray(np.ones((2, 2)))
    a, b, c = (tr.asarray(np.ones((4, 4))) for _ in range(3))
    yield from _add_stages(two, rounds)
    kernel, _ = MATMUL.bindings[a._form, b._form]
    yield from _kernel_and_rest("matmul 4×4", tr.matmul, kernel, (), (a, b), rounds)
    einsum("ij,jk->ik", a, b)
    kernel, _ = einsum_bindings["ij,jk->ik", a._form, b._form]
    yield from _kernel_and_rest("einsum of two 4×4", einsum, kernel, ("ij,jk->ik",), (a, b), rounds)
    einsum("ij,jk,kl->il", a, b, c)
    kernel, _ = einsum_bindings["ij,jk,kl->il", a._form, b._form, c._form]
    yield from _kernel_and_rest("einsum of three 4×4", einsum, kernel, ("ij,jk,kl->il",), (a, b, c), rounds)
    kernel, _ = TRANSPOSE_VIEW.bindings[a._form, None]
    yield from _kernel_and_rest("transpose view 4×4", tr.transpose, kernel, (), (a,), rounds)


def _add_stages(a: Tensor, rounds: int) -> Iterator[Stage]:
    kernel, form = ADD.bindings[a._form, a._form]
    array = a._array
    samples = interleave(
        {
            "whole": stopwatch("f(a, a)", f=tr.add, a=a),
            "NumPy's ufunc": stopwatch("f(x, x)", f=np.add, x=array),
            "kernel": stopwatch("f(x, x)", f=kernel, x=array),
            "look-up of the binding": stopwatch(_LOOK_UP, spec=ADD, a=a),
            "result object, two slots": stopwatch("r = T(); r._form = x; r._array = x", T=Tensor, x=form),
            "operator": stopwatch("a + a", a=a),
            "a Python call": stopwatch("f(x, x)", f=lambda x, y: None, x=array),
        },
        rounds=rounds,
    )
    table = {name: (min(values), median(values)) for name, values in samples.items()}

    def difference(name: str, minus: Sequence[str]) -> tuple[float, float]:
        return tuple(table[name][k] - sum(table[other][k] for other in minus) for k in range(2))  # type: ignore[return-value]

    parts = ("kernel", "look-up of the binding", "result object, two slots")
    stages = {
        "kernel": table["kernel"],
        "look-up of the binding": table["look-up of the binding"],
        "result object, two slots": table["result object, two slots"],
        "the rest: two Python calls": difference("whole", parts),
        "whole `add(a, b)`": table["whole"],
        "whole `a + b`": table["operator"],
        "for comparison, NumPy's ufunc": table["NumPy's ufunc"],
        "for comparison, an empty Python call": table["a Python call"],
    }
    for name, (minimum, middle) in stages.items():
        yield Stage("add 2×2", name, minimum, middle)


_LOOK_UP = "spec.found[a._form][a._form]"


def _kernel_and_rest(
    call: str, function: Any, kernel: Any, options: tuple[Any, ...], operands: tuple[Tensor, ...], rounds: int
) -> Iterator[Stage]:
    names = [f"x{position}" for position in range(len(options) + len(operands))]
    arrays = dict(zip(names, [operand._array for operand in operands], strict=False))
    watches: dict[str, Stopwatch] = {
        "whole": stopwatch(
            f"f({', '.join(names)})", f=function, **dict(zip(names, (*options, *operands), strict=True))
        ),
        "kernel": stopwatch(f"f({', '.join(arrays)})", f=kernel, **arrays),
    }
    samples = interleave(watches, rounds=rounds)
    whole, alone = ((min(samples[name]), median(samples[name])) for name in ("whole", "kernel"))
    yield Stage(call, "kernel", *alone)
    yield Stage(call, "around it", whole[0] - alone[0], whole[1] - alone[1])


def as_markdown(stages: Sequence[Stage]) -> str:
    """The table of a run."""
    lines = ["| call | stage | ns |", "|---|---|---:|"]
    lines += [f"| {stage.call} | {stage.name} | {stage.minimum:.0f} ({stage.median:.0f}) |" for stage in stages]
    return "\n".join([*lines, "", "Nanoseconds: minimum (median)."])
