"""A BLAS of our own: private, lent threads for moments, and never touching the library that NumPy calls."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import numpy as np
import pytest
from numpy.linalg import _umath_linalg

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core.errors import BackendUnavailableError
from tensor_cpu.system import blas
from tensor_cpu.system.extension import AVAILABLE, WHY_NOT
from tensor_cpu.system.threads import set_threads

Output = Callable[..., str]
pytestmark = pytest.mark.skipif(not AVAILABLE, reason=WHY_NOT)
OWN = pytest.mark.skipif(blas.own_library() is None, reason="scipy-openblas32 is not installed")

AFFINITY = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="processors cannot be chosen here"
)


def numpys_threads() -> tuple[Callable[[], int], Callable[[int], None]]:
    """Who reads and who sets the threads of the library that NumPy calls."""
    library = ctypes.CDLL(_umath_linalg.__file__)
    for reader, writer in (("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),):
        if hasattr(library, reader):
            return getattr(library, reader), getattr(library, writer)
    pytest.skip("NumPy was built with another library")


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def work(seed: int = 0) -> list[bytes]:
    """Batches and single matrices, small and large, of products and decompositions."""
    rng = np.random.default_rng(seed)
    large, stack = rng.standard_normal((300, 300)), rng.standard_normal((40, 40, 30))
    a, b = tr.asarray(large), tr.asarray(stack)
    results = tr.matmul(a, a), tl.inv(b), tl.solve(a, a), tr.einsum("ijb,jkb->ikb", b, b)
    return [result.to_numpy().tobytes() for result in results]


def test_the_threads_of_numpys_blas_are_never_changed_while_kernels_run() -> None:
    read, write = numpys_threads()
    before, seen, over = read(), set(), Event()

    def watch() -> None:
        while not over.is_set():
            seen.add(read())

    watcher = Thread(target=watch)
    try:
        write(3)
        watcher.start()
        with set_threads(2), ThreadPoolExecutor(2) as pool:
            list(pool.map(work, range(6)))
        over.set()
        watcher.join()
        assert seen == {3}
        assert read() == 3
    finally:
        over.set()
        write(before)


def test_who_saves_and_restores_the_threads_of_numpys_blas_beside_kernels_keeps_them() -> None:
    read, write = numpys_threads()
    before = read()
    try:
        write(2)
        with set_threads(2), ThreadPoolExecutor(1) as pool:
            running = pool.submit(lambda: [work(seed) for seed in range(4)])
            while not running.done():
                saved = read()
                write(2)
                write(saved)
        assert read() == 2
    finally:
        write(before)


BESIDE = """
import ctypes, sys, threading, numpy as np, tensor_linalg as tl, tensor_runtime as tr
from numpy.linalg import _umath_linalg
from scipy.linalg import cython_lapack
from tensor_cpu.system.extension import LIBRARY
from tensor_cpu.system import blas

count = int(sys.argv[1])
libraries = [ctypes.CDLL(path) for path in (_umath_linalg.__file__, cython_lapack.__file__)]
names = [("scipy_openblas_get_num_threads" + end, "scipy_openblas_set_num_threads" + end) for end in ("64_", "")]
access = [[getattr(one, name) for name in pair] for one in libraries for pair in names if hasattr(one, pair[0])]
for read, write in access:
    write(count)
seen, over = set(), threading.Event()

def watch():
    while not over.is_set():
        for read, write in access:
            seen.add(read())
            write(read())

watcher = threading.Thread(target=watch)
watcher.start()
LIBRARY.set_threads(2)
large, stack = tr.asarray(np.eye(900) + 1.0), tr.asarray(np.eye(40)[:, :, None] + np.ones(30))
tr.matmul(large, large), tl.inv(stack), tl.inv(large)
over.set()
watcher.join()
print(blas.opened().name, len(access) > 0, seen == {count}, {read() for read, _ in access} == {count})
"""


@pytest.mark.parametrize("count", ["1", "3"])
@pytest.mark.parametrize("choice", ["numpy", "scipy"])
def test_the_threads_of_a_shared_library_are_never_changed_by_kernels_that_call_it(
    choice: str, count: str, leaving_to_blas: str, output: Output
) -> None:
    numpys_threads()

    assert output(leaving_to_blas + BESIDE, count, TENSOR_CPU_BLAS=choice).split() == [choice, "True", "True", "True"]


@OWN
def test_nobody_finds_the_symbols_of_our_library_and_it_starts_no_thread(leaving_to_blas: str, output: Output) -> None:
    code = leaving_to_blas + (
        "import os, ctypes, sys, numpy as np, tensor_runtime as tr\n"
        "x = tr.asarray(np.zeros((800, 800)))  # large enough to be left to BLAS\n"
        "before = len(os.listdir('/proc/self/task')) if os.path.isdir('/proc/self/task') else 0\n"
        "tr.matmul(x, x)\n"
        "from tensor_cpu.system import blas\n"
        "after = len(os.listdir('/proc/self/task')) if os.path.isdir('/proc/self/task') else 0\n"
        "print(blas.opened().name, hasattr(ctypes.CDLL(None), 'scipy_dgemm_'), 'scipy_openblas32' in sys.modules, "
        "after - before, len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count())"
    )
    assert output(code, TENSOR_CPU_THREADS="1").split() == ["own", "False", "False", "0", str(processors())]


def test_importing_the_backend_opens_no_library(output: Output) -> None:
    code = "import tensor_cpu.backend, sys; print('tensor_cpu.system.blas' in sys.modules)"

    assert output(code) == "False"


@OWN
def test_a_library_that_another_package_has_loaded_is_left_to_it(leaving_to_blas: str, output: Output) -> None:
    code = leaving_to_blas + (
        "import ctypes\nfrom tensor_cpu.system import blas\n"
        "theirs = ctypes.CDLL(blas.own_library())\ntheirs.scipy_openblas_set_num_threads(2)\n"
        "import numpy as np, tensor_runtime as tr, tensor_linalg as tl\n"
        "x = tr.asarray(np.eye(300) * 2.0)\ntl.inv(tr.matmul(x, x))\n"
        "print(blas.opened().name, theirs.scipy_openblas_get_num_threads())"
    )
    assert output(code).split() in (["numpy", "2"], ["scipy", "2"])


@OWN
def test_a_library_that_another_package_loads_later_keeps_the_threads_that_they_give_it(
    leaving_to_blas: str, output: Output
) -> None:
    code = leaving_to_blas + (
        "import ctypes, numpy as np, tensor_runtime as tr, tensor_linalg as tl\n"
        "from tensor_cpu.system import blas\nfrom tensor_cpu.system.threads import set_threads\n"
        "x = tr.asarray(np.eye(900) * 2.0)\ntr.matmul(x, x)\n"
        "theirs = ctypes.CDLL(blas.own_library())\ntheirs.scipy_openblas_set_num_threads(2)\n"
        "with set_threads(3):\n"
        "    same = (tl.inv(tr.matmul(x, x)).to_numpy() == np.eye(900) / 4.0).all()\n"
        "print(blas.opened().name, theirs.scipy_openblas_get_num_threads(), same)"
    )
    assert output(code).split() == ["own", "2", "True"]


@pytest.mark.parametrize("count", ["1", "3"])
def test_without_our_library_numpys_serves_with_the_threads_that_it_has(
    count: str, leaving_to_blas: str, output: Output
) -> None:
    read, _ = numpys_threads()
    code = leaving_to_blas + (
        "import sys; sys.modules['scipy_openblas32'] = None\n"
        "import ctypes, numpy as np, tensor_runtime as tr, tensor_linalg as tl\n"
        "from numpy.linalg import _umath_linalg\nfrom tensor_cpu.system import blas\n"
        "x = tr.asarray(np.full((300, 300), 2.0)); b = tr.asarray(np.eye(40)[:, :, None] * np.arange(1.0, 9.0))\n"
        "assert (tr.matmul(x, x).to_numpy() == 1200.0).all()\n"
        "assert (tl.inv(b).to_numpy() == np.eye(40)[:, :, None] / np.arange(1.0, 9.0)).all()\n"
        "print(blas.opened().name, ctypes.CDLL(_umath_linalg.__file__).scipy_openblas_get_num_threads64_())"
    )
    assert read() >= 1
    assert output(code, OPENBLAS_NUM_THREADS=count, TENSOR_CPU_THREADS="2").split() == [
        "numpy",
        str(min(int(count), processors())),
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_child_forked_while_other_threads_multiply_multiplies_too(output: Output) -> None:
    code = (
        "import os, signal, threading, warnings, numpy as np, tensor_runtime as tr, tensor_linalg as tl\n"
        "warnings.simplefilter('ignore')\n"
        "from tensor_cpu.system.threads import set_threads\n"
        "set_threads(2)\n"
        "x, small = tr.asarray(np.ones((800, 800))), tr.asarray(np.eye(12)[:, :, None] * np.ones(50))\n"
        "decomposed, over = tr.asarray(np.eye(700) + 1.0), threading.Event()\n"
        "def loop(work):\n"
        "    while not over.is_set(): work()\n"
        "jobs = (lambda: tr.matmul(x, x)), (lambda: tl.inv(decomposed)), (lambda: tl.inv(small))\n"
        "[job() for job in jobs]  # Python's own locks of modules that are being imported do not survive a fork\n"
        "threads = [threading.Thread(target=loop, args=(job,)) for job in jobs]\n"
        "[thread.start() for thread in threads]\n"
        "bad = 0\n"
        "for _ in range(12):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        signal.alarm(20)\n"
        "        fine = (tr.matmul(x, x).to_numpy() == 800.0).all() and tl.inv(small).shape == small.shape\n"
        "        os._exit(0 if fine else 1)\n"
        "    bad += os.waitpid(child, 0)[1] != 0\n"
        "over.set()\n"
        "[thread.join() for thread in threads]\n"
        "print(bad)"
    )
    assert output(code) == "0"


def test_a_word_that_names_no_library_is_refused_when_the_backend_is_loaded(output: Output) -> None:
    code = (
        "import tensor_core.errors as e\ntry: import tensor_cpu.backend\nexcept e.ArgumentError as error: print(error)"
    )
    assert output(code, TENSOR_CPU_BLAS="atlas") == (
        "TENSOR_CPU_BLAS is 'atlas'; accepted: own, numpy, scipy, mkl, or unset for the best that is there"
    )


def fails(error: Exception) -> Callable[[], None]:
    """An opener that meets this error."""

    def opener() -> None:
        raise error

    return opener


@pytest.mark.parametrize(
    "error", [ImportError("m"), OSError("m"), KeyError("m"), ValueError("m"), AttributeError("m")], ids=repr
)
def test_however_a_library_fails_the_next_one_is_tried_and_at_last_an_error_says_so(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    served = blas.Provider("scipy", "somewhere", 32, False)
    monkeypatch.setattr(blas, "_OPENERS", {"own": fails(error), "numpy": fails(error), "scipy": lambda: served})
    assert blas._choose("") is served

    monkeypatch.setattr(blas, "_OPENERS", dict.fromkeys(("own", "numpy", "scipy", "mkl"), fails(error)))
    nothing = "library with all of BLAS and LAPACK was found"
    for name, message in {
        "": f"no {nothing}: own, numpy, scipy were tried; pip install scipy-openblas32",
        "mkl": f"TENSOR_CPU_BLAS=mkl, but no such {nothing}; pip install ironstride-tensor-cpu[mkl]",
        "scipy": f"TENSOR_CPU_BLAS=scipy, but no such {nothing}; unset TENSOR_CPU_BLAS, and another one is used",
    }.items():
        with pytest.raises(BackendUnavailableError) as raised:
            blas._choose(name)
        assert str(raised.value) == message


def test_the_error_of_a_wrong_variable_says_to_change_it_and_not_to_uninstall_anything(output: Output) -> None:
    code = (
        "import tensor_runtime as tr, tensor_core.errors as e\n"
        "try: tr.zeros(2)\nexcept e.PluginLoadError as error: print(error)"
    )
    said = output(code, TENSOR_CPU_BLAS="atlas")
    assert said.endswith("; set or unset TENSOR_CPU_BLAS, then start again")
    assert "uninstall" not in said


@OWN
def test_the_doctor_names_our_library_its_version_and_its_processor(output: Output) -> None:
    facts = output(
        "import tensor_runtime as tr; print(tr.backend('cpu').describe()['blas'])", OPENBLAS_CORETYPE="Nehalem"
    )

    assert facts.startswith("own, OpenBLAS 0.3.")
    assert "32-bit integers, one thread for each call, more for a large one that is alone" in facts
    if os.uname().machine == "x86_64":
        assert "Nehalem" in facts
