"""A network that no memory of this machine holds, contracted under a limit; killed halfway, and gone on with.

Each run is a process of its own, which draws the operands, marks its memory, and contracts with a checkpoint. The first
runs to its end; the second is killed once the checkpoint has half of the slices; the third goes on from there.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.networks import regular

_RUN: Final = """
import json, os, sys, time
import numpy as np
import tensor_runtime as tr
from tensor_einsum import Plan
from tensor_cpu.system.memory import pool

def status(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))

folder, seconds = sys.argv[1], float(sys.argv[2])
with open(os.path.join(folder, "plan")) as file:
    plan = Plan.from_json(file.read())
generator = np.random.default_rng(0)
operands = [tr.tensor(generator.standard_normal(shape) / 2) for shape in plan.shapes]
plan.run_slice(0, *operands)  # libraries and threads are there, and no first call is timed
pool.clear()
before = status("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the highest mark begins anew
started = time.perf_counter()
result = plan(*operands, checkpoint=os.path.join(folder, "sum"), checkpoint_seconds=seconds)
took = time.perf_counter() - started
print(json.dumps({
    "seconds": took, "growth": status("VmHWM") - before, "result": result.item().hex(),
    "pool": pool.stats().peak_bytes,
}))
"""


def run(nodes: int, seed: int, limit: str, search: float, interval: float) -> dict[str, Any]:
    """All three runs; what each took is printed as it ends.

    Args:
        nodes, seed: of the random 3-regular graph, whose bonds have extent 2.
        limit: as ``memory_limit`` takes it.
        search: seconds for the order, with and without the limit.
        interval: seconds between two savings.
    """
    from tensor_core.formatting import readable_bytes
    from tensor_einsum import plan

    network = regular(3, nodes, seed)
    arguments: list[Any] = []
    for shape, term in zip(network.shapes, network.inputs, strict=True):
        arguments += [shape, term]
    whole = plan(*arguments, (), seconds=search)
    found = plan(*arguments, (), seconds=search, memory_limit=limit)
    needs = found.peak_bytes
    print(f"{network.name}: {readable_bytes(whole.peak_bytes)} at the peak, {whole.flops:.3g} flops")
    print(f"under {limit}: {found.slices.count} slices of {len(found.slices.labels)} labels, {found.flops:.3g} flops, ")
    print(f"  needs {readable_bytes(needs)}", flush=True)
    numbers: dict[str, Any] = {
        "network": network.name, "seed": seed, "whole_bytes": whole.peak_bytes, "whole_flops": whole.flops,
        "limit": limit, "slices": found.slices.count, "flops": found.flops, "needed_bytes": needs,
    }  # fmt: skip
    with TemporaryDirectory() as folder:
        (Path(folder) / "plan").write_text(found.to_json(), encoding="utf-8")
        unbroken = _ended(_started(folder, interval))
        print(f"unbroken: {_told(unbroken)}", flush=True)
        killed = _started(folder, interval)
        taken = _killed_halfway(killed, Path(folder) / "sum", found.slices.count)
        print(f"killed with {taken} of {found.slices.count} slices in the checkpoint", flush=True)
        resumed = _ended(_started(folder, interval))
        print(f"resumed: {_told(resumed)}")
    same = resumed["result"] == unbroken["result"]
    print(f"the same bits: {same}")
    return {**numbers, "unbroken": unbroken, "killed_after": taken, "resumed": resumed, "same_bits": same}


def _started(folder: str, interval: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _RUN, folder, str(interval)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    text, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"a run ended with {process.returncode}")
    found: dict[str, Any] = json.loads(text)
    return found


def _killed_halfway(process: subprocess.Popen[str], path: Path, count: int) -> int:
    """Kill a run once half of the slices are saved; how many are."""
    while process.poll() is None:
        if path.exists() and 2 * _taken(path) >= count:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            return _taken(path)
        time.sleep(0.05)
    raise RuntimeError("the run ended before it was killed; make the interval shorter")


def _taken(path: Path) -> int:
    with open(path, "rb") as file:
        return int(json.loads(file.readline())["taken"])


def _told(numbers: dict[str, Any]) -> str:
    from tensor_core.formatting import readable_bytes

    return f"{numbers['seconds']:.1f} s, the process grew by {readable_bytes(numbers['growth'])}"
