"""Plugins of examples/plugins, built as wheels and installed into a folder of their own, as a user installs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLUGINS = ROOT / "examples" / "plugins"


def run(*command: object, cwd: Path, **environment: str) -> str:
    """Standard output of a command that must succeed; nothing may go to stderr."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
        check=False,
        timeout=1800,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def install(folder: Path, *names: str) -> Path:
    """The folder, inside another one, in which plugins are installed; nothing is downloaded."""
    for name in names:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
        shutil.copytree(PLUGINS / name, folder / name, ignore=ignored)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    build = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder)
    run(*pip, *build, *(folder / name for name in names), cwd=folder)
    target = folder / "installed"
    wheels = sorted(folder.glob("*.whl"))
    assert len(wheels) == len(names)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", "--target", target, *wheels, cwd=folder)
    return target


def python(installed: Path, *arguments: object) -> list[str]:
    """Lines that a fresh interpreter prints, in which the plugins are installed."""
    paths = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    return run(sys.executable, "-W", "error", *arguments, cwd=installed, PYTHONPATH=paths).splitlines()
