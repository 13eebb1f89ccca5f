"""Builds the native kernels with the machine's C compiler; everything else stands in pyproject.toml.

Files in ``csrc/*/`` are compiled once, those in ``csrc/*/simd/`` once per instruction set. An object is compiled again
when its command line has changed, which is part of its name, or a file that it was made of: the compiler lists those
beside it (``-MD``), NumPy's and Python's headers included. Without a C compiler nothing is built, and the package works
on NumPy alone; where one is found, failing to build is an error.

``CC``, ``CPPFLAGS``, ``CFLAGS``, ``LDFLAGS`` and ``ARCHFLAGS`` are honoured, and come last; what the target processor
is, the compiler says, so a cross compiler is one more ``CC``. The extension is stripped unless ``LDFLAGS`` is set.
``NATIVE_PLAIN=1`` builds only the version for any processor, ``NATIVE_HERE=1`` only the versions that this machine can
run. So does an editable installation, which is for this machine, and ``NATIVE_SANITIZE=1``, which adds the address and
undefined-behaviour sanitizers: what is watched is run here. Every other build has all versions. Where a build is for a
machine with AVX2, the version for any processor is there for tests alone, and compiled in a third of the time.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
SOURCES = ROOT / "csrc"
FLAGS = [
    "-std=c11", "-O3", "-g0", "-fPIC", "-fvisibility=hidden", "-pthread",
    "-Wall", "-Wextra", "-D_GNU_SOURCE",
    "-ffp-contract=off",  # a*b + c rounds twice, as NumPy does, unless a kernel asks for a fused one
    "-fno-math-errno", "-fno-trapping-math",  # nobody reads errno or the flags; values are untouched
]  # fmt: skip
LARGEST_FRAME = 1 << 14  # bytes of the stack that a function takes at most (csrc/core/caching_allocator.h)
WHERE_ACCEPTED = [
    "-Wno-psabi",  # vectors are passed inside one object only
    "-fstack-clash-protection",  # a frame that does not fit the stack meets the guard page, not what lies beyond
    f"-Wframe-larger-than={LARGEST_FRAME}",
]
SANITIZE = [
    "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer",
    "-Og", "-g1",  # the kernels take less time than their compiler; reports tell lines
    "-Werror", "-Wno-frame-larger-than", "-Wno-maybe-uninitialized",  # frames are larger, and little is known of calls
]  # fmt: skip
INSTRUCTION_SETS = {
    "plain": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx2", "-mfma", "-mprefer-vector-width=512"],
}
TESTED_ALONE = ["-Og", "-w"]  # quickly compiled; what an optimizer would warn of is asked of other builds
BEST = {"plain": ["-DNATIVE_PLAIN"], "avx2": ["-DNATIVE_WITHOUT_AVX512"], "avx512": []}
"""What files are told that choose a version, by the best one that there is (csrc/core/cpu.h)."""
FILE_FLAGS = {  # of files in csrc/*/simd/
    "linalg_real.c": ["-ffp-contract=fast"],  # no NumPy kernel rounds as these do; fused products err less
    "linalg_complex.c": ["-ffp-contract=fast"],
    "reduction_real.c": ["-ffp-contract=fast"],
    "reduction_complex.c": ["-ffp-contract=fast"],
    "diagonals.c": ["-ffp-contract=fast"],
}

FOLDER_FLAGS = {  # of files in csrc/*/ themselves
    # Offsets that were just counted up one by one would be loaded as one vector, which waits for every store before it,
    # those on their way to memory past the cache included.
    "contraction": ["-fno-tree-vectorize"],
}
OF_CALLS = ["-fno-plt"]  # of the same files, of which most call Python: one jump less for each call


class Unit(NamedTuple):
    """One file, as it is compiled for one instruction set."""

    source: Path
    place: Path  # of its object, without the suffix
    flags: list[str]


class BuildNative(build_ext):
    """Compiles what is out of date, several files at once, and links."""

    def build_extension(self, ext: Extension) -> None:
        """Compile the objects and link them."""
        target = Path(self.get_ext_fullpath(ext.name))
        # An editable installation gets a temporary folder, in which nothing would ever be up to date.
        kept = ROOT / "build" / f"editable.{self.plat_name}-{sys.implementation.cache_tag}"
        objects_folder = (kept if self.editable_mode else Path(self.build_temp)) / "native"
        compiler = Compiler(runs_here=self.editable_mode or sanitizing() or os.environ.get("NATIVE_HERE") == "1")
        options = [*compiler.options(), *(SANITIZE if sanitizing() else [])]
        own = [*from_environment("CPPFLAGS"), *from_environment("CFLAGS"), *compiler.architectures]
        changed = functools.cache(change_time)

        def build(unit: Unit) -> Path:
            command = [*compiler.command, *options, *unit.flags, *own, "-c", str(unit.source)]
            digest = hashlib.sha256("\0".join([compiler.version, *command]).encode()).hexdigest()[:12]
            place = objects_folder / unit.place
            result = place.with_name(f"{place.name}.{digest}.o")
            made_of = result.with_suffix(".d")
            if result.exists() and change_time(result) > max(map(changed, [unit.source, *listed_in(made_of)])):
                return result
            result.parent.mkdir(parents=True, exist_ok=True)
            for stale in (*result.parent.glob(f"{place.name}.*.o"), *result.parent.glob(f"{place.name}.*.d")):
                stale.unlink()
            self.spawn([*command, "-MD", "-MF", str(made_of), "-o", str(result)])
            return result

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = [str(path) for path in pool.map(build, compiler.units())]
        target.parent.mkdir(parents=True, exist_ok=True)
        shared = ["-bundle", "-undefined", "dynamic_lookup"] if "__APPLE__" in compiler.macros else ["-shared"]
        linking = from_environment("LDFLAGS")
        if sanitizing():
            linking += SANITIZE[:1]
        elif "LDFLAGS" not in os.environ and "__linux__" in compiler.macros:
            linking.append("-Wl,-s")
        libraries = ["-lm", "-ldl", *compiler.architectures]
        self.spawn([*compiler.command, *shared, "-pthread", *objects, "-o", str(target), *linking, *libraries])


def change_time(path: Path) -> float:
    """When a file was last changed; later than anything where there is none, as then its object is of no use."""
    return path.stat().st_mtime if path.exists() else math.inf


def listed_in(made_of: Path) -> list[Path]:
    """The files after the target of a rule for make, as the compiler writes it; itself where there is none."""
    if not made_of.exists():
        return [made_of]
    names = made_of.read_text(encoding="utf-8").replace("\\\n", " ").partition(": ")[2].strip()
    return [Path(re.sub(r"\\([ #])", r"\1", name).replace("$$", "$")) for name in re.split(r"(?<!\\)\s+", names)]


class Compiler:
    """The compiler that the environment names, else the one that built this Python; for this machine alone, or any."""

    def __init__(self, command: list[str] | None = None, *, runs_here: bool = False) -> None:
        self.command = command or compiler_command()
        self._runs_here = runs_here
        self.architectures = from_environment("ARCHFLAGS")
        self.version = self._said("--version").partition("\n")[0]
        self.macros = self._defined(*self.architectures)

    def options(self) -> list[str]:
        """What every file is compiled with; warnings are about our own files, not about NumPy's and Python's."""
        import numpy

        others = [sysconfig.get_path("include"), numpy.get_include()]
        return [
            *FLAGS,
            *self.accepted,
            f"-I{SOURCES}",
            *chain(*(("-isystem", path) for path in others)),
        ]

    @functools.cached_property
    def accepted(self) -> list[str]:
        """Of the options that not every compiler knows, those that it does; each question starts it."""
        return [flag for flag in WHERE_ACCEPTED if self.accepts(flag)]

    def units(self) -> list[Unit]:
        """All that there is to compile."""
        # These choose the version; the objects of versions are those of any build.
        direct = [*filter(self.accepts, OF_CALLS), *BEST[self.instruction_sets()[-1]]]
        front = [
            (source, Path(), [*direct, *FOLDER_FLAGS.get(source.parent.name, [])])
            for source in sorted(SOURCES.glob("*/*.c"))
        ]
        versions = {name: [*INSTRUCTION_SETS[name], f"-DSIMD_SET={name}"] for name in self.instruction_sets()}
        if self._plain_is_tested_alone():
            versions["plain"] += TESTED_ALONE
        loops = [
            (source, Path(name), [*FILE_FLAGS.get(source.name, []), *flags])
            for name, flags in versions.items()
            for source in sorted(SOURCES.glob("*/simd/*.c"))
        ]
        return [
            Unit(source, folder / source.relative_to(SOURCES).with_suffix(""), flags)
            for source, folder, flags in [*front, *loops]
        ]

    def accepts(self, flag: str) -> bool:
        """Whether it knows the flag."""
        return self._run("-Werror", flag, "-fsyntax-only", "-x", "c", os.devnull).returncode == 0

    def instruction_sets(self) -> list[str]:
        """The versions of kernels that it can make for the target; several targets at once have the plain one."""
        plain = os.environ.get("NATIVE_PLAIN") == "1" or "__x86_64__" not in self.macros
        return ["plain"] if plain else [name for name in INSTRUCTION_SETS if not self._runs_here or self._has(name)]

    def _plain_is_tested_alone(self) -> bool:
        """Whether the build is for this machine, which is known to have a better version of the kernels than that.

        A build that is to have no other one, ``NATIVE_PLAIN=1``, is for tests only where ``NATIVE_HERE=1`` says so.
        """
        only = os.environ.get("NATIVE_PLAIN") == "1" and os.environ.get("NATIVE_HERE") != "1"
        better = "__x86_64__" in self.macros and bool(self._here) and self._has("avx2")
        return self._runs_here and not sanitizing() and not only and better

    def _has(self, instruction_set: str) -> bool:
        """Whether this machine has the instructions; taken for granted where the compiler cannot tell."""
        flags = [flag for flag in INSTRUCTION_SETS[instruction_set] if not flag.startswith("-mprefer")]
        return not self._here or self._here.issuperset(f"__{flag.removeprefix('-m').upper()}__" for flag in flags)

    @functools.cached_property
    def _here(self) -> set[str]:
        """The macros that are defined for this machine; none where the compiler cannot tell."""
        return self._defined("-march=native")

    def _defined(self, *arguments: str) -> set[str]:
        """The macros that are defined from the beginning."""
        said = self._said("-dM", "-E", "-x", "c", os.devnull, *arguments)
        return {line.split()[1] for line in said.splitlines() if line.startswith("#define ")}

    def _said(self, *arguments: str) -> str:
        done = self._run(*arguments)
        return done.stdout if done.returncode == 0 else ""

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.command, *arguments], capture_output=True, text=True, check=False)


def compiler_command() -> list[str]:
    """The compiler and what always follows it."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def from_environment(variable: str) -> list[str]:
    """The options that a variable holds."""
    return shlex.split(os.environ.get(variable, ""))


def sanitizing() -> bool:
    """Whether this build is one to find errors with."""
    return os.environ.get("NATIVE_SANITIZE") == "1"


def extensions() -> list[Extension]:
    """The extension, or nothing, with a message, where it cannot be built; the wheel then is for any machine."""
    if os.name == "posix" and shutil.which(compiler_command()[0]):
        return [Extension("tensor_cpu._native", sources=[])]
    why = f"no C compiler {compiler_command()[0]!r}" if os.name == "posix" else f"{platform.system()} is not supported"
    print(f"tensor_cpu: {why}: built without native kernels, it will work on NumPy alone", file=sys.stderr)
    return []


if __name__ == "__main__":
    setup(ext_modules=extensions(), cmdclass={"build_ext": BuildNative})
