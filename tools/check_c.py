"""What ``make check`` asks of the C sources: the format of ``.clang-format``, and no warning of GCC or of Clang.

Headers of programs for devices, and what runs them on the host, have that format too.

Each file of both extensions is read, not compiled, as often as it is compiled: once, or once per instruction set. For
sets that this machine lacks, which nothing else compiles here, it is compiled too, without optimizing: an instruction
that a set does not have is an error that no reader finds. A compiler that is not installed is named and left out.
Warnings that only an optimizer finds are errors of a suite in ``native_suites.py``, and of ``make dist``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, Final

PACKAGE: Final = Path(__file__).resolve().parents[1] / "packages" / "cpu_backend"
EINSUM: Final = PACKAGE.with_name("einsum")  # the search for contraction orders: each file is compiled once
DEVICES: Final = PACKAGE.with_name("gpu_backend") / "src"  # headers of programs for devices: their tests compile them
SHIM: Final = PACKAGE.parents[1] / "tools" / "gpu_programs" / "shim"
STATE: Final = PACKAGE.parents[1] / ".c_check_cache"
COMPILERS: Final = ("gcc", "clang")

# Left out, and why:
# -Wcast-align        elements are read through char pointers; the sanitizers check that addresses are aligned
# -Wdouble-promotion  loops written for every real type compute and compare in double on purpose
# -Wduplicated-cond, -Wduplicated-branches  a loop written for every type has branches that are the same for some
# -Wswitch-enum       a default stands for the rest of an enumeration; without one, -Wall asks for every name
# -Wfloat-equal       numbers are compared with 0, 1 and infinities, and those comparisons are exact
WARNINGS: Final = (
    "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wstrict-prototypes",
    "-Wmissing-prototypes", "-Wold-style-definition", "-Wnested-externs", "-Wredundant-decls", "-Wpointer-arith",
    "-Wcast-qual", "-Wwrite-strings", "-Wvla", "-Wundef", "-Wformat=2", "-Wimplicit-fallthrough",
)  # fmt: skip


def main() -> int:
    """Print every complaint; 1 if there is one. What was found good and has not changed since is not read again."""
    folders = PACKAGE / "csrc", PACKAGE / "fuzz", EINSUM / "csrc"
    sources = sorted(path for folder in folders for path in folder.rglob("*.[ch]"))
    build = build_script()
    for name in COMPILERS:
        if shutil.which(name) is None:
            print(f"{name} is not installed: its warnings about the C sources are not checked")
    compilers = [build.Compiler([name]) for name in COMPILERS if shutil.which(name)]
    devices = sorted([*DEVICES.rglob("*.cuh"), *SHIM.glob("*.hpp")])
    state = digest([*sources, *devices], compilers)
    if not STATE.exists() or STATE.read_text(encoding="utf-8") != state:
        found = complaints_of_format([*sources, *devices])
        found += chain.from_iterable(map(complaints_of_compiler, compilers))
        if found:
            print("".join(found), end="")
            return 1
        STATE.write_text(state, encoding="utf-8")
    read = f"{len(sources)} of them, those in C, are read without a warning by {len(compilers)} compilers"
    print(f"{len(sources) + len(devices)} files are formatted; {read}")
    return 0


def digest(sources: Iterable[Path], compilers: Iterable[Any]) -> str:
    """Of all that the outcome depends on."""
    rules = [
        Path(__file__),
        *(package / name for package in (PACKAGE, EINSUM) for name in ("setup.py", ".clang-format")),
    ]
    versions = [*(compiler.version for compiler in compilers), sys.version, version("numpy"), version("clang-format")]
    parts = [*(str(path).encode() + path.read_bytes() for path in [*rules, *sources]), "\0".join(versions).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def complaints_of_format(sources: Iterable[Path]) -> list[str]:
    """What clang-format would write otherwise."""
    formatter = Path(sys.executable).with_name("clang-format")
    style = f"--style=file:{PACKAGE / '.clang-format'}"
    done = run([str(formatter), style, "--dry-run", "-Werror", *map(str, sources)])
    return [done.stderr] if done.returncode else []


def complaints_of_compiler(compiler: Any) -> list[str]:
    """Its warnings about every file of the extensions, and about the fuzz drivers."""
    here = build_script().Compiler(compiler.command, runs_here=True).instruction_sets()
    units = compiler.units()
    jobs = [reading(compiler, unit.source, unit.flags) for unit in units]
    jobs += [generating(compiler, unit) for unit in units if elsewhere(unit, here)]
    jobs += [reading(compiler, path) for path in sorted((PACKAGE / "fuzz").glob("*.c"))]
    options = [*compiler.command, *build_script(EINSUM).FLAGS, "-isystem", sysconfig.get_path("include"), *WARNINGS]
    jobs += [[*options, "-fsyntax-only", str(path)] for path in sorted((EINSUM / "csrc").glob("*.c"))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [done for done in pool.map(run, jobs) if done.returncode]
    return list(dict.fromkeys(done.stderr for done in failed))


def reading(compiler: Any, source: Path, flags: Iterable[str] = ()) -> list[str]:
    """The command that reads a file and writes nothing."""
    return [*compiler.command, *compiler.options(), *WARNINGS, "-fsyntax-only", *flags, str(source)]


def generating(compiler: Any, unit: Any) -> list[str]:
    """The command that compiles a file quickly and keeps nothing; what there is to warn of, others find."""
    return [*compiler.command, *compiler.options(), *unit.flags, "-O0", "-w", "-S", "-o", os.devnull, str(unit.source)]


def elsewhere(unit: Any, here: Iterable[str]) -> bool:
    """Whether it is for an instruction set that is not among these."""
    chosen = [flag.removeprefix("-DSIMD_SET=") for flag in unit.flags if flag.startswith("-DSIMD_SET=")]
    return bool(set(chosen).difference(here))


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run it and keep what it says."""
    return subprocess.run(command, capture_output=True, text=True, check=False)


def build_script(package: Path = PACKAGE) -> ModuleType:
    """``setup.py`` of a package as a module, so that nothing about the build stands twice."""
    spec = importlib.util.spec_from_file_location(f"{package.name}_setup", package / "setup.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
