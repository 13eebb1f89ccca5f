"""From the sources of programs to one file that runs them on the host."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from tensor_core.errors import BackendUnavailableError, TensorError
from tensor_gpu.device.program import Program
from tensor_gpu.programs.source import HEADERS

SHIM: Final = Path(__file__).with_name("shim")
OPTIONS: Final = (
    "-std=c++17",
    "-O0",
    "-g1",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
    "-w",
)
"""As sources for devices are compiled: a product and a sum are two roundings. Optimizing takes longer than it saves."""


class BuildError(TensorError, ValueError):
    """A source that the host's compiler refuses; the message is its own."""


@cache
def compiler() -> tuple[str, ...]:
    """The command of a C++ compiler: ``CXX`` of the environment, else the first one found.

    Raises:
        BackendUnavailableError: there is none.
    """
    named = os.environ.get("CXX")
    if named:
        return tuple(shlex.split(named))
    for name in ("g++", "clang++", "c++"):
        if shutil.which(name):
            return (name,)
    raise BackendUnavailableError("no C++ compiler; install g++ or clang++, or name one in CXX")


def build(programs: Sequence[Program], target: Path, /) -> None:
    """Write the file that runs the programs, by their places in the sequence.

    Raises:
        BackendUnavailableError: no C++ compiler.
        BuildError: a source is wrong.
    """
    source = target.with_suffix(".cpp")
    source.write_text(source_of(programs), encoding="utf-8")
    command = [*compiler(), *OPTIONS, f"-I{SHIM}", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{shlex.join(command)}: {done.stderr[:4000]}")


def source_of(programs: Sequence[Program], /) -> str:
    """One C++ source of all programs; the entries are numbered, and the headers stand once.

    >>> from tensor_core import F64
    >>> from tensor_gpu.programs.creation import full_program
    >>> "#define full program_0" in source_of([full_program(F64)])
    True
    """
    texts = headers()
    bodies = []
    for number, program in enumerate(programs):
        body = program.source
        for text in texts.values():
            body = body.replace(text, "")
        name = f"program_{number}"
        own = f"namespace room_{number} {{\n{body}\n}}\n"  # for functions beside the entry
        bodies.append(f'#line 0 "{name}"\n#define {program.entry} {name}\n{own}#undef {program.entry}\n')
    included = "".join(f'#line 1 "{name}"\n{text}\n' for name, text in texts.items())
    rows = "".join(f"    HOSTED_PROGRAM(room_{number}::program_{number}),\n" for number in range(len(programs)))
    table = f"static const hosted::Program programs[] = {{\n{rows}}};\n"
    return (
        '#include "runner.hpp"\n'
        + included
        + "".join(bodies)
        + f'#line 1 "table"\n{table}int main() {{ return hosted::run_all(programs, {len(programs)}); }}\n'
    )


def headers() -> Mapping[str, str]:
    """The text of every header that a program may begin with, by its name; those that all begin with come first.

    >>> next(iter(headers()))
    'numbers.cuh'
    """
    folder = files("tensor_gpu.programs") / "cuda"
    names = sorted(one.name for one in folder.iterdir() if one.name.endswith(".cuh"))
    ordered = (*HEADERS, *(name for name in names if name not in HEADERS))
    return {name: (folder / name).read_text(encoding="utf-8") for name in ordered}
