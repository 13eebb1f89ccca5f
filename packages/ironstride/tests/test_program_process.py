"""The program as a process: exit statuses, signals and closed pipes, without a traceback."""

from __future__ import annotations

import builtins
import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironstride.program.start import main

PROGRAM = [sys.executable, "-m", "ironstride"]


def write_circuit(file: Path, wires: int = 20, gates: int = 12_000) -> None:
    """A state of 2^wires elements to which gates on one wire each are applied: seconds of work from a small file."""
    letters = iter([chr(code) for code in range(0x4E00, 0x4E00 + 2 * wires + gates)])
    state = [next(letters) for _ in range(wires)]
    terms = list(state)
    for gate in range(gates):
        new = next(letters)
        terms.append(new + state[gate % wires])
        state[gate % wires] = new
    path = [[0, 1]] + [[0, len(terms) - 1 - k] for k in range(1, wires - 1)]
    path += [[0, len(terms) - wires - k] for k in range(gates)]
    content = {
        "format_string": ",".join(terms) + "->" + "".join(state),
        "shapes": [[2] * len(term) for term in terms],
        "dtype": "float64",
        "paths": {"in_time": {"path": path}},
    }
    file.write_text(json.dumps(content), encoding="utf-8")


def heed_interrupts() -> None:
    """A job in the background of a shell ignores SIGINT, and its children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a child process")
def test_control_c_ends_with_status_130_and_no_partial_file(tmp_path: Path) -> None:
    file, output = tmp_path / "circuit.json", tmp_path / "out.npy"
    write_circuit(file)
    command = [*PROGRAM, "contract", str(file), "--path", "in_time", "-o", str(output)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - it takes no lock
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("  peak memory"):
                break
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)

    assert process.returncode == 130, out
    assert error == "ironstride: interrupted\n"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["circuit.json"]


def test_control_c_while_the_program_is_imported_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = builtins.__import__

    def interrupted(name: str, *rest: Any) -> Any:
        if name == "ironstride.program.main":
            raise KeyboardInterrupt
        return usual(name, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(builtins, "__import__", interrupted)
        assert main() == 130
    assert capsys.readouterr() == ("", "ironstride: interrupted\n")


def test_a_bad_file_ends_with_status_2_and_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[" * 100_000, encoding="utf-8")

    done = subprocess.run(
        [*PROGRAM, "contract", str(tmp_path / "bad.json")], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("ironstride: ")
    assert done.stderr.count("\n") == 1


def test_a_closed_pipe_is_no_error_worth_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"format_string": "ij,jk->ik", "shapes": [[2, 2], [2, 2]], "dtype": "float64"}', encoding="utf-8")
    with subprocess.Popen(
        [*PROGRAM, "contract", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        error = process.stderr.read()

    assert process.returncode == 141
    assert error == ""


@pytest.mark.parametrize("command", ["contract", "plan"])
def test_files_are_made_though_the_reader_leaves(command: str, tmp_path: Path) -> None:
    plan, result = tmp_path / "plan.json", tmp_path / "result.npy"
    ring = ",".join(f"[{n}][{(n + 1) % 200}]" for n in range(200))
    files = ["--save-plan", str(plan), *(["-o", str(result)] if command == "contract" else [])]
    with subprocess.Popen(
        [*PROGRAM, command, f"{ring}->", *["2x2"] * 200, "--steps", *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        error = process.stderr.read()

    assert (process.returncode, error) == (141, "")
    assert json.loads(plan.read_text(encoding="utf-8"))["format"].startswith("tensor_einsum.plan")
    assert command == "plan" or np.load(result).shape == ()


SUM = '{"format_string": "ij->", "shapes": [[2, 2]], "dtype": "float64"}'


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("buffering", ["buffered", "unbuffered"])
@pytest.mark.parametrize(
    "arguments",
    [["contract", "sum.json"], ["contract", "sum.json", "sum.json"], ["doctor"], ["--version"], ["contract", "--help"]],
)
def test_a_full_disk_behind_stdout_is_one_line_and_status_2(
    tmp_path: Path, arguments: list[str], buffering: str
) -> None:
    (tmp_path / "sum.json").write_text(SUM, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    if buffering == "unbuffered":
        environment["PYTHONUNBUFFERED"] = "1"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=environment,
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr.startswith("ironstride: ")
    assert "No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no shell that closes a stream")
@pytest.mark.parametrize(("closed", "file", "status"), [(">&-", "sum", 0), ("2>&-", "sum", 0), ("2>&-", "none", 2)])
def test_a_closed_stream_changes_no_exit_status(tmp_path: Path, closed: str, file: str, status: int) -> None:
    (tmp_path / "sum.json").write_text(SUM, encoding="utf-8")
    command = f'"{sys.executable}" -m ironstride contract {file}.json -o sum.npy {closed}'

    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)

    assert done.returncode == status
    assert done.stderr == ""
    assert (tmp_path / "sum.npy").exists() is (status == 0)
    assert ("result:" in done.stdout) is (status == 0 and closed == "2>&-")


def test_a_narrow_terminal_encoding_does_not_end_the_program(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    content = {"name": "réseau", "format_string": "éè->éè", "shapes": [[1, 1]], "dtype": "float64"}
    file.write_text(json.dumps(content), encoding="utf-8")

    done = subprocess.run(
        [*PROGRAM, "contract", str(file), "--steps"],
        capture_output=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin"},
    )

    assert done.returncode == 0, done.stderr
    assert b"r\\u00e9seau" in done.stdout


def test_progress_is_shown_on_a_terminal_and_cleared(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    file = tmp_path / "circuit.json"
    write_circuit(file, wires=10, gates=30)
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))  # a terminal of no width shows no bar

    command = [*PROGRAM, "contract", str(file), "--path", "in_time"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, text=True, check=False)
    os.close(terminal)
    shown = os.read(master, 2**16).decode()
    os.close(master)

    assert done.returncode == 0
    assert "0%|" in shown
    assert "flop/s]" in shown
    assert "%" not in done.stdout
    assert shown.split("\r")[-2].strip() == ""
