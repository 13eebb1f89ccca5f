"""The suites that run native code another way: the CPU backend and the search without it, with sanitizers, in threads.

``python tools/native_suites.py`` runs them all, two at a time, and prints what each one is. Without a C compiler the
suites that need the extension are named and left out, as the extension itself is. So are tests that start programs in
an environment of their own (``own_process``): no suite changes what those see.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Final

from check_c import EINSUM, PACKAGE
from native_builds import compiler_name, extension, plain_drivers, sanitized_drivers
from suite_queue import Job, Suite, run_all

ROOT: Final = Path(__file__).resolve().parents[1]
TESTS: Final = ROOT / "packages" / "cpu_backend" / "tests"
KERNEL_TESTS: Final = sorted(
    str(path)
    for pattern in ("native_*", "linalg_*", "blas_products", "tiny_operands", "buffer_pool")
    for path in TESTS.glob(f"test_{pattern}.py")
)
CALL_TESTS: Final = sorted(
    str(path)
    for pattern in ("native_calls*", "picked_elements", "taken_elements", "results_in_targets", "joined_arrays")
    for path in TESTS.glob(f"test_{pattern}.py")
)
UNWATCHED: Final = {
    "build_commands": "compiles, and runs nothing",
    "call_checks": "starts programs in environments of their own",
    "cpu_completeness": "runs no kernel",
    "cpu_conformance": "takes long; what it runs has tests of its own",
    "errstate": "NumPy's kernels",
    "explanation": "runs no kernel",
    "kernel_contracts": "runs no kernel",
    "kernel_table": "runs no kernel",
    "lent_threads": "waits for threads of a library",
    "own_blas": "a library that is not watched",
    "reduction_accuracy": "takes half a minute; its loops are those of native_reduction",
    "same_bits_in_any_batch": "takes half a minute; its kernels are those of linalg_batched_simd",
    "thread_stacks": "takes half a minute; how much stack threads have is another under the sanitizers",
    "threads_and_memory": "counts memory, which is another under the sanitizers",
    "workspaces": "takes half a minute, and counts memory",
}
"""Test files of the CPU backend that the sanitizers do not watch, each with the reason. Whatever is new is watched."""
WATCHED_TESTS: Final = [
    *(str(path) for path in sorted(TESTS.glob("test_*.py")) if path.stem.removeprefix("test_") not in UNWATCHED),
    *(str(ROOT / "packages" / "tensor_runtime" / "tests" / f"test_{name}.py") for name in ("fusion", "fused_calls")),
]
THREADED_TESTS: Final = [
    str(ROOT / "tests" / "test_threads_and_fork.py"),
    *(
        str(TESTS / f"test_{name}.py")
        for name in ("threads_and_memory", "buffer_pool", "native_copies", "native_contraction")
    ),
]
STRICT_TESTS: Final = ("native_arguments", "native_arrays", "call_checks", "native_regressions")
THREADS: Final = (1, 2, 4)
OWN: Final = ("-m", "not own_process")
SAID: Final = ("--capture=sys",)  # so that what a sanitizer says before it ends the process is in the log
NO_SKIPS: Final = ("-r", "fE")  # much does not apply to a suite; what is skipped otherwise, the tests as they are say
EINSUM_TESTS: Final = sorted(
    str(path)
    for pattern in ("search_*", "layouts", "cuts", "cached_calls*")
    for path in (EINSUM / "tests").glob(f"test_{pattern}.py")
)

# NumPy only says what is right in these suites; its threads would wait for processors that other suites use. Threads of
# the backend's own library are as many as ever.
ORACLE: Final = {"OPENBLAS_NUM_THREADS": "1"}

# Where NumPy's threads are as many as processors, they sleep soon after each call, as those of the backend's library do
# (tensor_cpu.system.blas): for 30 ms they would hold the processor of the other suite.
POLLING: Final = {"OPENBLAS_THREAD_TIMEOUT": "15"}

FUZZED_SECONDS: Final = "20"  # by all versions of the kernels together; others run for a quarter of it
SEED: Final = "1"  # the same examples in every run; `make test-long` draws others
CROSS: Final = ("aarch64-linux-gnu-gcc", ("qemu-aarch64", "qemu-aarch64-static"))


def main() -> int:
    """Run every suite; the exit status of the first that fails."""
    with TemporaryDirectory() as name:
        return run_all(native_jobs(Path(name)))


def native_jobs(folder: Path) -> list[Job]:
    """Every suite, those that take longest first; what is built for them goes into the folder."""
    compiler = compiler_name()
    if compiler is None:
        return [numpy_alone, python_alone, left_out]
    watched = Watched(folder, compiler)
    return [
        watched.kernels,
        watched.calls,
        numpy_alone,
        partial(plain, folder),
        *(partial(threaded, count) for count in THREADS),
        partial(sanitized_einsum, folder, compiler),
        watched.fuzzed,
        partial(strict, folder),
        partial(fuzzed_by_clang, folder),
        partial(fuzzed_on_aarch64, folder),
        python_alone,
    ]


def left_out() -> str:
    """Said where nothing can be compiled."""
    return "no C compiler: the suites of the native kernels are left out, as the extension is"


def numpy_alone() -> Suite:
    """The backend as it is where nothing was compiled, but for what asks NumPy's kernels by name wherever it runs."""
    environment = POLLING | {"TENSOR_CPU_NATIVE": "0"}
    by_name = f"--ignore={TESTS / 'test_reduction_accuracy.py'}"
    return Suite("kernels and conformance on NumPy alone", [str(TESTS), by_name, *NO_SKIPS, *OWN], environment)


def python_alone() -> Suite:
    """Calls as they are where nothing was compiled."""
    what = "calls, and the search for contraction orders, in Python alone"
    return Suite(what, [*EINSUM_TESTS, *NO_SKIPS], ORACLE | {"TENSOR_EINSUM_NATIVE": "0"})


def threaded(count: int) -> Suite | str:
    """What runs in threads, with so many of them."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if count == processors and os.environ.keys().isdisjoint(("TENSOR_CPU_THREADS", "OMP_NUM_THREADS")):
        return f"what runs in threads, with {count} of them: as many as processors, so all other suites ran so"
    arguments = [*THREADED_TESTS, *NO_SKIPS, "-m", "not own_process and not own_threads"]
    return Suite(f"what runs in threads, with {count} of them", arguments, ORACLE | {"TENSOR_CPU_THREADS": str(count)})


def strict(folder: Path) -> Suite:
    """What users here get: a warning is an error, and so is a function that takes much stack.

    Of the others ``check_c.py`` asks what a compiler finds without an optimizer; ``make dist`` compiles all of them,
    with ``-Werror`` as here.
    """
    built = extension(with_objects(folder / "strict"), CFLAGS="-Werror", NATIVE_HERE="1")
    what = "every array compared with the form of its operand, and no warning of the compiler"
    checked = [str(TESTS / f"test_{name}.py") for name in STRICT_TESTS]
    return Suite(what, [*checked, *NO_SKIPS], ORACLE | {"TENSOR_CPU_NATIVE": built, "TENSOR_CPU_CHECK_CALLS": "1"})


def plain(folder: Path) -> Suite:
    """The version for any processor; without optimization where the machine has a better one.

    Tests that choose instruction sets themselves choose it in the backend as it is, too, and find the same objects
    there: they would prove nothing new.
    """
    built = extension(with_objects(folder / "plain"), NATIVE_PLAIN="1", NATIVE_HERE="1")
    what = "native kernels in plain C, as any processor runs them"
    arguments = [*KERNEL_TESTS, *NO_SKIPS, "-m", "not own_process and not own_instructions"]
    return Suite(what, arguments, ORACLE | {"TENSOR_CPU_NATIVE": built})


def with_objects(folder: Path) -> Path:
    """The folder of a build, with what the installed extension was made of: objects that serve both stay up to date.

    ``make test`` and ``make check`` install with ``-Werror``, so those of the strict build are all there.
    """
    for objects in (PACKAGE / "build").glob(f"editable.*-{sys.implementation.cache_tag}/native"):
        shutil.copytree(objects, folder / "objects" / "native", dirs_exist_ok=True)
    return folder


class Watched:
    """Every version under the address and undefined-behaviour sanitizers, compiled once for three suites."""

    def __init__(self, folder: Path, compiler: str) -> None:
        self._folder, self._compiler = folder / "sanitized", compiler
        self._built, self._lock = "", Lock()

    def _extension(self) -> str:
        with self._lock:
            self._built = self._built or extension(self._folder, NATIVE_SANITIZE="1")
        return self._built

    def kernels(self) -> Suite:
        """Whatever runs kernels."""
        what = "native kernels under the address and undefined-behaviour sanitizers"
        environment = ORACLE | {"TENSOR_CPU_NATIVE": self._extension(), "TENSOR_CPU_CHECK_CALLS": "1"}
        files = [path for path in WATCHED_TESTS if path not in CALL_TESTS]
        return Suite(what, [*files, *NO_SKIPS, *OWN, *SAID], watching(self._compiler) | environment)

    def calls(self) -> Suite:
        """Native calls, which stand aside where every call is checked."""
        environment = ORACLE | {"TENSOR_CPU_NATIVE": self._extension()}
        what = "native calls under the address and undefined-behaviour sanitizers"
        return Suite(what, [*CALL_TESTS, *NO_SKIPS, *OWN, *SAID], watching(self._compiler) | environment)

    def fuzzed(self) -> Suite:
        """What knows no Python, on arrays drawn; made of the same objects."""
        self._extension()
        program = [sanitized_drivers(self._folder), FUZZED_SECONDS, SEED]
        return Suite("kernels beside naive loops, on arrays drawn, under the sanitizers", [], {}, program)


def sanitized_einsum(folder: Path, compiler: str) -> Suite:
    """The extension of einsum, watched; what takes long anyway is left out.

    That is how good the orders are which millions of rotations find, and limits beyond every float: the loops are those
    of the other tests of the same files.
    """
    built = extension(folder / "search", EINSUM, NATIVE_SANITIZE="1")
    what = "calls, and the search for contraction orders, under the address and undefined-behaviour sanitizers"
    environment = watching(compiler) | ORACLE | {"TENSOR_EINSUM_NATIVE": built}
    return Suite(what, [*EINSUM_TESTS, *NO_SKIPS, "-m", "not slow", *SAID], environment)


def fuzzed_by_clang(folder: Path) -> Suite | str:
    """The same in plain C, as Clang compiles it."""
    clang = shutil.which("clang")
    if clang is None:
        return "clang is not installed: kernels that it compiles are not run"
    program = [plain_drivers(folder / "clang", [clang]), str(int(FUZZED_SECONDS) // 4), SEED]
    return Suite("kernels beside naive loops, in plain C, compiled by Clang", [], {}, program)


def fuzzed_on_aarch64(folder: Path) -> Suite | str:
    """The same for another processor."""
    name, emulators = CROSS
    emulator = next(filter(None, map(shutil.which, emulators)), None)
    missing = [what for what, found in ((name, shutil.which(name)), (emulators[0], emulator)) if found is None]
    if emulator is None or missing:
        return f"{' and '.join(missing)} not installed: kernels for aarch64 are not run"
    program = [emulator, plain_drivers(folder / "aarch64", [name], ["-static"]), str(int(FUZZED_SECONDS) // 4), SEED]
    return Suite("kernels beside naive loops, for aarch64 under an emulator", [], {}, program)


def watching(compiler: str) -> dict[str, str]:
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


if __name__ == "__main__":
    sys.exit(main())
