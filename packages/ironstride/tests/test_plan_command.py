"""The commands `plan` and `calibrate`, and the options of planning that `contract` shares with the first."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import ironstride.program.contract
import ironstride.program.planning
from ironstride.program.main import main
from tensor_einsum import Plan, read_calibration
from tensor_runtime import threads

CHAIN = ("ab,bc,cd->ad", "2x3", "3x4", "4x5")
CHAIN_FILE = {
    "format_string": "ab,bc,cd->ad",
    "shapes": [[2, 3], [3, 4], [4, 5]],
    "dtype": "float64",
    "paths": {"left": {"path": [[0, 1], [0, 1]]}},
}


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The one line on stderr of a run that ends with status 2."""
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.startswith("ironstride: ")
    assert error.count("\n") == 1
    return error


def test_an_equation_on_the_command_line_is_planned(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *CHAIN, "--steps", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert len(plan["every_step"]) == plan["steps"]
    assert sum(step["flops"] for step in plan["every_step"]) == plan["flops"]
    assert main(["plan", *CHAIN, "--steps"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "equation: 3 operands, F64 (float64), 304 B"
    assert lines[1] == "plan (our planner)"
    assert "  flops                 128" in lines
    assert next(line for line in lines if line.startswith("  search")).endswith("nothing better exists")
    assert sum("contract" in line for line in lines) == 2


@pytest.mark.parametrize("second", ["3x4", "3,4", "(3, 4)", "3×4", "3 4"])
def test_shapes_may_be_written_in_several_ways(second: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "ab,bc,", "2x3", second, "()", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert (document["operands"], document["operand_bytes"]) == (3, (6 + 12 + 1) * 8)


@pytest.mark.parametrize("options", [(), ("--json",), ("--optimize", "greedy")])
def test_an_equation_of_scalars_is_no_option(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("plan", "contract"):
        assert main([command, *options, "->", "()"]) == 0
        assert "equation" in capsys.readouterr().out
        assert main([command, "->", "()", *options]) == 0


@pytest.mark.parametrize("command", ["plan", "contract"])
def test_an_equation_that_is_wrong_is_shown_with_a_caret(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "i%,jk", "2x3", "3x2"]) == 2
    first, *below = capsys.readouterr().err.splitlines()
    assert first.startswith("ironstride: equation: plan: '%' is no label")
    assert below == ["  i%,jk", "   ^"]

    assert main([command, "ij,jk->ik", "2x3", "4x2"]) == 2
    first, *below = capsys.readouterr().err.splitlines()
    assert first.endswith("accepted: equal extents, or 1")
    assert below == ["  ij,jk->ik", "   ^ ^"]

    assert main([command, "ij,jk->ik", "2x3"]) == 2  # nothing to point at
    assert capsys.readouterr().err.count("\n") == 1


def test_a_text_file_shows_its_equation_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "chain.txt"
    file.write_text("ab,b%->a\n2x3\n3x4\n", encoding="utf-8")

    assert main(["plan", str(file)]) == 2
    first, *below = capsys.readouterr().err.splitlines()
    assert first.startswith(f"ironstride: {file}: ")
    assert "format_string" not in first
    assert below == ["  ab,b%->a", "      ^"]


def test_an_equation_may_be_longer_than_names_of_files(capsys: pytest.CaptureFixture[str]) -> None:
    labels = [chr(0x4E00 + number) for number in range(201)]
    chain = ",".join(map("".join, pairwise(labels)))

    assert main(["plan", chain, *["2x2"] * 200]) == 0
    assert capsys.readouterr().out.startswith("equation: 200 operands, ")


def test_a_text_file_has_an_equation_and_a_shape_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "chain.txt"
    file.write_text("# a chain\nab,bc,cd->ad\n\n2x3\n3x4\n  4, 5\n", encoding="utf-8")

    assert main(["contract", str(file), "--dtype", "complex64"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("chain: 3 operands, C32 (complex64), 304 B\nno operands are given: uniform on (0, 1)")
    assert "result: C32 [2, 5], norm " in out


def test_what_is_no_source_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("# nothing\n", encoding="utf-8")

    assert 'found "3y4"; accepted: a shape, such as 2x3' in refused(capsys, "plan", "ij,jk", "2x3", "3y4")
    assert "no line with an equation" in refused(capsys, "plan", str(empty))
    empty.write_text("ij,jk 2x3 3x4\n", encoding="utf-8")
    assert "an equation, then the shape of one operand in each line" in refused(capsys, "plan", str(empty))
    assert "'ij,jk' has 2 operands, found 1" in refused(capsys, "plan", "ij,jk", "2x3")
    assert "float3" in refused(capsys, "plan", "ij", "2x3", "--dtype", "float3")


def test_json_tells_plan_search_result_and_times(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", *CHAIN, "--json", "--repeat", "3"]) == 0

    (line,) = capsys.readouterr().out.splitlines()
    document = json.loads(line)
    assert document["plan"]["flops"] == 128
    assert document["plan"]["path"] == [[0, 1], [0, 1]]
    assert document["search"]["stopped"] == "exact"
    assert document["search"]["history"][-1]["log2_products"] == document["search"]["log2_products"]
    assert document["result"]["shape"] == [2, 5] and document["result"]["norm"] > 0
    assert document["seconds"]["plan"] > 0 and document["seconds"]["first"] > 0
    assert len(document["seconds"]["later"]) == 2


def test_first_and_later_calls_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", *CHAIN, "--repeat", "4"]) == 0

    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("time: ")]
    assert line.startswith("time: first ")
    assert " s (median of 3, " in line and line.endswith(" GFLOP/s")


def test_a_plan_is_saved_and_taken_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, output = tmp_path / "new" / "plan.json", tmp_path / "out.npy"
    network = tmp_path / "chain.json"
    network.write_text(json.dumps(CHAIN_FILE), encoding="utf-8")

    assert main(["plan", str(network), "--path", "left", "--save-plan", str(file)]) == 0
    assert capsys.readouterr().out.endswith(f"saved {file}\n")
    assert Plan.from_json(file.read_bytes()).path == ((0, 1), (0, 1))
    assert main(["contract", str(network), "--load-plan", str(file), "-o", str(output)]) == 0
    assert "plan (read from plan.json)" in capsys.readouterr().out
    assert np.load(output).shape == (2, 5)


def test_a_plan_of_another_network_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    assert main(["plan", *CHAIN, "--save-plan", str(file)]) == 0
    capsys.readouterr()

    load = "--load-plan", str(file)
    assert "its shapes differ" in refused(capsys, "plan", "ab,bc,cd->ad", "2x3", "3x4", "4x6", *load)
    assert "its subscripts differ" in refused(capsys, "plan", "ab,bc,cd->da", *CHAIN[1:], *load)
    assert "its dtypes differ" in refused(capsys, "plan", *CHAIN, "--dtype", "F32", *load)
    file.write_text("{}", encoding="utf-8")
    assert f"--load-plan {file}: Plan.from_json: no plan of format" in refused(capsys, "plan", *CHAIN, *load)
    missing = str(tmp_path / "missing.json")
    assert f"--load-plan {missing}: cannot be read" in refused(capsys, "plan", *CHAIN, "--load-plan", missing)
    assert f"read_calibration: {file}: " in refused(capsys, "plan", *CHAIN, "--calibration", str(file))
    missing = refused(capsys, "plan", *CHAIN, "--calibration", str(tmp_path / "none.json"))
    assert "--calibration: there is no file" in missing and "without FILE it goes behind SOURCE" in missing


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--path", "left", "--seconds", "1"), "--path and --seconds are two ways to a plan"),
        (("--optimize", "greedy", "--seconds", "1"), "--optimize and --seconds are two ways to a plan"),
        (("--load-plan", "a.json", "--path", "left"), "--load-plan and --path are two ways to a plan"),
        (("--path", "left", "--objective", "size"), "--path gives the order, and --objective says how one is searched"),
        (("--path", "left", "--calibration", "rates.json"), "--path gives the order, and --calibration says how"),
        (("--load-plan", "a.json", "--objective", "flops"), "--load-plan gives the order, and --objective says how"),
        (("--objective", "flops", "--calibration"), "--objective and --calibration are two things to minimise"),
        (("--memory", "1MB", "--slices", "b"), "--memory and --slices are two ways to slices"),
        (("--save-plan", "plan.txt"), "--save-plan plan.txt: the ending must be .json"),
        (("--optimize", "fastest"), "optimize='fastest' is no search; accepted: auto, auto-hq"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, "plan", *CHAIN, *options)


@pytest.mark.parametrize("options", [("--seconds", "0"), ("--seconds", "nan"), ("--repeat", "0"), ("--threads", "x")])
def test_numbers_out_of_range_are_refused(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["contract", *CHAIN, *options])
    assert ended.value.code == 2
    assert f"argument {options[0]}" in capsys.readouterr().err


def test_the_search_is_chosen_by_name_time_and_objective(capsys: pytest.CaptureFixture[str]) -> None:
    for options, origin in (
        (("--optimize", "optimal"), "search by optimal"),
        (("--optimize", "auto", "--seconds", "0.1"), "our planner"),
        (("--objective", "size"), "our planner"),
    ):
        assert main(["plan", *CHAIN, *options]) == 0
        assert f"plan ({origin})" in capsys.readouterr().out


def test_threads_are_set_for_the_contraction_alone(capsys: pytest.CaptureFixture[str]) -> None:
    before = threads()

    assert main(["contract", *CHAIN, "--threads", "1"]) == 0
    assert threads() == before


def test_the_machine_is_measured_and_plans_take_its_rates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert "`ironstride calibrate` writes one" in refused(capsys, "plan", *CHAIN, "--calibration")

    assert main(["calibrate", "--seconds", "0.01", "--threads", "1"]) == 0
    out = capsys.readouterr().out
    digest = read_calibration().digest
    assert out.endswith(f"saved {tmp_path / 'ironstride' / 'calibration.json'}, digest {digest}\n")
    assert main(["plan", *CHAIN, "--calibration"]) == 0
    assert main(["plan", *CHAIN, "--calibration", str(tmp_path / "ironstride" / "calibration.json")]) == 0


def test_rates_are_not_measured_for_a_file_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert "the ending must be .json" in refused(capsys, "calibrate", "-o", "rates.txt")


def test_memory_is_kept_by_slices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.npy"
    product = "ij,jk,kl->il", "100x100", "100x100", "100x100"
    results = []
    for options in ((), ("--memory", "100kB"), ("--slices", "i=50,k")):
        assert main(["contract", *product, *options, "-o", str(output)]) == 0
        lines = capsys.readouterr().out.splitlines()
        slices = [line.split(maxsplit=1)[1] for line in lines if line.startswith("  slices")]
        results.append((slices, np.load(output)))

    (none, expected), (kept, by_memory), (named, by_name) = results
    assert none == [] and len(kept) == 1 and named == ["200, of i by 50, k"]
    np.testing.assert_allclose(by_memory, expected)
    np.testing.assert_allclose(by_name, expected)


@pytest.mark.parametrize(
    ("slices", "shown"),
    [
        ("[l,a]", "4, of l,a"),
        ("[b]=2", "3, of b by 2"),
        (" [b]=2 , [l,a] ,[k=2]=1", "24, of l,a, k=2, b by 2"),
        ("b", "5, of b"),
        (r"[\b]=2", "3, of b by 2"),
    ],
)
def test_labels_to_cut_stand_in_brackets(slices: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "[l,a][b],[b][k=2]->[l,a][k=2]", "4x5", "5x2", "--slices", slices]) == 0
    lines = [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines() if line.startswith("  slices")]
    assert lines == [shown]


def test_memory_that_no_slices_keep_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "accepted: 8000000 bytes or more" in refused(capsys, "plan", "i,j->ij", "1000", "1000", "--memory", "1000")


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        ("z", "z"),
        ("b=", "found 'b='; accepted: labels, such as j,k or j=4"),
        ("b,,c", "found ''"),
        ("b=0", "b"),
        ("b=" + "0" * 30, "accepted: labels, such as j,k or j=4"),
        ("[b", "'[' is never closed"),
        ("b]", "']' without '['"),
        ("[]", "no name between '[' and ']'"),
        ("[b]c", "found '[b]c'; accepted: labels"),
        ("[b][c]=2", "found '[b][c]=2'; accepted: labels"),
        ("c,[b]=", "found '[b]='; accepted: labels"),
    ],
)
def test_labels_that_cannot_be_cut_are_refused(slices: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(capsys, "plan", *CHAIN, "--slices", slices)
    assert f"--slices {slices}: " in error and message in error


@pytest.mark.parametrize(("option", "value"), [("--slices", "z"), ("--threads", "100000")])
def test_what_no_plan_can_have_is_refused_before_the_search(
    option: str, value: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[object] = []
    monkeypatch.setattr(ironstride.program.planning, "_found", lambda *_: searched.append(None))

    assert value in refused(capsys, "contract", *CHAIN, option, value)
    assert not searched


def test_of_many_labels_that_can_be_cut_the_first_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    labels = [f"[bond {number}]" for number in range(180)]
    chain = ",".join(map("".join, pairwise(labels)))

    error = refused(capsys, "plan", chain, *["2x2"] * 179, "--slices", "zz")

    assert error.endswith(
        "found label 'zz'; accepted: " + ", ".join(f"'bond {n}'" for n in range(8)) + ", ... (180 labels)\n"
    )


def test_a_stopped_sum_of_slices_goes_on(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    interrupting_bar: Callable[..., type],
) -> None:
    whole, stopped, kept = tmp_path / "whole.npy", tmp_path / "stopped.npy", tmp_path / "new" / "sum"
    sliced = ["contract", "ij,jk->ik", "6x8", "8x5", "--slices", "j"]
    assert main([*sliced, "-o", str(whole)]) == 0
    with monkeypatch.context() as patched:
        patched.setattr(ironstride.program.contract, "tqdm", interrupting_bar(3))
        assert main([*sliced, "--checkpoint", str(kept), "-o", str(stopped)]) == 130
    assert kept.exists() and not stopped.exists()
    assert capsys.readouterr().err == "ironstride: interrupted\n"

    assert main([*sliced, "--checkpoint", str(kept), "-o", str(stopped)]) == 0
    assert whole.read_bytes() == stopped.read_bytes()
    assert "--checkpoint and --repeat" in refused(capsys, *sliced, "--checkpoint", str(kept), "--repeat", "2")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_a_batch_system_stops_saves_its_sum_first(
    number: signal.Signals,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    interrupting_bar: Callable[..., type],
) -> None:
    whole, stopped, kept = tmp_path / "whole.npy", tmp_path / "stopped.npy", tmp_path / "sum"
    sliced = ["contract", "ij,jk->ik", "6x8", "8x5", "--slices", "j"]
    resumed = [*sliced, "--checkpoint", str(kept), "-o", str(stopped)]
    assert main([*sliced, "-o", str(whole)]) == 0
    former = signal.signal(number, signal.SIG_DFL)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(ironstride.program.contract, "tqdm", interrupting_bar(3, number))
            with pytest.raises(SystemExit) as ended:
                main(resumed)
        assert signal.getsignal(number) is signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN)  # as under nohup
        with monkeypatch.context() as patched:
            patched.setattr(ironstride.program.contract, "tqdm", interrupting_bar(3, number))
            assert ended.value.code == 128 + number and kept.exists() and not stopped.exists()
            assert main(resumed) == 0
    finally:
        signal.signal(number, former)
    assert whole.read_bytes() == stopped.read_bytes() and not kept.exists()
    assert capsys.readouterr().err == ""
