"""C functions on memory that we lend: compiled by the machine's compiler, called by ctypes, compared exactly."""

from __future__ import annotations

import ctypes
import doctest
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from example_programs import EXAMPLES, example
from native_builds import compiler_name
from tensor_core import HostTensorView

c = example("c/from_python")
SHAPE = (3, 4, 2)
VIEWS: dict[str, Callable[[Any], Any]] = {
    "column-major": lambda x: x,
    "turned": lambda x: x.T,
    "row-major": lambda x: x.transpose((2, 1, 0)) if isinstance(x, np.ndarray) else tr.permute_axes(x, (2, 1, 0)),
    "backwards": lambda x: x[::-1],
    "backwards throughout": lambda x: x[::-1, ::-2, ::-1],
    "with gaps": lambda x: x[1:, ::3],
    "one column": lambda x: x[:, 2],
    "rank 0": lambda x: x[1, 2, 0],
    "empty": lambda x: x[:, 2:2],
}


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if compiler_name() is None:
        pytest.skip("there is no C compiler")
    found: ctypes.CDLL = c.compiled(tmp_path_factory.mktemp("c"))
    return found


def numbers(dtype: str = "f8") -> np.ndarray[Any, Any]:
    return np.arange(1, 25, dtype=dtype).reshape(SHAPE, order="F")


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_c_adds_up_what_a_view_shows(functions: ctypes.CDLL, view: Callable[[Any], Any]) -> None:
    assert c.total(functions, view(tr.asarray(numbers()))) == view(numbers()).sum()


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_c_scales_what_a_view_shows_and_nothing_else(functions: ctypes.CDLL, view: Callable[[Any], Any]) -> None:
    x, expected = tr.asarray(numbers(), copy=True), numbers()
    expected[np.isin(expected, view(numbers()))] *= 8.0

    assert functions.scale(c.view_of(view(tr.mutable_view(x))), 8.0) == 0

    assert x.to_numpy().tolist() == expected.tolist()


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("library", ["runtime", "core", "NumPy"])
def test_c_takes_what_dlpack_lends(functions: ctypes.CDLL, library: str, view: Callable[[Any], Any]) -> None:
    shown = np.asarray(view(numbers()))
    lend: dict[str, Any] = {"runtime": tr.asarray, "core": HostTensorView.borrow, "NumPy": np.asarray}
    lent = lend[library](shown)
    address, capsule = c.capsule_pointer(view(tr.asarray(numbers())) if library == "runtime" else lent)
    result = ctypes.c_double()

    assert functions.sum_of_dlpack(address, result) == 0

    assert result.value == view(numbers()).sum()
    del capsule


def test_c_writes_into_what_dlpack_lends(functions: ctypes.CDLL) -> None:
    x = tr.asarray(numbers(), copy=True)
    address, capsule = c.capsule_pointer(tr.mutable_view(x)[1:, 2])
    assert functions.scale_dlpack(address, -4.0) == 0
    expected = numbers()
    expected[1:, 2] *= -4.0
    assert x.to_numpy().tolist() == expected.tolist()
    del capsule


def test_c_refuses_what_it_does_not_know_or_may_not_write(functions: ctypes.CDLL) -> None:
    result = ctypes.c_double()
    assert functions.sum(c.view_of(tr.ones(3, tr.I32)), result) == -1
    assert functions.scale(c.view_of(tr.ones(3, tr.C64)), 2.0) == -1
    repeated = tr.broadcast_to(tr.ones((1, 3)), (2, 3))
    assert functions.scale(c.view_of(repeated), 2.0) == -2
    address, capsule = c.capsule_pointer(repeated)
    assert functions.scale_dlpack(address, 2.0) == -2
    assert functions.sum_of_dlpack(address, result) == 0 and result.value == 6.0
    address, other = c.capsule_pointer(np.ones(3, "u2"))
    assert functions.sum_of_dlpack(address, result) == -3
    del capsule, other


@pytest.mark.parametrize("dtype", c.DTYPES, ids=str)
def test_the_header_knows_every_dtype(dtype: tr.DType) -> None:
    header = (EXAMPLES / "c" / "ironstride.h").read_text(encoding="utf-8")
    names = re.findall(r"IS_[A-Z0-9]+", header.partition("enum is_dtype {")[2].partition("}")[0])
    assert names[c.view_of(tr.ones(2, dtype)).dtype] == f"IS_{dtype.name.upper()}"


def test_the_program_says_what_it_did(functions: ctypes.CDLL, capsys: pytest.CaptureFixture[str]) -> None:
    assert c.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        "the sum of [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]] is 15.0, of [[1.0, 5.0], [0.0, 4.0]] 10.0",
        "scaled where the view shows it: [[0.0, 2.0, 40.0], [10.0, 3.0, 50.0]]",
    ]
    assert not doctest.testmod(c).failed


def test_the_page_prints_the_example() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "exchange.md").read_text(encoding="utf-8")
    (printed,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    assert printed in (EXAMPLES / "c" / "sum_and_scale.c").read_text(encoding="utf-8")
