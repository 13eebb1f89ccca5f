"""Builds of the C sources that nobody installs: extensions for tests, and the fuzz drivers of the CPU backend."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from check_c import PACKAGE, build_script

FUZZ: Final = PACKAGE / "fuzz"
# What the drivers call of the sources that are compiled once; those know no Python.
WITHOUT_PYTHON: Final = (
    *("core/cpu.c", "core/threads.c", "core/caching_allocator.c", "core/spans.c", "core/strided_layout.c"),
    *(
        "copy/permute.c",
        "copy/permute_buffer.c",
        "copy/permute_plan.c",
        "elementwise/blocks.c",
        "elementwise/operations.c",
        "linalg/graded.c",
    ),
)


def compiler_name() -> str | None:
    """The C compiler, if there is one."""
    return shutil.which(os.environ.get("CC", "cc").split()[-1]) or shutil.which("gcc")


def extension(folder: Path, package: Path = PACKAGE, **options: str) -> str:
    """Path of an extension built with these options; its objects are in ``folder``. Failing to build is an error."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "-b", str(folder), "-t", str(folder / "objects")]
    subprocess.run(command, env={**os.environ, **options}, cwd=package, check=True)
    (built,) = folder.glob("tensor_*/_*")
    return str(built)


def sanitized_drivers(folder: Path) -> str:
    """Path of the fuzz drivers, watched by sanitizers, from the objects of an extension built so into ``folder``."""
    build = build_script(PACKAGE)
    compiler = build.Compiler(runs_here=True)
    objects = folder / "objects" / "native"
    units = [unit for unit in compiler.units() if knows_no_python(unit.source)]
    linked = [next((objects / unit.place.parent).glob(f"{unit.place.name}.*.o")) for unit in units]
    choosing = build.BEST[compiler.instruction_sets()[-1]]
    return drivers(folder / "fuzz", compiler, [], linked, [*choosing, *build.SANITIZE])


def plain_drivers(folder: Path, command: list[str], linking: Iterable[str] = ()) -> str:
    """Path of the fuzz drivers and the plain kernels, made by any compiler, of another processor too."""
    compiler = build_script(PACKAGE).Compiler(command)
    units = [unit for unit in compiler.units() if knows_no_python(unit.source)]
    chosen = [unit for unit in units if unit.place.parts[0] not in ("avx2", "avx512")]
    jobs = [([*unit.flags, "-DNATIVE_PLAIN"], unit.source) for unit in chosen]
    return drivers(folder, compiler, jobs, [], ["-DNATIVE_PLAIN", *linking])


def knows_no_python(source: Path) -> bool:
    """Whether the fuzz drivers are linked with it."""
    return source.parent.name == "simd" or source.relative_to(PACKAGE / "csrc").as_posix() in WITHOUT_PYTHON


def drivers(
    folder: Path, compiler: Any, jobs: list[tuple[list[str], Path]], linked: Iterable[Path], flags: Iterable[str]
) -> str:
    """Compile the jobs and the drivers, and link them with the objects."""
    folder.mkdir(parents=True, exist_ok=True)
    objects, commands = [str(path) for path in linked], []
    for number, (own, source) in enumerate([*jobs, *(([], path) for path in sorted(FUZZ.glob("*.c")))]):
        objects.append(str(folder / f"{number}.{source.stem}.o"))
        command = [*compiler.command, *compiler.options(), *own, *flags, "-Wno-frame-larger-than"]
        commands.append([*command, "-c", str(source), "-o", objects[-1]])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda command: subprocess.run(command, check=True), commands))
    program = str(folder / "fuzz")
    linking = [*compiler.command, *flags, "-pthread", *objects, "-o", program, "-lm", "-ldl"]
    subprocess.run(linking, check=True)
    return program
