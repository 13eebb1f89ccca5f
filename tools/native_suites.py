"""The suites that run the CPU backend another way: without native kernels, with sanitizers, with several threads.

``python tools/native_suites.py`` runs them all, one after the other, and prints what each one is. Without a C compiler
the suites that need the extension are named and left out, as the extension itself is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
TESTS: Final = ROOT / "packages" / "cpu_backend" / "tests"
KERNEL_TESTS: Final = sorted(map(str, [*TESTS.glob("test_native_*.py"), TESTS / "test_buffer_pool.py"]))
THREADED_TESTS: Final = [
    str(ROOT / "tests" / "test_threads_and_fork.py"),
    *(
        str(TESTS / f"test_{name}.py")
        for name in ("threads_and_memory", "buffer_pool", "native_permute", "native_contract")
    ),
]
THREADS: Final = ("1", "2", "4")


class Suite(NamedTuple):
    """One run of pytest."""

    what: str
    arguments: list[str]
    environment: Mapping[str, str]


def main() -> int:
    """Run every suite; the exit status of the first that fails. What has to be built is built meanwhile."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(1) as builder:
        folder, compiler = Path(name), compiler_name()
        makers = () if compiler is None else (strict, plain, sanitized)
        waiting = [builder.submit(make, folder, compiler or "") for make in makers]
        if compiler is None:
            print("no C compiler: the suites of the native kernels are left out, as the extension is")
        for suite in chain(without_build(compiler), (future.result() for future in waiting)):
            print(f"\n{suite.what}", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-r", "fE", *suite.arguments]
            done = subprocess.run(command, env={**os.environ, **suite.environment}, cwd=ROOT, check=False)
            if done.returncode:
                return done.returncode
    return 0


def without_build(compiler: str | None) -> Iterator[Suite]:
    """The suites that need nothing but what is installed."""
    yield Suite("kernels and conformance on NumPy alone", [str(TESTS)], {"TENSOR_CPU_NATIVE": "0"})
    if compiler is not None:
        for threads in THREADS:
            yield Suite(
                f"what runs in threads, with {threads} of them", THREADED_TESTS, {"TENSOR_CPU_THREADS": threads}
            )


def strict(folder: Path, compiler: str) -> Suite:
    """Every version as users get it, in which a warning is an error, and so is a function that takes much stack."""
    built = build(folder / "strict", CFLAGS="-Werror")
    what = "small stacks, every array compared with the form of its operand, and no warning of the compiler"
    checked = [str(TESTS / f"test_{name}.py") for name in ("small_stacks", "native_arguments", "native_regressions")]
    return Suite(what, checked, {"TENSOR_CPU_NATIVE": built, "TENSOR_CPU_CHECK_CALLS": "1"})


def plain(folder: Path, compiler: str) -> Suite:
    """The version for any processor."""
    built = build(folder / "plain", NATIVE_PLAIN="1")
    return Suite("native kernels in plain C, as any processor runs them", KERNEL_TESTS, {"TENSOR_CPU_NATIVE": built})


def sanitized(folder: Path, compiler: str) -> Suite:
    """Every version, watched."""
    environment = {
        "TENSOR_CPU_NATIVE": build(folder / "sanitized", NATIVE_SANITIZE="1"),
        "LD_PRELOAD": library_of(compiler, "libasan.so"),
        # The interpreter itself never frees everything, and what is too large to allocate is tested.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TENSOR_CPU_CHECK_CALLS": "1",
    }
    return Suite("native kernels under the address and undefined-behaviour sanitizers", KERNEL_TESTS, environment)


def compiler_name() -> str | None:
    """The C compiler, if there is one."""
    return shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")


def build(folder: Path, **options: str) -> str:
    """Path of an extension built with these options; a build that fails is an error."""
    setup = ROOT / "packages" / "cpu_backend"
    command = [sys.executable, "setup.py", "-q", "build_ext", "-b", str(folder), "-t", str(folder / "objects")]
    subprocess.run(command, env={**os.environ, **options}, cwd=setup, check=True)
    (built,) = folder.glob("tensor_cpu/_native*")
    return str(built)


def library_of(compiler: str, name: str) -> str:
    """Where the compiler keeps one of its libraries."""
    done = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
