"""A newcomer's first hour, recorded: what the README and docs/first-hour.md say, done in an environment made for it.

    python tools/first_hour.py

Takes the wheels of dist/ (``make dist``), makes an environment with nothing of this one (no variable but a PATH of the
system, no settings, an empty home), runs every command, and writes commands, output, times and sizes to
docs/reports/first-hour.md. A command that fails is an error, and nothing is written.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
REPORT: Final = ROOT / "docs" / "reports" / "first-hour.md"
MOST_LINES: Final = 30  # of what a command prints
STEPS: Final = (
    ("An environment", "python -m venv first"),
    ("Installing, without a network", "first/bin/pip install --no-index --find-links dist ironstride"),
    ("What was installed", "first/bin/pip --disable-pip-version-check list --format=freeze"),
    ("Does it work?", "first/bin/ironstride doctor"),
    ("The code of the README", "first/bin/python readme.py"),
    ("The page of the first hour, every block", "first/bin/python -m doctest -o ELLIPSIS first-hour.md"),
    (
        "A file of tensors",
        "first/bin/python -c \"import ironstride as it; it.save('a.npz', {'a': it.uniform((200, 100), seed=0)})\"",
    ),
    ("What is in it", "first/bin/ironstride info a.npz"),
    ("In another format", "first/bin/ironstride convert a.npz a.safetensors"),
    ("What truncating it costs", "first/bin/ironstride svd a.npz"),
    ("A network", "first/bin/ironstride contract examples/networks/ising_10x10.json --path sweep"),
    ("An example", "first/bin/python examples/spin_glass.py"),
)


class Done(NamedTuple):
    """A command that was run."""

    title: str
    command: str
    seconds: float
    printed: str


def record(folder: Path, wheels: Path) -> list[Done]:
    """Run all steps in a folder.

    Raises:
        SystemExit: a command failed; its output is the message.
    """
    home = folder / "home"
    home.mkdir()
    for name, target in (("dist", wheels), ("examples", ROOT / "examples")):
        (folder / name).symlink_to(target)
    (folder / "readme.py").write_text(code_of((ROOT / "README.md").read_text(encoding="utf-8")), encoding="utf-8")
    (folder / "first-hour.md").write_bytes((ROOT / "docs" / "first-hour.md").read_bytes())
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    environment = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    found = []
    for title, command in STEPS:
        start = time.perf_counter()
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - start
        if done.returncode:
            raise SystemExit(f"{command} failed:\n{done.stdout}{done.stderr}")
        found.append(Done(title, command, seconds, done.stdout + done.stderr))
        print(f"{seconds:7.1f} s  {title}", flush=True)
    return found


def code_of(page: str) -> str:
    r"""The first block of Python of a page.

    >>> code_of("text\n```python\nx = 1\n```\n")
    'x = 1\n'
    """
    found = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    return found[1] if found else ""


def without_paths(text: str, folder: Path) -> str:
    """What a command printed, without where this machine keeps things.

    >>> without_paths("in /tmp/x/first/lib and /usr/lib/a/libm.so", Path("/tmp/x"))
    'in first/lib and …/libm.so'
    """
    for place in {str(folder), str(folder.resolve())}:
        text = text.replace(place + "/", "").replace(place, ".")
    return re.sub(r"(?<![\w.:/])/(?:[\w.+-]+/)+([\w.+-]+)", r"…/\1", text)


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder.

    >>> size_of(Path("no such folder"))
    0
    """
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def as_page(steps: Sequence[Done], folder: Path, wheels: Path) -> str:
    """The report."""
    model = "an unknown processor"
    if Path("/proc/cpuinfo").exists():
        names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        model = names[0] if names else model
    offered = sum(file.stat().st_size for file in wheels.glob("*.whl"))
    installed = size_of(folder / "first")
    taken = sum(step.seconds for step in steps)
    lines = [
        "# A first hour, recorded",
        "",
        "What the README and [the first hour](../first-hour.md) say, done by `python tools/first_hour.py` in an",
        "environment made for it: no variable but `PATH`, `HOME` (an empty folder) and `LANG`; no network, but the",
        "wheels of `make dist`. Every command ended with status 0.",
        "",
        f"{datetime.now(UTC):%d %B %Y}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} processors ({model}), shared with other work. {len(steps)} commands took {taken:.0f} s; "
        f"the wheels have {offered / 1e6:.0f} MB, the environment {installed / 1e6:.0f} MB.",
        "",
        "| step | s |",
        "|---|--:|",
        *(f"| {step.title} | {step.seconds:.1f} |" for step in steps),
        "",
    ]
    for step in steps:
        printed = without_paths(step.printed, folder).rstrip().splitlines()
        more = [f"… and {len(printed) - MOST_LINES} lines more"] if len(printed) > MOST_LINES else []
        lines += [f"## {step.title}", "", "```text", f"$ {step.command}", *printed[:MOST_LINES], *more, "```", ""]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Record and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, default=ROOT / "dist", help="folder of what make dist made")
    parser.add_argument("--report", type=Path, default=REPORT, help="file to write")
    options = parser.parse_args(arguments)
    if not list(options.wheels.glob("ironstride-*.whl")):
        parser.error(f"{options.wheels} holds no wheel of ironstride; make dist builds them")
    with TemporaryDirectory() as name:
        folder = Path(name)
        steps = record(folder, options.wheels.resolve())
        page = as_page(steps, folder, options.wheels)
    options.report.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
