"""Backends that break while they are imported, installed as distributions: nobody else waits for them or fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tensor_runtime.protocols import PROTOCOL_VERSION

BREAKING = {
    "lacking": "import not_there",
    "mistyped": "def backend(:",
    "leaving": "raise SystemExit(3)",
    "sleeping": "import time\ntime.sleep(30)",
    "recursing": "def again():\n    again()\nagain()",
    "interfering": "raise ValueError('two\\nlines')",
}
VERSIONS = {"outdated": PROTOCOL_VERSION - 1, "advanced": PROTOCOL_VERSION + 1}
PROGRAM = """
import time
start = time.perf_counter()
import tensor_runtime as tr
x = tr.tensor([1.0, 2.0])
assert (x + x).to_numpy().tolist() == [2.0, 4.0]
rows = {row.name: row.status for row in tr.backends()}
assert time.perf_counter() - start < 25  # the sleeper was not waited for
for name in ("lacking", "mistyped", "leaving", "recursing", "interfering", "outdated", "advanced", "twin"):
    for _ in range(2):
        try:
            tr.to(x, name)
        except tr.TensorError as error:
            told = f"{type(error).__name__}: {error}"
        else:
            raise AssertionError(name)
    print(told)
assert tr.to(x, "cpu").to_numpy().tolist() == [1.0, 2.0]
"""


def test_what_breaks_while_it_is_imported_is_an_error_for_who_asks_and_nothing_for_others(tmp_path: Path) -> None:
    twins = {"twin-one": ("twin", "one"), "twin-two": ("twin", "two")}
    plugins = {**{name: (name, name) for name in (*BREAKING, *VERSIONS)}, **twins}
    for distribution, (name, module) in plugins.items():
        version = VERSIONS.get(name, PROTOCOL_VERSION)
        (tmp_path / f"{module}.py").write_text(BREAKING.get(name, "backend = None"))
        (tmp_path / f"{module}_info.py").write_text(
            f"INFO = dict(protocol_version={version}, device_kinds=({name!r},))"
        )
        info = tmp_path / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            f"[tensor_runtime.backends]\n{name} = {module}:backend\n"
            f"[tensor_runtime.backend_info]\n{name} = {module}_info:INFO\n"
        )

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in told] == [
        *["PluginLoadError"] * 5, "BackendUnavailableError", "BackendUnavailableError", "PluginConflictError",
    ]  # fmt: skip
    causes = ["No module named 'not_there'", "SyntaxError", "SystemExit", "RecursionError", "ValueError: two"]
    assert all(cause in line for cause, line in zip(causes, told, strict=False))
    assert all(f"this runtime speaks {PROTOCOL_VERSION}" in line for line in told[5:7])
    assert "twin-one 1.0" in told[7] and "twin-two 1.0" in told[7]
