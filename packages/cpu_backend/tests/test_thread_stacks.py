"""Kernels in threads with little stack, as Python programs make them and as the C library of some systems does.

Every family of native kernels runs in a thread of 64 KiB, the interpreter's own frames included. The answers are those
of the same call in the main thread, bit for bit; a kernel that takes too much kills the process. A program of its own
runs them, so that such a death is an error here.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from tensor_cpu.system.extension import AVAILABLE

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the native kernels are not built")

PRELUDE = """
import itertools, sys, threading
import numpy as np
import tensor_linalg as tl
import tensor_runtime as tr
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.algebras import MAX_PLUS, OR_AND

LIBRARY.set_instruction_set(sys.argv[1])
REAL, COMPLEX = (tr.F32, tr.F64), (tr.C32, tr.C64)
random = np.random.default_rng(5)

def bits(answer):
    parts = answer if isinstance(answer, tuple) else (answer,)
    return [tr.download(part).tobytes() for part in parts]

def check(work, *operands):
    expected, found = bits(work(*operands)), []
    former = threading.stack_size(64 * 1024)
    thread = threading.Thread(target=lambda: found.append(work(*operands)))
    thread.start()
    threading.stack_size(former)
    thread.join()
    assert bits(found[0]) == expected, work
    check.count += 1

check.count = 0

def draw(shape, dtype):
    values = random.integers(-9, 10, shape)
    if dtype in COMPLEX:
        values = values + 1j * random.integers(-9, 10, shape)
    return tr.tensor(values.astype(dtype.numpy_name))

def stack(n, batch, dtype):
    a = random.standard_normal((n, n, batch)) + 4.0 * np.eye(n)[:, :, None]
    if dtype in COMPLEX:
        a = a + 1j * random.standard_normal(a.shape)
    a = a + np.conj(a.transpose(1, 0, 2)) + 4.0 * n * np.eye(n)[:, :, None]
    return tr.tensor(a.astype(dtype.numpy_name))
"""

FAMILIES = {
    "reductions": """
for dtype in (*REAL, *COMPLEX, tr.I32, tr.I64, tr.Bool):
    for shape in ((100, 300), (3, 70_000), (70_000, 3), (40, 50, 60)):
        x = draw(shape, dtype)
        for axis in (None, *range(len(shape)), (0, len(shape) - 1)):
            check(lambda x: tr.sum(x, axis=axis), x)
            check(lambda x: tr.sum(tr.transpose(x), axis=axis), x)
            if dtype not in (*COMPLEX, tr.Bool):
                check(lambda x: tr.max(x, axis=axis), x)
""",
    "elementwise": """
def program(a, b):
    c = [tr.add(tr.multiply(a, float(k)), b) for k in range(2, 12)]
    return tr.sqrt(tr.abs(c[0] * c[1] + c[2] * c[3] - c[4] * c[5] + c[6] * c[7] * c[8] - c[9]))

fused = tr.fuse(program)
for dtype, size in itertools.product((*REAL, *COMPLEX), (70, 300)):
    a, b = draw((size, size), dtype), draw((size, size), dtype)
    check(tr.add, a, b)
    check(tr.multiply, tr.transpose(a), b)
    check(fused, a, b)
    check(fused, tr.transpose(a), b)
    check(tr.exp if dtype in REAL else tr.conj, a)
    check(tr.equal, tr.transpose(a), b)
""",
    "copies": """
for dtype in (*REAL, *COMPLEX, tr.I32, tr.Bool):
    for shape in ((200, 300), (17, 19, 23, 3), (5, 60_000), (60_000, 5)):
        x = draw(shape, dtype)
        check(lambda x: tr.copy(tr.transpose(x)), x)
        check(lambda x: tr.copy(tr.reverse_view(x, 0)), x)
        if dtype not in COMPLEX:
            check(lambda x: tr.convert(tr.transpose(x), tr.F64 if dtype is not tr.I32 else tr.C64), x)
""",
    "lanes": """
for n, dtype in itertools.product((1, 2, 3, 4, 5, 9, 15, 16), (*REAL, *COMPLEX)):
    a, b = stack(n, 67, dtype), draw((n, 20, 67), dtype)
    for routine in (tl.cholesky, tl.inv, tl.det, tl.qr, tl.eigh, tl.svd):
        check(routine, a)
    check(tl.solve, a, b)
    check(tl.qr, draw((16, n, 67), dtype))
    check(tl.svd, draw((n, 16, 67), dtype))
""",
    "lapack": """
for n, dtype in itertools.product((20, 70), (*REAL, *COMPLEX)):
    a, b = stack(n, 3, dtype), draw((n, 20, 3), dtype)
    for routine in (tl.cholesky, tl.inv, tl.det, tl.qr, tl.eigh, tl.svd):
        check(routine, a)
    check(tl.solve, a, b)
""",
    "contractions": """
for dtype in (*REAL, *COMPLEX, tr.I32, tr.I64, tr.Bool):
    for m, k, n in ((4, 4, 4), (30, 30, 1), (3, 500, 70), (90, 100, 110)):
        a, b = draw((m, k), dtype), draw((k, n), dtype)
        check(tr.matmul, a, b)
        product = lambda a, b: tr.dot_general(a, b, contracting=((0,), (1,)))
        check(product, tr.copy(tr.transpose(a)), draw((n, k), dtype))
    a, b = draw((6, 70, 80), dtype), draw((6, 80, 90), dtype)
    check(lambda a, b: tr.dot_general(a, b, contracting=((2,), (1,)), batch=((0,), (0,))), a, b)
    check(lambda a, b: tr.dot_general(a, b, contracting=((1,), (0,))), draw((6, 7, 8), dtype), draw((7, 9, 5), dtype))
    check(lambda a, b: tr.dot_general(a, b, contracting=((), ()), batch=((0, 2), (2, 0))), a, draw((80, 2, 6), dtype))
""",
    "algebras": """
for dtype, algebra in ((tr.F32, MAX_PLUS), (tr.F64, MAX_PLUS), (tr.Bool, OR_AND)):
    for m, k, n in ((90, 300, 1500), (1, 300, 1500), (3, 3, 3), (1, 1500, 300)):
        a, b = draw((m, k), dtype), draw((k, n), dtype)
        check(lambda a, b: tr.dot_general(a, b, contracting=((1,), (0,)), algebra=algebra), a, b)
        check(lambda a, b: tr.dot_general(a, b, contracting=((1,), (1,)), algebra=algebra), a, draw((n, k), dtype))
""",
}


def run(code: str, instruction_set: str) -> str:
    """What a program prints that succeeds."""
    done = subprocess.run(
        [sys.executable, "-c", f"{PRELUDE}\n{code}", instruction_set],
        # The library of LAPACK has workers of its own, whose stacks are its affair.
        env={**os.environ, "TENSOR_CPU_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("family", FAMILIES)
def test_a_thread_with_64_kib_of_stack_computes_what_the_main_thread_does(family: str, instruction_set: str) -> None:
    assert int(run(f"{FAMILIES[family]}\nprint(check.count)", instruction_set)) > 20


SMALLEST_STACKS = """
import ctypes

pthread = ctypes.CDLL(None)
attributes = ctypes.create_string_buffer(256)
assert pthread.pthread_attr_init(attributes) == 0
assert pthread.pthread_attr_setstacksize(attributes, ctypes.c_size_t(16 * 1024)) == 0
assert pthread.pthread_setattr_default_np(attributes) == 0
LIBRARY.set_threads(4)
a, b = draw((700, 800), tr.F64), draw((800, 900), tr.F64)
for _ in range(5):
    tr.sum(a, axis=0), tr.sum(b, axis=1), tr.exp(a), tr.copy(tr.transpose(b))
    tr.dot_general(a, b, contracting=((1,), (0,)), algebra=MAX_PLUS)
    tl.svd(stack(9, 3000, tr.C64))
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "pthread_setattr_default_np"), reason="glibc has it")
def test_workers_do_not_depend_on_the_systems_default_stack(instruction_set: str) -> None:
    run(SMALLEST_STACKS, instruction_set)
