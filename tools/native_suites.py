"""The suites that run native code another way: the CPU backend and the search without it, with sanitizers, in threads.

``python tools/native_suites.py`` runs them all, one after the other, and prints what each one is. Without a C compiler
the suites that need the extension are named and left out, as the extension itself is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from check_c import EINSUM
from native_builds import compiler_name, extension, plain_drivers, sanitized_drivers

ROOT: Final = Path(__file__).resolve().parents[1]
TESTS: Final = ROOT / "packages" / "cpu_backend" / "tests"
KERNEL_TESTS: Final = sorted(
    str(path)
    for pattern in ("native_*", "linalg_*", "blas_products", "tiny_operands", "buffer_pool")
    for path in TESTS.glob(f"test_{pattern}.py")
)
THREADED_TESTS: Final = [
    str(ROOT / "tests" / "test_threads_and_fork.py"),
    *(
        str(TESTS / f"test_{name}.py")
        for name in ("threads_and_memory", "buffer_pool", "native_copies", "native_contraction")
    ),
]
THREADS: Final = ("1", "2", "4")
EINSUM_TESTS: Final = sorted(
    str(path)
    for pattern in ("search_*", "layouts", "cached_calls*")
    for path in (EINSUM / "tests").glob(f"test_{pattern}.py")
)

FUZZED_SECONDS: Final = "40"  # by all versions of the kernels together; others run for a quarter of it
SEED: Final = "1"  # the same examples in every run; `make test-long` draws others
CROSS: Final = ("aarch64-linux-gnu-gcc", ("qemu-aarch64", "qemu-aarch64-static"))


class Suite(NamedTuple):
    """One run of pytest, or of a program."""

    what: str
    arguments: list[str]  # of pytest
    environment: Mapping[str, str]
    program: Sequence[str] = ()  # in place of pytest


def main() -> int:
    """Run every suite; the exit status of the first that fails. What has to be built is built meanwhile."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(1) as builder:
        folder, compiler = Path(name), compiler_name()
        makers = () if compiler is None else MAKERS
        waiting = [builder.submit(make, folder, compiler or "") for make in makers]
        if compiler is None:
            print("no C compiler: the suites of the native kernels are left out, as the extension is")
        for suite in chain(without_build(compiler), (future.result() for future in waiting)):
            if isinstance(suite, str):
                print(f"\n{suite}")
                continue
            print(f"\n{suite.what}", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-r", "fE", *suite.arguments]
            done = subprocess.run(
                suite.program or command, env={**os.environ, **suite.environment}, cwd=ROOT, check=False
            )
            if done.returncode:
                return done.returncode
    return 0


def without_build(compiler: str | None) -> Iterator[Suite]:
    """The suites that need nothing but what is installed."""
    yield Suite("kernels and conformance on NumPy alone", [str(TESTS)], {"TENSOR_CPU_NATIVE": "0"})
    yield Suite(
        "calls, and the search for contraction orders, in Python alone", EINSUM_TESTS, {"TENSOR_EINSUM_NATIVE": "0"}
    )
    if compiler is not None:
        for threads in THREADS:
            yield Suite(
                f"what runs in threads, with {threads} of them", THREADED_TESTS, {"TENSOR_CPU_THREADS": threads}
            )


def strict(folder: Path, compiler: str) -> Suite:
    """Every version as users get it, in which a warning is an error, and so is a function that takes much stack."""
    built = extension(folder / "strict", CFLAGS="-Werror")
    what = "small stacks, every array compared with the form of its operand, and no warning of the compiler"
    checked = [
        str(TESTS / f"test_{name}.py")
        for name in ("thread_stacks", "native_arguments", "call_checks", "native_regressions")
    ]
    return Suite(what, checked, {"TENSOR_CPU_NATIVE": built, "TENSOR_CPU_CHECK_CALLS": "1"})


def plain(folder: Path, compiler: str) -> Suite:
    """The version for any processor."""
    built = extension(folder / "plain", NATIVE_PLAIN="1")
    return Suite("native kernels in plain C, as any processor runs them", KERNEL_TESTS, {"TENSOR_CPU_NATIVE": built})


def sanitized(folder: Path, compiler: str) -> Suite:
    """Every version, watched."""
    environment = {
        **watched(compiler),
        "TENSOR_CPU_NATIVE": extension(folder / "sanitized", NATIVE_SANITIZE="1"),
        "TENSOR_CPU_CHECK_CALLS": "1",
    }
    return Suite("native kernels under the address and undefined-behaviour sanitizers", KERNEL_TESTS, environment)


def sanitized_einsum(folder: Path, compiler: str) -> Suite:
    """The extension of einsum, watched; what takes long anyway is left out."""
    built = extension(folder / "search", EINSUM, NATIVE_SANITIZE="1")
    environment = {**watched(compiler), "TENSOR_EINSUM_NATIVE": built}
    what = "calls, and the search for contraction orders, under the address and undefined-behaviour sanitizers"
    return Suite(what, [*EINSUM_TESTS, "-m", "not slow"], environment)


def fuzzed(folder: Path, compiler: str) -> Suite:
    """What knows no Python, of every version, on arrays drawn; made of the objects of ``sanitized``."""
    program = [sanitized_drivers(folder / "sanitized"), FUZZED_SECONDS, SEED]
    return Suite("kernels beside naive loops, on arrays drawn, under the sanitizers", [], {}, program)


def fuzzed_by_clang(folder: Path, compiler: str) -> Suite | str:
    """The same in plain C, as Clang compiles it."""
    clang = shutil.which("clang")
    if clang is None:
        return "clang is not installed: kernels that it compiles are not run"
    program = [plain_drivers(folder / "clang", [clang]), str(int(FUZZED_SECONDS) // 4), SEED]
    return Suite("kernels beside naive loops, in plain C, compiled by Clang", [], {}, program)


def fuzzed_on_aarch64(folder: Path, compiler: str) -> Suite | str:
    """The same for another processor."""
    name, emulators = CROSS
    emulator = next(filter(None, map(shutil.which, emulators)), None)
    missing = [what for what, found in ((name, shutil.which(name)), (emulators[0], emulator)) if found is None]
    if emulator is None or missing:
        return f"{' and '.join(missing)} not installed: kernels for aarch64 are not run"
    program = [emulator, plain_drivers(folder / "aarch64", [name], ["-static"]), str(int(FUZZED_SECONDS) // 4), SEED]
    return Suite("kernels beside naive loops, for aarch64 under an emulator", [], {}, program)


def watched(compiler: str) -> dict[str, str]:
    """The environment in which a sanitized extension runs."""
    return {
        "LD_PRELOAD": library_of(compiler, "libasan.so"),
        # The interpreter itself never frees everything, and what is too large to allocate is tested.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def library_of(compiler: str, name: str) -> str:
    """Where the compiler keeps one of its libraries."""
    done = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


MAKERS: Final = (strict, plain, sanitized, sanitized_einsum, fuzzed, fuzzed_by_clang, fuzzed_on_aarch64)


if __name__ == "__main__":
    sys.exit(main())
