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
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
TESTS: Final = ROOT / "packages" / "cpu_backend" / "tests"
KERNEL_TESTS: Final = sorted(map(str, [*TESTS.glob("test_native_*.py"), TESTS / "test_buffer_pool.py"]))
THREADS: Final = ("1", "2", "4")


class Suite(NamedTuple):
    """One run of pytest."""

    what: str
    arguments: list[str]
    environment: Mapping[str, str]


def main() -> int:
    """Run every suite; the exit status of the first that fails."""
    with tempfile.TemporaryDirectory() as folder:
        for suite in suites(Path(folder)):
            print(f"\n{suite.what}", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-r", "fE", *suite.arguments]
            done = subprocess.run(command, env={**os.environ, **suite.environment}, cwd=ROOT, check=False)
            if done.returncode:
                return done.returncode
    return 0


def suites(folder: Path) -> list[Suite]:
    """What there is to run; builds go into ``folder``."""
    found = [Suite("kernels and conformance on NumPy alone", [str(TESTS)], {"TENSOR_CPU_NATIVE": "0"})]
    compiler = compiler_name()
    if compiler is None:
        print("no C compiler: the suites of the native kernels are left out, as the extension is")
        return found
    found.extend(
        Suite(
            f"native kernels with {threads} threads",
            [*KERNEL_TESTS, str(ROOT / "tests" / "test_threads_and_fork.py")],
            {"TENSOR_CPU_THREADS": threads},
        )
        for threads in THREADS
    )
    plain = build(folder / "plain", NATIVE_PLAIN="1")
    found.append(
        Suite("native kernels in plain C, as any processor runs them", KERNEL_TESTS, {"TENSOR_CPU_NATIVE": plain})
    )
    sanitized = build(folder / "sanitized", NATIVE_SANITIZE="1")
    environment = {
        "TENSOR_CPU_NATIVE": sanitized,
        "LD_PRELOAD": library_of(compiler, "libasan.so"),
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter itself never frees everything
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    found.append(
        Suite("native kernels under the address and undefined-behaviour sanitizers", KERNEL_TESTS, environment)
    )
    return found


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
