"""A process that contracts under a limit grows by what the limit says, as the operating system sees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tensor_cpu.system.extension import AVAILABLE

PROGRAM = """
import json, sys
import tensor_runtime as tr
from tensor_einsum import plan
from tensor_cpu.system.memory import pool

def status(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))

notation, shapes, dtype, path, limit, runs, *strips = json.loads(sys.argv[1])
shapes = [tuple(shape) for shape in shapes]
operands = [tr.ones(shape, dtype=dtype) for shape in shapes]
whole = plan(notation, *operands, optimize=path)
found = plan(notation, *operands, optimize=path, memory_limit=limit) if limit else whole
x = tr.ones((300, 300))
plan("ij,jk", x, x)(x, x, strip_exponent=True)  # libraries and threads are there
pool.clear()
before = status("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the highest mark begins anew
for _ in range(runs):
    result = None
    result = found(*operands, strip_exponent=True)[0] if strips else found(*operands)
print(json.dumps({
    "growth": status("VmHWM") - before, "whole": whole.peak_bytes, "slices": found.slices.count,
    "needs": found.peak_bytes, "pool": pool.stats().peak_bytes, "sum": tr.sum(tr.abs(result)).item(),
}))
"""
MEBIBYTE = 1 << 20
PAIRS = 13
TABLE = (
    ",".join([chr(97 + 2 * k) + chr(98 + 2 * k) for k in range(PAIRS)])
    + ","
    + ",".join([chr(98 + 2 * k) + chr(97 + (2 * k + 2) % (2 * PAIRS)) for k in range(PAIRS)])
    + "->"
)
"""A ring of 26 matrices: every second one first, so that a table of 26 labels is made."""
NETWORKS: dict[str, tuple[str, list[list[int]], str, Any, float]] = {
    "outer products": ("ij,kl,ik,jl->", [[90, 90]] * 4, "F64", [[0, 1], [0, 1], [0, 1]], 90.0**4),
    "a table": (TABLE, [[2, 2]] * 26, "F64", False, 2.0**26),
    "a result": (
        "ia,aj,jb,bk->ik",
        [[4000, 4], [4, 4000], [4000, 2], [2, 300]],
        "C64",
        [[0, 1], [0, 2], [0, 1]],
        3.84e10,
    ),
    "hyper-edges": ("abx,bcx,cdx,dax->x", [[40, 40, 30]] * 4, "F32", [[0, 1], [0, 1], [0, 1]], 40.0**4 * 30),
}


def measured(*arguments: Any) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(arguments)], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


LINUX = pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="the system does not tell the peak")


@LINUX
@pytest.mark.parametrize("limit", [30, 100])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_process_grows_by_the_limit_and_little_more(name: str, limit: int) -> None:
    *network, expected = NETWORKS[name]
    found = measured(*network, f"{limit}MiB", 2)

    if found["whole"] > limit * MEBIBYTE:
        assert found["slices"] > 1
    assert found["needs"] <= limit * MEBIBYTE
    assert found["growth"] <= 1.05 * limit * MEBIBYTE + 64 * MEBIBYTE
    assert found["sum"] == expected


@LINUX
@pytest.mark.skipif(not AVAILABLE, reason="without the extension there is no pool to compare with")
@pytest.mark.parametrize("name", ["outer products", "a table"])
def test_the_peak_of_a_plan_is_what_the_process_grows_by(name: str) -> None:
    *network, expected = NETWORKS[name]
    found = measured(*network, None, 2)

    assert found["whole"] > 500 * MEBIBYTE
    assert found["whole"] <= found["pool"] <= 1.1 * found["whole"]
    assert found["growth"] <= 1.05 * found["whole"] + 64 * MEBIBYTE
    assert found["sum"] == expected


@LINUX
@pytest.mark.parametrize(
    ("notation", "shapes", "limit", "expected"),
    [
        ("i->ii", [[6000]], 6000 * 6000 * 8 + 64, 6000.0),
        ("ia,aj->ij", [[4000, 100], [100, 4000]], 1.3e8, 1.6e7),
    ],
)
def test_a_limit_is_kept_while_an_exponent_is_taken_off(
    notation: str, shapes: list[list[int]], limit: float, expected: float
) -> None:
    found = measured(notation, shapes, "F64", "auto", int(limit), 1, True)

    assert found["growth"] <= 1.05 * limit + 16 * MEBIBYTE
    assert found["sum"] == expected
