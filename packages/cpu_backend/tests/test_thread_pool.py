"""The pool of threads: jobs in quick succession and of several callers are complete; nobody stays awake for long."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest

from tensor_cpu.system.extension import AVAILABLE, WHY_NOT

Program = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT)
LINUX = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two processors"
)

JOBS = """
import random, time, numpy as np, tensor_runtime as tr
from concurrent.futures import ThreadPoolExecutor
source = np.arange(1.0, 400_001.0)

def work(seed):
    drawn = random.Random(seed)
    for _ in range(60):
        size = drawn.choice([200_000, 300_001, 400_000])
        if not ((lambda x: tr.multiply(x, x))(tr.asarray(source[:size])).to_numpy() == source[:size] ** 2).all():
            return False
        if drawn.random() < 0.2:
            time.sleep(drawn.random() * 1e-3)  # shorter and longer than workers look for a job
    return True

with ThreadPoolExecutor(3) as callers:
    print(all(callers.map(work, range(3))), work(3))
"""


@pytest.mark.parametrize("threads", ["2", "5"])
def test_jobs_in_quick_succession_and_from_several_callers_are_complete(threads: str, program: Program) -> None:
    found = program(JOBS, TENSOR_CPU_THREADS=threads)

    assert found.stdout.split() == ["True", "True"], found.stderr


@LINUX
def test_workers_sleep_soon_after_a_job(program: Program) -> None:
    code = (
        "import os, time, numpy as np, tensor_runtime as tr\n"
        "x = tr.asarray(np.ones(1_000_000))\n"
        "def used_while_asleep():\n"
        "    tr.multiply(x, x)\n"
        "    before = time.process_time()\n"
        "    time.sleep(0.03)\n"
        "    return time.process_time() - before\n"
        "used = [used_while_asleep() for _ in range(5)]\n"
        "print(len(os.listdir('/proc/self/task')) > 1, min(used) < 0.003)"
    )

    assert program(code, TENSOR_CPU_THREADS="2").stdout.split() == ["True", "True"]
