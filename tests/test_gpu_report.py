"""The report on a GPU: whole on a simulated device, and on programs that stand for what only a GPU's machine has."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpu_report
from gpu_reporting import beside_host, launches, suites
from gpu_reporting.benchmark import judged_memory, prepared, row, timed
from gpu_reporting.clocks import Clock
from gpu_reporting.facts import ASKED, clocks_and_power
from gpu_reporting.peers import Library, ours
from gpu_reporting.raw import library
from gpu_reporting.subject import RefutedError, Subject
from gpu_reporting.verdicts import FAILED, HELD, MET, NOT_RUN, SHORT
from gpu_reporting.workloads import CEILINGS, WORKLOADS

SIM = Subject("sim", gpu=False)
QUICK = {name: section for name, section in gpu_report.SECTIONS.items() if name not in ("Conformance", "Benchmark")}


def test_every_section_runs_on_a_simulated_device_and_only_what_takes_a_gpu_does_not() -> None:
    text, failed = gpu_report.report(SIM, QUICK, lambda text: None)
    assert failed == [], text
    verdicts = [line.split("|")[1:] for line in text.partition("## Machine")[0].splitlines() if line.startswith("| ")]
    rows = {name.strip(): [cell.strip() for cell in cells] for name, *cells in verdicts}
    assert rows["Streams, threads, other libraries, memory"][:3] == ["4", "–", "3"]
    assert rows["Beside the host"][:3] == ["2", "–", "–"]
    assert rows["Sanitizers"][2] in ("4", "5")  # without a compiler 5
    assert set(rows) == {"section", *QUICK}


def test_the_first_line_says_that_no_gpu_was_used_and_a_required_one_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(found: Subject, sections: gpu_report.Sections, write: Callable[[str], object]) -> tuple[str, list[str]]:
        write("text")
        return "text", []

    monkeypatch.setattr(gpu_report, "report", told)
    monkeypatch.setattr(sys, "argv", ["gpu_report", "--backend", "sim", "--output", str(tmp_path / "out" / "gpu.md")])
    assert gpu_report.main() == 0
    assert (
        (tmp_path / "out" / "gpu.md").read_text(encoding="utf-8").startswith("**No GPU was used (sim was asked for).**")
    )
    monkeypatch.setenv("REQUIRE_GPU", "1")
    assert gpu_report.main() == 1


def test_the_report_is_written_after_each_section_which_has_its_own_time(capsys: pytest.CaptureFixture[str]) -> None:
    written: list[str] = []
    left: list[float] = []

    def look(found: Subject) -> list[str]:
        left.append(found.left())
        return [f"{len(written)} written before"]

    sections = {name: gpu_report.Section(look, seconds) for name, seconds in (("first", 5.0), ("second", 50.0))}
    text, failed = gpu_report.report(SIM, sections, written.append)
    assert (len(written), written[-1], failed) == (2, text, [])
    assert "## second" not in written[0]
    assert "1 written before" in written[1]
    assert left == [pytest.approx(5.0, abs=1.0), pytest.approx(50.0, abs=1.0)]
    assert capsys.readouterr().out == "first: 1 held, 0 s\nsecond: 1 held, 0 s\n"


def test_a_row_that_fails_is_told_in_its_place_and_the_others_run() -> None:
    from gpu_reporting import benchmark

    broken = WORKLOADS[0]._replace(name="broken", equation="ij,jk->ij,k")
    found = {"ours": ours("sim")}
    line, verdicts = benchmark._row_or_failure(broken, SIM, found)
    assert verdicts == [FAILED]
    assert line.startswith("| broken | FAILED")
    assert benchmark._row_or_failure(CEILINGS[0], SIM, found)[1] == [HELD]
    assert benchmark._row_or_failure(CEILINGS[0], SIM._replace(end=0.0), found)[1] == [NOT_RUN]


class Small(Subject):
    """As on a GPU, but for the sizes."""

    def size(self, whole: int, small: int) -> int:
        return small


def test_beside_other_libraries_every_row_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu_reporting import benchmark

    honest = ours("sim")
    slow = honest._replace(einsum=lambda *given: [honest.einsum(*given) for _ in range(60)].pop())
    peers = {"PyTorch": lambda: slow, "JAX": lambda: None, "cuTENSOR": lambda: slow._replace(take=lambda x: x / 0)}
    names = ("6 axes permuted", "pair of tensors", "a PEPS")
    monkeypatch.setattr(benchmark, "PEERS", peers)
    monkeypatch.setattr(benchmark, "WORKLOADS", [one for one in WORKLOADS if one.name in names])
    told = benchmark.benchmark(Small("sim", gpu=True))
    rows = {line.split("|")[1].strip(): line for line in told.lines if line.startswith("| ")}

    assert "of PyTorch, 1.2 accepted" in rows["6 axes permuted"]
    assert "open: no cuTENSOR; met: " in rows["6 axes permuted"]
    assert "open: no JAX" in rows["a PEPS"]
    assert "met: 72 bytes at most, 0." in rows["a PEPS"]
    assert told.verdicts[HELD] == len(CEILINGS) + len(names)
    assert told.verdicts[FAILED] == 0
    assert told.verdicts[MET] >= 4  # three rows beside a slow library, and the memory


def test_a_wrong_result_is_a_failed_row() -> None:
    honest = ours("sim")
    wrong = honest._replace(einsum=lambda equation, *x: honest.einsum(equation, *x) * 1.0001)
    line, verdicts = row(CEILINGS[1], SIM, {"ours": wrong})
    assert verdicts[0] == FAILED
    assert "WRONG" in line


RIGHT: dict[str, Callable[..., Any]] = {
    "cholesky": lambda a, found: (np.tril(found), np.linalg.cholesky(a)),
    "svd": lambda a, found: ((found[0] * found[1]) @ found[2], a),
    "eigh": lambda a, found: ((found[1] * found[0]) @ found[1].T, a),
    "qr": lambda a, found: (found[0] @ np.triu(found[1]), a),
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_libraries_by_themselves_factor_stacks(name: str) -> None:
    raw = library("sim", ours("sim"))
    draw = np.random.default_rng(3).standard_normal((4, 4, 3))
    values = draw + draw.swapaxes(0, 1) + 9.0 * np.eye(4)[:, :, None]
    for turn in (values, values + np.eye(4)[:, :, None]):  # results and workspaces are used again
        found = raw.calls[name](raw.take(turn))
        parts = [raw.give(part) for part in (found if isinstance(found, tuple) else (found,))]
        for number in range(3):
            one = [part[..., number] for part in parts]
            product, expected = RIGHT[name](turn[..., number], one if len(one) > 1 else one[0])
            np.testing.assert_allclose(product, expected, rtol=0, atol=1e-12)


def test_the_libraries_by_themselves_solve_and_multiply_stacks() -> None:
    raw = library("sim", ours("sim"))
    draw = np.random.default_rng(4)
    a, b = draw.integers(-3, 4, (3, 3, 2)) + 9.0 * np.eye(3)[:, :, None], draw.integers(-3, 4, (3, 1, 2)).astype(float)
    product = raw.einsum("ijb,jkb->ikb", raw.take(a), raw.take(b))
    assert raw.give(product).tolist() == np.einsum("ijb,jkb->ikb", a, b).tolist()
    solved = raw.give(raw.calls["solve"](raw.take(a), product))
    np.testing.assert_allclose(solved, b, rtol=0, atol=1e-13)


def test_calls_are_timed_by_marks_of_the_library_and_on_other_operands_each_time() -> None:
    seen: list[Any] = []
    marks = iter(range(1000))
    clock = Clock(lambda: next(marks), lambda first, last: 7.0 * (last - first))
    one = Library(lambda x: x.copy(), None, {"copy": seen.append}, lambda y: None, clock=clock)  # type: ignore[arg-type]
    x = np.zeros(3)
    runs, _ = prepared(CEILINGS[0], [x], {"theirs": one}, 3)
    seen.clear()
    times, trouble = timed(runs, 3, 2)
    assert trouble == {}

    assert times["theirs"].whole == 7.0
    places = [id(x) for x in seen]
    assert places[:3] == places[3:]
    assert len(set(places)) == 3


def test_memory_is_judged_beside_pytorchs() -> None:
    network = next(one for one in WORKLOADS if one.memory)
    run = prepared(CEILINGS[1], [np.ones((8, 8))] * 2, {"ours": ours("sim")})[0]["ours"]
    assert judged_memory(network, {"ours": run}) == ("open", "512 bytes at most")
    for theirs, verdict in ((512, MET), (256, SHORT)):
        other = run._replace(library=run.library._replace(peak=partial(lambda most, call: most, theirs)))
        assert judged_memory(network, {"ours": run, "PyTorch": other})[0] == verdict


def test_the_host_s_time_of_a_product_is_judged_beside_cupys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "PEERS", {"CuPy": partial(ours, "sim")})
    for most, verdict in ((1e9, MET), (-1e9, SHORT)):
        monkeypatch.setattr(launches, "MOST_EXTRA", most)
        assert launches.beside_cupy(Subject("sim", gpu=True), np.eye(16))[0] == verdict


def test_a_wrong_view_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_host, "STEPS", (lambda rng, x, array: (x[::-1], array),))
    with pytest.raises(RefutedError):
        beside_host.view_chains(SIM)


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def beside_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_clocks_and_power_are_told_by_the_drivers_program(beside_path: Path) -> None:
    program(beside_path, "nvidia-smi", f"print(', '.join(f'{{n}} MHz' for n in range({len(ASKED)})))")
    assert clocks_and_power()["clocks.sm"] == "2 MHz"
    program(beside_path, "nvidia-smi", "sys.exit('no devices were found')")
    assert clocks_and_power() == {"clocks and power": "not told: no devices were found"}


def test_each_sanitizer_runs_our_calls_and_what_it_finds_is_a_failure(beside_path: Path) -> None:
    runs = "import subprocess; print(sys.argv[2]); sys.exit(subprocess.run(sys.argv[5:]).returncode)"
    program(beside_path, "compute-sanitizer", runs)
    gpu = Subject("sim", gpu=True)
    assert suites._sanitizer("racecheck", gpu) == "nothing found in 24 calls"
    program(beside_path, "compute-sanitizer", "print('a race'); sys.exit(9)")
    with pytest.raises(RefutedError, match="synccheck finds nothing: a race"):
        suites._sanitizer("synccheck", gpu)


def test_conformance_of_what_is_no_gpu_fails_where_one_is_required() -> None:
    with pytest.raises(RefutedError, match="REQUIRE_GPU=1 is set, and it is no GPU"):
        suites._conformance(Subject("sim", gpu=True))
