"""The commands about this machine: `bench`, `doctor`, `calibrate` as JSON, completion in shells, and help."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from ironstride.program.arguments import parser_of
from ironstride.program.commands.benchmark import every_case
from ironstride.program.commands.completion import SHELLS, commands_of, completion
from ironstride.program.main import main

COMMANDS = {command.name: command for command in commands_of(parser_of(print))}


def test_both_sides_of_every_case_compute_the_same() -> None:
    for name, prepare in every_case():
        ours: Any
        theirs: Any
        ours, theirs = (side() for side in prepare())
        if isinstance(ours, tuple):  # factors are compared by their values, which alone are unique
            (mine,) = [field for field in ours if np.asarray(field).ndim == 2]
            (other,) = [field for field in theirs if field.ndim == 2]
            assert np.allclose(np.moveaxis(np.asarray(mine), -1, 0), other), name
            continue
        mine = np.asarray(ours)
        other = np.asarray(theirs)
        if mine.shape != other.shape:
            mine = np.moveaxis(mine, -1, 0)
        assert np.allclose(mine, other), name


def test_bench_prints_a_row_for_each_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--seconds", "0.01", "--threads", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    assert [row["name"] for row in found["cases"]] == [name for name, _ in every_case()]
    assert all(0 < row["low"] <= row["ratio"] <= row["high"] and row["turns"] >= 3 for row in found["cases"])


def test_the_doctor_tells_as_json_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    assert found["usable"] is True and found["problems"] == []
    assert found["installed"]["python"] in printed
    (cpu,) = [facts for heading, facts in found.items() if heading.startswith("backend cpu")]
    assert cpu["status"] == "ready" and cpu["native kernels"] in printed


def test_calibrate_tells_its_rates_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "machine.json"

    assert main(["calibrate", "--seconds", "0.01", "-o", str(file), "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["saved"] == str(file)
    assert json.loads(file.read_text(encoding="utf-8")).items() <= found.items()


def test_calibrate_measures_a_device_and_its_backend_takes_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "drivers.json"

    assert main(["calibrate", "--device", "sim:1", "--seconds", "0.2", "-o", str(file)]) == 0
    saved = capsys.readouterr().out
    assert main(["calibrate", "--device", "sim:1", "--seconds", "0.2", "-o", str(file), "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    content = json.loads(file.read_text(encoding="utf-8"))
    assert saved.startswith(f"saved {file}, digest ")
    assert found == {"saved": str(file), **content}
    assert content["rules"] and content["machine"].startswith("simulated device")
    with tr.backend("sim").use_drivers(file, "sim:1"):  # type: ignore[attr-defined]
        assert content["digest"] in tr.backend("sim").describe()["sim:1"]


def test_a_device_that_cannot_be_measured_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong, said in (
        (["--device", "cpu", "-o", "rates.json"], "cpu measures nothing; accepted: devices whose backend has tables"),
        (["--device", "sim:0"], "no file for the table; name one with -o"),
        (["--device", "sim:0", "-o", "rates.txt"], "the ending must be .json"),
        (["--device", "sim:9", "-o", str(tmp_path / "rates.json")], "sim:9"),
    ):
        assert main(["calibrate", *wrong]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_examples_that_can_be_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])

    said = capsys.readouterr().out
    assert ended.value.code == 0
    _, _, examples = said.rpartition("\nexample")
    lines = [line.strip() for line in examples.splitlines()[1:]]
    assert lines and all(name in line for line in lines)
    for line in lines:
        command = line.removeprefix('eval "$(').replace(')"', "").partition("#")[0]
        words = shlex.split(command.partition("&&")[0].partition(">  ")[0].partition(" > ")[0])
        assert words[0] == "ironstride"
        parser_of(print).parse_args(words[1:])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_but_completion_prints_json(name: str) -> None:
    options = {option for one in COMMANDS[name].options for option in one.names}
    assert ("--json" in options) is (name != "completion")


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_knows_every_command_and_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out

    assert script == completion(shell, parser_of(print))
    for command in COMMANDS.values():
        assert command.name in script
        for name in (name for option in command.options for name in option.names):
            of_fish = f"-s {name[1:]} " if len(name) == 2 else f"-l {name[2:]} "
            assert (of_fish if shell == "fish" else name) in script


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_the_shells_of_this_machine_read_the_script(shell: str, tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_text(completion(shell, parser_of(print)), encoding="utf-8")

    done = subprocess.run([shell, "-n", file], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


ASKED: list[tuple[list[str], list[str]]] = [
    (["ironstride", "co"], ["contract", "convert", "completion"]),
    (["ironstride", "svd", "--r"], ["--rows", "--raw"]),
    (["ironstride", "plan", "--objective", ""], ["time", "flops", "size"]),
    (["ironstride", "completion", "f"], ["fish"]),
    (["ironstride", "--v"], ["--version"]),
    (["ironstride", "bench", "--t"], ["--threads"]),
]
BY_ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -Uz compinit; compinit -u -D; source $1"
zpty -w shell 'function compadd { local -a found; builtin compadd "$@"; local -i added=$?
    if [[ -z ${(M)@:#-[OAD]} ]]; then builtin compadd -A found "$@"; print -rl -- $found >>'$3'; fi; return added }'
zpty -w shell "function ask { zle complete-word; print OV''ER }; zle -N ask; bindkey '^I' ask; print REA''DY"
while zpty -r shell text; do [[ $text == *READY* ]] && break; done
zpty -n -w shell "$2"$'\t'
while zpty -r shell text; do [[ $text == *OVER* ]] && break; done
zpty -d shell
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
@pytest.mark.parametrize(
    ("words", "expected"), [*ASKED, (["ironstride", "completion", ""], ["bash", "zsh", "fish", "-h", "--help"])]
)
def test_bash_completes_by_the_script(words: list[str], expected: list[str]) -> None:
    given = " ".join(shlex.quote(word) for word in words)
    ask = f'COMP_WORDS=({given}); COMP_CWORD={len(words) - 1}; _ironstride; printf "%s\\n" "${{COMPREPLY[@]}}"'

    done = subprocess.run(
        ["bash", "-c", completion("bash", parser_of(print)) + ask], capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    assert done.stdout.split() == expected


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish on this machine")
@pytest.mark.parametrize(("words", "expected"), [*ASKED, (["ironstride", "info", "a_f"], ["a_file.npy"])])
def test_fish_completes_by_the_script(words: list[str], expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "a_file.npy").touch()
    script = completion("fish", parser_of(print)) + f"complete -C {shlex.quote(' '.join(words))}"

    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=home(tmp_path),
    )

    assert done.stderr == ""
    assert sorted(line.partition("\t")[0] for line in done.stdout.splitlines()) == sorted(expected)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh on this machine")
@pytest.mark.parametrize(("words", "expected"), [*ASKED, (["ironstride", "info", "a_f"], ["a_file.npy"])])
def test_zsh_completes_by_the_script(words: list[str], expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "a_file.npy").touch()
    (tmp_path / "script").write_text(completion("zsh", parser_of(print)), encoding="utf-8")
    (tmp_path / "ask").write_text(BY_ZSH, encoding="utf-8")

    asked = ["zsh", "-f", "ask", "./script", " ".join(words), "found"]
    done = subprocess.run(
        asked, capture_output=True, text=True, check=False, cwd=tmp_path, env=home(tmp_path), timeout=60
    )

    assert done.stderr == ""
    assert sorted((tmp_path / "found").read_text().split()) == sorted(expected)


def home(folder: Path) -> dict[str, str]:
    """An environment whose shells have nobody's settings."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LANG": "C.UTF-8"}
