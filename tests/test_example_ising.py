"""The Ising example: the exact formula, the files it writes, and the program's answer against both."""

from __future__ import annotations

import doctest
import json
import math
from itertools import product
from pathlib import Path

import pytest

from example_programs import EXAMPLES, example
from ironstride.program.main import main
from ironstride.program.network_file import read_network

TEMPERATURES = [1.5, 2 / math.log(1 + math.sqrt(2)), 5.0]  # below, at and above the critical one


ising = example("ising")


def counted_ln_z(rows: int, columns: int, beta: float) -> float:
    """ln Z by summing over all 2^sites states, in integers as long as possible: how often each energy occurs."""
    sites = rows * columns
    right = [row * columns + (column + 1) % columns for row in range(rows) for column in range(columns)]
    down = [(row + 1) % rows * columns + column for row in range(rows) for column in range(columns)]
    states: dict[int, int] = {}
    for state in range(2 ** (sites - 1)):  # the last spin is down; the other half mirrors this one
        # A bond contributes +1 when its two bits are equal: count the unequal ones.
        unequal = sum((state >> site ^ state >> right[site]) & 1 for site in range(sites))
        unequal += sum((state >> site ^ state >> down[site]) & 1 for site in range(sites))
        states[2 * sites - 2 * unequal] = states.get(2 * sites - 2 * unequal, 0) + 2
    return 2 * sites * beta + math.log(
        math.fsum(count * math.exp(beta * (total - 2 * sites)) for total, count in states.items())
    )


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 3), (3, 1), (2, 2), (2, 3), (3, 2), (3, 3), (3, 4), (4, 4)])
def test_kaufmans_formula_is_the_sum_over_all_states(rows: int, columns: int, temperature: float) -> None:
    exact = counted_ln_z(rows, columns, 1 / temperature)

    assert math.isclose(ising.kaufman_ln_z(rows, columns, 1 / temperature), exact, rel_tol=1e-13)


@pytest.mark.parametrize("temperature", [0.05, 1.0, 2.2, 2.27, 2.3, 50.0, 1e5])
def test_kaufmans_formula_does_not_care_which_direction_is_called_rows(temperature: float) -> None:
    for rows, columns in ((3, 40), (17, 5), (64, 65)):
        along = ising.kaufman_ln_z(rows, columns, 1 / temperature)
        across = ising.kaufman_ln_z(columns, rows, 1 / temperature)
        assert math.isclose(along, across, rel_tol=1e-12)


def test_kaufmans_formula_tends_to_onsagers_value_at_the_critical_point() -> None:
    # Onsager (1944): ln Z per site = ln(2) / 2 + 2 G / pi, G being Catalan's constant.
    onsager = math.log(2) / 2 + 2 * 0.915965594177219015 / math.pi
    sizes = (20, 40, 80)
    beta = math.log(1 + math.sqrt(2)) / 2

    excess = [(ising.kaufman_ln_z(size, size, beta) / size**2 - onsager) * size**2 for size in sizes]

    # Ferdinand and Fisher (1969): on a square torus ln Z exceeds it by ln(2^(1/4) + 2^(-1/2)), up to terms in 1/size².
    assert all(
        abs(value - math.log(2**0.25 + 2**-0.5)) < 1 / size**2 for value, size in zip(excess, sizes, strict=True)
    )


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (2, 5), (5, 2), (4, 4)])
def test_the_program_agrees_with_the_sum_over_all_states(
    rows: int, columns: int, temperature: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network = ising.ising_network(rows, columns, temperature)
    network["reference"]["value"] = counted_ln_z(rows, columns, 1 / temperature) / (rows * columns)
    file = tmp_path / "ising.json"
    file.write_text(ising.network_text(network), encoding="utf-8")

    assert main(["contract", str(file), "--path", "sweep"]) == 0
    assert "within 1e-10" in capsys.readouterr().out


def test_the_sweep_never_holds_more_than_two_rows_of_spins() -> None:
    import tensor_einsum

    for rows, columns in product((2, 3, 6), (4, 5, 6)):
        network = ising.ising_network(rows, columns)
        path = network["paths"]["sweep"]["path"]
        plan = tensor_einsum.plan(network["format_string"], *network["shapes"], optimize=path)
        assert plan.largest_intermediate == 2 ** (2 * columns)
        assert plan.intermediate_bytes < 3 * 8 * 2 ** (2 * columns)
        assert plan.peak_bytes <= plan.intermediate_bytes + (1 << 16)  # copies of operands, where they are small


def test_long_lattices_and_low_temperatures_stay_in_range(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rows, columns, temperature in ((400, 4, ising.CRITICAL_TEMPERATURE), (4, 4, 0.02)):
        file = tmp_path / "made" / "ising.json"
        ising.main([str(rows), str(columns), "--temperature", repr(temperature), "--output", str(file)])

        assert main(["contract", str(file), "--path", "sweep"]) == 0
        assert "within 1e-10" in capsys.readouterr().out


def test_the_file_in_the_examples_folder_is_what_the_script_writes() -> None:
    kept = json.loads((EXAMPLES / "networks" / "ising_10x10.json").read_text(encoding="utf-8"))
    fresh = json.loads(ising.network_text(ising.ising_network(10, 10)))

    for name in kept.keys() - {"operands", "reference"}:
        assert kept[name] == fresh[name]
    assert kept["reference"]["value"] == pytest.approx(fresh["reference"]["value"], rel=1e-14)
    assert kept["operands"][0][1] == pytest.approx(fresh["operands"][0][1], rel=1e-13)
    assert read_network(EXAMPLES / "networks" / "ising_10x10.json").shapes == ((2, 2),) * 400


def test_the_script_refuses_lattices_without_sites() -> None:
    for arguments in (["0", "3"], ["3", "3", "--temperature", "0"], ["3", "3", "--temperature", "nan"]):
        with pytest.raises(SystemExit):
            ising.main(arguments)


@pytest.mark.parametrize("name", ["ising", "small_networks"])
def test_the_examples_in_the_scripts_run(name: str) -> None:
    results = doctest.testmod(example(name))

    assert results.failed == 0
    assert results.attempted > 0
