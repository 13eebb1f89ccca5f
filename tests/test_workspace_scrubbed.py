"""`.ci/run` hides nothing that a clean machine would show: no variable of this one reaches its commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MADE = (".git", ".venv*", "out", "build", "dist", "__pycache__", ".*_cache", ".hypothesis", ".coverage*")

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash, which .ci/run is written in")


def copy_of_the_sources(folder: Path) -> Path:
    """What a fresh checkout holds."""
    kept = shutil.ignore_patterns(*MADE, "*.so", "*.egg-info")
    return Path(shutil.copytree(ROOT, folder / "checkout", ignore=kept))


def test_the_commands_see_an_empty_home_and_what_reaches_the_package_index(tmp_path: Path) -> None:
    shutil.copytree(ROOT / ".ci", tmp_path / "checkout" / ".ci")
    (tmp_path / "bin").mkdir()
    spy = tmp_path / "bin" / "make"
    spy.write_text('#!/bin/sh\necho "make $*"\nls -A "$HOME"\nenv\n')
    spy.chmod(0o755)
    given = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "HOME": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": "/elsewhere",
        "IRONSTRIDE_ANYTHING": "1",
        "CI": "true",
        "PIP_CERT": "a certificate, with blanks",
        "https_proxy": "somewhere",
        "SSL_CERT_FILE": "certificates",
        "OPENBLAS_CORETYPE": "Haswell",
    }

    done = subprocess.run(
        [str(tmp_path / "checkout" / ".ci" / "run")], capture_output=True, text=True, env=given, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    commands, seen = [], {}
    for line in done.stdout.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            seen[name] = value
        else:
            commands.append(line)
    assert commands == ["make check", "make test"]
    assert seen.pop("HOME") != given["HOME"]
    assert {name: seen.pop(name) for name in ("PIP_CERT", "https_proxy", "SSL_CERT_FILE", "OPENBLAS_CORETYPE")} == {
        name: given[name] for name in ("PIP_CERT", "https_proxy", "SSL_CERT_FILE", "OPENBLAS_CORETYPE")
    }
    assert seen.keys() <= {"PATH", "PWD", "SHLVL", "_", "OLDPWD"}


def test_a_failure_of_the_first_command_ends_it(tmp_path: Path) -> None:
    shutil.copytree(ROOT / ".ci", tmp_path / "checkout" / ".ci")
    (tmp_path / "make").write_text('#!/bin/sh\necho "make $*"\nexit 3\n')
    (tmp_path / "make").chmod(0o755)
    given = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}

    done = subprocess.run(
        [str(tmp_path / "checkout" / ".ci" / "run")], capture_output=True, text=True, env=given, check=False
    )

    assert (done.returncode, done.stdout) == (3, "make check\n")


@pytest.mark.slow
def test_make_run_works_in_a_fresh_checkout_without_the_variables_of_this_machine(tmp_path: Path) -> None:
    checkout = copy_of_the_sources(tmp_path)
    hostile = {"PYTHONOPTIMIZE": "2", "PYTHONPATH": str(tmp_path / "nowhere"), "TENSOR_RUNTIME_BACKENDS": "none"}
    quickly = ("NATIVE_PLAIN=1", "CFLAGS=-O0")  # the set-up of the environment around this test compiled all of it
    # It downloaded all of it, too; and of what is installed, Python compiles what the program imports.
    pip = {"PIP_NO_COMPILE": "1", "PIP_CACHE_DIR": os.environ.get("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip"))}
    base = getattr(sys, "_base_executable", sys.executable)  # an environment made from an environment would lend it

    done = subprocess.run(
        [str(checkout / ".ci" / "run"), f"PYTHON={base}", *quickly, "run"],
        capture_output=True,
        text=True,
        env={**os.environ, **hostile, **pip},
        cwd=tmp_path,
        check=False,
        timeout=1200,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "\nresult: " in done.stdout
    assert (checkout / "out" / "ising_10x10.svg").stat().st_size > 0
    assert not (checkout / ".venv" / ".dev").exists()
