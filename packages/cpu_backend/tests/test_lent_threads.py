"""Threads of our own BLAS, lent to large decompositions and products for as long as those take."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_cpu.system import blas
from tensor_cpu.system.extension import AVAILABLE, LIBRARY, WHY_NOT
from tensor_cpu.system.threads import set_threads

Output = Callable[..., str]


pytestmark = pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT)


OWN = pytest.mark.skipif(blas.own_library() is None, reason="scipy-openblas32 is not installed")


AFFINITY = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="processors cannot be chosen here"
)


@OWN
def test_a_large_decomposition_gives_its_threads_back_also_when_it_fails() -> None:
    assert blas.open_blas().name == "own"
    rng = np.random.default_rng(5)
    x = rng.standard_normal((900, 900))
    with set_threads(2):
        q, r = (part.to_numpy() for part in tl.qr(tr.asarray(x)))
        assert np.abs(q @ r - x).max() < 1e-11
        assert LIBRARY.blas_threads() == 1
        with pytest.raises(tr.TensorError):
            tl.cholesky(tr.asarray(-np.eye(1500)))
        assert LIBRARY.blas_threads() == 1
        with ThreadPoolExecutor(3) as pool:  # several at once: one of them at most has the threads
            found = list(pool.map(lambda _: tl.inv(tr.asarray(x)).to_numpy(), range(4)))
    assert LIBRARY.blas_threads() == 1
    assert all(np.abs(inverse @ x - np.eye(900)).max() < 1e-8 for inverse in found)


SAMPLER = """
import os, threading, numpy as np, tensor_runtime as tr, tensor_linalg as tl
from tensor_cpu.system.extension import LIBRARY
from tensor_cpu.system import blas

x = tr.asarray(np.eye(1200) + 1.0)
blas.open_blas()
seen, over = set(), threading.Event()

def watch():
    while not over.is_set():
        seen.add(LIBRARY.blas_threads())

watcher = threading.Thread(target=watch)
watcher.start()
{work}
over.set()
watcher.join()
print(sorted(seen))
"""


@OWN
def test_a_large_decomposition_is_lent_the_threads_that_were_chosen(output: Output) -> None:
    work = "LIBRARY.set_threads(2)\nfor _ in range(3): tl.inv(x)"

    assert output(SAMPLER.format(work=work)) == "[1, 2]"


@OWN
@AFFINITY
def test_threads_that_nobody_chose_are_not_lent_beyond_the_processors_of_the_caller(output: Output) -> None:
    work = "LIBRARY.set_most_threads(8)\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\ntl.inv(x)"

    assert output(SAMPLER.format(work=work)) == "[1]"


@OWN
@AFFINITY
def test_lent_threads_work_on_the_processors_of_who_borrows_them(output: Output) -> None:
    code = (
        "import os, numpy as np, tensor_runtime as tr, tensor_linalg as tl\n"
        "from tensor_cpu.system.extension import LIBRARY\n"
        "x, few = tr.asarray(np.eye(900) + 1.0), tr.asarray(np.eye(3))\n"
        "tl.inv(few)\nLIBRARY.set_threads(2)\n"
        "all, before = os.sched_getaffinity(0), set(os.listdir('/proc/self/task'))\n"
        "os.sched_setaffinity(0, {min(all)})\ntl.inv(x)\n"
        "lent = [int(task) for task in set(os.listdir('/proc/self/task')) - before]\n"
        "narrow = [os.sched_getaffinity(task) for task in lent]\n"
        "os.sched_setaffinity(0, all)\ntl.inv(x)\n"
        "print(len(lent), narrow == [{min(all)}], [os.sched_getaffinity(task) for task in lent] == [all])"
    )
    assert output(code).split() == ["1", "True", "True"]


@OWN
@AFFINITY
def test_threads_lent_to_a_product_sleep_soon_after_it(leaving_to_blas: str, output: Output) -> None:
    code = leaving_to_blas + (
        "import os, time, numpy as np, tensor_runtime as tr\n"
        "x = tr.asarray(np.ones((800, 800)))  # large enough for the library's threads\n"
        "def used_while_asleep():\n"
        "    assert (tr.matmul(x, x).to_numpy() == 800.0).all()\n"
        "    before = time.process_time()\n"
        "    time.sleep(0.05)\n"
        "    return time.process_time() - before\n"
        "used = [used_while_asleep() for _ in range(5)]\n"
        "print(min(used), max(used), os.environ.get('OPENBLAS_THREAD_TIMEOUT'))"
    )

    def used(**environment: str) -> tuple[float, float, str]:
        least, most, timeout = output(code, TENSOR_CPU_THREADS="2", **environment).split()
        return float(least), float(most), timeout

    # Where the machine is busy, a thread that waits for work may have no turn in any one sleep.
    least, _, timeout = used()
    assert least < 0.005
    assert timeout == "None"
    least, _, timeout = used(OPENBLAS_THREAD_TIMEOUT="14")
    assert least < 0.005
    assert timeout == "14"
    _, most, timeout = used(OPENBLAS_THREAD_TIMEOUT="28")
    assert most > 0.005
    assert timeout == "28"


@OWN
@AFFINITY
def test_products_of_some_milliseconds_are_lent_no_threads_that_would_wait_for_each_other(
    leaving_to_blas: str, output: Output
) -> None:
    code = leaving_to_blas + (
        "import os, numpy as np, tensor_runtime as tr\n"
        "def threads_after(size):\n"
        "    x = tr.asarray(np.ones((size, size)))\n"
        "    assert (tr.matmul(x, x).to_numpy() == size).all()\n"
        "    return len(os.listdir('/proc/self/task'))\n"
        "alone, shared, lent = (threads_after(size) for size in (60, 400, 800))\n"
        "print(shared - alone, lent - shared)"
    )
    assert output(code, TENSOR_CPU_THREADS="2").split() == ["1", "1"]


@OWN
@pytest.mark.usefixtures("by_blas")
def test_products_of_several_callers_are_right_while_one_of_them_is_lent_threads() -> None:
    whole = np.arange(800.0 * 800.0).reshape(800, 800) % 7
    x, expected = tr.asarray(np.asfortranarray(whole)), whole @ whole

    with set_threads(3), ThreadPoolExecutor(4) as callers:
        products = list(callers.map(lambda _: tr.matmul(x, x).to_numpy(), range(16)))

    assert all((product == expected).all() for product in products)
    assert int(LIBRARY.blas_threads()) == 1
