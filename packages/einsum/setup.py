"""Builds the extension with the machine's C compiler; everything else stands in pyproject.toml.

Without a C compiler nothing is built, and the package searches and calls in Python alone; where one is found, failing
to build is an error. ``CC``, ``CPPFLAGS``, ``CFLAGS``, which come last, ``LDFLAGS`` and ``ARCHFLAGS`` are honoured.
``NATIVE_SANITIZE=1`` builds with the address and undefined-behaviour sanitizers.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

SOURCES = Path("csrc")  # beside this file, where builds run
FLAGS = [
    "-std=c11", "-O3", "-g0", "-fPIC", "-fvisibility=hidden", "-pthread",
    "-Wall", "-Wextra", "-D_GNU_SOURCE",
    "-ffp-contract=off",  # the same result on every processor
    "-fno-math-errno", "-fno-trapping-math",  # nobody reads errno or the flags
]  # fmt: skip
SANITIZE = [
    "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer",
    "-O1", "-g", "-Werror",
]  # fmt: skip


def compiler_command() -> list[str]:
    """The compiler that the environment names, else the one that built this Python, and what always follows it."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def extensions() -> list[Extension]:
    """The extension, or nothing, with a message, where it cannot be built; the wheel then is for any machine."""
    if os.name == "posix" and shutil.which(compiler_command()[0]):
        sanitize = SANITIZE if os.environ.get("NATIVE_SANITIZE") == "1" else []
        return [
            Extension(
                "tensor_einsum._native",
                sources=sorted(map(str, SOURCES.glob("*.c"))),
                depends=["setup.py", *sorted(map(str, SOURCES.glob("*.h")))],
                extra_compile_args=[*FLAGS, *sanitize, *shlex.split(os.environ.get("CFLAGS", ""))],
                extra_link_args=["-pthread", *sanitize[:1]],
                libraries=["m"],
            )
        ]
    why = f"no C compiler {compiler_command()[0]!r}" if os.name == "posix" else f"{platform.system()} is not supported"
    print(f"tensor_einsum: {why}: built without the extension, it will search and call in Python", file=sys.stderr)
    return []


if __name__ == "__main__":
    setup(ext_modules=extensions())
