"""The tables of the benchmarks are well formed; nothing is measured here."""

from __future__ import annotations

import doctest
import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks import calls, einsum, elementwise, everyday, linalg, networks, own_paths, permute, products, reduction
from benchmarks.drawing import NUMPY_DTYPES, draw, require_agreement
from benchmarks.rows import BEST, CONTENDERS, LIMIT, Operand, Row
from benchmarks.step_limits import Limits, path_works, work_of

ROWS = [
    *permute.rows(None),
    *calls.rows(),
    *elementwise.rows(),
    *everyday.rows(),
    *products.rows(),
    *reduction.rows(),
    *linalg.rows(),
    *einsum.rows(None),
]


@pytest.mark.parametrize(
    "module",
    [
        "contenders.base",
        "drawing",
        "einsum",
        "networks",
        "permute",
        "picture",
        "report",
        "rows",
        "step_limits",
        "steps",
        "timing",
    ],
)
def test_examples_of_the_benchmarks_run(module: str) -> None:
    assert doctest.testmod(import_module(f"benchmarks.{module}")).failed == 0


def test_rows_along_own_paths_name_no_path_and_keep_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "DRAWN", (lambda _: networks.lattice(3, 3),))
    (chain,) = [row for row in einsum.rows(None) if len(row.operands) > 2]
    found = {row.name: row for row in own_paths.rows(None)}
    assert "path" not in found[chain.name].arguments
    assert found[chain.name].arguments["subscripts"] == chain.arguments["subscripts"]
    assert found.keys() == {chain.name, "lattice 3×3"}


def test_names_of_rows_are_unique() -> None:
    names = [row.name for row in ROWS]

    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_can_be_sent_and_names_known_contenders(row: Row) -> None:
    assert json.loads(json.dumps(row.as_request()))["operation"] == row.operation
    assert {target.against for target in row.targets} <= {BEST, LIMIT, *CONTENDERS}


def test_the_operands_of_every_row_can_be_drawn() -> None:
    for kind, dtype in {(operand.kind, operand.dtype) for row in ROWS for operand in row.operands}:
        (drawn,) = draw([((2, 2), kind, dtype)], 0)

        assert drawn.dtype == NUMPY_DTYPES[dtype]


@pytest.mark.parametrize("row", [row for row in ROWS if row.operation != "einsum"], ids=lambda row: row.name)
def test_numpy_offers_every_operation(row: Row) -> None:
    numpy = import_module(CONTENDERS["numpy"].module)

    assert row.operation in numpy.NUMPY


@pytest.mark.parametrize("row", list(permute.rows(None)), ids=lambda row: row.name)
def test_both_words_for_a_permutation_give_the_same_memory(row: Row) -> None:
    shape = (
        tuple(2 + axis % 2 for axis in range(len(row.operands[0].shape))) if len(row.operands[0].shape) < 8 else None
    )
    [array] = draw([Operand(shape or row.operands[0].shape)], 0)

    rowmajor = array.transpose(row.arguments["axes"])
    colmajor = array.T.transpose(row.arguments["source_axes"]).transpose(row.arguments["axes_colmajor"])

    assert np.array_equal(rowmajor, colmajor.T)


def test_a_scattered_source_is_read_in_the_order_of_its_memory() -> None:
    row = permute.row("", (2, 3, 4), (1, 0, 2), (12, 1, 3))
    [array] = draw([row.operands[0]], 0)
    source = np.lib.stride_tricks.as_strided(array, (2, 3, 4), (96, 8, 24))

    assert np.array_equal(source.transpose(1, 0, 2).T, array.transpose(row.arguments["axes"]))


def test_a_source_with_gaps_is_refused() -> None:
    with pytest.raises(ValueError, match="leave gaps or overlap"):
        permute.row("", (2, 3), (1, 0), (1, 4))


def test_the_limit_of_a_network_is_the_sum_of_what_each_step_takes_at_its_own_rate() -> None:
    asked: list[tuple[str, dict[str, int]]] = []

    def seconds(operation: str, arguments: Mapping[str, int]) -> float:
        asked.append((operation, dict(arguments)))
        return 1.0 if operation == "product" else 0.001

    limits = Limits(seconds)
    works = path_works("ij,jk,kl->il", [(200, 100), (100, 200), (200, 4000)], [(0, 1), (0, 1)])

    found = [limits.seconds(work) for work in works]

    assert found == pytest.approx([1.0, 4000 / 2048])
    assert [arguments for operation, arguments in asked if operation == "product"] == [
        {"m": 200, "n": 200, "k": 100, "stack": 1},
        {"m": 2048, "n": 200, "k": 200, "stack": 1},
    ]
    assert limits.seconds(works[0]._replace(steps=3)) == pytest.approx(3.0)
    assert len(asked) == 4  # each shape and each size once


def test_a_step_that_sums_nothing_is_limited_by_its_bytes_alone() -> None:
    limits = Limits(lambda operation, arguments: {"copy": 0.5}[operation])

    assert limits.seconds(work_of(["i", "j"], "ij", {"i": 1 << 10, "j": 1 << 10})) == pytest.approx(0.5, rel=0.01)


def test_results_that_differ_are_refused() -> None:
    with pytest.raises(AssertionError):
        require_agreement([np.array([1.0, 2.0])], [np.array([1.0, 2.1])], 1e-3, by_element=True)


def test_a_pattern_file_gives_rows(tmp_path: Path) -> None:
    layout = {"kind": "col_major"}
    pattern = {"id": "p", "dtype": "f64", "shape": [8, 9], "perm": [1, 0], "src_layout": layout, "dst_layout": layout}
    (tmp_path / permute.PATTERNS).write_text(json.dumps({"patterns": [pattern]}), encoding="utf-8")

    [row] = permute.rows(tmp_path)

    assert (row.operands[0].shape, row.arguments["axes"]) == ((9, 8), [1, 0])
