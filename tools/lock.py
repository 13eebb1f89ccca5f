"""Write ``requirements/*.txt``: the pinned closure of each ``requirements/*.in``, with the hashes of its wheels.

All inputs are resolved together, so that one version of a package serves every file; then each output holds the closure
of its own input, which makes every file installable alone with ``--require-hashes``.

The resolution runs for the oldest Python we support. The hashes cover every combination in ``TARGETS``, and so does
the closure: the requirements of each package are read again with the markers of each target. Only pip talks to an
index, with the machine's own configuration, and nothing of it is written: no index, no location, no header.

The peers of the benchmarks, ``requirements/bench.txt``, are pinned by hand in an environment of their own.

Usage: ``python tools/lock.py`` from the root of the repository, with any Python that has pip and packaging, such as
``make lock``. Takes a minute or two.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REQUIREMENTS: Final = Path(__file__).resolve().parent.parent / "requirements"
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")


@dataclass(frozen=True)
class System:
    """An operating system at one age: the wheel tags it accepts, and what markers say there."""

    platforms: tuple[str, ...]
    markers: Mapping[str, str]


@dataclass(frozen=True)
class Pin:
    """One package at one version: its wheels' hashes, and what it requires on each target."""

    name: str
    version: str
    hashes: frozenset[str]
    requires: frozenset[str]


def linux(machine: str, glibc: int) -> System:
    """Linux with glibc 2.``glibc``."""
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(glibc, 4, -1)]
    return System(
        (*tags, f"manylinux2014_{machine}", f"linux_{machine}"),
        {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": machine, "os_name": "posix"},
    )


def macos(major: int) -> System:
    """macOS on arm64."""
    releases = range(major, 10, -1)
    return System(
        tuple(f"macosx_{release}_0_{kind}" for release in releases for kind in ("arm64", "universal2")),
        {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64", "os_name": "posix"},
    )


# An older and a newer system of each kind, because pip takes the newest wheel that a system accepts.
SYSTEMS: Final = (
    *(linux(machine, glibc) for machine in ("x86_64", "aarch64") for glibc in (28, 39)),
    macos(12),
    macos(15),
)
TARGETS: Final = tuple((python, system) for python in PYTHONS for system in SYSTEMS)


def read_inputs() -> dict[str, list[str]]:
    """The direct requirements by file stem, comments removed."""
    lines = {path.stem: path.read_text().splitlines() for path in sorted(REQUIREMENTS.glob("*.in"))}
    return {stem: [line for line in rows if line.strip() and not line.startswith("#")] for stem, rows in lines.items()}


def pip_report(requirements: Iterable[str], python: str, system: System, *options: str) -> list[dict[str, Any]]:
    """What pip would install for one target, as the ``install`` list of its report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--only-binary=:all:", "--target", folder, "--python-version", python, "--report", str(report)]
        command += [option for platform in system.platforms for option in ("--platform", platform)]
        subprocess.run([*command, *options, *requirements], check=True, stderr=subprocess.PIPE, text=True)
        installed: list[dict[str, Any]] = json.loads(report.read_text())["install"]
        return installed


def wheel_hash(download: Mapping[str, Any]) -> str:
    """The sha256 of a wheel: as the index states it, or of the file itself when the index is a folder."""
    stated = download.get("archive_info", {}).get("hashes", {}).get("sha256")
    if stated:
        return str(stated)
    location = urlsplit(download["url"])
    if location.scheme != "file":
        raise SystemExit("lock: the index states no sha256 for a wheel, and the wheel is not a local file")
    return hashlib.sha256(Path(unquote(location.path)).read_bytes()).hexdigest()


def needed(requires_dist: Iterable[str], extras: Iterable[str], python: str, system: System) -> set[str]:
    """The requirements that hold on one target, by canonical name."""
    markers = {**system.markers, "python_version": python, "python_full_version": f"{python}.0"}
    names: set[str] = set()
    for text in requires_dist:
        requirement = Requirement(text)
        contexts = [{**markers, "extra": extra} for extra in ("", *extras)]
        if requirement.marker is None or any(requirement.marker.evaluate(context) for context in contexts):
            names.add(canonicalize_name(requirement.name))
    return names


def lock(direct: Iterable[str]) -> dict[str, Pin]:
    """Pins for the closure of ``direct``, with the hashes and requirements of every target."""
    oldest = pip_report(direct, PYTHONS[0], SYSTEMS[1])
    extras = {canonicalize_name(entry["metadata"]["name"]): entry.get("requested_extras", []) for entry in oldest}
    # Reports name the extras of what was asked for directly; those asked for by packages stand in their metadata.
    for entry in oldest:
        for text in entry["metadata"].get("requires_dist", []):
            requirement = Requirement(text)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if requirement.extras and applies:
                extras[canonicalize_name(requirement.name)] = sorted(requirement.extras)
    versions = {canonicalize_name(entry["metadata"]["name"]): entry["metadata"]["version"] for entry in oldest}
    hashes: dict[str, set[str]] = {name: set() for name in versions}
    requires: dict[str, set[str]] = {name: set() for name in versions}
    for python, system in TARGETS:
        pins = [f"{name}=={version}" for name, version in versions.items()]
        for entry in pip_report(pins, python, system, "--no-deps"):
            name = canonicalize_name(entry["metadata"]["name"])
            hashes[name].add(wheel_hash(entry["download_info"]))
            requires[name] |= needed(entry["metadata"].get("requires_dist", []), extras[name], python, system)
    missing = set().union(*requires.values()) - versions.keys()
    if missing:
        raise SystemExit(f"lock: needed on some target only, name them in an input: {', '.join(sorted(missing))}")
    return {
        name: Pin(name, version, frozenset(hashes[name]), frozenset(requires[name]))
        for name, version in versions.items()
    }


def closure(direct: Iterable[str], pins: Mapping[str, Pin]) -> list[Pin]:
    """The pins of ``direct`` and of everything they require, by name."""
    waiting: list[str] = [canonicalize_name(Requirement(text).name) for text in direct]
    found: dict[str, Pin] = {}
    while waiting:
        pin = pins[waiting.pop()]
        if pin.name not in found:
            found[pin.name] = pin
            waiting.extend(pin.requires)
    return [found[name] for name in sorted(found)]


def render(pins: Iterable[Pin]) -> str:
    r"""The text of a requirements file.

    >>> render([Pin("demo", "1.0", frozenset({"ab", "aa"}), frozenset())])
    'demo==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:ab\n'
    """
    entries = [
        [f"{pin.name}=={pin.version}", *(f"--hash=sha256:{digest}" for digest in sorted(pin.hashes))] for pin in pins
    ]
    return "".join(" \\\n    ".join(entry) + "\n" for entry in entries)


def main() -> None:
    """Lock all inputs and write one file for each."""
    inputs = read_inputs()
    try:
        pins = lock(sorted(set().union(*inputs.values())))
    except subprocess.CalledProcessError as error:
        # pip's message may name the index; what matters is the line that says which requirement failed.
        lines = [line for line in error.stderr.splitlines() if line.startswith("ERROR")]
        raise SystemExit("\n".join(re.sub(r"\w+://\S+", "(index)", line) for line in lines)) from None
    for stem, direct in inputs.items():
        (REQUIREMENTS / f"{stem}.txt").write_text(render(closure(direct, pins)))


if __name__ == "__main__":
    main()
