"""The program as its user meets it: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ironstride.program.contract
from ironstride.program.main import main

PRODUCT: dict[str, Any] = {
    "format_string": "ij,jk->ik",
    "shapes": [[2, 3], [3, 2]],
    "dtype": "float64",
    "operands": [[[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [1, 1]]],
    "paths": {"mine": {"path": [[0, 1]]}},
}
CHAIN: dict[str, Any] = {
    "format_string": "ab,bc,cd->ad",
    "shapes": [[2, 3], [3, 4], [4, 5]],
    "dtype": "float64",
    "paths": {"left": {"path": [[0, 1], [0, 1]]}, "right": {"path": [[1, 2], [0, 1]]}},
}


def write(file: Path, content: dict[str, Any]) -> str:
    file.write_text(json.dumps(content), encoding="utf-8")
    return str(file)


@pytest.fixture
def product(tmp_path: Path) -> str:
    return write(tmp_path / "product.json", PRODUCT)


@pytest.fixture
def chain(tmp_path: Path) -> str:
    return write(tmp_path / "chain.json", CHAIN)


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The one line on stderr of a run that ends with status 2."""
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.startswith("ironstride: ")
    assert error.count("\n") == 1
    return error


def test_a_matrix_product_is_contracted_saved_and_drawn(
    product: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, picture = tmp_path / "new" / "out.npy", tmp_path / "new" / "plan.svg"

    assert main(["contract", product, "-o", str(output), "--plot", str(picture)]) == 0

    np.testing.assert_array_equal(np.load(output), [[4.0, 5.0], [10.0, 11.0]])
    assert "Contraction tree" in picture.read_text(encoding="utf-8")
    assert sorted(file.name for file in output.parent.iterdir()) == ["out.npy", "plan.svg"]
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert lines[0] == "product: 2 operands, F64 (float64), 96 B"
    assert lines[1] == "operands: values in the file"
    assert lines[2] == "plan (our planner)"
    assert f"result: F64 [2, 2], norm {math.sqrt(16 + 25 + 100 + 121):.12g}" in lines
    assert any(line.startswith("time: ") and line.endswith("GFLOP/s") for line in lines)


def test_the_path_of_the_file_is_taken_when_asked_for(chain: str, capsys: pytest.CaptureFixture[str]) -> None:
    flops = {}
    for path in ("left", "right"):
        assert main(["contract", chain, "--path", path, "--steps"]) == 0
        out = capsys.readouterr().out
        assert f"plan (path {path} in the file)" in out
        flops[path] = next(line for line in out.splitlines() if line.startswith("  flops"))

    assert flops["left"].split()[1] == "128"  # 2 * (2 * 3 * 4 + 2 * 4 * 5)
    assert flops["right"].split()[1] == "180"  # 2 * (3 * 4 * 5 + 2 * 3 * 5)


def test_a_file_without_operands_is_drawn_and_says_so(chain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", chain]) == 0

    assert "no operands are given: uniform on (0, 1), seed 0" in capsys.readouterr().out


def test_a_scalar_result_prints_its_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = PRODUCT | {"format_string": "ij,ji->"}
    complex_trace = trace | {"dtype": "complex128", "operands": [[[[0, 1]]], [[2]]], "shapes": [[1, 1], [1, 1]]}

    assert main(["contract", write(tmp_path / "a.json", trace)]) == 0
    assert "result: 15.0\n" in capsys.readouterr().out
    assert main(["contract", write(tmp_path / "b.json", complex_trace)]) == 0
    assert "result: 2j\n" in capsys.readouterr().out


def test_integers_and_truth_values_have_a_norm_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    least = {"format_string": "i->i", "shapes": [[2]], "dtype": "int64", "operands": [[-(2**63), 0]]}
    truth = {"format_string": "i,i->i", "shapes": [[3], [3]], "dtype": "bool", "operands": [[True] * 3, [True] * 3]}

    assert main(["contract", write(tmp_path / "a.json", least)]) == 0
    assert "result: I64 [2], norm 9.22337203685e+18" in capsys.readouterr().out
    assert main(["contract", write(tmp_path / "b.json", truth)]) == 0
    assert "result: Bool [3], norm 1.73205080757" in capsys.readouterr().out


def test_a_norm_beyond_floating_point_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = {"format_string": "i,j->ij", "shapes": [[2], [2]], "dtype": "float64"}
    large = content | {"operands": [[1e308, 1e308], [1, 1]]}
    infinite = content | {"operands": [[1e308, 0], [1e308, 1]]}
    nothing = content | {"operands": [[0, 0], [1, 1]]}
    empty = content | {"shapes": [[0], [2]], "operands": [[], [1, 1]]}
    for case, expected in (
        (large, "norm 2.00000000000e+308"),
        (infinite, "norm inf"),
        (nothing, "norm 0"),
        (empty, "F64 [0, 2], norm 0"),
    ):
        assert main(["contract", write(tmp_path / "a.json", case)]) == 0
        assert expected in capsys.readouterr().out.replace("2e+308", "2.00000000000e+308")


def test_a_reference_is_printed_beside_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = {"quantity": "ln Z per site", "value": math.log(15) / 3 + 1, "log_offset": 3, "divide_by": 3}
    content = PRODUCT | {"format_string": "ij,ji->", "reference": reference}

    assert main(["contract", write(tmp_path / "a.json", content)]) == 0
    out = capsys.readouterr().out
    assert f"ln Z per site  {math.log(15) / 3 + 1:.15f}"[:28] in out
    assert "within 1e-10" in out


def test_a_missed_reference_ends_with_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value, text in ((1.0, "ij,ji->"), (float(5), "ij,jk->ik")):
        content = PRODUCT | {"format_string": text, "reference": {"value": value}}

        assert main(["contract", write(tmp_path / "a.json", content)]) == 1
        assert "MORE THAN 1e-10" in capsys.readouterr().out


@pytest.mark.parametrize("dtype", ["complex128", "float64"])
def test_a_complex_result_without_an_imaginary_part_has_a_logarithm(
    dtype: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = PRODUCT | {"format_string": "ij,ji->", "dtype": dtype, "reference": {"value": math.log(15)}}

    assert main(["contract", write(tmp_path / "a.json", content)]) == 0
    assert f"ln(result)  {math.log(15):.15f}" in capsys.readouterr().out


def test_a_result_without_a_logarithm_is_said_to_have_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scalar = {"format_string": "->", "shapes": [[]], "reference": {"value": 0.0}}
    for dtype, value in (("float64", -1), ("complex128", [1, 1e-300]), ("complex128", -1), ("int64", 0)):
        content = scalar | {"dtype": dtype, "operands": [value]}

        assert main(["contract", write(tmp_path / "a.json", content)]) == 1
        assert "ln(result)  none: the result is no positive number" in capsys.readouterr().out


def test_no_output_takes_the_place_of_a_file_that_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    left, right = tmp_path / "in" / "left.npy", tmp_path / "in" / "right.npz"
    np.save(left, np.ones((2, 3)))
    np.savez(right, x=np.ones((3, 2)))
    (tmp_path / "link.npy").symlink_to(left)
    stored = {"operands": [{"npy": "left.npy"}, {"npz": "right.npz", "member": "x"}]}
    file = write(tmp_path / "in" / "net.json", PRODUCT | stored)
    plan = str(tmp_path / "plan.json")
    assert main(["plan", file, "--save-plan", plan]) == 0
    capsys.readouterr()
    before = {one: one.read_bytes() for one in tmp_path.rglob("*.*")}
    load = "--load-plan", plan
    roundabout = str(tmp_path / "in" / ".." / "in" / "left.npy")

    for command, *options in (
        ("contract", "-o", str(left)),
        ("contract", "-o", roundabout),
        ("contract", "-o", str(tmp_path / "link.npy")),
        ("contract", "--slices", "j", "--checkpoint", str(right)),
        ("contract", "--save-plan", file),
        ("plan", "--save-plan", file),
        ("plan", *load, "--save-plan", plan),
    ):
        line = refused(capsys, command, file, *options)
        assert line.endswith(f"{options[-2]} {options[-1]} is a file that is read; give the new one another name\n")
    assert before == {one: one.read_bytes() for one in tmp_path.rglob("*.*")}


def test_two_outputs_have_two_names(product: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, picture, link = tmp_path / "out.npy", tmp_path / "plan.svg", tmp_path / "link.npy"
    link.symlink_to(picture)

    one = "-o", str(output), "--slices", "j", "--checkpoint"
    assert f"--checkpoint and -o name one file, {output}" in refused(capsys, "contract", product, *one, str(output))
    two = "-o", str(link), "--plot", str(picture)
    assert f"-o and --plot name one file, {link}" in refused(capsys, "contract", product, *two)
    assert not output.exists() and not picture.exists()


def test_files_without_a_network_are_skipped_and_named(
    product: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write(tmp_path / "other.json", {"version": 1})

    assert main(["contract", other, product]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"ironstride: {other}: skipped: the file has no format_string, so it describes no network\n"
    assert "result: F64 [2, 2]" in captured.out
    assert "no format_string" in refused(capsys, "contract", other)


def test_a_bad_file_among_others_does_not_stop_them(
    product: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{", encoding="utf-8")

    assert main(["contract", str(bad), product]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"ironstride: {bad}: the file is not JSON")
    assert "result: F64 [2, 2]" in captured.out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_string": "ij,jk->iz"}, "z"),
        ({"format_string": "ij,j%->i"}, "'%' is no label; accepted: letters, digits"),
        ({"format_string": "ij,j%->i"}, "(character 5 of format_string)"),
        ({"format_string": "ij->i"}, "operand"),
        ({"format_string": "ijk,jk->i"}, "operand"),
        ({"shapes": [[2, 3], [4, 2]]}, "extent"),
        ({"shapes": [[2**40, 2**40], [2**40, 2]]}, "shapes[0]: found [1099511627776, 1099511627776]; accepted: fewer"),
        ({"shapes": [[10**300, 2], [2, 2]]}, "accepted: fewer than 2**63 elements"),
        ({"shapes": [[0, 2**62], [2**62, 2**62]]}, "shapes[1]"),
        ({"paths": {"mine": {"path": [[0, 7]]}}}, "position 7"),
        ({"paths": {"mine": {"path": []}}}, "incomplete"),
        ({"paths": {"mine": {"path": [[0, 1], [0, 1]]}}}, "position 1"),
        ({"paths": {}}, "--path mine: the file has no such path; its paths: none"),
        ({"operands": [[[1, 2, 3]], 0]}, "operands[0]: found a list of 1; the shape asks for a list of 2"),
    ],
)
def test_a_network_that_does_not_fit_together_is_refused_in_one_line(
    tmp_path: Path, change: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "a.json", PRODUCT | change)
    output = tmp_path / "out.npy"

    line = refused(capsys, "contract", file, "--path", "mine", "-o", str(output))

    assert line.startswith(f"ironstride: {file}: ")
    assert message in line
    assert not output.exists()


def test_a_plan_that_does_not_fit_into_memory_is_refused_with_the_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = {
        "format_string": "a,b,c->abc",
        "shapes": [[2**20]] * 3,
        "dtype": "float64",
        "paths": {"only": {"path": [[0, 1], [0, 1]]}},
    }
    monkeypatch.setattr(ironstride.program.contract, "make_operands", pytest.fail)

    line = refused(capsys, "contract", write(tmp_path / "outer.json", outer))

    assert "the plan needs at least 8.0 EiB (24.0 MiB for the operands, 8.0 EiB at the peak" in line
    assert "are available; try another --path; paths in the file: only" in line


def test_operands_that_do_not_fit_into_memory_are_no_reason_to_try_another_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dot = {
        "format_string": "a,a->",
        "shapes": [[10**14]] * 2,
        "dtype": "float64",
        "paths": {"only": {"path": [[0, 1]]}},
    }
    monkeypatch.setattr(ironstride.program.contract, "make_operands", pytest.fail)

    line = refused(capsys, "contract", write(tmp_path / "dot.json", dot))

    assert "(1.4 PiB for the operands, 8 B at the peak" in line
    assert line.endswith("are available\n")


def test_output_paths_that_cannot_be_written_are_refused_before_the_file_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "missing.json")

    assert "the ending must be .npy" in refused(capsys, "contract", missing, "-o", str(tmp_path / "a.txt"))
    assert "the ending must be .svg or .png or .pdf" in refused(capsys, "contract", missing, "--plot", "a.gif")
    assert "--load-plan take one SOURCE" in refused(capsys, "contract", missing, missing, "--plot", "a.svg")
    assert "cannot be read: No such file" in refused(capsys, "contract", missing)


@pytest.mark.parametrize("argv", [[], ["contract"], ["explode"], ["contract", "a.json", "--wrong"]])
def test_wrong_arguments_end_with_status_2_and_one_line(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        main(argv)

    assert ending.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("ironstride: ")
    assert error.endswith("--help)\n")
    assert error.count("\n") == 1


def test_version_and_help_end_well(capsys: pytest.CaptureFixture[str]) -> None:
    for argv, expected in (
        (["--version"], "ironstride "),
        (["--help"], "contract"),
        (["contract", "--help"], "--path"),
    ):
        with pytest.raises(SystemExit) as ending:
            main(argv)
        assert ending.value.code == 0
        assert expected in capsys.readouterr().out


def test_doctor_is_the_runtimes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "cpu" in capsys.readouterr().out


def test_control_characters_in_a_file_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = PRODUCT | {"name": "\x1b[2Jbad\nname", "paths": {"\x1b[0m": {"path": [[0, 1]]}}}
    file = write(tmp_path / "a.json", content)

    assert main(["contract", file]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert "\x1b" not in refused(capsys, "contract", file, "--path", "mine")


def test_an_interrupt_between_two_steps_leaves_nothing_behind(
    chain: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    interrupting_bar: Callable[..., type],
) -> None:
    monkeypatch.setattr(ironstride.program.contract, "tqdm", interrupting_bar(1))
    files = ["-o", str(tmp_path / "out.npy"), "--plot", str(tmp_path / "plan.svg")]

    assert main(["contract", chain, *files]) == 130
    assert capsys.readouterr().err == "ironstride: interrupted\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["chain.json"]


@pytest.mark.parametrize(
    ("dtype", "drawn"),
    [("I64", "uniform on 0 to 9"), ("I32", "uniform on 0 to 9"), ("Bool", "False and True alike")],
)
def test_integers_and_bool_are_drawn_too(dtype: str, drawn: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", "ij,jk->ik", "2x3", "3x4", "--dtype", dtype]) == 0
    assert f"{drawn}, seed 0" in capsys.readouterr().out


def test_one_file_without_a_network_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"a": 1}')
    assert main(["contract", str(other)]) == 2
    assert (
        capsys.readouterr().err == f"ironstride: {other}: the file has no format_string, so it describes no network\n"
    )


def test_a_shape_that_is_none_is_told_beside_a_single_term(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", "ij", "2x-3"]) == 2
    assert capsys.readouterr().err.startswith('ironstride: found "2x-3"; accepted: a shape, such as 2x3')
    assert main(["contract", "ij", "jk"]) == 2
    assert "ij: cannot be read" in capsys.readouterr().err
