"""Numbers that JSON has not, in what the program prints with `--json`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironstride.program.json_report import plan_document
from ironstride.program.json_text import json_text
from ironstride.program.main import main
from ironstride.program.planning import PlanOptions, make_plan
from ironstride.program.sources import networks_of


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    document: dict[str, Any] = json.loads(line, parse_constant=pytest.fail)
    return document


def contracted(
    capsys: pytest.CaptureFixture[str], folder: Path, equation: str, elements: list[complex]
) -> dict[str, Any]:
    array = np.array(elements)
    np.save(folder / "x.npy", array)
    network = {"format_string": equation, "shapes": [[len(elements)]], "dtype": array.dtype.name}
    (folder / "network.json").write_text(json.dumps({**network, "operands": [{"npy": "x.npy"}]}), encoding="utf-8")
    result: dict[str, Any] = printed(capsys, "contract", str(folder / "network.json"))["result"]
    return result


@pytest.mark.parametrize(
    ("elements", "value"),
    [
        ([np.nan, 0.0], "NaN"),
        ([np.inf, 0.0], "Infinity"),
        ([-np.inf, 0.0], "-Infinity"),
        ([1e308, 1e308], "Infinity"),
        ([1.5, 0.5], 2.0),
        ([complex(1.0, 1e308), complex(1.0, 1e308)], [2.0, "Infinity"]),
        ([complex(-1.5e308, 2.0), complex(-1.5e308, 3.0)], ["-Infinity", 5.0]),
        ([complex(1.0, np.nan)], [1.0, "NaN"]),
    ],
)
def test_values_that_are_not_finite_are_told_apart(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, elements: list[complex], value: object
) -> None:
    assert contracted(capsys, tmp_path, "i->", elements)["value"] == value


@pytest.mark.parametrize(
    ("elements", "norm"),
    [
        ([np.nan, 0.0], "NaN"),
        ([-np.inf, 0.0], "Infinity"),
        ([1.5e308, 0.0], 1.5e308),
        ([1.5e308] * 4, "3.00000000000e+308"),
    ],
)
def test_norms_beyond_the_range_are_told_apart_from_infinities(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, elements: list[complex], norm: object
) -> None:
    assert contracted(capsys, tmp_path, "i->i", elements)["norm"] == norm


def test_singular_values_beyond_the_range_are_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full((2, 2), 1.7e308))
    found = printed(capsys, "svd", str(tmp_path / "x.npy"))
    assert found["singular_values"][0] == found["norm"] == "3.40000000000e+308"
    assert found["errors"][0] < 1e-15 and found["entropy"] < 1e-15
    assert main(["svd", str(tmp_path / "x.npy"), "--plot", str(tmp_path / "x.svg")]) == 2
    assert "beyond what a float holds" in capsys.readouterr().err and not (tmp_path / "x.svg").exists()


def test_singular_values_of_floats_beyond_their_own_range_are_numbers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", np.diag(np.array([2.0, 1.0], np.float32) * np.float32(2.0**126)) * np.ones(2, "f4"))
    np.save(tmp_path / "y.npy", np.full((4, 4), 2.0**127, np.float32))
    assert printed(capsys, "svd", str(tmp_path / "x.npy"))["singular_values"] == [2.0**127, 2.0**126]
    assert printed(capsys, "svd", str(tmp_path / "y.npy"))["singular_values"][0] == pytest.approx(2.0**129, rel=1e-6)


def test_what_a_search_tells_is_json() -> None:
    network: Any = networks_of(["ij,jk,kl->il", "0x3", "3x4", "4x5"])[0]
    document = plan_document(network, make_plan(network, PlanOptions()))
    text = json_text({**document, "more": [{"tried": (-np.inf, {"seconds": np.float64("nan")})}]})
    found = json.loads(text, parse_constant=pytest.fail)
    assert found["more"] == [{"tried": ["-Infinity", {"seconds": "NaN"}]}]


@pytest.mark.parametrize(("element", "found", "agrees"), [(4.0, 2.0, True), (16.0, 4.0, False), (-1.0, None, False)])
def test_a_reference_is_told_with_what_the_result_makes_of_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, element: float, found: float | None, agrees: bool
) -> None:
    reference = {
        "quantity": "log2",
        "value": 2.0,
        "divide_by": math.log(2.0),
        "tolerance": 1e-12,
        "source": "by hand",
    }
    operand = {"dtype": "float64", "operands": [[element]]}
    file = tmp_path / "network.json"
    file.write_text(json.dumps({"format_string": "i->", "shapes": [[1]], **operand, "reference": reference}), "utf-8")

    status = main(["contract", str(file), "--json"])

    told = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["reference"]
    difference = None if found is None else pytest.approx(found - 2.0, abs=1e-12)
    assert status == (0 if agrees else 1)
    assert (told["quantity"], told["value"], told["tolerance"], told["source"]) == ("log2", 2.0, 1e-12, "by hand")
    assert told["found"] == (found if found is None else pytest.approx(found, rel=1e-15))
    assert told["difference"] == difference and told["agrees"] is agrees
