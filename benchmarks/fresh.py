"""What a network takes of a process that has contracted nothing yet: memory at the peak, and the first call.

Ours and opt_einsum on NumPy follow the same path, each in a process of its own, which draws the operands, prepares a
plan or an expression, marks its memory and calls twice. The first call is compared with the second and with what it
costs to touch as much fresh memory as the plan needs at its peak: in the same process, just before, and not for the
first time there. A virtual machine's host may have to find pages that its guest has not used lately, at 20 times the
cost of clearing them; those that were touched a moment ago are the ones that the first call gets.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from mmap import mmap
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

from benchmarks.einsum import OPT_EINSUM, rows
from benchmarks.rows import OURS

TOUCHED: Final = 1.2
"""The most that a first call may take beyond the second, in times of touching the planned peak."""
TOUCHES: Final = 3
"""Measured, after one that is not."""
_CHILD: Final = "from benchmarks.fresh import answer; answer()"
_SMALL: Final = 1 << 20
"""Growth up to here is pages of libraries as much as data; no ratio is made of it."""


class Cost(NamedTuple):
    """Of one network and contender: seconds of both calls, bytes by which the process grew, and what was planned."""

    network: str
    contender: str
    first: float
    second: float
    growth: int
    planned: int = 0  # ours alone
    touching: float = 0.0  # seconds for as many bytes


def run(folder: Path | None, only: str) -> Iterator[Cost]:
    """Both contenders on each network."""
    for row in rows(folder):
        if only in row.name:
            request = {"shapes": [operand.shape for operand in row.operands], **row.arguments}
            for contender in (OURS, OPT_EINSUM):
                yield Cost(row.name, contender, **_ask({"contender": contender, **request}))


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    command = (sys.executable, "-c", _CHILD)
    done = subprocess.run(command, input=json.dumps(request), stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def answer() -> None:
    """What one process is asked on stdin, answered on stdout."""
    request = json.load(sys.stdin)
    call, planned = _PREPARED[request["contender"]](request)
    touching = [_touch(planned) for _ in range(1 + TOUCHES)][1:] if planned else [0.0]
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the highest mark begins anew
    times = []
    for _ in range(2):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    growth = _status("VmHWM") - before
    print(
        json.dumps(
            {"first": times[0], "second": times[1], "growth": growth, "planned": planned, "touching": min(touching)}
        )
    )


def _touch(size: int) -> float:
    import numpy as np

    start = perf_counter()
    with mmap(-1, size) as fresh:  # the system's allocator would hand out the same again, if it is small
        np.frombuffer(fresh, np.uint8)[:: 1 << 12] = 1
    return perf_counter() - start


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def _ours(request: dict[str, Any]) -> tuple[Callable[[], Any], int]:
    import tensor_runtime as tr
    from tensor_einsum import plan

    tensors = [tr.asarray(array.T) for array in _arrays(request["shapes"])]
    found = plan(request["subscripts_colmajor"], *tensors, optimize=[tuple(step) for step in request["path"]])
    return lambda: found(*tensors), found.peak_bytes_on(*tensors)


def _opt_einsum(request: dict[str, Any]) -> tuple[Callable[[], Any], int]:
    import opt_einsum

    path = [tuple(step) for step in request["path"]]
    expression = opt_einsum.contract_expression(request["subscripts"], *map(tuple, request["shapes"]), optimize=path)
    arrays = _arrays(request["shapes"])
    return lambda: expression(*arrays), 0


def _arrays(shapes: Sequence[Sequence[int]]) -> list[Any]:
    import numpy as np

    draw = np.random.default_rng(0)
    return [draw.uniform(0.5, 1.5, shape) for shape in shapes]


_PREPARED: Final = {OURS: _ours, OPT_EINSUM: _opt_einsum}


def as_markdown(costs: Sequence[Cost]) -> str:
    """A line a network."""
    found = {(cost.network, cost.contender): cost for cost in costs}
    lines = [
        "| network | first call, ms | second | it may take | grew by, MiB | planned | opt_einsum grew by | ratio |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in dict.fromkeys(cost.network for cost in costs):
        ours, peer = found[name, OURS], found[name, OPT_EINSUM]
        allowed = ours.second + TOUCHED * ours.touching
        ratio = f"{ours.growth / peer.growth:.2f}" if max(ours.growth, peer.growth) > _SMALL else "–"
        lines.append(
            f"| {name} | {ours.first * 1e3:.3g} | {ours.second * 1e3:.3g} | {allowed * 1e3:.3g} "
            f"| {ours.growth / 2**20:.4g} | {ours.planned / 2**20:.4g} | {peer.growth / 2**20:.4g} | {ratio} |"
        )
    return "\n".join(lines)
