"""What setup.py asks of the compiler: a compiler that only writes its commands down takes the place of a real one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
REAL = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
COMPILER = """#!/bin/sh
case "$*" in
*--version*) echo "recorder 1"; exit ;;
*-dM*) echo "#define __linux__ 1"; echo "#define $RECORDED_TARGET 1"; exit ;;
*-fsyntax-only*) exit ;;
esac
echo "$*" >> "$RECORDED"
if [ -n "$RECORDED_BY" ]; then "$RECORDED_BY" -E "$@" || exit; fi
while [ "$#" -gt 0 ]; do
    case "$1" in
    -c) source=$2 ;;
    -MF) [ -n "$RECORDED_BY" ] || echo "it.o: $source" > "$2" ;;
    -o) : > "$2" ;;
    esac
    shift
done
"""
SCRIPT = ("setup.py", "-q", "build_ext", "-b", "built", "-t", "objects")
TOPICS = {"core", "copy", "contraction"}
EDITABLE = (  # what pip does at the end of many other things
    "-c",
    "import setup; from setuptools import Distribution\n"
    "package = Distribution({'ext_modules': setup.extensions(), 'package_dir': {'': 'src'}})\n"
    "command = setup.BuildNative(package)\n"
    "command.editable_mode, command.build_lib = True, 'built'\n"
    "command.ensure_finalized(); command.run()",
)

pytestmark = [
    pytest.mark.own_process,
    pytest.mark.skipif(os.name != "posix", reason="the kernels are built on POSIX systems"),
]


class Tree:
    """A copy of the package that is built again and again, with some of its topics: nothing is told a topic's name."""

    def __init__(self, folder: Path) -> None:
        self.source, self.record, self.compiler = folder / "source", folder / "commands", folder / "recorder"
        kept = shutil.ignore_patterns("build", "__pycache__", "*.so", "*.egg-info", "tests")
        shutil.copytree(PACKAGE, self.source, ignore=kept)
        for file in (self.source / "csrc").rglob("*.c"):
            if file.relative_to(self.source / "csrc").parts[0] not in TOPICS:
                file.unlink()
        self.compiler.write_text(COMPILER, encoding="utf-8")
        self.compiler.chmod(0o755)

    def build(self, program: Sequence[str] = SCRIPT, **environment: str) -> tuple[list[str], str]:
        """The commands that compiled something, and the one that linked."""
        self.record.write_text("", encoding="utf-8")
        ours = ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS", "ARCHFLAGS", "NATIVE_PLAIN", "NATIVE_HERE", "NATIVE_SANITIZE")
        settings = {name: value for name, value in os.environ.items() if name not in ours}
        settings |= {
            "CC": str(self.compiler),
            "RECORDED": str(self.record),
            "RECORDED_TARGET": "__x86_64__",
            "RECORDED_BY": "",
        }
        done = subprocess.run(
            [sys.executable, *program],
            cwd=self.source,
            env=settings | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        commands = self.record.read_text(encoding="utf-8").splitlines()
        (link,) = [line for line in commands if "-shared" in line]
        return [line for line in commands if " -c " in line], link


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_an_object_is_compiled_again_when_its_command_line_has_changed(tree: Tree) -> None:
    everything, _ = tree.build()
    assert len(everything) > 40
    assert tree.build()[0] == []
    shutil.move(tree.source / "objects", tree.source / "kept")
    shutil.copytree(tree.source / "kept", tree.source / "objects")
    assert tree.build()[0] == []  # a copy is up to date as well

    plain, _ = tree.build(NATIVE_PLAIN="1")
    front_end = [line for line in everything if "-DSIMD_SET" not in line]
    assert len(plain) == len(front_end)  # loops for any processor are the same in every build
    assert all("-DNATIVE_PLAIN" in line for line in plain)
    again, _ = tree.build()
    assert len(again) >= len(front_end)
    assert not any("-DNATIVE_PLAIN" in line for line in again)
    assert tree.build()[0] == []


@pytest.mark.skipif(REAL is None, reason="only a real compiler knows which headers a file includes")
def test_what_includes_a_changed_header_is_compiled_again_and_nothing_else(tree: Tree) -> None:
    tree.build(RECORDED_BY=str(REAL))
    assert tree.build()[0] == []

    for header, users in (("copy/convert.h", "convert.c"), ("contraction/simd/gemm_body.h", "gemm.c")):
        (tree.source / "csrc" / header).touch()
        again, _ = tree.build(RECORDED_BY=str(REAL))
        assert len(again) > 2
        assert all(Path(line.split(" -c ")[1].split()[0]).name == users for line in again)
        assert tree.build()[0] == []


def test_a_changed_source_is_compiled_again_and_so_is_one_whose_header_is_gone(tree: Tree) -> None:
    tree.build()
    changed = tree.source / "csrc" / "core" / "threads.c"
    changed.touch()
    (line,) = tree.build()[0]
    assert str(changed) in line

    listed = next((tree.source / "objects").rglob("threads.*.d"))
    listed.write_text(f"it.o: {changed} \\\n /no/such\\ header.h\n", encoding="utf-8")
    assert len(tree.build()[0]) == 1
    assert tree.build()[0] == []


def test_the_flags_of_the_environment_are_honoured_and_come_last(tree: Tree) -> None:
    commands, link = tree.build(CFLAGS="-O2 -DFIRST", CPPFLAGS="-DSECOND", LDFLAGS="-Wl,-z,now")

    for command in commands:
        assert command.index("-O3") < command.index("-O2 -DFIRST")
        assert "-DSECOND" in command
    assert "-Wl,-z,now" in link and "-Wl,-s" not in link
    assert "-Wl,-s" in tree.build()[1]


def test_the_compiler_says_what_the_target_is(tree: Tree) -> None:
    commands, _ = tree.build(RECORDED_TARGET="__aarch64__")

    assert all("-DNATIVE_PLAIN" in line or "-DSIMD_SET=plain" in line for line in commands)
    assert not any("-mavx" in line for line in commands)
    assert any("-mavx512f" in line for line in tree.build()[0])


@pytest.mark.parametrize(
    ("here", "versions", "said"),
    [
        ((), {"plain"}, "-DNATIVE_PLAIN"),
        (("AVX2", "FMA"), {"plain", "avx2"}, "-DNATIVE_WITHOUT_AVX512"),
        (("AVX2", "FMA", "AVX512F", "AVX512DQ", "AVX512BW", "AVX512VL"), {"plain", "avx2", "avx512"}, None),
    ],
)
def test_what_is_for_this_machine_has_the_versions_that_it_can_run_and_all_else_has_every_one(
    tree: Tree, here: tuple[str, ...], versions: set[str], said: str | None
) -> None:
    has = " 1\n#define ".join(["__x86_64__", *(f"__{name}__" for name in here)])
    watched, _ = tree.build(NATIVE_SANITIZE="1", RECORDED_TARGET=has)
    asked, _ = tree.build(NATIVE_HERE="1", RECORDED_TARGET=has)
    installed, _ = tree.build(EDITABLE, RECORDED_TARGET=has)

    assert all("-fsanitize=address,undefined" in line for line in watched)
    assert len(watched) == len(asked) == len(installed)
    for commands in (watched, asked, installed):
        assert versions_in(commands) == versions
        for line in commands:
            told = [word for word in line.split() if word.startswith("-DNATIVE")]
            assert told == ([] if said is None or "-DSIMD_SET" in line else [said])
    for commands in (asked, installed):
        assert versions_in([line for line in commands if "-Og" in line]) == ({"plain"} if "AVX2" in here else set())
    alone, _ = tree.build(EDITABLE, NATIVE_PLAIN="1", RECORDED_TARGET=has)
    assert versions_in(alone) == ({"plain"} if "AVX2" in here else set())  # else they are up to date
    assert not any("-Og" in line for line in alone)  # they are run, as there are no others

    every, _ = tree.build(("setup.py", "-q", "build_ext", "-b", "built", "-t", "others"), RECORDED_TARGET=has)
    assert versions_in(every) == {"plain", "avx2", "avx512"}
    assert not any("-DNATIVE" in line or "-Og" in line for line in every)


def versions_in(commands: list[str]) -> set[str]:
    """The instruction sets for which they compile."""
    return {found[1] for line in commands if (found := re.search(r"-DSIMD_SET=(\w+)", line))}


def test_without_a_compiler_the_build_says_so_and_leaves_the_extension_out(tree: Tree) -> None:
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "-b", "built"],
        cwd=tree.source,
        env={**os.environ, "CC": "no-such-compiler"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "no C compiler 'no-such-compiler': built without native kernels" in done.stderr
    assert not list(tree.source.glob("built/**/*.so"))
