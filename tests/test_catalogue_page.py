"""The catalogue in ``docs/`` is what the code does."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import tensor_einsum
import tensor_runtime as tr
from tensor_core.errors import DTypeError, UnsupportedOperationError

tl: Any = import_module("tensor_linalg")  # called with whatever the dtype
ROOT = Path(__file__).resolve().parent.parent
TOOL = runpy.run_path(str(ROOT / "tools" / "catalogue.py"), run_name="catalogue")
LINES = TOOL["page"]().splitlines()


def test_the_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "catalogue.md").read_text(encoding="utf-8").splitlines()
    missing = [line for line in LINES if line not in written]
    stale = [line for line in written if line not in LINES]

    assert not (missing or stale), f"run python tools/catalogue.py; missing: {missing}; stale: {stale}"
    assert written == LINES


@pytest.mark.parametrize(
    "line",
    [
        "| add | all | same | add | cpu, sim |",
        "| negative | all but Bool | same | negative | cpu, sim |",
        "| less | all but C32 C64 | Bool | less | cpu, sim |",
        "| divide | all | F64 from I32 I64 Bool; else same | divide | cpu, sim |",
        "| pow | all but Bool | same | pow | cpu, sim |",
        "| sum | all | I64 from I32 Bool; else same | sum | cpu, sim |",
        "| zeros | – | as given: all | full | cpu, sim |",
        "| empty | – | as given: all | broadcast_view, copy_into, empty, full, mutable_view, slice_view | cpu, sim |",
        "| full_like | all | same | full | cpu, sim |",
        "| primitives.exp | all but I32 I64 Bool | same | exp | cpu, sim |",
    ],
)
def test_what_is_known_stands_in_it(line: str) -> None:
    assert line in LINES


def test_making_it_leaves_no_device_behind() -> None:
    assert not [row.name for row in tr.backends() if "catalogue" in row.name]


CALLS: Mapping[str, Callable[[Any, Any], Any]] = {
    "delete": lambda a, b: tr.delete(a, 0, 0),
    "einsum": lambda a, b: tensor_einsum.einsum("ij,jk->ik", a, b),
    "full_like": lambda a, b: tr.full_like(a, True),
    "linalg.cg": tl.cg,
    "linalg.cond": lambda a, b: tl.cond(a),
    "linalg.cosm": lambda a, b: tl.cosm(a),
    "linalg.eigh": lambda a, b: tl.eigh(a),
    "linalg.eigs": lambda a, b: tl.eigs(a, b[:, 0], k=1),
    "linalg.eigsh": lambda a, b: tl.eigsh(a, b[:, 0], k=1),
    "linalg.expm_multiply": lambda a, b: tl.expm_multiply(a, b[:, 0]),
    "linalg.funm": lambda a, b: tl.funm(a, tr.exp),
    "linalg.gmres": tl.gmres,
    "linalg.inv": lambda a, b: tl.inv(a),
    "linalg.logm": lambda a, b: tl.logm(a),
    "linalg.lsmr": tl.lsmr,
    "linalg.lstsq": tl.lstsq,
    "linalg.lu_solve": lambda a, b: tl.lu_solve(tl.lu_factor(a), b),
    "linalg.minres": tl.minres,
    "linalg.norm": lambda a, b: tl.norm(a),
    "linalg.null_space": lambda a, b: tl.null_space(a[:2]),
    "linalg.orth": lambda a, b: tl.orth(a),
    "linalg.qr_append": lambda a, b: tl.qr_append(*tl.qr(a[:, :1]), b[:, :1]),
    "linalg.randomized_svd": lambda a, b: tl.randomized_svd(a, 1, seed=0),
    "linalg.sinm": lambda a, b: tl.sinm(a),
    "linalg.split": lambda a, b: tl.split(a, 0, 1),
    "linalg.sqrtm": lambda a, b: tl.sqrtm(a),
    "linalg.svd_truncated": lambda a, b: tl.svd_truncated(a, max_rank=2),
    "linalg.svds": lambda a, b: tl.svds(a, b[:, 0], k=1),
    "linalg.tensorinv": lambda a, b: tl.tensorinv(a, 1),
    "linalg.tensorsolve": lambda a, b: tl.tensorsolve(a, b[:, 0]),
    "std": lambda a, b: tr.std(a),
}
"""Calls as a user writes them, of a positive definite matrix and another one."""


def names_of(value: Any) -> str:
    """The dtypes of all tensors of a result."""
    tensors = [one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, tr.Tensor)]
    return ", ".join(one.dtype.name for one in tensors)


def said_of(text: str, dtype: tr.DType) -> list[str]:
    """What the page says of the results for a dtype accepted, in names of dtypes, one text for each alternative."""
    *exceptions, usual = text.replace("else ", "").split("; ")
    said = next((one.split(" from ")[0] for one in exceptions if dtype.name in one.split(" from ")[1].split()), usual)
    bits = dtype.name[1:]
    meant = {"same": dtype.name, "real": f"F{bits}" if dtype.name[0] == "C" else dtype.name, "complex": f"C{bits}"}
    return [", ".join(meant.get(word, word) for word in option.split(", ")) for option in said.split(" or ")]


@pytest.mark.parametrize("name", CALLS)
def test_the_page_says_what_calls_give(name: str) -> None:
    row = [cell.strip() for cell in next(line for line in LINES if line.startswith(f"| {name} |")).split("|")[2:-1]]
    matrix = tr.tensor([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]])
    other = tr.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    listed = set(row[0].removeprefix("all but ").split())
    for dtype in tr.DTYPES:
        operands = tr.cast(matrix, dtype), tr.cast(other, dtype)
        if row[0] == "all" or (dtype.name in listed) != row[0].startswith("all but "):
            assert names_of(CALLS[name](*operands)) in said_of(row[1], dtype), dtype
        else:
            with pytest.raises(DTypeError):
                CALLS[name](*operands)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_page_says_what_runs_on_the_simulated_device(name: str) -> None:
    (line,) = [line for line in LINES if line.startswith(f"| {name} |")]
    operands = [tr.to(tr.tensor([[4.0, 1.0], [1.0, 3.0]]), "sim"), tr.ones((2, 2), placement="sim")]
    try:
        CALLS[name](*operands)
    except UnsupportedOperationError:
        assert line.endswith("| cpu |")
    else:
        assert line.endswith(("| cpu, sim |", "| cpu, sim in part |"))


@pytest.mark.parametrize("dtype", tr.DTYPES, ids=repr)
@pytest.mark.parametrize(
    "name", ["add", "atan2", "bitwise_and", "divide", "equal", "less", "maximum", "pow", "remainder"]
)
def test_the_page_says_which_dtypes_two_tensors_may_have(name: str, dtype: tr.DType) -> None:
    row = next(line for line in LINES if line.startswith(f"| {name} |"))
    listed = row.split("|")[2].strip()
    names = set(listed.removeprefix("all but ").split())
    accepted = listed == "all" or (dtype.name in names) != listed.startswith("all but ")
    operand = tr.ones((2,), dtype=dtype)
    if accepted:
        assert getattr(tr, name)(operand, operand).shape == (2,)
    else:
        with pytest.raises(tr.TensorError, match=name):
            getattr(tr, name)(operand, operand)
