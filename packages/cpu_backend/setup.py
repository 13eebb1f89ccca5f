"""Builds the native kernels with the machine's C compiler; everything else stands in pyproject.toml.

Files in ``native/`` are compiled once, those in ``native/simd/`` once per instruction set. An object is compiled
again when its source, any header or its flags have changed. Without a C compiler nothing is built, and the package
works on NumPy alone; where one is found, failing to build is an error.

``NATIVE_SANITIZE=1`` builds with the address and undefined-behaviour sanitizers, ``NATIVE_PLAIN=1`` only the version
for any processor.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
NATIVE = ROOT / "native"
FLAGS = [
    "-std=c11", "-O3", "-g0", "-fPIC", "-fvisibility=hidden", "-pthread",
    "-Wall", "-Wextra", "-Wno-psabi", "-D_GNU_SOURCE",
    "-ffp-contract=off",  # a*b + c rounds twice, as NumPy does, unless a kernel asks for a fused one
    "-fno-math-errno", "-fno-trapping-math",  # nobody reads errno or the flags; values are untouched
]  # fmt: skip
SANITIZE = [
    "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer",
    "-O1", "-g", "-Werror",
]  # fmt: skip
INSTRUCTION_SETS = {
    "plain": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx2", "-mfma", "-mprefer-vector-width=512"],
}
FILE_FLAGS = {  # of files in native/simd/
    "linalg_real.c": ["-ffp-contract=fast"],  # no NumPy kernel rounds as these do; fused products err less
    "linalg_complex.c": ["-ffp-contract=fast"],
}
X86 = platform.machine().lower() in {"x86_64", "amd64"}


class BuildNative(build_ext):
    """Compiles what is out of date, several files at once, and links."""

    def run(self) -> None:
        """Leave the extension out where there is no compiler that takes these flags."""
        compiler = compiler_command()
        if os.name != "posix" or shutil.which(compiler[0]) is None:
            self.announce("no C compiler found: tensor_cpu will work on NumPy alone", level=3)
            self.extensions = []
            return
        super().run()

    def build_extension(self, ext: Extension) -> None:
        """Compile the objects and link them."""
        import numpy

        target = Path(self.get_ext_fullpath(ext.name))
        folder = Path(self.build_temp) / ("sanitized" if sanitizing() else "native")
        includes = [NATIVE, sysconfig.get_path("include"), numpy.get_include()]
        options = [*FLAGS, *(SANITIZE if sanitizing() else []), *(f"-I{path}" for path in includes)]
        if instruction_sets() == ["plain"]:
            options.append("-DNATIVE_PLAIN")
        compiler = compiler_command()
        jobs = [(NATIVE / name, folder / name, []) for name in sorted(path.name for path in NATIVE.glob("*.c"))]
        for name in instruction_sets():
            flags = INSTRUCTION_SETS[name]
            jobs += [
                (source, folder / name / source.name, [*flags, *FILE_FLAGS.get(source.name, []), f"-DSIMD_SET={name}"])
                for source in sorted((NATIVE / "simd").glob("*.c"))
            ]
        newest_header = max(path.stat().st_mtime for path in [*NATIVE.rglob("*.h"), Path(__file__)])

        def build(job: tuple[Path, Path, list[str]]) -> Path:
            source, place, more = job
            result = place.with_suffix(".o")
            if result.exists() and result.stat().st_mtime > max(newest_header, source.stat().st_mtime):
                return result
            result.parent.mkdir(parents=True, exist_ok=True)
            self.spawn([*compiler, *options, *more, "-c", str(source), "-o", str(result)])
            return result

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = [str(path) for path in pool.map(build, jobs)]
        target.parent.mkdir(parents=True, exist_ok=True)
        shared = ["-bundle", "-undefined", "dynamic_lookup"] if platform.system() == "Darwin" else ["-shared"]
        extra = SANITIZE[:1] if sanitizing() else ["-Wl,-s"] if platform.system() == "Linux" else []
        self.spawn([*compiler, *shared, "-pthread", *extra, *objects, "-o", str(target), "-lm", "-ldl"])


def compiler_command() -> list[str]:
    """The compiler that the environment names, else the one that built this Python."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def sanitizing() -> bool:
    """Whether this build is one to find errors with."""
    return os.environ.get("NATIVE_SANITIZE") == "1"


def instruction_sets() -> list[str]:
    """The versions that this machine's compiler can make."""
    return list(INSTRUCTION_SETS) if X86 and os.environ.get("NATIVE_PLAIN") != "1" else ["plain"]


setup(ext_modules=[Extension("tensor_cpu._native", sources=[])], cmdclass={"build_ext": BuildNative})
