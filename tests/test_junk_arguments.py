"""Whatever is given to a public function, what it raises is an error of our tree."""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import tensor_core
import tensor_einsum
import tensor_linalg
import tensor_runtime as tr
from tensor_core import TensorError

DRAWS: Final = 12  # calls of each function
OWN_CLASSES: Final = {"Plan", "Calibration", "Pending", "Stream"}  # what functions make, of parts that nobody writes
CHANGING: Final = {
    "refresh_backends",
    "register_backend",
    "register_kernel",
    "register_rule",
    "set_threads",
    "calibrate",
    "read_calibration",
}
CALLING: Final = {
    "explain",
    "infer",
    "fuse",
    "funm",
    "cg",
    "gmres",
    "lsmr",
    "minres",
    "fold",
    "scan",
    "eigs",
    "eigsh",
    "svds",
}
MATRIX: Final = tr.tensor([[1.0, 2.0], [3.0, 4.0]])
JUNK: Final[tuple[Any, ...]] = (
    None,
    0,
    1,
    -1,
    -3,
    2**70,
    -(2**70),
    2.5,
    float("nan"),
    1j,
    True,
    "",
    "x",
    "F64",
    "ij,jk->ik",
    b"x",
    [],
    [1, 2],
    [1, "a"],
    [[1, 2], [3]],
    (),
    (0, 1),
    (1, -1),
    (2**40, 2**40),
    {},
    {"a": 1},
    {1, 2},
    np.array([1.0, 2.0]),
    np.array(3),
    np.float64(2),
    np.int64(-1),
    np.array(["a"]),
    np.array([None]),
    np.zeros((2, 2), "u1"),
    object(),
    tr,
    range(3),
    slice(0, 2),
    slice(None, None, 0),
    ...,
    NotImplemented,
    MATRIX,
    MATRIX[::-1],
    tr.tensor([1, 2]),
    tr.tensor(3),
    tr.tensor([True, False]),
    tr.tensor([[1j, 2], [3, 4]]),
    tr.zeros((0, 3)),
    tr.mutable_view(tr.zeros((2, 2))),
    tr.F64,
    tr.CPU,
    tr.HostTensor.zeros(2),
    [MATRIX, MATRIX],
    [MATRIX, None],
    (tr.F64, (2, 3)),
    np.ma.array([1, 2], mask=[False, True]),
    "cpu",
    "nowhere",
)


def junk_call(function: Callable[..., Any], draw: random.Random) -> tuple[list[Any], dict[str, Any]]:
    """Arguments for a function by its signature, of which about half make sense in the first place."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        wanted = parameter.default is parameter.empty
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += draw.choices(JUNK, k=draw.randint(1, 3))
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if wanted or draw.random() < 0.35:
                named[parameter.name] = draw.choice(JUNK)
        elif parameter.kind is not parameter.VAR_KEYWORD:
            if not wanted and draw.random() < 0.6:
                break
            positional.append(
                draw.choice(JUNK) if draw.random() < 0.6 else draw.choice([MATRIX, tr.tensor([1.0, 2.0])])
            )
    return positional, named


@pytest.mark.parametrize("module", [tensor_core, tr, tensor_linalg, tensor_einsum], ids=lambda module: module.__name__)
def test_public_functions_refuse_junk_by_errors_of_our_tree(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some name a file
    draw = random.Random(2026)
    refused = 0
    for name in sorted(set(module.__all__) - CHANGING - OWN_CLASSES):
        function = getattr(module, name)
        if not callable(function) or (isinstance(function, type) and issubclass(function, BaseException)):
            continue
        if function.__module__ == "builtins":  # a name for Python's tuple
            continue
        try:
            inspect.signature(function)
        except ValueError:
            continue  # a class of Python's own making
        for _ in range(DRAWS):
            positional, named = junk_call(function, draw)
            if name in CALLING and any(isinstance(one, type) for one in positional):
                continue  # a class is a function, and what it raises is its own
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    function(*positional, **named)
            except TensorError as error:
                assert len(str(error)) > 10, (name, positional, named)
                refused += 1
            except Exception as error:
                raise AssertionError(f"{module.__name__}.{name}{positional}{named}: {error!r}") from error
    assert refused > 5
